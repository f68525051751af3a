"""Agreement statistics by name, the choice of those that suit the ratings, and findings with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.agreement.icc import measure_icc
from imapeval.study.agreement.kappa import measure_cohen_kappa, measure_fleiss_kappa, measure_gwet_ac
from imapeval.study.agreement.krippendorff import measure_alpha
from imapeval.study.agreement.rater_correlation import measure_pearson, measure_spearman, measure_with_others
from imapeval.study.agreement.raw_agreement import STEP_TOLERANCE, measure_distance, measure_exact, measure_within
from imapeval.study.agreement.statistic import MAX_GROUPS, AgreementStatistic, count_raters, find_intervals
from imapeval.study.correlation.coefficients import Undefined
from imapeval.study.intervals import ends_of
from imapeval.study.intervals.bootstrap import number_clusters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Rated
    from imapeval.study.data.scales import RatingScale
    from imapeval.study.intervals import Interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement among raters in one dimension, by one statistic.

    Attributes:
        statistic: Name of the statistic, such as "krippendorff_alpha_interval", "icc_2_1", "weighted_kappa_quadratic",
            "exact", "mad".
        value: Value of the statistic; None where it is undefined.
        low, high: Bounds of the 95% interval.
        n: Number of answers used.
        raters: Number of raters used.
        reason: Why there is no value; in a mean also how many coefficients were undefined and left out.
    """

    dimension: str
    statistic: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    raters: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AgreementMeasure:
    """A statistic of agreement.

    Attributes:
        title: Name for display.
        measure: Computes the statistic from ratings of shape (answers, raters) and their scale.
    """

    title: str
    measure: Callable[[Floats, RatingScale | None], AgreementStatistic | Undefined]


ONLY_AVERAGES = (
    "only average ratings are known; agreement and its ceiling need what each rater gave (a column `rater`, and a row "
    "per answer and rater)"
)


def _measure_within_step(ratings: Floats, scale: RatingScale | None) -> AgreementStatistic | Undefined:
    if scale is None or scale.step is None:
        return Undefined("no scale with a step is declared")
    return measure_within(ratings, distance=scale.step)


STATISTICS: dict[str, AgreementMeasure] = {
    "exact": AgreementMeasure("same rating (share)", lambda ratings, _: measure_exact(ratings)),
    "within_step": AgreementMeasure("at most one step apart (share)", _measure_within_step),
    "mad": AgreementMeasure("mean absolute difference", lambda ratings, _: measure_distance(ratings)),
    "cohen_kappa": AgreementMeasure("Cohen's kappa", lambda ratings, scale: measure_cohen_kappa(ratings, scale=scale)),
    "weighted_kappa_linear": AgreementMeasure(
        "weighted kappa (linear)", lambda ratings, scale: measure_cohen_kappa(ratings, weighting="linear", scale=scale)
    ),
    "weighted_kappa_quadratic": AgreementMeasure(
        "weighted kappa (quadratic)",
        lambda ratings, scale: measure_cohen_kappa(ratings, weighting="quadratic", scale=scale),
    ),
    "fleiss_kappa": AgreementMeasure(
        "Fleiss' kappa", lambda ratings, scale: measure_fleiss_kappa(ratings, scale=scale)
    ),
    "gwet_ac1": AgreementMeasure("Gwet's AC1", lambda ratings, scale: measure_gwet_ac(ratings, scale=scale)),
    "gwet_ac2_linear": AgreementMeasure(
        "Gwet's AC2 (linear)", lambda ratings, scale: measure_gwet_ac(ratings, weighting="linear", scale=scale)
    ),
    "gwet_ac2_quadratic": AgreementMeasure(
        "Gwet's AC2 (quadratic)", lambda ratings, scale: measure_gwet_ac(ratings, weighting="quadratic", scale=scale)
    ),
    "krippendorff_alpha_nominal": AgreementMeasure(
        "Krippendorff's alpha (nominal)", lambda ratings, _: measure_alpha(ratings, level="nominal")
    ),
    "krippendorff_alpha_ordinal": AgreementMeasure(
        "Krippendorff's alpha (ordinal)", lambda ratings, _: measure_alpha(ratings, level="ordinal")
    ),
    "krippendorff_alpha_interval": AgreementMeasure(
        "Krippendorff's alpha (interval)", lambda ratings, _: measure_alpha(ratings, level="interval")
    ),
    "krippendorff_alpha_ratio": AgreementMeasure(
        "Krippendorff's alpha (ratio)", lambda ratings, _: measure_alpha(ratings, level="ratio")
    ),
    "icc_1_1": AgreementMeasure("ICC(1,1), one rating, one-way", lambda ratings, _: measure_icc(ratings, model=1)),
    "icc_2_1": AgreementMeasure("ICC(2,1), one rating, agreement", lambda ratings, _: measure_icc(ratings, model=2)),
    "icc_3_1": AgreementMeasure("ICC(3,1), one rating, consistency", lambda ratings, _: measure_icc(ratings, model=3)),
    "icc_1_k": AgreementMeasure(
        "ICC(1,k), mean rating, one-way", lambda ratings, _: measure_icc(ratings, model=1, mean=True)
    ),
    "icc_2_k": AgreementMeasure(
        "ICC(2,k), mean rating, agreement", lambda ratings, _: measure_icc(ratings, model=2, mean=True)
    ),
    "icc_3_k": AgreementMeasure(
        "ICC(3,k), mean rating, consistency", lambda ratings, _: measure_icc(ratings, model=3, mean=True)
    ),
    "pearson": AgreementMeasure("Pearson's r between raters", lambda ratings, _: measure_pearson(ratings)),
    "spearman": AgreementMeasure("Spearman's rho between raters", lambda ratings, _: measure_spearman(ratings)),
    "rater_with_others_spearman": AgreementMeasure(
        "rho of a rater with the others' mean", lambda ratings, _: measure_with_others(ratings)
    ),
}
"""All agreement statistics, by their name in findings."""


