"""How fast scoring is beside the libraries called by hand: `python benchmarks/speed.py DATA`.

Prints, from one run on one machine, the wall time of the lexical metrics through imapeval as a ratio to rouge-score
and sacrebleu called well by hand on the same rows (scorer objects reused), and the time of `imapeval score` with all
default metrics. Ratios, because machines differ and are noisy.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.metrics.base import Case
from imapeval.metrics.registry import get
from imapeval.samples import read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.types import Sample

ROUNDS = 3


def best_of(work: Callable[[], object]) -> float:
    """Return the shortest wall time of some rounds, in seconds."""
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def rouge_by_hand(samples: Sequence[Sample]) -> None:
    """Compute ROUGE-1, -2 and -L of English samples with rouge-score."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    for sample in samples:
        scorer.score(sample.references[0], sample.response)


def bleu_by_hand(samples: Sequence[Sample]) -> None:
    """Compute sentence BLEU of English samples with one sacrebleu object."""
    from sacrebleu.metrics import BLEU

    bleu = BLEU(effective_order=True)
    for sample in samples:
        bleu.sentence_score(sample.response, list(sample.references))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data: Path = parser.parse_args().data
    samples = [sample for sample in read(data) if sample.lang == "en"]
    cases = [Case(s.id, s.question, s.references[0], s.response, s.lang) for s in samples]
    for label, names, by_hand in (
        ("rouge1+2+L / rouge-score", ("rouge1", "rouge2", "rougeL"), rouge_by_hand),
        ("bleu / sacrebleu", ("bleu",), bleu_by_hand),
    ):
        metrics = [get(name) for name in names]
        ours = best_of(lambda metrics=metrics: [metric.score(cases) for metric in metrics])
        theirs = best_of(lambda by_hand=by_hand: by_hand(samples))
        print(f"{label}: {ours / theirs:.2f} ({len(cases)} English answers, {ours:.2f} s / {theirs:.2f} s)")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        command = [sys.executable, "-m", "imapeval.cli.main", "score", str(data), "--out", f"{folder}/run"]
        subprocess.run(command, check=True, capture_output=True)
        print(f"imapeval score, default metrics, all {len(read(data))} answers: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
