"""Ctrl-C, SIGTERM and SIGHUP in the middle of a run against a slow server."""

import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from imapeval.cli.interrupt import Interrupted, run_until_interrupted
from imapeval.types import Sample
from tests.cli.conftest import Command, Process, Stub, WriteData, make_reply

SAMPLES = [Sample(str(number), f"What helps in case {number}?", ("Rest.",), f"Ice {number}.") for number in range(20)]

TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes standard input the terminal that controls the process, and so sends it SIGHUP when it is closed."""


class SlowServer(Stub):
    """Takes its time for every answer.

    Attributes:
        begun: The user's part of the requests that came.
    """

    def __init__(self) -> None:
        super().__init__(self.read)
        self.seconds = 0.4
        self.begun: list[str] = []

    @property
    def answered(self) -> list[str]:
        """The user's part of the requests whose answer was taken."""
        return [body["messages"][-1]["content"] for body in self.taken]

    def read(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked = body["messages"][-1]["content"]
        self.begun.append(asked)
        time.sleep(self.seconds)
        facts = [{"term": "help", "values": re.findall("Rest|Ice [0-9]+", asked)[-1:]}]
        return make_reply(json.dumps({"query": ["help"], "constraint": [], "inform": facts}))


@pytest.fixture
def slow(run_server: Callable[..., SlowServer]) -> SlowServer:
    return run_server(SlowServer())


def ask(slow: SlowServer, command: tuple[str, ...]) -> list[str]:
    """Return the arguments of a command for the samples and the server."""
    llm = ["--llm", "openai:m", "--base-url", slow.url, "--concurrency", "4"]
    return [command[0], "data.jsonl", *command[1:], *llm]


@pytest.fixture
def start(
    slow: SlowServer,
    tmp_path: Path,
    write_data: WriteData,
    make_cache: Callable[[Path], str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Process]:
    write_data(SAMPLES)
    monkeypatch.setenv("IMAPEVAL_CACHE", make_cache(tmp_path / "cache"))

    # Whoever runs the tests in the background may have them ignore signals, and a process inherits that.
    before = {number: signal.signal(number, signal.default_int_handler) for number in SIGNALS}

    def start(*command: str, terminal: int | None = None) -> subprocess.Popen[str]:
        call = [sys.executable, "-m", "imapeval", *ask(slow, command)]
        if terminal is not None:
            call = [sys.executable, "-c", TAKE_TERMINAL, *call]
        return subprocess.Popen(
            call,
            cwd=tmp_path,
            stdin=terminal,
            stdout=subprocess.PIPE if terminal is None else terminal,
            stderr=subprocess.PIPE if terminal is None else terminal,
            start_new_session=terminal is not None,
            text=True,
            encoding="utf-8",
        )

    yield start
    for number, handler in before.items():
        signal.signal(number, handler)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


SCORE = ("score", "--metrics", "imapscore:paper", "--relations", "graph", "--out", "run")
EXTRACT = ("extract", "--out", "imaps.jsonl")


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "number"),
    [
        pytest.param(SCORE, signal.SIGINT, id="score"),
        pytest.param(EXTRACT, signal.SIGINT, id="extract"),
        *[pytest.param(EXTRACT, number, id=f"extract-{number.name}") for number in SIGNALS[1:]],
    ],
)
def test_what_is_under_way_is_finished_and_kept(
    slow: SlowServer, start: Process, imapeval: Command, command: tuple[str, ...], number: signal.Signals
) -> None:
    with start(*command) as process:
        wait_for(lambda: len(slow.answered) >= 6, process)
        process.send_signal(number)
        assert process.stderr is not None
        while "press Ctrl-C again" not in process.stderr.readline():
            assert process.poll() is None
        # Less than a reply takes.
        time.sleep(0.2)
        begun = len(slow.begun)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number, said
    # Also the samples that have begun ask nothing more.
    assert len(slow.begun) == begun
    assert "repeat the command" in said or "To resume: imapeval score" in said
    assert sorted(slow.begun) == sorted(slow.answered)
    assert command != SCORE or f"kept in the cache: {len(slow.answered)} calls; " in said
    assert len(slow.begun) < 2 * len(SAMPLES)

    slow.seconds = 0
    done = imapeval(*ask(slow, command))
    assert done.returncode == 0, done.stderr
    assert len(slow.begun) == len(set(slow.begun)) == 3 * len(SAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_the_second_time_it_stops_at_once(slow: SlowServer, start: Process, number: signal.Signals) -> None:
    slow.seconds = 20
    with start(*SCORE) as process:
        wait_for(lambda: len(slow.begun) >= 4, process)
        process.send_signal(number)
        assert process.stderr is not None
        while "Finishing" not in process.stderr.readline():
            pass
        begun = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert time.monotonic() - begun < 5
    assert process.returncode == 128 + number
    assert "To resume: imapeval score" in said


def test_a_signal_may_come_while_handlers_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install, sent = signal.signal, []

    def install_and_send(number: signal.Signals, handler: Any) -> Any:
        replaced = install(number, handler)
        if number == signal.SIGTERM and not sent:
            sent.append(number)
            signal.raise_signal(number)
        return replaced

    before = {number: signal.getsignal(number) for number in SIGNALS}
    monkeypatch.setattr(signal, "signal", install_and_send)
    with pytest.raises(Interrupted) as caught:
        run_until_interrupted(asyncio.Event.wait)
    assert caught.value.code == 128 + signal.SIGTERM
    assert {number: signal.getsignal(number) for number in SIGNALS} == before


class _Interrupting(io.RawIOBase):
    """A file, in the middle of whose first write a signal arrives."""

    written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.written += 1
        if self.written == 1:
            signal.raise_signal(signal.SIGINT)
        return len(data)


def test_a_signal_may_come_while_stderr_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    # A buffered file refuses a write within a write.
    file = io.TextIOWrapper(io.BufferedWriter(_Interrupting()), "utf-8", write_through=True)
    monkeypatch.setattr(sys, "stderr", file)

    async def work(stop: asyncio.Event) -> None:
        print("x" * 100_000, file=sys.stderr, flush=True)
        await stop.wait()

    with pytest.raises(Interrupted) as caught:
        run_until_interrupted(work)
    assert caught.value.code == 128 + signal.SIGINT


@pytest.mark.slow
def test_a_terminal_that_is_closed_ends_the_run_in_order(slow: SlowServer, start: Process) -> None:
    ours, theirs = os.openpty()
    with start(*EXTRACT, terminal=theirs) as process:
        os.close(theirs)
        wait_for(lambda: len(slow.answered) >= 6, process)
        os.close(ours)
        assert process.wait(60) == 128 + signal.SIGHUP
    assert sorted(slow.begun) == sorted(slow.answered)
    assert len(slow.begun) < 2 * len(SAMPLES)


@pytest.mark.slow
def test_under_nohup_it_goes_on(slow: SlowServer, start: Process) -> None:
    slow.seconds = 0.1
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = start(*EXTRACT)
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        wait_for(lambda: len(slow.answered) >= 6, process)
        process.send_signal(signal.SIGHUP)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
