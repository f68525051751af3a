"""Ctrl-C in the middle of a run against a slow server."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from imapeval.types import Sample

SAMPLES = [Sample(str(number), f"What helps in case {number}?", ("Rest.",), f"Ice {number}.") for number in range(20)]
WriteData = Callable[..., Path]


class SlowServer(ThreadingHTTPServer):
    """Takes its time for every answer.

    Attributes:
        begun, answered: The user's part of the requests that came, and of those whose answer was taken.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seconds = 0.4
        self.begun: list[str] = []
        self.answered: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: SlowServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = body["messages"][-1]["content"]
        self.server.begun.append(asked)
        time.sleep(self.server.seconds)
        facts = [{"term": "help", "values": re.findall("Rest|Ice [0-9]+", asked)[-1:]}]
        imap = {"query": ["help"], "constraint": [], "inform": facts}
        reply = {"choices": [{"finish_reason": "stop", "message": {"content": json.dumps(imap)}}]}
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.server.answered.append(asked)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def slow() -> Iterator[SlowServer]:
    with SlowServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def start(slow: SlowServer, tmp_path: Path, write_data: WriteData) -> Callable[..., subprocess.Popen[str]]:
    data = write_data(SAMPLES)

    def start(*command: str) -> subprocess.Popen[str]:
        llm = ["--llm", "openai:m", "--base-url", slow.url, "--concurrency", "4"]
        return subprocess.Popen(
            [sys.executable, "-m", "imapeval.cli.main", command[0], str(data), *command[1:], *llm],
            cwd=tmp_path,
            env={**os.environ, "IMAPEVAL_CACHE": str(tmp_path / "cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    return start


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


SCORE = ("score", "--metrics", "imapscore:paper", "--relations", "graph", "--out", "run")
COMMANDS = [("extract", "--out", "imaps.jsonl"), SCORE]


@pytest.mark.parametrize(
    "command", [pytest.param(COMMANDS[0], id="extract"), pytest.param(COMMANDS[1], id="score", marks=pytest.mark.slow)]
)
def test_what_is_under_way_is_finished_and_kept(
    slow: SlowServer, start: Callable[..., subprocess.Popen[str]], command: tuple[str, ...]
) -> None:
    with start(*command) as process:
        wait_for(lambda: len(slow.answered) >= 6, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Finishing what is under way; Ctrl-C again drops it." in said
    assert "goes on" in said or "To go on: imapeval score" in said
    assert sorted(slow.begun) == sorted(slow.answered)
    assert len(slow.begun) < 2 * len(SAMPLES)

    slow.seconds = 0
    with start(*command) as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert len(slow.begun) == len(set(slow.begun)) == 3 * len(SAMPLES)


def test_the_second_time_it_stops_at_once(slow: SlowServer, start: Callable[..., subprocess.Popen[str]]) -> None:
    slow.seconds = 20
    with start(*SCORE) as process:
        wait_for(lambda: len(slow.begun) >= 4, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "Finishing" not in process.stderr.readline():
            pass
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert time.monotonic() - begun < 5
    assert process.returncode == 130
    assert "To go on: imapeval score" in said
