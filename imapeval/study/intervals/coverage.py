"""Where 95% intervals hold the truth less or more often than in 93 to 97% of simulated studies, in sentences.

They are printed beside the intervals. Each number is from the program in `benchmarks/` that is named with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.study.data.findings import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.study.agreement.measure import Agreement
    from imapeval.study.agreement.noise_ceiling import Ceiling
    from imapeval.study.calibration.curve import Method
    from imapeval.study.closed.comparison import RunTest
    from imapeval.study.closed.drbenchmark.results import TaskResult
    from imapeval.study.closed.metrics.estimate import MetricEstimate
    from imapeval.study.closed.models import ModelResult
    from imapeval.study.data.findings import Correlation, Level, Units
    from imapeval.study.data.rated import Rated
    from imapeval.study.systems.differences import Difference

FEW_ANSWERS = 100
"""Minimum number of answers for intervals of AC2 and of the concordance that hold in 93% of studies or more."""

ENOUGH_FOR_CEILINGS = 200
"""Minimum number of answers, rated yes or no, for intervals of ceilings that hold in 97% of studies or less."""

FEW_FOR_MEANS = 10
"""Number of questions below which the intervals of mean scores are too short whatever the scores."""

ENOUGH_FOR_MEANS = 50
"""Minimum number of questions for intervals of mean scores that hold in 93% of studies or more."""

ENOUGH_FOR_ACCURACY = 20
"""Minimum number of items for intervals of accuracies that hold in 93% of studies or more."""

ENOUGH_CHANGES = 10
"""Minimum number of questions on which two systems' scores differ, for intervals of their difference that hold in 93%
of studies or more."""

ENOUGH_ERRORS = 20
"""Minimum number of wrong items, and of right ones, for intervals of means over items that hold in 92% of studies or
more, also where items are in groups of four."""

# best_of_many.py
SIMULTANEOUS = (
    "Within systems and over all answers, the interval of the best metric is slightly too long (coverage 96 to 98%, "
    "not 95%)."
)

# system_baseline.py
BASELINE = (
    "The interval of a metric less the baseline is somewhat too long where systems hardly differ (it holds the true "
    "difference in 97 to 98% of simulated studies) and somewhat too short with 20 questions for 20 systems (93%). With "
    "30 questions or fewer the baseline itself can be too weak by .04: read a small advantage with that in mind."
)

# score_intervals.py --part means
OVER_ITEMS = (
    "Intervals of accuracies, also in the leaderboard, are over items alone: for other runs of a model they are too "
    "short where runs differ (coverage 88% with 30 items and 44% with 400, not 95%, where the accuracies of two runs "
    "have a standard deviation of .09)."
)

FEW_DIFFERENT = 10
"""Minimum number of questions rated otherwise than the most frequent rating, for intervals of mean ratings by
prediction-powered inference that hold in 97% of studies or less."""

# ppi_coverage.py --part equal
NEARLY_EQUAL = "the interval can be too long or too short (coverage 91 to 100%, not 95%)"

# limits_of_agreement.py
CONCORDANCE = (
    f"With fewer than {FEW_ANSWERS} answers, most of them near an end of the scale, the interval of the concordance "
    "is too short (coverage 92%, not 95%)."
)

# calibration_errors.py
CURVES: dict[Method, str] = {
    "linear": (
        "The interval of the difference is too short (coverage 83 to 88%, not 95%) for a line that is about as good as "
        "the mean, or is made from 20 questions."
    ),
    "isotonic": (
        "The interval of the difference is slightly too short (coverage 92 to 94%, not 95%) for a curve that is "
        "clearly better than the mean."
    ),
}

# level_coverage.py, comparing_accuracies.py, swapping_systems.py
_LEVELS: dict[tuple[Level, Units], str] = {
    ("within-question", "questions"): (
        "With 15 questions, intervals within questions are slightly too short (coverage 93%, not 95%); with 60 they "
        "hold."
    ),
    ("system", "questions"): (
        "Intervals between systems that resample questions are too long: they hold in 98 to 100% of simulated studies "
        "with six or ten systems."
    ),
    ("system", "systems"): (
        "Spearman's intervals about other systems are slightly too long with six systems (coverage 98%, not 95%)."
    ),
}


def describe_level_coverage(kinds: Iterable[tuple[Level, Units]]) -> list[str]:
    """Return sentences on the intervals of correlations, and of their differences, at levels with their units."""
    return [_LEVELS[kind] for kind in dict.fromkeys(kinds) if kind in _LEVELS]


def describe_open_ends(rows: Iterable[Correlation]) -> list[str]:
    """Return at most one sentence, on intervals that reach the coefficient's bound for want of different ratings."""
    # Commands import this module before they are run.
    from imapeval.study.correlation.coefficients import find_coefficient
    from imapeval.study.number_format import format_percent

    reached: dict[str, list[str]] = {}
    shares: list[float] = []
    for row in rows:
        least, most = find_coefficient(row.coefficient).bounds
        if row.undefined and row.value not in (least, most) and (row.low == least or row.high == most):
            shares.append(row.undefined)
            where = ", ".join("all" if name in ("", ALL) else name for name in (row.system, row.dimension))
            reached.setdefault(where, []).append(row.metric)
    if not reached:
        return []
    named = "; ".join(f"{where}: {', '.join(dict.fromkeys(metrics))}" for where, metrics in reached.items())
    return [
        "An interval that ends at the lowest or highest possible value says nothing at that end: so many ratings or "
        f"scores are equal that in up to {format_percent(max(shares))} of the resamples all are, where the coefficient "
        f"is undefined and could have been anything ({named})."
    ]


