"""One self-contained HTML page about a run: opens from a file, loads nothing, runs only its own script."""

from __future__ import annotations

import time
from array import array
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from math import isnan
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from imapeval.evaluation.runs import Run, format_command, is_being_written, name_run
from imapeval.evaluation.runs.outcomes import count_samples
from imapeval.evaluation.samples import name_system_group, system_label
from imapeval.llm.middleware.budget import format_report
from imapeval.report.explorer_data import collect_explorer_data, find_axes
from imapeval.report.formatting import format_interval, pluralize
from imapeval.report.histogram import draw_histogram
from imapeval.report.page_frame import render_page, render_template, write_page
from imapeval.report.summary import describe_mean, format_contradictions, hash_questions, summarise
from imapeval.study.data.unfinished import count_done, format_resume_command
from imapeval.study.intervals.coverage import describe_mean_coverage
from imapeval.study.number_format import format_score, write_score
from imapeval.study.systems.answers import read_systems
from imapeval.study.systems.differences import compare_systems
from imapeval.study.systems.ranking import rank_systems
from imapeval.types import Failure, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Outcomes
    from imapeval.evaluation.runs.outcomes import FailureMessage
    from imapeval.report.histogram import Axis
    from imapeval.report.summary import SummaryRow
    from imapeval.types import Sample

_MESSAGES_SHOWN = 8
"""Different messages of one kind of failure that are listed; the others are counted."""

_FIRST_ANSWERS = 200
"""Maximum number of answers on the page of a run in progress, which is rewritten every few seconds."""

MAX_ANSWERS = 10_000
"""Answers on the page of a run: 30 MB of short ones, which a browser opens in seconds."""

_COMPARISONS_SHOWN = 5
"""Comparisons with the best system; `imapeval compare` has all."""

WATCH_SECONDS = 5
"""Minimum time between two versions of the page of a run in progress."""


def write_report(folder: Path, *, run: Run | None = None, rows: Sequence[SummaryRow] | None = None) -> Path:
    """Write `report.html` into the folder of a run, finished or not, and return its path.

    The run and its means (`summarise`) are read if they are not given.

    Raises:
        InputError: The folder is not a run directory, or a file in it is malformed.
        UsageError: The page cannot be written.
    """
    path = folder / "report.html"
    page, _ = _render(folder, run=run, rows=rows)
    write_page(page, path)
    return path


