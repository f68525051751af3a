"""Judges through files of requests beside the same judges asked live, both answered by the same stub."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.llm.structured.templates import find_texts
from imapeval.types import Sample
from tests.cli.conftest import Command, Stub, WriteData, answer_batch, make_reply, read_results, run_batches
from tests.cli.conftest import export_batch as export

Json = dict[str, Any]

pytestmark = pytest.mark.usefixtures("apart")

FEVER = "What helps against a fever?"
SAMPLES = [
    Sample("a", FEVER, ("Take ibuprofen. Drink plenty.",), "Take paracetamol. Drink plenty."),
    Sample("b", FEVER, ("Take ibuprofen. Drink plenty.",), "Take ibuprofen, or hesitate."),
    Sample("c", "咳嗽吃什么药？", ("口服止咳糖浆。多喝水。",), "多喝水。"),
]
METRICS = "imapscore,geval:accuracy,geval:accuracy+imap,prometheus,factscore,questeval:llm,qafacteval:llm,judge,blend"
ELSEWHERE = ("--base-url", "http://127.0.0.1:9/v1")
"""Where nobody listens."""


def between(tag: str, text: str) -> str:
    return find_texts(text)[tag]


def sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in re.findall("[^.。]+", text)]


def judge(body: Json) -> str:
    """Reply as a model that reads sentences and goes by their words; the same to the same body, always."""
    told = "\n".join(message["content"] for message in body["messages"])
    seed = body.get("seed") or 0
    said: Any
    if "response_format" not in body:
        return f"Well said. [RESULT] {3 + ('ibuprofen' in told)}"
    match body["response_format"]["json_schema"]["name"]:
        case "question-imap":
            said = {"query": ["治疗药物" if "咳嗽吃" in told else "treatment"], "constraint": []}
        case "answer-inform":
            values = sentences(between("answer", told))
            said = {"inform": [{"term": json.loads(between("asked", told))[0], "values": values}]}
        case "geval":
            # At the second of five samples it hesitates, and says so.
            if seed == 2 and "hesitate" in told and "first attempt" not in told:
                return "I cannot tell."
            said = {"score": 1 + (len(between("answer", told)) + seed) % 5}
        case "atomic-facts":
            said = {"facts": sentences(between("answer", told))}
        case "fact-support":
            said = {"supported": between("statement", told) in between("source", told)}
        case "text-questions":
            text = sentences(between("text", told))
            said = {"questions": [{"question": f"{one[:4]}?", "answer": one} for one in text]}
        case "text-answers":
            text = sentences(between("text", told))
            asked = re.findall(r"^(\d+)\. (.*)\?", between("questions", told), re.MULTILINE)
            found = {number: next((one for one in text if one.startswith(start)), "") for number, start in asked}
            said = {"answers": [{"number": int(number), "answer": answer} for number, answer in found.items()]}
        case "answer-overlap":
            pairs = re.findall(r'^(\d+)\. .*A "(.*)"; B "(.*)"', between("pairs", told), re.MULTILINE)
            said = {"scores": [{"number": int(number), "score": 5 if a == b else 2} for number, a, b in pairs]}
        case "judge":
            said = {"accuracy": 2 + 3 * ("ibuprofen" in between("answer", told)), "completeness": 3.5, "specificity": 1}
        case "value-relation":
            said = {"relations": [{"reference": 1, "response": 1, "why": "the same advice", "relation": "exact"}]}
        case name:
            raise AssertionError(f"nobody should ask {name}")
    return json.dumps(said, ensure_ascii=False)


@pytest.fixture
def stub(serve: Callable[..., Stub]) -> Stub:
    return serve(lambda body: make_reply(judge(body)))


def answer(line: Json) -> tuple[int, Json]:
    return make_reply(judge(line["body"]))


def find_prompts(lines: list[Json]) -> list[str]:
    """Return what was asked, by the names of the prompts."""
    forms = [line["body"].get("response_format", {"json_schema": {"name": "prometheus"}}) for line in lines]
    return [form["json_schema"]["name"] for form in forms]


@pytest.mark.slow
def test_judges_through_batches_say_what_they_say_live(
    imapeval: Command, write_data: WriteData, stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_data(SAMPLES)
    options = ("--llm", "openai:stub", "--base-url", stub.url, "--metrics", METRICS)
    live = imapeval("score", data, *options, "--out", "live", "--max-failures", "0")
    assert live.returncode == 0, live.stderr
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "other-cache"))
    stub.calls = 0
    rounds = [set(find_prompts(lines)) for lines in run_batches(imapeval, data, *options, answer=answer)]
    found = export(imapeval, data, *options)
    assert (found["requests"], found["samples"]["complete"]) == (0, len(SAMPLES))
    batched = imapeval("score", data, *options, "--out", "batched", "--batch", "batches")
    assert batched.returncode == 0, batched.stderr
    # Out of the cache, also without saying that there were batches.
    assert imapeval("score", data, *options, "--out", "again").returncode == 0
    assert stub.calls == 0
    assert read_results(tmp_path / "live") == read_results(tmp_path / "batched") == read_results(tmp_path / "again")
    # The server gives no log-probabilities, so that G-Eval asks for samples once that is known.
    assert rounds[0] == {"question-imap", "geval", "judge", "prometheus", "atomic-facts", "text-questions"}
    assert rounds[1] == {"answer-inform", "geval", "fact-support", "text-answers"}
    # Facts are related once they have been read.
    assert "value-relation" in rounds[2]


def test_further_stages_are_announced(imapeval: Command, write_data: WriteData, tmp_path: Path) -> None:
    data = write_data(SAMPLES)
    options = ("--llm", "openai:stub", *ELSEWHERE)
    for metric, further in (("prometheus", 0), ("factscore", len(SAMPLES)), ("blend", len(SAMPLES))):
        found = export(imapeval, data, *options, "--metrics", metric)
        assert found["samples"] == {"complete": 0, "pending": 3, "further": further, "failed": {}}
    asked = find_prompts(answer_batch(found, tmp_path / "results.jsonl", answer))
    assert asked == ["question-imap"] * 2
    assert imapeval("batch", "import", "batches", "results.jsonl").returncode == 0
    # A blend takes a rating of the texts, and their facts.
    assert export(imapeval, data, *options, "--metrics", "blend")["samples"]["further"] == len(SAMPLES)
    assert export(imapeval, data, *options)["samples"]["further"] == 0


def test_nothing_is_read_that_no_metric_wants(imapeval: Command, write_data: WriteData) -> None:
    data = write_data([*SAMPLES[:1], Sample("free", "What helps against gout?", (), "Take colchicine.")])
    options = ("--llm", "openai:stub", *ELSEWHERE, "--metrics")
    # Of the one without reference imapScore says nothing, whatever is read in it.
    assert export(imapeval, data, *options, "imapscore")["requests"] == 1
    found = export(imapeval, data, *options, "imapscore,geval-noref:accuracy")
    assert found["samples"] == {"complete": 0, "pending": 2, "further": 1, "failed": {}}
    assert (found["requests"], found["waiting"]) == (2, 1)


@pytest.mark.slow
def test_ready_imaps_are_judged_at_once(imapeval: Command, write_data: WriteData, tmp_path: Path) -> None:
    data = write_data(SAMPLES[:2])
    assert imapeval("extract", data, "--out", "imaps.jsonl").returncode == 0
    options = (
        "--llm",
        "openai:stub",
        *ELSEWHERE,
        "--metrics",
        "judge",
        "--imaps",
        "imaps.jsonl",
        "--relations",
        "graph",
    )
    found = export(imapeval, data, *options)
    assert find_prompts(answer_batch(found, tmp_path / "results.jsonl", answer)) == ["judge"] * 2
    assert imapeval("batch", "import", "batches", "results.jsonl").returncode == 0
    done = imapeval("score", data, *options, "--batch", "batches", "--out", "run", "--max-failures", "0")
    assert done.returncode == 0, done.stderr


def test_options_of_judges_are_those_of_the_run(imapeval: Command, write_data: WriteData, tmp_path: Path) -> None:
    options = ("--llm", "openai:stub", *ELSEWHERE, "--metrics", "geval:accuracy")
    settings = ("--set", "geval:accuracy.weights=samples", "--set", "geval:accuracy.samples=3")
    found = export(imapeval, write_data(SAMPLES), *options, *settings)
    assert found["requests"] == 3 * len(SAMPLES)


@pytest.mark.slow
def test_relations_through_batches(imapeval: Command, write_data: WriteData, tmp_path: Path) -> None:
    reference, response = "raise the head of the bed", "sleep with the upper body propped up"
    data = write_data([Sample("night", "What helps at night?", (reference,), response)])
    imap = {"id": "night", "query": [{"term": "advice", "value": "?"}], "constraint": []}
    for side, said in (("reference", reference), ("response", response)):
        imap[side] = [{"term": "advice", "value": said}]
    (tmp_path / "imaps.jsonl").write_text(json.dumps(imap) + "\n", encoding="utf-8")
    options = ("--llm", "openai:stub", *ELSEWHERE, "--metrics", "imapscore", "--imaps", "imaps.jsonl")
    options = (*options, "--relations", "llm")
    found = export(imapeval, data, *options)
    assert find_prompts(answer_batch(found, tmp_path / "results.jsonl", answer)) == ["value-relation"]
    assert imapeval("batch", "import", "batches", "results.jsonl").returncode == 0
    done = imapeval("score", data, *options, "--batch", "batches", "--out", "run")
    assert done.returncode == 0, done.stderr
    (result,) = read_results(tmp_path / "run").values()
    assert result["score"] == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--metrics", "gptscore"], "'gptscore' cannot be put into batches"),
        (["--metrics", "rouge1,nothing"], "unknown metric 'nothing'"),
        (["--set", "geval.samples=3"], "geval.samples=3"),
        (
            ["--imaps", "imaps.jsonl", "--metrics", "imapscore", "--relations", "graph"],
            "--imaps and --relations graph",
        ),
        (["--relations", "both"], "unknown --relations 'both'"),
    ],
)
def test_what_cannot_be_meant(
    imapeval: Command, write_data: WriteData, tmp_path: Path, arguments: list[str], told: str
) -> None:
    done = imapeval(
        "batch", "export", write_data(SAMPLES), "--llm", "openai:stub", *ELSEWHERE, "--out", "b", *arguments
    )
    assert done.returncode == 2
    assert told in done.stderr
    assert not (tmp_path / "b").exists()


def test_likelihood_cannot_wait_for_batches(imapeval: Command, write_data: WriteData) -> None:
    options = ("--llm", "openai:stub", *ELSEWHERE, "--metrics", "gptscore", "--batch", "batches")
    done = imapeval("score", write_data(SAMPLES), *options)
    assert done.returncode == 2
    assert "'gptscore' cannot be put into batches" in done.stderr
