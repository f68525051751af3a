"""One self-contained HTML page about a run: opens from a file, loads nothing, runs only its own script."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from imapeval.evaluation.runs import Run, is_being_written
from imapeval.evaluation.samples import system_label
from imapeval.llm.middleware.budget import format_report
from imapeval.redaction import redact
from imapeval.report.explorer_data import collect_explorer_data, metric_axes
from imapeval.report.histogram import draw_histogram
from imapeval.report.page_frame import render_page, render_template, write_page
from imapeval.report.study.formatting import pluralize
from imapeval.report.summary import describe_mean, format_contradictions, label_system, summarise
from imapeval.study.number_format import format_score
from imapeval.study.systems.answers import read_systems
from imapeval.study.systems.differences import compare_systems
from imapeval.study.systems.ranking import rank_systems
from imapeval.types import Failure, Relation, Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Result
    from imapeval.report.histogram import Axis
    from imapeval.report.summary import SummaryRow
    from imapeval.types import Sample

_MESSAGES_SHOWN = 8
"""Different messages of one kind of failure that are listed; the others are counted."""

_FIRST_ANSWERS = 200
"""Answers on the page of a run that goes on: it is written anew every few seconds."""

_COMPARISONS_SHOWN = 5
"""Comparisons with the best system; `imapeval compare` has all."""

WATCH_SECONDS = 5
"""Time between two pages of a run that goes on."""


def write_report(folder: Path) -> Path:
    """Write `report.html` into the folder of a run, finished or not, and return its path.

    Raises:
        InputError: The folder is not a run directory, or a file in it is malformed.
        UsageError: The page cannot be written.
    """
    path = folder / "report.html"
    page, _ = _render(folder)
    write_page(page, path)
    return path


def watch_run(folder: Path) -> Iterator[tuple[Path, RunStatus]]:
    """Write `report.html` again and again while the run goes on, and once more when it has ended.

    The page loads itself again from its file, so that nothing but a browser is needed to follow a run. The file is
    replaced as a whole: a browser never sees half of it.

    Yields:
        The path, and how far the run is, after each writing; the next page is written some seconds later.

    Raises:
        InputError: The folder is not a run directory, or a file in it is malformed.
        UsageError: The page cannot be written.
    """
    path = folder / "report.html"
    while True:
        began = time.monotonic()
        page, status = _render(folder, seconds=WATCH_SECONDS)
        write_page(page, path)
        yield path, status
        if status.kind != "live":
            return
        # Writing the page of a large run takes long, and must not take the computer from the run itself.
        time.sleep(max(WATCH_SECONDS, 5 * (time.monotonic() - began)))


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How far a run is.

    Attributes:
        kind: "finished"; "live" if a process is working on it; "stopped" if it ended before.
        done: Answers with an outcome by every metric.
        total: All answers.
        text: The same in words.
    """

    kind: str
    done: int
    total: int
    text: str


