"""A model that reads and judges well, but not as a dry run supposes, and runs over it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.evaluation.forecast.dry_run import DryRun, open_dry_run
from imapeval.evaluation.forecast.simulated_replies import simulate_reply
from imapeval.evaluation.pipeline import LlmSettings
from imapeval.llm.dry_run import DryRunModel
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.protocol import Completion, Request, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics import registry
from imapeval.metrics.base import Metric

FACTS = 3
"""In every answer, whatever it says."""


def judge(request: Request) -> Completion:
    """Reply as a model that finds three facts in every answer and gives no log-probabilities."""
    name = request.schema_name.removesuffix("-noref")
    told = request.messages[-1].content
    said: Any
    match name:
        case "prometheus":
            return Completion("Well said. [RESULT] 4", "stop", "m", Usage(100, 9))
        case "geval":
            said = {"score": 4}
        case "atomic-facts":
            said = {"facts": [f"fact {number}" for number in range(FACTS)]}
        case "fact-support":
            said = {"supported": "fact 0" not in told}
        case "text-questions":
            said = {"questions": [{"question": f"q{number}?", "answer": "rest"} for number in range(FACTS)]}
        case "text-answers":
            asked = re.findall(r"^(\d+)\. ", told, re.MULTILINE)
            said = {"answers": [{"number": int(number), "answer": "rest"} for number in asked]}
        case "answer-overlap":
            pairs = re.findall(r"^(\d+)\. ", told, re.MULTILINE)
            said = {"scores": [{"number": int(number), "score": 5} for number in pairs]}
        case _:
            raise AssertionError(f"nobody should ask {name}")
    return Completion(json.dumps(said), "stop", "m", Usage(100, 20))


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(judge)


@pytest.fixture
def cached(model: ScriptedModel, tmp_path: Path) -> CachedModel:
    """The model, behind a cache of its own."""
    return CachedModel(model, tmp_path / "completions.sqlite")


@pytest.fixture
def open_over(cached: CachedModel) -> Callable[..., DryRun]:
    """Open work over a dry run that knows that cache."""

    def open_one(*names: str, reply: Callable[[Request], Any] = simulate_reply, **options: dict[str, str]) -> DryRun:
        model = DryRunModel("scripted", find_completion=cached.get, reply=reply)
        return open_dry_run(LlmSettings("openai:m"), model, metrics=choose(*names, **options))

    return open_one


def choose(*names: str, **options: dict[str, str]) -> list[Metric]:
    return registry.choose(names, options)
