import csv
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.study.intervals.coverage import describe_mean_coverage
from tests.cli.conftest import Command, make_reply

ROWS = [
    {
        "id": str(number),
        "question": f"What helps against ill {number}?",
        "reference": "Rest and plenty of fluids for a week.",
        "response": " ".join(["Rest and fluids", "and tea"][: 1 + number % 2]) + ".",
        "ratings": {"accuracy": number % 5},
    }
    for number in range(12)
]


@pytest.fixture
def runs(imapeval: Command, tmp_path: Path) -> Path:
    """A run, and one with the texts exchanged."""
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    exchange = ("--map", "reference=response", "--map", "response=reference")
    for name, options in (("dev", ()), ("exchanged", exchange)):
        done = imapeval("score", "data.jsonl", "--metrics", "rouge1,chrf", "--out", name, *options)
        assert done.returncode == 0, done.stderr
    return tmp_path


def test_exchanged_texts(imapeval: Command, runs: Path):
    done = imapeval("study", "bias", runs / "dev", "--altered", "exchanged=exchanged", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["metric"]: row for row in json.loads(done.stdout) if "alteration" in row}
    # ROUGE-1 is an F1; chrF weighs recall twice as much as precision (beta 2), and the responses are shorter.
    assert (rows["rouge1"]["difference"], rows["rouge1"]["raised"], rows["rouge1"]["lowered"]) == (0.0, 0.0, 0.0)
    assert rows["chrf"]["shown"]
    assert rows["chrf"]["difference"] > 0
    shown = imapeval("study", "bias", runs / "dev", "--altered", "exchanged=exchanged").stdout
    assert "something else altered" in shown
    assert "rouge1, exchanged: every answer has the same score." in shown
    # Twelve questions.
    (sentence,) = describe_mean_coverage([12], of="changes")
    assert sentence in shown


def test_the_page_of_a_study_has_the_same_shifts(imapeval: Command, runs: Path):
    options = ("dev", "--metrics", "chrf", "--altered", "exchanged=exchanged")
    (*_, shift) = json.loads(imapeval("study", "bias", *options, "--json").stdout)
    done = imapeval("study", "report", *options, "--out", "study", "--resamples", "50")
    assert done.returncode == 0, done.stderr
    page = (runs / "study" / "study.html").read_text(encoding="utf-8")
    assert "something else altered" in page
    (sentence,) = describe_mean_coverage([shift["questions"]], of="changes")
    assert sentence in page
    with (runs / "study" / "tables" / "shifts.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["metric"], row["alteration"], float(row["difference"])) == ("chrf", "exchanged", shift["difference"])


def test_dimensions_that_are_too_much_alike_are_named_once(imapeval: Command, runs: Path):
    responses = ("Rest.", "Tea with lemon and honey.", "Rest and fluids.")
    rated = [
        row | {"response": responses[number % 3], "ratings": {"accuracy": number, "twin": number}}
        for number, row in enumerate(ROWS)
    ]
    (runs / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rated))
    assert imapeval("score", "data.jsonl", "--metrics", "rouge1,chrf", "--out", "twins").returncode == 0
    done = imapeval("study", "bias", "twins")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--dimensions") == 1
    # Each is held equal by itself.
    assert "twin" in done.stdout


@pytest.mark.parametrize("altered", ["exchanged", "=exchanged", "exchanged="])
def test_a_run_needs_a_name(imapeval: Command, tmp_path: Path, altered: str):
    done = imapeval("study", "bias", tmp_path, "--altered", altered)
    assert done.returncode == 2
    assert "NAME=RUN" in done.stderr


@pytest.mark.parametrize("favour", [0, 1])
def test_a_judge_of_the_same_family_as_a_system(
    imapeval: Command, tmp_path: Path, serve: Callable[..., Any], apart: None, favour: int
):
    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        text = body["messages"][-1]["content"]
        (quality, own) = re.findall(r"Take (\d) tablets? of (\w)", text)[-1]
        # By answer, as requests arrive in any order.
        noise = random.Random(own + re.findall(r"ill \d+", text)[-1])
        rating = int(quality) + noise.choice([-0.5, 0, 0.5]) + (favour if own == "q" else 0)
        said = {name: min(5, max(0, rating)) for name in ("accuracy", "completeness", "specificity")}
        said |= {f"{name}_reason": "So." for name in said}
        return make_reply(said)

    rows = [
        {
            "id": f"{number}{system}",
            "question": f"What helps against ill {number}?",
            "reference": "Take 4 tablets of x.",
            "response": f"Take {quality} tablets of {system[0].lower()}.",
            "system": system,
            "ratings": {"accuracy": quality},
        }
        for number in range(12)
        for system in ("Qwen2-7B", "Llama-3-8B")
        for quality in [1 + (number * 7 + len(system)) % 4]
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    model = ("--llm", "openai:Qwen/Qwen3-8B", "--base-url", serve(answer).url)
    done = imapeval("score", "data.jsonl", "--metrics", "judge", *model, "--out", "run")
    assert done.returncode == 0, done.stderr
    done = imapeval("study", "bias", "run", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = [row for row in json.loads(done.stdout) if row["property"] == "own family"]
    assert (row["group"], row["n"], row["shown"]) == ("qwen", 24, bool(favour))
    if favour:
        assert row["low"] > 0
