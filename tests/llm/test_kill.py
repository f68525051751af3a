"""`kill -9` at any moment: what was paid for is kept, and the same command goes on to the same scores."""

import hashlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

KILLS = 20
CONCURRENCY = 6
SAMPLES = 30


class CountingServer(ThreadingHTTPServer):
    """Answers the same request always in the same way, after a moment, and counts the requests by their content."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen = Counter()
        self.lately = set()
        self.total = 0
        self.lock = threading.Lock()

    def handle_error(self, request, client_address):
        """Nothing: who is killed breaks off its connections."""

    def count(self, key):
        with self.lock:
            self.seen[key] += 1
            self.lately.add(key)
            self.total += 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = hash_of(body)
        self.server.count(key)
        time.sleep(0.02 + int(key[:2], 16) / 5000)
        content = body["messages"][-1]["content"]
        # A model at temperature 0.9 does not always see everything.
        seen = [
            drug
            for drug in re.findall(r"drug[0-9]+[a-z]", content)
            if hashlib.sha256((key + drug).encode()).digest()[0] > 60
        ]
        if "<given" in content:  # only the request for relations has it
            answer = {
                "relations": [
                    {"reference": 1, "response": 1, "why": drug, "relation": "belonging"} for drug in seen[:1]
                ]
            }
        else:
            answer = {"query": ["treatment"], "constraint": [], "inform": [{"term": "treatment", "values": seen}]}
        reply = {
            "choices": [{"finish_reason": "stop", "message": {"content": json.dumps(answer)}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20},
        }
        encoded = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, format, *args):  # noqa: A002
        pass


def hash_of(request):
    """Return the same for a body on the wire and for the request that the cache of completions keeps."""
    content = [request["messages"], request["temperature"], request.get("seed")]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@pytest.fixture
def counting():
    with CountingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def write_samples(path):
    with path.open("w") as file:
        for n in range(SAMPLES):
            drugs = [f"drug{n}{letter}" for letter in "abcdef"]
            sample = {
                "id": str(n),
                "question": f"How is case {n} treated?",
                "reference": f"Take {drugs[0]}, {drugs[1]}, {drugs[2]} and {drugs[3]}.",
                "response": f"Take {drugs[1]}, {drugs[2]} and {drugs[4]}, or {drugs[5]}.",
            }
            file.write(json.dumps(sample) + "\n")


def start(folder, server):
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "imapeval.cli.main", "score", "../data.jsonl", "--out", "run"),
            *("--metrics", "imapscore:paper,imapscore:mean", "--votes", "3", "--concurrency", str(CONCURRENCY)),
            *("--llm", "openai:m", "--base-url", f"http://127.0.0.1:{server.server_port}/v1"),
        ],
        cwd=folder,
        env={**os.environ, "IMAPEVAL_CACHE": str(folder / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder, server):
    with start(folder, server) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    lines = (folder / "run" / "results.jsonl").read_text().splitlines()
    return sorted(lines)


def kept_in(folder):
    path = folder / "cache" / "completions.sqlite"
    if not path.exists():
        return set()
    connection = sqlite3.connect(path)
    try:
        # Killed before the table was made.
        if not connection.execute("SELECT name FROM sqlite_master WHERE name = 'completion'").fetchall():
            return set()
        return {hash_of(json.loads(text)) for (text,) in connection.execute("SELECT request FROM completion")}
    finally:
        connection.close()


@pytest.mark.slow
def test_kill_9_at_20_moments_changes_no_score_and_pays_for_nothing_twice(counting, tmp_path):
    write_samples(tmp_path / "data.jsonl")
    folders = [tmp_path / name for name in ("undisturbed", "killed")]
    for folder in folders:
        folder.mkdir()
    expected = finish(folders[0], counting)
    calls = counting.total
    # Three readings of three texts each, and at most one comparison of each reading.
    assert 3 * 3 * SAMPLES < calls <= 3 * 4 * SAMPLES
    assert set(counting.seen.values()) == {1}
    counting.seen.clear()

    random_ = random.Random(20)
    in_flight = Counter()
    for _ in range(KILLS):
        before = counting.total
        counting.lately.clear()
        # Now and then while it starts; else after some calls, so that all are needed before the last kill.
        soon = random_.random() < 0.2
        awaited = before + (0 if soon else random_.randint(1, calls // KILLS))
        with start(folders[1], counting) as process:
            while counting.total < awaited and process.poll() is None:
                time.sleep(0.002)
            time.sleep(random_.uniform(0, 2 if soon else 0.1))
            process.send_signal(signal.SIGKILL)
            process.communicate()
        time.sleep(0.1)  # for what had been sent, but not yet been read
        lost = counting.lately - kept_in(folders[1])
        assert len(lost) <= CONCURRENCY
        in_flight.update(lost)

    assert finish(folders[1], counting) == expected
    twice = {key: count - 1 for key, count in counting.seen.items() if count > 1}
    assert len(counting.seen) == calls
    assert all(count <= in_flight[key] for key, count in twice.items())
    # It was no test if nothing was ever under way.
    assert in_flight
