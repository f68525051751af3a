"""What a study costs: `python benchmarks/study.py [--answers 100000] [--metrics 10]`.

Prints seconds (on the clock and of processor time) and peak memory of the study that `imapeval study report` computes,
of its page and of its tables, on two made-up studies: one like the public imapScore benchmark (400 answers, 4 systems,
54 metrics, 3 dimensions) and one of 100,000 answers, 4 systems, 30 metrics, 3 dimensions; 2,000 resamples, at every
level. The systems answer the same questions.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from imapeval.report.study.page import write_study
from imapeval.report.study.tables import write_tables
from imapeval.study.data.rated import Rated
from imapeval.study.summary.compute import compute_study

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

SYSTEMS = 4


def make(answers: int, metrics: int, *, dimensions: int = 3) -> Rated:
    """Return answers whose scores and ratings have quality in common; ratings are graded 0, .5 ... 5."""
    generator = np.random.default_rng(0)
    each = answers // SYSTEMS
    questions, system = np.tile(np.arange(each), SYSTEMS), np.repeat(np.arange(SYSTEMS), each)
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
    parser.add_argument("--answers", type=int, nargs="+", default=[400, 100_000])
    parser.add_argument("--metrics", type=int, default=None, help="of both studies; default: 54 and 30")
    args = parser.parse_args()
    print("| answers | metrics | part | seconds | processor seconds | peak MB so far |", "|---" * 6 + "|", sep="\n")
    for answers in args.answers:
        rated = make(answers, args.metrics or (54 if answers <= 1000 else 30))
        with tempfile.TemporaryDirectory() as folder:
            study = measure("study", rated, lambda rated=rated: compute_study(rated, title="made up", signatures={}))
            page, tables = Path(folder) / "study.html", Path(folder) / "tables"
            measure("page", rated, lambda study=study, page=page: write_study(study, page))
            measure("tables", rated, lambda study=study, tables=tables: write_tables(study, tables))


if __name__ == "__main__":
    main()
