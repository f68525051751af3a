import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.types import Sample
from tests.cli.conftest import Command, Process, WriteData, make_reply

SAMPLES = [Sample(str(n), f"What helps against pain {n}?", (f"Rest {n}.",), f"Rest {n}.") for n in range(4)]
QUESTION = '{"query": ["treatment"], "constraint": []}'
ANSWER = '{"inform": [{"term": "treatment", "values": ["rest"]}]}'
REWORDED = '{"reworded": "You should lie down."}'

PROMPT_TOKENS, COMPLETION_TOKENS = 1000, 10
COST = (PROMPT_TOKENS * 1.0 + COMPLETION_TOKENS * 4.0) / 1e6
"""Of a call, at --price 1,4."""
BOUND = 0.0135
"""What is reserved for a call at most: 5,000 bytes and 2,048 tokens."""


class Server:
    """A model that reads and rewords.

    Attributes:
        asked: How many requests came.
        seconds: How long it takes for each.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.seconds = 0.0

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.asked += 1
        time.sleep(self.seconds)
        asked = body.get("response_format", {}).get("json_schema", {}).get("name", "")
        text = {"question-imap": QUESTION, "answer-inform": ANSWER}.get(asked, REWORDED)
        return make_reply(text, PROMPT_TOKENS, COMPLETION_TOKENS)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def options(server: Server, serve: Callable[..., Any], apart: None) -> list[str]:
    return ["--llm", "openai:m", "--base-url", serve(server.answer).url, "--concurrency", "2"]


def check_told(usage: dict[str, Any], server: Server) -> None:
    """Check that what was really paid is within what is reported."""
    assert usage["usd"] <= server.asked * COST + 1e-9
    assert server.asked * COST <= usage["usd"] + usage["uncertain_usd"] + 1e-9


def kill_after(calls: int, server: Server, started: subprocess.Popen[str]) -> None:
    with started as process:
        deadline = time.monotonic() + 60
        while server.asked < calls and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["usage"]


def test_what_a_run_cost_is_in_its_manifest(
    imapeval: Command, write_data: WriteData, tmp_path: Path, options: list[str]
):
    command = ["score", write_data(SAMPLES), "--metrics", "imapscore", "--out", "run", "--price", "1,4", *options]
    done = imapeval(*command)
    assert done.returncode == 0, done.stderr
    assert (
        "usage:  12 calls, 4 of them from the cache; 8,000 prompt and 80 completion tokens; USD 0.0083" in done.stdout
    )
    usage = manifest(tmp_path / "run")
    assert usage == {
        "calls": 12,
        "cached": 4,
        "failed": 0,
        "estimated": 0,
        "prompt_tokens": 8 * PROMPT_TOKENS,
        "completion_tokens": 8 * COMPLETION_TOKENS,
        "reused_tokens": 0,
        "usd": pytest.approx(8 * COST),
        "uncertain_usd": 0.0,
        "price": {"prompt": 1.0, "completion": 4.0, "reused": None, "source": "--price"},
    }
    # Finished: nothing is asked, and what it cost stays.
    again = imapeval(*command, "--json")
    assert json.loads(again.stdout)["usage"] == usage
    assert manifest(tmp_path / "run") == usage


def test_another_run_of_the_same_is_free_and_has_no_known_price(
    imapeval: Command, write_data: WriteData, tmp_path: Path, options: list[str]
):
    data = write_data(SAMPLES)
    imapeval("extract", data, "--out", "first.jsonl", *options)
    second = json.loads(imapeval("extract", data, "--out", "second.jsonl", "--json", *options).stdout)["usage"]
    assert (second["calls"], second["cached"], second["prompt_tokens"]) == (12, 12, 0)
    assert (second["usd"], second["price"]) == (None, None)
    assert "12 calls, 12 of them from the cache" in imapeval("extract", data, "--out", "third.jsonl", *options).stdout


def test_the_budget_ends_the_work_and_a_higher_one_goes_on(
    imapeval: Command, write_data: WriteData, tmp_path: Path, server: Server, options: list[str]
):
    command = ["extract", write_data(SAMPLES), "--out", "imaps.jsonl", "--price", "1,4", *options]
    # Room for a call of the longest completion and two more of its real cost, but not for all eight.
    stopped = imapeval(*command, "--max-cost", "0.0150")
    assert stopped.returncode == 2
    assert "Raise --max-cost and repeat the command" in stopped.stderr
    paid = server.asked
    assert 1 <= paid < 8
    assert paid * COST <= 0.0150
    assert not (tmp_path / "imaps.jsonl").exists()
    done = imapeval(*command, "--max-cost", "0.03")
    assert done.returncode == 0, done.stderr
    assert server.asked == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "more", "usage_file", "calls"),
    [
        (["score"], ["--metrics", "imapscore:paper", "--relations", "graph", "--out", "run"], "run/usage.json", 3),
        (["extract"], ["--out", "out.jsonl"], "out.jsonl.usage.json", 3),
        (["study", "paraphrase"], ["--out", "out.jsonl"], "out.jsonl.usage.json", 1),
        (
            ["study", "repeat"],
            ["--votes", "2", "--metrics", "imapscore:paper", "--relations", "graph"],
            "cache/repeat-*.usage.json",
            6,
        ),
    ],
)
def test_kills_hide_nothing_of_what_was_paid(
    command: list[str],
    more: list[str],
    usage_file: str,
    calls: int,
    imapeval: Command,
    write_data: WriteData,
    tmp_path: Path,
    server: Server,
    options: list[str],
    imapeval_process: Process,
):
    # 90 calls: 40 before the last kill, and at most 16 more within the limit.
    samples = [
        Sample(str(n), f"What helps against pain {n}?", (f"Rest {n}.",), "Rest at home" + "!" * n)
        for n in range(90 // calls)
    ]
    full = [*command, write_data(samples), *more, "--json", "--price", "1,4", *options]
    server.seconds = 0.05
    kills = 2
    for kill in range(1, kills + 1):
        kill_after(20 * kill, server, imapeval_process(*full))
        (file,) = tmp_path.glob(usage_file)
        told = json.loads(file.read_text())
        check_told(told, server)
        assert told["prompt_tokens"] >= (server.asked - 2 * kill) * PROMPT_TOKENS
    # The limit is that of all sessions together.
    stopped = server.asked
    limit = told["usd"] + told["uncertain_usd"] + BOUND + 3 * COST
    done = imapeval(*full, "--max-cost", str(limit))
    assert done.returncode == 2, done.stderr
    assert stopped + 3 <= server.asked <= limit / COST
    done = imapeval(*full)
    assert done.returncode == 0, done.stderr
    usage = json.loads(done.stdout)["usage"]
    assert calls * len(samples) <= server.asked <= calls * len(samples) + 2 * kills
    check_told(usage, server)
    assert usage["usd"] >= (server.asked - 2 * kills) * COST - 1e-9
    # That of a run stays.
    assert file.exists() == (command == ["score"])


def test_an_interrupted_extraction_keeps_its_usage_private(
    imapeval: Command, write_data: WriteData, tmp_path: Path, options: list[str]
):
    command = ["extract", write_data(SAMPLES), "--out", "new/imaps.jsonl", "--price", "1,4", *options]
    assert imapeval(*command, "--max-cost", "0.0150").returncode == 2
    assert (tmp_path / "new/imaps.jsonl.usage.json").stat().st_mode & 0o077 == 0
    (tmp_path / "new/imaps.jsonl.usage.json").write_text("{")
    failed = imapeval(*command)
    assert failed.returncode == 2
    assert "imaps.jsonl.usage.json" in failed.stderr


@pytest.mark.slow
def test_two_extractions_to_one_file_at_once(
    write_data: WriteData,
    server: Server,
    options: list[str],
    imapeval_process: Process,
):
    command = ["extract", write_data(SAMPLES), "--out", "imaps.jsonl", *options]
    server.seconds = 1
    with imapeval_process(*command) as first:
        while not server.asked and first.poll() is None:
            time.sleep(0.01)
        with imapeval_process(*command) as second:
            said = second.communicate(timeout=60)[1]
        assert second.returncode == 2
        assert "imaps.jsonl" in said
        first.communicate(timeout=60)
        assert first.returncode == 0


@pytest.mark.parametrize("where", ["file", "option"])
def test_the_command_to_go_on_names_the_limit_to_raise(
    imapeval: Command,
    write_data: WriteData,
    tmp_path: Path,
    options: list[str],
    where: str,
    monkeypatch: pytest.MonkeyPatch,
):
    command = ["score", write_data(SAMPLES), "--metrics", "imapscore", "--out", "run", "--price", "1,4", *options]
    if where == "file":
        (tmp_path / "imapeval.toml").write_text("max-cost = 0.0150\n")
    else:
        command += ["--max-cost", "0.0150"]
    monkeypatch.setattr(sys, "argv", ["imapeval", *map(str, command)])
    done = imapeval(*command)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert "To resume: imapeval score" in said
    assert said.endswith("--max-cost MORE")


@pytest.mark.usefixtures("apart")
def test_an_account_without_credit_needs_no_higher_limit(
    imapeval: Command, write_data: WriteData, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    empty = serve(lambda _: (402, {"error": {"message": "Insufficient credits"}}))
    command = ["score", write_data(SAMPLES), "--metrics", "imapscore", "--out", "run", "--price", "1,4"]
    command += ["--max-cost", "5", "--llm", "openai:m", "--base-url", empty.url]
    monkeypatch.setattr(sys, "argv", ["imapeval", *map(str, command)])
    done = imapeval(*command)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert "To resume: imapeval score" in said
    assert "MORE" not in said


def test_a_budget_needs_a_price(imapeval: Command, write_data: WriteData, server: Server, options: list[str]):
    failed = imapeval("score", write_data(SAMPLES), "--max-cost", "1", *options)
    assert failed.returncode == 2
    assert "--price" in failed.stderr
    assert server.asked == 0


@pytest.mark.parametrize("option", ["--price", "--max-cost"])
def test_money_needs_a_model(imapeval: Command, write_data: WriteData, option: str):
    failed = imapeval("score", write_data(SAMPLES), option, "1")
    assert failed.returncode == 2
    assert option in failed.stderr
