import contextlib
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.errors import InputError, ResourceError, UsageError
from imapeval.llm import batch
from imapeval.llm.batch import BatchFolder
from imapeval.llm.batch_state import open_state
from imapeval.llm.dry_run import DryRunModel, pending_error
from imapeval.llm.middleware.cache import CachedModel, cache_key
from imapeval.llm.protocol import PERMANENT_KINDS, Message, Request, canonical_json, parse_canonical
from imapeval.llm.providers.openai import OpenAIModel

URL = "http://127.0.0.1:9/v1"
IDENTITY = f"openai:m@{URL}"
MODEL = (IDENTITY, "m")
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_new_folder_is_opened_by_several_at_once(tmp_path: Path) -> None:
    def open_and_close(path: Path) -> None:
        connection, _ = open_state(path)
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        for number in range(30):
            list(pool.map(open_and_close, [tmp_path / f"{number}.sqlite"] * 4))


def ask(number: int | str) -> Request:
    return Request((Message("system", "Read."), Message("user", f"text {number}")), schema=SCHEMA, schema_name="task")


def key(request: Request) -> str:
    return cache_key(canonical_json(request, IDENTITY))


def write(folder: BatchFolder, *requests: Request) -> batch.BatchWriter:
    with folder.open_writer() as writer:
        for request in requests:
            writer.add(request)
    return writer


def keys_in(path: Path) -> list[str]:
    return [json.loads(line)["custom_id"] for line in path.read_text(encoding="utf-8").splitlines()]


def chat(text: str | None, *, reason: str = "stop", **message: str) -> dict[str, object]:
    message = {"role": "assistant", "content": text, **message}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    return {"model": "m-2026", "choices": [{"message": message, "finish_reason": reason}], "usage": usage}


def good(request: Request, text: str = "yes", id_: str | None = "r1") -> dict[str, object]:
    response = {"status_code": 200, "request_id": "x", "body": chat(text)}
    return {"id": id_, "custom_id": key(request), "response": response, "error": None}


def bad(request: Request, status: int = 500, message: str = "overloaded", id_: str | None = "r1") -> dict[str, object]:
    response = {"status_code": status, "request_id": "x", "body": {"error": {"message": message}}}
    return {"id": id_, "custom_id": key(request), "response": response, "error": None}


@pytest.fixture
def cache(tmp_path):
    return CachedModel(
        DryRunModel(IDENTITY, find_completion=lambda _: None, reply=pending_error), tmp_path / "c.sqlite"
    )


@pytest.fixture
def folder(tmp_path):
    with BatchFolder(tmp_path / "b", model=MODEL) as opened:
        yield opened


@pytest.fixture
def take(tmp_path, folder, cache):
    def take_lines(*lines: dict[str, object] | bytes):
        path = tmp_path / "results.jsonl"
        path.write_bytes(
            b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
        )
        return folder.import_results([path], cache=cache)

    return take_lines


requests = st.builds(
    Request,
    st.lists(
        st.builds(
            Message, st.sampled_from(["system", "user", "assistant"]), st.text(st.characters(exclude_categories=[]))
        ),
        min_size=1,
    ).map(tuple),
    schema=st.sampled_from([None, SCHEMA]),
    schema_name=st.sampled_from(["answer", "question-imap"]),
    json=st.booleans(),
    max_tokens=st.integers(1, 9999),
    temperature=st.sampled_from([0.0, 0.3, 0.9]),
    seed=st.none() | st.integers(0, 9),
)


@given(requests)
def test_a_request_comes_back_from_its_canonical_text(request_):
    assert parse_canonical(canonical_json(request_, IDENTITY)) == request_


@pytest.mark.parametrize("url", [URL, None, "https://api.openai.com/v1/"])
@pytest.mark.parametrize(
    "request_",
    [
        ask(1),
        replace(ask(1), seed=3, temperature=0.9),
        replace(ask(1), schema=None, json=True),
        Request(ask(1).messages),
    ],
)
def test_the_body_is_what_a_live_run_sends(tmp_path, monkeypatch, url, request_):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    model = OpenAIModel("m", base_url=url)
    with BatchFolder(tmp_path / "own", model=(model.identity, "m")) as folder:
        assert folder.request_body(request_) == model.request_body(request_)
        write(folder, request_)
    written = (tmp_path / "own" / "requests-001.jsonl").read_text(encoding="utf-8")
    assert json.loads(written)["body"] == model.request_body(request_)
    assert "secret" not in written


