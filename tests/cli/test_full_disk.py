"""A disk that has no room left, for the cache or for all files: nothing that is answered is lost."""

import contextlib
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.errors import UsageError
from imapeval.report.page_frame import write_page
from imapeval.types import Sample
from tests.cli.conftest import Command, Process, WriteData, make_reply

SAMPLES = [Sample(str(n), f"What helps in case {n}?", (f"Rest {n}.",), f"Ice {n}.") for n in range(40)]
ROOM = 2_000_000
"""Bytes: for some of the 120 completions of 30,000."""
THOUGHTS = " ".join(map(str, range(5000)))


def run_process(*args: object, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own; `settings`, those of `subprocess.run`, limit its files or its output."""
    command = [sys.executable, "-m", "imapeval", *map(str, args)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(command, text=True, encoding="utf-8", timeout=120, check=False, **{**pipes, **settings})


def limit_files(size: int) -> Callable[[], None]:
    """Return what a new process calls so that it can write no file of more bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.fixture
def server(serve: Callable[..., Any]) -> Any:
    seen: Counter[str] = Counter()

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        content = body["messages"][-1]["content"]
        seen[content] += 1
        facts = [{"term": "help", "values": re.findall("(?:Rest|Ice) [0-9]+", content)[-1:]}]
        said = json.dumps({"query": ["help"], "constraint": [], "inform": facts})
        return make_reply(f"<think>{THOUGHTS}</think>{said}")

    server = serve(answer)
    server.seen = seen
    return server


@pytest.mark.slow
def test_a_disk_that_is_full_at_the_start_is_an_error_before_any_request(
    write_data: WriteData, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Any
):
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    done = run_process(
        *("score", write_data(SAMPLES), "--metrics", "imapscore:paper"),
        *("--llm", "openai:m", "--base-url", server.url, "--out", "run"),
        cwd=tmp_path,
        # Enough for the run's own files, and not for an empty database of the cache.
        preexec_fn=limit_files(12_000),
    )
    assert (done.returncode, server.seen) == (2, Counter()), done.stderr
    assert "completions.sqlite" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("full", ["disk", "file"])
def test_a_full_disk_under_the_cache_loses_no_score_and_no_count(
    mount_disk: Callable[[int], Path],
    write_data: WriteData,
    imapeval: Command,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    server: Any,
    full: str,
) -> None:
    cache = mount_disk(ROOM) if full == "disk" else tmp_path / "cache"
    data = write_data(SAMPLES)
    monkeypatch.setenv("IMAPEVAL_CACHE", str(cache))
    command = ["score", str(data), "--metrics", "imapscore:paper", "--relations", "graph", "--json"]
    command += ["--llm", "openai:m", "--base-url", server.url, "--price", "1,1", "--out"]
    done = run_process(*command, "run", cwd=tmp_path, preexec_fn=limit_files(ROOM) if full == "file" else None)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["samples"], told["failed"]) == (len(SAMPLES), 0)
    assert server.calls == 3 * len(SAMPLES)
    assert set(server.seen.values()) == {1}
    assert (told["usage"]["calls"], told["usage"]["prompt_tokens"]) == (server.calls, 100 * server.calls)
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["usage"] == told["usage"]
    warned = [line for line in done.stderr.splitlines() if str(cache) in line]
    assert len(warned) == 1
    assert "cannot be written" in warned[0]

    # With room again, what was written is free, and the rest is asked once more.
    if full == "disk":
        mount_disk(50 * ROOM)
    again = imapeval(*command, "again")
    assert again.returncode == 0, again.stderr
    assert str(cache) not in again.stderr + caplog.text
    assert 3 * len(SAMPLES) < server.calls < 6 * len(SAMPLES)
    assert set(server.seen.values()) == {1, 2}
    results = [(tmp_path / out / "results.jsonl").read_text().splitlines() for out in ("run", "again")]
    assert sorted(results[0]) == sorted(results[1])


