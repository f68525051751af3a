"""A run through files of requests beside the same run against a live server, both answered by the same stub."""

import hashlib
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.llm.structured.templates import find_texts
from imapeval.types import Sample
from tests.cli.conftest import Command, Stub, answer_batch, run_batches
from tests.cli.conftest import export_batch as export

Json = dict[str, Any]

pytestmark = pytest.mark.usefixtures("apart")

PAGE = (Path(__file__).parents[3] / "docs" / "batches.md").read_text(encoding="utf-8")

METRICS = "imapscore,imapscore:paper,rouge1"
FEVER, COUGH = "What helps against a fever?", "咳嗽吃什么药？"
SAMPLES = [
    Sample("a", FEVER, ("Take ibuprofen. Drink plenty.",), "Take paracetamol. Drink plenty.", system="one"),
    Sample("b", FEVER, ("Take ibuprofen. Drink plenty.",), "Take ibuprofen.", system="two"),
    Sample("c", COUGH, ("口服止咳糖浆。多喝水。",), "多喝水。"),
    Sample("d", "What helps against gout?", (), "Take colchicine."),
]
DIALOGUE = {
    "id": "talk",
    "turns": [
        {"role": "user", "content": "I have a fever."},
        {"role": "assistant", "content": "Since when?"},
        {"role": "user", "content": "Since Monday. What helps?"},
        {"role": "assistant", "content": "Drink plenty."},
    ],
    "reference": "Drink plenty. Rest.",
}
FLAWED = [
    Sample("garbled", FEVER, ("Take ibuprofen.",), "Take garble. Drink plenty."),
    Sample("long", FEVER, ("Take ibuprofen.",), "Take toolong. Drink plenty."),
    Sample("shy", FEVER, ("Take ibuprofen.",), "Take refuse. Drink plenty."),
    Sample("never", FEVER, ("Take ibuprofen.",), "Take declined."),
    Sample("nonsense", FEVER, ("Take ibuprofen.",), "Take hopeless."),
]


def answer(body: Json) -> tuple[int, Json]:
    """Reply as a model that reads sentences, and fails at some words; the same to the same body, always."""
    said: Json
    told = body["messages"][-1]["content"]
    again = "first attempt" in told
    seed = body.get("seed") or 0
    if "temperature" in body and body["model"] == "reasoner":
        fault = {"message": "Unsupported value: 'temperature' does not support 0.9", "param": "temperature"}
        return 400, {"error": {**fault, "type": "invalid_request_error", "code": "unsupported_value"}}
    if "<answer-" in told:
        text, asked = (find_texts(told)[name] for name in ("answer", "asked"))
        sentences = re.findall("[^.。]+", text)
        # Each reading but the first forgets something else.
        kept = [one.strip() for index, one in enumerate(sentences) if seed < 2 or index != seed % len(sentences)]
        said = {"inform": [{"term": json.loads(asked)[0], "values": kept}] if kept else []}
    elif "<reference-" in told:
        text = ""
        said = {"relations": [{"reference": 1, "response": 1, "why": "so", "relation": "containment"}]}
    else:
        text = told
        said = {"query": ["治疗药物" if re.search("[\u4e00-\u9fff]", told) else "treatment"], "constraint": []}
    message, reason = {"role": "assistant", "content": json.dumps(said, ensure_ascii=False)}, "stop"
    if "hopeless" in text or ("garble" in text and not again):
        message["content"] = "Let me think about it."
    if "toolong" in text and not again:
        message["content"], reason = message["content"][:20], "length"
    if "declined" in text or ("refuse" in text and not again):
        message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    usage = {"prompt_tokens": len(told), "completion_tokens": 7, "total_tokens": len(told) + 7}
    return 200, {"model": body["model"], "choices": [{"message": message, "finish_reason": reason}], "usage": usage}


@pytest.fixture
def stub(serve: Callable[..., Stub]) -> Stub:
    return serve(answer)


def write_samples(path: Path, samples: list[Sample]) -> Path:
    rows: list[Json] = [
        {"id": s.id, "question": s.question, "references": list(s.references), "response": s.response} for s in samples
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, DIALOGUE]), encoding="utf-8")
    return path