def describe_best_coverage(ranked: Sequence[Correlation]) -> list[str]:
    """Return sentences on the interval that a conclusion gives for the best of several metrics (`rank_metrics`)."""
    if not ranked or ranked[0].low is None:
        return []
    best = ranked[0]
    picked = len(ranked) > 1 and best.level in ("global", "within-system")
    return [*describe_level_coverage([(best.level, best.units)]), *([SIMULTANEOUS] if picked else [])]


def describe_agreement_coverage(rows: Sequence[Agreement]) -> list[str]:
    """Return sentences on the intervals of agreement among raters (score_intervals.py --part agreement)."""
    shown = [row for row in rows if row.low is not None]
    said: list[str] = []
    if any(row.statistic.startswith("gwet_ac2") and row.n < FEW_ANSWERS for row in shown):
        said.append(
            f"With fewer than {FEW_ANSWERS} answers the interval of AC2 can be too short (coverage down to 90% with 30 "
            "answers, not 95%)."
        )
    if any(row.statistic == "gwet_ac1" and row.n < FEW_ANSWERS for row in shown):
        said.append(
            f"With fewer than {FEW_ANSWERS} answers that are rated yes or no, intervals of AC1 and of the share of "
            "equal ratings can be slightly too long (coverage up to 98% with 30 answers, not 95%)."
        )
    if any(row.statistic in ("cohen_kappa", "fleiss_kappa", "krippendorff_alpha_nominal") for row in shown):
        said.append(
            "Intervals of kappa and of the nominal alpha are too long where raters agree little and most ratings are "
            "in one category (coverage up to 99.8%, not 95%)."
        )
    return said


def describe_mean_coverage(sizes: Iterable[int], *, of: str = "scores") -> list[str]:
    """Return sentences on the intervals of mean scores, of which at most one is on each size (coverage.py --means).

    Sizes are the numbers of questions that the intervals resample; 0 for intervals of shares. `of` is what the means
    are of, in the plural.
    """
    numbers = [size for size in sizes if size]
    said: list[str] = []
    if any(size < FEW_FOR_MEANS for size in numbers):
        said.append(
            f"With fewer than {FEW_FOR_MEANS} questions, intervals of means are too short (coverage 90 to 93%, not "
            "95%)."
        )
    if any(FEW_FOR_MEANS <= size < ENOUGH_FOR_MEANS for size in numbers):
        said.append(
            f"With {FEW_FOR_MEANS} to {ENOUGH_FOR_MEANS - 1} questions, intervals of means are slightly too short "
            f"where most {of} are equal (coverage 92 to 93%, not 95%)."
        )
    return said


