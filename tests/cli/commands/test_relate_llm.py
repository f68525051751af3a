"""`--relations llm` from the command line to the run's files, and what a model is sent for a whole run."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.llm.structured.templates import find_texts
from imapeval.types import Sample
from tests.cli.conftest import Command, WriteData, make_reply

REFERENCE, RESPONSE, OTHER = "raise the head of the bed", "sleep with the upper body propped up", "quit cigarettes"
SAMPLES = [
    Sample("good", "What helps at night?", (REFERENCE,), RESPONSE),
    Sample("other", "What helps by day?", (REFERENCE,), OTHER),
]
QUESTION = {"query": ["advice"], "constraint": []}
RELATIONS = {"relations": [{"reference": 1, "response": 1, "why": "the same advice", "relation": "exact"}]}


class Relater:
    """A model that relates values well.

    Attributes:
        asked: What for, request by request.
        about_other: Status and completion where `OTHER` is one of the values.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.about_other: tuple[int, Any] = (200, RELATIONS)

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        asked, text = body["response_format"]["json_schema"]["name"], body["messages"][-1]["content"]
        self.asked.append(asked)
        if asked == "value-relation":
            status, said = self.about_other if OTHER in text else (200, RELATIONS)
            return make_reply(said) if status == 200 else (status, said)
        if asked == "question-imap":
            return make_reply(QUESTION)
        value = next(value for value in (REFERENCE, RESPONSE, OTHER) if find_texts(text)["answer"] == value)
        return make_reply({"inform": [{"term": "advice", "values": [value]}]})


@pytest.fixture
def relater() -> Relater:
    return Relater()


@pytest.fixture
def options(relater: Relater, serve: Callable[..., Any], apart: None) -> list[str]:
    return ["--llm", "openai:m", "--base-url", serve(relater.answer).url, "--relations", "llm"]


def read(path: Path) -> dict[str, dict[str, object]]:
    return {line["id"]: line for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def test_relate_asks_the_model_and_says_so(imapeval: Command, options: list[str]):
    done = imapeval("relate", REFERENCE, RESPONSE, *options)
    assert done.returncode == 0, done.stderr
    assert f"{REFERENCE} -> {RESPONSE}: exact (decided by llm)" in done.stdout
    assert "the same advice" in done.stdout
    assert "prompt: value-relation.en.v2" in done.stdout


def test_relate_asks_nothing_about_the_same_wording(imapeval: Command, options: list[str], relater: Relater):
    done = imapeval("relate", "Computed tomography", "computed  tomography", "--json", *options)
    assert json.loads(done.stdout)["decided_by"] == "text", done.stderr
    assert relater.asked == []


def test_the_model_overrules_the_graph_and_it_is_told(imapeval: Command, options: list[str], relater: Relater):
    done = imapeval("relate", "ibuprofen", "NSAID", "--json", *options)
    found = json.loads(done.stdout)
    assert (found["decided_by"], found["relation"]) == ("llm", "exact")
    assert found["evidence"]["overruled"] == {"decided_by": "graph", "relation": "belonging"}
    assert relater.asked == ["value-relation"]


def test_relate_says_why_there_is_no_answer(imapeval: Command, options: list[str], relater: Relater):
    relater.about_other = (200, "All is well.")
    done = imapeval("relate", REFERENCE, OTHER, *options)
    assert done.returncode == 1
    assert "relations of values: the model's completion cannot be read" in done.stderr


def test_a_dry_run_foresees_relations(imapeval: Command, write_data: WriteData, options: list[str], relater: Relater):
    command = ["score", write_data(SAMPLES), "--metrics", "imapscore", *options]
    done = imapeval(*command, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert relater.asked == []
    assert imapeval(*command, "--out", "run").returncode == 0
    (related,) = [task for task in found["tasks"] if task["name"] == "value-relation"]
    # What is in the imaps is supposed, so that nobody knows whether anything is left to be related.
    assert related["calls"] == related["supposed"] == relater.asked.count("value-relation") == 2
    assert "one fact of the reference and one of the response are related" in found["assumed"]
    # Of ready imaps there is nothing to suppose.
    imaps = ["score", write_data(SAMPLES), "--imaps", "run/imaps.jsonl", "--metrics", "imapscore", *options]
    again = json.loads(imapeval(*imaps, "--dry-run", "--json").stdout)
    assert (again["calls"], again["supposed"]) == (0, 0)


@pytest.mark.parametrize(
    ("status", "said", "failure"),
    [
        (200, "All is well.", {"stage": "matching", "kind": "unreadable-completion", "raw": "All is well."}),
        (400, {"error": {"message": "no"}}, {"stage": "llm", "kind": "bad-request"}),
    ],
    ids=["unreadable", "refused"],
)
def test_score_keeps_what_the_model_said_and_where_it_failed(
    imapeval: Command,
    write_data: WriteData,
    options: list[str],
    relater: Relater,
    status: int,
    said: object,
    failure: dict[str, str],
):
    relater.about_other = (status, said)
    command = ["score", write_data(SAMPLES), "--metrics", "imapscore", "--out", "run", *options]
    done = imapeval(*command)
    assert done.returncode == 0, done.stderr
    (match,) = read(Path("run/imaps.jsonl"))["good"]["relations"]
    assert (match["relation"], match["decided_by"]) == ("exact", "llm")
    results = read(Path("run/results.jsonl"))
    assert results["good"]["score"] == 1
    assert "|order:same-wording/llm/text/graph/encoder|" in results["good"]["signature"]
    assert failure.items() <= results["other"]["failure"].items()

    # What failed is tried again, by a server that may have been mended, and nothing that could be read is asked again.
    before = len(relater.asked)
    relater.about_other = (200, json.dumps(RELATIONS))
    assert imapeval(*command).returncode == 0
    assert relater.asked[before:] == ["value-relation"]
    assert read(Path("run/results.jsonl"))["other"]["failure"] is None


def test_a_model_is_sent_texts_alone(imapeval: Command, serve: Callable[..., Any], tmp_path: Path):
    """As docs/llm.md says: for each kind of request the texts that it needs, and no other column of the data."""
    replies = {
        "question-imap": QUESTION,
        "answer-inform": {"inform": [{"term": "advice", "values": ["rest", "ice"]}]},
        "value-relation": {"relations": []},
        "judge": {"accuracy_reason": "", "accuracy": 5, "completeness": 4, "specificity": 3},
    }
    sent: list[tuple[str, tuple[str, ...]]] = []

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked = body["response_format"]["json_schema"]["name"]
        assert not re.search(r"secret|4\.25", json.dumps(body))
        text = body["messages"][-1]["content"]
        sent.append((asked, tuple(word for word in ("wrestlers", "They", "Coaches") if word in text)))
        return make_reply(replies[asked])

    server = serve(answer)
    texts = {"question": "What helps wrestlers?", "reference": "They need rest.", "response": "Coaches use ice."}
    others = {"id": "id-secret", "system": "system-secret", "ratings.secret": 4.25, "ward": "column-secret"}
    (tmp_path / "data-secret.jsonl").write_text(json.dumps(texts | others))
    model = ("--llm", "openai:m", "--base-url", server.url)
    done = imapeval("score", "data-secret.jsonl", "--metrics", "blend", "--out", "run-secret", *model)
    assert done.returncode == 0, done.stderr
    assert sorted(sent) == [
        ("answer-inform", ("wrestlers", "Coaches")),
        ("answer-inform", ("wrestlers", "They")),
        ("judge", ("wrestlers", "They", "Coaches")),
        ("question-imap", ("wrestlers",)),
        ("value-relation", ("wrestlers",)),
    ]
