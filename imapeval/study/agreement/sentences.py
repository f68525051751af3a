"""Describes agreement among raters and the noise ceiling in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.study.agreement.constant_raters import describe_constant_raters
from imapeval.study.agreement.measure import STATISTICS
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.number_format import format_interval, format_number, format_percent, format_score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.study.agreement.measure import Agreement
    from imapeval.study.agreement.noise_ceiling import Ceiling
    from imapeval.study.data.findings import CoefficientName, Level
    from imapeval.study.data.rated import Rated

_HEADLINES = ("krippendorff_alpha_interval", "krippendorff_alpha_ordinal", "krippendorff_alpha_nominal", "fleiss_kappa")
"""Statistics that a sentence may quote; the first available one is used."""


_OVER: Mapping[Level, str] = {"global": "over all answers", "within-system": "within systems"}
"""Wording for the levels that have ceilings."""


def describe_agreement(
    rated: Rated,
    agreements: Sequence[Agreement],
    ceilings: Sequence[Ceiling],
    *,
    level: Level = "global",
    coefficient: CoefficientName = "pearson",
) -> list[str]:
    """Return one to three sentences per dimension: how far raters agree, and how far a metric could.

    The last sentence names raters who always give the same rating, if there are any. The ceiling is that of this
    level and coefficient, if there is one. Nothing is said of a dimension whose statistics no sentence quotes.
    """
    sentences: list[str] = []
    unknown: dict[str, list[str]] = {}
    for dimension in rated.dimensions:
        rows = {row.statistic: row for row in agreements if row.dimension == dimension}
        if all(row.value is None for row in rows.values()):
            reasons = "; ".join(dict.fromkeys(row.reason for row in rows.values() if row.reason))
            unknown.setdefault(reasons, []).append(dimension)
            continue
        wanted = (dimension, level, coefficient)
        ceiling = next((row for row in ceilings if (row.dimension, row.level, row.coefficient) == wanted), None)
        if said := _describe(rated, dimension, rows, ceiling):
            sentences.append(f"{dimension}: {said}")
    for reasons, dimensions in unknown.items():
        sentences.append(f"{', '.join(dimensions)}: agreement among raters cannot be measured: {reasons}.")
    return [*sentences, *describe_constant_raters(rated)]


def find_headline(rows: Iterable[Agreement]) -> Agreement | None:
    """Return the statistic, among those of one dimension, that a sentence quotes; None if there is none."""
    known = {row.statistic: row for row in rows if row.value is not None}
    return next((known[name] for name in _HEADLINES if name in known), None)


def _describe(rated: Rated, dimension: str, rows: dict[str, Agreement], ceiling: Ceiling | None) -> str:
    sentences: list[str] = []
    shares = [
        f"{words} on {format_percent(share)} of answers"
        for name, words in (("exact", "give the same rating"), ("within_step", _name_step(rated, dimension)))
        if name in rows and (share := rows[name].value) is not None
    ]
    if shares:
        sentences.append(f"two raters {' and '.join(shares)}.")
    elif "mad" in rows and (apart := rows["mad"].value) is not None:
        scale = rated.scales.get(dimension)
        among = "" if scale is None else f" on a scale from {scale.low:g} to {scale.high:g}"
        sentences.append(f"two raters differ by {format_score(apart)} on average{among}.")
    headline = find_headline(rows.values())
    if headline is not None and headline.value is not None:
        sentences.append(
            f"{STATISTICS[headline.statistic].title} is {_quote(headline.value, headline.low, headline.high)} "
            f"({headline.raters} raters, {headline.n} answer{'' if headline.n == 1 else 's'})."
        )
    if ceiling is not None and ceiling.value is not None:
        sentences.append(
            f"A perfect metric could reach {find_coefficient(ceiling.coefficient).title} of about "
            f"{_quote(ceiling.value, ceiling.low, ceiling.high)} {_OVER[ceiling.level]} with the mean "
            + (
                f"of {ceiling.raters:.0f} raters."
                if ceiling.raters.is_integer()
                else f"rating, of {ceiling.raters:.3g} raters per answer on average."
            )
        )
    elif ceiling is not None and ceiling.reason is not None:
        sentences.append(f"How well a perfect metric could do {_OVER[ceiling.level]} is unknown: {ceiling.reason}.")
    return " ".join(sentences)


def _name_step(rated: Rated, dimension: str) -> str:
    scale = rated.scales.get(dimension)
    step = None if scale is None else scale.step
    return "differ by one step or less" if step is None else f"differ by {step:g} or less"


def _quote(value: float, low: float | None, high: float | None) -> str:
    interval = "" if low is None or high is None else f" [{format_interval(low, high)}]"
    return format_number(value) + interval
