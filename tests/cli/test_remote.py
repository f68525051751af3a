"""Data and output at URLs, with two of fsspec's storages: its own memory, and this computer's files."""

import json
import os
import re
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from imapeval import remote
from imapeval._resources import cache_folder
from imapeval.errors import InputError, UsageError
from imapeval.evaluation.runs import Run
from imapeval.evaluation.samples import read
from imapeval.remote import Output
from imapeval.types import Sample
from tests.cli.conftest import Command, Process

SAMPLES = [Sample(f"q{n}", "Which drug?", ("Take aspirin.",), f"Take aspirin {n} times.") for n in range(3)]


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    storage = fsspec.filesystem("memory")
    yield storage
    storage.rm("/", recursive=True)


def put(storage: Any, write_data: Callable[..., Path], place: str, samples: list[Sample] = SAMPLES) -> None:
    storage.pipe_file(place, write_data(samples).read_bytes())


def test_data_and_run_at_urls(imapeval: Command, memory: Any, write_data: Callable[..., Path], tmp_path: Path) -> None:
    put(memory, write_data, "/data/part-0.jsonl", SAMPLES[:2])
    put(memory, write_data, "/data/part-1.jsonl", SAMPLES[2:])
    put(memory, write_data, "/data/README", [])
    local = imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "local", "--json")
    for source in ("memory://data", "memory://data/part-*.jsonl"):
        done = imapeval("score", source, "--metrics", "rouge1", "--out", "memory://runs/one", "--json")
        assert done.returncode == 0
        content = json.loads(done.stdout)
        assert content["run"] == "memory://runs/one"
        assert content["report"] == "memory://runs/one/report.html"
        assert content["summary"] == json.loads(local.stdout)["summary"]
        memory.get("/runs/one", str(tmp_path / "copy"), recursive=True)
        assert {r.key: r.outcome for r in Run(tmp_path / "copy").results()} == {
            r.key: r.outcome for r in Run(tmp_path / "local").results()
        }
        memory.rm("/runs", recursive=True)
    assert not any(path.is_file() for path in (cache_folder() / "output").glob("*/**/*")), "copies stayed behind"


