"""The results of a run as one table, for spreadsheets and data frames: a row per answer."""

from __future__ import annotations

import json
from array import array
from itertools import chain, count, islice
from math import isnan
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Literal

from imapeval._optional import require
from imapeval.errors import UsageError
from imapeval.evaluation.runs.outcomes import KEPT_PARTS
from imapeval.evaluation.runs.safe_csv import iterate_csv, may_be_formula, show_text
from imapeval.evaluation.runs.usage_file import report_write_errors
from imapeval.evaluation.samples.columns import names_field
from imapeval.evaluation.samples.spool import Mapped, report_temporary_file_errors
from imapeval.files import replace_file
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from imapeval.evaluation.runs.outcomes import Outcomes
    from imapeval.evaluation.runs.reading import Result, Run
    from imapeval.types import Sample

TableFormat = Literal["csv", "parquet", "shards", "xlsx"]

_DIGITS = 4
"""Significant digits of scores; `results.jsonl` has all."""

_MAX_CELL = 32_767
_MAX_ROWS = 1_048_576
"""Longest text of a cell in units of UTF-16, most rows of a sheet: Microsoft, "Excel specifications and limits"."""

_EXCEL_DIGITS = 15
"""Digits of a number that Excel keeps (likewise); long ids have more."""

_CUT = " [cut]"

_NOT_IN_XML = {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}
"""The characters that no XML file can hold (XML 1.0, section 2.2), besides those that `show_text` replaces."""

_GROUP_ROWS = 10_000
"""Rows of a table that are made into Parquet at a time."""

_CHUNK = 1 << 20
"""Bytes of a temporary file that are copied at a time."""

_SHARD_ROWS = 100_000
"""Outcomes of a shard. Only one shard, some megabytes, is in memory at a time."""


def check_format(kind: TableFormat) -> None:
    """Raise a MissingExtraError if the package that writes the format is not installed."""
    if kind in ("parquet", "shards"):
        _import_pyarrow("pyarrow")


def export_table(run: Run, kind: TableFormat = "csv") -> Path:
    """Write `results.csv`, `results.parquet` or `results.xlsx` into the folder of a run: a row per answer.

    The columns are `id`, `system`, `question`, `reference` (or `references`, a JSON list, if an answer has several),
    `response`, `lang`, the ratings and the other columns of the data, each metric, followed by its parts recall,
    precision and contradictions if it counts contradictions, and `failure`, the kind of failure of the first metric
    without a score. A column of the data with one of these names, or one that `read` could take for a field, is
    called `data.NAME`. Scores have four significant digits; where there is none, the cell is empty.

    As "shards" there is a row per answer and metric, in files of 100,000 rows, `results/part-00000.parquet` and so on:
    `id`, `system`, `metric`, `score` and `parts` with all digits, `stage`, `kind` and `message` of a failure, and
    `signature`. The folder is returned.

    Texts that a spreadsheet would take for formulas are prefixed with an apostrophe in CSV, and are marked as text in
    Excel, where texts of more than 32,767 characters are cut and integers of more than 15 digits are texts. In both,
    control characters and those that change the direction of writing are written as escapes (`safe_csv.show_text`);
    Parquet has them.

    Raises:
        UsageError: The file cannot be written, or the run is too large for Excel.
        MissingExtraError: pyarrow is not installed.
    """
    if kind == "shards":
        return _write_shards(run)
    header, rows = _make_table(run)
    path = run.folder / f"results.{kind}"
    if kind == "csv":
        content = iterate_csv(header, rows)
    else:
        content = (_iterate_parquet if kind == "parquet" else _iterate_excel)(header, rows)
    with report_write_errors(path):
        replace_file(path, content)
    return path


def _make_table(run: Run) -> tuple[list[str], Sequence[list[object]]]:
    """Return the header and the rows; each is made whenever it is asked for."""
    samples, outcomes = run.contents.samples, run.contents.outcomes
    scores = _name_scores(outcomes)
    names = list(dict.fromkeys(name for sample in samples for name in _list_own_columns(sample)))
    several = any(len(sample.references) > 1 for sample in samples)
    columns = ["id", "system", "question", "references" if several else "reference", "response", "lang"]
    # Otherwise the table could not be read again; "" is the name of pandas' index.
    taken = {"failure", *scores, ""}
    own = [f"data.{name}" if name in taken or names_field(name) else name for name in names]
    header = [*columns, *own, *scores, "failure"]
    numbers = [outcomes.fill(metric, part) for metric, part in scores.values()]
    kinds = outcomes.find_first_kinds()

    def make_row(position: int) -> list[object]:
        sample = samples[position]
        columns = _list_own_columns(sample)
        return [
            sample.id,
            sample.system,
            sample.question,
            _join_references(sample.references, several=several),
            sample.response if sample.answered else None,
            sample.lang,
            *(columns.get(name) for name in names),
            *(_round(column[position]) for column in numbers),
            kinds[position],
        ]

    return header, Mapped(range(len(samples)), make_row)


def _name_scores(outcomes: Outcomes) -> dict[str, tuple[str, str | None]]:
    """Return the metric and part of each column of scores; the part is None for the score itself."""
    columns: dict[str, tuple[str, str | None]] = {}
    for metric, of_metric in outcomes.by_metric.items():
        columns[metric] = metric, None
        if "contradictions" in of_metric.parts:
            columns |= {f"{metric}.{part}": (metric, part) for part in KEPT_PARTS if part in of_metric.parts}
    return columns


def _list_own_columns(sample: Sample) -> dict[str, object]:
    ratings = {f"ratings.{dimension}": rating for dimension, rating in sample.ratings.items()}
    return ratings | {name: _to_cell(value) for name, value in sample.meta.items()}


