"""What the paths answer: the same as `Scorer` and the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from imapeval import Scorer
from imapeval.cli.main import app
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Completion, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.serve import schema
from imapeval.serve.app import load

if TYPE_CHECKING:
    from imapeval.llm.protocol import Request
    from imapeval.metrics.base import Metric
    from imapeval.serve.app import LoadedScorer
    from tests.serve.conftest import Running, Serve


ANSWERS = Path(__file__).parents[2] / "docs" / "frameworks" / "answers.jsonl"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], float | None]:
    """The scores by id and metric that `imapeval score` gives."""
    out = tmp_path_factory.mktemp("score") / "run"
    done = CliRunner().invoke(app, ["score", str(ANSWERS), "--metrics", "imapscore,rouge1", "--out", str(out)])
    assert done.exit_code == 0, done.output
    lines = map(json.loads, (out / "results.jsonl").read_text(encoding="utf-8").splitlines())
    return {(line["id"], line["metric"]): line["score"] for line in lines}


def test_scores_are_those_of_the_command_line(
    server: Running, answers: list[dict[str, Any]], expected: dict[tuple[str, str], float | None]
):
    for answer in answers:
        reply = server.post("/score", answer)
        assert reply.status == 200
        schema.Assessed.model_validate_json(reply.body, strict=True)
        told = reply.json
        assert told["id"] == answer["id"]
        assert {name: found["score"] for name, found in told["metrics"].items()} == {
            name: expected[answer["id"], name] for name in ("imapscore", "rouge1")
        }
        assert told["score"] == expected[answer["id"], "imapscore"]


def test_the_body_is_that_of_an_assessment(server: Running, loaded: LoadedScorer, answers: list[dict[str, Any]]):
    for answer in answers:
        assert server.post("/score", answer).json == json.loads(json.dumps(loaded.scorer.score(**answer).to_dict()))


def test_a_threshold_gives_a_verdict(server: Running, answers: list[dict[str, Any]]):
    # Scores as in docs/serve.md, by one reading each: one is below; the fourth has none.
    given = [{**answer, "threshold": 0.3} for answer in answers]
    reply = server.post("/score-all", {"answers": given})
    schema.AllAssessed.model_validate_json(reply.body, strict=True)
    verdicts = [found["verdict"] for found in reply.json["answers"]]
    assert [verdict and verdict["verdict"] for verdict in verdicts] == ["pass", "fail", "pass", None]
    assert verdicts[0] == server.post("/score", given[0]).json["verdict"]
    for limit in (30, "high", "0.5", True):
        assert server.post("/score", {**answers[0], "threshold": limit}).error == (422, "bad-field")


def test_a_repeated_score_near_the_threshold_is_too_close_to_call(
    serve: Serve, answers: list[dict[str, Any]], repeated: Metric
):
    server = serve(load(Scorer([repeated])))
    verdict = server.post("/score", {**answers[0], "threshold": 0.4}).json["verdict"]
    # scipy 1.17, stats.ttest_1samp([.4, .5, .6], 0).confidence_interval(): .2516 to .7484.
    assert (verdict["low"], verdict["high"]) == pytest.approx((0.2516, 0.7484), abs=1e-4)
    assert (verdict["verdict"], verdict["met"], verdict["repetitions"]) == ("too close to call", True, 3)


def test_many_at_once_get_their_own(
    server: Running, answers: list[dict[str, Any]], expected: dict[tuple[str, str], float | None]
):
    asked = [{**answer, "id": f"{answer['id']} {number}"} for number in range(30) for answer in answers]
    with ThreadPoolExecutor(60) as pool:
        told = [reply.json for reply in pool.map(lambda answer: server.post("/score", answer), asked)]
    assert [found["id"] for found in told] == [answer["id"] for answer in asked]
    assert [found["score"] for found in told] == [expected[answer["id"], "imapscore"] for answer in answers] * 30


def test_score_all(server: Running, answers: list[dict[str, Any]], expected: dict[tuple[str, str], float | None]):
    reply = server.post("/score-all", {"answers": answers})
    schema.AllAssessed.model_validate_json(reply.body, strict=True)
    told = reply.json
    assert [found["score"] for found in told["answers"]] == [expected[a["id"], "imapscore"] for a in answers]
    scored = [score for (_, metric), score in expected.items() if metric == "imapscore" and score is not None]
    assert len(scored) == 3
    assert told["means"]["imapscore"] == pytest.approx(sum(scored) / 3)
    assert told["failed"] == 1
    nothing = {"imapscore": None, "rouge1": None}
    assert server.post("/score-all", {"answers": []}).json == {
        "answers": [],
        "means": nothing,
        "failed": 0,
        "missing": 0,
    }
    unanswered = [{**answers[0], "response": None}, {**answers[0], "response": ""}]
    told = server.post("/score-all", {"answers": unanswered}).json
    assert [found["score"] for found in told["answers"]] == [None, 0.0]
    assert (told["failed"], told["missing"], told["means"]["imapscore"]) == (1, 1, 0.0)


def test_what_cannot_be_scored_is_a_result(server: Running, answers: list[dict[str, Any]]):
    told = server.post("/score", answers[3]).json
    assert (told["score"], told["parts"], told["failure"]["kind"]) == (None, {}, "no-query")
    assert told["reason"].startswith("not scored: ")
    # The other metric needs no question.
    assert told["metrics"]["rouge1"]["score"] is not None


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"response": None, "question": "How is asthma treated?", "reference": "Salbutamol."}, "no-response"),
        ({"response": "Rest."}, "bad-input"),
        ({"response": "Rest.", "question": "How is asthma treated?"}, "no-reference"),
        ({"response": "Rest.", "question": "How is asthma treated?", "reference": ""}, "no-reference"),
        ({"response": "Rest.", "question": "How is asthma treated?", "reference": []}, "no-reference"),
        ({"response": "Rest.", "question": "How is asthma treated?", "reference": [""]}, "bad-input"),
        ({"response": "x " * 60_000, "question": "How is asthma treated?", "reference": "Salbutamol."}, "too-long"),
        ({"response": "\ud800", "question": "How is asthma treated?", "reference": "Salbutamol."}, "bad-input"),
        ({"response": "Rest.", "question": "x", "turns": [{"role": "user", "content": "x"}]}, "bad-input"),
    ],
)
def test_not_scored_and_why(server: Running, given: dict[str, Any], kind: str):
    reply = server.post("/score", given)
    schema.Assessed.model_validate_json(reply.body, strict=True)
    assert (reply.status, reply.json["score"], reply.json["failure"]["kind"]) == (200, None, kind)


@pytest.mark.parametrize("response", ["", "😀" * 1000, "<script>alert(1)</script><!-- {{x}} -->", "\u0000\u202e"])
def test_an_odd_response_is_scored_as_by_the_scorer(server: Running, loaded: LoadedScorer, response: str):
    given = {"response": response, "question": "How is asthma treated?", "reference": "Use a salbutamol inhaler."}
    reply = server.post("/score", given)
    assert reply.status == 200
    assert reply.json == json.loads(json.dumps(loaded.scorer.score(**given).to_dict()))


def test_dialogues_and_several_references(server: Running, loaded: LoadedScorer):
    turns = [{"role": "user", "content": "I have asthma. What should I take?"}]
    given = {"response": "Use an inhaler.", "turns": turns, "reference": ["Take salbutamol.", "Use an inhaler."]}
    told = server.post("/score", given).json
    assert told == loaded.scorer.score(**given).to_dict()
    assert len(told["imaps"]) == 2
    assert told["parts"]["references"] == 2


def test_extract(server: Running, loaded: LoadedScorer):
    given = {"question": "慢性胃炎应该怎么治疗？", "response": "建议服用质子泵抑制剂。", "reference": "口服奥美拉唑。"}
    reply = server.post("/extract", {**given, "id": "胃炎"})
    schema.Extracted.model_validate_json(reply.body, strict=True)
    (imap,) = reply.json["imaps"]
    assert (reply.json["id"], imap["id"], reply.json["failure"]) == ("胃炎", "胃炎", None)
    found = loaded.scorer.extract(**given)
    assert isinstance(found, tuple)
    assert [pair["value"] for pair in imap["response"]] == [pair.value for pair in found[0].response]


def test_what_qualifies_a_fact_and_what_contradicts_comes_along(server: Running, loaded: LoadedScorer):
    given = {
        "question": "How is back pain treated?",
        "reference": "Take ibuprofen 400 mg if there is no ulcer. Bed rest is not recommended.",
        "response": "Take ibuprofen 200 mg if there is no ulcer. Bed rest is recommended.",
    }
    reply = server.post("/score", given)
    schema.Assessed.model_validate_json(reply.body, strict=True)
    assert reply.json == json.loads(json.dumps(loaded.scorer.score(**given).to_dict()))
    (imap,) = reply.json["imaps"]
    dose, rest = imap["reference"]
    assert (dose["amounts"], rest["polarity"]) == (["400 mg"], "denied")
    # As in imaps.jsonl, what is so by default is left out.
    assert "polarity" not in dose
    assert "contradiction" in {relation["relation"] for relation in imap["relations"]}
    assert reply.json["parts"]["contradictions"] >= 1
    assert "It contradicts the reference on" in reply.json["reason"]


def test_extract_says_why_it_cannot(server: Running):
    told = server.post("/extract", {"question": "?!"}).json
    assert (told["imaps"], told["failure"]["kind"]) == ([], "no-query")


@pytest.mark.parametrize(
    "pair", [("penicillin", "antibiotic therapy"), ("奥美拉唑", "质子泵抑制剂"), ("rest", "rest"), ("rest", "no rest")]
)
def test_relate_is_that_of_the_command_line(server: Running, pair: tuple[str, str]):
    said = CliRunner().invoke(app, ["relate", *pair, "--json"])
    reply = server.post("/relate", {"reference": pair[0], "response": pair[1]})
    schema.Related.model_validate_json(reply.body, strict=True)
    assert reply.json == {**json.loads(said.output), "failure": None}


def test_health(server: Running, loaded: LoadedScorer):
    reply = server.ask("GET", "/health")
    schema.Health.model_validate_json(reply.body, strict=True)
    assert reply.json["status"] == "ok"
    assert reply.json["metrics"] == loaded.signatures
    assert reply.json["metrics"].keys() == {"imapscore", "rouge1"}


def test_the_page_needs_nothing_from_elsewhere(server: Running):
    reply = server.ask("GET", "/docs")
    text = reply.body.decode()
    assert reply.status == 200
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert "<script" not in text
    assert "http://" not in text
    assert "https://" not in text
    for path in ("/score", "/score-all", "/extract", "/relate", "/health"):
        assert f"{path}</code>" in text
    for name in server.ask("GET", "/openapi.json").json["components"]["schemas"]:
        assert f'id="{name}"' in text


def read_one_fact(request: Request) -> str:
    if "answer-inform" in str(request):
        return '{"inform": [{"term": "treatment", "values": ["rest"]}]}'
    return '{"query": ["treatment"], "constraint": []}'


def test_with_a_language_model(serve: Serve):
    model = ScriptedModel(read_one_fact, identity="parrot")
    with Scorer(llm=model) as scorer:
        server = serve(load(scorer, llm="parrot"))
        assert server.ask("GET", "/health").json["llm"] == "parrot"
        assert model.requests == []
        given = {"response": "Rest.", "question": "How is flu treated?", "reference": "Rest at home."}
        told = server.post("/score", given)
        schema.Assessed.model_validate_json(told.body, strict=True)
        assert told.json["score"] == 1
        assert told.json["usage"]["calls"] == 3
        assert [one["score"] for one in server.post("/score-all", {"answers": [given] * 5}).json["answers"]] == [1] * 5


def test_the_limit_of_cost_is_that_of_the_process(serve: Serve):
    model = ScriptedModel(lambda request: Completion(read_one_fact(request), "stop", "m", Usage(1, 1)))
    given = {"response": "Rest.", "reference": "Rest at home."}
    # A completion of one token costs USD 1, and one of 1,024 is reserved: there is room for eight.
    with Scorer(llm=model, price=Price(0, 1e6), max_cost=1024 + 7) as scorer:
        server = serve(load(scorer, llm="parrot"))
        told = [server.post("/score", given | {"question": f"How is flu {n} treated?"}) for n in range(4)]
        assert [reply.status for reply in told] == [200, 200, 502, 502]
        assert told[2].error == told[3].error == (502, "over-budget")
        assert scorer.ledger is not None
        assert scorer.ledger.spent.usd == len(model.requests) == 8


def test_nothing_of_it_is_loaded_with_the_package():
    code = "import imapeval, imapeval.cli.main, sys; print({'fastapi', 'uvicorn', 'h11'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
