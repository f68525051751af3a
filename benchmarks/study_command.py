"""What `imapeval study report` costs, from files to page: `python benchmarks/study_command.py [--raters 3]`.

Writes a run of 100,000 made-up answers (those of `benchmarks/study.py`, with texts of some 600 characters) by four
systems with ten metrics, and their ratings in three dimensions: averages or, with --raters, one row per rater. Then the
command reads them and writes its page and tables, in a process of its own on one core. Prints its seconds on the clock
and of processor time, and its peak memory.

With --sensitivity, the command is `imapeval study sensitivity`, on two metrics, two dimensions and three raters.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from study import make

from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.types import Sample, Score

if TYPE_CHECKING:
    from imapeval.study.data.rated import Rated

WORDS = 100
"""Words of an answer, about 600 characters."""


def write_run(folder: Path, rated: Rated) -> None:
    """Write the run; a score that is missing has no result."""
    signatures = {name: f"{name}|v:1" for name in rated.metrics}
    draw = random.Random(0)
    words = [f"word{number}" for number in range(3_000)]
    texts = [" ".join(draw.choices(words, k=WORDS)) for _ in range(1_000)]
    samples = [
        Sample(id_, f"question {question}", (texts[question % 1_000],), draw.choice(texts), "en", system)
        for id_, question, system in zip(rated.ids, rated.questions.tolist(), rated.systems, strict=True)
    ]
    with RunWriter(folder, samples, settings=RunSettings(signatures)) as writer:
        for name, column in zip(rated.metrics, rated.scores.T, strict=True):
            scores = zip(rated.ids, column.tolist(), strict=True)
            results = [Result(id_, name, Score(score), signatures[name]) for id_, score in scores if np.isfinite(score)]
            writer.add(imaps=[], results=results)
        writer.finish()


def write_ratings(path: Path, rated: Rated, raters: int) -> None:
    """Write the ratings: averages for no raters, else those of raters who err by half a point now and then."""
    generator = np.random.default_rng(1)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", *(["rater"] if raters else []), *rated.dimensions])
        for rater in range(max(1, raters)):
            given = rated.ratings
            if raters:
                given = np.clip(given + generator.integers(-1, 2, given.shape) / 2, 0, 5)
            names = [f"rater {rater}"] if raters else []
            rows.writerows([id_, *names, *row] for id_, row in zip(rated.ids, given.tolist(), strict=True))


def main() -> None:
    """Write the files, run the command and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--raters", type=int, default=0)
    parser.add_argument("--sensitivity", action="store_true", help="measure `imapeval study sensitivity`")
    args = parser.parse_args()
    metrics, dimensions, raters = (2, 2, 3) if args.sensitivity else (args.metrics, 3, args.raters)
    with tempfile.TemporaryDirectory() as temporary:
        run, ratings = Path(temporary) / "run", Path(temporary) / "ratings.csv"
        rated = make(args.answers, metrics, dimensions=dimensions)
        write_run(run, rated)
        write_ratings(ratings, rated, raters)
        if args.sensitivity:
            first, second = rated.metrics
            which, options = "sensitivity", ["--metric", first, "--against", second]
        else:
            which, options = "report", ["--out", str(Path(temporary) / "study")]
        del rated
        os.sched_setaffinity(0, {0})
        command = [sys.executable, "-m", "imapeval", "study", which, str(run), "--ratings", str(ratings), *options]
        clock = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds, used = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    print("| answers | metrics | raters | seconds | processor seconds | peak MB |\n|---|---|---|---|---|---|")
    cost = f"{seconds:.1f} | {used.ru_utime + used.ru_stime:.1f} | {used.ru_maxrss // 1024}"
    print(f"| {args.answers} | {metrics} | {raters or 'averages'} | {cost} |")


if __name__ == "__main__":
    main()
