"""Whether planned sizes give intervals of the requested width: `python benchmarks/planning.py`.

Simulated: a pilot of 150 answers by two systems, with three raters and a metric. `plan_width` estimates how many
answers an interval of width .2 takes with two and with five raters, for the metric and for the ceiling. New studies of
that size are drawn from the same source. Prints a Markdown table of the sizes (median over pilots), the width of the
new studies' intervals, and the coefficient beside the expected one (means); "m - o" is the difference of two metrics.

With --power: the sizes at which the difference between two metrics, or between one and chance, is found with 80% power,
from a pilot so large (60,000 answers) that its coefficients are nearly the true ones. Printed: how often new studies of
that size find the difference, by the test of `imapeval study compare` or by the interval of `imapeval study correlate`.

With --systems, numbers of systems, which all answer the same 30 questions, take the place of those of answers: planned
from a pilot of 400 systems, for intervals of width .5 and, with --power, for 80% power. Tests and intervals are about
other systems.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from rated_answers import make_rated

from imapeval.study.agreement.noise_ceiling import find_ceilings
from imapeval.study.comparison.compare import compare
from imapeval.study.comparison.planning import CEILING, plan_width
from imapeval.study.comparison.power import plan_sample_size_from_pilot
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL, Correlation, Level

if TYPE_CHECKING:
    from imapeval.study.data.rated import Rated

WIDTH, WIDTH_BETWEEN_SYSTEMS = 0.2, 0.5
PILOT_SYSTEMS = 400


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--systems", action="store_true")
    options = parser.parse_args()
    if options.systems:
        check = check_system_power if options.power else check_system_widths
    else:
        check = check_power if options.power else check_widths
    check(np.random.default_rng(0), options.repeats)


def check_widths(rng: np.random.Generator, repeats: int) -> None:
    """Print planned sizes and the widths that they give."""
    print("| of | answers a question | raters | answers planned | width found | expected | found |")
    print("|---|---|---|---|---|---|---|")
    for per_question in (1, 2):
        pilots = (draw(rng, 150, 3, per_question) for _ in range(repeats))
        plans = [plan for pilot in pilots for plan in plan_width(pilot, WIDTH, against="o")]
        for metric, raters in (("m", 2), ("m", 5), ("m - o", 2), ("m - o", 5), (CEILING, 2)):
            rows = [
                plan
                for plan in plans
                if " - ".join(filter(None, (plan.metric, plan.second))) == metric
                and plan.raters == raters
                and plan.answers
            ]
            size = int(np.median([plan.answers or 0 for plan in rows]))
            found = [measure(draw(rng, size, raters, per_question), metric) for _ in range(repeats)]
            value, width = np.nanmean(np.array(found, dtype=float), axis=0)
            expected = np.mean([plan.value for plan in rows if plan.value is not None])
            print(
                f"| {metric} | {per_question} | {raters} | {size} | {width:.3f} | {expected:.3f} | {value:.3f} |",
                flush=True,
            )


def check_power(rng: np.random.Generator, repeats: int) -> None:
    """Print planned sizes and how often studies of that size find what they are planned for."""
    print("| told apart | answers a question | raters | planned | power |")
    print("|---|---|---|---|---|")
    for per_question in (1, 2):
        pilot = draw(rng, 60_000, 3, per_question)
        for metrics in (["m", "o"], ["o"]):
            for row in plan_sample_size_from_pilot(pilot, metrics=metrics, raters=5):
                if row.raters in (1, 3, 5) and row.needed:
                    size = -(-row.needed // 2) * 2  # as many answers by each of two systems
                    studies = (draw(rng, size, row.raters, per_question) for _ in range(repeats))
                    share = np.mean([find(study, metrics) for study in studies])
                    what = "m and o" if row.second else "o and 0"
                    print(f"| {what} | {per_question} | {row.raters} | {size} answers | {share:.1%} |", flush=True)


def check_system_widths(rng: np.random.Generator, repeats: int) -> None:
    """Print planned numbers of systems and the widths that they give."""
    print("| of | planned | width found | expected | found |\n|---|---|---|---|---|")
    for plan in plan_width(draw_systems(rng, PILOT_SYSTEMS), WIDTH_BETWEEN_SYSTEMS):
        if plan.level == "system":
            size = plan.answers or 0
            found = [measure(draw_systems(rng, size), plan.metric, level="system") for _ in range(repeats)]
            value, width = np.nanmean(np.array(found, dtype=float), axis=0)
            print(f"| {plan.metric} | {size} systems | {width:.3f} | {plan.value:.3f} | {value:.3f} |", flush=True)


def check_system_power(rng: np.random.Generator, repeats: int) -> None:
    """Print planned numbers of systems and how often studies of so many find what they are planned for."""
    pilot = draw_systems(rng, PILOT_SYSTEMS)
    print("| told apart | coefficients | planned | power |\n|---|---|---|---|")
    for metrics in (["m", "o"], ["o"]):
        (plan,) = plan_sample_size_from_pilot(pilot, metrics=metrics, level="system")
        studies = (draw_systems(rng, plan.needed or 0) for _ in range(repeats))
        share = np.mean([find(study, metrics, level="system") for study in studies])
        what = " and ".join([*metrics, "0"][:2])
        values = f"{plan.first_value:.3f}, {plan.second_value:.3f}"
        print(f"| {what} | {values} | {plan.needed} systems | {share:.1%} |", flush=True)


def find(study: Rated, metrics: list[str], *, level: Level = "within-system") -> bool:
    """Return whether the difference between the metrics, or between one and chance, is significant."""
    if len(metrics) == 2:
        test = "perm-systems" if level == "system" else "perm-inputs"
        (row,) = compare(study, metrics=metrics, level=level, test=test, resamples=399)
        return row.p is not None and row.p <= 0.05
    low = find_row(study, metrics[0], level=level).low
    return low is not None and low > 0


def find_row(study: Rated, metric: str, *, level: Level) -> Correlation:
    """Return the coefficient of all systems, about other systems at the level of systems."""
    units = "systems" if level == "system" else "questions"
    rows = correlate(study, metrics=[metric], coefficients=["spearman"], levels=[level], units=units, resamples=499)
    return next(row for row in rows if row.system == ALL)


def measure(rated: Rated, metric: str, *, level: Level = "within-system") -> tuple[float | None, float | None]:
    """Return a coefficient and the width of its interval."""
    if metric == CEILING:
        row = next(row for row in find_ceilings(rated) if (row.level, row.coefficient) == ("global", "pearson"))
    elif metric == "m - o":
        (row,) = compare(rated, resamples=1)
        return row.difference, None if row.low is None or row.high is None else row.high - row.low
    else:
        row = find_row(rated, metric, level=level)
    return row.value, None if row.low is None or row.high is None else row.high - row.low


def draw(rng: np.random.Generator, answers: int, raters: int, per_question: int) -> Rated:
    """Return a study: quality by question and answer, ratings with noise, and two metrics with more noise."""
    questions = np.arange(answers) // per_question
    worth = 0.6 * rng.normal(size=answers)[questions] + 0.8 * rng.normal(size=answers)
    ratings = worth[:, None] + 0.9 * rng.normal(size=(answers, raters))
    return make_rated(
        worth[:, None] + np.array([1.0, 1.4]) * rng.normal(size=(answers, 2)),
        ratings.mean(axis=1),
        metrics=("m", "o"),
        by_rater={"accuracy": ratings},
        questions=questions,
        systems=np.arange(answers) % 2,
    )


def draw_systems(rng: np.random.Generator, systems: int) -> Rated:
    """Return a study: systems of different quality answer the same 30 questions; m depends more on the system."""
    answers = 30 * systems
    system = np.arange(answers) // 30
    quality = rng.normal(size=systems)
    worth = quality[system] + rng.normal(size=answers)
    ratings = worth[:, None] + 0.9 * rng.normal(size=(answers, 3))
    bias = rng.normal(size=(systems, 2))[system] * np.array([0.5, 1.5])
    return make_rated(
        worth[:, None] + bias + rng.normal(size=(answers, 2)),
        ratings.mean(axis=1),
        metrics=("m", "o"),
        by_rater={"accuracy": ratings},
        questions=np.arange(answers) % 30,
        systems=system,
    )


if __name__ == "__main__":
    main()
