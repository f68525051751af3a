"""Reads Parquet and Arrow files in small batches."""

from __future__ import annotations

import io
import mmap
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.evaluation.samples.files.text_lines import MAX_ROW, too_long_error
from imapeval.evaluation.samples.rows import Row, short_repr

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from imapeval.evaluation.samples.files.text_lines import SourceFile
    from imapeval.evaluation.samples.rows import ReadOptions

_BATCH_ROWS = 16
"""Rows in memory at a time. Each may have megabytes: a value that a file stores once can be that of every row."""

_BUFFER_BYTES = 1 << 20
"""Bytes of a column read at a time where the file is not mapped; by default it would be a whole row group."""


ARROW_MARKS = (b"ARROW1", b"\xff\xff\xff\xff")
"""How files of Arrow begin: those for random access, and streams (Arrow, "Columnar Format", IPC)."""


def read_parquet(file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of a Parquet file.

    Raises:
        InputError: The file is damaged or not a Parquet file, two columns share a name, Python cannot hold a value, or
            a row is too large.
        MissingExtraError: pyarrow is not installed.
    """
    parquet = _import_pyarrow("pyarrow.parquet")
    with _report_damage(file, "Parquet"):
        source = _map_file(file)
        buffer_size = _BUFFER_BYTES if source is file.stream else 0
        with parquet.ParquetFile(source, buffer_size=buffer_size, pre_buffer=False) as table:
            yield from _make_rows(table.iter_batches(batch_size=_BATCH_ROWS, use_threads=False), file)


def read_arrow(file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of an Arrow file (Feather 2) or stream, as Hugging Face's datasets keep them.

    Raises:
        InputError: The file is damaged or not an Arrow file, two columns share a name, Python cannot hold a value, or
            a row is too large.
        MissingExtraError: pyarrow is not installed.
    """
    ipc = _import_pyarrow("pyarrow.ipc")
    with _report_damage(file, "Arrow"):
        if file.peek().startswith(ARROW_MARKS[0]):
            with ipc.open_file(_map_file(file)) as table:
                yield from _make_rows((table.get_batch(index) for index in range(table.num_record_batches)), file)
        else:
            with ipc.open_stream(_map_file(file)) as table:
                yield from _make_rows(table, file)


def _map_file(file: SourceFile) -> Any:
    """Return the file in a form of which only the parts in use are in memory: a batch or page may be the whole file."""
    stream: Any = file.stream
    if not isinstance(getattr(stream, "raw", None), io.FileIO):  # gzip, or a pipe
        return stream
    pyarrow = _import_pyarrow("pyarrow")
    return pyarrow.BufferReader(pyarrow.py_buffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)))


def _make_rows(batches: Iterable[Any], file: SourceFile) -> Iterator[Row]:
    number = 0
    for batch in batches:
        # Of two columns with one name, a row would have only the last.
        names: list[str] = batch.schema.names
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise file.error(f"the column {short_repr(twice[0])} is in it twice", fix="Rename one.")
        # A batch of Arrow may be the whole file.
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            rows = batch.slice(start, _BATCH_ROWS)
            # Otherwise wrong offsets in a damaged file of Arrow end the process.
            rows.validate(full=True)
            small = rows.nbytes <= MAX_ROW
            for index in range(rows.num_rows):
                number += 1
                if not small and rows.slice(index, 1).nbytes > MAX_ROW:
                    raise too_long_error(file, number, unit="row")
                (fields,) = rows.slice(index, 1).to_pylist()
                yield Row(number, number, fields, unit="row")


@contextmanager
def _report_damage(file: SourceFile, kind: str) -> Generator[None]:
    try:
        yield
    # pyarrow raises these for files of another format, for damaged ones, and for values that Python cannot hold.
    except (_import_pyarrow("pyarrow").ArrowException, ValueError, OSError, ArithmeticError, MemoryError) as error:
        problem = " ".join(str(error).split())
        raise file.error(f"cannot be read as {kind} ({problem})", fix="Write it again, or as JSONL.") from error


def _import_pyarrow(module: str) -> Any:
    return require(module, distribution="pyarrow", extra="parquet", needed_for="Reading Parquet and Arrow files")
