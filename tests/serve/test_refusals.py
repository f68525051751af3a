"""What is refused, with which status, and that the others go on being answered."""

from __future__ import annotations

import contextlib
import json
import math
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from imapeval import Scorer
from imapeval.errors import UsageError
from imapeval.serve.app import load
from imapeval.serve.guard import RequestGuard, RequestLimits
from imapeval.serve.server import check_token, listen

if TYPE_CHECKING:
    from tests.serve.conftest import Running, Serve

JSON = {"Content-Type": "application/json"}
GOOD = {"response": "Rest.", "question": "How is flu treated?", "reference": "Rest at home."}
SLOW = {
    "question": "Which medicines should be taken and which avoided?",
    "reference": " ".join(f"Take drug{number} {number} mg and avoid herb{number}." for number in range(100)),
    "response": " ".join(f"Take pill{number} {number} mg and avoid tea{number}." for number in range(100)),
}
"""An answer that takes a second."""


def answers(server: Running) -> bool:
    return server.post("/score", GOOD).status == 200


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", (422, "bad-field")),
        (b"{", (400, "bad-json")),
        (b'{"response": NaN', (400, "bad-json")),
        (b'{"response": NaN}', (422, "bad-field")),
        (b'{"response": "\xff\xfe"}', (400, "bad-json")),
        (b"\xff", (400, "bad-json")),
        (b"[" * 100_000, (400, "bad-json")),
        (b"null", (422, "bad-field")),
        (b"[]", (422, "bad-field")),
        (b'"text"', (422, "bad-field")),
        (b"{}", (422, "bad-field")),
        (b'{"response": 1}', (422, "bad-field")),
        (b'{"response": "x", "refernce": "y"}', (422, "bad-field")),
        (b'{"response": "x", "lang": "de"}', (422, "bad-field")),
        (b'{"response": "x", "response": "x"}', (422, "bad-field")),
        (b'{"response": "x", "resp\\u006fnse": "y"}', (422, "bad-field")),
        (b'{"response": "x", "turns": [{"role": "user", "content": "y", "content": "z"}]}', (422, "bad-field")),
        (b'{"response": "x", "re\\ud800f": "y"}', (422, "bad-field")),
        (b'{"response": "x", "turns": [{"role": "system", "content": "y"}]}', (422, "bad-field")),
        (json.dumps({"response": "x", "reference": ["y"] * 21}).encode(), (422, "bad-field")),
        (json.dumps({"response": "x", "turns": [{"role": "user", "content": "y"}] * 201}).encode(), (422, "bad-field")),
    ],
)
def test_a_body_that_cannot_be_meant(server: Running, body: bytes, error: tuple[int, str]):
    assert server.ask("POST", "/score", body, JSON).error == error


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/score-all", {"answers": [GOOD] * 101}),
        ("/score-all", {"answers": [{"response": 1}]}),
        ("/extract", {"response": "x"}),
        ("/relate", {"reference": " ", "response": "x"}),
        ("/relate", {"reference": "x" * 1001, "response": "x"}),
        ("/relate", {"reference": "\ud800", "response": "x"}),
    ],
)
def test_limits_of_fields(server: Running, path: str, value: Any):
    assert server.post(path, value).error == (422, "bad-field")


def test_the_message_names_the_field_and_not_what_it_holds(server: Running):
    told = server.post("/score", {"response": ["patient Smith"], "refernce": "Smith"}).json["error"]["message"]
    assert told.startswith("response: Input should be a valid string")
    assert "Smith" not in told
    assert server.ask("POST", "/score", b"", JSON).json["error"]["message"].startswith("the body: ")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
def test_what_is_not_declared_as_json(server: Running, kind: str):
    # A page in a browser can send these to this computer without asking; not so JSON.
    headers = {"Content-Type": kind} if kind else {}
    assert server.ask("POST", "/score", json.dumps(GOOD).encode(), headers).error == (415, "not-json")


def test_compressed(server: Running):
    assert server.ask("POST", "/score", b"x", JSON | {"Content-Encoding": "gzip"}).error == (415, "compressed")


def test_other_paths_and_methods(server: Running):
    assert server.ask("GET", "/").error == (404, "not-found")
    assert server.ask("POST", "/score/", b"{}", JSON).error == (404, "not-found")
    reply = server.ask("GET", "/score")
    assert reply.error == (405, "bad-method")
    assert reply.headers["allow"] == "POST"
    assert server.ask("POST", "/health", b"", JSON).error == (405, "bad-method")