def find_title(statistic: str) -> str:
    """Return the display name of a statistic; the name itself if it is not in `STATISTICS`."""
    return STATISTICS[statistic].title if statistic in STATISTICS else statistic


def choose_statistics(ratings: Floats, *, scale: RatingScale | None) -> tuple[str, ...]:
    """Return the few statistics that suit ratings of shape (answers, raters).

    - two categories (yes or no): exact agreement, kappa (Cohen's of two raters, Fleiss' of several), AC1 and nominal
      alpha;
    - a scale with steps: shares, mean distance, AC2, alpha for ordinal and for interval ratings, ICC, rho;
    - anything else: mean distance, alpha for interval ratings, ICC, r and rho. Kappa is not for numbers without
      categories.

    The ICC is the two-way one where all raters rated all answers, and the one-way one otherwise.
    """
    icc = ("icc_2_1", "icc_2_k") if _is_complete(ratings) else ("icc_1_1", "icc_1_k")
    step = None if scale is None else scale.step
    if has_two_categories(ratings, scale):
        kappa = "cohen_kappa" if count_raters(ratings) == 2 else "fleiss_kappa"
        return ("exact", kappa, "gwet_ac1", "krippendorff_alpha_nominal")
    if step is not None:
        alphas = ("krippendorff_alpha_ordinal", "krippendorff_alpha_interval")
        return ("exact", "within_step", "mad", "gwet_ac2_quadratic", *alphas, *icc, "spearman")
    return ("mad", "krippendorff_alpha_interval", *icc, "pearson", "spearman")


def has_two_categories(ratings: Floats, scale: RatingScale | None) -> bool:
    """Return whether ratings are yes or no: by their scale, or by what occurs if its steps are not known."""
    if scale is None or scale.step is None:
        return len(np.unique(ratings[~np.isnan(ratings)])) == 2
    return scale.high - scale.low <= scale.step * (1 + STEP_TOLERANCE)


def _is_complete(ratings: Floats) -> bool:
    """Return whether every rater who rated any answer rated each that has a rating. Shape (answers, raters)."""
    rated = ~np.isnan(ratings)
    return bool(rated[rated.any(axis=1)][:, rated.any(axis=0)].all())


def measure_agreement(rated: Rated, *, statistics: Sequence[str] | None = None) -> list[Agreement]:
    """Measure how far raters agree, by dimension.

    Intervals are score intervals by the jackknife over questions (`statistic.find_intervals`). Without `statistics`,
    they are those that `choose_statistics` names.

    Returns:
        A row per dimension and statistic. Where individual ratings are not known, one row per dimension with
        the statistic "agreement" and the reason.

    Raises:
        UsageError: There is no such statistic.
        ValueError: A rating lies outside its declared scale, or off its steps.
    """
    for name in statistics or ():
        if name not in STATISTICS:
            raise UsageError(f"unknown statistic {name!r}. Statistics: {', '.join(STATISTICS)}.")
    rows: list[Agreement] = []
    for dimension in rated.dimensions:
        if dimension not in rated.by_rater:
            rows.append(Agreement(dimension, "agreement", reason=ONLY_AVERAGES))
            continue
        ratings, codes = ratings_in_dimension(rated, dimension)
        scale = rated.scales.get(dimension)
        names = choose_statistics(ratings, scale=scale) if statistics is None else tuple(statistics)
        found = {name: STATISTICS[name].measure(ratings, scale) for name in names}
        defined = {
            name: one for name, one in found.items() if isinstance(one, AgreementStatistic) and np.isfinite(one.value)
        }
        intervals: dict[str, Interval | None] = {}
        if defined:
            ends = find_intervals(list(defined.values()), ratings, codes)
            intervals = dict(zip(defined, ends, strict=True))
        rows += [_make_agreement(dimension, name, found[name], intervals.get(name)) for name in names]
    return rows


def ratings_in_dimension(rated: Rated, dimension: str) -> tuple[Floats, Counts]:
    """Return the ratings of the answers that have any, and the questions of these answers, numbered from 0.

    Returns:
        Shapes (answers, raters) and (answers,).
    """
    table = rated.by_rater[dimension]
    used = ~np.isnan(table).all(axis=1)
    return table[used], number_clusters(rated.questions[used])


def describe_left_out(rated: Rated) -> str:
    """Return what the intervals of agreement leave out in turn: "each question", for example."""
    counts = [int(ratings_in_dimension(rated, dimension)[1].max(initial=-1)) + 1 for dimension in rated.by_rater]
    if max(counts, default=0) > MAX_GROUPS:
        return f"each of {MAX_GROUPS:,} groups of questions"
    return "each answer" if has_own_questions(rated) else "each question, with all its answers,"


def has_own_questions(rated: Rated) -> bool:
    """Return whether no two rated answers of a dimension are to the same question."""
    codes = [ratings_in_dimension(rated, dimension)[1] for dimension in rated.by_rater]
    return all(len(np.unique(found)) == len(found) for found in codes)


def _make_agreement(
    dimension: str, name: str, found: AgreementStatistic | Undefined, interval: Interval | None
) -> Agreement:
    if isinstance(found, Undefined):
        return Agreement(dimension, name, reason=found.reason)
    value, n, raters = found.value, found.n, found.raters
    if not np.isfinite(value):
        reason = "it is a division by 0: chance, or a variance, leaves nothing to agree beyond"
        return Agreement(dimension, name, n=n, raters=raters, reason=reason)
    return Agreement(dimension, name, value, *ends_of(interval), n=n, raters=raters, reason=found.note)
