"""Turns rows into samples: column mapping and all checks, for every loader."""

from __future__ import annotations

import dataclasses
import json
import math
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast, get_args

from imapeval import _resources
from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples import dialogue
from imapeval.evaluation.samples.loaders import choose_loader
from imapeval.evaluation.samples.rows import Row, list_columns, read_number, short_repr
from imapeval.text.language import detect_lang
from imapeval.types import Lang, Sample, Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_COLUMNS = ("id", "question", "turns", "reference", "references", "response", "system", "lang")
_LANGS: tuple[Lang, ...] = get_args(Lang)


def read(
    path: str | Path,
    *,
    loader: str | None = None,
    columns: Mapping[str, str] | None = None,
    missing: Iterable[str] = (),
    limit: int | None = None,
) -> list[Sample]:
    """Read samples.

    Columns: `id`, `question`, `response`, and optionally `reference` (text) or `references` (list; in CSV a JSON list),
    `system`, `lang` and ratings, as `ratings.<dimension>` or as an object `ratings`. Every other column goes to `meta`.
    If no row has an id, the row numbers are the ids. Without `lang`, the language is detected from the question's
    script. Samples without a reference are allowed; metrics that need one fail for them with a reason.

    An empty response is an answer and is scored. A missing response is not scored: null, NaN (which pandas writes for
    it), an empty cell in CSV, a row without the column that others have, or a text listed in `missing`.

    In place of `question` there may be `turns`, a dialogue in a form that `read_turns` accepts (in CSV as JSON). Its
    last turn is the response if it is the assistant's; otherwise the response is the column `response`.

    Args:
        path: A file, the name of a shipped sample, or what the loader takes (`hf:NAME:SPLIT`).
        loader: A name in `LOADERS`; None chooses by file type.
        columns: Column mapping for data with other names: our name -> the data's name.
        missing: Texts that mean that there is no response, such as "N/A"; surrounding white space is ignored.
        limit: Maximum number of samples; later rows are neither read nor checked. None reads all.

    Returns:
        The samples in the order of the data, at least one.

    Raises:
        InputError: The content is invalid; names file, line and fix.
        UsageError: The loader is unknown, or the mapping names an unknown column of ours.
        MissingExtraError: The loader needs a package that is not installed.
    """
    source = resolve_source(path)
    wanted = dict(columns or {})
    if unknown := [name for name in wanted if name not in _COLUMNS and not name.startswith("ratings.")]:
        raise UsageError(f"cannot map to {unknown[0]!r}. Columns: {', '.join(_COLUMNS)}, ratings.<dimension>.")
    rows = list(islice(choose_loader(source, loader)(source), limit))
    if not rows:
        raise InputError("there are no rows", path=source, fix="Give a file with at least one row.")
    names = dict.fromkeys(name for row in rows for name in row.fields)
    _check_column_mapping(wanted, names, source=source)
    builder = _SampleBuilder(source, wanted, names=names, missing=missing)
    samples = [builder.build(row) for row in rows]
    return _assign_ids(samples, rows, source=source)


def make_sample(fields: Mapping[str, Any], *, columns: Collection[str]) -> Sample:
    """Return the sample of one row in memory, with the columns and checks of `read`; its id may be "".

    Args:
        fields: The row.
        columns: The columns of this row and of the rows that came with it.

    Raises:
        InputError: The content is invalid.
    """
    return _SampleBuilder(None, {}, names=columns).build(Row(1, 0, fields))


def shipped_samples() -> dict[str, Path]:
    """Return the files of the sample data that ships with imapeval, by name."""
    return {path.stem: path for path in sorted(_resources.find("datasets").glob("*.jsonl"))}


def resolve_source(path: str | Path) -> str:
    """Return the source as loaders take it; the name of shipped sample data becomes its file."""
    source = str(path)
    if Path(source).suffix or Path(source).exists():
        return source
    return str(shipped_samples().get(source, source))