def test_a_token(serve: Serve):
    server = serve(token="s3cret")
    for bearer in ("", "Bearer", "Bearer s3cre", "Bearer s3crett", "Basic s3cret", "s3cret", "Bearer s3cret\xff"):
        for path in ("/score", "/score-all", "/extract", "/relate", "/nowhere"):
            reply = server.ask("POST", path, b"{", JSON | {"Authorization": bearer})
            assert reply.error == (401, "unauthorised")
            assert reply.headers["www-authenticate"] == "Bearer"
            assert "s3cre" not in reply.body.decode()
    for bearer in ("Bearer s3cret", "bearer s3cret"):
        assert server.post("/score", GOOD, Authorization=bearer).status == 200
    assert server.post("/score", GOOD, Authorization="Bearer s3cret", Host="elsewhere.example").status == 200
    for path in ("/health", "/docs", "/openapi.json"):
        assert server.ask("GET", path).status == 200
    described = server.ask("GET", "/openapi.json").json
    assert described["paths"]["/score"]["post"]["security"] == [{"token": []}]


@pytest.mark.parametrize("any_host", [False, True])
async def test_a_token_counts_for_every_host(any_host: bool):
    async def admit(*_: object) -> None:
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    sent: list[Any] = []
    guard = RequestGuard(admit, RequestLimits(), token="secret", posted=[], any_host=any_host)
    scope = {"type": "http", "method": "GET", "path": "/x", "headers": [(b"host", b"localhost")]}
    await guard(scope, admit, send)  # pyright: ignore[reportArgumentType]
    assert sent[0]["status"] == 401


def test_without_a_token_foreign_names_are_refused(server: Running):
    # A page whose own name was made to point to this computer.
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
        assert server.ask("GET", "/health", headers={"Host": host}).error == (403, "foreign-host")
    for host in ("localhost", "localhost:1", "127.0.0.1", "[::1]", "[::1]:80", "LOCALHOST"):
        assert server.ask("GET", "/health", headers={"Host": host}).status == 200


def test_a_body_that_is_too_large(serve: Serve):
    server = serve(body=1000)
    assert server.ask("POST", "/score", b"x" * 10_000_000, JSON).error == (413, "too-large")
    # In chunks, so that nobody says beforehand how much it will be.
    pieces = (b"x" * 300 for _ in range(4))
    assert server.ask("POST", "/score", pieces, JSON, encode_chunked=True).error == (413, "too-large")  # type: ignore[arg-type]
    pieces = iter([json.dumps(GOOD).encode()])
    assert server.ask("POST", "/score", pieces, JSON, encode_chunked=True).status == 200  # type: ignore[arg-type]
    just = json.dumps(GOOD).encode().ljust(1000)
    assert server.ask("POST", "/score", just, JSON).status == 200
    assert server.ask("POST", "/score", just + b" ", JSON).error == (413, "too-large")


def keep_sending(client: socket.socket, piece: bytes) -> None:
    """Send a piece now and then until the server hangs up, which is to be soon."""
    begun = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while True:
            assert time.monotonic() - begun < 10
            client.sendall(piece)
            time.sleep(0.02)


def test_a_body_in_chunks_without_end_is_cut_off(serve: Serve):
    server = serve(body=1000, arriving=0.3)
    with server.connect() as client:
        client.sendall(
            b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        keep_sending(client, b"3e8\r\n" + b"x" * 1000 + b"\r\n")
    assert answers(server)


HEAD = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /sc",
        HEAD,
        HEAD + b"Content-Length: 100\r\n\r\n",
        HEAD + b"Content-Length: 100\r\n\r\n{",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    ],
)
def test_who_dribbles_is_cut_off_and_holds_up_nobody(serve: Serve, sent: bytes):
    server = serve(arriving=0.5)
    with server.connect() as client:
        client.sendall(sent)
        assert answers(server)
        begun = time.monotonic()
        told = client.recv(1 << 16)
        assert told.startswith(b"HTTP/1.1 408 ")
        assert json.loads(told.partition(b"\r\n\r\n")[2] or client.recv(1 << 16))["error"]["kind"] == "too-slow"
        # Whoever was told may say something else, but not for ever.
        while client.recv(1 << 16):
            pass
        assert time.monotonic() - begun < 5
    assert answers(server)


def test_one_byte_now_and_then_does_not_help(serve: Serve):
    server = serve(arriving=0.5)
    with server.connect() as client:
        keep_sending(client, b"G")


def test_many_slow_clients_hold_up_nobody(serve: Serve):
    server = serve(arriving=2)
    clients = [server.connect() for _ in range(200)]
    try:
        for client in clients:
            client.sendall(HEAD)
        begun = time.monotonic()
        assert answers(server)
        assert time.monotonic() - begun < 2
    finally:
        for client in clients:
            client.close()


def test_who_does_not_read_is_cut_off(serve: Serve):
    server = serve(arriving=0.5)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
        wait_for(lambda: server.server.server_state.connections)
        wait_for(lambda: not server.server.server_state.connections)
    assert answers(server)


def wait_for(condition: Any, seconds: float = 10) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds
        time.sleep(0.05)


