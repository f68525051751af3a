"""Is the interval of the best of many metrics right? `python benchmarks/best_of_many.py [--repetitions 1000]`.

Simulated studies with many equally good metrics (rho 0, or .3), independent of each other or alike (they share half of
the variance that quality does not explain). The metric with the highest Spearman's rho is picked, as
`imapeval study report` picks it. Printed as a Markdown table, for its own 95% interval and for the simultaneous one:

- above 0: share of studies whose interval of the picked metric lies above 0; with rho 0 each of these is wrong;
- holds: share of studies whose interval of the picked metric holds the true coefficient.

Answers of three systems to every question share a third of the variance with each other.
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
from rated_answers import make_rated

from imapeval.study.correlation.levels import correlate

if TYPE_CHECKING:
    from imapeval.study.data.findings import Level
    from imapeval.study.data.rated import Rated

SYSTEMS = 3


class Setting(NamedTuple):
    """What is drawn."""

    level: Level
    questions: int
    metrics: int
    rho: float
    alike: bool


def draw(setting: Setting, generator: np.random.Generator) -> Rated:
    """Return a study; Spearman's rho of every metric with the ratings is `rho` within systems."""
    n = setting.questions * SYSTEMS
    questions = np.tile(np.arange(setting.questions), SYSTEMS)

    def spread(columns: int) -> np.ndarray:
        shared = generator.normal(size=(setting.questions, columns))[questions]
        return np.sqrt(1 / 3) * shared + np.sqrt(2 / 3) * generator.normal(size=(n, columns))

    # Pearson's r of the normal distribution that has this Spearman's rho (Pearson 1907).
    r = 2 * np.sin(np.pi * setting.rho / 6)
    ratings, noise = spread(1), spread(setting.metrics)
    if setting.alike:
        noise = np.sqrt(0.5) * (noise + spread(1))
    scores = r * ratings + np.sqrt(1 - r**2) * noise
    return make_rated(scores, ratings, questions=questions, systems=np.arange(n) // setting.questions)


def measure(setting: Setting, repetitions: int, resamples: int) -> tuple[float, ...]:
    """Return the shares of the table."""
    hits = np.zeros(4)
    for repetition in range(repetitions):
        generator = np.random.default_rng([repetition, setting.questions, setting.metrics, int(10 * setting.rho)])
        rated = draw(setting, generator)
        rows = correlate(
            rated, coefficients=("spearman",), levels=(setting.level,), seed=repetition, resamples=resamples
        )
        # The last row of a metric is the mean over its systems, or its only one.
        best = max({row.metric: row for row in rows}.values(), key=lambda row: row.value)
        ends = (best.low, best.high), (best.simultaneous_low, best.simultaneous_high)
        hits += [*(low > 0 for low, _ in ends), *(low <= setting.rho <= high for low, high in ends)]
    return tuple(hits / repetitions)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=599)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    levels: tuple[Level, ...] = ("within-system", "global", "within-question")
    settings = [
        *(Setting("within-system", 80, *rest) for rest in product((6, 54), (0.0, 0.3), (False, True))),
        *(Setting(level, 30, 54, 0.0, False) for level in levels),
    ]
    print(
        "| level | questions | metrics | rho | metrics are | above 0: own | simultaneous | holds: own | simultaneous |"
    )
    print("|".join(["", *["---"] * 9, ""]))
    with ProcessPoolExecutor(args.workers) as pool:
        found = pool.map(measure, settings, repeat(args.repetitions), repeat(args.resamples))
        for setting, shares in zip(settings, found, strict=True):
            kind = "alike" if setting.alike else "independent"
            cells = " | ".join(f"{share:.1%}" for share in shares)
            print(
                f"| {setting.level} | {setting.questions} | {setting.metrics} | {setting.rho} | {kind} | {cells} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
