"""One self-contained HTML page about a run: opens from a file, loads nothing, runs only its own script."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from imapeval.evaluation.runs import Run
from imapeval.evaluation.samples import system_label
from imapeval.llm.middleware.budget import format_report
from imapeval.redaction import redact
from imapeval.report.explorer_data import collect_explorer_data
from imapeval.report.histogram import Axis, draw_histogram
from imapeval.report.markup import (
    Markup,
    escape_text,
    render_code,
    render_definitions,
    render_heading,
    render_note,
    render_section,
)
from imapeval.report.page_frame import load_explorer, render_page, write_page
from imapeval.report.study.formatting import pluralize
from imapeval.report.summary import format_number, label_system, summarise
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.evaluation.runs import Result
    from imapeval.report.summary import SummaryRow
    from imapeval.types import Sample

_MESSAGES_SHOWN = 8
"""Different messages of one kind of failure that are listed; the others are counted."""


def write_report(folder: Path) -> Path:
    """Write `report.html` into the folder of a run, finished or not, and return its path.

    Raises:
        InputError: The folder is not a run directory, or a file in it is malformed.
        UsageError: The page cannot be written.
    """
    path = folder / "report.html"
    write_page(render_report(Run(folder)), path)
    return path


def render_report(run: Run) -> str:
    """Return the page."""
    settings = run.manifest["settings"]
    metrics = list(settings["metrics"])
    samples, results = run.samples(), run.results()
    rows = summarise(samples, results, metrics=metrics, seed=settings["seed"])
    sections = {
        "scores": ("Scores", _render_scores(rows, samples, results)),
        "failures": ("Failures", _render_failures(results)),
        "answers": ("Answers", render_section("answers", "Answers", Markup(load_explorer()))),
        "settings": ("How it was made", render_settings(run.manifest)),
    }
    shown = {name: section for name, section in sections.items() if section[1]}
    counts = [
        (len(samples), "answer"),
        (len({sample.question for sample in samples}), "question"),
        (len({system_label(sample) for sample in samples}), "system"),
        (len(metrics), "metric"),
    ]
    return render_page(
        Path(str(run.manifest["data"]["source"])).stem or run.folder.resolve().name,
        "\n".join(markup for _, markup in shown.values()),
        kind="imapeval report",
        lead=", ".join(pluralize(number, noun) for number, noun in counts),
        sections={name: title for name, (title, _) in shown.items()},
        skip_to="answers",
        answers=collect_explorer_data(samples, results, run.imaps(), metrics=metrics),
    )


def _render_scores(rows: Sequence[SummaryRow], samples: Sequence[Sample], results: Sequence[Result]) -> Markup:
    """Return the table of scores: per metric a row for all systems together and one for each."""
    system_by_id = {sample.id: label_system(sample) for sample in samples}
    values: dict[tuple[str, str], list[float]] = {}
    for result in results:
        if isinstance(result.outcome, Score):
            for system in ("", system_by_id[result.id]):
                values.setdefault((result.metric, system), []).append(result.outcome.value)
    bodies: list[str] = []
    for metric in dict.fromkeys(row.metric for row in rows):
        of_metric = [row for row in rows if row.metric == metric]
        axis = Axis.around(values.get((metric, ""), []))
        lines = "".join(
            _render_row(row, draw_histogram(values.get((metric, row.system), []), row, axis)) for row in of_metric
        )
        ends = f'<div class="ends" aria-hidden="true"><span>{axis.low:g}</span><span>{axis.high:g}</span></div>'
        # The axis's numbers stand under the last of its histograms.
        lines = f"{lines.removesuffix('</td></tr>')}{ends}</td></tr>"
        head = f'<tr class="head"><th scope="rowgroup" colspan="6">{escape_text(metric)}</th></tr>'
        bodies.append(f"<tbody>{head}{lines}</tbody>")
    columns = ("scored", "failed", "mean", "95% interval")
    titles = "".join(f'<th scope="col" class="number">{title}</th>' for title in columns)
    return render_section(
        "scores",
        "Scores",
        render_note(
            "Failures have no score and are not part of means. Intervals are percentile bootstraps that resample "
            "answers to the same question together; there is none if there is only one question. Bars show the "
            "distribution of the scores on one axis per metric, each row scaled to its highest bar; the vertical line "
            "is the mean, the horizontal one its interval."
        ),
        Markup(
            f'<table class="scores"><thead><tr><th scope="col">system</th>{titles}<th scope="col">distribution</th>'
            f"</tr></thead>{''.join(bodies)}</table>"
        ),
    )


def _render_row(row: SummaryRow, chart: str) -> str:
    mean = "–" if row.mean is None else _format_number(row.mean)
    interval = (
        "–" if row.low is None or row.high is None else f"{_format_number(row.low)} to {_format_number(row.high)}"
    )
    return (
        f'<tr class="{"one" if row.system else "all"}">'
        f'<th scope="row">{escape_text(row.system or "all")}</th>'
        f'<td class="number counted">{row.n}</td>'
        f'<td class="number {"failed" if row.failed else "failed zero"}">{row.failed}</td>'
        f'<td class="number mean-value">{mean}</td><td class="number interval-value">{interval}</td>'
        f'<td class="chart">{chart}</td></tr>'
    )


def _render_failures(results: Sequence[Result]) -> Markup:
    """Return the failures by stage and kind with their messages, or nothing where there are none."""
    groups: dict[tuple[str, str], dict[str, list[Result]]] = {}
    for result in results:
        if isinstance(result.outcome, Failure):
            of_kind = groups.setdefault((result.outcome.stage, result.outcome.kind), {})
            of_kind.setdefault(result.outcome.message, []).append(result)
    if not groups:
        return Markup("")
    rows = "".join(
        f'<tr><td data-label="Kind"><code>{escape_text(stage)}/{escape_text(kind)}</code></td>'
        f'<td class="number" data-label="Samples">{_count_samples(messages.values())}</td>'
        f'<td data-label="Metrics">{escape_text(", ".join(_name_metrics(messages.values())))}</td>'
        f'<td data-label="Message"><div>{_render_messages(messages)}</div></td></tr>'
        for (stage, kind), messages in groups.items()
    )
    return render_section(
        "failures",
        "Failures",
        render_note(
            "What could not be scored, and why. Undefined is not zero: these answers are not part of any mean."
        ),
        Markup(
            '<table class="stack"><thead><tr><th scope="col">kind</th><th scope="col" class="number">samples</th>'
            f'<th scope="col">metrics</th><th scope="col">message</th></tr></thead><tbody>{rows}</tbody></table>'
        ),
    )


def _count_samples(groups: Iterable[Sequence[Result]]) -> int:
    return len({result.id for group in groups for result in group})


def _name_metrics(groups: Iterable[Sequence[Result]]) -> list[str]:
    return list(dict.fromkeys(result.metric for group in groups for result in group))


def _render_messages(messages: Mapping[str, Sequence[Result]]) -> str:
    shown = [
        f"<div>{escape_text(message)} {_render_link(of_message)}{_render_raw(of_message)}</div>"
        for message, of_message in list(messages.items())[:_MESSAGES_SHOWN]
    ]
    if len(messages) > _MESSAGES_SHOWN:
        shown.append(f"<div>and {len(messages) - _MESSAGES_SHOWN} other messages</div>")
    return "".join(shown)


def _render_raw(results: Sequence[Result]) -> str:
    """Return the text that could not be used, of the first sample, which is the one that is linked."""
    raw = results[0].outcome.raw if isinstance(results[0].outcome, Failure) else None
    if raw is None:
        return ""
    shown = f"<pre>{escape_text(raw)}</pre>"
    return f'<details class="raw"><summary>The text that could not be used</summary>{shown}</details>'


def _render_link(results: Sequence[Result]) -> str:
    ids = list(dict.fromkeys(result.id for result in results))
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return (
        f'(<a href="#sample={escape_text(quote(ids[0], safe="", errors="replace"))}">{escape_text(ids[0])}</a>{more})'
    )


def render_settings(manifest: Mapping[str, Any]) -> Markup:
    """Return how the run was made: everything that can change a number."""
    settings: Mapping[str, Any] = manifest["settings"]
    resources: Mapping[str, str] = settings["resources"]
    libraries: Mapping[str, str] = manifest.get("libraries", {})
    usage: Mapping[str, Any] | None = manifest.get("usage")
    lines = [
        ("data", f"{manifest['data']['source']} ({manifest['data']['samples']} samples)"),
        ("data hash", manifest["data"]["sha256"]),
        ("started", manifest.get("started")),
        ("finished", manifest.get("finished") or "not yet"),
        ("command", _format_command(manifest.get("command", []))),
        ("extractor", settings["extractor"] or "none needed"),
        ("language model", usage and format_report(usage)),
        ("matcher", settings["matcher"] or "none needed"),
        *((name, value) for name, value in resources.items()),
        ("seed", settings["seed"]),
        ("imapeval", manifest["imapeval"]),
        ("Python", f"{manifest.get('python', '')} on {manifest.get('platform', '')}"),
        ("libraries", ", ".join(f"{name} {version}" for name, version in libraries.items())),
    ]
    signatures = "".join(
        f'<tr><td data-label="Metric">{escape_text(metric)}</td><td data-label="Signature">'
        f"<code>{escape_text(signature)}</code></td></tr>"
        for metric, signature in settings["metrics"].items()
    )
    return render_section(
        "settings",
        "How it was made",
        render_note("Two numbers can be compared when their signatures are the same."),
        render_definitions({name: render_code(str(value)) for name, value in lines if value is not None}),
        render_heading("Signatures"),
        Markup(
            '<table class="stack"><thead><tr><th scope="col">metric</th><th scope="col">signature</th></tr></thead>'
            f"<tbody>{signatures}</tbody></table>"
        ),
    )


def _format_command(words: Sequence[str]) -> str:
    """Return the command line as one would type it: the program by its name, not by its path."""
    if not words:
        return "none: called from Python"
    # Those of earlier versions were recorded as they were given.
    return shlex.join(["imapeval", *map(redact, words[1:])])


def _format_number(number: float) -> str:
    return format_number(number).replace("-", "−")
