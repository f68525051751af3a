"""The cost of killed processes: `python benchmarks/worker_kills.py [--engine ray] [--samples 20000] [--kills 20]`.

Scores samples with a language model (`stub.py`, replies after 20 ms) in two workers, and kills a worker and the first
process in turn, at random moments after the first request; each time the first process ends, the same command is run
again, until the run is complete. Then one process scores the same samples without a kill. Prints whether the outcomes
are equal, and how many requests were sent more than once: at most those in flight at the kills, IN_FLIGHT of the first
process and half of them of a worker.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from throughput import IN_FLIGHT, calls_of, stub_server, write_samples

from imapeval.evaluation.runs import Run

if TYPE_CHECKING:
    from imapeval.types import Outcome


MARKS = (b"spawn_main", b"ray::BatchScorer")
"""Text by which the command line of a worker is recognised, ours and Ray's."""


def count_in_flight(workers: int, firsts: int) -> int:
    """Return how many requests were in flight at most when so many workers and first processes were killed."""
    return firsts * IN_FLIGHT + workers * IN_FLIGHT // 2


def find_workers(pid: int) -> list[int]:
    """Return the processes that score, among all descendants of a process."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in map(int, path.read_text().split()):
                line = Path(f"/proc/{child}/cmdline").read_bytes()
                found += [child] if any(mark in line for mark in MARKS) else find_workers(child)
        except OSError:
            continue  # it has just ended
    return found


def run_with_kills(command: list[str], url: str, *, kills: int, every: float, env: dict[str, str]) -> tuple[int, int]:
    """Run the command until the run is complete; return how many workers and first processes were killed."""
    chance = random.Random(0)
    workers = firsts = 0
    while True:
        before = calls_of(url)
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
        while process.poll() is None:
            if workers + firsts == kills:
                process.wait()
                continue
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.5, 1.5) * every)
            while process.poll() is None and calls_of(url) == before:
                time.sleep(0.1)
            if process.poll() is not None:
                continue
            if workers > firsts:
                process.kill()
                firsts += 1
            elif alive := find_workers(process.pid):
                os.kill(chance.choice(alive), signal.SIGKILL)
                workers += 1
        if process.returncode == 0:
            return workers, firsts
        if process.returncode != -signal.SIGKILL:
            sys.exit(f"exit code {process.returncode}")


def outcomes(folder: Path) -> dict[tuple[str, str], Outcome]:
    """Return the outcomes of a run by sample and metric."""
    results = Run(folder).results()
    found = {(result.id, result.metric): result.outcome for result in results}
    if len(found) != len(results):
        sys.exit(f"{folder} has {len(results) - len(found)} results twice")
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["ray"])
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--every", type=float, default=20.0, help="mean seconds between two kills")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, stub_server(0.02) as url:
        work = Path(folder)
        write_samples(work / "samples.jsonl", args.samples)
        command = [
            sys.executable,
            "-m",
            "imapeval",
            "score",
            str(work / "samples.jsonl"),
            "--metrics",
            "imapscore,rouge1",
        ]
        command += ["--llm", "openai:stub", "--base-url", url, "--out"]
        engine = ["--engine", args.engine] if args.engine else []
        start = time.perf_counter()
        workers, firsts = run_with_kills(
            [*command, str(work / "killed"), "--workers", "2", *engine],
            url,
            kills=args.kills,
            every=args.every,
            env=os.environ | {"IMAPEVAL_CACHE": str(work / "a")},
        )
        seconds, calls = time.perf_counter() - start, calls_of(url)
        subprocess.run(
            [*command, str(work / "plain")],
            env=os.environ | {"IMAPEVAL_CACHE": str(work / "b")},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        needed = calls_of(url) - calls
        equal = outcomes(work / "killed") == outcomes(work / "plain")
        print(f"{args.samples} samples, {workers} workers and {firsts} first processes killed, {seconds:.0f} s")
        print(f"outcomes {'equal' if equal else 'DIFFER'}; {needed} requests, {calls - needed} of them sent again")
        if not equal or calls - needed > count_in_flight(workers, firsts):
            sys.exit(1)


if __name__ == "__main__":
    main()
