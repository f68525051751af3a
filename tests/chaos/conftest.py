"""A stub of an OpenAI-compatible server that injects faults, driven by a seed."""

import gzip
import hashlib
import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import pytest

FAULT_RATE = 0.3
UNPAID = ["500", "503", "429", "redirect", "no reply", "half a body", "cut JSON", "HTML page", "no body", "gzip bomb"]
UNPAID += ["endless reply"]
"""Faults without a completion."""
USELESS = ["refusal", "content filter", "HTML text", "cut text", "too long"]
"""Completions that are billed and asked for once more, with a note of the fault."""
UNUSUAL = ["slow", "token counts as strings", "content parts"]
"""Valid completions in a form that few servers use."""


@dataclass(frozen=True)
class Reply:
    """What the server sent.

    Attributes:
        number: Sent as the name of the model, so that it stands in the cache.
        api_key: Identifies the process that asked.
        request: Hash of the request.
        useful: Whether it holds a completion that can be used.
        tokens: Of the prompt and the completion, as billed.
        begun, sent: Monotonic times of the request's arrival and of the last byte sent.
    """

    number: str
    api_key: str
    request: str
    useful: bool
    tokens: int
    begun: float
    sent: float


class FaultyServer(ThreadingHTTPServer):
    """Answers each request deterministically, apart from the faults.

    Attributes:
        faults: Whether faults are injected.
        full_speed: While not set, replies take most of a second.
        answering: While not set, requests are accepted and not answered.
        rejecting: Whether the next request is rejected because of its API key.
        rejected: The last API key that was rejected.
        requests: Number of requests by their hash.
        in_flight: Number of requests being answered, by API key.
        replies: Everything that was sent completely.
        paths: All paths that were requested.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seed = seed
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.faults = False
        self.full_speed = threading.Event()
        self.answering = threading.Event()
        self.answering.set()
        self.rejecting = False
        self.rejected = ""
        self.requests: Counter[str] = Counter()
        self.in_flight: Counter[str] = Counter()
        self.replies: list[Reply] = []
        self.paths: set[str] = set()
        self.first_requests: dict[str, str] = {}
        self.lock = threading.Lock()

    def handle_error(self, request: object, client_address: object) -> None:
        # Killed clients leave broken connections behind.
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def replies_to(self, api_key_prefix: str) -> list[Reply]:
        return [reply for reply in [*self.replies] if reply.api_key.startswith(api_key_prefix)]


class _Handler(BaseHTTPRequestHandler):
    server: FaultyServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        content = self.rfile.read(length)
        if len(content) < length:
            return
        server, begun = self.server, time.monotonic()
        api_key = self.headers["Authorization"].removeprefix("Bearer ")
        request, body = hashlib.sha256(content).hexdigest(), json.loads(content)
        # What a request and its repetition with a note have in common.
        data = re.findall("case [0-9]+|drug[0-9]+[a-z]", body["messages"][-1]["content"])
        subject = " ".join([body["response_format"]["json_schema"]["name"], str(body.get("seed")), *data])
        with server.lock:
            server.paths.add(self.path)
            server.in_flight[api_key] += 1
            server.requests[request] += 1
            number = str(server.requests.total())
            random = Random(f"{server.seed} {request} {server.requests[request]}")
            # The repetition gets a useful reply: after two useless ones the reading is left out of the score.
            useless = USELESS if server.first_requests.setdefault(subject, request) == request else []
        try:
            fault = ""
            if server.faults and random.random() < FAULT_RATE:
                fault = random.choice(random.choice([UNPAID, UNPAID, ["empty text", *useless], UNUSUAL]))
            server.full_speed.wait(0.8)
            time.sleep(random.uniform(0.03, 0.15))
            server.answering.wait()
            with server.lock:
                if server.rejecting:
                    server.rejecting, server.rejected, fault = False, api_key, "401"
            text = write_answer(subject, fault)
            tokens = (sum(len(message["content"]) // 4 for message in body["messages"]), 1 + len(text) // 4)
            self.send(fault, dump_completion(text, fault, number, *tokens))
            billed = 0 if fault in (*UNPAID, "401") else sum(tokens)
            reply = Reply(number, api_key, request, fault in ("", *UNUSUAL), billed, begun, time.monotonic())
            with server.lock:
                server.replies.append(reply)
        finally:
            with server.lock:
                server.in_flight[api_key] -= 1

    def send(self, fault: str, content: bytes) -> None:
        status, headers = 200, {}
        match fault:
            case "401" | "429" | "500" | "503":  # some servers echo the API key
                status, headers = int(fault), {"Retry-After": "0"}
                content = json.dumps({"error": {"message": self.headers["Authorization"]}}).encode()
            case "redirect":  # another host name is another origin
                location = f"http://localhost:{self.server.server_port}/redirected"
                status, headers, content = 307, {"Location": location}, b""
            case "no reply":
                self.close_connection = True
                return
            case "endless reply":
                self.close_connection = True
                self.send_response(200)
                self.end_headers()
                with suppress(OSError):  # the client hangs up
                    while True:
                        self.wfile.write(b" " * 65_536)
                return
            case "cut JSON":
                content = content[:-40]
            case "HTML page":
                content = b"<html>Please log in.</html>"
            case "no body":
                content = b""
            case "gzip bomb":
                headers, content = {"Content-Encoding": "gzip"}, gzip.compress(bytes(8 << 20), 1)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(content)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if fault == "half a body":
            self.close_connection = True
            content = content[: len(content) // 2]
        elif fault == "slow":
            self.wfile.write(content[:10])
            time.sleep(0.3)
            content = content[10:]
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def write_answer(subject: str, fault: str) -> str:
    """Return the text of the completion, which depends only on what is asked and the seed of the vote."""
    schema, seed, *names = subject.split()
    drugs = [name for name in names if name.startswith("drug")]
    # A vote, asked with a seed of its own, does not find everything.
    found = [drug for drug in drugs if Random(f"{schema} {seed} {drug}").random() < 0.75] or drugs[:1]
    if schema == "question-imap":
        answer = {"query": ["treatment"], "constraint": []}
    elif schema == "answer-inform":
        answer = {"inform": [{"term": "treatment", "values": found}]}
    else:
        relation = "belonging" if len(found) % 2 else "containment"
        answer = {"relations": [{"reference": 1, "response": 1, "why": found[0], "relation": relation}]}
    match fault:
        case "empty text":
            return ""
        case "refusal" | "content filter":
            return "I'm sorry, but I can't help with that."
        case "HTML text":
            return "<html><title>502 Bad Gateway</title></html>"
        case "cut text" | "too long":
            return json.dumps(answer)[:-6]
        case _:
            return json.dumps(answer)


def dump_completion(text: str, fault: str, model: str, prompt_tokens: int, completion_tokens: int) -> bytes:
    as_count = str if fault == "token counts as strings" else int
    choice = {
        "finish_reason": {"content filter": "content_filter", "too long": "length"}.get(fault, "stop"),
        "message": {"content": [{"type": "text", "text": text}] if fault == "content parts" else text},
    }
    usage = {"prompt_tokens": as_count(prompt_tokens), "completion_tokens": as_count(completion_tokens)}
    return json.dumps({"model": model, "choices": [choice], "usage": usage}).encode()


@pytest.fixture
def start_server(run_server: Callable[..., FaultyServer]) -> Callable[[int], FaultyServer]:
    """Start a server with the given seed; the faults are switched on later."""
    return lambda seed: run_server(FaultyServer(seed))