def test_a_cache_folder_that_cannot_be_written_is_named(
    imapeval: Command, memory: Any, write_data: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_data(SAMPLES)
    monkeypatch.setenv("IMAPEVAL_CACHE", str(data))  # a file
    done = imapeval("score", data, "--metrics", "rouge1", "--out", "memory://runs/one")
    assert done.returncode == 2
    assert str(data) in done.stderr


def test_a_run_at_a_url_is_continued(imapeval: Command, memory: Any, write_data: Callable[..., Path]) -> None:
    put(memory, write_data, "/data.jsonl")
    command = ("score", "memory://data.jsonl", "--metrics", "rouge1", "--out", "memory://runs/one")
    imapeval(*command)
    started = json.loads(memory.cat("/runs/one/manifest.json"))["started"]
    stored = memory.cat("/runs/one/results.jsonl")
    assert imapeval(*command).returncode == 0
    assert json.loads(memory.cat("/runs/one/manifest.json"))["started"] == started
    assert memory.cat("/runs/one/results.jsonl") == stored
    other = imapeval(*command[:3], "rouge2", *command[4:])
    assert other.returncode == 2
    assert memory.cat("/runs/one/results.jsonl") == stored


def test_imaps_at_a_url(imapeval: Command, memory: Any, write_data: Callable[..., Path]) -> None:
    put(memory, write_data, "/data.jsonl")
    assert imapeval("extract", "memory://data.jsonl", "--out", "memory://imaps.jsonl").returncode == 0
    assert len(memory.cat("/imaps.jsonl").splitlines()) == len(SAMPLES)
    again = imapeval("extract", "memory://data.jsonl", "--out", "memory://imaps.jsonl")
    assert again.returncode == 2
    assert "memory://imaps.jsonl" in again.stderr


def test_errors_name_the_url(memory: Any) -> None:
    memory.pipe_file("/data/a.jsonl", b'{"question": "Q?", "response": "A"}\n{')
    with pytest.raises(InputError, match=re.escape("memory:///data/a.jsonl, line 2")):
        read("memory://data/a.jsonl", strict=True)
    (_, bad) = read("memory://data/a.jsonl")
    assert bad.fault is not None
    assert "memory:///data/a.jsonl, line 2" in bad.fault.message
    for nowhere in ("memory://nothing.jsonl", "memory://data/*.csv", "nostorage://a/b.jsonl"):
        with pytest.raises(InputError, match=re.escape(nowhere)):
            read(nowhere)


def test_a_storage_that_hangs_or_never_ends(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe_file("/data/a.jsonl", b"")
    left = threading.Event()

    def hang(place: str, local: str, **_: object) -> None:
        left.wait()

    def never_end(place: str, local: str, *, callback: Any) -> None:
        while True:
            callback.relative_update(2**20)

    monkeypatch.setattr(remote, "_PATIENCE", 0.1)
    for get_file in (hang, never_end):
        monkeypatch.setattr(memory, "get_file", get_file)
        with pytest.raises(InputError, match=re.escape("memory:///data/a.jsonl")):
            read("memory:///data/a.jsonl")
        with pytest.raises(InputError, match=r"memory:/+data"), Output("memory://data").open():
            pytest.fail("opened")
    left.set()


def test_what_cannot_be_written_is_refused_before_any_work(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "pipe_file", refuse)
    with pytest.raises(InputError, match="memory://runs/one"), Output("memory://runs/one").open():
        pytest.fail("opened")


def refuse(*_: object, **__: object) -> None:
    raise PermissionError("Access Denied")


def test_what_did_not_arrive_is_kept_and_sent_the_next_time(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output("memory://runs/one")
    with monkeypatch.context() as patch:
        patch.setattr(memory, "put_file", refuse)
        output.path.mkdir(parents=True)
        (output.path / "results.jsonl").write_text("paid for")
        with pytest.raises(InputError, match=re.escape(str(output.path))), output.open():
            pass
    with Output("memory://runs/one").open() as folder:
        assert (folder / "results.jsonl").read_text() == "paid for"
    assert memory.cat("/runs/one/results.jsonl") == b"paid for"
    assert not folder.exists()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_imaps_that_did_not_arrive_are_not_announced(
    imapeval: Command,
    memory: Any,
    write_data: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    monkeypatch.setattr(memory, "put_file", refuse)
    done = imapeval("extract", write_data(SAMPLES), "--out", "memory://imaps.jsonl", *options)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("other", ["runs/one", "runs/one/", "runs/./one", "runs//one", "/runs/one"])
def test_two_commands_with_one_url(memory: Any, other: str) -> None:
    with Output("memory://runs/one").open(), pytest.raises(UsageError), Output(f"memory://{other}").open():
        pytest.fail("opened twice")


@pytest.mark.parametrize(
    "url", ["file://elsewhere/run", "file:///run?sig=p4ssw0rd", "simplecache::memory://run", "memory://run?a=p4ssw0rd"]
)
def test_urls_that_output_cannot_have(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        Output(url)
    assert "p4ssw0rd" not in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_file_url_is_a_path(imapeval: Command, write_data: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "one run"
    data = write_data(SAMPLES).as_uri()
    assert (
        imapeval("score", data, "--metrics", "rouge1", "--out", folder.as_uri(), "--format", "shards").returncode == 0
    )
    assert imapeval("score", data, "--metrics", "rouge1", "--out", f"{folder}/./", "--format", "shards").returncode == 0
    assert {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in (folder, *folder.rglob("*"))} == {
        (True, 0o700),
        (False, 0o600),
    }


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_cache_folder_is_private(memory: Any) -> None:
    with Output("memory://runs/one").open():
        assert {stat.S_IMODE(path.stat().st_mode) for path in (cache_folder(), cache_folder() / "output")} == {0o700}


def test_data_behind_a_chain_of_urls(memory: Any, write_data: Callable[..., Path]) -> None:
    put(memory, write_data, "/data.jsonl")
    assert read("simplecache::memory://data.jsonl") == SAMPLES


@pytest.mark.parametrize("url", ["ftp://me:p4ss/w0rd@h/x", "simplecache::ftp://h/x", "file:///x"])
@pytest.mark.parametrize(
    "command",
    [
        ("report", "run", "--junit"),
        ("report", "run", "--summary"),
        ("report",),
        ("export", "run", "--out"),
        ("compare", "run", "run", "--table"),
        ("study", "correlate", "run", "--ratings"),
        ("study", "latent"),
        ("rate", "init", "run", "--out"),
        ("kg", "info", "--kg"),
        ("kg", "build", "--out", "kg", "--source"),
        ("kg", "build", "--out", "kg", "--source", "obo:"),
        ("study", "bias", "run", "--altered", "other="),
    ],
)
def test_options_that_take_no_urls(imapeval: Command, tmp_path: Path, command: tuple[str, ...], url: str) -> None:
    *words, last = command
    done = imapeval(*words, last + url) if last.endswith((":", "=")) else imapeval(*command, url)
    assert done.returncode == 2
    assert "is a URL" in done.stderr
    assert "w0rd" not in done.stderr
    assert not [*tmp_path.iterdir()]


FAR = """
from fsspec.implementations.local import LocalFileSystem

class Far(LocalFileSystem):
    protocol = "far"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(str(path).removeprefix("far://"))
"""


@pytest.mark.slow
def test_a_killed_run_is_continued(
    imapeval: Command,
    imapeval_process: Process,
    memory: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    write_data: Callable[..., Path],
) -> None:
    # A storage of its own that outlives a process, as a package of fsspec's would add it.
    plugin = tmp_path / "plugin"
    (plugin / "far-1.dist-info").mkdir(parents=True)
    (plugin / "far-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: far\nVersion: 1\n")
    (plugin / "far-1.dist-info" / "entry_points.txt").write_text("[fsspec.specs]\nfar = far.Far\n")
    (plugin / "far.py").write_text(FAR)
    monkeypatch.setenv("PYTHONPATH", str(plugin))
    monkeypatch.syspath_prepend(str(plugin))
    fsspec.register_implementation("far", "far.Far", clobber=True)
    write_data([Sample(f"q{n}", "Which drug?", ("Take aspirin.",), "Take it.") for n in range(3000)])
    url = f"far://{tmp_path}/far/run"
    command = ("score", "data.jsonl", "--metrics", "imapscore", "--out", url)
    process = imapeval_process(*command)
    staged = Output(url).path / "results.jsonl"
    while process.poll() is None and not (staged.exists() and staged.stat().st_size):
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "far" / "run").exists()
    assert stat.S_IMODE(staged.stat().st_mode) == 0o600
    kept = staged.read_bytes()
    assert imapeval(*command).returncode == 0
    results = (tmp_path / "far" / "run" / "results.jsonl").read_bytes()
    assert kept[: kept.rfind(b"\n")] in results
    assert len(results.splitlines()) == 3000


def test_no_output_at_a_url_from_a_file(imapeval: Command, tmp_path: Path, write_data: Callable[..., Path]) -> None:
    (tmp_path / "imapeval.toml").write_text('[score]\nout = "s3://elsewhere/run"\n')
    done = imapeval("score", write_data(SAMPLES), "--metrics", "rouge1")
    assert done.returncode == 2
    assert "imapeval.toml, line 2" in done.stderr


def test_a_broken_download_leaves_the_run_as_it_was(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe_file("/runs/one/corrections.jsonl", b"a\nb\n")
    memory.pipe_file("/runs/one/results.jsonl", b"c\n")
    output = Output("memory://runs/one")

    def get_half(place: str, local: str, **_: object) -> None:
        Path(local).write_bytes(memory.cat(place)[:2])
        if place.endswith("results.jsonl"):
            raise ConnectionResetError("reset")

    with monkeypatch.context() as patch:
        patch.setattr(memory, "get_file", get_half)
        with pytest.raises(InputError), output.open():
            pytest.fail("opened")
    assert not [*cache_folder().rglob("*.jsonl")]
    with output.open() as folder:
        assert (folder / "corrections.jsonl").read_bytes() == b"a\nb\n"
    assert memory.cat("/runs/one/corrections.jsonl") == b"a\nb\n"


def test_a_run_that_is_too_long_is_refused_before_it_is_copied(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe({"/runs/one/manifest.json": b"x" * 10, "/runs/one/results.jsonl": b"y" * 10})
    monkeypatch.setattr(remote, "MAX_BYTES", 19)
    with monkeypatch.context() as patch:
        patch.setattr(memory, "get_file", lambda *_, **__: pytest.fail("copied"))
        with pytest.raises(InputError) as caught, Output("memory://runs/one").open():
            pytest.fail("opened")
    assert caught.value.path == Path("memory://runs/one")
    monkeypatch.setattr(remote, "MAX_BYTES", 20)
    with Output("memory://runs/one").open() as folder:
        assert len([*folder.iterdir()]) == 2


def test_names_that_lead_out_of_the_folder(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(memory, "find", lambda _, detail: {"/runs/one/../../../escaped": {}})
        with pytest.raises(InputError, match="escaped"), Output("memory://runs/one").open():
            pytest.fail("opened")
    with pytest.raises(InputError):
        Output("memory://runs/..")


@pytest.mark.parametrize("sign", ["", "/", "?", "#", "@", "[", "%2F", " "])
@pytest.mark.parametrize("start", ["", "21/"])
def test_no_password_of_a_url_is_shown(
    imapeval: Command, write_data: Callable[..., Path], start: str, sign: str
) -> None:
    password = f"{start}hunter{sign}22pw"
    # Nobody listens there; fsspec's FTP connects when it is opened.
    url = f"ftp://user-1:{password}@127.0.0.1:1/x/run"
    for options in ((write_data(SAMPLES), "--out", url), (url,)):
        done = imapeval("score", *options, "--metrics", "rouge1")
        assert done.returncode == 2
        assert not re.search("hunter|22pw", done.stdout + done.stderr)


@pytest.mark.parametrize(("pattern", "found"), [("/*", 1), ("/**", 3), ("/*.jsonl", 1), ("", 1)])
def test_folders_among_the_files_of_a_url_are_left_out(
    memory: Any, write_data: Callable[..., Path], pattern: str, found: int
) -> None:
    put(memory, write_data, "/data/a.jsonl", SAMPLES[:1])
    # Spark names a folder of parts like a file.
    put(memory, write_data, "/data/b.jsonl/part-0.jsonl", SAMPLES[1:])
    assert read(f"memory://data{pattern}") == SAMPLES[:found]


def test_output_that_ends_before_anything_was_written_leaves_an_empty_folder(memory: Any) -> None:
    memory.makedirs("/runs/one/sub")
    with Output("memory://runs/one").open():
        pass
    assert memory.isdir("/runs/one")
