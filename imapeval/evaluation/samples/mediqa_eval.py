"""Loads the rated answers of MEDIQA-EVAL 2026: CSV with one row per answer, dimension and rater."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import Row, error_at, list_columns, read_number
from imapeval.text.language import FACT_LANGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from imapeval.evaluation.samples.rows import ReadOptions

_COLUMNS = (
    *("dataset", "encounter_id", "lang", "candidate", "candidate_author_id"),
    *("metric", "label", "query_text", "gold_texts"),
)

_REVERSED = "disagree_flag"
"""A dimension in which 1 means that the rater disagrees with the answer."""


@dataclass
class _Answer:
    """An answer, with its references and its ratings by dimension."""

    line: int
    fields: Mapping[str, Any]
    references: dict[str, None] = field(default_factory=dict[str, None])
    ratings: dict[str, list[float]] = field(default_factory=dict[str, list[float]])


def load_mediqa_eval(source: str, options: ReadOptions) -> Iterator[Row]:
    """Yield the answers of a file of rated rows; answers of one author to one question differ by their texts.

    Ids are `<dataset>-<encounter>-<lang>-<author>`, with "-2" and so on for further texts. The references are the
    different texts of `gold_texts`. A rating is the mean over the raters; of `disagree_flag` it is 1 minus the label,
    so that 1 is good in every dimension. `dataset` and `encounter_id` go to `meta`.

    The task ranks systems by language: `FILE:en` and `FILE:zh` are the answers in one of them.

    Raises:
        InputError: A column is missing, a label is not a number in 0..1, or `gold_texts` is not a JSON list of texts.
    """
    name, wanted = split_language(source)
    path = Path(name)
    answers: dict[tuple[str, str], _Answer] = {}
    texts_by_id: dict[str, int] = {}
    # Always strict, because leaving out a rating would change a mean.
    for row in read_file(name, replace(options, strict=True), kind="csv"):
        if missing := [column for column in _COLUMNS if column not in row.fields]:
            raise error_at(
                row,
                path,
                f"there is no column {missing[0]!r}; the columns are {list_columns(row.fields)}",
                fix="Give the rated rows of MEDIQA-EVAL, or leave out the loader.",
            )
        text = {column: str(row.fields[column]) for column in _COLUMNS}
        if wanted and text["lang"] != wanted:
            continue
        id_ = "-".join(text[name] for name in ("dataset", "encounter_id", "lang", "candidate_author_id"))
        answer = answers.get((id_, text["candidate"]))
        if answer is None:
            texts_by_id[id_] = number = texts_by_id.get(id_, 0) + 1
            fields = {
                "id": id_ if number == 1 else f"{id_}-{number}",
                "question": text["query_text"],
                "response": text["candidate"],
                "system": text["candidate_author_id"],
                "lang": text["lang"],
                "dataset": text["dataset"],
                "encounter_id": text["encounter_id"],
            }
            answer = answers[id_, text["candidate"]] = _Answer(row.line, fields)
        answer.references |= dict.fromkeys(_read_references(text["gold_texts"], path, row))
        if text["label"].strip():
            answer.ratings.setdefault(text["metric"], []).append(_read_label(text, path, row))
    if wanted and not answers:
        raise InputError(
            f"there is no answer in the language {wanted!r}",
            path=path,
            fix=f'Leave out ":{wanted}" to read the answers in all languages.',
        )
    for number, answer in enumerate(answers.values(), 1):
        ratings = {f"ratings.{dimension}": fmean(labels) for dimension, labels in answer.ratings.items()}
        yield Row(number, answer.line, {**answer.fields, "references": [*answer.references], **ratings})


def split_language(source: str) -> tuple[str, str]:
    """Return the file of a source `FILE:LANG`, and the language; "" without one."""
    name, _, lang = source.rpartition(":")
    return (source, "") if lang not in FACT_LANGS or Path(source).exists() else (name, lang)


def _read_references(text: str, path: Path, row: Row) -> list[str]:
    try:
        texts: Any = json.loads(text)
    except (ValueError, RecursionError):
        texts = None
    found = cast("list[Any]", texts) if isinstance(texts, list) else None
    if found is None or not all(isinstance(reference, str) for reference in found):
        raise error_at(
            row,
            path,
            f"gold_texts is not a list of texts but {text[:40]!r}",
            fix='Write a JSON list, such as ["first reference", "second reference"].',
        )
    return [reference for reference in found if reference.strip()]


def _read_label(fields: Mapping[str, str], path: Path, row: Row) -> float:
    label = read_number(fields["label"])
    if label is None or not 0 <= label <= 1:
        raise error_at(row, path, f"the label {fields['label']!r} is not in 0..1", fix="Write 0, 0.5 or 1.")
    return 1 - label if fields["metric"] == _REVERSED else label