def run_batch(exported: Json, results: Path) -> None:
    answer_batch(exported, results, lambda line: answer(line["body"]))


def take(imapeval: Command, *results: Path, folder: str = "batches") -> Json:
    done = imapeval("batch", "import", folder, *results, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def complete(imapeval: Command, data: Path, *options: str) -> int:
    """Export and import until nothing is pending, with failures on the way; return how often."""
    failed: set[str] = set()

    def answer_or_fail(line: Json) -> tuple[int, Json]:
        """Fail a third of the requests once."""
        key = line["custom_id"]
        fails = int(key[:4], 16) % 3 == 0 and key not in failed
        failed.add(key)
        return (500, {"error": {"message": "overloaded"}}) if fails else answer(line["body"])

    return len(run_batches(imapeval, data, *options, answer=answer_or_fail))


def lines_of(run: Path, name: str) -> set[str]:
    return set((run / name).read_text(encoding="utf-8").splitlines())


@pytest.mark.slow
def test_a_run_through_batches_is_the_run_made_live(
    imapeval: Command, stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    data = write_samples(tmp_path / "data.jsonl", SAMPLES)
    options = ("--llm", "openai:stub", "--base-url", stub.url, "--votes", "3", "--metrics", METRICS)
    live = imapeval("score", data, *options, "--out", "live")
    assert live.returncode == 0, live.stderr
    assert stub.calls > 0
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "other-cache"))
    stub.calls = 0
    assert complete(imapeval, data, *options) >= 3
    batched = imapeval("score", data, *options, "--out", "batched")
    assert batched.returncode == 0, batched.stderr
    assert stub.calls == 0
    for name in ("results.jsonl", "imaps.jsonl"):
        assert lines_of(tmp_path / "live", name) == lines_of(tmp_path / "batched", name) != set()


def test_a_model_that_takes_no_temperature(
    imapeval: Command, stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    data = write_samples(tmp_path / "data.jsonl", SAMPLES)
    options = ("--llm", "openai:reasoner", "--base-url", stub.url)
    imapeval("extract", data, *options, "--out", "live.jsonl")
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "other-cache"))
    stub.calls = 0
    complete(imapeval, data, *options)
    imapeval("extract", data, *options, "--out", "batched.jsonl")
    assert stub.calls == 0
    assert (tmp_path / "batched.jsonl").read_bytes() == (tmp_path / "live.jsonl").read_bytes() != b""


def test_second_attempts_and_failures_are_those_of_a_live_run(
    imapeval: Command, stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    data = write_samples(tmp_path / "data.jsonl", FLAWED)
    options = ("--llm", "openai:stub", "--base-url", stub.url)
    live = imapeval("extract", data, *options, "--out", "live.jsonl", "--json")
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "other-cache"))
    stub.calls = 0
    complete(imapeval, data, *options)
    batched = imapeval("extract", data, *options, "--out", "batched.jsonl", "--json", "--batch", "batches")
    assert stub.calls == 0
    assert (tmp_path / "batched.jsonl").read_bytes() == (tmp_path / "live.jsonl").read_bytes()
    failures = json.loads(live.stdout)["failures"]
    assert json.loads(batched.stdout)["failures"] == failures
    assert {failure["id"]: failure["kind"] for failure in failures} == {
        "never": "refusal",
        "nonsense": "unreadable-completion",
    }


def test_what_failed_for_good_is_asked_again(imapeval: Command, stub: Stub, tmp_path: Path):
    data = write_samples(tmp_path / "data.jsonl", FLAWED)
    options = ("--llm", "openai:stub", "--base-url", stub.url)
    complete(imapeval, data, *options)
    # The last export of `complete` wrote both attempts at the one sample that the model refuses for good.
    found = export(imapeval, data, *options)
    assert (found["requests"], found["waiting"]) == (0, 2)
    failed = {"refusal": 1, "unreadable-completion": 1}
    assert found["samples"] == {"complete": 4, "pending": 0, "further": 0, "failed": failed}