def test_any_text_survives_the_file(folder):
    text = "头痛 \ud83d <b>\u2028 \x00"
    write(folder, Request((Message("user", text),)))
    (line,) = folder.file_path(1).read_bytes().splitlines()
    assert json.loads(line)["body"]["messages"][0]["content"] == text
    assert "头痛" in line.decode()


def test_files_are_split_at_the_limits(folder, monkeypatch):
    monkeypatch.setattr(batch, "MAX_LINES", 3)
    written = write(folder, *map(ask, range(7)), ask(0))
    assert [(file.path.name, file.requests) for file in written.files] == [
        ("requests-001.jsonl", 3),
        ("requests-002.jsonl", 3),
        ("requests-003.jsonl", 1),
    ]
    assert [file.bytes for file in written.files] == [file.path.stat().st_size for file in written.files]
    size = written.files[0].bytes // 3
    monkeypatch.setattr(batch, "MAX_BYTES", 2 * size + 5)
    more = write(folder, *map(ask, range(10, 15)))
    assert [(file.path.name[-9:-6], file.requests) for file in more.files] == [("004", 2), ("005", 2), ("006", 1)]
    assert all(file.bytes <= 2 * size + 5 for file in more.files)


def test_the_limits_are_those_of_openai():
    assert (batch.MAX_LINES, batch.MAX_BYTES) == (50_000, 200_000_000)


@pytest.mark.parametrize(
    "usage", ["none", None, {}, {"prompt_tokens": [10], "completion_tokens": 3}, {"prompt_tokens": "-Infinity"}]
)
def test_completions_without_usable_counts_of_tokens_are_counted(folder, take, usage):
    write(folder, ask(1), ask(2))
    uncounted = good(ask(1))
    uncounted["response"] = {"status_code": 200, "request_id": "x", "body": {**chat("yes"), "usage": usage}}
    report = take(uncounted, good(ask(2)))
    assert (report.new, report.uncounted, report.prompt_tokens) == (2, 1, 10)


def test_pending_requests_are_not_exported_twice(folder):
    write(folder, ask(1), ask(2))
    second = write(folder, ask(2), ask(3))
    assert keys_in(folder.file_path(2)) == [key(ask(3))]
    assert second.waiting == 1
    assert folder.count_waiting() == {"requests-001.jsonl": 2, "requests-002.jsonl": 1}
    folder.file_path(1).unlink()
    write(folder, ask(2))
    assert keys_in(folder.file_path(3)) == [key(ask(2))]


def test_completions_are_imported(folder, cache, take):
    write(folder, ask(1), ask(2))
    report = take(good(ask(2), "two"), good(ask(1), "one"))
    assert (report.new, report.known, report.prompt_tokens, report.completion_tokens) == (2, 0, 20, 6)
    found = cache.get(ask(1))
    assert (found.text, found.model, found.usage.prompt_tokens) == ("one", "m-2026", 10)
    assert folder.count_waiting() == {}
    again = take(good(ask(2), "two"), good(ask(1), "one"))
    assert (again.new, again.known, again.differing) == (0, 2, [])


def test_the_first_good_result_wins_and_differing_ones_are_reported(folder, cache, take, tmp_path):
    write(folder, ask(1))
    report = take(bad(ask(1), id_="r1"), good(ask(1), "one", "r2"), good(ask(1), "uno", "r3"), bad(ask(1), id_="r4"))
    assert (report.new, report.failures) == (1, {})
    assert report.differing == [f"{tmp_path / 'results.jsonl'}, line 3"]
    assert cache.get(ask(1)).text == "one"


def test_invalid_lines_are_reported_and_skipped(folder, cache, take, tmp_path):
    write(folder, ask(1), ask(2))
    whole = json.dumps(good(ask(2))).encode()
    report = take(
        b"\xef\xbb\xbf" + json.dumps(good(ask(1))).encode() + b"\r\n",
        b"\n",
        b'{"custom_id": 7, "error": "x"}\n',
        b"\xff\xfe\n",
        folder.file_path(1).read_bytes().splitlines()[0] + b"\n",
        json.dumps({**good(ask(1)), "custom_id": "someone else's"}).encode() + b"\n",
        whole[:-20],
    )
    assert report.new == 1
    assert report.foreign == [f"{tmp_path / 'results.jsonl'}, line 6"]
    assert [int(place.rpartition(" ")[2]) for place in report.unreadable] == [3, 4, 5, 7]
    assert cache.get(ask(2)) is None


def test_half_a_character_is_read_as_in_a_live_run(folder, cache, take):
    write(folder, ask(1))
    # What `chat_format.repair` writes in its place, see test_chat_format.py.
    assert take(good(ask(1), "half \ud83d")).unreadable == {}
    assert cache.get(ask(1)).text == "half ?"
    assert folder.count_waiting() == {}


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_a_line_without_an_end_is_an_error(folder, cache):
    with pytest.raises(InputError) as failed:
        folder.import_results([Path("/dev/zero")], cache=cache)
    assert (failed.value.path, failed.value.line) == (Path("/dev/zero"), 1)


