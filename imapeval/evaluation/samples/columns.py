"""Maps columns of the data to the fields of a sample: as the user names them, by our names, or by common names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.ids import IdIndex
from imapeval.evaluation.samples.rows import UnusableCell, is_blank, list_columns
from imapeval.evaluation.samples.spool import Mapped
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set
    from pathlib import Path

    from imapeval.evaluation.samples.rows import Row

NAMES = ("id", "question", "turns", "reference", "references", "response", "system", "lang")

_USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("prompt", "query", "instruction", "input", "user_input", "问题"),
    "turns": ("messages", "conversation", "conversations", "dialogue", "dialog"),
    "response": (
        *("prediction", "predicted", "predicted_answer", "output", "completion", "generation", "generated_answer"),
        *("generated_text", "candidate", "model_output", "model_answer", "model_response", "回答", "模型回答"),
    ),
    "reference": (
        *("ground_truth", "gold", "gold_answer", "golden_answer", "reference_answer", "expected", "expected_output"),
        *("expected_answer", "target", "ideal", "correct_answer", "参考答案", "标准答案"),
    ),
    "references": ("ground_truths", "gold_answers", "reference_answers", "targets"),
    "system": ("model", "model_name", "模型"),
    "id": ("编号",),
}
"""Names of the columns in other datasets, in lower case."""

_ANSWER = ("answer", "答案")
"""Names that could be either the reference or the response."""

_NUMBERED_REFERENCE = re.compile(r"references?_?([0-9]{1,9})")

_REFERENCE_NAMES = frozenset({"reference", "references"})

_LISTS = _REFERENCE_NAMES | {"turns"}
"""Fields of a sample that may be lists."""

_ALTERNATIVES = {"question": "turns", "turns": "question", "reference": "references", "references": "reference"}
"""Fields of which a row has one or the other."""

_JSON_LIST = re.compile(r"\s*\[\s*[\[{\"\]]")
"""The beginning of a list of texts, objects or lists in JSON, which "[1] Smith 2020" is not."""

_ABSENT = object()

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a source.

    Attributes:
        sources: The columns of the data for each field of a sample. Several for a reference are several references.
        systems: Columns of responses, each named after its system, in place of a single column; () otherwise.
    """

    sources: Mapping[str, tuple[str, ...]]
    systems: tuple[str, ...] = ()

    def split(self, fields: Mapping[str, Any], *, system: str | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields of a sample in a row, the response being that of `system`, and all other fields."""
        sample_fields: dict[str, Any] = {}
        for name, columns in self.sources.items():
            whole = name in _LISTS
            values = [value for column in columns if (value := _look_up(fields, column, whole=whole)) is not _ABSENT]
            if len(columns) > 1:
                lists = [cast("list[Any]", value) if isinstance(value, list) else [value] for value in values]
                sample_fields["references"] = [value for some in lists for value in some if not is_blank(value)]
            elif values:
                sample_fields[name] = values[0]
        used = {column for columns in self.sources.values() for column in columns}.union(self.systems)
        if system is not None:
            sample_fields["system"] = system
            if (response := _look_up(fields, system)) is not _ABSENT:
                sample_fields["response"] = response
        return sample_fields, {name: value for name, value in fields.items() if name not in used}

    def has(self, name: str) -> bool:
        """Return whether there is a column for a field of a sample."""
        return name in self.sources or (name == "response" and bool(self.systems))


def choose_columns(
    rows: Sequence[Mapping[str, Any]],
    wanted: Mapping[str, str],
    *,
    path: Path | str | None = None,
    spreadsheet: bool = False,
) -> Columns:
    """Find the columns. Those that are found by a common name are logged.

    Args:
        rows: The fields of all rows.
        wanted: Field of a sample -> a column, a path into nested values ("answers.text", "choices.0.text"), or, for
            response and reference, several of them with commas between.
        path: The file or its URL; None without one.
        spreadsheet: Whether a number may be a text in every row, because a spreadsheet stores the text "5" as a number.

    Raises:
        UsageError: `wanted` names an unknown field.
        InputError: No row has a wanted column, or several columns could be the same field.
    """
    for name in wanted:
        if name not in NAMES and not name.startswith("ratings."):
            guess = f" Did you mean --map {wanted[name]}={name}?" if wanted[name] in NAMES else ""
            raise UsageError(f"cannot map to {name!r}. Columns: {', '.join(NAMES)}, ratings.<dimension>.{guess}")
    names = dict.fromkeys(name for row in rows for name in row)
    sources = {name: _resolve(name, text, names, rows, path) for name, text in wanted.items()}
    systems = sources.pop("response") if len(sources.get("response", ())) > 1 else ()
    used = {column for columns in sources.values() for column in columns}.union(systems)
    # What the user maps is the whole reference, in either spelling.
    settled = wanted.keys() | (_REFERENCE_NAMES if wanted.keys() & _REFERENCE_NAMES else set[str]())
    if systems:
        settled |= {"system"}  # each response's column names its system
    for name in names:
        is_field = name in NAMES or name == "ratings" or name.startswith("ratings.")
        if is_field and name not in used and name not in settled:
            sources[name] = (name,)
    if systems and (rated := next((name for name in sources if name.startswith("ratings")), None)):
        raise InputError(
            f"{rated!r} rates one response, but each row has those of {len(systems)} systems",
            path=path,
            fix="Write a row for each response, or give the ratings as a file of their own to `imapeval study`.",
        )
    known = {*used, *sources, *settled}
    finder = _Finder(rows, [name for name in names if name not in known], path, spreadsheet=spreadsheet)
    finder.take_usual_names(sources, settled=settled)
    return Columns(sources, systems)


def unify_names(
    rows: Sequence[Row], headers: Mapping[str, Iterable[str]], wanted: Mapping[str, str], *, spreadsheet: bool
) -> Sequence[Row]:
    """Return the rows of several files with our names for columns that have different common names in these files.

    The columns of a source are chosen once, so "question" in one file would leave "prompt" in another one unused.
    Columns with our names, or with the same name in all files, are left to `choose_columns`. What is renamed is logged.

    Args:
        rows: The rows of all files.
        headers: The columns of each file.
        wanted: Fields and columns that the user has mapped, which keep their names.
        spreadsheet: As for `choose_columns`.
    """
    named = {column.strip() for text in wanted.values() for column in (text, *text.split(","))}
    found = {
        file: _find_by_name([column for column in header if column not in named], wanted.keys())
        for file, header in headers.items()
    }
    renamed: dict[str, dict[str, str]] = {}
    # A column that the user has mapped, and that has one of our names, is not replaced.
    for name in (name for name in NAMES if name not in named):
        group = (name, _ALTERNATIVES.get(name))
        if len({column for fields in found.values() for field, column in fields.items() if field in group}) < 2:
            continue
        for column in {fields[name] for fields in found.values() if name in fields} - {name}:
            files = {file for file, fields in found.items() if fields.get(name) == column}
            values = [value for row in rows if row.file in files and not is_blank(value := row.fields.get(column))]
            if _are_texts(values, name, spreadsheet=spreadsheet):
                for file in files:
                    renamed.setdefault(file, {})[column] = name
    if not renamed:
        return rows
    for file, names in renamed.items():
        _log.warning("%s: took %s", file, ", ".join(f"{column!r} for {name}" for column, name in names.items()))

    def rename(row: Row) -> Row:
        names = renamed.get(row.file, {})
        return replace(row, fields={names.get(name, name): value for name, value in row.fields.items()})

    return Mapped(rows, rename)


def _find_by_name(columns: Sequence[str], settled: Set[str]) -> dict[str, str]:
    """Return the column of each field but the id in one file, as far as a single one has a name for it."""
    known = {column: _normalise(column) for column in columns}
    found: dict[str, str] = {}
    for name in NAMES:
        if name == "id" or not settled.isdisjoint({name, _ALTERNATIVES.get(name, name)}):
            continue
        usual = _USUAL_NAMES.get(name, ())
        meant = (
            [column for column in known if column == name]
            or [column for column in known if known[column] == name]
            or [column for column in known if known[column] in usual]
        )
        if len(meant) == 1:
            found[name] = meant[0]
    answers = [column for column in known if known[column] in _ANSWER]
    has_response = "response" in {*found, *settled}
    has_reference = not _REFERENCE_NAMES.isdisjoint({*found, *settled}) or any(
        _NUMBERED_REFERENCE.fullmatch(name) for name in known.values()
    )
    if len(answers) == 1 and has_response != has_reference:
        found["reference" if has_response else "response"] = answers[0]
    return found


def _are_texts(values: Sequence[Any], name: str, *, spreadsheet: bool) -> bool:
    """Return whether all values are of the kind of a field."""
    # A column of numbers, such as ratings called "target", is not one of texts, even if one of them is "n/a".
    mixed = spreadsheet and 2 * sum(isinstance(value, str) for value in values) >= len(values)
    kinds = (str, UnusableCell, *((list,) if name in _LISTS else ()), *((int, float) if mixed else ()))
    return all(isinstance(value, kinds) and not isinstance(value, bool) for value in values)


def names_field(column: str) -> bool:
    """Return whether a column has one of our names, however it is written, or that of a numbered reference."""
    name = _normalise(column)
    return name in NAMES or _NUMBERED_REFERENCE.fullmatch(name) is not None


def _resolve(
    name: str, text: str, names: Mapping[str, None], rows: Sequence[Mapping[str, Any]], path: Path | str | None
) -> tuple[str, ...]:
    """Return the columns that a mapping names."""

    def exists(column: str) -> bool:
        return column in names or any(_look_up(row, column) is not _ABSENT for row in rows)

    columns = [text]
    if not exists(text) and name in ("response", "reference", "references"):
        columns = [part.strip() for part in text.split(",")]
    for column in dict.fromkeys(columns):
        if not exists(column):
            raise InputError(
                f"{name!r} is mapped to the column {column!r}, which no row has; the columns are {list_columns(names)}",
                path=path,
                fix=f"Correct --map {name}={text}.",
            )
    if len(set(columns)) < len(columns):
        raise UsageError(f"--map {name}={text} names a column twice. Keep one.")
    return tuple(columns)


def _look_up(fields: Mapping[str, Any], column: str, *, whole: bool = False) -> Any:
    """Return the value of a column, or of a path into nested values such as "answers.text"; else `_ABSENT`.

    Through a list, a number chooses an item (from 0), and a name is looked up in every item. A list of one is its item;
    with `whole`, for a field that may be a list, only if the item is itself a list, also one in JSON, or blank.
    """
    if column in fields:
        return fields[column]
    root, dot, path = column.partition(".")
    value = fields.get(root, _ABSENT) if dot else _ABSENT
    for step in path.split("."):
        value = _step_into(value, step)
    if isinstance(value, list) and len(items := cast("list[Any]", value)) == 1:
        item = items[0]
        is_list = isinstance(item, list) or (isinstance(item, str) and _JSON_LIST.match(item))
        return cast("Any", items if whole and not (is_list or is_blank(item)) else item)
    return cast("Any", value)


def _step_into(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(step, _ABSENT)
    if not isinstance(value, list):
        return _ABSENT
    items = cast("list[Any]", value)
    if step.isdecimal():
        return items[int(step)] if int(step) < len(items) else _ABSENT
    found = [_step_into(item, step) for item in items if isinstance(item, dict)]
    return [item for item in found if item is not _ABSENT] if found else _ABSENT


class _Finder:
    """Finds columns by common names among the remaining ones."""

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], left: Sequence[str], path: Path | str | None, *, spreadsheet: bool
    ) -> None:
        self._rows = rows
        self._spreadsheet = spreadsheet
        self._left = {column: _normalise(column) for column in left}
        self._path = path

    def take_usual_names(self, sources: dict[str, tuple[str, ...]], *, settled: Set[str]) -> None:
        """Add the columns found to `sources`.

        Args:
            sources: The columns that are already known.
            settled: Fields that get no column here.
        """
        before = set(sources)
        for name in NAMES:
            if name not in settled:
                self._assign_column(sources, name, self._find(name, (name,)))
        if "references" not in {*settled, *sources} and (numbered := self._find_numbered()):
            columns = (*sources.pop("reference", ()), *numbered)
            sources["reference" if len(columns) == 1 else "references"] = columns
        for name, usual in _USUAL_NAMES.items():
            if name not in settled and _ALTERNATIVES.get(name) not in sources:
                found = self._find(name, usual)
                if name == "id":
                    found = [column for column in found if self._is_unique(column, *sources.get("system", ()))]
                self._assign_column(sources, name, found)
        self._take_answer(sources, settled)
        if taken := {name: columns for name, columns in sources.items() if name not in before}:
            _log.warning(
                "%s: took %s (others: --map NAME=COLUMN)",
                self._path or "score_all",
                ", ".join(f"{' and '.join(map(repr, columns))} for {name}" for name, columns in taken.items()),
            )

    def _assign_column(self, sources: dict[str, tuple[str, ...]], name: str, found: Sequence[str]) -> None:
        if name in sources or not found:
            return
        if len(found) > 1:
            found = [column for column in found if self._list_values(column)] or found[:1]
        if len(found) > 1:
            raise InputError(
                f"each of the columns {list_columns(found)} could be the {name}",
                path=self._path,
                fix=f"Say which with --map {name}={found[0]}.",
            )
        sources[name] = (found[0],)
        del self._left[found[0]]

    def _find(self, name: str, usual: Sequence[str]) -> list[str]:
        return [column for column, known in self._left.items() if known in usual and self._fits(column, name)]

    def _find_numbered(self) -> list[str]:
        numbers = {
            column: found for column, known in self._left.items() if (found := _NUMBERED_REFERENCE.fullmatch(known))
        }
        for column in numbers:
            del self._left[column]
        return sorted(numbers, key=lambda column: int(numbers[column][1]))

    def _fits(self, column: str, name: str) -> bool:
        """Return whether the column has values of the right kind."""
        return name == "id" or _are_texts(self._list_values(column), name, spreadsheet=self._spreadsheet)

    def _list_values(self, column: str) -> list[Any]:
        return [value for row in self._rows if not is_blank(value := row.get(column))]

    def _is_unique(self, *columns: str) -> bool:
        """Return whether no two rows agree in these columns: what may also be the number of a patient or a category."""
        return (
            IdIndex([repr([str(_look_up(row, column)) for column in columns]) for row in self._rows]).repeated is None
        )

    def _take_answer(self, sources: dict[str, tuple[str, ...]], settled: Set[str]) -> None:
        """Take a column "answer" for the one of response and reference that is missing.

        Raises:
            InputError: Both are missing.
        """
        if not (found := self._find("answer", _ANSWER)):
            return
        has_response = "response" in {*sources, *settled}
        has_reference = not _REFERENCE_NAMES.isdisjoint(sources)
        if not (has_response or has_reference or "turns" in sources):
            raise InputError(
                f"the column {found[0]!r} could be the response or the reference",
                path=self._path,
                fix=f"Say which with --map response={found[0]} or --map reference={found[0]}.",
            )
        if not has_reference:
            self._assign_column(sources, "reference", found)
        elif not has_response and "turns" not in sources:
            self._assign_column(sources, "response", found)


def _normalise(column: str) -> str:
    return re.sub(r"[\s_-]+", "_", column.strip()).casefold()