def _render(folder: Path, *, seconds: int | None = None) -> tuple[str, RunStatus]:
    """Return the page, and how far the run is.

    Args:
        folder: The folder of the run.
        seconds: How often the page of a run that goes on loads itself again; None if it does not.
    """
    # Before the files are read: what they say after the end of a run is final.
    live = is_being_written(folder)
    run = Run(folder)
    settings = run.manifest["settings"]
    metrics = list(settings["metrics"])
    samples, results = run.samples(), run.results()
    rows = summarise(samples, results, metrics=metrics, seed=settings["seed"])
    axes = metric_axes(results, metrics, settings.get("ranges", {}))
    status = _read_status(run, samples, results, live=live)
    shown = samples
    if status.kind == "live":
        scored = {result.id for result in results}
        shown = list(islice((sample for sample in samples if sample.id in scored), _FIRST_ANSWERS))
    ids = {sample.id for sample in shown}
    imaps = list(run.find_imaps(ids))
    failures = _list_failures(results)
    sections = {"findings": "What was found"} | ({"failures": "Failures"} if failures else {})
    sections |= {"answers": "Answers", "settings": "How it was made"}
    counts = [
        (len(samples), "answer"),
        (len({sample.question for sample in samples}), "question"),
        (len({system_label(sample) for sample in samples}), "system"),
        (len(metrics), "metric"),
    ]
    main = render_template(
        "run.html",
        status=status,
        seconds=seconds,
        findings=_list_findings(run, samples, results, imaps, rows, complete=len(shown) == len(samples)),
        systems=[row.system for row in rows if row.metric == metrics[0]] if metrics else [],
        means={metric: [_show_mean(row) for row in rows if row.metric == metric] for metric in metrics},
        described={row.metric: describe_mean(row) for row in reversed(rows)},
        distributions=_draw_distributions(rows, samples, results, axes),
        failures=failures,
        shown_of=(
            f"The first {len(shown)} of {len(samples)} answers. The page has all of them when the run has ended."
            if len(shown) < len(samples)
            else ""
        ),
        settings=describe_settings(run.manifest),
        signatures=settings["metrics"],
    )
    page = render_page(
        Path(str(run.manifest["data"]["source"])).stem or run.folder.resolve().name,
        main,
        kind="imapeval report",
        lead=", ".join(pluralize(number, noun) for number, noun in counts),
        sections=sections,
        skip_to="answers",
        styles=("study.css",),
        answers=collect_explorer_data(
            shown, [result for result in results if result.id in ids], imaps, metrics=metrics, axes=axes
        ),
    )
    return page, status


def _read_status(run: Run, samples: Sequence[Sample], results: Sequence[Result], *, live: bool) -> RunStatus:
    outcomes: dict[str, int] = {}
    for result in results:
        outcomes[result.id] = outcomes.get(result.id, 0) + 1
    needed = len(run.manifest["settings"]["metrics"])
    done, total = sum(count >= needed for count in outcomes.values()), len(samples)
    if finished := run.manifest.get("finished"):
        return RunStatus("finished", done, total, f"The run finished on {_format_time(finished)}.")
    progress = f"{done:,} of {pluralize(total, 'answer')} done"
    if usage := run.manifest.get("usage"):
        progress += f"; language model: {format_report(usage)}"
    if live:
        now = _format_time(datetime.now(UTC).isoformat())
        return RunStatus("live", done, total, f"The run goes on: {progress} (as of {now}).")
    text = f"The run was interrupted: {progress}."
    if command := run.manifest.get("command", []):
        # Without the folder, the command would begin another run.
        given = any(word.partition("=")[0] == "--out" for word in command)
        text += f" To resume it: {_format_command(command if given else [*command, '--out', str(run.folder)])}"
    return RunStatus("stopped", done, total, text)


def _list_findings(
    run: Run,
    samples: Sequence[Sample],
    results: Sequence[Result],
    imaps: Sequence[ImapRecord],
    rows: Sequence[SummaryRow],
    *,
    complete: bool,
) -> list[dict[str, str]]:
    """Return what the page says first, each with the address of the answers meant."""
    found = [{"text": sentence, "link": ""} for sentence in _compare_systems(run, samples)] if complete else []
    failed: dict[str, Failure] = {}
    for result in results:
        if isinstance(result.outcome, Failure):
            failed.setdefault(result.id, result.outcome)
    if failed:
        of = pluralize(len(samples), "answer")
        text = f"{len(failed):,} of {of} could not be scored by every metric."
        found.append({"text": text, "link": "only.outcome=no+score"})
    against = {
        record.id for record in imaps if any(match.relation is Relation.CONTRADICTION for match in record.matches or ())
    }
    if against:
        verb = "contradicts" if len(against) == 1 else "contradict"
        text = f"{pluralize(len(against), 'answer')} {verb} the reference"
        counted = [row for row in rows if row.system and row.contradictions]
        if not complete:
            text += ", of those below"
        elif counted:
            each = (f"{format_contradictions(row.contradictions)} of {row.system}" for row in counted)
            text += f" (contradictions: {', '.join(each)})"
        found.append({"text": f"{text}.", "link": "only.outcome=contradictions"})
    elif imaps and complete:
        found.append({"text": "No answer was found to contradict its reference.", "link": ""})
    return found


