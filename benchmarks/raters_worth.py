"""How often the interval of a metric's worth in raters holds the truth: `python benchmarks/raters_worth.py`.

Raters and a metric perceive the quality of an answer, which is normally distributed, with normal errors; ratings are
continuous, or from 0 to 5 in half points. A metric with an error of standard deviation m is worth (e / m)^2 raters with
errors of e = .8; with half points, the truth is the worth on 200,000 answers. Printed as a Markdown table: how often
the 95% interval of the worth holds the truth. There are one or two answers per question; two share half of the variance
of their quality.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from rated_answers import make_rated

from imapeval.study.comparison.raters import count_worth

if TYPE_CHECKING:
    from imapeval.study.data.rated import Rated

ERROR, RATERS, LARGE = 0.8, 3, 200_000


def draw(generator: np.random.Generator, answers: int, per_question: int, kind: str, error: float) -> Rated:
    """Return a study."""
    questions = np.arange(answers) // per_question
    shared = 0.5 if per_question > 1 else 0.0
    quality = np.sqrt(shared) * generator.normal(size=answers)[questions]
    quality += np.sqrt(1 - shared) * generator.normal(size=answers)
    ratings = quality[:, None] + ERROR * generator.normal(size=(answers, RATERS))
    scores = quality + error * generator.normal(size=answers)
    if kind == "halves":
        ratings, scores = (np.clip(np.round(2 * (2.5 + side)) / 2, 0, 5) for side in (ratings, scores))
    return make_rated(scores, ratings.mean(axis=1), by_rater={"accuracy": ratings}, questions=questions)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    print("| ratings | answers | per question | metric's error | worth | interval holds |")
    print("|---|---|---|---|---|---|")
    for kind, (answers, per_question), error in product(
        ("any number", "halves"), ((60, 1), (200, 1), (200, 2)), (0.6, 0.8, 1.2, 2.0)
    ):
        truth = (ERROR / error) ** 2
        if kind == "halves":
            truth = count_worth(draw(np.random.default_rng(0), LARGE, 1, kind, error))[0].raters or 0.0
        generator, held = np.random.default_rng(1), 0
        for _ in range(repetitions):
            rated = draw(generator, answers, per_question, kind, error)
            (worth,) = count_worth(rated)
            held += worth.low is not None and worth.high is not None and worth.low <= truth <= worth.high
        print(
            f"| {kind} | {answers} | {per_question} | {error:g} | {truth:.2f} | {held / repetitions:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
