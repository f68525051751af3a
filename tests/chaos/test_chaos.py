"""Two runs share a cache while the server fails and hangs, processes are killed, and both of their disks fill up.

A seed decides what fails. IMAPEVAL_CHAOS_SEEDS=10 runs the test with ten seeds; each takes about two minutes.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from random import Random

import pytest

from imapeval.evaluation.evaluate import BATCH
from imapeval.evaluation.runs import Run
from imapeval.llm.middleware.budget import format_report

SEEDS = range(int(os.environ.get("IMAPEVAL_CHAOS_SEEDS", "1")))
SAMPLES = BATCH + 2
"""A batch for each of two workers."""
VOTES = 2
CONCURRENCY = 12
ROUNDS = 5
FULL_CACHE_ROUND = 1
"""In this round the disk of the cache fills up; in the next one it is freed again."""
HANGING_ROUND = 3
"""In this round the server rejects the key of one command and then hangs, and costs are no longer limited."""
FULL_RESULTS_ROUND = 4
"""In this round the disk of the results fills up, which ends the commands; then it is freed again."""
DISK_BYTES = 48_000_000
API_KEY = "sk-chaos-"
"""Prefix of all API keys; the rest names the run and the process, so that the server knows who asks."""
POLITE = [signal.SIGTERM, signal.SIGHUP]
EXIT_CODES = {0, 1, 2, -signal.SIGKILL, *(128 + number for number in POLITE), *(-number for number in POLITE)}
SCORE_FILES = ["results.jsonl", "results.csv", "imaps.jsonl"]
RUN_FILES = [*SCORE_FILES, "manifest.json", "samples.jsonl", "report.html", "usage.json"]


class Disk:
    """The disk of a folder.

    Args:
        folder: The folder.
        mounted: Whether it is a disk of its own. Else it never fills up.

    Attributes:
        full_since, full_until: Monotonic times; infinite until they are known.
    """

    def __init__(self, folder: Path, *, mounted: bool = False) -> None:
        self.folder = folder
        self.mounted = mounted
        self.full_since = self.full_until = float("inf")

    @property
    def full(self) -> bool:
        return self.full_since < self.full_until == float("inf")

    def fill(self) -> None:
        self.full_since = time.monotonic()
        with (self.folder / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass

    def free(self) -> None:
        (self.folder / "filler").unlink()
        self.full_until = time.monotonic()

    def had_room_for(self, reply) -> bool:
        """Return False for a completion that may not have been kept, or asked for twice, because the disk was full."""
        # What is sent a moment before the disk is full may be written a moment after.
        return reply.sent < self.full_since - 2 or reply.begun > self.full_until


def read_reply_numbers(cache: Path) -> set[str]:
    """Return the numbers of the replies whose completions are in the cache."""
    path = cache / "completions.sqlite"
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'completion'").fetchall()
        # A process may be killed before it has made the table.
        rows = connection.execute("SELECT completion FROM completion").fetchall() if tables else []
    return {json.loads(completion)["model"] for (completion,) in rows}


class ScoreCommand:
    """`imapeval score`, interrupted and repeated.

    Args:
        data: The samples.
        server: The model's server.
        cache: The disk of the cache.
        results: The disk of the run.
        workers: Number of processes that score.

    Attributes:
        run: The run directory.
        workers: Number of processes that score.
        api_key: Of the current process.
        max_cost: USD.
        exit_code: Of the last process.
        lost: Requests whose useful reply did not reach the cache because the process was killed.
    """

    def __init__(self, data: Path, server, cache: Disk, results: Disk, *, workers: int = 1) -> None:
        self.run = results.folder / data.stem
        self.workers = workers
        self.max_cost = 1.0
        self.exit_code: int | None = None
        self.lost: Counter[str] = Counter()
        self._data = data
        self._server = server
        self._cache = cache
        self._results = results
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0
        self._untold_tokens = 0

    @property
    def api_keys(self) -> str:
        return f"{API_KEY}{self.run.name}-"

    def start(self) -> None:
        self._starts += 1
        self.api_key = f"{self.api_keys}{self._starts:03}"
        self._stderr = self._data.with_name(f"{self.api_key}.txt")
        self._started_on_full_cache = self._cache.full
        self._previous_calls = self.read_usage()["calls"]
        command = [
            *(sys.executable, "-m", "imapeval", "score", str(self._data), "--out", str(self.run)),
            *("--metrics", "imapscore:paper,imapscore:mean", "--votes", str(VOTES), "--relations", "llm"),
            *("--llm", "openai:m", "--base-url", self._server.url, "--concurrency", str(CONCURRENCY)),
            # USD per million tokens.
            *("--price", "1,1", "--max-cost", f"{self.max_cost:.6f}", "--max-failures", "0"),
            *("--workers", str(self.workers)),
        ]
        environment = {**os.environ, "IMAPEVAL_CACHE": str(self._cache.folder), "OPENAI_API_KEY": self.api_key}
        with self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def ready(self) -> bool:
        """Whether the process has had a completion, from the server or the cache, or has ended."""
        return not self.running or self.read_usage()["calls"] > self._previous_calls

    @property
    def stopping(self) -> bool:
        """Whether the process has noticed a first signal, or has ended."""
        return not self.running or "Ctrl-C again" in self._stderr.read_text()

    def note_full_cache(self) -> None:
        """The disk of the cache is full: a process that has asked for nothing yet may end for that reason."""
        self._started_on_full_cache |= not self._server.replies_to(self.api_key)

    def send(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def kill_worker(self, random: Random) -> bool:
        """Kill one of the processes that score for the first one; return whether there is one."""
        found: list[int] = []
        for path in Path(f"/proc/{self._process.pid if self._process else 0}/task").glob("*/children"):
            with suppress(OSError):  # of a thread or process that has just ended
                found += [
                    child
                    for child in map(int, path.read_text().split())
                    if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
                ]
        if found:
            with suppress(ProcessLookupError):
                os.kill(random.choice(found), signal.SIGKILL)
        return bool(found)

    def finish(self, *, killed: bool = False) -> None:
        """Wait for the process, then compare the usage it reported and the cache with what the server sent.

        Args:
            killed: Whether it was made to drop its requests in flight.
        """
        if self._process is None:
            return
        self.exit_code = self._process.wait(600)
        self._process = None
        while self._server.in_flight[self.api_key]:
            time.sleep(0.005)
        stderr = self._stderr.read_text()
        assert self.exit_code in EXIT_CODES
        assert "Traceback" not in stderr
        assert API_KEY not in stderr
        if self.exit_code == 2:
            # A redirect ends a run only where nothing else has been answered: the address may be wrong.
            reasons = ["--max-cost MORE", "(status 307)", "(status 401", *[str(self.run)] * self._results.full]
            assert self._started_on_full_cache or any(reason in stderr for reason in reasons), stderr
        self._check_usage(most_lost=CONCURRENCY * killed)
        if "--max-cost MORE" in stderr:
            self.max_cost *= 1.5
        # SQLite cannot open the file on a full disk, and what is sent meanwhile may be lost anyway.
        if not self._cache.full:
            self._check_cache(most_lost=CONCURRENCY * killed)

    def read_usage(self) -> dict:
        with suppress(FileNotFoundError, json.JSONDecodeError):
            return json.loads((self.run / "usage.json").read_text())
        return {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "estimated": 0, "usd": 0, "uncertain_usd": 0}

    def _check_usage(self, most_lost: int) -> None:
        replies = self._server.replies_to(self.api_keys)
        usage = self.read_usage()
        billed = sum(reply.tokens for reply in replies)
        untold = billed - usage["prompt_tokens"] - usage["completion_tokens"]
        largest = max((reply.tokens for reply in replies), default=0)
        assert 0 <= untold - self._untold_tokens <= most_lost * largest
        self._untold_tokens = untold
        assert usage["estimated"] == 0
        # At USD 1 per million tokens: what may have been billed is told, and is within the limit.
        assert billed / 1e6 <= usage["usd"] + usage["uncertain_usd"] + 1e-9
        assert usage["usd"] + usage["uncertain_usd"] <= self.max_cost + 1e-9

    def _check_cache(self, most_lost: int) -> None:
        kept = read_reply_numbers(self._cache.folder)
        useful = [reply for reply in self._server.replies_to(self.api_key) if reply.useful]
        lost = [reply.request for reply in useful if self._cache.had_room_for(reply) and reply.number not in kept]
        assert len(lost) <= most_lost
        self.lost.update(lost)


def interrupt_repeatedly(commands: list[ScoreCommand], server, cache: Disk, results: Disk, random: Random) -> None:
    """Interrupt and repeat the commands, while the server fails.

    In the first round there are no faults until each command has had a completion, and the server stays slow, so that
    requests of all commands are in flight when these are interrupted.
    """
    for number in range(ROUNDS):
        # Slow until all have started, so that one process does not do all the work.
        server.full_speed.clear()
        for command in commands:
            if number == HANGING_ROUND:
                command.send(signal.SIGKILL)
                command.finish(killed=True)
                command.max_cost = 1.0
            if not command.running:
                command.finish()
                if command.exit_code != 0:
                    command.start()
        at_any_moment = number == FULL_CACHE_ROUND + 1 and random.random() < 0.5
        if at_any_moment:
            time.sleep(random.uniform(0, 2))
        else:
            wait_until(lambda: all(command.ready for command in commands), "a completion for each process")
        assert number or all(command.running for command in commands), "a process ended in the first round"
        server.faults = True
        if number == HANGING_ROUND:
            reject_one(commands, server)
            hang(commands, server)
        elif number == FULL_RESULTS_ROUND and results.mounted:
            fill_results(commands, server, results)
        else:
            if number == FULL_CACHE_ROUND and cache.mounted:
                cache.fill()
                for command in commands:
                    command.note_full_cache()
            # Some replies later.
            if number:
                server.full_speed.set()
                awaited, deadline = len(server.replies) + random.randint(1, 50), time.monotonic() + 5
                while (
                    len(server.replies) < awaited and any(c.running for c in commands) and time.monotonic() < deadline
                ):
                    time.sleep(0.005)
            time.sleep(random.uniform(0, 0.1))
            if cache.full and number > FULL_CACHE_ROUND:
                cache.free()
            # Slow, so that requests in flight still are when their process is killed.
            server.full_speed.clear()
            victims = random.choice([commands, commands, commands[:1], commands[1:]]) if number else commands
            interrupt(victims, server, random, in_flight=not at_any_moment)


def interrupt(victims: list[ScoreCommand], server, random: Random, *, in_flight: bool) -> None:
    """Kill or interrupt commands, with requests in flight if so asked."""
    for command in victims:
        if in_flight:
            wait_until(lambda c=command: server.in_flight[c.api_key] or not c.running, "a request of a process")
        if command.workers > 1 and random.random() < 0.5 and command.kill_worker(random):
            print(f"{len(server.replies)} replies; a worker of {command.api_key}")
        elif command.running:
            how = random.choice([signal.SIGKILL, signal.SIGKILL, *POLITE])
            twice = how in POLITE and random.random() < 0.5
            command.send(how)
            if twice:
                time.sleep(random.uniform(0, 0.2))
                command.send(how)
            print(f"{len(server.replies)} replies; {how.name}{' twice' * twice} for {command.api_key}")
            command.finish(killed=twice or how == signal.SIGKILL)


def reject_one(commands: list[ScoreCommand], server) -> None:
    """Reject the key of the command that sends the next request, which ends it."""
    server.rejecting = True
    wait_until(lambda: not server.rejecting, "a request")
    (command,) = (command for command in commands if command.api_key == server.rejected)
    print(f"{len(server.replies)} replies; status 401 for {command.api_key}")
    command.finish()
    assert command.exit_code == 2


def hang(commands: list[ScoreCommand], server) -> None:
    """Let the server hang. Commands end at a second signal, although nothing is answered."""
    for command in commands:
        wait_until(lambda c=command: server.in_flight[c.api_key] or not c.running, "a request of a process")
    server.answering.clear()
    hung = [command for command in commands if command.running]
    assert hung
    for command in hung:
        print(f"{len(server.replies)} replies; SIGTERM twice for {command.api_key}")
        command.send(signal.SIGTERM)
        wait_until(lambda c=command: c.stopping, "the notice of a process that ends")
        command.send(signal.SIGTERM)
        wait_until(lambda c=command: not c.running, "the end of a process")
    server.answering.set()
    for command in hung:
        command.finish(killed=True)


def fill_results(commands: list[ScoreCommand], server, results: Disk) -> None:
    """Fill the disk of the results, which ends the commands; what was in flight is counted and kept in the cache."""
    results.fill()
    print(f"{len(server.replies)} replies; the disk of the results is full")
    server.full_speed.set()
    for command in commands:
        command.finish()
        assert command.exit_code == 2
    results.free()


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that comes within seconds, or minutes on a busy machine; fail if it does not."""
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline, f"waited three minutes for {what}"
        time.sleep(0.005)


