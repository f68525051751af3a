"""How often 95% intervals hold the truth within questions and between systems: `python benchmarks/level_coverage.py`.

S systems answer Q questions, each system better than the one before it by a step. A metric is the quality of an answer
plus noise of standard deviation 1; ratings (in half points) have noise of .5. The truth is the coefficient's mean over
the repetitions: within questions, for many questions; between systems, for these systems on as many other questions.
Printed as a Markdown table: coverage, and the mean width. "of 20": share of studies of 20 uninformative metrics in
which the simultaneous interval of the best one lies above the null value, which is 0, or 1/2 for pairwise accuracy
(soft pairwise accuracy has no null value; best_of_many.py has the other levels).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from rated_answers import make_rated

from imapeval.study.correlation.levels import correlate

if TYPE_CHECKING:
    from imapeval.study.data.rated import Rated

SIZES = ((3, 15, 0.3), (3, 60, 0.3), (6, 15, 0.2), (6, 60, 0.2), (10, 60, 0.1))
WITHIN = ("spearman", "kendall_tau_b", "pearson", "pairwise_accuracy")
BETWEEN = ("spearman", "pearson", "pairwise_accuracy", "soft_pairwise_accuracy")
METRICS = 20


def draw(generator: np.random.Generator, size: tuple[int, int, float], metrics: int) -> Rated:
    """Return a study; if it has several metrics, none is related to quality."""
    systems, questions, step = size
    number, question = np.divmod(np.arange(systems * questions), questions)
    quality = step * number + 0.5 * generator.normal(size=questions)[question] + generator.normal(size=len(number))
    noise = generator.normal(size=(len(number), metrics))
    scores = noise if metrics > 1 else quality[:, None] + noise
    ratings = np.round(2 * (quality + 0.5 * generator.normal(size=len(number)))) / 2
    return make_rated(scores, ratings, questions=question, systems=number)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=599)
    parser.add_argument("--level", choices=("within-question", "system"))
    args = parser.parse_args()
    print("| level | systems x questions | coefficient | mean | holds | width | of 20 |")
    print("|---|---|---|---|---|---|---|")
    for level, names in (("within-question", WITHIN), ("system", BETWEEN)):
        for size in SIZES:
            if args.level not in (None, level) or (level == "system" and size[0] < 6):
                continue  # between fewer systems there is no interval
            rows, wrong = {name: [] for name in names}, dict.fromkeys(names, 0)
            given = {"coefficients": names, "levels": (level,), "resamples": args.resamples}
            for seed in range(args.repetitions):
                generator = np.random.default_rng([seed, *size[:2]])
                for row in correlate(draw(generator, size, 1), seed=seed, **given):
                    rows[row.coefficient].append((row.value, row.low, row.high))
                found = correlate(draw(generator, size, METRICS), seed=seed, **given) if level == "system" else []
                for name in names if found else ():
                    best = max((row for row in found if row.coefficient == name), key=lambda row: row.value or -1)
                    none = 0.5 if "accuracy" in name else 0.0
                    wrong[name] += best.simultaneous_low is not None and best.simultaneous_low > none
            for name in names:
                value, low, high = np.array(rows[name], dtype=float).T
                mean = np.nanmean(value)
                has_none = name != "soft_pairwise_accuracy" and level == "system"
                share = f"{wrong[name] / args.repetitions:.1%}" if has_none else "-"
                print(
                    f"| {level} | {size[0]} x {size[1]} | {name} | {mean:.3f} "
                    f"| {np.mean((low <= mean) & (mean <= high)):.1%} | {np.nanmean(high - low):.2f} | {share} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
