"""Evals of Inspect on its own mock model, which says what stands in the samples' metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tests.integrations.answers import ROWS

if TYPE_CHECKING:
    from pathlib import Path

    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalLog


class RunEval(Protocol):
    def __call__(self, samples: list[Sample], scorer: Any = None, **options: Any) -> EvalLog: ...


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.fixture
def samples() -> list[Sample]:
    """The answers of docs/frameworks/answers.jsonl."""
    from inspect_ai.dataset import Sample

    return [
        Sample(id=row["id"], input=row["question"], target=row["reference"], metadata={"says": row["response"]})
        for row in ROWS
    ]


@pytest.fixture
def run_eval(tmp_path: Path) -> RunEval:
    """Run an eval by Inspect's `eval`.

    A sample's `says` is its answer, or the answers by epoch; where there is none, the model is not asked.
    """
    import inspect_ai
    from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import solver

    @solver
    def answer() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            says = state.metadata.get("says")
            if isinstance(says, list):
                says = says[state.epoch - 1]
            if says is None:
                return state
            model = get_model("mockllm/model", custom_outputs=lambda *_: make_output(says), memoize=False)
            state.output = await model.generate(state.messages, config=GenerateConfig())
            return state

        return solve

    def make_output(says: str) -> ModelOutput:
        output = ModelOutput.from_content("mockllm/model", says)
        # Otherwise it counts tokens, for which it fetches a vocabulary from the network.
        output.usage = ModelUsage()
        return output

    def run(samples: list[Any], scorer: Any = None, **options: Any) -> EvalLog:
        (log,) = inspect_ai.eval(
            inspect_ai.Task(dataset=samples, solver=answer(), scorer=scorer),
            model="mockllm/model",
            log_dir=str(tmp_path / "logs"),
            **options,
        )
        return log

    return run


@pytest.fixture
def means() -> Any:
    """Of a log: the mean by key, as Inspect computed it."""
    return lambda log: {score.name: score.metrics["mean"].value for score in log.results.scores}
