"""`--votes`, from a server that says something else each time to the scores."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from imapeval import imapfile
from imapeval.runs import Run
from imapeval.types import Imap, Sample, Score

Command = Callable[..., subprocess.CompletedProcess[str]]
WriteData = Callable[..., Path]

ASIDES = ("mint", "lemon", "ginger", "honey", "thyme")
"""Each reading makes another one of them a fact."""

FACTS = {
    f"Rest and tea; {', '.join(ASIDES)}.": ["rest", "tea"],
    f"Rest, tea and sleep; {', '.join(ASIDES)}.": ["rest", "tea", "sleep"],
    f"Drink tea; {', '.join(ASIDES)}.": ["drink tea"],
}
REFERENCE, GOOD, POOR = FACTS
SAMPLES = [
    Sample("a", "How is a cold treated?", (REFERENCE,), GOOD, system="one"),
    Sample("b", "How is a cold treated?", (REFERENCE,), POOR, system="two"),
]


class Fickle(ThreadingHTTPServer):
    """A model that adds another fact to each reading, writes one in capitals, and garbles those in `garbled`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.garbled: set[int] = set()
        self.asked: list[dict[str, Any]] = []

    def answer(self, body: dict[str, Any]) -> str:
        seed, asked = body.get("seed"), body["messages"][-1]["content"]
        if seed in self.garbled:
            return "Sorry?"
        if "<answer>" not in asked:
            return json.dumps({"query": ["treatment"] + ["advice"] * (seed == 3), "constraint": []})
        answer = asked.partition("<answer>\n")[2].partition("\n</answer>")[0]
        facts = [fact.upper() if seed == 2 else fact for fact in FACTS[answer]]
        return json.dumps({"inform": [{"term": "treatment", "values": [*facts, ASIDES[(seed or 1) - 1]]}]})


class _Handler(BaseHTTPRequestHandler):
    server: Fickle
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ""}}
        choice["message"]["content"] = self.server.answer(body)
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        reply = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        content = json.dumps(reply | {"usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def fickle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Fickle]:
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Fickle() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def command(imapeval: Command, fickle: Fickle, write_data: WriteData) -> Command:
    """Call a command on the samples with the fickle model."""
    data = write_data(SAMPLES)
    address = f"http://127.0.0.1:{fickle.server_port}/v1"
    return lambda name, *more: imapeval(name, data, "--llm", "openai:m", "--base-url", address, *more)


def read_imaps(path: str) -> dict[str, Imap]:
    return {record.id: record.imap for _, record in imapfile.read(Path(path))}


def test_what_most_readings_have_is_scored(command: Command, fickle: Fickle):
    done = command("score", "--votes", "3", "--metrics", "imapscore:paper,rouge1", "--out", "run")
    assert done.returncode == 0, done.stderr
    imaps = read_imaps("run/imaps.jsonl")
    assert {pair.term for imap in imaps.values() for pair in imap.query} == {"treatment"}
    assert [pair.value for pair in imaps["a"].reference] == ["Rest", "tea"]
    assert [pair.value for pair in imaps["a"].response] == ["Rest", "tea", "sleep"]
    # Dice of two readings: question 1, 2/3, 2/3; of n facts and one that the others do not have: n / (n + 1).
    question = (1 + 2 / 3 + 2 / 3) / 3
    assert imaps["a"].stability == pytest.approx((question + 2 / 3 + 3 / 4) / 3)
    assert imaps["b"].stability == pytest.approx((question + 2 / 3 + 1 / 2) / 3)
    run = Run(Path("run"))
    outcomes = {(result.id, result.metric): result.outcome for result in run.results()}
    paper, rouge = outcomes["a", "imapscore:paper"], outcomes["a", "rouge1"]
    assert isinstance(paper, Score)
    assert isinstance(rouge, Score)
    assert (paper.value, paper.parts["stability"]) == (pytest.approx(1 + 2 / 3), imaps["a"].stability)
    assert "stability" not in rouge.parts
    # The question and the reference, which both samples share, and two responses, three times each.
    assert sorted(body["seed"] for body in fickle.asked) == sorted([1, 2, 3] * 4)
    assert {body["temperature"] for body in fickle.asked} == {0.9}
    signature = run.manifest["settings"]["extractor"]
    assert signature.startswith("voted|votes:3|keep:2|")
    assert "|temperature:0.9|" in signature


def test_no_reading_is_paid_for_twice(command: Command, fickle: Fickle):
    for name in ("first", "again"):
        assert command("extract", "--votes", "3", "--out", name).returncode == 0
        assert len(fickle.asked) == 12
    assert read_imaps("first") == read_imaps("again")
    # More votes ask for the readings that are not there yet only.
    assert command("extract", "--votes", "4", "--out", "four").returncode == 0
    assert {body["seed"] for body in fickle.asked[12:]} == {4}


def test_without_votes_there_is_one_greedy_reading(command: Command, fickle: Fickle):
    assert command("extract", "--out", "plain").returncode == 0
    assert [(body.get("seed"), body["temperature"]) for body in fickle.asked] == [(None, 0)] * 4
    assert {imap.stability for imap in read_imaps("plain").values()} == {None}


def test_one_garbled_reading_of_three_does_no_harm_and_two_do(command: Command, fickle: Fickle):
    fickle.garbled = {2}
    assert command("extract", "--votes", "3", "--out", "one").returncode == 0
    assert [[pair.value for pair in imap.reference] for imap in read_imaps("one").values()] == [["Rest", "tea"]] * 2
    fickle.garbled = {2, 4, 5}
    done = command("extract", "--votes", "5", "--out", "two", "--json")
    assert done.returncode == 1
    assert {failure["kind"] for failure in json.loads(done.stdout)["failures"]} == {"unreadable-completion"}
