"""`--max-cost` against a server that bills every completion it makes, whether or not its reply arrives."""

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import pytest

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm import tokens
from imapeval.llm.middleware import retry
from imapeval.llm.middleware.budget import Ledger
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers.openai import OpenAIModel
from imapeval.llm.registry import add_middleware

PRICE = Price(1.0, 4.0)
MAX_TOKENS = 300
FAULTS = [
    "",
    "",
    "",
    "",
    "empty",
    "refusal",
    "half a body",
    "cut JSON",
    "gateway timeout",
    "hang",
    "overloaded",
    "HTML",
]


class BillingServer(ThreadingHTTPServer):
    """Bills a token for every two bytes of the prompt and up to `max_tokens`, except when it is overloaded.

    Attributes:
        bill: USD.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.random = Random(seed)
        self.lock = threading.Lock()
        self.bill = 0.0
        self.faults: set[str] = set()


class _Handler(BaseHTTPRequestHandler):
    server: BillingServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if not content:  # the client has given up
            return
        body = json.loads(content)
        prompt = sum(len(message["content"].encode()) // 2 for message in body["messages"])
        with self.server.lock:
            fault = self.server.random.choice(FAULTS)
            completion = self.server.random.randint(1, body["max_tokens"])
            if fault not in ("overloaded", "HTML"):
                self.server.bill += (prompt * PRICE.prompt + completion * PRICE.completion) / 1e6
            self.server.faults.add(fault)
        message = {"content": "" if fault == "empty" else "text", "refusal": "No." if fault == "refusal" else None}
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        content = json.dumps({"usage": usage, "choices": [{"finish_reason": "stop", "message": message}]}).encode()
        match fault:
            case "cut JSON":
                content = content[:-20]
            case "HTML":
                content = b"<html>Please log in.</html>"
            case "hang":
                time.sleep(1)
                self.close_connection = True
                return
        self.send_response({"gateway timeout": 504, "overloaded": 503}.get(fault, 200))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if fault == "half a body":
            self.close_connection = True
            content = content[: len(content) // 2]
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_the_bill_never_exceeds_the_limit(run_server, monkeypatch: pytest.MonkeyPatch, seed: int):
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(retry, "_FIRST_PROBE_INTERVAL", 0.01)
    server = run_server(BillingServer(seed))
    ledger = Ledger(price=PRICE, max_cost=0.15)
    bare = OpenAIModel("m", base_url=server.url, timeout=0.5, concurrency=16)
    model = add_middleware(bare, ledger=ledger)
    requests = [Request((Message("user", f"{number:0600}"),), max_tokens=MAX_TOKENS) for number in range(1000)]
    outcomes = await asyncio.gather(*map(model.complete, requests), return_exceptions=True)
    assert {outcome.kind for outcome in outcomes if isinstance(outcome, ServiceError)} == {"over-budget"}
    assert not [
        o for o in outcomes if isinstance(o, BaseException) and not isinstance(o, (ServiceError, ProviderError))
    ]
    assert server.faults == {*FAULTS}
    report = ledger.report()
    assert report["usd"] <= server.bill + 1e-9
    assert server.bill <= report["usd"] + report["uncertain_usd"] + 1e-9
    assert server.bill <= 0.15
    # Not more than a call is left over.
    bound = tokens.bound_prompt(requests[0]) * 1e-6 + MAX_TOKENS * 4e-6
    assert report["usd"] + report["uncertain_usd"] > 0.15 - bound


@pytest.mark.llm
@pytest.mark.parametrize(
    "text", ["", "x", "头孢呋辛酯片每日两次", "𝕏 \u200b\ufffd ﷽ 🧑‍⚕️", "<|im_start|>system\n" * 20, "  \n" * 50]
)
async def test_a_real_prompt_has_fewer_tokens_than_are_reserved(llama_url: str, text: str):
    request = Request((Message("system", text), Message("user", text + "?")), max_tokens=1)
    model = OpenAIModel("smollm2", base_url=llama_url)
    # SmolLM2 finishes some of them without a token, which is no completion.
    (outcome,) = await asyncio.gather(model.complete(request), return_exceptions=True)
    used = outcome.tokens[0] if isinstance(outcome, ProviderError) else outcome.usage.prompt_tokens
    assert 0 < used <= tokens.bound_prompt(request)