def test_too_many_connections(serve: Serve):
    server = serve(connections=3)
    clients = [server.connect() for _ in range(3)]
    try:
        wait_for(lambda: len(server.server.server_state.connections) == 3)
        reply = server.ask("GET", "/health")
        assert reply.error == (503, "busy")
        assert reply.headers["retry-after"] == "2"
    finally:
        for client in clients:
            client.close()
    wait_for(lambda: not server.server.server_state.connections)
    assert answers(server)


@pytest.mark.slow
def test_too_much_waiting(serve: Serve):
    server = serve(waiting=2)
    # This never fits, however often it is tried again.
    assert server.post("/score-all", {"answers": [GOOD] * 3}).error == (413, "too-large")
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(server.post, "/score-all", {"answers": [SLOW] * 2})
        wait_for(lambda: server.server.server_state.tasks)
        time.sleep(0.3)
        reply = server.post("/score", GOOD)
        assert reply.error == (503, "busy")
        assert reply.headers["retry-after"] == "2"
        assert server.post("/relate", {"reference": "a", "response": "b"}).error == (503, "busy")
        assert server.ask("GET", "/health").status == 200
        assert under_way.result().status == 200
    assert answers(server)


@pytest.mark.slow
def test_long_answers_hold_up_no_short_one(serve: Serve):
    server = serve()
    with ThreadPoolExecutor(2) as pool:
        # Too long also to be scored together.
        told = SLOW["reference"][:2500].ljust(30_000)
        long = [{**SLOW, "reference": told, "response": f"{SLOW['response']} {number} mg."} for number in range(2)]
        under_way = [pool.submit(server.post, "/score", answer) for answer in long]
        wait_for(lambda: len(server.server.server_state.tasks) == 2)
        time.sleep(0.3)
        assert answers(server)
        assert not any(reply.done() for reply in under_way)
        assert all(reply.result().status == 200 for reply in under_way)


def test_half_a_million_wrong_turns_hold_up_nobody(server: Running):
    begun = time.monotonic()
    assert server.ask("POST", "/score", b'{"response": "", "turns": [1' + b",1" * 500_000 + b"]}", JSON).status == 422
    assert time.monotonic() - begun < 2


def test_work_that_takes_too_long_is_given_up_and_the_others_go_on(serve: Serve):
    server = serve(work=0.2)
    begun = time.monotonic()
    assert server.post("/score", SLOW).error == (504, "timeout")
    assert time.monotonic() - begun < 3
    wait_for(lambda: answers(server))


@pytest.mark.slow
def test_a_language_model_that_is_down_gives_no_score(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        with Scorer(llm="openai:x", base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1") as scorer:
            server = serve(load(scorer, llm="openai:x"))
            assert server.ask("GET", "/health").status == 200
            with ThreadPoolExecutor(2) as pool:
                one = pool.submit(server.post, "/score", GOOD)
                several = pool.submit(server.post, "/score-all", {"answers": [GOOD, GOOD]})
                assert one.result().error == several.result().error == (502, "unreachable")
            assert server.post("/relate", {"reference": "a", "response": "b"}).error == (502, "unreachable")
            # What needs no model is answered; about the same wording none is asked.
            assert server.post("/score", {**GOOD, "response": None}).json["failure"]["kind"] == "no-response"
            assert server.post("/relate", {"reference": "Rest", "response": "rest"}).json["relation"] == "exact"


@pytest.mark.parametrize("value", [0, math.inf, math.nan])
@pytest.mark.parametrize("limit", ["body", "work", "waiting", "arriving", "connections"])
def test_limits_are_numbers_above_0(limit: str, value: float):
    with pytest.raises(UsageError, match=limit):
        RequestLimits(**{limit: value})  # pyright: ignore[reportArgumentType]


def test_limits_are_those_of_the_page():
    """docs/serve.md; the other tests lower them."""
    assert RequestLimits() == RequestLimits(body=2**20, work=60, waiting=1000, arriving=10, connections=1000)


@pytest.mark.parametrize("token", ["", "a b", "naïve", "a\nb"])
def test_a_token_that_no_header_can_carry(token: str):
    with pytest.raises(UsageError, match="token"):
        check_token(token)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_others_are_not_let_in_without_a_token(host: str):
    with pytest.raises(UsageError, match=r"IMAPEVAL_TOKEN|address"):
        listen(host, 0, token=None)
    if host == "0.0.0.0":
        listen(host, 0, token="x").close()


@pytest.mark.parametrize("host", ["nowhere.invalid", "127..0.0.1", "a" * 64])
def test_an_address_that_is_none(host: str):
    with pytest.raises(UsageError, match=re.escape(repr(host))):
        listen(host, 0, token=None)


def test_no_packet_waits_for_an_acknowledgement(serve: Serve):
    """Nagle's algorithm keeps back the body of a reply until the client's delayed acknowledgement of the head."""
    running = serve()
    with running.connect() as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(1)
        sockets = [one.transport.get_extra_info("socket") for one in running.server.server_state.connections]
        assert [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets] == [1]
