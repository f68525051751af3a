"""The findings of a study as one self-contained HTML page: opens from a file, loads nothing, can be printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.formatting import NO_VALUE, pluralize
from imapeval.report.markup import (
    Markup,
    render_code,
    render_definitions,
    render_heading,
    render_list,
    render_note,
    render_section,
    render_table,
)
from imapeval.report.page_frame import render_page, write_page
from imapeval.report.study.bias import render_bias
from imapeval.report.study.comparisons import render_comparisons, render_metric_matrix
from imapeval.report.study.correlations import render_correlations
from imapeval.report.study.disagreements import collect_disagreements, list_disagreements, render_disagreements
from imapeval.report.study.methods import describe_methods, list_sources
from imapeval.report.study.raters import render_raters
from imapeval.report.study.slices import render_scatters, render_slices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from imapeval.evaluation.runs import Run
    from imapeval.study.summary.compute import Study


def write_study(study: Study, path: Path, *, runs: Sequence[Run] = ()) -> None:
    """Write the page, replacing an existing file.

    The runs have the texts and matches of the answers, for the largest disagreements; without them the page has only
    the ids of these answers.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UsageError: The file cannot be written.
        InputError: A file of a run is broken.
    """
    write_page(render_study(study, runs=runs), path)


def render_study(study: Study, *, runs: Sequence[Run] = ()) -> str:
    """Return the page; see `write_study`."""
    disagreements = list_disagreements(study)
    answers = collect_disagreements(disagreements, study, runs)
    sections = {
        "conclusions": ("Conclusions", _render_conclusions(study)),
        "metrics": ("Metrics", render_correlations(study)),
        "comparisons": ("Comparisons", render_comparisons(study)),
        "scatter": ("Scores and ratings", render_scatters(study)),
        "likeness": ("Between metrics", render_metric_matrix(study)),
        "raters": ("Raters", render_raters(study)),
        "slices": ("Groups", render_slices(study)),
        "bias": ("Bias", render_bias(study)),
        "disagreements": ("Disagreements", render_disagreements(disagreements, study, linked=answers is not None)),
        "checklist": ("Reporting checklist", _render_checklist(study)),
        "account": ("Data", _render_account(study)),
        "methods": ("Methods", _render_methods(study)),
        "signatures": ("Signatures", _render_signatures(study)),
    }
    shown = {name: section for name, section in sections.items() if section[1]}
    return render_page(
        study.title,
        "\n".join(markup for _, markup in shown.values()),
        kind="imapeval study",
        lead=_describe_counts(study),
        sections={name: title for name, (title, _) in shown.items()},
        skip_to="conclusions",
        answers=answers,
    )


def _describe_counts(study: Study) -> str:
    rated = study.rated
    numbers = [
        (len(rated.ids), "answer"),
        (len(set(rated.questions.tolist())), "question"),
        (len(set(rated.systems)), "system"),
        (len(rated.metrics), "metric"),
        (len(rated.dimensions), "dimension"),
        (len(rated.raters), "rater"),
    ]
    return ", ".join(pluralize(number, noun) for number, noun in numbers if number or noun != "rater")


def _render_conclusions(study: Study) -> Markup:
    if not study.conclusions:
        return render_section(
            "conclusions", "Conclusions", render_note("No conclusion can be drawn from these answers.")
        )
    return render_section("conclusions", "Conclusions", render_list(study.conclusions, kind="conclusions"))


def _render_account(study: Study) -> Markup:
    said = (
        render_list(study.account, kind="sentences")
        if study.account
        else render_note("How the data was joined is not recorded.")
    )
    return render_section("account", "The data, and what could not be joined", said)


def _render_checklist(study: Study) -> Markup:
    if not study.checklist:
        return Markup("")
    rows = [
        [
            item.topic,
            item.guideline,
            " ".join(part for part in (item.stated, item.data) if part) or NO_VALUE,
            f"{item.missing} ({item.key} in study.toml)"
            if item.missing and item.key and not item.stated
            else item.missing,
        ]
        for item in study.checklist
    ]
    missing = sum(bool(item.missing) for item in study.checklist)
    return render_section(
        "checklist",
        "Reporting checklist",
        render_note(
            "What readers of a study with raters want to know: items of GRRAS (Kottner et al. 2011) and of the Human "
            "Evaluation Datasheet (HEDS: Shimorina and Belz 2022). The data tells some; what only people know comes "
            "from study.toml, beside the ratings. "
            + (
                f"Something is missing from {missing} of {pluralize(len(rows), 'item')}."
                if missing
                else "Nothing is missing."
            )
        ),
        render_table(["topic", "guideline", "reported", "missing"], rows, texts=(0, 1, 2, 3)),
    )


def _render_methods(study: Study) -> Markup:
    parts = [render_list(describe_methods(study), kind="sentences")]
    if sources := list_sources(study):
        parts += [render_heading("Where the methods are described"), render_definitions(sources)]
    return render_section("methods", "How it was made", *parts)


def _render_signatures(study: Study) -> Markup:
    if not study.signatures:
        return Markup("")
    rows = [[metric, render_code(signature)] for metric, signature in study.signatures.items()]
    return render_section(
        "signatures",
        "Signatures",
        render_note("Two scores by a metric are comparable only if their signatures are the same."),
        render_table(["metric", "signature"], rows, texts=(0, 1)),
    )