def _to_cell(value: Any) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _join_references(references: Sequence[str], *, several: bool) -> str | None:
    if several:
        return json.dumps(references, ensure_ascii=False)
    return references[0] if references else None


def _round(value: float) -> float | None:
    return None if isnan(value) else float(f"{value:.{_DIGITS}g}")


def _iterate_parquet(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[bytes]:
    """Yield the bytes of a Parquet file, of which only some rows at a time are in memory."""
    pyarrow = _import_pyarrow("pyarrow")
    kinds = [set[type]() for _ in header]
    for row in rows:
        for found, cell in zip(kinds, row, strict=True):
            if cell is not None:
                found.add(float if type(cell) is int and not -(2**63) <= cell < 2**63 else type(cell))
    plain: dict[frozenset[type], Any] = {
        frozenset(): pyarrow.null(),
        # Not as float, which alters integers from 2**53 on, such as long ids.
        frozenset({int}): pyarrow.int64(),
        frozenset({float}): pyarrow.float64(),
        frozenset({int, float}): pyarrow.float64(),
        frozenset({bool}): pyarrow.bool_(),
    }
    types = [plain.get(frozenset(found), pyarrow.string()) for found in kinds]
    schema = pyarrow.schema(list(zip(header, types, strict=True)))
    with report_temporary_file_errors(), TemporaryFile() as file:
        with _import_pyarrow("pyarrow.parquet").ParquetWriter(file, schema) as writer:
            for start in range(0, len(rows), _GROUP_ROWS):
                cells = zip(*rows[start : start + _GROUP_ROWS], strict=True)
                group = [_convert_column(column, found) for column, found in zip(cells, kinds, strict=True)]
                writer.write_table(pyarrow.table(group, schema=schema))
        yield from _read_chunks(file)


def _read_chunks(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    yield from iter(lambda: file.read(_CHUNK), b"")


def _write_shards(run: Run) -> Path:
    pyarrow, parquet = _import_pyarrow("pyarrow"), _import_pyarrow("pyarrow.parquet")
    text, number = pyarrow.string(), pyarrow.float64()
    kinds = {"id": text, "system": text, "metric": text, "score": number, "parts": pyarrow.map_(text, number)}
    schema = pyarrow.schema(kinds | dict.fromkeys(("stage", "kind", "message", "signature"), text))
    samples, index = run.contents.samples, run.contents.index
    names: dict[str, int] = {}
    system_numbers = array("I", (names.setdefault(sample.system, len(names)) for sample in samples))
    systems = list(names)
    rows = (
        _list_outcome(result, systems[system_numbers[position]])
        for result in run.stream_results(index)
        if (position := index.get(result.id)) is not None
    )
    folder = run.folder / "results"
    if folder.is_symlink():
        raise UsageError(f"{folder} is a symbolic link, and nothing is written through one. Remove it.")
    with report_write_errors(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        for shard in count():
            outcomes = list(islice(rows, _SHARD_ROWS))
            if not outcomes and shard:
                break
            buffer = pyarrow.BufferOutputStream()
            parquet.write_table(pyarrow.Table.from_pylist(outcomes, schema), buffer)
            replace_file(folder / f"part-{shard:05}.parquet", buffer.getvalue().to_pybytes())
    return folder


def _list_outcome(result: Result, system: str) -> dict[str, object]:
    outcome = result.outcome
    row: dict[str, object] = {"id": result.id, "system": system, "metric": result.metric, "signature": result.signature}
    if isinstance(outcome, Score):
        row |= {"score": outcome.value, "parts": outcome.parts}
    else:
        row |= outcome.to_dict()
    return {name: _encodable(value) if isinstance(value, str) else value for name, value in row.items()}


def _convert_column(cells: Sequence[object], kinds: set[type]) -> list[object]:
    """Return cells of one type, for a column with values of these types: all numbers, all booleans, or all texts."""
    if kinds in ({bool}, {int}):
        return [*cells]
    if kinds and kinds <= {int, float}:
        return [None if cell is None else float(str(cell)) for cell in cells]
    # Lone surrogates, which an id may hold, cannot be encoded.
    return [None if cell is None else _encodable(str(cell)) for cell in cells]


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _import_pyarrow(module: str) -> Any:
    return require(module, distribution="pyarrow", extra="parquet", needed_for="Writing Parquet files")


def _iterate_excel(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[bytes]:
    """Yield the bytes of an Excel file, which openpyxl keeps in a temporary file."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    if len(rows) >= _MAX_ROWS:
        raise UsageError(f"{len(rows):,} answers are more than a sheet of Excel holds. Write --format parquet instead.")
    book: Any = Workbook(write_only=True)
    sheet: Any = book.create_sheet("results")
    sheet.freeze_panes = "A2"

    def make_cell(value: object) -> Any:
        if not isinstance(value, str):
            exact = isinstance(value, float | None) or (isinstance(value, int) and abs(value) < 10**_EXCEL_DIGITS)
            return value if exact else str(value)
        text = show_text(_encodable(value)).translate(_NOT_IN_XML)
        units = text.encode("utf-16-le")
        if len(units) > 2 * _MAX_CELL:
            text = units[: 2 * (_MAX_CELL - len(_CUT))].decode("utf-16-le", "ignore") + _CUT
        cell: Any = WriteOnlyCell(sheet, text)
        # Neither formulas nor errors.
        cell.data_type = "s"
        cell.quotePrefix = may_be_formula(value)
        return cell

    with report_temporary_file_errors(), TemporaryFile() as file:
        for row in chain((header,), rows):
            sheet.append([make_cell(value) for value in row])
        book.save(file)
        yield from _read_chunks(file)
