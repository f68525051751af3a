"""Servers that send requests on to another host, or replies that never end. Real sockets, real processes."""

import json
import subprocess
import sys
import textwrap
import time
import zlib
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers.openai import OpenAIModel

REQUEST = Request((Message("user", "a private question"),), max_tokens=9)
GOOD = json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": "good"}}]}).encode()
MIB = 1 << 20


@pytest.fixture
def serve(run_server):
    """Serve what `answer` does with each request until the test is over; `seen` of the server lists the requests."""

    def start(answer):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.server.seen.append((self.path, dict(self.headers), body))
                with suppress(OSError):
                    answer(self)

            do_GET = do_POST  # noqa: N815

            def log_message(self, format, *args):  # noqa: A002
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.seen = []
        return run_server(server)

    return start


def url_of(server, host="127.0.0.1"):
    return f"http://{host}:{server.server_port}/v1"


def send(handler, content, *, status=200, **headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(content)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status, monkeypatch, serve):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    other = serve(lambda handler: send(handler, GOOD))
    target = f"{url_of(other).replace('//', '//me:pass-word-1@')}/chat/completions?token=0123456789abcdef"
    first = serve(lambda handler: send(handler, b"", status=status, Location=target))
    with pytest.raises(ServiceError) as caught:
        await OpenAIModel("m", base_url=url_of(first)).complete(REQUEST)
    assert (len(first.seen), other.seen) == (1, [])
    assert caught.value.kind == "not-found"
    assert f"127.0.0.1:{other.server_port}/v1" in str(caught.value)
    assert "pass-word-1" not in str(caught.value)
    assert "0123456789abcdef" not in str(caught.value)


@pytest.mark.parametrize("location", ["//127.0.0.1:{}/x", "http://127.0.0.1.nip.io:{}/x", "https://127.0.0.1:{}/x"])
async def test_another_scheme_host_or_port_is_another_server(location, serve):
    other = serve(lambda handler: send(handler, GOOD))
    target = location.format(other.server_port)
    first = serve(lambda handler: send(handler, b"", status=307, Location=target))
    with pytest.raises(ServiceError):
        await OpenAIModel("m", base_url=url_of(first)).complete(REQUEST)
    assert other.seen == []


async def test_a_redirect_to_what_is_no_url_is_told(serve):
    first = serve(lambda handler: send(handler, b"", status=307, Location="http://[::1"))
    with pytest.raises(ServiceError) as caught:
        await OpenAIModel("m", base_url=url_of(first)).complete(REQUEST)
    assert (caught.value.kind, len(first.seen)) == ("not-found", 1)


async def test_a_redirect_in_the_middle_of_a_run_fails_one_request(serve):
    replies = [(200, {}), (307, {"Location": "http://login.example/"})]

    def answer(handler):
        status, headers = replies.pop(0)
        send(handler, GOOD, status=status, **headers)

    server = serve(answer)
    model = OpenAIModel("m", base_url=url_of(server))
    await model.complete(REQUEST)
    with pytest.raises(ProviderError) as caught:
        await model.complete(REQUEST)
    assert caught.value.kind == "server"
    assert "http://login.example/" in str(caught.value)


async def test_what_an_address_holds_is_sent_and_not_logged(caplog, serve):
    caplog.set_level("INFO")
    server = serve(lambda handler: send(handler, GOOD))
    address = url_of(server).replace("//", "//me:pass%2Fword-1@") + "?sig=0123456789abcdef&v=1"
    model = OpenAIModel("m", base_url=address)
    await model.complete(REQUEST)
    (path, headers, _), *_ = server.seen
    assert path == "/v1/chat/completions?sig=0123456789abcdef&v=1"
    assert headers["Authorization"] == "Basic bWU6cGFzcy93b3JkLTE="
    assert model.identity == f"openai:m@{url_of(server)}"
    assert "chat/completions" in caplog.text
    assert "word-1" not in caplog.text
    assert "0123456789abcdef" not in caplog.text


def gzipped(content):
    packer = zlib.compressobj(wbits=31)
    return packer.compress(content) + packer.flush()


async def test_headers_tell_no_more_than_the_page_says(monkeypatch, serve):
    """docs/llm.md, "What is sent": those of the openai package, and those that its own variables ask for."""
    for name, value in (("ORG_ID", "org"), ("PROJECT_ID", "proj"), ("CUSTOM_HEADERS", "X-Mine: 1"), ("API_KEY", "key")):
        monkeypatch.setenv(f"OPENAI_{name}", value)
    server = serve(lambda handler: send(handler, GOOD))
    await OpenAIModel("m", base_url=url_of(server)).complete(REQUEST)
    ((_, headers, _),) = server.seen
    names = {name.lower() for name in headers}
    http = {"host", "connection", "accept", "accept-encoding", "content-type", "content-length", "user-agent"}
    package = {"lang", "package-version", "os", "arch", "runtime", "runtime-version", "async", "retry-count"}
    asked_for = {"authorization", "openai-organization", "openai-project", "x-mine"}
    assert names <= http | asked_for | {f"x-stainless-{name}" for name in (*package, "raw-response")}
    assert names >= asked_for | {f"x-stainless-{name}" for name in package}


