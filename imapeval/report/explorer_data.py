"""The data that the script of a page reads: samples, facts and scores, with each text stored once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from imapeval.evaluation.samples import system_label
from imapeval.explain.facts import imap_to_page_data
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Result
    from imapeval.types import Outcome, Sample

_UNSAFE = ("<", ">", "&", "\u2028", "\u2029")
"""Characters that could end a script element or a line in it. In JSON they occur only in strings, as escapes."""


class _TextTable:
    """A table of texts, each stored once: systems share questions, and values share evidence."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def intern(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def collect_explorer_data(
    samples: Sequence[Sample], results: Sequence[Result], imaps: Sequence[ImapRecord], *, metrics: Sequence[str]
) -> dict[str, Any]:
    """Return what the page's script needs.

    Returns:
        `metrics`: names; `texts`: the table that numbers refer to; `samples`: per sample `id`, `system`, `lang`,
        `task`, `question`, `references`, `response`, `ratings`, `imaps` (see `show_imap`), and `scores`, one per
        metric: null where there is no outcome, [value, parts] or [null, "stage", "kind", message, raw text | null].
    """
    texts = _TextTable()
    outcomes = {(result.id, result.metric): result.outcome for result in results}
    imaps_by_id: dict[str, list[ImapRecord]] = {}
    for record in imaps:
        imaps_by_id.setdefault(record.id, []).append(record)

    def show_outcome(outcome: Outcome | None) -> list[Any] | None:
        if outcome is None:
            return None
        if isinstance(outcome, Score):
            return [round(outcome.value, 4), {name: round(value, 4) for name, value in outcome.parts.items()}]
        raw = None if outcome.raw is None else texts.intern(outcome.raw)
        return [None, outcome.stage, outcome.kind, texts.intern(outcome.message), raw]

    shown = [
        {
            "id": sample.id,
            "system": system_label(sample),
            "lang": sample.lang,
            "task": _task_of(sample),
            "question": texts.intern(sample.question),
            "references": [texts.intern(reference) for reference in sample.references],
            "response": texts.intern(sample.response),
            "ratings": dict(sample.ratings),
            "imaps": [imap_to_page_data(record, sample, texts.intern) for record in imaps_by_id.get(sample.id, ())],
            "scores": [show_outcome(outcomes.get((sample.id, metric))) for metric in metrics],
        }
        for sample in samples
    ]
    return {"metrics": list(metrics), "samples": shown, "texts": list(texts.numbers)}


def dump_for_script(payload: Any) -> str:
    """Write JSON for a script element: nothing in it can end the element."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in _UNSAFE:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _task_of(sample: Sample) -> str:
    task = sample.meta.get("task")
    return task if isinstance(task, str) else ""
