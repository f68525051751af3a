"""How often a metric is called as good as another within a margin: `python benchmarks/metric_margins.py`.

Simulated studies of two metrics whose correlations with the ratings (Pearson's, Spearman's) differ by a known amount;
`imapeval study compare --margin .1` asks whether the second is as good as the first. Where it is worse by the margin
exactly, it must be called so in 5% of studies at most. Prints a Markdown table; one answer a question, two systems.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from rated_answers import make_rated

from imapeval.study.comparison.compare import compare

if TYPE_CHECKING:
    from imapeval.study.data.rated import Rated

MARGIN, FIRST = 0.1, 0.6


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    print("| coefficient | questions | true difference | level | called as good | called equivalent |")
    print("|---|---|---|---|---|---|")
    for coefficient, questions, difference, level in product(
        ("pearson", "spearman"), (50, 200, 800), (0.1, 0.05, 0.0), ("global", "within-system")
    ):
        # Pearson's r of normal scores that have these coefficients (Pearson 1907 for Spearman's).
        first, second = (
            2 * np.sin(np.pi * value / 6) if coefficient == "spearman" else value
            for value in (FIRST, FIRST - difference)
        )
        good = equivalent = 0
        for _ in range(repeats):
            rated = draw(rng, questions, first, second)
            (row,) = compare(rated, coefficient=coefficient, level=level, margin=MARGIN, resamples=1)
            good += bool(row.second_as_good)
            equivalent += bool(row.first_as_good and row.second_as_good)
        shares = f"{good / repeats:.1%} | {equivalent / repeats:.1%}"
        print(f"| {coefficient} | {questions} | {difference:g} | {level} | {shares} |", flush=True)


def draw(rng: np.random.Generator, questions: int, first: float, second: float) -> Rated:
    """Return a study in which the metrics correlate with the ratings at `first` and `second`, and share some noise."""
    ratings, shared, one, other = rng.normal(size=(4, questions))
    noises = (0.6 * shared + 0.8 * one, 0.6 * shared + 0.8 * other)
    scores = [r * ratings + (1 - r**2) ** 0.5 * noise for r, noise in zip((first, second), noises, strict=True)]
    return make_rated(np.column_stack(scores), ratings, systems=np.arange(questions) % 2)


if __name__ == "__main__":
    main()
