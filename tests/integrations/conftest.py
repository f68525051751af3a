"""What the tests of all integrations share: a framework's page, run as it is printed, and the number to compare."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.protocol import Completion, Request, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from tests.integrations.answers import ANSWERS, PAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BLOCK = re.compile(r"<!-- (file|run|output)(?::(\S+))? -->\n```\w*\n(.*?)```", re.DOTALL)


class RunPage(Protocol):
    def __call__(self, name: str) -> tuple[str, str]: ...


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float | None]:
    """The imapscore of docs/frameworks/answers.jsonl by id, as `imapeval score` gives it; None where there is none."""
    out = tmp_path_factory.mktemp("score") / "run"
    command = [sys.executable, "-m", "imapeval", "score", str(ANSWERS), "--metrics", "imapscore"]
    subprocess.run([*command, "--out", str(out)], check=True, capture_output=True)
    lines = (out / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["id"]: line["score"] for line in map(json.loads, lines)}


@pytest.fixture
def run_page(tmp_path: Path) -> RunPage:
    """Run docs/frameworks/NAME.md as it is printed, and return what it says it prints and what it printed.

    Blocks after `<!-- file:PATH -->` are written to that file, those after `<!-- run -->` are run by bash, and what
    they print stands after `<!-- output -->`. `answers.jsonl` lies beside them.
    """

    def run(name: str) -> tuple[str, str]:
        shutil.copy(ANSWERS, tmp_path)
        page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        told: list[str] = []
        printed: list[str] = []
        for kind, path, text in _BLOCK.findall(page):
            if kind == "file":
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / path).write_text(text, encoding="utf-8")
            elif kind == "output":
                told.append(text)
            else:
                path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", text],
                    cwd=tmp_path,
                    env={**os.environ, "PATH": path, "PYTHONUTF8": "1"},
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, done.stdout + done.stderr
                printed.append(done.stdout)
        assert printed, f"{name}.md has nothing to run"
        return "".join(told), "".join(printed)

    return run


class CheckPage(Protocol):
    def __call__(self, name: str, *, mean: str = "") -> None: ...


@pytest.fixture
def check_page(run_page: RunPage, expected: dict[str, float | None]) -> CheckPage:
    """Check that a page prints what it says, every score, and their mean after the words `mean`."""

    def check(name: str, *, mean: str = "") -> None:
        told, printed = run_page(name)
        assert printed == told
        scores = [score for score in expected.values() if score is not None]
        for score in scores:
            assert f"{score:.3f}" in printed
        assert f"{mean}{fmean(scores):.3f}" in printed

    return check


class _Down:
    identity = "down"
    concurrency = 1

    async def complete(self, request: object) -> Completion:
        raise ServiceError("the key is refused", kind="auth")


@pytest.fixture
def down() -> _Down:
    """A model whose server refuses every request."""
    return _Down()


@pytest.fixture
def reader() -> ScriptedModel:
    """A model that reads one fact out of each answer, and nothing where the question is one that nobody knows."""

    def reply(request: Request) -> Completion:
        if "nobody knows" in request.messages[-1].content:
            raise ProviderError("it said nothing", kind="empty")
        told: dict[str, Any] = {"query": [{"term": "treatment", "value": "?"}], "constraint": []}
        if "inform" in json.dumps(request.schema):
            told = {"inform": [{"term": "treatment", "value": "rest"}]}
        return Completion(json.dumps(told), "stop", "scripted", Usage(100, 10))

    return ScriptedModel(reply)


class ChatServer(Protocol):
    def __call__(
        self, reply: Callable[[dict[str, Any]], str] = ...
    ) -> AbstractContextManager[tuple[str, dict[str, int]]]: ...


@pytest.fixture
def chat_server() -> ChatServer:
    """Open a server of chat completions on this computer: its URL, how many requests it had, and how many at a time."""

    @contextmanager
    def serve(reply: Callable[[dict[str, Any]], str] = _read_one_fact) -> Iterator[tuple[str, dict[str, int]]]:
        seen = {"requests": 0, "now": 0, "most": 0}
        lock = threading.Lock()
        together = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    seen["requests"] += 1
                    seen["now"] += 1
                    seen["most"] = max(seen["most"], seen["now"])
                    if seen["now"] > 2:
                        together.set()
                together.wait(0.2)
                message = {"role": "assistant", "content": reply(body)}
                told = {
                    "model": "stub",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
                }
                sent = json.dumps(told).encode()
                with lock:
                    seen["now"] -= 1
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}/v1", seen
            finally:
                server.shutdown()
                thread.join()

    return serve


def _read_one_fact(body: dict[str, Any]) -> str:
    """Read texts like a model: one term is asked, each answer has one fact."""
    fact = {"term": "treatment", "value": "Salbutamol"}
    asked = {"query": [{"term": "treatment", "value": "?"}], "constraint": []}
    return json.dumps({"inform": [fact]} if "inform" in json.dumps(body.get("response_format")) else asked)
