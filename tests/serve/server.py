"""A real server on loopback, in a thread."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from imapeval.serve.guard import RequestLimits
from imapeval.serve.server import listen, make_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    import uvicorn

    from imapeval.serve.guard import App


@contextmanager
def run_app(app: App, limits: RequestLimits | None = None) -> Iterator[tuple[int, uvicorn.Server]]:
    """Serve an app until the block is left, and yield the port and the server."""
    ready = threading.Event()
    with listen("127.0.0.1", 0, token=None) as sock:
        server = make_server(app, limits or RequestLimits(), ready=ready.set)
        thread = threading.Thread(target=server.run, args=([sock],))
        thread.start()
        try:
            assert ready.wait(10)
            yield sock.getsockname()[1], server
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()
