"""How often 95% intervals hold the truth: `python benchmarks/coverage.py [--repetitions 1000] [--workers 2]`.

Draws data with a known rank correlation again and again, computes the intervals of
`imapeval.study.correlation.levels.correlate`, and prints as a Markdown table the share of intervals that hold the true
coefficient. Scores and ratings have a bivariate normal distribution; "graded" ratings are rounded to the scale 0, .5
... 5. Two answers per question share half the variance on both sides. From 1,001 answers on, intervals come from the
jackknife instead of the bootstrap; the rows for 2,000 answers measure these.

`--means` measures the intervals of mean scores instead (`imapeval.study.intervals.bootstrap.mean_interval`), and
`--differences` those of differences between the means of two systems on the same questions
(`imapeval.study.systems.differences.compare_systems`).
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import product, repeat
from typing import TYPE_CHECKING, NamedTuple

# Before numpy is loaded: processes that use all cores each would wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.rated import Rated
from imapeval.study.intervals.bootstrap import mean_interval
from imapeval.study.systems.answers import SystemAnswers
from imapeval.study.systems.differences import compare_systems

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("spearman", "kendall_tau_b", "pearson")

TRUTH_ROWS = 200_000
"""Rows that the true coefficients are computed from: a tenth of the standard error of 2,000 answers."""


class Setting(NamedTuple):
    """What is drawn."""

    rows: int
    rho: float
    graded: bool
    clustered: bool


def draw(setting: Setting, rows: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, ratings and the question of each answer."""
    # Pearson's r of the normal distribution that has this Spearman's rho (Pearson 1907).
    mix = np.linalg.cholesky([[1, 2 * np.sin(np.pi * setting.rho / 6)], [2 * np.sin(np.pi * setting.rho / 6), 1]])
    both = generator.normal(size=(rows, 2)) @ mix.T
    questions = np.arange(rows)
    if setting.clustered:
        questions //= 2
        both = np.sqrt(0.5) * (both + (generator.normal(size=((rows + 1) // 2, 2)) @ mix.T)[questions])
    scores, ratings = both.T
    if setting.graded:
        ratings = np.clip(np.round(2 * (3 + 1.2 * ratings)) / 2, 0, 5)
    return scores, ratings, questions


def find_truth(setting: Setting) -> dict[str, float]:
    """Return the coefficients of very many answers; sharing questions does not change them."""
    scores, ratings, _ = draw(setting._replace(clustered=False), TRUTH_ROWS, np.random.default_rng(0))
    return {name: find_coefficient(name).with_influences(scores, ratings).value for name in NAMES}


def measure(setting: Setting, truth: dict[str, float], repetitions: int, resamples: int) -> dict[str, float]:
    """Return the share of intervals that hold the truth, by coefficient."""
    held = dict.fromkeys(NAMES, 0)
    for repetition in range(repetitions):
        generator = np.random.default_rng([repetition, setting.rows, *map(int, setting[2:]), int(10 * setting.rho)])
        scores, ratings, questions = draw(setting, setting.rows, generator)
        ids = tuple(map(str, range(setting.rows)))
        rated = Rated(ids, questions, ("s",) * len(ids), ("score",), scores[:, None], ("rating",), ratings[:, None])
        for row in correlate(rated, coefficients=NAMES, levels=("global",), seed=repetition, resamples=resamples):
            held[row.coefficient] += row.low <= truth[row.coefficient] <= row.high
    return {name: count / repetitions for name, count in held.items()}


SCORES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda generator, n: generator.normal(0.5, 0.1, n),
    "most near 1": lambda generator, n: generator.beta(5, 1.25, n),
    "40% are 0": lambda generator, n: np.where(generator.random(n) < 0.4, 0.0, generator.beta(2, 2, n)),
    "80% are 0": lambda generator, n: np.where(generator.random(n) < 0.8, 0.0, generator.beta(2, 2, n)),
}
"""Draws of scores from 0 to 1."""


def measure_means(repetitions: int) -> None:
    """Print the share of intervals that hold the true mean."""
    print(f"| answers | {' | '.join(SCORES)} |\n|---|{'---|' * len(SCORES)}")
    truths = {
        name: float(draw_scores(np.random.default_rng(0), 4_000_000).mean()) for name, draw_scores in SCORES.items()
    }
    for n in (5, 10, 20, 30, 50, 100):
        held = dict.fromkeys(SCORES, 0)
        for name, draw_scores in SCORES.items():
            for repetition in range(repetitions):
                scores = draw_scores(np.random.default_rng([repetition, n]), n)
                interval = mean_interval(scores, seed=repetition, bounds=(0.0, 1.0))
                held[name] += interval is not None and interval.low <= truths[name] <= interval.high
        print(f"| {n} | {' | '.join(f'{count / repetitions:.1%}' for count in held.values())} |", flush=True)


RIGHT = ((0.05, 0.05), (0.1, 0.05), (0.15, 0.15), (0.2, 0.1), (0.4, 0.2))
"""Shares of questions that only the first system answers rightly, and only the second."""


def draw_pair(generator: np.random.Generator, n: int, kind: str | tuple[float, float]) -> np.ndarray:
    """Return the scores of two systems by question, shape (2, n): right or wrong, or drawn from `SCORES`."""
    if isinstance(kind, str):
        return np.array([SCORES[kind](generator, n) for _ in range(2)])
    lot = generator.random(n)
    first, second = kind
    return np.array([lot < first, (lot >= first) & (lot < first + second)], dtype=np.float64)


def measure_differences(repetitions: int) -> None:
    """Print the share of intervals that hold the true difference of two systems."""
    kinds: tuple[str | tuple[float, float], ...] = (*SCORES, *RIGHT)
    heads = (kind if isinstance(kind, str) else f"{kind[0]:.0%} and {kind[1]:.0%} right" for kind in kinds)
    print(f"| questions | {' | '.join(heads)} |\n|---|{'---|' * len(kinds)}")
    for n in (5, 10, 20, 30, 50, 100, 200):
        held = dict.fromkeys(kinds, 0)
        for kind in kinds:
            truth = 0.0 if isinstance(kind, str) else kind[0] - kind[1]
            for repetition in range(repetitions):
                scores = draw_pair(np.random.default_rng([repetition, n]), n, kind)
                answers = SystemAnswers(
                    samples=(),
                    runs=np.zeros(2 * n, dtype=np.int64),
                    systems=("first", "second"),
                    system=np.repeat([0, 1], n),
                    questions=np.tile(np.arange(n), 2),
                    metrics=("score",),
                    scores=scores.reshape(-1, 1),
                    lower_is_better=frozenset(),
                    groups={},
                )
                (row,) = compare_systems(answers, seed=repetition, permutations=1)
                held[kind] += row.low is not None and row.high is not None and row.low <= truth <= row.high
        print(f"| {n} | {' | '.join(f'{count / repetitions:.1%}' for count in held.values())} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=599)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--means", action="store_true")
    parser.add_argument("--differences", action="store_true")
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 200, 800, 2000])
    args = parser.parse_args()
    if args.means:
        measure_means(args.repetitions)
    if args.differences:
        measure_differences(args.repetitions)
    if args.means or args.differences:
        return
    settings = [
        Setting(rows, rho, graded, clustered)
        for rows, clustered, graded, rho in product(args.rows, (False, True), (False, True), (0.0, 0.3, 0.6))
    ]
    error = (0.95 * 0.05 / args.repetitions) ** 0.5
    print(f"{args.repetitions} repetitions (standard error {error:.1%}), {args.resamples} resamples.\n")
    print("| answers | per question | ratings | rho | Spearman | tau-b | Pearson |\n|---|---|---|---|---|---|---|")
    known = {setting[1:3]: find_truth(setting) for setting in settings if setting[0] == args.rows[0]}
    truths = [known[setting[1:3]] for setting in settings]
    with ProcessPoolExecutor(args.workers) as pool:
        found = pool.map(measure, settings, truths, repeat(args.repetitions), repeat(args.resamples))
        for setting, shares in zip(settings, found, strict=True):
            kind = f"{2 if setting.clustered else 1} | {'graded' if setting.graded else 'continuous'}"
            cells = " | ".join(f"{shares[name]:.1%}" for name in NAMES)
            print(f"| {setting.rows} | {kind} | {setting.rho} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
