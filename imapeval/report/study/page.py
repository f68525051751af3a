"""A study's findings as one self-contained HTML page: opens from a file, loads nothing, prints as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.frame import fill_frame, write_page
from imapeval.report.study.answers import collect_answers, list_disagreements, show_disagreements
from imapeval.report.study.comparisons import show_comparisons, show_likeness
from imapeval.report.study.markup import (
    Markup,
    show,
    show_heading,
    show_list,
    show_note,
    show_section,
    show_table,
    show_terms,
)
from imapeval.report.study.methods import list_sources, tell_methods
from imapeval.report.study.metrics import show_metrics
from imapeval.report.study.raters import show_raters
from imapeval.report.study.where import show_scatters, show_slices
from imapeval.report.study.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from imapeval.runs import Run
    from imapeval.study.findings import Study


def write_study(study: Study, path: Path, *, runs: Sequence[Run] = ()) -> None:
    """Write the page.

    Args:
        study: What was found.
        path: The file; replaced where it exists.
        runs: Where the answers' texts and matches stand, for the largest disagreements. Without them the page names
            those answers only.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UsageError: The file cannot be written.
        InputError: A file of a run is broken.
    """
    write_page(render(study, runs=runs), path)


def render(study: Study, *, runs: Sequence[Run] = ()) -> str:
    """Return the page; see `write_study`."""
    disagreements = list_disagreements(study)
    answers = collect_answers(disagreements, study, runs)
    sections = {
        "conclusions": ("Conclusions", _show_conclusions(study)),
        "metrics": ("Metrics", show_metrics(study)),
        "comparisons": ("Comparisons", show_comparisons(study)),
        "scatter": ("Scores and ratings", show_scatters(study)),
        "likeness": ("Among each other", show_likeness(study)),
        "raters": ("Raters", show_raters(study)),
        "slices": ("Where", show_slices(study)),
        "disagreements": ("Disagreements", show_disagreements(disagreements, study, linked=answers is not None)),
        "account": ("What was read", _show_account(study)),
        "methods": ("Methods", _show_methods(study)),
        "signatures": ("Signatures", _show_signatures(study)),
    }
    shown = {name: section for name, section in sections.items() if section[1]}
    return fill_frame(
        study.title,
        "\n".join(markup for _, markup in shown.values()),
        kind="imapeval study",
        lead=_count(study),
        sections={name: title for name, (title, _) in shown.items()},
        skip_to="conclusions",
        styles=("study.css",),
        answers=answers,
    )


def _count(study: Study) -> str:
    rated = study.rated
    numbers = [
        (len(rated.ids), "answer"),
        (len(set(rated.questions.tolist())), "question"),
        (len(set(rated.systems)), "system"),
        (len(rated.metrics), "metric"),
        (len(rated.dimensions), "dimension"),
        (len(rated.raters), "rater"),
    ]
    return ", ".join(count(number, noun) for number, noun in numbers if number or noun != "rater")


def _show_conclusions(study: Study) -> Markup:
    if not study.conclusions:
        return show_section("conclusions", "Conclusions", show_note("Nothing can be concluded from these answers."))
    return show_section("conclusions", "Conclusions", show_list(study.conclusions, kind="conclusions"))


def _show_account(study: Study) -> Markup:
    said = show_list(study.account, kind="sentences") if study.account else show_note("Everything joined.")
    return show_section("account", "What was read, and what did not join", said)


def _show_methods(study: Study) -> Markup:
    parts = [show_list(tell_methods(study), kind="sentences")]
    if sources := list_sources(study):
        parts += [show_heading("Where the methods are described"), show_terms(sources)]
    return show_section("methods", "How it was made", *parts)


def _show_signatures(study: Study) -> Markup:
    if not study.signatures:
        return Markup("")
    rows = [[metric, Markup(f"<code>{show(signature)}</code>")] for metric, signature in study.signatures.items()]
    return show_section(
        "signatures",
        "Signatures",
        show_note("Two numbers of a metric can be compared when their signatures are the same."),
        show_table(["metric", "signature"], rows, texts=(0, 1)),
    )
