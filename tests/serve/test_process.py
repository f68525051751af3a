"""`imapeval serve` as a process: how it starts, ends, and what it says."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, nullcontext
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from typer.testing import CliRunner

from imapeval import _optional
from imapeval.cli.main import app
from imapeval.serve.app import LoadedScorer, make_app
from imapeval.serve.guard import RequestLimits
from imapeval.serve.server import listen, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
SECRET = "Mrs Elizabeth Blackwood"


@contextmanager
def started(*options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "imapeval", "serve", "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment
    ) as process:
        try:
            assert process.stdout
            told = process.stdout.readline()
            found = re.fullmatch(r"imapeval serve: http://127\.0\.0\.1:(\d+) .*\n", told)
            assert found, told
            yield process, int(found[1])
        finally:
            process.kill()


def post(port: int, value: Any, **headers: str) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=90)
    # Not escaped, which would double the size of Chinese texts.
    sent = json.dumps(value, ensure_ascii=False).encode()
    connection.request("POST", "/score", sent, {"Content-Type": "application/json", **headers})
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    return response.status, body


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_before_uvicorn_listens_to_it_ends_it(
    number: signal.Signals, loaded: LoadedScorer, monkeypatch: pytest.MonkeyPatch
):
    serve, late = uvicorn.Server.serve, False

    async def serve_after_signal(server: uvicorn.Server, sockets: list[socket.socket] | None = None) -> None:
        def end() -> None:
            nonlocal late
            late = server.should_exit = True

        signal.raise_signal(number)
        timer = asyncio.get_running_loop().call_later(5, end)
        await serve(server, sockets)
        timer.cancel()

    monkeypatch.setattr(uvicorn.Server, "serve", serve_after_signal)
    limits = RequestLimits()
    ending = pytest.raises(KeyboardInterrupt) if number is signal.SIGINT else nullcontext()
    with listen("127.0.0.1", 0, token=None) as sock, ending:
        run(make_app(loaded, limits, token=None), limits, sock=sock)
    assert not late


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_when_what_is_under_way_is_done_and_nothing_is_logged_or_stored_of_it(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Where a program may write: its own folder, caches, configuration and temporary files.
    monkeypatch.chdir(tmp_path)
    for variable in ("HOME", "TMPDIR", "IMAPEVAL_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    told = " ".join(f"Take drug{number} {number} mg and avoid herb{number}." for number in range(60))
    given = {"question": f"What should {SECRET} take and avoid?", "reference": told, "response": told[::-1] + told}
    got: list[tuple[int, Any]] = []
    with started("--metrics", "imapscore,rouge1", IMAPEVAL_TOKEN="t0p-s3cret") as (process, port):
        assert post(port, {"response": SECRET}, Authorization=f"Bearer {SECRET}")[0] == 401
        assert post(port, {"response": [SECRET]}, Authorization="Bearer t0p-s3cret")[0] == 422
        asking = threading.Thread(target=lambda: got.append(post(port, given, Authorization="Bearer t0p-s3cret")))
        asking.start()
        time.sleep(0.4)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
        asking.join()
    assert process.returncode == 0
    ((status, body),) = got
    assert status == 200
    assert body["score"] is not None
    assert (output, errors) == ("", "")
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [text for text in (SECRET, "drug0", "herb59") if text.encode() in stored]


@pytest.mark.slow
def test_ctrl_c():
    with started() as (process, port), socket.create_connection(("127.0.0.1", port)) as idle:
        idle.sendall(b"POST /sc")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors.startswith("imapeval: ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--host", "0.0.0.0"], "0.0.0.0"),
        (["--host", "no.such.invalid"], "'no.such.invalid'"),
        (["--token", "two words"], "token"),
        (["--metrics", "nonsense"], "'nonsense'"),
        (["--base-url", "http://127.0.0.1:1/v1"], "--base-url"),
        (["--relations", "llm"], "--relations"),
        (["--metrics", "rouge1", "--timeout", "inf"], "'work'"),
    ],
)
def test_an_invalid_option_is_named(options: list[str], named: str):
    done = CliRunner().invoke(app, ["serve", "--port", "0", *options])
    assert done.exit_code == 2
    assert done.stderr.startswith("imapeval: ")
    assert named in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = CliRunner().invoke(app, ["serve", "--port", str(port)])
    assert done.exit_code == 2
    assert str(port) in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_optional, "installed", lambda distribution: distribution != "uvicorn")
    done = CliRunner().invoke(app, ["serve"])
    assert done.exit_code == 2
    assert "'uvicorn'" in done.stderr
    assert "pip install 'imapeval[serve]'" in done.stderr


LONG = [f"Take drug{number} 5 mg and avoid herb{number}. " for number in range(2000)]
# No longer than what is scored.
HOSTILE = {
    "braces": "{" * 100_000,
    "names": "评审员" * 33_333,
    "roles": "user:\n" * 16_666,
    "tokens": "<|x|>" * 20_000,
}
HOSTILE_TO = {
    # Long enough for the queue of long answers.
    "offline": HOSTILE | {"many facts": "".join(LONG[:60]) + "rest " * 1_600},
    "model": HOSTILE | {"many facts": "".join(LONG), "reply of braces": "Rest, and avoid braces."},
}


class _Model(BaseHTTPRequestHandler):
    """A model that finds one fact in most answers, in a long one hundreds that are not there, or has gone mad."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        # What is asked for stands in the schema.
        wanted = json.dumps(asked["response_format"])
        values = ["rest"]
        if "herb1999" in asked["messages"][-1]["content"]:
            values = [f"take drug number {number} with some water and a bit of bread" for number in range(400)]
        said: dict[str, Any] = {"inform": [{"term": "treatment", "values": values}]}
        if '"query"' in wanted:
            said = {"query": ["treatment"], "constraint": []}
        elif '"relations"' in wanted:
            said = {"relations": []}
        text = "{" * 400_000 if "avoid braces" in asked["messages"][-1]["content"] else json.dumps(said)
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def port_of(
    tmp_path_factory: pytest.TempPathFactory, make_cache: Callable[[Path], str]
) -> Iterator[Callable[[str], int]]:
    """The port of a server that reads answers "offline", or with a "model": one of each, started when it is wanted."""
    with ExitStack() as stack:

        @functools.cache
        def start(reads: str) -> int:
            options: list[str] = []
            if reads == "model":
                model = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), _Model))
                threading.Thread(target=model.serve_forever, daemon=True).start()
                stack.callback(model.shutdown)
                options = ["--llm", "openai:x", "--base-url", f"http://127.0.0.1:{model.server_port}/v1"]
            cache = make_cache(tmp_path_factory.mktemp("cache"))
            return stack.enter_context(started(*options, OPENAI_API_KEY="x", IMAPEVAL_CACHE=cache))[1]

        yield start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reads", "text"),
    [
        pytest.param(reads, text, id=f"{reads}-{name}")
        for reads, texts in HOSTILE_TO.items()
        for name, text in texts.items()
    ],
)
def test_long_answers_hold_up_nobody(port_of: Callable[[str], int], reads: str, text: str):
    port = port_of(reads)
    question = "How is it treated?"
    took: list[float] = []

    def post_hostile() -> None:
        begun = time.monotonic()
        # On a busy machine it may take more than its minute.
        assert post(port, {"question": question, "reference": text, "response": text})[0] in (200, 504)
        took.append(time.monotonic() - begun)

    def post_small() -> float:
        begun = time.monotonic()
        # Another text each time, so that nothing is remembered.
        given = {"question": question, "reference": "An inhaler.", "response": f"rest for {begun} days"}
        assert post(port, given)[0] == 200
        return time.monotonic() - begun

    usual = [post_small() for _ in range(5)]
    asking = [threading.Thread(target=post_hostile) for _ in range(3)]
    for each in asking:
        each.start()
    time.sleep(0.05)  # those that arrive together are scored together
    undisturbed = False
    while alive := sum(each.is_alive() for each in asking):
        post_small()
        undisturbed = undisturbed or alive == sum(each.is_alive() for each in asking)
        if undisturbed:
            time.sleep(0.1)  # enough is shown
    usual += [post_small() for _ in range(5)]
    # One was answered while no long one ended. If these are so short, nobody waits for them.
    assert undisturbed or max(took) < 20 * max(usual)


@pytest.mark.slow
def test_under_load_no_error_and_flat_memory():
    command = [sys.executable, "benchmarks/serve.py", "--clients", "50", "--seconds", "5", "--rounds", "2", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    warming, loaded = map(json.loads, done.stdout.splitlines())
    assert warming["errors"] == loaded["errors"] == {}
    assert loaded["answers"] >= 50
    # Caches with bounds still fill up, by 60 MB in a minute of 200 clients. A full minute is in docs/serve.md.
    assert loaded["memory"][-1] - loaded["memory"][0] < 60
