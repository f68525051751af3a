"""How far raters agree with each other, and what that leaves for a metric to reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.study.choose import pick_leading
from imapeval.report.study.markup import Markup, show_heading, show_note, show_reasons, show_section, show_table
from imapeval.report.study.wording import (
    COEFFICIENTS,
    NONE,
    name_dimension,
    show_coefficient,
    show_interval,
    show_measure,
)
from imapeval.study.agreement.sentences import TITLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.findings import Agreement, Ceiling, Corrected, Differences, Study


def show_raters(study: Study) -> Markup:
    """Return the section."""
    raters = study.rated.raters
    known = f"{len(raters)} raters: {', '.join(raters)}." if raters else "Only averages over raters are known."
    parts = [show_note(known)]
    if study.agreements:
        parts += [show_heading("Agreement"), *_show_agreements(study.agreements, study.confidence)]
    if study.differences:
        parts += [
            show_heading("How far two raters lie apart"),
            show_note(
                "Shares of the answers that both rated, by the absolute difference of the two ratings, in the bins of "
                "the imapScore paper (Wang et al. 2024) or their like on another scale."
            ),
            _show_differences(study.differences),
        ]
    if study.ceilings:
        parts += [
            show_heading("The ceiling"),
            show_note(
                "What a metric could reach at best against the mean of these raters, because the raters themselves "
                "do not fully agree."
            ),
            *_show_ceilings(study.ceilings, study.confidence),
        ]
    parts += _show_corrected(study.corrected, pick_leading(study), study.confidence)
    if len(parts) == 1 and not raters:
        parts.append(
            show_note(
                "Without single ratings neither agreement among raters nor a ceiling can be told: give a ratings file "
                "with a column that names the rater."
            )
        )
    return show_section("raters", "Raters", *parts)


def _show_agreements(rows: Sequence[Agreement], confidence: float) -> list[Markup]:
    heads = ["dimension", "statistic", "value", f"{confidence:.0%} interval", "answers", "raters"]
    lines = [
        [
            name_dimension(row.dimension),
            TITLES.get(row.statistic, row.statistic),
            show_coefficient(row.value),
            show_interval(row.low, row.high) or NONE,
            f"{row.n:,}",
            f"{row.raters}",
        ]
        for row in rows
        if row.value is not None
    ]
    reasons = show_reasons(
        (row.reason, f"{TITLES.get(row.statistic, row.statistic)} ({name_dimension(row.dimension)})")
        for row in rows
        if row.reason
    )
    return [show_table(heads, lines, texts=(0, 1)) if lines else Markup(""), reasons]


def _show_differences(rows: Sequence[Differences]) -> Markup:
    bins = list(dict.fromkeys(name for row in rows for name in row.bins))
    lines = [
        [
            name_dimension(row.dimension),
            f"{row.first} and {row.second}",
            *(f"{row.bins[name]:.1%}" if name in row.bins else "" for name in bins),
            show_measure(row.mean_absolute),
            f"{row.n:,}",
        ]
        for row in rows
    ]
    return show_table(["dimension", "raters", *bins, "mean", "answers"], lines, texts=(0, 1))


def _show_ceilings(rows: Sequence[Ceiling], confidence: float) -> list[Markup]:
    heads = ["dimension", "coefficient", "ceiling", f"{confidence:.0%} interval", "reliability", "answers", "raters"]
    lines = [
        [
            name_dimension(row.dimension),
            COEFFICIENTS[row.coefficient],
            show_coefficient(row.value),
            show_interval(row.low, row.high) or NONE,
            show_coefficient(row.reliability),
            f"{row.n:,}",
            show_measure(row.raters),
        ]
        for row in rows
        if row.value is not None
    ]
    reasons = show_reasons(
        (row.reason, f"{COEFFICIENTS[row.coefficient]} ({name_dimension(row.dimension)})") for row in rows if row.reason
    )
    return [show_table(heads, lines, texts=(0, 1)) if lines else Markup(""), reasons]


def _show_corrected(rows: Sequence[Corrected], leading: Sequence[str], confidence: float) -> list[Markup]:
    """Return the best metrics' coefficients corrected; nothing where none could be: the ceilings say why."""
    lines = [
        [
            row.metric,
            name_dimension(row.dimension),
            COEFFICIENTS[row.coefficient],
            show_coefficient(row.value),
            show_coefficient(row.corrected),
            show_interval(row.low, row.high) or NONE,
            row.reason or "",
        ]
        for row in rows
        if row.metric in leading and row.corrected is not None
    ]
    if not lines:
        return []
    heads = ["metric", "dimension", "coefficient", "measured", "corrected", f"{confidence:.0%} interval", "note"]
    return [
        show_heading("Corrected for attenuation"),
        show_note(
            "What the best metrics' coefficients, over all answers together, would be with ratings without noise. "
            "corrected.csv has all metrics, and says why a coefficient could not be corrected."
        ),
        show_table(heads, lines, texts=(0, 1, 2, 6)),
    ]
