"""Intervals of `study calibrate`, and how often it says that a metric beats predicting the mean rating.

python benchmarks/calibration_errors.py --repetitions 1000

Simulated studies: two answers to each question (intraclass correlation .3), ratings from 0 to 5 by .5, a metric that
correlates with the ratings by rho. The truth of a study size is the mean error of curves (and of means) that are made
from 9/10 of so many questions, as in cross-validation, on 20,000 new questions. Printed: how often the intervals of the
mean absolute error and of its difference from that of the mean rating hold the truth, and how often the interval of the
difference is below 0 (the metric is called better) or above.
"""

import argparse

import numpy as np
from rated_answers import make_rated

from imapeval.study.calibration.curve import METHODS, Method, calibrate, fit_curve
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale

SCALE = RatingScale(0, 5, 0.5)
CASES = [(n, rho) for n in (20, 40, 150) for rho in (0.0, 0.2, 0.5)]


def make(generator: np.random.Generator, n: int, rho: float) -> Rated:
    """Make two answers to each of n questions."""
    true = np.repeat(generator.normal(size=n), 2) * 0.3**0.5 + generator.normal(size=2 * n) * 0.7**0.5
    ratings = np.clip(np.round((2.5 + 1.2 * true) * 2) / 2, 0, 5)
    scores = rho * true + (1 - rho**2) ** 0.5 * generator.normal(size=2 * n)
    return make_rated(scores, ratings, questions=np.arange(2 * n) // 2, scales={"accuracy": SCALE})


def find_truth(n: int, rho: float, method: Method) -> tuple[float, float]:
    """Return the expected error, and its difference from that of the mean rating."""
    generator = np.random.default_rng(1)
    new = make(generator, 20_000, rho)
    found: list[tuple[float, float]] = []
    for _ in range(400):
        seen = make(generator, n - n // 10, rho)
        curve = fit_curve(seen.scores[:, 0], seen.ratings[:, 0], method=method)
        error = np.abs(curve.predict(new.scores[:, 0], SCALE) - new.ratings[:, 0]).mean()
        found.append((error, error - np.abs(seen.ratings.mean() - new.ratings[:, 0]).mean()))
    error, difference = np.mean(found, axis=0)
    return float(error), float(difference)


def main() -> None:
    """Print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    print("| curve | questions | rho | difference | coverage, error | difference | better | worse |")
    print("|---|---|---|---|---|---|---|---|")
    for method in METHODS:
        for n, rho in CASES:
            error, difference = find_truth(n, rho, method)
            generator = np.random.default_rng(n)
            counts = np.zeros(4)
            for _ in range(repetitions):
                rated = make(generator, n, rho)
                made = calibrate(rated, "m", "accuracy", signature="", method=method, resamples=999).errors
                own, ends = made.mean_absolute[1], made.difference[1]
                counts += [
                    own.low <= error <= own.high,
                    ends.low <= difference <= ends.high,
                    ends.high < 0,
                    ends.low > 0,
                ]
            shares = " | ".join(f"{share:.1%}" for share in counts / repetitions)
            print(f"| {method} | {n} | {rho} | {difference:+.3f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
