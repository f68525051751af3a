"""Reads files of preferences: which of two systems' answers to a question a person preferred.

A table (.csv, .jsonl, .json, .parquet and so on) with a row per judgement and the columns

- `question`: its text, or the id of an answer to it;
- `a`, `b` (or `system_a`, `model_a` and so on): the systems;
- `winner`: the name of one of them, or a, b or tie (also `model_a`, `tie (bothbad)` and so on).

Several people may judge the same two answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import InputError
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import short_repr
from imapeval.study.data.ratings.source import RatingsSource
from imapeval.study.intervals.bootstrap import number_clusters

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from imapeval.evaluation.samples.rows import Row
    from imapeval.study.arrays import Counts, Floats

_QUESTION = ("question", "question_id", "id")
_SIDES = {side: (side, f"system_{side}", f"model_{side}") for side in "ab"}
_TIES = ("tie", "tie (bothbad)", "tie (both bad)", "both_bad", "bothbad", "both", "neither", "equal", "draw")


@dataclass(frozen=True, slots=True)
class Preferences:
    """Judgements of pairs of answers, k of them.

    Attributes:
        questions: The q questions, as named in the file.
        systems: Names of the systems, in the order of the file.
        question: The question of each judgement, as an index of `questions`, shape (k,).
        first, second: The systems, as indexes of `systems`, shape (k,).
        outcome: 1 if the first system's answer was preferred, 0 if the second's was, .5 for a tie; shape (k,).
    """

    questions: tuple[str, ...]
    systems: tuple[str, ...]
    question: Counts
    first: Counts
    second: Counts
    outcome: Floats


def read_preferences(path: Path) -> Preferences:
    """Read a file of preferences; see the module's docstring.

    Raises:
        InputError: The content is invalid; the message names file, line (or record) and the fix.
    """
    rows = tuple(read_file(str(path)))
    if not rows:
        raise InputError("there are no rows", path=path, fix="Give a row for each judgement.")
    source = RatingsSource(path, rows)
    found = [_read(row, source) for row in rows]
    questions = [question for question, _, _, _ in found]
    systems = list(dict.fromkeys(name for _, a, b, _ in found for name in (a, b)))
    return Preferences(
        tuple(dict.fromkeys(questions)),
        tuple(systems),
        number_clusters(questions),
        np.array([systems.index(a) for _, a, _, _ in found], dtype=np.int64),
        np.array([systems.index(b) for _, _, b, _ in found], dtype=np.int64),
        np.array([outcome for *_, outcome in found], dtype=np.float64),
    )


def _read(row: Row, source: RatingsSource) -> tuple[str, str, str, float]:
    question = _find(row, source, "question", _QUESTION)
    a, b = (_find(row, source, side, names) for side, names in _SIDES.items())
    winner = _find(row, source, "winner", ("winner",))
    if a == b:
        raise source.error_at(f"both systems are {a!r}", row, fix="Compare two systems.")
    # A system's own name takes precedence over words such as "a" or "tie".
    outcomes = {a: 1.0, b: 0.0}
    for side, value in (("a", 1.0), ("b", 0.0)):
        outcomes |= {name: value for name in _SIDES[side] if name not in outcomes}
    outcomes |= {name: 0.5 for name in _TIES if name not in outcomes}
    outcome = outcomes.get(winner, outcomes.get(winner.casefold()))
    if outcome is None:
        raise source.error_at(
            f"the winner is {short_repr(winner)}", row, fix=f"Write {a[:60]}, {b[:60]} or tie, or a or b."
        )
    return question, a, b, outcome


def _find(row: Row, source: RatingsSource, what: str, names: tuple[str, ...]) -> str:
    fields: Mapping[str, Any] = row.fields
    column = next((name for name in names if name in fields), None)
    value = None if column is None else fields[column]
    source.require_usable(value, row)
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise source.error_at(
        f"there is no column {what!r}" if column is None else f"the column {column!r} is {short_repr(value)}",
        row,
        fix="Give the columns question, a, b and winner.",
    )
