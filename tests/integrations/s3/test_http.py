"""Data behind a real HTTP server that is slow, lies, or never ends."""

from __future__ import annotations

import socket
import threading
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from imapeval import remote
from imapeval.errors import InputError
from imapeval.evaluation.samples import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest.importorskip("aiohttp", reason="needs aiohttp")

ROW = b'{"question": "Why?", "response": "Because."}\n'


def send_head(connection: socket.socket, *lines: str, status: str = "200 OK") -> None:
    connection.sendall("\r\n".join((f"HTTP/1.1 {status}", "Connection: close", *lines, "", "")).encode())


def send_whole(connection: socket.socket, other: int) -> None:
    send_head(connection, f"Content-Length: {len(ROW)}")
    connection.sendall(ROW)


def send_without_length(connection: socket.socket, other: int) -> None:
    send_head(connection)
    connection.sendall(ROW)


def send_link(connection: socket.socket, other: int) -> None:
    send_head(connection, "Content-Type: text/html")
    connection.sendall(ROW.replace(b"Why?", b"<a href='there'>Why?</a>"))


def send_elsewhere(connection: socket.socket, other: int) -> None:
    send_head(connection, f"Location: http://127.0.0.1:{other}/whole.jsonl", status="302 Found")


def send_in_circles(connection: socket.socket, other: int) -> None:
    send_head(connection, "Location: /circle.jsonl", status="302 Found")


def send_nothing(connection: socket.socket, other: int) -> None:
    connection.recv(1)


def send_half(connection: socket.socket, other: int) -> None:
    send_head(connection, f"Content-Length: {2 * len(ROW)}")
    connection.sendall(ROW)


def send_half_and_wait(connection: socket.socket, other: int) -> None:
    send_half(connection, other)
    connection.recv(1)


def send_half_a_chunk(connection: socket.socket, other: int) -> None:
    send_head(connection, "Transfer-Encoding: chunked")
    connection.sendall(b"%x\r\n" % (2 * len(ROW)) + ROW)


def send_drop_by_drop(connection: socket.socket, other: int) -> None:
    send_head(connection, "Content-Length: 10000")
    while True:
        connection.sendall(b" ")
        time.sleep(0.05)


def send_without_end(connection: socket.socket, other: int) -> None:
    send_head(connection)
    while True:
        connection.sendall(ROW * 1000)


def send_a_bomb(connection: socket.socket, other: int) -> None:
    send_head(connection, "Content-Encoding: gzip")
    packer = zlib.compressobj(wbits=31)
    while True:
        connection.sendall(packer.compress(bytes(2**20)))


def claim_a_petabyte(connection: socket.socket, other: int) -> None:
    send_head(connection, f"Content-Length: {2**50}")
    connection.recv(1)


def send_404(connection: socket.socket, other: int) -> None:
    send_head(connection, status="404 Not Found")


def send_500(connection: socket.socket, other: int) -> None:
    send_head(connection, status="500 Internal Server Error")


READ = {
    "whole": send_whole,
    "query?token=a*[": send_whole,
    "length": send_without_length,
    "link": send_link,
    "redirect": send_elsewhere,
}
REFUSED = {
    "circle": send_in_circles,
    "hang": send_nothing,
    "half": send_half,
    "wait": send_half_and_wait,
    "chunk": send_half_a_chunk,
    "drops": send_drop_by_drop,
    "endless": send_without_end,
    "bomb": send_a_bomb,
    "petabyte": claim_a_petabyte,
    "404": send_404,
    "500": send_500,
}
ANSWERS: dict[str, Callable[[socket.socket, int], None]] = {
    name.partition("?")[0]: send for name, send in {**READ, **REFUSED}.items()
}


class Server:
    """Answers `/NAME.jsonl` by `ANSWERS[NAME]`; `requests` are the heads that it was sent."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.other = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            request = connection.recv(2**16)
            self.requests.append(request)
            with suppress(OSError):  # the client may have left
                ANSWERS[request.split(b" ")[1].decode()[1:].partition(".jsonl")[0]](connection, self.other)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(remote, "_PATIENCE", 0.5)
    monkeypatch.setattr(remote, "MAX_BYTES", 2**22)
    first, second = Server(), Server()
    first.other = second.port
    yield first
    assert not any(b"Authorization" in request for request in second.requests)


def make_url(server: Server, name: str) -> str:
    name, _, query = name.partition("?")
    return f"http://user-1:hunter2pw@127.0.0.1:{server.port}/{name}.jsonl{'?' * bool(query)}{query}"


@pytest.mark.parametrize("name", READ)
def test_read(server: Server, name: str) -> None:
    (sample,) = read(make_url(server, name))
    assert sample.response == "Because."
    assert b"Authorization" in server.requests[0]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(server: Server, name: str) -> None:
    with pytest.raises(InputError) as caught:
        read(make_url(server, name))
    assert name in str(caught.value.path)
    assert "hunter2pw" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_chain(server: Server) -> None:
    (sample,) = read(f"simplecache::{make_url(server, 'whole')}")
    assert sample.response == "Because."
    with pytest.raises(InputError):
        read(f"simplecache::{make_url(server, 'hang')}")