async def test_a_reply_in_gzip_is_read(serve):
    server = serve(lambda handler: send(handler, gzipped(GOOD), Content_Encoding="gzip"))
    assert (await OpenAIModel("m", base_url=url_of(server)).complete(REQUEST)).text == "good"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip"])
async def test_what_cannot_be_inflated_is_no_reply(encoding, serve):
    server = serve(lambda handler: send(handler, GOOD, Content_Encoding=encoding))
    with pytest.raises(ProviderError) as caught:
        await OpenAIModel("m", base_url=url_of(server)).complete(REQUEST)
    assert caught.value.kind == "unreadable-reply"


def send_bomb(handler):
    """Send 10 MB of gzip that inflate to 10 GB."""
    packer = zlib.compressobj(wbits=31)
    start = packer.compress(b" " * 10 * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b" " * 10 * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.end_headers()
    handler.wfile.write(start)
    for _ in range(10 * MIB // len(again)):
        handler.wfile.write(again)


def send_without_end(handler):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"finish_reason": "stop", "message": {"content": "')
    while True:
        handler.wfile.write(b"x" * MIB)


def send_error_without_end(handler):
    handler.send_response(500)
    handler.end_headers()
    while True:
        handler.wfile.write(b"x" * MIB)


@pytest.mark.parametrize(
    "date",
    ["Wed, 21 Oct 99999999999 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00 +8889999999999", "1e999", "Mon", "9" * 9999],
)
async def test_a_date_that_does_not_exist_is_no_time_to_wait(date, serve):
    server = serve(lambda handler: send(handler, b"", status=503, Retry_After=date))
    with pytest.raises(ProviderError) as caught:
        await OpenAIModel("m", base_url=url_of(server)).complete(REQUEST)
    assert (caught.value.kind, caught.value.retry_after) == ("server", None)


def repeat(begin, unit, *, pause=0.0):
    """Return an answer that begins with some bytes and repeats others without end."""

    def answer(handler):
        handler.wfile.write(begin)
        while True:
            handler.wfile.write(unit)
            time.sleep(pause)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (repeat(b"HTTP/1.1 200 OK\r\n\r\n", b" ", pause=0.05), "timeout"),
        (repeat(b"HTTP/1.1 200 OK\r\nX: ", b"y", pause=0.05), "timeout"),
        (repeat(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"), "timeout"),
        (repeat(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"), "timeout"),
        (repeat(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 999), "server"),
        (repeat(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 9999), "server"),
        (repeat(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"y" * 9999), "server"),
        (repeat(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 999), "server"),
        (repeat(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", gzipped(b"") * 999), "oversized-reply"),
    ],
)
async def test_a_reply_that_never_ends(answer, kind, serve):
    begun = time.monotonic()
    server = serve(answer)
    with pytest.raises(ProviderError) as caught:
        await OpenAIModel("m", base_url=url_of(server), timeout=1.0).complete(REQUEST)
    assert caught.value.kind == kind
    assert time.monotonic() - begun < 6


ASK = """
    import asyncio, re, sys
    from imapeval.errors import ProviderError
    from imapeval.llm.protocol import Message, Request
    from imapeval.llm.registry import open_model

    async def ask(model, number):
        try:
            await model.complete(Request((Message("user", str(number)),), max_tokens=9))
        except ProviderError as error:
            return error.kind

    async def main():
        model = open_model("openai:m", base_url=sys.argv[1])
        return await asyncio.gather(*(ask(model, number) for number in range(32)))

    # Not ru_maxrss, which counts what the parent had, too.
    kinds = set(asyncio.run(main()))
    print(*kinds, int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks of memory are read from /proc")
@pytest.mark.parametrize("flood", [send_bomb, send_without_end, send_error_without_end])
def test_a_reply_without_limit_is_given_up(flood, serve):
    server = serve(flood)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ASK), url_of(server)], capture_output=True, text=True, check=True
    )
    kind, megabytes = done.stdout.split()
    assert kind == "oversized-reply"
    # 32 replies at a time; one alone took more before there was a limit.
    assert int(megabytes) < 600
    assert len(server.seen) == 32  # and none was asked for again


async def test_a_large_reply_to_a_request_that_wants_much_is_read(serve):
    chance = {"token": "x" * 20, "logprob": -1.25, "bytes": list(range(20))}
    place = {**chance, "top_logprobs": [chance] * 20}
    choice = {"finish_reason": "stop", "message": {"content": "x"}, "logprobs": {"content": [place] * 2048}}
    content = json.dumps({"choices": [choice]}).encode()
    assert len(content) > 4 * MIB
    server = serve(lambda handler: send(handler, content))
    request = Request((Message("user", "?"),), max_tokens=2048, logprobs=20)
    completion = await OpenAIModel("m", base_url=url_of(server)).complete(request)
    assert len(completion.tokens) == 2048