def write_samples(path: Path, numbers: list[int]) -> None:
    with path.open("w") as file:
        for n in numbers:
            a, b, c, d, e, f = (f"drug{n}{letter}" for letter in "abcdef")
            sample = {
                "id": str(n),
                "question": f"How is case {n} treated?",
                "reference": f"Take {a}, {b}, {c} and {d}.",
                "response": f"Take {b}, {c} and {e}, or {f}.",
            }
            file.write(json.dumps(sample) + "\n")


def read_scores(run: Path) -> list[list[bytes]]:
    return [sorted((run / name).read_bytes().splitlines()) for name in SCORE_FILES]


def check_file(path: Path) -> None:
    assert path.stat().st_mode & 0o077 == 0
    assert API_KEY.encode() not in path.read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
@pytest.mark.parametrize("seed", SEEDS)
def test_chaos(seed: int, tmp_path: Path, mount_disk: Callable[..., Path], start_server: Callable) -> None:
    """The scores stay the same, nothing is paid for twice, and all usage is reported."""
    random = Random(seed)
    names = ("cache", "results")
    try:
        cache, results = (Disk(mount_disk(DISK_BYTES, name), mounted=True) for name in names)
    except pytest.skip.Exception:  # only root can mount one
        cache, results = (Disk(tmp_path / f"{name}-folder") for name in names)
    numbers = list(range(SAMPLES))
    for name, order in (("calm", numbers), ("a", numbers), ("b", random.sample(numbers, SAMPLES))):
        write_samples(tmp_path / f"{name}.jsonl", order)
    server = start_server(seed)
    server.full_speed.set()
    calm = ScoreCommand(tmp_path / "calm.jsonl", server, Disk(tmp_path / "calm-cache"), Disk(tmp_path))
    one = ScoreCommand(tmp_path / "a.jsonl", server, cache, results)
    several = ScoreCommand(tmp_path / "b.jsonl", server, cache, results, workers=2)
    commands = [one, several]
    with ExitStack() as stack:
        stack.callback(server.answering.set)
        for command in (calm, *commands):
            stack.callback(command.send, signal.SIGKILL)
        calm.start()
        calm.finish()
        assert calm.exit_code == 0
        # Of each sample three texts are read, and at most one comparison is made for each reading.
        assert VOTES * 3 * SAMPLES < len(server.replies) <= VOTES * 4 * SAMPLES
        assert set(server.requests.values()) == {1}

        for command in commands:
            command.max_cost = calm.read_usage()["usd"] / 5
        interrupt_repeatedly(commands, server, cache, results, random)
        server.faults = False
        for command in commands:
            command.send(signal.SIGKILL)
            command.finish(killed=True)
            command.max_cost = 1.0
            command.start()
        for command in commands:
            command.finish()
            assert command.exit_code == 0

    check_end(calm, commands, server, cache)


