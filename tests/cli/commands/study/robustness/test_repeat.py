"""`imapeval study repeat`, with a server whose replies depend on the seed."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imapeval.llm.structured.templates import find_texts
from imapeval.types import Sample
from tests.cli.conftest import Command, make_reply

COLD = ("How is a cold treated?", ("Rest and tea; mint; lemon; honey.",))
SAMPLES = [
    Sample("a", *COLD, "Drink tea; thyme; ginger; sage.", system="one"),
    Sample("b", *COLD, "Operate at once; thyme.", system="two"),
    Sample("c", "How is a boil treated?", ("Warm cloths.",), "Put a compress on it; thyme.", system="one"),
]
pytestmark = pytest.mark.usefixtures("apart")


class Model:
    """Reads another aside with each seed, relates otherwise, and rates half a point higher."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.blind: set[str] = set()

    def __call__(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        task, seed = body["response_format"]["json_schema"]["name"], body["seed"]
        self.asked[task] += 1
        return make_reply(self.reply(task, seed, find_texts(body["messages"][-1]["content"])), 90)

    def reply(self, task: str, seed: int, texts: dict[str, str]) -> dict[str, Any]:
        if task == "question-imap":
            return {"query": ["treatment"], "constraint": []}
        if task == "answer-inform":
            if texts["answer"] in self.blind and seed == 1:
                return {"inform": "nothing of the kind"}
            first, *others = texts["answer"].rstrip(".").split("; ")
            return {"inform": [{"term": "treatment", "values": [first, *others[seed - 1 : seed]]}]}
        if task == "value-relation":
            relation = ("belonging", "containment", "exact")[seed % 3]
            return {"relations": [{"reference": 1, "response": 1, "why": "so", "relation": relation}]}
        fields = dict.fromkeys(("accuracy", "completeness", "specificity"), 2 + seed / 2)
        return {key: text for name in fields for key, text in ((f"{name}_reason", "So."), (name, fields[name]))}


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def repeat(imapeval: Command, write_data: Callable[..., Path], serve: Callable[..., Any], model: Model) -> Command:
    data, server = write_data(SAMPLES), serve(model)
    return lambda *more: imapeval("study", "repeat", data, "--llm", "openai:m", "--base-url", server.url, *more)


@pytest.mark.slow
def test_all_repetitions_are_crossed(repeat: Command, model: Model):
    done = repeat("--threshold", "judge=3.2", "--threshold", "blend=0.9", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    # Two questions, their references and three responses, three times each; each reading is related three times.
    # `blend` asks the judge what `judge` asks it.
    assert model.asked == {"question-imap": 6, "answer-inform": 15, "value-relation": 27, "judge": 9}
    found = {row["metric"]: row for row in told["metrics"]}
    judge, imapscore, blend = found["judge"], found["imapscore"], found["blend"]
    assert [(row["readings"], row["relatings"], row["judgements"]) for row in (imapscore, judge, blend)] == [
        (3, 3, 1),
        (1, 1, 3),
        (3, 3, 3),
    ]
    assert {row["answers"] for row in told["metrics"]} == {3}
    # 2.5, 3 and 3.5 for every answer: a variance of .25, and no answer is better than another.
    assert judge["mean"] == pytest.approx(3)
    assert judge["variance"]["judging"] == pytest.approx(0.25)
    assert (judge["variance"]["reading"], judge["variance"]["relating"]) == (None, None)
    assert judge["variance"]["sd_with_votes"] == pytest.approx(np.sqrt(0.25 / 3))
    # 3.5 is above, 2.5 and 3 are below: of three pairs two differ.
    once, thrice = judge["flips"]
    assert (once["votes"], once["measured"]) == (1, pytest.approx(2 / 3, abs=0.05))
    assert (thrice["votes"], thrice["measured"]) == (3, None)
    assert imapscore["flips"] == []
    assert [flips["measured"] for flips in blend["flips"]] == [0.0, None]
    # Half of it is the judge on 0..1: a tenth of the sd. The other half is imapscore.
    assert blend["variance"]["judging"] == pytest.approx(0.25 / 100)
    for step in ("reading", "relating"):
        assert blend["variance"][step] == pytest.approx(imapscore["variance"][step] / 4)
    # 100 tokens a request.
    assert blend["unit"] == "tokens"
    assert blend["cost"] == {
        "reading": pytest.approx(100 * (6 + 15) / 9 + 100),
        "relating": pytest.approx(100),
        "judging": pytest.approx(100),
    }
    assert judge["advice"].startswith("judge: repeat judging first: a second judgement takes away 50% of the variance")
    assert told["usage"]["usd"] is None


@pytest.mark.slow
def test_nothing_is_paid_for_twice_and_the_dry_run_says_what_will_be(repeat: Command, model: Model):
    planned = json.loads(repeat("--votes", "2", "--dry-run", "--json").stdout)
    assert not model.asked
    first = json.loads(repeat("--votes", "2", "--json").stdout)
    calls = {task["name"]: task["calls"] for task in planned["tasks"]}
    # Which facts there are to relate is not known beforehand.
    assert calls.pop("value-relation") == pytest.approx(model.asked["value-relation"], abs=2)
    assert calls == {task: asked for task, asked in model.asked.items() if task in calls}
    asked = model.asked.total()
    again = repeat("--votes", "2", "--json")
    assert json.loads(again.stdout)["metrics"] == first["metrics"]
    assert model.asked.total() == asked


def test_scores_of_two_votes_are_the_means_of_two_repetitions(
    repeat: Command, imapeval: Command, serve: Callable[..., Any], model: Model
):
    repeat("--votes", "2", "--metrics", "judge")
    asked = model.asked["judge"]
    url = serve(model).url
    options = ("--votes", "2", "--set", "judge.weights=samples", "--metrics", "judge", "--out", "run")
    assert imapeval("score", "data.jsonl", "--llm", "openai:m", "--base-url", url, *options).returncode == 0
    results = [json.loads(line) for line in Path("run/results.jsonl").read_text(encoding="utf-8").splitlines()]
    # |2.5 - 3| on a range of 5.
    assert [(row["score"], row["parts"]["stability"]) for row in results] == [(pytest.approx(2.75), 0.9)] * 3
    assert model.asked["judge"] == 2 * asked


@pytest.mark.slow
def test_an_answer_without_all_repetitions_is_left_out(repeat: Command, model: Model):
    model.blind = {"Operate at once; thyme."}
    done = repeat("--json")
    found = {row["metric"]: row for row in json.loads(done.stdout)["metrics"]}
    assert (found["imapscore"]["answers"], found["imapscore"]["incomplete"]) == (2, 1)
    assert (found["judge"]["answers"], found["judge"]["incomplete"]) == (3, 0)


def test_the_tables(repeat: Command):
    done = repeat("--threshold", "blend=0.5")
    assert done.returncode == 0, done.stderr
    for text in ("sd of", "95% interval", "reading", "relating", "judging", "change sides", "blend: repeat ", "usage:"):
        assert text in done.stdout


def test_without_relations_by_the_model_there_is_nothing_to_relate_again(repeat: Command, model: Model):
    found = json.loads(repeat("--relations", "graph", "--metrics", "imapscore", "--json").stdout)["metrics"]
    assert not model.asked["value-relation"]
    assert (found[0]["readings"], found[0]["relatings"], found[0]["variance"]["relating"]) == (3, 1, None)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--metrics", "rouge1"), "rouge1"),
        (("--threshold", "judge=7"), "judge=7"),
        (("--threshold", "geval=3"), "geval"),
        (("--votes", "1"), "--votes"),
    ],
)
def test_what_cannot_be_repeated(repeat: Command, model: Model, options: tuple[str, ...], named: str):
    done = repeat(*options)
    assert done.returncode == 2
    assert named in done.stderr
    assert not model.asked