class _SampleBuilder:
    """Builds the samples of one source.

    Args:
        source: The file; None without one.
        columns: Column mapping: our name -> the data's name.
        names: The columns of all rows.
        missing: Texts that mean that there is no response.
    """

    def __init__(
        self, source: str | None, columns: Mapping[str, str], *, names: Collection[str], missing: Iterable[str] = ()
    ) -> None:
        self._source = source
        self._columns = columns
        self._missing = {text.strip() for text in missing}
        self._has_responses = columns.get("response", "response") in names

    def build(self, row: Row) -> Sample:
        mapped = set(self._columns.values())
        fields = {name: value for name, value in row.fields.items() if name not in mapped}
        ours = {name: row.fields[column] for name, column in self._columns.items() if column in row.fields}
        for name in list(fields):
            if name not in self._columns and (name in _COLUMNS or name == "ratings" or name.startswith("ratings.")):
                ours[name] = fields.pop(name)
        turns: tuple[Turn, ...] = ()
        if ours.get("turns") in (None, ""):
            question = self._text(row, ours, "question")
            if not self._has_responses:
                self._fail_missing(row, "response")
            response = self._response(row, ours)
            lang = self._lang(row, ours, question)
        else:
            before, response = self._dialogue(row, ours)
            lang = self._lang(row, ours, " ".join(turn.content for turn in before))
            question = dialogue.join_turns(before, lang=lang)
            turns = before if response is None else (*before, Turn("assistant", response))
        return Sample(
            id=self._id(row, ours),
            question=question,
            references=self._references(row, ours),
            response=response or "",
            lang=lang,
            system=self._optional_text(row, ours, "system"),
            ratings=self._ratings(row, ours),
            meta=fields,
            turns=turns,
            answered=response is not None,
        )

    def _response(self, row: Row, ours: Mapping[str, Any]) -> str | None:
        """Return the response, which may be empty; None if there is none."""
        value = ours.get("response")
        if (isinstance(value, float) and math.isnan(value)) or value is None or (value == "" and not row.has_null):
            return None
        return self._none_if_missing(self._optional_text(row, ours, "response"))

    def _none_if_missing(self, text: str) -> str | None:
        return None if text.strip() in self._missing else text

    def _dialogue(self, row: Row, ours: Mapping[str, Any]) -> tuple[tuple[Turn, ...], str | None]:
        if self._optional_text(row, ours, "question").strip():
            self._fail(row, "there are both 'question' and 'turns'", fix="Keep one of them.")
        apart = self._response(row, ours)
        try:
            turns = dialogue.read_turns(ours["turns"])
            before, response = dialogue.split_response(turns, apart, may_be_absent=self._has_responses)
        except InputError as error:
            self._fail(row, error.problem, fix=error.fix)
        for turn in before:
            self._require_valid_unicode(row, "dialogue", turn.content)
        return before, None if response is None else self._none_if_missing(
            self._require_valid_unicode(row, "response", response)
        )

    def _lang(self, row: Row, ours: Mapping[str, Any], question: str) -> Lang:
        lang = self._optional_text(row, ours, "lang") or detect_lang(question)
        if lang not in _LANGS:
            self._fail(row, f"unknown lang {lang!r}", fix=f"Write {' or '.join(_LANGS)}, or leave it out.")
        return lang

    def _id(self, row: Row, ours: Mapping[str, Any]) -> str:
        value = ours.get("id")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self._optional_text(row, ours, "id")

    def _text(self, row: Row, ours: Mapping[str, Any], name: str) -> str:
        if name not in ours:
            self._fail_missing(row, name)
        text = self._optional_text(row, ours, name)
        if not text.strip():
            self._fail(row, f"the {name} is empty", fix="Fill it in or remove the row.")
        return text

    def _optional_text(self, row: Row, ours: Mapping[str, Any], name: str) -> str:
        value = ours.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            self._fail(row, f"the {name} is not a text but {short_repr(value)}", fix="Write a text.")
        return self._require_valid_unicode(row, name, value)

    def _require_valid_unicode(self, row: Row, name: str, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            self._fail(
                row,
                f"the {name} has a lone surrogate, half a character ({text[error.start]!r})",
                fix="Write the character whole.",
            )
        return text

    def _references(self, row: Row, ours: Mapping[str, Any]) -> tuple[str, ...]:
        one, many = self._optional_text(row, ours, "reference"), ours.get("references")
        if many is None or many == "":
            return (one,) if one.strip() else ()
        if one:
            self._fail(row, "there are both 'reference' and 'references'", fix="Keep one of them.")
        if isinstance(many, str):
            try:
                many = json.loads(many)
            except ValueError:
                self._fail(
                    row,
                    f"the references {short_repr(many)} are not a JSON list",
                    fix='Write a list such as ["one", "two"].',
                )
        if not isinstance(many, list):
            self._fail(row, f"the references are not a list but {short_repr(many)}", fix="Write a list of texts.")
        texts = cast("list[Any]", many)
        for text in texts:
            if not isinstance(text, str) or not text.strip():
                self._fail(row, f"a reference is empty or not a text: {short_repr(text)}", fix="Write texts.")
        return tuple(self._require_valid_unicode(row, "reference", text) for text in texts)

    def _ratings(self, row: Row, ours: Mapping[str, Any]) -> dict[str, float]:
        nested = ours.get("ratings")
        if nested is not None and not isinstance(nested, dict):
            self._fail(
                row,
                f"ratings is not an object but {short_repr(nested)}",
                fix='Write {"accuracy": 4.5} or use ratings.accuracy.',
            )
        given = dict(cast("dict[str, Any]", nested or {}))
        given |= {name.removeprefix("ratings."): value for name, value in ours.items() if name.startswith("ratings.")}
        return {
            dimension: self._rating(row, dimension, value)
            for dimension, value in given.items()
            if value not in (None, "")
        }

    def _rating(self, row: Row, dimension: str, value: Any) -> float:
        number = read_number(value)
        if number is None:
            self._fail(
                row,
                f"the rating {dimension!r} is not a number but {short_repr(value)}",
                fix="Write a number or leave it empty.",
            )
        return number

    def _fail_missing(self, row: Row, name: str) -> NoReturn:
        if self._source is None:
            self._fail(row, f"there is no {name}", fix=f"Give a {name}.")
        self._fail(
            row,
            f"there is no column {name!r}; the columns are {list_columns(row.fields)}",
            fix=f"Say which column it is with --map {name}=<column>.",
        )

    def _fail(self, row: Row, problem: str, *, fix: str) -> NoReturn:
        raise InputError(problem, path=row.file or self._source, line=row.line or None, fix=fix)


def _check_column_mapping(columns: Mapping[str, str], names: Collection[str], *, source: str) -> None:
    for name, column in columns.items():
        if column not in names:
            raise InputError(
                f"{name!r} is mapped to the column {column!r}, which no row has; the columns are {list_columns(names)}",
                path=source,
                fix=f"Correct --map {name}={column}.",
            )


def _assign_ids(samples: list[Sample], rows: list[Row], *, source: str) -> list[Sample]:
    """Use row numbers as ids if no row has an id; otherwise reject missing and duplicate ids."""
    if not any(sample.id for sample in samples):
        return [dataclasses.replace(sample, id=str(row.number)) for sample, row in zip(samples, rows, strict=True)]
    seen: dict[str, int] = {}
    for sample, row in zip(samples, rows, strict=True):
        if not sample.id:
            raise InputError(
                "this row has no id, but others have", path=source, line=row.line, fix="Give every row an id, or none."
            )
        if sample.id in seen:
            raise InputError(
                f"the id {sample.id!r} is on line {seen[sample.id]} and again on line {row.line}",
                path=source,
                line=row.line,
                fix="Make ids unique, for example by adding the system's name.",
            )
        seen[sample.id] = row.line
    return samples


def system_label(sample: Sample) -> str:
    """Return the system as reports show it: with its dataset if the data names one, such as "HMedQA/GPT-4"."""
    dataset = sample.meta.get("dataset")
    return f"{dataset}/{sample.system}" if isinstance(dataset, str) and dataset else sample.system