def watch_run(folder: Path) -> Iterator[tuple[Path, RunStatus]]:
    """Rewrite `report.html` every few seconds while the run is in progress, and once more when it has ended.

    The page reloads itself from its file, so that only a browser is needed to follow a run. The file is
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
    """How far a run has got.

    Attributes:
        kind: "finished"; "live" if a process is working on it; "stopped" if it ended early.
        done: Answers with an outcome by every metric.
        total: All answers.
        text: The same in words.
    """

    kind: str
    done: int
    total: int
    text: str


def _render(
    folder: Path,
    *,
    run: Run | None = None,
    rows: Sequence[SummaryRow] | None = None,
    seconds: int | None = None,
) -> tuple[str, RunStatus]:
    """Return the page, and how far the run is.

    With `seconds`, the page of a run in progress reloads itself at that interval.
    """
    # Before the files are read: what they say after the end of a run is final.
    live = is_being_written(folder)
    run = run or Run(folder)
    settings = run.manifest["settings"]
    metrics, ranges = list(settings["metrics"]), run.ranges
    samples, outcomes = run.contents.samples, run.contents.outcomes
    if rows is None:
        rows = summarise(samples, outcomes, metrics=metrics, ranges=ranges, seed=settings["seed"])
    axes = find_axes({name: one.values for name, one in outcomes.by_metric.items()}, ranges)
    status = _read_status(run, outcomes, live=live)
    shown = _choose_shown(samples, outcomes, live=status.kind == "live")
    ids = {sample.id for sample in shown}
    complete = len(shown) == len(samples)
    imaps = [record for record in run.find_imaps(None if complete else ids) if record.id in ids]
    failures = _list_failures(outcomes)
    sections = {"findings": "What was found"} | ({"failures": "Failures"} if failures else {})
    sections |= {"answers": "Answers", "settings": "How it was made"}
    counts = [
        (len(samples), "answer"),
        (len(np.unique(hash_questions(samples))), "question"),
        (len({system_label(sample) for sample in samples}), "system"),
        (len(metrics), "metric"),
    ]
    main = render_template(
        "run.html",
        status=status,
        seconds=seconds,
        findings=_list_findings(run, samples, outcomes, imaps, rows, complete=complete),
        systems=[row.system for row in rows if row.metric == metrics[0]],
        means={metric: [_show_mean(row) for row in rows if row.metric == metric] for metric in metrics},
        limits=describe_mean_coverage(row.resampled for row in rows),
        described={row.metric: describe_mean(row) for row in reversed(rows)},
        distributions=_draw_distributions(rows, samples, outcomes, axes),
        failures=failures,
        shown_of=_describe_shown(len(shown), len(samples), live=status.kind == "live"),
        settings=describe_settings(run.manifest),
        signatures=settings["metrics"],
    )
    page = render_page(
        name_run(run),
        main,
        kind="imapeval report",
        lead=", ".join(pluralize(number, noun) for number, noun in counts),
        sections=sections,
        skip_to="answers",
        answers=collect_explorer_data(shown, list(run.find_results(ids)), imaps, metrics=metrics, axes=axes),
    )
    return page, status


def _choose_shown(samples: Sequence[Sample], outcomes: Outcomes, *, live: bool) -> Sequence[Sample]:
    """Return the answers that the page lists: all, or `MAX_ANSWERS` evenly spaced ones and those that failures link to.

    Of a run in progress they are the first that have an outcome.
    """
    if live:
        scored = outcomes.count() > 0
        return list(islice((sample for position, sample in enumerate(samples) if scored[position]), _FIRST_ANSWERS))
    if len(samples) <= MAX_ANSWERS:
        return samples
    chosen = {number * len(samples) // MAX_ANSWERS for number in range(MAX_ANSWERS)}
    # The page has links to these.
    chosen |= {
        message.positions[0]
        for messages in outcomes.failures.values()
        for message in islice(messages.values(), _MESSAGES_SHOWN)
    }
    return [sample for position, sample in enumerate(samples) if position in chosen]


def _describe_shown(shown: int, total: int, *, live: bool) -> str:
    if shown == total:
        return ""
    if live:
        more = "" if total > MAX_ANSWERS else " The page has all of them when the run has ended."
        return f"The first {shown:,} of {total:,} answers.{more}"
    return (
        f"{shown:,} of {total:,} answers, evenly spaced in the data; results.csv has all of them. Everything above is "
        "about all answers, unless it says otherwise."
    )


def _read_status(run: Run, outcomes: Outcomes, *, live: bool) -> RunStatus:
    done, total = count_done(outcomes), outcomes.samples
    if finished := run.manifest.get("finished"):
        return RunStatus("finished", done, total, f"The run finished on {_format_time(finished)}.")
    progress = f"{done:,} of {pluralize(total, 'answer')} done"
    if usage := run.manifest.get("usage"):
        progress += f"; language model: {format_report(usage)}"
    if live:
        now = _format_time(datetime.now(UTC).isoformat())
        return RunStatus("live", done, total, f"The run is in progress: {progress} (as of {now}).")
    text = f"The run was interrupted: {progress}."
    if command := format_resume_command(run):
        text += f" To resume it: {command}"
    return RunStatus("stopped", done, total, text)


def _list_findings(
    run: Run,
    samples: Sequence[Sample],
    outcomes: Outcomes,
    imaps: Sequence[ImapRecord],
    rows: Sequence[SummaryRow],
    *,
    complete: bool,
) -> list[dict[str, str]]:
    """Return what the page says first, each with the address of the answers meant."""
    found = [{"text": sentence, "link": ""} for sentence in _compare_systems(run, samples)] if complete else []
    if failed := outcomes.count_failed()[""]:
        of = pluralize(len(samples), "answer")
        text = f"{failed:,} of {of} could not be scored by every metric."
        found.append({"text": text, "link": "only.outcome=no+score"})
    against = {
        record.id for record in imaps if any(match.relation is Relation.CONTRADICTION for match in record.matches or ())
    }
    if against:
        text = f"In {pluralize(len(against), 'answer')}, facts were found that contradict the reference"
        counted = [row for row in rows if row.system and row.contradictions]
        if not complete:
            text += " (counting only those listed below)"
        elif counted:
            each = (f"{format_contradictions(row.contradictions)} by {row.system}" for row in counted)
            text += f" (contradictions: {', '.join(each)})"
        text += "."
        if str(run.manifest["settings"].get("extractor")).startswith("lexicon"):
            text += " The offline reader misreads some facts: look at them."
        found.append({"text": text, "link": "only.outcome=contradictions"})
    elif imaps and complete:
        found.append({"text": "No answer was found to contradict its reference.", "link": ""})
    return found


def _compare_systems(run: Run, samples: Sequence[Sample]) -> list[str]:
    """Return sentences on the best system by the first metric, compared with each other one."""
    if len({name_system_group(sample) for sample in samples}) < 2:
        return []
    settings = run.manifest["settings"]
    answers = read_systems([run], metrics=[next(iter(settings["metrics"]))], by=[])
    seed = settings["seed"]
    differences = compare_systems(answers, seed=seed)
    best = rank_systems(answers, differences, seed=seed)[0].system
    sentences = [row.sentence for row in differences if best in (row.first, row.second)]
    more = len(sentences) - _COMPARISONS_SHOWN
    return sentences[:_COMPARISONS_SHOWN] + (
        [f"{pluralize(more, 'more comparison')}: imapeval compare."] if more > 0 else []
    )


def _show_mean(row: SummaryRow) -> dict[str, Any]:
    interval = format_interval(row.low, row.high, write=write_score)
    mean = "–" if row.mean is None else format_score(row.mean).replace("-", "−")
    return {"mean": mean, "below": f"{interval}, n {row.n:,}" if interval else f"n {row.n:,}", "failed": row.failed}


def _draw_distributions(
    rows: Sequence[SummaryRow], samples: Sequence[Sample], outcomes: Outcomes, axes: Mapping[str, Axis]
) -> dict[str, dict[str, Any]]:
    """Return the histograms of each metric, for all systems together and for each."""
    systems: dict[str, int] = {}
    system = array("I", (systems.setdefault(name_system_group(sample), len(systems)) for sample in samples))
    names = list(systems)
    values: dict[tuple[str, str], array[float]] = {}
    for metric, of_metric in outcomes.by_metric.items():
        for position, value in zip(of_metric.positions, of_metric.values, strict=True):
            if not isnan(value):
                for name in ("", names[system[position]]):
                    values.setdefault((metric, name), array("d")).append(value)
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


def _list_failures(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return the failures by stage and kind, with their messages."""
    return [
        {
            "kind": f"{stage}/{kind}",
            "samples": count_samples(messages.values()),
            "metrics": ", ".join(dict.fromkeys(metric for message in messages.values() for metric in message.metrics)),
            "messages": [_show_message(text, messages[text]) for text in islice(messages, _MESSAGES_SHOWN)],
            "others": max(0, len(messages) - _MESSAGES_SHOWN),
        }
        for (stage, kind), messages in outcomes.failures.items()
    ]


