"""Reads Parquet files in small batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.errors import InputError
from imapeval.evaluation.samples.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.evaluation.samples.rows import ReadOptions
    from imapeval.evaluation.samples.text_lines import SourceFile

_BATCH_ROWS = 1024
"""Rows in memory at once: a few megabytes for long answers."""

_BUFFER_BYTES = 1 << 20
"""Bytes of a column that are read at once; by default pyarrow reads a row group, which may be the whole file."""


def read_parquet(file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of a Parquet file.

    Raises:
        InputError: The file is damaged or not a Parquet file.
        MissingExtraError: pyarrow is not installed.
    """
    parquet: Any = require(
        "pyarrow.parquet", distribution="pyarrow", extra="parquet", needed_for="Reading Parquet files"
    )
    pyarrow: Any = require("pyarrow", distribution="pyarrow", extra="parquet", needed_for="Reading Parquet files")
    number = 0
    try:
        with parquet.ParquetFile(file.stream, buffer_size=_BUFFER_BYTES, pre_buffer=False) as table:
            for batch in table.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
                for fields in batch.to_pylist():
                    number += 1
                    yield Row(number, number, fields, unit="row")
    # pyarrow raises these for files that are not Parquet and for damaged ones.
    except (pyarrow.ArrowException, ValueError, OSError, OverflowError, MemoryError) as error:
        problem = " ".join(str(error).split())
        raise InputError(
            f"not a Parquet file ({problem})", path=file.path, fix="Write it again as Parquet, or as JSONL."
        ) from error