@pytest.mark.slow
@pytest.mark.parametrize("command", ["score", "extract"])
def test_a_disk_of_results_and_cache_that_fills_up_loses_no_completion(
    command: str,
    mount_disk: Callable[[int], Path],
    write_data: WriteData,
    imapeval: Command,
    imapeval_process: Process,
    monkeypatch: pytest.MonkeyPatch,
    server: Any,
):
    disk = mount_disk(60_000_000)
    others = disk / "others"
    out = disk / "out.jsonl"
    llm = ("--llm", "openai:m", "--base-url", server.url, "--concurrency", "2", "--out", str(out))
    full = [command, str(write_data(SAMPLES)), *llm]
    full += ["--metrics", "imapscore:paper", "--relations", "graph"] * (command == "score")
    monkeypatch.setenv("IMAPEVAL_CACHE", str(disk / "cache"))
    with imapeval_process(*full) as process:
        while server.calls < 20 and process.poll() is None:
            time.sleep(0.01)
        others.write_bytes(bytes(shutil.disk_usage(disk).free - 8_000_000))
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert str(disk) in said.splitlines()[-1]
    assert server.calls < 3 * len(SAMPLES)
    others.unlink()
    assert imapeval(*full).returncode == 0
    assert server.calls == 3 * len(SAMPLES)
    assert set(server.seen.values()) == {1}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("as_json", [False, True])
def test_output_on_a_full_disk(write_data: WriteData, tmp_path: Path, as_json: bool):
    command = ["score", write_data(SAMPLES[:2]), "--metrics", "rouge1", "--out", "run", *["--json"] * as_json]
    with Path("/dev/full").open("w") as full:
        done = run_process(*command, cwd=tmp_path, stdout=full)
    assert done.returncode == 2
    assert "full" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert (tmp_path / "run/results.jsonl").read_text().count("\n") == 2


@pytest.mark.slow
def test_temporary_files_on_a_full_disk(
    mount_disk: Callable[[int], Path],
    write_data: WriteData,
    imapeval: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = mount_disk(4096)
    (disk / "other").write_bytes(bytes(4096))
    monkeypatch.setenv("TMPDIR", str(disk))
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    call = ("extract", write_data(SAMPLES[:2]), "--out", "imaps.jsonl")
    done = imapeval(*call)
    assert done.returncode == 2
    assert str(disk) in done.stderr
    assert not Path("imaps.jsonl").exists()
    (disk / "other").unlink()
    assert imapeval(*call).returncode == 0


@pytest.mark.parametrize("command", ["info", "clear"])
def test_a_cache_that_cannot_even_be_looked_into_is_named(
    imapeval: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    # Fails for everybody, as the folder of another user does for all but root.
    monkeypatch.setenv("IMAPEVAL_CACHE", folder := "x" * 300)
    done = imapeval("cache", command)
    assert done.returncode == 2
    assert folder in done.stderr


def test_a_page_that_cannot_be_written_leaves_the_summary_to_the_next_time(
    write_data: WriteData, imapeval: Callable[..., Any]
) -> None:
    assert imapeval("score", write_data(SAMPLES[:2]), "--metrics", "rouge1", "--out", "run").returncode == 0
    Path("run/report.html").unlink()
    Path("run/report.html").mkdir()
    assert imapeval("report", "run", "--summary", "summary.md").returncode == 2
    assert not Path("summary.md").exists()


def test_a_file_for_which_there_is_no_room_leaves_no_folder(
    mount_disk: Callable[[int], Path], imapeval: Command, tmp_path: Path
):
    disk = mount_disk(64_000)
    with (disk / "others").open("wb") as others, contextlib.suppress(OSError):
        others.write(bytes(100_000))
    rows = [{"id": str(n), "rater": rater, "helpful": 1 + n % 3} for n in range(30) for rater in "abc"]
    (tmp_path / "ratings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = imapeval("study", "latent", "ratings.jsonl", "--out", disk / "a" / "latent.jsonl")
    assert done.returncode == 2, done.stdout
    assert str(disk / "a" / "latent.jsonl") in done.stderr
    with pytest.raises(UsageError, match=str(disk)):
        write_page("<p>", disk / "a" / "b" / "page.html")
    assert [path.name for path in disk.rglob("*")] == ["others"]