def test_answered_requests_are_pending_again_if_the_cache_is_lost(folder, take):
    write(folder, ask(1))
    take({"id": "r1", "custom_id": key(ask(1)), "error": None, "response": {"status_code": 200, "body": chat("yes")}})
    assert folder.count_waiting() == {}
    # Who writes it knows that the cache has it no more.
    assert write(folder, ask(1)).waiting == 1
    assert folder.count_waiting() == {"requests-001.jsonl": 1}


# OpenAI's forms: its API reference, "The request output object"; vLLM's: run_batch.py, and its errors as measured.
FAILURES = [
    ({"response": None, "error": {"code": "batch_expired", "message": "too late"}}, "server"),
    ({"response": {"status_code": 429, "body": {"error": {"message": "slow down"}}}}, "rate-limit"),
    ({"response": {"status_code": 401, "body": {"error": {"message": "no key"}}}}, "auth"),
    ({"response": {"status_code": 503, "body": None}}, "server"),
    ({"response": {"status_code": 200, "body": chat(None, refusal="I cannot")}}, "refusal"),
    ({"response": {"status_code": 200, "body": chat("cut", reason="length")}}, "truncated"),
    ({"response": {"status_code": 200, "body": chat("")}}, "unreadable-reply"),
    ({"response": {"status_code": 200, "body": {"nothing": 1}}}, "unreadable-reply"),
    ({"response": {"status_code": 200, "body": None}}, "unreadable-reply"),
    (
        {
            "response": {"status_code": 400, "request_id": "vllm-batch-1", "body": None},
            "error": {
                "error": {
                    "message": "This model's maximum context length is 8192 tokens. However, ...",
                    "type": "BadRequestError",
                    "param": "input_tokens",
                    "code": 400,
                }
            },
        },
        "too-long",
    ),
    (
        {
            "response": {"status_code": 400, "body": None},
            "error": {"error": {"message": "Grammar error: Invalid type: nonsense", "param": None, "code": 400}},
        },
        "unsupported",
    ),
    ({"response": {"status_code": 400, "body": None}, "error": "The URL /v2 is not supported"}, "bad-request"),
]


@pytest.mark.parametrize(("outcome", "kind"), FAILURES)
def test_failures_are_reported_and_exported_again(folder, cache, take, outcome, kind):
    write(folder, ask(1))
    result = {"id": "r1", "custom_id": key(ask(1)), "error": None, **outcome}
    report = take(result)
    assert [found for found, _ in report.failures.values()] == [kind]
    assert cache.get(ask(1)) is None
    recalled = folder.failure_lookup()(ask(1))
    assert recalled.kind == (kind if kind in PERMANENT_KINDS else "pending")
    assert folder.failure_lookup()(ask(2)).kind == "pending"
    assert len(write(folder, ask(1)).files) == 1
    # The old failure again says nothing about the new file.
    take(result)
    assert write(folder, ask(1)).waiting == 1


@pytest.mark.parametrize(("name", "again"), [("r-{}.jsonl", "overloaded"), ("r.jsonl", "overloaded again")])
@pytest.mark.parametrize("id_", ["batch", None])
def test_results_that_share_an_id_are_told_apart(tmp_path, folder, cache, id_, name, again):
    def take(number: int, *lines: dict[str, object]):
        path = tmp_path / name.format(number)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return folder.import_results([path], cache=cache)

    write(folder, ask(1), ask(2), ask(3))
    first = [bad(ask(1), id_=id_), good(ask(2), id_=id_), bad(ask(3), id_=id_)]
    take(1, *first)
    assert write(folder, ask(1), ask(3)).waiting == 0
    # The old failures again say nothing about the new file.
    take(1, *first)
    assert (write(folder, ask(1), ask(3)).waiting, folder.count_waiting()) == (2, {"requests-002.jsonl": 2})
    take(2, bad(ask(1), id_=id_, message=again), good(ask(3), id_=id_))
    assert folder.count_waiting() == {}
    # Alone in its file.
    for number in (3, 4):
        assert len(write(folder, ask(1)).files) == 1
        take(number, bad(ask(1), id_=id_, message=f"overloaded at {number}"))
        assert folder.count_waiting() == {}