def check_end(calm: ScoreCommand, commands: list[ScoreCommand], server, cache: Disk) -> None:
    """Compare scores, files, usage and requests of finished commands with those of an undisturbed one."""
    assert server.paths == {"/v1/chat/completions"}
    for command in commands:
        assert read_scores(command.run) == read_scores(calm.run)
        assert {path.name for path in command.run.iterdir()} == {*RUN_FILES, ".lock"}
        for name in RUN_FILES:
            check_file(command.run / name)
        assert Run(command.run).manifest["usage"] == command.read_usage()
        assert format_report(command.read_usage()) in (command.run / "report.html").read_text()
    for path in cache.folder.glob("completions.sqlite*"):
        check_file(path)

    replies = [reply for command in commands for reply in server.replies_to(command.api_keys)]
    # Beyond what the calm run asks, there is at most one more request for each useless reply: with a note of the fault.
    useless = [reply for reply in replies if not reply.useful and reply.tokens]
    assert len(server.requests) <= len(server.replies_to(calm.api_keys)) + len(useless)
    # A request with a useful reply is repeated only where the reply was lost with its process, or on the full disk.
    useful = Counter(reply.request for reply in replies if reply.useful)
    not_kept = Counter(reply.request for reply in replies if reply.useful and not cache.had_room_for(reply))
    repeated = useful - Counter([*useful]) - not_kept - sum((command.lost for command in commands), Counter())
    assert not [reply for reply in replies if reply.request in repeated], vars(cache)