def test_stages_and_what_was_asked_once(imapeval: Command, stub: Stub, tmp_path: Path):
    data = write_samples(tmp_path / "data.jsonl", SAMPLES)
    options = ("--llm", "openai:stub", "--base-url", stub.url)
    first = export(imapeval, data, *options)
    # Two samples share a question.
    assert (first["requests"], first["samples"]) == (4, {"complete": 0, "pending": 5, "further": 5, "failed": {}})
    (file,) = first["files"]
    lines = [json.loads(line) for line in Path(file["path"]).read_text(encoding="utf-8").splitlines()]
    assert len({line["custom_id"] for line in lines}) == file["requests"] == 4
    assert all(line["body"]["model"] == "stub" and line["body"]["max_tokens"] for line in lines)
    # Before there are results, nothing is asked either.
    early = imapeval("extract", data, *options, "--out", "early.jsonl", "--json", "--batch", "batches")
    assert [failure["kind"] for failure in json.loads(early.stdout)["failures"]] == ["pending"] * 5
    imapeval("score", data, *options, "--metrics", "imapscore", "--out", "early", "--batch", "batches")
    outcomes = (json.loads(line) for line in lines_of(tmp_path / "early", "results.jsonl"))
    # One sample has no reference.
    assert sorted(outcome["failure"]["kind"] for outcome in outcomes) == ["no-reference", *["pending"] * 4]
    results = tmp_path / "results.jsonl"
    run_batch(first, results)
    taken = take(imapeval, results)
    assert taken["new"] == 4
    named = {"export": {*first, *first["samples"], *file}, "import": {*taken}}
    for command, fields in named.items():
        (row,) = re.findall(rf"^\| `batch {command}` \| (.*) \|$", PAGE, re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row)) - {"custom_id"} == fields
    second = export(imapeval, data, *options)
    # 5 responses, 3 references: one is shared, one sample has none.
    assert (second["requests"], second["samples"]["pending"], second["samples"]["further"]) == (8, 5, 0)
    run_batch(second, results)
    assert take(imapeval, results)["new"] == 8
    third = export(imapeval, data, *options)
    assert (third["requests"], third["waiting"], third["samples"]["complete"]) == (0, 0, 5)
    assert stub.calls == 0


def test_what_people_are_told(imapeval: Command, tmp_path: Path):
    data = write_samples(tmp_path / "data.jsonl", SAMPLES)
    options = ("--llm", "openai:stub", "--base-url", "http://127.0.0.1:9/v1")
    first = imapeval("batch", "export", data, "--out", "batches", *options)
    assert "requests-001.jsonl: 4 requests" in first.stdout
    assert "5 of them need another stage" in first.stdout
    second = imapeval("batch", "export", data, "--out", "batches", *options)
    assert "4 requests were written before" in second.stdout
    results = tmp_path / "results.jsonl"
    run_batch({"files": [{"path": tmp_path / "batches" / "requests-001.jsonl"}]}, results)
    whole = results.read_text()
    torn = whole.rstrip("\n")[:-30]
    results.write_text('{"custom_id": "strange", "error": {"message": "?"}}\n' + torn)
    done = imapeval("batch", "import", "batches", results)
    assert done.returncode == 0
    assert "3 completions added" in done.stdout
    assert "batches/requests-001.jsonl: 1 requests have no result yet" in done.stdout.replace("\\", "/")
    assert "not exported to this folder: 1 lines" in done.stderr
    assert "results.jsonl, line 5: Invalid JSON" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["export", "data.jsonl", "--llm", "local:smollm2", "--out", "b"], "local:smollm2"),
        (["export", "data.jsonl", "--llm", "openai:", "--out", "c"], "'openai:'"),
        (["import", "nowhere", "results.jsonl"], "nowhere is not a batch folder"),
        (["import", "b", "absent.jsonl"], "absent.jsonl: it cannot be read"),
        (
            ["export", "data.jsonl", "--llm", "openai:other", "--base-url", "http://127.0.0.1:9/v1", "--out", "b"],
            "b contains requests to openai:stub@http://127.0.0.1:9/v1, not to openai:other@",
        ),
    ],
)
def test_what_cannot_be_meant(imapeval: Command, tmp_path: Path, arguments: list[str], told: str):
    data = write_samples(tmp_path / "data.jsonl", SAMPLES)
    export(imapeval, data, "--llm", "openai:stub", "--base-url", "http://127.0.0.1:9/v1", out="b")
    done = imapeval("batch", *arguments)
    assert done.returncode == 2
    assert told in done.stderr


