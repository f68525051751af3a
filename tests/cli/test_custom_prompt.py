"""A G-Eval prompt of one's own, from the command line: live, foreseen, and through batches."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.types import Sample
from tests.cli.conftest import Command, Stub, WriteData, make_reply, read_results, run_batches

Json = dict[str, Any]

SAMPLES = [
    Sample("good", "How is gout treated?", ("Take ibuprofen 400 mg.",), "Ibuprofen 400 mg helps."),
    Sample("bad", "How is gout treated?", ("Take ibuprofen 400 mg.",), "No idea, refuse this."),
    Sample("中", "痛风怎么治？", ("口服布洛芬。",), "可以吃布洛芬。"),
]
TEXT = "Empathy (1-5)\n\n{{Document}}\n\n{{reference}}\n\n{{Summary}}\n\nEvaluation Form (scores ONLY):\n\n- Empathy:"
FACTS = (
    "---\nname: agreement\nscale: 0..10\n---\n{{reference_imap}} {{response_imap}} {{matches}} {{imapscore}}\n\nScore:"
)
METRICS = "geval-file:empathy.md,geval-file:empathy.md+imap,geval-file:facts.md"
NAMES = ["geval:empathy", "geval:empathy+imap", "geval:agreement"]


def answer(body: Json) -> tuple[int, Json]:
    asked = body["messages"][-1]["content"]
    return make_reply("I cannot rate this." if "refuse this" in asked else str(2 + (body.get("seed") or 0) % 3), 100, 1)


@pytest.fixture
def options(imapeval: Command, write_data: WriteData, tmp_path: Path, apart: None) -> list[str]:
    """The data, its imaps, two prompts and where to ask."""
    data = write_data(SAMPLES)
    assert imapeval("extract", data, "--out", "imaps.jsonl").returncode == 0
    (tmp_path / "empathy.md").write_text(TEXT, encoding="utf-8")
    (tmp_path / "facts.md").write_text(FACTS, encoding="utf-8")
    settings = ["--set", "geval:empathy.samples=2", "--set", "geval:agreement.samples=3"]
    model = ["--llm", "openai:stub", "--relations", "graph"]
    return [str(data), "--metrics", METRICS, *settings, "--imaps", "imaps.jsonl", *model]


@pytest.mark.slow
def test_a_run_with_it(imapeval: Command, options: list[str], tmp_path: Path, serve: Callable[..., Stub]) -> None:
    stub = serve(answer)
    options += ["--base-url", stub.url, "--price", "1,2"]
    foreseen = imapeval("score", *options, "--dry-run", "--json")
    assert foreseen.returncode == 0, foreseen.stderr
    assert stub.calls == 0
    plan = json.loads(foreseen.stdout)
    # Three answers: with probabilities two prompts ask once each, and the scale to 10 has three samples.
    assert {task["name"]: task["calls"] for task in plan["tasks"]} == {"geval-own": 3 + 3 + 9}
    assert "a score and nothing else as the reply to a prompt of your own" in plan["assumed"]

    done = imapeval("score", *options, "--out", "run", "--json", "--max-failures", "3")
    assert done.returncode == 0, done.stderr
    assert [row["metric"] for row in json.loads(done.stdout)["summary"] if not row["system"]] == NAMES
    results = read_results(tmp_path / "run")
    # No probabilities come, so that seeds 1 and 2 count: (3 + 4) / 2; on the scale to 10 seed 3 as well.
    assert (results["good", "geval:empathy"]["score"], results["good", "geval:agreement"]["score"]) == (3.5, 3.0)
    # The samples 3 and 4 lie 1 of the 4 steps of the scale apart: the mean of |difference| / range is .25.
    assert results["中", "geval:empathy+imap"]["parts"] == {"weighted": 0.0, "samples": 2.0, "stability": 0.75}
    failure = results["bad", "geval:empathy"]["failure"]
    assert (failure["stage"], failure["kind"]) == ("metric", "refusal")
    # What is in the run stands in its manifest, and another prompt is another run.
    signature = json.loads((tmp_path / "run" / "manifest.json").read_text())["settings"]["metrics"]["geval:empathy"]
    assert "|scale:1..5|file:" in signature
    # What was refused is asked for again, by a server that may have been mended, and nothing else.
    again: list[str] = []
    stub.answer = lambda body: again.append(body["messages"][-1]["content"]) or answer(body)
    assert imapeval("score", *options, "--out", "run", "--max-failures", "3").returncode == 0
    assert imapeval("report", "run").returncode == 0
    assert again
    assert all("refuse this" in asked for asked in again)
    (tmp_path / "empathy.md").write_text(f"{TEXT} ", encoding="utf-8")
    other = imapeval("score", *options, "--out", "run")
    assert other.returncode == 2
    assert "geval:empathy" in other.stderr


@pytest.mark.slow
def test_through_batches(imapeval: Command, options: list[str], tmp_path: Path) -> None:
    options += ["--base-url", "http://127.0.0.1:9/v1"]
    run_batches(imapeval, *options, answer=lambda line: answer(line["body"]))
    done = imapeval("score", *options, "--batch", "batches", "--out", "run", "--max-failures", "3")
    assert done.returncode == 0, done.stderr
    results = read_results(tmp_path / "run")
    assert (results["good", "geval:empathy"]["score"], results["good", "geval:agreement"]["score"]) == (3.5, 3.0)


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ("geval-file:nothere.md", "nothere.md: cannot be read (No such file or directory)."),
        ("geval-file:bad.md", "bad.md, line 3: {{respons}} is not a variable. Did you mean {{response}}?"),
        ("geval-file:facts.md+imap", "the prompt facts.md shows facts already. Name it without '+imap'."),
        ("geval:empathy", "unknown metric 'geval:empathy'."),
    ],
)
def test_what_cannot_be_meant(imapeval: Command, options: list[str], tmp_path: Path, metrics: str, told: str) -> None:
    (tmp_path / "bad.md").write_text("Rate (1-5).\n\n{{respons}}", encoding="utf-8")
    failed = imapeval("score", options[0], "--metrics", metrics, "--llm", "openai:stub")
    assert failed.returncode == 2
    assert told in failed.stderr


def test_it_is_described(imapeval: Command, options: list[str]) -> None:
    shown = imapeval("metrics", "show", "geval-file:facts.md").stdout
    assert "geval:agreement: G-Eval with the prompt facts.md, 0..10" in shown
    assert "imap, llm, reference" in shown
    assert "--set geval:agreement.samples=5" in shown
    assert "geval-file:PATH" in imapeval("metrics").stdout