def _compare_systems(run: Run, samples: Sequence[Sample]) -> list[str]:
    """Return sentences on the best system by the first metric, compared with each other one."""
    first = next(iter(run.manifest["settings"]["metrics"]), None)
    if first is None or len({label_system(sample) for sample in samples}) < 2:
        return []
    answers = read_systems([run], metrics=[first], by=[])
    seed = run.manifest["settings"]["seed"]
    differences = compare_systems(answers, seed=seed)
    best = rank_systems(answers, differences, seed=seed)[0].system
    sentences = [row.sentence for row in differences if best in (row.first, row.second)]
    more = len(sentences) - _COMPARISONS_SHOWN
    return sentences[:_COMPARISONS_SHOWN] + ([f"{more} more comparisons: imapeval compare."] if more > 0 else [])


def _show_mean(row: SummaryRow) -> dict[str, Any]:
    interval = "" if row.low is None or row.high is None else f"{_format(row.low)} to {_format(row.high)}, "
    mean = "–" if row.mean is None else _format(row.mean)
    return {"mean": mean, "below": f"{interval}n {row.n:,}", "failed": row.failed}


def _draw_distributions(
    rows: Sequence[SummaryRow], samples: Sequence[Sample], results: Sequence[Result], axes: Mapping[str, Axis]
) -> dict[str, dict[str, Any]]:
    """Return the histograms of each metric, for all systems together and for each."""
    system_by_id = {sample.id: label_system(sample) for sample in samples}
    values: dict[tuple[str, str], list[float]] = {}
    for result in results:
        if isinstance(result.outcome, Score):
            for system in ("", system_by_id[result.id]):
                values.setdefault((result.metric, system), []).append(result.outcome.value)
    return {
        metric: {
            "low": f"{axis.low:g}",
            "high": f"{axis.high:g}",
            "rows": [
                {"system": row.system, "drawing": draw_histogram(values.get((metric, row.system), []), row, axis)}
                for row in rows
                if row.metric == metric
            ],
        }
        for metric, axis in axes.items()
    }


def _list_failures(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the failures by stage and kind, with their messages."""
    groups: dict[tuple[str, str], dict[str, list[Result]]] = {}
    for result in results:
        if isinstance(result.outcome, Failure):
            of_kind = groups.setdefault((result.outcome.stage, result.outcome.kind), {})
            of_kind.setdefault(result.outcome.message, []).append(result)
    return [
        {
            "kind": f"{stage}/{kind}",
            "samples": len({result.id for of_message in messages.values() for result in of_message}),
            "metrics": ", ".join(
                dict.fromkeys(result.metric for of_message in messages.values() for result in of_message)
            ),
            "messages": [_show_message(text, messages[text]) for text in list(messages)[:_MESSAGES_SHOWN]],
            "others": max(0, len(messages) - _MESSAGES_SHOWN),
        }
        for (stage, kind), messages in groups.items()
    ]


def _show_message(text: str, results: Sequence[Result]) -> dict[str, Any]:
    """Return a message with a link to the first sample that it is about, and the text of it that could not be used."""
    ids = list(dict.fromkeys(result.id for result in results))
    first = results[0].outcome
    return {
        "text": text,
        "id": ids[0],
        "link": quote(ids[0], safe="", errors="replace"),
        "more": f" and {len(ids) - 1} more" if len(ids) > 1 else "",
        "raw": first.raw if isinstance(first, Failure) else None,
    }


def describe_settings(manifest: Mapping[str, Any]) -> dict[str, str]:
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
    return {name: str(value) for name, value in lines if value is not None}


def _format_command(words: Sequence[str]) -> str:
    """Return the command line as one would type it: the program by its name, not by its path."""
    if not words:
        return "none: called from Python"
    # Those of earlier versions were recorded as they were given.
    return shlex.join(["imapeval", *map(redact, words[1:])])


def _format_time(stamp: str) -> str:
    """Return a time of the manifest (ISO 8601) as people write it."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone(UTC):%Y-%m-%d %H:%M:%S UTC}"
    except ValueError:  # a manifest edited by hand
        return stamp


def _format(number: float) -> str:
    return format_score(number).replace("-", "−")