def test_nothing_is_exported_of_what_nobody_answered(imapeval: Command, write_data: Callable[..., Path]):
    nobody = [
        Sample("a", "Why?", ("Rest.",), "", answered=False),
        Sample("b", "How?", ("Rest.",), "N/A"),
    ]
    found = export(imapeval, write_data(nobody), "--llm", "openai:m", "--missing", "N/A")
    assert (found["files"], found["samples"]["failed"]) == ([], {"no-response": 2})


@pytest.mark.slow
def test_no_key_is_needed_to_write_requests(imapeval: Command, tmp_path: Path):
    data = write_samples(tmp_path / "data.jsonl", SAMPLES)
    (file,) = export(imapeval, data, "--llm", "openai:gpt-4.1-mini")["files"]
    line = json.loads(Path(file["path"]).read_text(encoding="utf-8").splitlines()[0])
    assert (line["body"]["model"], "max_completion_tokens" in line["body"]) == ("gpt-4.1-mini", True)
    done = imapeval("score", data, "--llm", "openai:gpt-4.1-mini", "--dry-run", "--json")
    assert json.loads(done.stdout)["usd"] > 0


def test_the_next_command_can_be_pasted_for_a_folder_with_a_space(imapeval: Command, tmp_path: Path):
    data = write_samples(tmp_path / "data.jsonl", SAMPLES)
    done = imapeval(
        "batch", "export", data, "--llm", "openai:stub", "--base-url", "http://127.0.0.1:9/v1", "--out", "my batch"
    )
    assert "my batch" in shlex.split(done.stdout.splitlines()[-1])


def test_batch_of_another_model_is_refused(imapeval: Command, tmp_path: Path):
    data = write_samples(tmp_path / "data.jsonl", SAMPLES)
    export(imapeval, data, "--llm", "openai:stub", "--base-url", "http://127.0.0.1:9/v1")
    done = imapeval(
        "extract", data, "--llm", "openai:stub", "--base-url", "http://127.0.0.1:8/v1", "--batch", "batches"
    )
    assert done.returncode == 2
    assert "http://127.0.0.1:8/v1" in done.stderr


def test_the_same_requests_in_the_same_files(imapeval: Command, tmp_path: Path):
    data = write_samples(tmp_path / "data.jsonl", SAMPLES)
    options = ("--llm", "openai:stub", "--base-url", "http://127.0.0.1:9/v1", "--votes", "3")
    digests = []
    for out in ("one", "two"):
        (file,) = export(imapeval, data, *options, out=out)["files"]
        digests.append(hashlib.sha256(Path(file["path"]).read_bytes()).hexdigest())
    assert digests[0] == digests[1]


def test_a_schema_is_sent_once_and_what_varies_comes_last(
    imapeval: Command, write_data: Callable[..., Path], tmp_path: Path
):
    data = write_data(SAMPLES[:3])
    imapeval("extract", data, "--out", "imaps.jsonl")
    command = ("batch", "export", data, "--llm", "openai:m", "--metrics", "blend,factscore")
    assert imapeval(*command, "--out", "reading").returncode == 0
    assert imapeval(*command, "--imaps", "imaps.jsonl", "--out", "judging").returncode == 0
    files = tmp_path.glob("*/requests-*.jsonl")
    bodies = [json.loads(line)["body"] for path in files for line in path.read_text("utf-8").splitlines()]
    alike: dict[tuple[str, bool], list[list[str]]] = {}
    for body in bodies:
        texts = [message["content"] for message in body["messages"]]
        schema = body.get("response_format", {}).get("json_schema", {})
        for key in ("properties", "additionalProperties", "$defs"):
            assert not any(f'"{key}"' in text for text in texts)
        chinese = re.search("[一-鿿]", texts[0]) is not None
        alike.setdefault((schema.get("name", texts[0]), chinese), []).append(texts)
    assert {"question-imap", "value-relation", "atomic-facts"} <= {name for name, _ in alike}
    for texts in alike.values():
        # All messages but the last are those of every request of the kind, so that a server computes them once.
        assert len({tuple(text[:-1]) for text in texts}) == 1
