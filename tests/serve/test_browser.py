"""What a web page from elsewhere, open in a browser on the same computer, can do with the server: nothing."""

from __future__ import annotations

import json
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser

    from tests.serve.conftest import Running

ANSWER = {"question": "What helps against pain?", "reference": "Rest.", "response": "Rest."}

ATTEMPT = """async ([url, body, options]) => {
    try {
        const reply = await fetch(url, body === null ? options : {method: "POST", body, ...options});
        return reply.type === "opaque" ? "opaque" : await reply.text();
    } catch (error) {
        return error.name;
    }
}"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def elsewhere(run_server: Callable[..., ThreadingHTTPServer]) -> str:
    """The address of a page on another port, which is another origin."""
    return f"http://127.0.0.1:{run_server(ThreadingHTTPServer(('127.0.0.1', 0), _Page)).server_port}/"


@pytest.mark.slow
def test_a_page_from_elsewhere_gets_no_answer(browser: Browser, elsewhere: str, server: Running):
    url, body = f"http://127.0.0.1:{server.port}", json.dumps(ANSWER)
    statuses: Counter[int] = Counter()
    page = browser.new_page()
    try:
        page.on("response", lambda reply: statuses.update([reply.status] * reply.url.startswith(url)))
        page.goto(elsewhere)
        as_json = {"headers": {"Content-Type": "application/json"}}
        assert page.evaluate(ATTEMPT, [f"{url}/score", body, as_json]) == "TypeError"
        assert page.evaluate(ATTEMPT, [f"{url}/health", None, {}]) == "TypeError"
        # Sent without asking first, as by a form; the reply cannot be read, and it is an error.
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            options = {"mode": "no-cors", "headers": {"Content-Type": kind}}
            assert page.evaluate(ATTEMPT, [f"{url}/score", body, options]) == "opaque"
        assert statuses[415] == 2
        assert statuses[200] <= 1  # /health, which the page could not read
        # The same from the server's own origin.
        page.goto(f"{url}/health")
        assert json.loads(page.evaluate(ATTEMPT, [f"{url}/score", body, as_json]))["score"] is not None
    finally:
        page.close()