def test_the_output_of_a_real_vllm(folder, cache, take):
    # `vllm run-batch` 0.32.0 on the CPU with SmolLM2-135M-Instruct; only the custom_ids are made to fit.
    lines = [json.loads(line) for line in (Path(__file__).parent / "vllm-run-batch.jsonl").read_text().splitlines()]
    write(folder, *(ask(line["custom_id"]) for line in lines))
    report = take(*(line | {"custom_id": key(ask(line["custom_id"]))} for line in lines))
    kinds = {key(ask(line["custom_id"])): line["custom_id"] for line in lines}
    assert {kinds[found]: kind for found, (kind, _) in report.failures.items()} == {
        "b-too-long": "too-long",
        "c-truncated": "truncated",
        "d-wrong-model": "not-found",
        "e-bad-schema": "unsupported",
        "f-seed": "truncated",
    }
    assert (report.new, report.prompt_tokens, report.completion_tokens) == (1, 34, 16)
    assert json.loads(cache.get(ask("a")).text) == {"drug": "Drug"}


def test_a_truncation_keeps_its_text(folder, take):
    write(folder, ask(1))
    result = good(ask(1))
    result["response"]["body"] = chat("half of it", reason="length")
    take(result)
    assert folder.failure_lookup()(ask(1)).raw == "half of it"


def test_a_parameter_that_the_model_refuses_is_left_out_from_then_on(folder, take):
    asked = (ask(1), ask(2))
    write(folder, *asked, ask(3))
    refusal = "Unsupported value: 'temperature' does not support 0.0 with this model."
    report = take(*(bad(request, 400, refusal) for request in asked), good(ask(3)))
    assert {kind for kind, _ in report.failures.values()}.isdisjoint(PERMANENT_KINDS)
    assert [folder.failure_lookup()(request).kind for request in asked] == ["pending"] * 2
    write(folder, *asked)
    lines = folder.file_path(2).read_text().splitlines()
    assert ["temperature" in json.loads(line)["body"] for line in lines] == [False] * 2


def test_a_limit_that_is_refused_under_both_names_is_a_failure(folder, take):
    names = ("max_tokens", "max_completion_tokens")
    for refused, other in (names, names[::-1]):
        write(folder, ask(1))
        said = f"Unsupported parameter: '{refused}' is not supported. Use '{other}' instead."
        take(bad(ask(1), 400, said, id_=refused))
    assert folder.failure_lookup()(ask(1)).kind in PERMANENT_KINDS


def test_files_of_others_stay_in_the_folder(folder):
    other = folder.path / "results.jsonl.part"
    other.write_text("a download that is going on")
    write(folder, ask(1))
    assert other.exists()


def test_nothing_appears_where_writing_fails(folder):
    def write_and_fail():
        with folder.open_writer() as writer:
            writer.add(ask(1))
            raise KeyError("elsewhere")

    with pytest.raises(KeyError):
        write_and_fail()
    assert not list(folder.path.glob("*.jsonl"))
    assert write(folder, ask(1)).waiting == 0
    assert sorted(path.name for path in folder.path.iterdir()) == ["requests-001.jsonl", "state.sqlite"]


