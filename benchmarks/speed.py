"""How fast scoring is compared with direct calls of the libraries: `python benchmarks/speed.py DATA`.

Prints, from one run on one machine, the CPU time of the lexical metrics through imapeval and of rouge-score and
sacrebleu called directly and efficiently on the same rows (scorer objects reused, all kinds of ROUGE in one call). The
English answers of DATA are repeated until there are enough, each time with another number after both texts, so that no
text occurs twice. Results are also given as ratios, because machines differ.

With `--processes`, instead compares `imapeval score` in one process and with `--workers 2`, in turn, by processor time:
two workers on idle processors take as long as the first process and the busier worker together, whatever else the
machine does meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.evaluation.evaluate import BATCH
from imapeval.evaluation.samples import read
from imapeval.metrics.base import Case
from imapeval.metrics.registry import get

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.types import Sample

ROUGE = ("rouge1", "rouge2", "rougeL")


def measure(work: Callable[[], object]) -> float:
    """Return the processor time of some work, in seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def repeat(samples: Sequence[Sample], answers: int, *, mark: str) -> list[Case]:
    """Return as many different cases; another mark gives texts that no cache holds yet."""
    return [
        Case(s.id, s.question, f"{s.references[0]} {mark}{n}", f"{s.response} {mark}{n}", s.lang)
        for n, s in enumerate(islice(cycle(samples), answers))
    ]


def score(names: Sequence[str], cases: Sequence[Case]) -> None:
    """Score as `evaluate` does: batch by batch, in each all metrics."""
    metrics = [get(name) for name in names]
    for start in range(0, len(cases), BATCH):
        for metric in metrics:
            metric.score_batch(cases[start : start + BATCH])


def rouge_by_hand(cases: Sequence[Case]) -> None:
    """Compute ROUGE with one rouge-score object."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(ROUGE), use_stemmer=True)
    for case in cases:
        scorer.score(case.reference, case.response)


def bleu_by_hand(cases: Sequence[Case]) -> None:
    """Compute sentence BLEU with one sacrebleu object."""
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(effective_order=True)
    for case in cases:
        bleu.sentence_score(case.response, [case.reference])


def find_times(pid: int) -> dict[int, float]:
    """Return the processor seconds of a process and its descendants, as far as they still run (Linux)."""
    found: dict[int, float] = {}
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        found[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, path.read_text().split()):
                found |= find_times(child)
    except OSError:
        pass  # it has just ended
    return found


def compare_processes(samples: Sequence[Sample], answers: int, rounds: int) -> None:
    """Print the processor time of one process, and of a first process with two workers."""
    print("| processes | first process, s | busier worker, s | of linear |", "|---|---|---|---|", sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        with data.open("w", encoding="utf-8") as file:
            for case in repeat(samples, answers, mark="n"):
                row = {"question": case.question, "reference": case.reference, "response": case.response}
                file.write(json.dumps(row) + "\n")
        command = [sys.executable, "-m", "imapeval", "score", str(data), "--metrics", "imapscore,rouge1", "--workers"]
        ratios: list[float] = []
        for number in range(rounds):
            totals: list[float] = []
            for workers in (1, 2):
                out = ["--out", f"{folder}/run{number}-{workers}"]
                process = subprocess.Popen([*command, str(workers), *out], stdout=subprocess.DEVNULL)
                times: dict[int, float] = {}
                while process.poll() is None:
                    times |= find_times(process.pid)
                    time.sleep(0.05)
                if process.returncode:
                    sys.exit(f"exit code {process.returncode}")
                first, worker = times.pop(process.pid), max(times.values(), default=0.0)
                totals.append(first + worker)
                shown = f"{totals[0] / 2 / totals[1]:.0%}" if workers == 2 else ""
                print(f"| {workers} | {first:.1f} | {worker:.1f} | {shown} |", flush=True)
            ratios.append(totals[0] / 2 / totals[1])
    print("", f"of linear, the median: {statistics.median(ratios):.0%}", sep="\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--processes", action="store_true", help="compare one process with two workers")
    parser.add_argument("--rounds", type=int, default=3, help="of --processes")
    args = parser.parse_args()
    samples = [sample for sample in read(args.data) if sample.lang == "en"]
    if args.processes:
        compare_processes(samples, args.answers, args.rounds)
        return
    print(f"{args.answers} English answers, processor time, answers a second:", "", sep="\n")
    print("| metrics | imapeval | by hand | ratio |", "|---|---|---|---|", sep="\n")
    for names, by_hand in ((ROUGE, rouge_by_hand), (("bleu",), bleu_by_hand)):
        score(names, repeat(samples, 1, mark="warm"))
        by_hand(repeat(samples, 1, mark="warm"))
        ours, theirs = (repeat(samples, args.answers, mark=mark + names[-1]) for mark in ("o", "t"))
        here = measure(lambda names=names, ours=ours: score(names, ours))
        there = measure(lambda theirs=theirs, by_hand=by_hand: by_hand(theirs))
        rates = f"{args.answers / here:,.0f} | {args.answers / there:,.0f} | {there / here:.1f}"
        print(f"| {', '.join(names)} | {rates} |", flush=True)


if __name__ == "__main__":
    main()
