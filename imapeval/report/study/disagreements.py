"""Answers on which a metric and the raters disagree most: a table, and their texts and matches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from markupsafe import escape

from imapeval.evaluation.runs import group_by_id
from imapeval.report import explorer_data
from imapeval.report.formatting import format_coefficient, format_dimension, format_measure
from imapeval.report.markup import Markup, render_note, render_section, render_table
from imapeval.report.page_frame import render_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Result, Run
    from imapeval.study.subgroups.disagreements import Disagreement
    from imapeval.study.summary.compute import Study
    from imapeval.types import Sample

MAX_ROWS = 60
"""Disagreements that the page lists with the texts of their answers; disagreements.csv has all."""


def list_disagreements(study: Study) -> list[Disagreement]:
    """Return the disagreements that the page lists, the largest first."""
    return sorted(study.disagreements, key=lambda row: -abs(row.score_rank - row.rating_rank))[:MAX_ROWS]


def render_disagreements(rows: Sequence[Disagreement], study: Study, *, linked: bool) -> Markup:
    """Return the section; "" if there are no rows. Their ids are links if the page has the texts (`linked`)."""
    if not rows:
        return Markup("")
    heads = ["answer", "metric", "dimension", "score", "rating", "score's rank", "rating's rank", "the metric is"]
    lines = [
        [
            _link_answer(row.id, linked=linked),
            row.metric,
            format_dimension(row.dimension),
            format_measure(row.score),
            format_measure(row.rating),
            format_coefficient(row.score_rank, digits=2),
            format_coefficient(row.rating_rank, digits=2),
            "too high" if row.score_rank > row.rating_rank else "too low",
        ]
        for row in rows
    ]
    among = len(study.disagreements)
    cut = len(rows) < among
    count = f" ({len(rows):,} of the {among:,} in disagreements.csv)" if cut else f" in each dimension ({among:,})"
    return render_section(
        "disagreements",
        "Largest disagreements",
        render_note(
            f"The widest gaps{count} between where a metric and where the raters place "
            "an answer, from 0 (worst) to 1 (best) among all answers with both. They are for reading: what did the "
            "metric miss, or the raters?"
        ),
        render_table(heads, lines, texts=(0, 1, 2, 7)),
        Markup(render_template("explorer.html"))
        if linked
        else render_note("The page has no texts of them, because the runs were not given."),
    )


def collect_disagreements(rows: Sequence[Disagreement], study: Study, runs: Sequence[Run]) -> dict[str, Any] | None:
    """Return the data of the explorer of these answers (see `collect_explorer_data`); None if no run has them.

    The ratings are those of the study, which may come from another file than the samples of the run.
    """
    wanted = dict.fromkeys(row.id for row in rows)
    samples: dict[str, Sample] = {}
    results: dict[tuple[str, str], Result] = {}
    imaps: dict[str, list[ImapRecord]] = {}
    for run in runs:
        # The run has been read and checked when it was joined with the ratings.
        samples = {**{sample.id: sample for sample in run.find_samples(wanted)}, **samples}
        for result in run.find_results(wanted):
            results.setdefault((result.id, result.metric), result)
        # If two runs have read the same answer, the first reading is shown.
        imaps = group_by_id(run.find_imaps(wanted)) | imaps
    if not samples:
        return None
    row_by_id = {id_: row for row, id_ in enumerate(study.rated.ids) if id_ in wanted}
    shown = [replace(samples[id_], ratings=_ratings_of(study, row_by_id[id_])) for id_ in wanted if id_ in samples]
    return explorer_data.collect_explorer_data(
        shown,
        list(results.values()),
        [record for records in imaps.values() for record in records],
        metrics=study.rated.metrics,
    )


def _ratings_of(study: Study, row: int) -> dict[str, float]:
    rated = study.rated
    pairs = zip(rated.dimensions, rated.ratings[row].tolist(), strict=True)
    return {dimension: round(value, 4) for dimension, value in pairs if not np.isnan(value)}


def _link_answer(id_: str, *, linked: bool) -> Markup:
    if not linked:
        return escape(id_)
    return Markup(f'<a href="#sample={escape(quote(id_, safe="", errors="replace"))}">{escape(id_)}</a>')
