"""Reads Parquet and Arrow files in small batches."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.errors import InputError
from imapeval.evaluation.samples.rows import Row

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from imapeval.evaluation.samples.rows import ReadOptions
    from imapeval.evaluation.samples.text_lines import SourceFile

_BATCH_ROWS = 1024
"""Rows in memory at a time: a few megabytes for long answers."""

_BUFFER_BYTES = 1 << 20
"""Bytes of a column read at a time; by default pyarrow reads a row group, which may be the whole file."""


ARROW_MARKS = (b"ARROW1", b"\xff\xff\xff\xff")
"""How files of Arrow begin: those for random access, and streams (Arrow, "Columnar Format", IPC)."""


def read_parquet(file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of a Parquet file.

    Raises:
        InputError: The file is damaged or not a Parquet file.
        MissingExtraError: pyarrow is not installed.
    """
    parquet = _import_pyarrow("pyarrow.parquet")
    with (
        _report_damage(file, "Parquet"),
        parquet.ParquetFile(file.stream, buffer_size=_BUFFER_BYTES, pre_buffer=False) as table,
    ):
        yield from _make_rows(table.iter_batches(batch_size=_BATCH_ROWS, use_threads=False))


def read_arrow(file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of an Arrow file (Feather 2) or stream, as Hugging Face's datasets keep them.

    Raises:
        InputError: The file is damaged or not an Arrow file.
        MissingExtraError: pyarrow is not installed.
    """
    ipc = _import_pyarrow("pyarrow.ipc")
    with _report_damage(file, "Arrow"):
        if file.peek().startswith(ARROW_MARKS[0]):
            with ipc.open_file(file.stream) as table:
                yield from _make_rows(table.get_batch(place) for place in range(table.num_record_batches))
        else:
            with ipc.open_stream(file.stream) as table:
                yield from _make_rows(table)


def _make_rows(batches: Iterable[Any]) -> Iterator[Row]:
    number = 0
    for batch in batches:
        for fields in batch.to_pylist():
            number += 1
            yield Row(number, number, fields, unit="row")


@contextmanager
def _report_damage(file: SourceFile, kind: str) -> Generator[None]:
    try:
        yield
    # pyarrow raises these for files that are of another format and for damaged ones.
    except (_import_pyarrow("pyarrow").ArrowException, ValueError, OSError, OverflowError, MemoryError) as error:
        problem = " ".join(str(error).split())
        article = "an" if kind == "Arrow" else "a"
        raise InputError(
            f"not {article} {kind} file ({problem})", path=file.path, fix=f"Write it again as {kind}, or as JSONL."
        ) from error


def _import_pyarrow(module: str) -> Any:
    return require(module, distribution="pyarrow", extra="parquet", needed_for="Reading Parquet and Arrow files")
