"""Builds samples from rows, and checks every value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn, cast, get_args

from imapeval.errors import InputError
from imapeval.evaluation.samples import dialogue
from imapeval.evaluation.samples.rows import (
    SPREADSHEET_ERRORS,
    Row,
    UnusableCell,
    error_at,
    is_blank,
    is_missing,
    list_columns,
    read_number_of,
    short_repr,
)
from imapeval.text.language import detect_lang
from imapeval.types import Failure, Lang, Sample, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from imapeval.evaluation.samples.columns import Columns

_LANGS: tuple[Lang, ...] = get_args(Lang)


def make_sample(fields: Mapping[str, Any], columns: Columns) -> Sample:
    """Return the sample of one row in memory, with the checks of `read`; its id may be "". A bad one has a `fault`."""
    ((sample, _),) = SampleBuilder(None, columns).build_all(Row(1, 0, fields), strict=False)
    return sample


class SampleBuilder:
    """Builds the samples of one source.

    Args:
        source: The file; None without one.
        columns: Its columns.
        missing: Texts that mean that there is no response.
    """

    def __init__(self, source: str | None, columns: Columns, *, missing: Iterable[str] = ()) -> None:
        self._source = source
        self._columns = columns
        self._missing = {text.strip() for text in ([missing] if isinstance(missing, str) else missing)}
        self._has_responses = columns.has("response")

    def build_all(self, row: Row, *, strict: bool) -> list[tuple[Sample, InputError | None]]:
        """Return the samples of a row, one for each system; a bad one with the reason.

        Raises:
            InputError: A sample is bad, and `strict` is set.
        """
        made: list[tuple[Sample, InputError | None]] = []
        for system in self._columns.systems or (None,):
            try:
                if row.error is not None:
                    raise row.error
                made.append((self.build(row, system=system), None))
            except InputError as error:
                if strict:
                    raise
                made.append((self._build_bad(row, error, system=system), error))
        return made

    def build(self, row: Row, *, system: str | None = None) -> Sample:
        """Return the sample of a row, for one of several systems.

        Raises:
            InputError: The row is bad.
        """
        fields, meta = self._columns.split(row.fields, system=system)
        turns: tuple[Turn, ...] = ()
        if is_missing(fields.get("turns")):
            question = self._text(row, fields, "question")
            if not self._has_responses:
                self._fail_missing(row, "response")
            response = self._response(row, fields)
            lang = self._lang(row, fields, question)
        else:
            before, response = self._dialogue(row, fields)
            lang = self._lang(row, fields, " ".join(turn.content for turn in before))
            question = dialogue.join_turns(before, lang=lang)
            turns = before if response is None else (*before, Turn("assistant", response))
        return Sample(
            id=self._id(row, fields),
            question=question,
            references=self._references(row, fields),
            response=response or "",
            lang=lang,
            system=self._optional_text(row, fields, "system"),
            ratings=self._ratings(row, fields),
            meta=_to_plain(meta),
            turns=turns,
            answered=response is not None,
        )

    def _build_bad(self, row: Row, error: InputError, *, system: str | None) -> Sample:
        """Return the sample of a row that cannot be read, with those of its fields that are texts."""
        fields, meta = self._columns.split(row.fields, system=system)
        try:
            references = self._references(row, fields)  # so that the question is that of the other systems' answers
        except InputError:
            references = ()
        texts = {name: value for name, value in fields.items() if isinstance(value, str) and _is_valid_unicode(value)}
        return Sample(
            id="" if is_missing(fields.get("id")) else str(fields["id"]),
            question=texts.get("question", ""),
            references=references,
            response=texts.get("response", ""),
            lang=detect_lang(texts.get("question", "")),
            system=texts.get("system", ""),
            meta=_to_plain(meta),
            fault=Failure("sample", "bad-input", str(error)),
        )

    def _response(self, row: Row, fields: Mapping[str, Any]) -> str | None:
        """Return the response, which may be empty; None if there is none."""
        value = fields.get("response")
        if is_missing(value) and (value != "" or not row.has_null):
            return None
        # This comes before errors are refused, because "#N/A" may stand for a missing response. A formula without a
        # value has no text.
        if isinstance(value, str | UnusableCell) and str(value) and self._none_if_missing(str(value)) is None:
            return None
        return self._none_if_missing(self._optional_text(row, fields, "response"))

    def _none_if_missing(self, text: str) -> str | None:
        return None if text.strip() in self._missing else text

    def _dialogue(self, row: Row, fields: Mapping[str, Any]) -> tuple[tuple[Turn, ...], str | None]:
        if self._optional_text(row, fields, "question").strip():
            self._fail(row, "there are both 'question' and 'turns'", fix="Keep one of them.")
        column = self._response(row, fields)
        try:
            turns = dialogue.read_turns(fields["turns"])
            before, response = dialogue.split_response(turns, column, may_be_absent=self._has_responses)
        except InputError as error:
            self._fail(row, error.problem, fix=error.fix)
        for turn in before:
            self._require_valid_unicode(row, "dialogue", turn.content)
        return before, None if response is None else self._none_if_missing(
            self._require_valid_unicode(row, "response", response)
        )

    def _lang(self, row: Row, fields: Mapping[str, Any], question: str) -> Lang:
        lang = self._optional_text(row, fields, "lang") or detect_lang(question)
        if lang not in _LANGS:
            self._fail(
                row,
                f"unknown lang {lang!r}",
                fix=f"Write one of {', '.join(_LANGS)}, or leave it out. As 'other', any language is scored by metrics "
                "that count words and characters, such as rouge1, bleu, chrf and token-f1; the rest lacks its graph, "
                "extractor, stems or prompts.",
            )
        return lang

    def _id(self, row: Row, fields: Mapping[str, Any]) -> str:
        value = fields.get("id")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self._optional_text(row, fields, "id")

    def _text(self, row: Row, fields: Mapping[str, Any], name: str) -> str:
        if name not in fields:
            self._fail_missing(row, name)
        text = self._optional_text(row, fields, name)
        if not text.strip():
            self._fail(row, f"the {name} is empty", fix="Fill it in or remove the row.")
        return text

    def _optional_text(self, row: Row, fields: Mapping[str, Any], name: str) -> str:
        value = self._as_text(row, fields.get(name), name)
        if is_missing(value):
            return ""
        if not isinstance(value, str):
            self._fail(row, f"the {name} is not a text but {short_repr(value)}", fix="Write a text.")
        return self._require_valid_unicode(row, name, value)

    def _as_text(self, row: Row, value: Any, name: str) -> Any:
        """Return a number as text, because a spreadsheet stores the text "5" as a number."""
        self._require_usable(row, value, name)
        return str(value) if isinstance(value, int | float) and not row.has_null else value

    def _require_usable(self, row: Row, value: Any, name: str) -> None:
        """Refuse what a spreadsheet shows in place of a value; a sheet saved as CSV contains it as text."""
        if isinstance(value, UnusableCell):
            problem = value.problem
        elif not row.has_null and isinstance(value, str) and value.strip() in SPREADSHEET_ERRORS:
            problem = f"the {name} is {value.strip()}, a spreadsheet error"
        else:
            return
        self._fail(row, problem, fix="Write the value itself into the cell.")

    def _require_valid_unicode(self, row: Row, name: str, text: str) -> str:
        if not _is_valid_unicode(text):
            self._fail(row, f"the {name} has a lone surrogate, half a character", fix="Write the character whole.")
        return text

    def _references(self, row: Row, fields: Mapping[str, Any]) -> tuple[str, ...]:
        many = fields.get("references")
        if is_blank(many):
            many = []
        if isinstance(many, list):
            many = [self._as_text(row, text, "reference") for text in cast("list[Any]", many)]
        if isinstance(fields.get("reference"), list) and many == []:
            reference, many = "", fields["reference"]
        else:
            reference = self._optional_text(row, fields, "reference")
        if isinstance(many, str):
            try:
                many = json.loads(many)
            except (ValueError, RecursionError):
                self._fail(
                    row,
                    f"the references {short_repr(many)} are not a JSON list",
                    fix='Write a list such as ["one", "two"].',
                )
        if not isinstance(many, list):
            self._fail(row, f"the references are not a list but {short_repr(many)}", fix="Write a list of texts.")
        texts = cast("list[Any]", many)
        if not texts:
            return (reference,) if reference.strip() else ()
        if reference.strip():
            self._fail(row, "there are both 'reference' and 'references'", fix="Keep one of them.")
        for text in texts:
            if not isinstance(text, str) or not text.strip():
                self._fail(row, f"a reference is empty or not a text: {short_repr(text)}", fix="Write texts.")
        return tuple(self._require_valid_unicode(row, "reference", text) for text in texts)

    def _ratings(self, row: Row, fields: Mapping[str, Any]) -> dict[str, float]:
        nested = fields.get("ratings")
        if is_missing(nested):
            nested = {}
        if not isinstance(nested, dict):
            self._fail(
                row,
                f"ratings is not an object but {short_repr(nested)}",
                fix='Write {"accuracy": 4.5} or use ratings.accuracy.',
            )
        ratings = dict(cast("dict[str, Any]", nested))
        ratings |= {
            name.removeprefix("ratings."): value for name, value in fields.items() if name.startswith("ratings.")
        }
        return {
            dimension: self._rating(row, dimension, value)
            for dimension, value in ratings.items()
            if not is_blank(value)
        }

    def _rating(self, row: Row, dimension: str, value: Any) -> float:
        self._require_usable(row, value, f"rating {dimension!r}")
        number = read_number_of(row, value)
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
        if row.file and (taken := self._columns.sources.get(name)):
            self._fail(
                row,
                f"there is no column {taken[0]!r}, which is the {name} in another file; the columns are "
                f"{list_columns(row.fields)}",
                fix="Give the columns the same names in all files, or score each file by itself, with --map, and "
                "compare the runs.",
            )
        absent = [
            other
            for other in ("question", "response")
            if other == name or not any(map(self._columns.has, (other, "turns")))
        ]
        options = [f"--map {other}=<column>" for other in absent]
        more = ""
        if len(absent) > 1 and not any(map(self._columns.has, ("reference", "references"))):
            more = " --map reference=<column> (the reference is optional)"
        self._fail(
            row,
            f"there is no column {' or '.join(map(repr, absent))}; the columns are {list_columns(row.fields)}",
            fix=f"Say which {'they are' if len(absent) > 1 else 'column it is'} with {' '.join(options)}{more}.",
        )

    def _fail(self, row: Row, problem: str, *, fix: str) -> NoReturn:
        raise error_at(row, self._source, problem, fix=fix)


def _is_valid_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _to_plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, UnusableCell) else value for name, value in fields.items()}
