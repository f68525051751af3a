"""A real server on loopback, in a thread, around one offline scorer."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from imapeval import Scorer
from imapeval.serve.app import LoadedScorer, load, make_app
from imapeval.serve.guard import RequestLimits
from tests.serve.server import run_app

ANSWERS = Path(__file__).parents[2] / "docs" / "frameworks" / "answers.jsonl"
JSON = {"Content-Type": "application/json"}


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        """The status and the kind of an error, which has the one form."""
        assert self.headers["content-type"] == "application/json"
        (name, told), *others = self.json.items()
        assert name == "error"
        assert not others
        assert told.keys() == {"kind", "message"}
        assert all(isinstance(text, str) and text for text in told.values())
        return self.status, told["kind"]


@dataclass
class Running:
    """A server that runs."""

    port: int
    server: uvicorn.Server

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None, **options: Any
    ) -> Reply:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {}, **options)
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, told, response.read())
        finally:
            connection.close()

    def post(self, path: str, value: Any, **headers: str) -> Reply:
        return self.ask("POST", path, json.dumps(value).encode(), JSON | headers)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def send(self, sent: bytes) -> bytes:
        """Send bytes and return all that comes back until the server hangs up."""
        with self.connect() as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(1 << 16), b""))


@pytest.fixture(scope="session")
def loaded() -> Iterator[LoadedScorer]:
    with Scorer("imapscore,rouge1") as scorer:
        yield load(scorer)


@contextmanager
def running(loaded: LoadedScorer, limits: RequestLimits, token: str | None) -> Iterator[Running]:
    with run_app(make_app(loaded, limits, token=token), limits) as (port, server):
        yield Running(port, server)


Serve = Callable[..., Running]


@pytest.fixture
def serve(loaded: LoadedScorer) -> Iterator[Serve]:
    """Start servers, which end with the test."""
    with ExitStack() as stack:

        def start(given: LoadedScorer | None = None, *, token: str | None = None, **limits: Any) -> Running:
            return stack.enter_context(running(given or loaded, RequestLimits(**limits), token))

        yield start


@pytest.fixture(scope="session")
def server(loaded: LoadedScorer) -> Iterator[Running]:
    """One server for all tests that want nothing special."""
    with running(loaded, RequestLimits(), None) as found:
        yield found


@pytest.fixture(scope="session")
def answers() -> list[dict[str, Any]]:
    """The answers of docs/frameworks, without the field that the server does not know."""
    rows = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in row.items() if name != "system"} for row in rows]