@pytest.mark.parametrize("moment", ["writing", "committed", "half renamed"])
def test_kill_9_while_writing_leaves_a_folder_to_go_on_with(tmp_path, moment):
    script = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from imapeval.llm import batch
        from imapeval.llm.protocol import Message, Request

        moment, batch.MAX_LINES = sys.argv[2], 2
        replace, renamed = Path.replace, []

        def stop(*args):
            print("now", flush=True)
            time.sleep(60)

        def rename(path, target):
            if moment == "committed" or renamed:
                stop()
            renamed.append(target)
            replace(path, target)

        Path.replace = rename
        identity = "openai:m@http://127.0.0.1:9/v1"
        with batch.BatchFolder(Path(sys.argv[1]), model=(identity, "m")) as folder, folder.open_writer() as writer:
            for number in range(5):
                if moment == "writing" and number == 3:
                    stop()
                messages = (Message("system", "Read."), Message("user", f"text {number}"))
                schema = {"type": "object", "properties": {}, "additionalProperties": False}
                writer.add(Request(messages, schema=schema, schema_name="task"))
    """)
    command = [sys.executable, "-c", script, str(tmp_path / "b"), moment]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"now\n"
        process.send_signal(signal.SIGKILL)
    with BatchFolder(tmp_path / "b", model=MODEL) as folder:
        written = write(folder, *map(ask, range(5)))
        assert written.waiting == (2 if moment == "half renamed" else 0)
        handed_out = [found for path in sorted(folder.path.glob("*.jsonl")) for found in keys_in(path)]
        assert sorted(handed_out) == sorted(key(ask(number)) for number in range(5))
        assert sum(folder.count_waiting().values()) == 5
        assert not list(folder.path.glob("*.part"))


def test_results_are_known_by_a_new_process(tmp_path, cache):
    with BatchFolder(tmp_path / "b", model=MODEL) as folder:
        write(folder, ask(1))
    results = tmp_path / "r.jsonl"
    results.write_text(json.dumps(good(ask(1))))
    with BatchFolder(tmp_path / "b") as folder:
        assert folder.identity == IDENTITY
        assert folder.import_results([results], cache=cache).new == 1


def test_invalid_batch_folders(tmp_path, cache):
    with pytest.raises(UsageError, match=str(tmp_path)):
        BatchFolder(tmp_path / "absent")
    with BatchFolder(tmp_path / "b", model=MODEL) as folder:
        write(folder, ask(1))
        with pytest.raises(InputError, match="absent"):
            folder.import_results([tmp_path / "absent.jsonl"], cache=cache)
    with pytest.raises(UsageError, match="openai:other"):
        BatchFolder(tmp_path / "b", model=("openai:other", "other"))
    (tmp_path / "b" / "state.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(ResourceError, match=r"state\.sqlite"):
        BatchFolder(tmp_path / "b", model=MODEL)


@pytest.mark.parametrize(
    "change",
    [
        *("model SET identity = x'ff'", "model SET name = x'ff'", "request SET file = 'x'", "request SET text = x'ff'"),
        *("request SET text = '{'", "request SET text = '[]'", "request SET text = '{\"a\": 1}'"),
        f"request SET text = '{'[' * 100_000}'",
        """request SET text = replace(text, '"temperature":0.0', '"temperature":NaN')""",
    ],
)
def test_a_damaged_state_is_refused(tmp_path, cache, change):
    with BatchFolder(tmp_path / "b", model=MODEL) as folder:
        write(folder, ask(1))
    (tmp_path / "r.jsonl").write_text(json.dumps(good(ask(1))))
    with contextlib.closing(sqlite3.connect(tmp_path / "b" / "state.sqlite")) as connection, connection:
        connection.execute(f"UPDATE {change}")
    with pytest.raises(ResourceError, match=r"state\.sqlite"), BatchFolder(tmp_path / "b") as folder:
        folder.import_results([tmp_path / "r.jsonl"], cache=cache)
    assert cache.get(ask(1)) is None


@pytest.mark.parametrize("change", ["result = x'ff'", "message = x'ff'", "raw = x'ff'"])
def test_a_damaged_failure_is_refused(tmp_path, monkeypatch, take, folder, change):
    write(folder, ask(1))
    take(bad(ask(1), 400))
    with contextlib.closing(sqlite3.connect(tmp_path / "b" / "state.sqlite")) as connection, connection:
        connection.execute(f"UPDATE failure SET {change}")
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: opened.append(connect(*args, **options)) or opened[-1]
    )
    with pytest.raises(ResourceError, match=r"state\.sqlite"):
        BatchFolder(tmp_path / "b")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")


@pytest.mark.parametrize("use", [BatchFolder.failure_lookup, BatchFolder.count_waiting])
def test_a_state_without_its_columns_is_refused(tmp_path, folder, use):
    with contextlib.closing(sqlite3.connect(tmp_path / "b" / "state.sqlite")) as connection:
        connection.execute("ALTER TABLE failure RENAME COLUMN key TO yek")
    with pytest.raises(ResourceError, match=str(tmp_path / "b")):
        use(folder)


def test_a_newer_state_is_refused(tmp_path):
    with BatchFolder(tmp_path / "b", model=MODEL) as folder:
        write(folder, ask(1))
    connection = sqlite3.connect(tmp_path / "b" / "state.sqlite")
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(ResourceError, match="9"):
        BatchFolder(tmp_path / "b")


def test_wherever_the_disk_fills_up_files_are_whole_or_not_there(mount_disk: Callable[[int], Path]):
    page, most = 4096, 60
    for pages in range(1, most):
        disk = mount_disk(pages * page)
        try:
            with BatchFolder(disk / "batch", model=MODEL) as folder:
                write(folder, *map(ask, range(20)))
            break
        except ResourceError as error:
            assert str(disk) in str(error)  # noqa: PT017
        assert {path.name for path in (disk / "batch").glob("*")} <= {"state.sqlite", "state.sqlite-journal"}
        mount_disk(most * page)
        with BatchFolder(disk / "batch", model=MODEL) as folder:
            write(folder, *map(ask, range(20)))
            assert len(keys_in(folder.file_path(1))) == 20
        shutil.rmtree(disk / "batch")
    assert 10 < pages < most - 1
