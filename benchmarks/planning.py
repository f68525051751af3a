"""Whether planned sizes give intervals of the wanted width: `python benchmarks/planning.py`.

Simulated: a pilot of 150 answers by two systems, with three raters and a metric. `plan_width` says how many answers
an interval .2 wide takes with two and with five raters, for the metric and for the ceiling. New studies of that size
are drawn from the same source. Prints a Markdown table of the sizes (median over pilots), the width of the new studies'
intervals, and the coefficient beside the expected one (means).
"""

from __future__ import annotations

import argparse

import numpy as np

from imapeval.study.agreement.noise_ceiling import find_ceilings
from imapeval.study.comparison.planning import CEILING, plan_width
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated

WIDTH = 0.2


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=100)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    print("| of | answers a question | raters | answers planned | width found | expected | found |")
    print("|---|---|---|---|---|---|---|")
    for per_question in (1, 2):
        plans = [plan for _ in range(repeats) for plan in plan_width(draw(rng, 150, 3, per_question), WIDTH)]
        for metric in ("m", CEILING):
            for raters in (2, 5) if metric == "m" else (2,):
                rows = [plan for plan in plans if (plan.metric, plan.raters) == (metric, raters) and plan.answers]
                size = int(np.median([plan.answers or 0 for plan in rows]))
                found = [measure(draw(rng, size, raters, per_question), metric) for _ in range(repeats)]
                value, width = np.nanmean(np.array(found, dtype=float), axis=0)
                expected = np.mean([plan.value for plan in rows])
                print(
                    f"| {metric} | {per_question} | {raters} | {size} | {width:.3f} | {expected:.3f} | {value:.3f} |",
                    flush=True,
                )


def measure(rated: Rated, metric: str) -> tuple[float | None, float | None]:
    """Return a coefficient and the width of its interval."""
    if metric == CEILING:
        row = next(row for row in find_ceilings(rated) if (row.level, row.coefficient) == ("global", "pearson"))
    else:
        rows = correlate(rated, coefficients=["spearman"], resamples=500)
        row = next(row for row in rows if row.system == ALL)
    return row.value, None if row.low is None or row.high is None else row.high - row.low


def draw(rng: np.random.Generator, answers: int, raters: int, per_question: int) -> Rated:
    """Return a study: worth by question and answer, ratings with noise, a metric that sees the worth dimly."""
    questions = np.arange(answers) // per_question
    worth = 0.6 * rng.normal(size=answers)[questions] + 0.8 * rng.normal(size=answers)
    ratings = worth[:, None] + 0.9 * rng.normal(size=(answers, raters))
    return Rated(
        ids=tuple(map(str, range(answers))),
        questions=questions,
        systems=tuple("ab"[n % 2] for n in range(answers)),
        metrics=("m",),
        scores=(0.7 * worth + 0.7 * rng.normal(size=answers))[:, None],
        dimensions=("quality",),
        ratings=ratings.mean(axis=1)[:, None],
        raters=tuple(map(str, range(raters))),
        by_rater={"quality": ratings},
    )


if __name__ == "__main__":
    main()
