"""The HTTP server: uvicorn with timeouts for slow and stalled clients."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import traceback
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from imapeval.errors import UsageError
from imapeval.redaction import register_secret
from imapeval.serve.http_error import PROTECTIVE_HEADERS, HttpError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from types import FrameType

    from imapeval.serve.guard import App, RequestLimits

KEEP_ALIVE = 20
"""Seconds that a connection may be idle between requests: longer than clients keep it (4 in Node's fetch)."""


def listen(host: str, port: int, *, token: str | None) -> socket.socket:
    """Bind the port and return the socket.

    Raises:
        UsageError: The port is taken, the address does not exist, or others can reach it without a token.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    # A label of a name may be empty or too long, which is no OSError.
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot resolve the address {host!r} ({reason}). Use --host 127.0.0.1.") from error
    if token is None and not ipaddress.ip_address(address[0]).is_loopback:
        raise UsageError(
            f"other computers can reach {host}, and there is no token. Set the environment variable IMAPEVAL_TOKEN to "
            "a long random text, or use --host 127.0.0.1."
        )
    # Only where the protocol is named, asyncio turns Nagle's algorithm off: a reply would wait 40 ms for the client's
    # delayed acknowledgement of its head.
    sock = socket.socket(family, kind, protocol)
    # Otherwise the port stays taken for a minute after a server has stopped.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(address)
        sock.listen(1)
    except OSError as error:
        sock.close()
        raise UsageError(
            f"cannot listen on port {port} of {host} ({error.strerror}). Choose another port with --port."
        ) from error
    return sock


def check_token(token: str | None) -> str | None:
    """Return the token, and register it as a secret.

    Raises:
        UsageError: The token cannot be sent in a header.
    """
    if token is not None and not (token and token.isascii() and token.isprintable() and " " not in token):
        raise UsageError(
            "the token is empty, or has spaces or characters other than ASCII. Create one with: openssl rand -hex 32"
        )
    register_secret(token or "")
    return token


def run(app: App, limits: RequestLimits, *, sock: socket.socket, ready: Callable[[], None] | None = None) -> None:
    """Serve until a signal arrives; requests in progress are finished first.

    Args:
        app: The app.
        limits: The limits of the server.
        sock: The socket that `listen` returned.
        ready: Called once the server accepts requests.

    Raises:
        KeyboardInterrupt: The signal was Ctrl-C.
    """
    server = make_server(app, limits, ready=ready)
    caught: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        caught.append(number)
        # The signal may arrive before uvicorn has set its own handlers.
        server.should_exit = True

    # After an orderly shutdown uvicorn raises the signal again, which would make the process exit with an error.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    # uvicorn leaves it alone: a closed terminal would end the requests in progress. `nohup` ignores it.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, stop)
    try:
        server.run([sock])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in caught:
        raise KeyboardInterrupt


def make_server(app: App, limits: RequestLimits, *, ready: Callable[[], None] | None = None) -> uvicorn.Server:
    """Return the server, which is not running yet."""
    logging.getLogger("uvicorn.error").addFilter(_strip_error_message)

    class Protocol(_TimeoutProtocol):
        bounds = limits

    config = uvicorn.Config(
        cast("Any", app),
        http=cast("type[asyncio.Protocol]", Protocol),
        ws="none",
        lifespan="on",
        # Its own configuration would close every logging handler of this process; absl's, which comes with rouge-score,
        # closes the stream that it writes to as well.
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        # Requests in progress may use their full time, and their responses some more.
        timeout_graceful_shutdown=int(limits.work + limits.arriving) + 1,
    )
    return _Server(config, ready)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._ready = ready

    async def main_loop(self) -> None:
        if self._ready is not None:
            self._ready()
        await super().main_loop()


class _TimeoutProtocol(H11Protocol):
    """HTTP/1.1 with timeouts.

    uvicorn waits indefinitely for the rest of a request's head, for the rest of a rejected body, and for clients that
    do not read their response. `RequestGuard` limits the time of accepted bodies.
    """

    bounds: RequestLimits

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._read_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore
        super().connection_made(transport)
        if len(self.connections) > self.bounds.connections:
            self._respond_and_close(
                HttpError(503, "busy", "Too many connections are open. Try again later.", {"Retry-After": "2"})
            )
            return
        self._update_read_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_read_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._read_timer, self._write_timer):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.bounds.arriving, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()

    def send_400_response(self, msg: str) -> None:
        self._respond_and_close(HttpError(400, "bad-http", "The request is not valid HTTP."))

    def _update_read_timer(self) -> None:
        """Run a timer while data is expected for which there is no other timeout."""
        idle = self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]
        waiting = idle and self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if waiting and self._read_timer is None:
            self._read_timer = self.loop.call_later(self.bounds.arriving, self._on_read_timeout)
        elif not waiting and self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _on_read_timeout(self) -> None:
        if self.conn.our_state is h11.IDLE:
            self._respond_and_close(
                HttpError(408, "too-slow", f"The request did not arrive within {self.bounds.arriving:g} seconds.")
            )
        else:
            self.transport.abort()

    def _respond_and_close(self, refusal: HttpError) -> None:
        head = [
            f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}".encode(),
            b"content-type: application/json",
        ]
        head += [
            f"{name.lower()}: {value}".encode() for name, value in {**PROTECTIVE_HEADERS, **refusal.headers}.items()
        ]
        head += [b"content-length: %d" % len(refusal.body), b"connection: close", b"", refusal.body]
        self.transport.write(b"\r\n".join(head))
        self.transport.close()


def _strip_error_message(record: logging.LogRecord) -> bool:
    """Remove the message of an error from the log, since it may quote a request; keep where the error occurred."""
    if record.exc_info and (error := record.exc_info[1]) is not None:
        places = traceback.extract_tb(error.__traceback__)
        where = f"{places[-1].filename}:{places[-1].lineno}" if places else "nowhere"
        record.msg, record.args = f"{type(error).__name__} at {where}", ()
        record.exc_info = None
    return True
