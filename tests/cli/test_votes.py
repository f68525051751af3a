"""`--votes`, from a server that says something else each time to the scores."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.evaluation import imap_files
from imapeval.evaluation.runs import Run
from imapeval.llm.structured.templates import find_texts
from imapeval.types import Imap, Sample, Score
from tests.cli.conftest import Command, WriteData, make_reply

ASIDES = ("mint", "lemon", "ginger", "honey", "thyme")
"""Each reading makes another one of them a fact."""

FACTS = {
    f"Rest and tea; {', '.join(ASIDES)}.": ["rest", "tea"],
    f"Rest, tea and sleep; {', '.join(ASIDES)}.": ["rest", "tea", "sleep"],
    f"Drink tea; {', '.join(ASIDES)}.": ["drink tea"],
}
REFERENCE, GOOD, POOR = FACTS
SAMPLES = [
    Sample("a", "How is a cold treated?", (REFERENCE,), GOOD, system="one"),
    Sample("b", "How is a cold treated?", (REFERENCE,), POOR, system="two"),
]


class Fickle:
    """A model that adds another fact to each reading, and sees nothing else in those in `blind`.

    It writes one reading in capitals, and garbles those in `garbled`.
    """

    def __init__(self) -> None:
        self.garbled: set[int] = set()
        self.blind: set[int] = set()
        self.asked: list[dict[str, Any]] = []

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.asked.append(body)
        return make_reply(self.say(body))

    def say(self, body: dict[str, Any]) -> str:
        seed, asked = body.get("seed"), body["messages"][-1]["content"]
        if seed in self.garbled:
            return "Sorry?"
        if "<answer-" not in asked:
            return json.dumps({"query": ["treatment"] + ["advice"] * (seed == 3), "constraint": []})
        answer = find_texts(asked)["answer"]
        facts = [fact.upper() if seed == 2 else fact for fact in FACTS[answer] if seed not in self.blind]
        return json.dumps({"inform": [{"term": "treatment", "values": [*facts, ASIDES[(seed or 1) - 1]]}]})


@pytest.fixture
def fickle() -> Fickle:
    return Fickle()


@pytest.fixture
def command(
    imapeval: Command, fickle: Fickle, serve: Callable[..., Any], write_data: WriteData, apart: None
) -> Command:
    """Call a command on the samples with the fickle model, which reads and relates nothing."""
    data, address = write_data(SAMPLES), serve(fickle.answer).url
    relations = {"score": ("--relations", "graph")}
    return lambda name, *more: imapeval(
        name, data, "--llm", "openai:m", "--base-url", address, *relations.get(name, ()), *more
    )


def read_imaps(path: str) -> dict[tuple[str, int], Imap]:
    """Return the imaps of a file by sample and reading."""
    return {(record.id, record.imap.reading): record.imap for _, record in imap_files.read_records(Path(path))}


def score_of(folder: str, id_: str, metric: str) -> Score:
    (outcome,) = (r.outcome for r in Run(Path(folder)).results() if (r.id, r.metric) == (id_, metric))
    assert isinstance(outcome, Score)
    return outcome


def test_the_mean_over_readings_is_scored(command: Command, fickle: Fickle):
    done = command("score", "--votes", "3", "--metrics", "token-f1+imap,rouge1", "--out", "run")
    assert done.returncode == 0, done.stderr
    imaps = read_imaps("run/imaps.jsonl")
    assert sorted(imaps) == [(id_, reading) for id_ in "ab" for reading in range(3)]
    assert [[pair.value.lower() for pair in imaps["a", reading].reference] for reading in range(3)] == [
        ["rest", "tea", aside] for aside in ASIDES[:3]
    ]
    # Each reading of the reference has three words, all of them among the response's four; the third asks two things.
    assert [len(imaps["a", reading].query) for reading in range(3)] == [1, 1, 2]
    found = score_of("run", "a", "token-f1+imap")
    assert found.value == pytest.approx(6 / 7)
    assert found.parts == pytest.approx({"precision": 3 / 4, "recall": 1.0, "stability": 1.0})
    assert "stability" not in score_of("run", "a", "rouge1").parts
    # The question and the reference, which both samples share, and two responses, three times each.
    assert sorted(body["seed"] for body in fickle.asked) == sorted([1, 2, 3] * 4)
    assert {body["temperature"] for body in fickle.asked} == {0.9}
    signature = Run(Path("run")).manifest["settings"]["extractor"]
    assert signature.startswith("repeated|readings:3|needed:2|")
    assert "|temperature:0.9|" in signature


@pytest.mark.slow
def test_readings_that_differ_are_less_stable(command: Command, fickle: Fickle):
    # The second reading finds nothing but the aside.
    fickle.blind = {2}
    assert command("score", "--votes", "2", "--metrics", "token-f1+imap", "--out", "run").returncode == 0
    found = score_of("run", "b", "token-f1+imap")
    # "rest tea mint" beside "drink tea mint" shares two of three words; "lemon" is the same on both sides.
    assert (found.value, found.parts["stability"]) == pytest.approx(((2 / 3 + 1) / 2, 2 / 3))


def test_no_reading_is_paid_for_twice(command: Command, fickle: Fickle):
    for name in ("first", "again"):
        assert command("extract", "--votes", "3", "--out", name).returncode == 0
        assert len(fickle.asked) == 12
    assert read_imaps("first") == read_imaps("again")
    # More votes ask for the readings that are not there yet only.
    assert command("extract", "--votes", "4", "--out", "four").returncode == 0
    assert {body["seed"] for body in fickle.asked[12:]} == {4}


@pytest.mark.slow
def test_written_readings_are_scored_as_live_ones(command: Command, imapeval: Command, fickle: Fickle):
    options = ("--metrics", "imapscore,rouge1+imap")
    assert command("extract", "--votes", "3", "--out", "imaps.jsonl").returncode == 0
    assert command("score", "--votes", "3", *options, "--out", "live").returncode == 0
    assert imapeval("score", "data.jsonl", "--imaps", "imaps.jsonl", *options, "--out", "kept").returncode == 0
    for id_ in "ab":
        for metric in ("imapscore", "rouge1+imap"):
            assert score_of("kept", id_, metric) == score_of("live", id_, metric)
    assert Run(Path("kept")).manifest["settings"]["extractor"].endswith("|readings:3")


def test_without_votes_there_is_one_greedy_reading(command: Command, fickle: Fickle):
    assert command("extract", "--out", "plain").returncode == 0
    assert [(body.get("seed"), body["temperature"]) for body in fickle.asked] == [(None, 0)] * 4
    assert list(read_imaps("plain")) == [("a", 0), ("b", 0)]


def test_one_garbled_reading_of_three_does_no_harm_and_two_do(command: Command, fickle: Fickle):
    fickle.garbled = {2}
    assert command("extract", "--votes", "3", "--out", "one").returncode == 0
    assert list(read_imaps("one")) == [("a", 0), ("a", 2), ("b", 0), ("b", 2)]
    fickle.garbled = {2, 4, 5}
    done = command("extract", "--votes", "5", "--out", "two", "--json")
    assert done.returncode == 1
    assert {failure["kind"] for failure in json.loads(done.stdout)["failures"]} == {"unreadable-completion"}
