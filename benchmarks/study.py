"""What a study costs: `python benchmarks/study.py [--coefficients spearman,kendall_tau_b] [--whole] [--metrics 10]`.

`--sensitivity` measures the command `imapeval study sensitivity` instead, in a process of its own that reads a run and
a ratings file: two metrics, two dimensions, three raters.

Prints seconds (on the clock and of processor time) and peak memory of `imapeval.study.correlation.levels.correlate`, or
with --whole of the whole study, its page and its tables (`imapeval study report`), on two made-up studies: one like the
public imapScore benchmark (400 answers, 4 systems, 54 metrics, 3 dimensions) and one of 100,000 answers, 4 systems, 30
metrics, 3 dimensions; 2,000 resamples, at every level. The systems answer the same questions.
"""

from __future__ import annotations

import argparse
import csv
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.report.study.page import write_study
from imapeval.report.study.tables import write_tables
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.rated import Rated
from imapeval.study.summary.compute import compute_study
from imapeval.types import Sample, Score

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

LEVELS = ("within-system", "global", "within-question", "system")


def make(answers: int, metrics: int, *, systems: int = 4, dimensions: int = 3) -> Rated:
    """Return answers whose scores and ratings have quality in common; ratings are graded 0, .5 ... 5."""
    generator = np.random.default_rng(0)
    each = answers // systems
    questions, system = np.tile(np.arange(each), systems), np.repeat(np.arange(systems), each)
    quality = generator.normal(size=answers) + generator.normal(size=each)[questions] + 0.3 * system
    scores = quality[:, None] + 2 * generator.normal(size=(answers, metrics))
    ratings = np.clip(np.round(2 * (2 + quality[:, None] + generator.normal(size=(answers, dimensions)))) / 2, 0, 5)
    # Two metrics fail now and then: metrics with missing scores cannot share the ranks of the ratings.
    scores[generator.random(answers) < 0.02, :2] = np.nan
    return Rated(
        tuple(map(str, range(answers))),
        questions,
        tuple(f"system {number}" for number in system),
        tuple(f"metric {number}" for number in range(metrics)),
        scores,
        tuple(f"dimension {number}" for number in range(dimensions)),
        ratings,
        facets={"language": tuple("en" if number % 2 else "zh" for number in questions)},
        covariates={"response characters": generator.lognormal(6, 1, answers)},
    )


def measure_whole(rated: Rated) -> None:
    """Print what the study costs, and its page and tables."""
    with tempfile.TemporaryDirectory() as folder:
        study = measure("study", rated, lambda: compute_study(rated, title="made up", signatures={}))
        measure("page", rated, lambda: write_study(study, Path(folder) / "study.html"))
        measure("tables", rated, lambda: write_tables(study, Path(folder) / "tables"))


def measure_sensitivity(rated: Rated) -> None:
    """Print what `imapeval study sensitivity` costs, with three raters who err around the ratings."""
    generator = np.random.default_rng(1)
    signatures = {name: f"{name}|v:1" for name in rated.metrics}
    samples = [
        Sample(id_, f"question {question}", (), "an answer", "en", system)
        for id_, question, system in zip(rated.ids, rated.questions, rated.systems, strict=True)
    ]
    results = [
        Result(id_, name, Score(float(score)), signatures[name])
        for name, column in zip(rated.metrics, rated.scores.T, strict=True)
        for id_, score in zip(rated.ids, column, strict=True)
        if np.isfinite(score)
    ]
    with tempfile.TemporaryDirectory() as folder:
        run, table = Path(folder) / "run", Path(folder) / "ratings.csv"
        with RunWriter(run, samples, settings=RunSettings(signatures)) as writer:
            writer.add(imaps=[], results=results)
            writer.finish()
        with table.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "rater", *rated.dimensions])
            for rater in "abc":
                given = np.clip(rated.ratings + generator.integers(-1, 2, rated.ratings.shape) / 2, 0, 5)
                rows.writerows([id_, rater, *row] for id_, row in zip(rated.ids, given.tolist(), strict=True))
        first, second = rated.metrics
        command = [sys.executable, "-m", "imapeval", "study", "sensitivity", str(run), "--ratings", str(table)]
        clock = time.perf_counter()
        subprocess.run([*command, "--metric", first, "--against", second], check=True, stdout=subprocess.DEVNULL)
        seconds, used = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor, peak = used.ru_utime + used.ru_stime, used.ru_maxrss // 1024
    print(f"| {len(rated.ids)} | {len(rated.metrics)} | sensitivity | {seconds:.1f} | {processor:.1f} | {peak} |")


def measure(part: str, rated: Rated, call: Callable[[], T]) -> T:
    """Call the function, print a line with its cost, and return its result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = call()
    seconds = f"{time.perf_counter() - clock:.1f} | {time.process_time() - processor:.1f}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"| {len(rated.ids)} | {len(rated.metrics)} | {part} | {seconds} | {peak} |", flush=True)
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coefficients", default="spearman,kendall_tau_b")
    parser.add_argument("--answers", type=int, nargs="+", default=[400, 100_000])
    parser.add_argument("--metrics", type=int, default=None, help="of both studies; default: 54 and 30")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--sensitivity", action="store_true")
    args = parser.parse_args()
    if args.whole or args.sensitivity:
        print(
            "| answers | metrics | part | seconds | processor seconds | peak MB so far |",
            "|---|---|---|---|---|---|",
            sep="\n",
        )
        for answers in args.answers:
            if args.sensitivity:
                measure_sensitivity(make(answers, 2, dimensions=2))
                continue
            measure_whole(make(answers, args.metrics or (54 if answers <= 1000 else 30)))
        return
    print("| answers | metrics | level | coefficient | seconds | processor seconds | peak MB so far |")
    print("|---|---|---|---|---|---|---|")
    for answers in args.answers:
        rated = make(answers, args.metrics or (54 if answers <= 1000 else 30))
        for level in LEVELS:
            for name in args.coefficients.split(","):
                clock, processor = time.perf_counter(), time.process_time()
                correlate(rated, levels=(level,), coefficients=(name,))
                seconds = f"{time.perf_counter() - clock:.1f} | {time.process_time() - processor:.1f}"
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                print(f"| {answers} | {len(rated.metrics)} | {level} | {name} | {seconds} | {peak} |", flush=True)


if __name__ == "__main__":
    main()
