"""Which baseline is fair for metrics that are correlated over all answers: `python benchmarks/system_baseline.py`.

A baseline that uses only the system of an answer (and its dataset) scores it by the mean rating of that system. Those
means have to come from ratings. Simulated, 1,000 times each: S systems answer the same questions, ratings are the
system's quality, the question's difficulty and noise, rounded to 0..5 by .5. The truth is Spearman's rho of the true
system means with the ratings of 50,000 questions. Compared are

- own: means of all answers, the rated ones among them;
- others: means of the answers to all other questions, all answers correlated together;
- K folds: means of the answers to the questions of other folds, each fold correlated by itself, then the mean.

Printed is the mean of each estimate minus the truth. With --coverage: how often the 95% interval of
`compare_with_baseline` holds the true difference of the
baseline and a metric that sees quality with noise.
"""

from __future__ import annotations

import argparse

import numpy as np
from rated_answers import make_rated
from scipy.stats import spearmanr

from imapeval.study.correlation.baseline import compare_with_baseline

FOLDS = (2, 5, 10)
SCENARIOS = ((2, 80, 0.0), (2, 80, 0.3), (3, 80, 0.0), (3, 80, 0.5), (8, 30, 0.0), (8, 30, 0.3), (20, 20, 0.3))
"""Systems, questions, standard deviation of the systems' quality; that of difficulty is .4 and of noise .9."""


def draw(generator: np.random.Generator, quality: np.ndarray, questions: int) -> np.ndarray:
    """Return ratings, shape (systems, questions)."""
    hard = generator.normal(0, 0.4, questions)
    given = 2.5 + quality[:, None] + hard + generator.normal(0, 0.9, (len(quality), questions))
    return np.clip(np.round(given * 2) / 2, 0, 5)


def correlate(scores: np.ndarray, ratings: np.ndarray) -> float:
    """Return Spearman's rho; 0 for constant scores, for which it is undefined."""
    if np.ptp(scores) == 0 or np.ptp(ratings) == 0:
        return 0.0
    return float(spearmanr(scores, ratings, axis=None).statistic)


def estimate(ratings: np.ndarray) -> list[float]:
    """Return the coefficient of each baseline."""
    questions = ratings.shape[1]
    total = ratings.sum(axis=1, keepdims=True)
    own = np.broadcast_to(total / questions, ratings.shape)
    found = [correlate(own, ratings), correlate((total - ratings) / (questions - 1), ratings)]
    for folds in FOLDS:
        fold = np.arange(questions) % folds
        parts = [
            correlate(
                np.repeat(ratings[:, fold != one].mean(axis=1)[:, None], (fold == one).sum(), axis=1),
                ratings[:, fold == one],
            )
            for one in range(folds)
        ]
        found.append(float(np.mean(parts)))
    return found


def measure_coverage(repetitions: int) -> None:
    """Print how often the interval of a metric's advantage holds the truth."""
    print("| systems | questions | sd of systems | true difference | coverage |\n|---|---|---|---|---|")
    for systems, questions, spread in SCENARIOS:
        generator = np.random.default_rng(0)
        quality = space_out(systems, spread)

        def score(ratings: np.ndarray, generator: np.random.Generator = generator) -> np.ndarray:
            return ratings + generator.normal(0, 1.5, ratings.shape)

        large = draw(np.random.default_rng(1), quality, 50_000)
        true = correlate(score(large), large) - correlate(np.broadcast_to(quality[:, None], large.shape), large)
        held = 0
        for _ in range(repetitions):
            ratings = draw(generator, quality, questions)
            rated = make_rated(
                score(ratings).ravel(),
                ratings.ravel(),
                questions=np.tile(np.arange(questions), systems),
                systems=np.repeat(np.arange(systems), questions),
            )
            (row,) = compare_with_baseline(rated, "spearman")
            held += row.low is not None and row.high is not None and row.low <= true <= row.high
        print(f"| {systems} | {questions} | {spread} | {true:.3f} | {held / repetitions:.1%} |", flush=True)


def space_out(systems: int, spread: float) -> np.ndarray:
    """Return evenly spaced qualities with this standard deviation."""
    quality = np.arange(systems) - (systems - 1) / 2
    return quality * spread / quality.std()


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--coverage", action="store_true")
    args = parser.parse_args()
    if args.coverage:
        measure_coverage(args.repetitions)
        return
    names = ["own", "others", *(f"{folds} folds" for folds in FOLDS)]
    print(f"| systems | questions | sd of systems | true rho | {' | '.join(names)} |\n{'|---' * (4 + len(names))}|")
    for systems, questions, spread in SCENARIOS:
        generator = np.random.default_rng(0)
        quality = space_out(systems, spread)
        large = draw(np.random.default_rng(1), quality, 50_000)
        true = correlate(np.broadcast_to(quality[:, None], large.shape), large)
        found = [estimate(draw(generator, quality, questions)) for _ in range(args.repetitions)]
        errors = " | ".join(f"{error:+.3f}" for error in np.mean(found, axis=0) - true)
        print(f"| {systems} | {questions} | {spread} | {true:.3f} | {errors} |", flush=True)


if __name__ == "__main__":
    main()
