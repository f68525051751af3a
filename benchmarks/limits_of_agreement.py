"""Coverage of the intervals of limits of agreement and of Lin's concordance (`study agreement`, `study limits`).

python benchmarks/limits_of_agreement.py --repetitions 1000

Two raters perceive the quality of an answer with normal errors; the correlation is that of their impressions, and the
second rater is more lenient by .3. Ratings are these impressions rounded to half points, or on a scale where most are
near its top. With three answers per question, half of the variance of quality is between questions. The truth is
computed from 400,000 answers.
"""

import argparse

import numpy as np
from rated_answers import make_rated

from imapeval.study.agreement.limits_of_agreement import LimitsOfAgreement, find_limits
from imapeval.study.data.rated import Rated

CASES = [(30, 1), (100, 1), (40, 3)]
NAMES = ("mean", "lower", "upper", "concordance")


def make(generator: np.random.Generator, questions: int, answers: int, correlation: float, kind: str) -> Rated:
    """Make ratings by two raters."""
    n = questions * answers
    quality = generator.normal(size=n)
    if answers > 1:
        quality = (np.repeat(generator.normal(size=questions), answers) + quality) * 0.5**0.5
    error = ((1 - correlation) / correlation) ** 0.5
    given = quality[:, None] + error * generator.normal(size=(n, 2)) + [0.0, 0.3]
    if kind != "any number":
        given = np.clip(np.round(((4.5 if kind == "skewed" else 2.5) + 1.1 * given) * 2) / 2, 0, 5)
    return make_rated(ratings=given.mean(axis=1), by_rater={"accuracy": given}, questions=np.arange(n) // answers)


def read(row: LimitsOfAgreement, name: str) -> tuple[float, float, float]:
    """Return value, low and high of one of its numbers."""
    bound = getattr(row, name)
    return bound.value, bound.low, bound.high


def main() -> None:
    """Print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    print("| ratings | correlation | questions | answers each | mean | lower limit | upper limit | concordance |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in ("any number", "halves", "skewed"):
        for correlation in (0.5, 0.8):
            (truth,) = find_limits(make(np.random.default_rng(0), 400_000, 1, correlation, kind))
            for questions, answers in CASES:
                generator = np.random.default_rng(1)
                rows = [
                    find_limits(make(generator, questions, answers, correlation, kind))[0] for _ in range(repetitions)
                ]
                held = [
                    np.mean([low <= read(truth, name)[0] <= high for _, low, high in (read(row, name) for row in rows)])
                    for name in NAMES
                ]
                cells = " | ".join(f"{share:.1%}" for share in held)
                print(f"| {kind} | {correlation} | {questions} | {answers} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
