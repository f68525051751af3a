"""Metrics that ask a language model, from the command line to the run's files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.types import Sample
from tests.cli.conftest import Command, WriteData, make_reply, read_results

SAMPLES = [
    Sample("good", "How is gout treated?", ("Take ibuprofen 400 mg.",), "Ibuprofen 400 mg helps."),
    Sample("bad", "How is gout treated?", ("Take ibuprofen 400 mg.",), "No idea, refuse this."),
]
REPLIES = {
    "geval": {"score": 4},
    "judge": {"accuracy_reason": "agrees", "accuracy": 5, "completeness": 4, "specificity": 3},
}


class Rater:
    """A model that rates.

    Attributes:
        asked: The names of the schemas, request by request.
        url: Its address.
    """

    def __init__(self, serve: Callable[..., Any]) -> None:
        self.asked: list[str] = []
        self.url: str = serve(self.answer).url

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked = body["response_format"]["json_schema"]["name"]
        self.asked.append(asked)
        refused = "refuse this" in body["messages"][-1]["content"]
        return make_reply("I cannot rate this." if refused else REPLIES[asked])


@pytest.fixture
def rater(serve: Callable[..., Any], apart: None) -> Rater:
    return Rater(serve)


@pytest.mark.slow
def test_offline_imaps_and_a_judge(imapeval: Command, write_data: WriteData, tmp_path: Path, rater: Rater) -> None:
    data = write_data(SAMPLES)
    assert imapeval("extract", data, "--out", "imaps.jsonl").returncode == 0
    metrics = "imapscore,geval:accuracy,judge,blend"
    options = ("--metrics", metrics, "--imaps", "imaps.jsonl", "--llm", "openai:stub", "--base-url", rater.url)
    options += ("--relations", "graph")
    settings = ("--set", "geval:accuracy.samples=2", "--price", "1,2")
    done = imapeval("score", data, *options, *settings, "--out", "run", "--json", "--max-failures", "2")
    assert done.returncode == 0, done.stderr
    results = read_results(tmp_path / "run")
    assert (results["good", "geval:accuracy"]["score"], results["good", "judge"]["score"]) == (4.0, 4.0)
    imapscore = results["good", "imapscore"]["score"]
    # (5 + 4 + 3) / 3 on 0..5 is .8 on 0..1.
    assert results["good", "blend"]["score"] == pytest.approx((imapscore + 0.8) / 2)
    assert results["bad", "geval:accuracy"]["failure"]["stage"] in ("metric", "llm")
    assert results["bad", "geval:accuracy"]["score"] is None
    assert "openai:stub" in results["good", "geval:accuracy"]["signature"]
    usage = json.loads(done.stdout)["usage"]
    assert usage["usd"] > 0
    # What was paid for is not paid for again, in another run either.
    asked = len(rater.asked)
    again = imapeval("score", data, *options, *settings, "--out", "again", "--json", "--max-failures", "2")
    assert again.returncode == 0
    assert [row["score"] for row in read_results(tmp_path / "again").values() if row["id"] == "good"] == [
        row["score"] for row in results.values() if row["id"] == "good"
    ]
    assert rater.asked[asked:].count("judge") <= 2


def test_a_judge_without_a_model_says_how_to_name_one(imapeval: Command, write_data: WriteData) -> None:
    done = imapeval("score", write_data(SAMPLES), "--metrics", "geval")
    assert done.returncode == 2
    assert "'geval' asks a language model, and none is named. Add --llm openai:NAME." in done.stderr


@pytest.mark.slow
def test_a_dry_run_foresees_what_judges_ask(
    imapeval: Command, write_data: WriteData, tmp_path: Path, rater: Rater
) -> None:
    data = write_data(SAMPLES)
    assert imapeval("extract", data, "--out", "imaps.jsonl").returncode == 0
    options = ("--metrics", "imapscore,geval,judge", "--imaps", "imaps.jsonl", "--llm", "openai:stub")
    options += ("--relations", "graph")
    settings = ("--base-url", rater.url, "--set", "geval.weights=samples", "--price", "1,2")
    done = imapeval("score", data, *options, *settings, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not rater.asked
    assert imapeval("score", data, *options, *settings, "--out", "run", "--max-failures", "2").returncode == 0
    told = {task["name"]: (task["calls"], task["supposed"]) for task in found["tasks"]}
    assert told == {"geval": (30, 0), "judge": (2, 0)}
    # Of one answer every completion is asked for a second time, which is not foreseen.
    assert (rater.asked.count("geval"), rater.asked.count("judge")) == (45, 3)
    assert found["usd"] == pytest.approx((found["prompt_tokens"] + 2 * found["completion_tokens"]) / 1e6)
    again = json.loads(imapeval("score", data, *options, *settings, "--dry-run", "--json").stdout)
    # What could be used is free; the refusals of the one answer are asked anew.
    assert (again["calls"], again["cached"]) == (32, 16)
    assert 0 < again["prompt_tokens"] < found["prompt_tokens"]
