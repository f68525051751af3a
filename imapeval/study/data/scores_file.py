"""Scores that another tool computed, as metrics of a study.

    wide: a row per answer, a column per metric          long: a row per score
          id,bertscore,our-judge                               id,metric,value
          a1,0.91,3.5                                          a1,bertscore,0.91

All table formats that ratings can have are read. Columns of a wide table are ignored if they are named like a
field of a sample, such as "response", or have no number in any row.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.ids import list_first
from imapeval.evaluation.samples.columns import NAMES
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import list_columns, read_number_of
from imapeval.files import refuse_stream
from imapeval.study.data.rated import round_score
from imapeval.study.data.ratings.source import RatingsSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from imapeval.evaluation.samples.rows import Row
    from imapeval.study.data.rated import Rated
    from imapeval.study.systems.answers import SystemAnswers

_METRIC, _VALUES = "metric", ("value", "score")
_SIGNATURE = "file|sha256:"

Answers = TypeVar("Answers", "Rated", "SystemAnswers")
"""Answers and their scores by each metric."""


@dataclass(frozen=True, slots=True)
class ImportedScores:
    """The content of a file of scores.

    Attributes:
        scores: Score by id, by metric.
        signature: Signature that identifies the file's content.
    """

    path: Path
    scores: Mapping[str, Mapping[str, float]]
    signature: str

    @property
    def ids(self) -> dict[str, None]:
        """The ids that have a score by any of the metrics, in the order of the file."""
        return dict.fromkeys(id_ for of_metric in self.scores.values() for id_ in of_metric)


def read_scores(path: Path) -> ImportedScores:
    """Read a file of scores; see the module's docstring.

    Empty cells, null, a NaN of JSON or Parquet, and "NA" or "N/A" mean no score. Higher scores count as better; negate
    them if lower is better.

    Raises:
        InputError: It is not a file, or its content is invalid; the message names the file, line (or record) and fix.
    """
    refuse_stream(path)  # its content is read twice
    rows = tuple(read_file(str(path)))
    source = RatingsSource(path, rows, kind="score")
    scores: dict[str, dict[str, float]] = {}
    for row, id_, metric, value in _iterate(source):
        own = scores.setdefault(metric, {})
        number = source.read_value(value, row, what=metric)
        if number is None:
            continue
        if id_ in own:
            fix = "Keep one of them"
            if system := row.fields.get("system"):
                fix += f"; if ids repeat between systems, write them as in the run, such as {id_[:60]}/{system}"
            raise source.error_at(f"{metric!r} already has a score for {id_[:60]!r}", row, fix=f"{fix}.")
        own[id_] = round_score(number)
    if not any(scores.values()):
        raise InputError(
            "there are no scores", path=path, fix="Give a column `id` and a column of numbers for each metric."
        )
    return ImportedScores(path, scores, f"{_SIGNATURE}{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}")


def _iterate(source: RatingsSource) -> Iterator[tuple[Row, str, str, object]]:
    columns = dict.fromkeys(name for row in source.rows for name in row.fields)
    value = next((name for name in _VALUES if name in columns), None)
    if _METRIC in columns and value is not None:
        for row in source.rows:
            metric = row.fields.get(_METRIC)
            if not isinstance(metric, str) or not metric.strip():
                raise source.error_at("the metric is not named", row, fix="Name it in every row.")
            yield row, source.read_id(row.fields, row), metric.strip(), row.fields.get(value)
        return
    metrics = [
        name
        for name in columns
        if name
        and name not in NAMES
        and any(read_number_of(row, row.fields.get(name)) is not None for row in source.rows)
    ]
    for row in source.rows:
        id_ = source.read_id(row.fields, row)
        for metric in metrics:
            yield row, id_, metric, row.fields.get(metric)


def add_scores(answers: Answers, imported: ImportedScores) -> Answers:
    """Return the answers with the metrics of a file added; NaN where it has no score.

    Raises:
        UsageError: The answers have a metric of the same name, no id is one of theirs, or an id of the file is that of
            two answers.
    """
    names = tuple(imported.scores)
    for name in names:
        if name in answers.metrics:
            raise UsageError(f"{imported.path}: there is a metric {name!r} already. Rename the column.")
    check_ids(imported, answers.ids)
    scored = imported.ids
    twice = [id_ for id_, times in Counter(answers.ids).items() if times > 1 and id_ in scored]
    if twice:
        raise UsageError(
            f"{imported.path}: several answers in these runs share an id ({list_first(twice)}), so that it is unknown "
            "whose score it is. Give every answer an id of its own."
        )
    columns = [[imported.scores[name].get(id_, np.nan) for id_ in answers.ids] for name in names]
    return replace(
        answers,
        metrics=(*answers.metrics, *names),
        scores=np.column_stack([answers.scores, *map(np.array, columns)]),
    )


def check_ids(imported: ImportedScores, ids: Sequence[str]) -> None:
    """Refuse a file in which no id is that of an answer.

    Raises:
        UsageError: No id is one of `ids`.
    """
    if imported.ids.keys().isdisjoint(ids):
        raise UsageError(
            f"{imported.path}: none of its ids, such as {list_columns(list(imported.ids)[:3])}, is one of the answers, "
            f"such as {list_columns(ids[:3])}. Give the ids of the run."
        )


def is_imported(signature: str) -> bool:
    """Return whether a signature is that of a file of scores."""
    return signature.startswith(_SIGNATURE)


def describe_matching(
    answers: Rated | SystemAnswers, imported: ImportedScores, *, unrated: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return sentences on the ids of a file that match no answer, and on the answers without a score in it.

    The ids in `unrated` are those of answers that were left out because nobody rated them.
    """
    ids_of_answers = answers.ids
    known = {*ids_of_answers, *unrated}
    strays = [id_ for id_ in imported.ids if id_ not in known]
    sentences: list[str] = []
    if strays:
        sentences.append(
            f"{imported.path}: {len(strays)} of {len(imported.ids)} ids are in no run and are left out: "
            f"{list_first(strays)}."
        )
    # Metrics with the same missing answers share a sentence.
    lacking: dict[tuple[str, ...], list[str]] = {}
    for metric, scores in imported.scores.items():
        lacking.setdefault(tuple(id_ for id_ in ids_of_answers if id_ not in scores), []).append(metric)
    for ids, metrics in lacking.items():
        if ids:
            sentences.append(
                f"{imported.path}: {len(ids)} of {len(ids_of_answers)} answers have no score by {', '.join(metrics)}: "
                f"{list_first(ids)}."
            )
    return tuple(sentences)