def describe_difference_coverage(rows: Sequence[Difference], tests: Sequence[RunTest] = ()) -> list[str]:
    """Return at most one sentence on the intervals of differences between systems (coverage.py --differences).

    Differences of systems without a question in common were not simulated. `tests` are those over questions and runs,
    whose intervals some rows have; see `describe_test_coverage`.
    """
    others = {(test.low, test.high) for test in tests}
    shown = [row for row in rows if row.paired and row.low is not None and (row.low, row.high) not in others]
    if not any(row.wins + row.losses < ENOUGH_CHANGES for row in shown):
        return []
    return [
        f"Where the scores of two systems differ on fewer than {ENOUGH_CHANGES} questions, the interval of their "
        "difference can be too short (coverage 91 to 94%, not 95%), and much too short where answers are right or "
        "wrong and fewer than 5 differ (42 to 92%)."
    ]


def describe_accuracy_coverage(rows: Sequence[ModelResult]) -> list[str]:
    """Return sentences on the intervals of accuracies (score_intervals.py --part means, the column "share")."""
    shown = [row for row in rows if row.low is not None]
    said: list[str] = []
    if any(row.items < ENOUGH_FOR_ACCURACY for row in shown):
        said.append(
            f"With fewer than {ENOUGH_FOR_ACCURACY} items, intervals of accuracies can be too short where nearly all "
            "answers are right (coverage 85 to 93%, not 95%), and too long where items have several answers (up to "
            "100%)."
        )
    if any(row.runs > 1 for row in shown):
        said.append(OVER_ITEMS)
    return said


def describe_task_coverage(rows: Sequence[TaskResult]) -> list[str]:
    """Return sentences on the intervals of means over items and runs (score_intervals.py --part means)."""
    said: list[str] = []
    if any(
        row.metric != "spearman" and round(row.items * min(row.mean, 1 - row.mean), 6) < ENOUGH_ERRORS for row in rows
    ):
        said.append(
            f"Where fewer than {ENOUGH_ERRORS} items are right, or wrong, intervals of means over items and runs can "
            "be too long or too short (coverage 84 to 100%, not 95%)."
        )
    if any(len(row.runs) > 1 for row in rows):
        said.append(
            "Intervals of means over items and runs are too long where runs hardly differ (coverage 97 to 99%, not "
            "95%), and too short where few runs differ much (87 to 91% with two runs and 100 items or more, 92 to 95% "
            "with four)."
        )
    return said


def describe_test_coverage(items: Iterable[int], *, several: bool) -> list[str]:
    """Return sentences on the intervals of differences over items and runs (score_intervals.py --part means).

    Each difference has a number of items; with `several`, a model has several runs.
    """
    said: list[str] = []
    if any(number < FEW_ANSWERS for number in items):
        said.append(
            f"With fewer than {FEW_ANSWERS} items, intervals of differences over items and runs can be too long or too "
            "short where models differ on few of them (coverage 91 to 100%, not 95%)."
        )
    if several:
        said.append(
            "Intervals of differences over items and runs are too long where runs hardly differ (coverage 97 to 99%, "
            "not 95%)."
        )
    return said


def describe_closed_coverage(rows: Sequence[MetricEstimate]) -> list[str]:
    """Return sentences on the intervals of metrics of closed answers (score_intervals.py --part labels, areas)."""
    shown = [row for row in rows if row.low is not None]
    said: list[str] = []
    if any(row.metric.endswith("-macro") and row.n < FEW_ANSWERS for row in shown):
        said.append(
            f"With fewer than {FEW_ANSWERS} answers, intervals of macro averages are rather too long (coverage up to "
            "98% with 30 answers, not 95%)."
        )
    if any(row.metric in ("auc", "pr-auc") for row in shown):
        said.append(
            "Intervals of AUC and PR-AUC can be too long where areas are near 1 (coverage up to 98%, not 95%, with 30 "
            "to 500 answers); that of PR-AUC is slightly too short with 30 answers of which few have the label (92%)."
        )
    return said


def describe_ceiling_coverage(rows: Sequence[Ceiling], rated: Rated) -> list[str]:
    """Return sentences on the intervals of ceilings (score_intervals.py --part ceilings)."""
    # Commands import this module before they are run.
    from imapeval.study.agreement.measure import has_two_categories

    few = {row.dimension for row in rows if row.low is not None and row.n < ENOUGH_FOR_CEILINGS}
    if any(
        name in few and has_two_categories(ratings, rated.scales.get(name)) for name, ratings in rated.by_rater.items()
    ):
        return [
            f"With fewer than {ENOUGH_FOR_CEILINGS} answers that are rated yes or no, intervals of ceilings can be too "
            "long (coverage up to 99% with 60 answers, not 95%)."
        ]
    return []