def _show_message(text: str, message: FailureMessage) -> dict[str, Any]:
    """Return a message with a link to the first sample that it is about, and the text of it that could not be used."""
    first, count = message.first, count_samples([message])
    return {
        "text": text,
        "id": first.id,
        "link": quote(first.id, safe="", errors="replace"),
        "more": f" and {count - 1} more" if count > 1 else "",
        "raw": first.outcome.raw if isinstance(first.outcome, Failure) else None,
    }


def describe_settings(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return how the run was made: everything that can change a number."""
    settings: Mapping[str, Any] = manifest["settings"]
    resources: Mapping[str, str] = settings["resources"]
    libraries: Mapping[str, str] = manifest.get("libraries", {})
    usage: Mapping[str, Any] | None = manifest.get("usage")
    command: Sequence[str] = manifest.get("command", [])
    lines = [
        ("data", f"{manifest['data']['source']} ({pluralize(manifest['data']['samples'], 'sample')})"),
        ("data hash", manifest["data"]["sha256"]),
        ("started", manifest.get("started")),
        ("finished", manifest.get("finished") or "not yet"),
        ("command", format_command(command) if command else "none: called from Python"),
        ("extractor", settings["extractor"] or "none needed"),
        ("language model", usage and format_report(usage)),
        ("matcher", settings["matcher"] or "none needed"),
        *resources.items(),
        ("seed", settings["seed"]),
        ("imapeval", manifest["imapeval"]),
        ("Python", f"{manifest.get('python', '')} on {manifest.get('platform', '')}"),
        ("libraries", ", ".join(f"{name} {version}" for name, version in libraries.items())),
    ]
    return {name: str(value) for name, value in lines if value is not None}


def _format_time(stamp: str) -> str:
    """Return a time of the manifest (ISO 8601) as people write it."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone(UTC):%Y-%m-%d %H:%M:%S UTC}"
    except ValueError:  # a manifest edited by hand
        return stamp
