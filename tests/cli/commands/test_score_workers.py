"""`imapeval score --workers`: the same run from several processes, also when one of them or the first is killed."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from imapeval.errors import ExtractionError, ImapEvalError, InputError, MissingExtraError, ServiceError
from imapeval.evaluation.evaluate import InMemoryStore
from imapeval.evaluation.pipeline import Pipeline, open_pipeline
from imapeval.evaluation.runs import Run
from imapeval.evaluation.samples import read
from imapeval.evaluation.workers import BatchScorer, ProcessPool, evaluate_in_workers
from imapeval.metrics import registry
from imapeval.types import Sample

Command = Callable[..., subprocess.CompletedProcess[str]]
Process = Callable[..., "subprocess.Popen[str]"]
WriteData = Callable[..., Path]


def lines(run: Path, name: str) -> list[bytes]:
    return sorted((run / name).read_bytes().splitlines())


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    return [int(word) for task in tasks.iterdir() for word in (task / "children").read_text().split()]


def scoring(pid: int) -> list[int]:
    """The workers, without the process that tracks multiprocessing's resources."""
    return [child for child in children(pid) if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def await_results(run: Path, process: "subprocess.Popen[str]") -> None:
    while process.poll() is None and not ((run / "results.jsonl").exists() and (run / "results.jsonl").stat().st_size):
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()


def many(write_data: WriteData, copies: int) -> Path:
    samples = [replace(s, id=f"{s.id}-{n}") for n in range(copies) for s in read("sample-en")]
    return write_data(samples)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["sample-en", "sample-zh"])
def test_workers_write_the_same_run(imapeval: Command, tmp_path: Path, data: str):
    plain = imapeval("score", data, "--out", "plain")
    assert plain.returncode == 0, plain.stderr
    spread = imapeval("score", data, "--out", "spread", "--workers", "2")
    assert spread.returncode == 0, spread.stderr
    for name in ("results.jsonl", "imaps.jsonl", "samples.jsonl"):
        assert lines(tmp_path / "spread", name) == lines(tmp_path / "plain", name)
    assert (tmp_path / "spread" / "results.csv").read_bytes() == (tmp_path / "plain" / "results.csv").read_bytes()
    assert Run(tmp_path / "spread").manifest["settings"] == Run(tmp_path / "plain").manifest["settings"]


def test_workers_are_for_scoring_without_a_model(imapeval: Command):
    refused = imapeval("score", "sample-en", "--workers", "2", "--llm", "openai:m", "--base-url", "http://127.0.0.1:9")
    assert refused.returncode == 2
    assert "--workers" in refused.stderr


@pytest.mark.slow
def test_an_error_in_a_worker_keeps_its_message(tmp_path: Path):
    sample = Sample("a", "What helps?", ("Rest.",), "Rest.")
    missing = partial(open_pipeline, registry.choose(["imapscore"], {}), imaps=tmp_path / "none.jsonl")
    parts = Pipeline(registry.choose(["rouge1"], {}), None, None, {})
    workers = ProcessPool(1, BatchScorer(missing, "mean"))
    with pytest.raises(ImapEvalError, match=r"none\.jsonl"):
        asyncio.run(evaluate_in_workers([sample], workers=workers, parts=parts, run=InMemoryStore()))


@pytest.mark.slow
def test_workers_that_keep_dying_stop_the_run():
    sample = Sample("a", "What helps?", ("Rest.",), "Rest.")
    parts = Pipeline(registry.choose(["rouge1"], {}), None, None, {})
    dying: partial[Pipeline] = partial(os._exit, 1)
    workers = ProcessPool(2, BatchScorer(dying, "mean"))
    with pytest.raises(ServiceError, match="'a'") as raised:
        asyncio.run(evaluate_in_workers([sample], workers=workers, parts=parts, run=InMemoryStore()))
    assert raised.value.kind == "worker-died"


@pytest.mark.parametrize(
    "error",
    [
        InputError("bad", path="p", line=3, fix="Mend it."),
        ServiceError("down", kind="unreachable"),
        MissingExtraError("pyarrow", extra="parquet", needed_for="Reading Parquet files"),
        ExtractionError("no query", kind="no-query", raw="{}"),
    ],
)
def test_errors_pass_between_processes(error: ImapEvalError):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
@pytest.mark.parametrize("victim", ["worker", "first process"])
def test_a_kill_loses_no_result(
    imapeval: Command, imapeval_process: Process, write_data: WriteData, tmp_path: Path, victim: str
):
    command = ("score", many(write_data, 3), "--metrics", "imapscore,rouge1")
    assert imapeval(*command, "--out", "plain").returncode == 0
    process = imapeval_process(*command, "--out", "spread", "--workers", "2")
    await_results(tmp_path / "spread", process)
    workers = scoring(process.pid)
    assert len(workers) == 2
    if victim == "worker":
        os.kill(workers[0], signal.SIGKILL)
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    else:
        process.kill()
        process.communicate()  # returns once the workers, which hold the same pipes, have ended
        assert imapeval(*command, "--out", "spread", "--workers", "2").returncode == 0
    for name in ("results.jsonl", "imaps.jsonl"):
        assert lines(tmp_path / "spread", name) == lines(tmp_path / "plain", name)
