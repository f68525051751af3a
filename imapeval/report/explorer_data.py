"""The data that the script of a page reads: samples, facts and scores, with each text stored once."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval.evaluation.samples import system_label
from imapeval.explain.answers import collect_answers
from imapeval.explain.facts import imap_to_page_data
from imapeval.metrics import registry
from imapeval.report.histogram import Axis
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Result
    from imapeval.types import Outcome, Sample

_UNSAFE = ("<", ">", "&", "\u2028", "\u2029")
"""Characters that could end a script element or a line in it. In JSON they occur only in strings, as escapes."""


class TextTable:
    """A table of texts, each stored once: systems share questions, and values share evidence."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def intern(self, text: str) -> int:
        """Return the number of a text, which is added if it is new."""
        return self.numbers.setdefault(text, len(self.numbers))


def collect_explorer_data(
    samples: Sequence[Sample],
    results: Sequence[Result],
    imaps: Sequence[ImapRecord],
    *,
    metrics: Sequence[str],
    axes: Mapping[str, Axis] | None = None,
    texts: TextTable | None = None,
) -> dict[str, Any]:
    """Return what the page's script needs.

    Args:
        samples: The answers, in the order of the page.
        results: Their outcomes.
        imaps: Their facts.
        metrics: The metrics, the most important first.
        axes: The ends of each metric's bars and colours; None takes the range of the metric (`metric_axes`).
        texts: The table that texts are added to; None makes a new one.

    Returns:
        `metrics`: names; `axes`: per metric [low, high, 1 if low is good else 0]; `texts`: the table that numbers
        refer to; `columns`: names of the other columns of the data; `samples`: per sample `id`, `system`, `lang`,
        `question`, `references`, `response`, `ratings`, `columns` (values in the order of `columns`, null where there
        is none), `imaps` (see `imap_to_page_data`), `reason` (see `ScoredAnswer`) and `scores`, one per metric: null
        where there is no outcome, [value, parts] or [null, "stage", "kind", message, raw text | null].
    """
    texts = texts or TextTable()
    if axes is None:
        spans = {name: registry.get(name).range for name in metrics if name in registry.names()}
        axes = metric_axes(results, metrics, spans)
    columns = list(dict.fromkeys(name for sample in samples for name in sample.meta))

    def show_outcome(outcome: Outcome | None) -> list[Any] | None:
        if outcome is None:
            return None
        if isinstance(outcome, Score):
            return [round(outcome.value, 4), {name: round(value, 4) for name, value in outcome.parts.items()}]
        raw = None if outcome.raw is None else texts.intern(outcome.raw)
        return [None, outcome.stage, outcome.kind, texts.intern(outcome.message), raw]

    shown: list[dict[str, Any]] = []
    for answer in collect_answers(samples, results, imaps, metrics=metrics):
        sample = answer.sample
        shown.append(
            {
                "id": sample.id,
                "system": system_label(sample),
                "lang": sample.lang,
                "question": texts.intern(sample.question),
                "references": [texts.intern(reference) for reference in sample.references],
                "response": texts.intern(sample.response),
                "ratings": dict(sample.ratings),
                "columns": [_show_cell(sample.meta.get(name)) for name in columns],
                "imaps": [imap_to_page_data(record, sample, texts.intern) for record in answer.records],
                "reason": texts.intern(answer.reason),
                "scores": [show_outcome(answer.outcomes[metric]) for metric in metrics],
            }
        )
    low_is_good = [name in registry.names() and not registry.get(name).higher_is_better for name in metrics]
    return {
        "metrics": list(metrics),
        "axes": [[axes[name].low, axes[name].high, int(low)] for name, low in zip(metrics, low_is_good, strict=True)],
        "columns": columns,
        "samples": shown,
        "texts": list(texts.numbers),
    }


def metric_axes(
    results: Iterable[Result], metrics: Sequence[str], spans: Mapping[str, Sequence[float | None]]
) -> dict[str, Axis]:
    """Return the axis of each metric from its outcomes and its range, where that is known."""
    values: dict[str, list[float]] = {name: [] for name in metrics}
    for result in results:
        if isinstance(result.outcome, Score) and result.metric in values:
            values[result.metric].append(result.outcome.value)
    return find_axes(values, spans)


def find_axes(values: Mapping[str, Sequence[float]], spans: Mapping[str, Sequence[float | None]]) -> dict[str, Axis]:
    """Return the axis of each metric from its scores, NaN where there is none, and its range, where it is known."""
    axes: dict[str, Axis] = {}
    for name, of_metric in values.items():
        scores = np.asarray(of_metric, dtype=np.float64)
        scores = scores[~np.isnan(scores)]
        ends = [float(scores.min()), float(scores.max())] if len(scores) else []
        axes[name] = Axis.of_metric(spans.get(name, (None, None)), ends)
    return axes


def dump_for_script(payload: Any) -> str:
    """Write JSON for a script element: nothing in it can end the element."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in _UNSAFE:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _show_cell(value: Any) -> str | float | None:
    """Return a cell as the page shows it: text, or a number to filter by."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and abs(value) > 2**53:  # JavaScript would round it
        return str(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return value
    return json.dumps(value, ensure_ascii=False)
