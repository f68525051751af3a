"""Vectors for an index being built, kept on disk so that a stopped build can be resumed."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from imapeval.files import lock_file, make_private_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from imapeval.graph.arrays import Floats32, Integers


_ROWS_PER_READ = 65_536
"""Rows read at a time: 130 MB at 512 dimensions, as float32."""

_POLL_SECONDS = 0.2
"""Seconds between two checks whether another process has finished."""

_LOCK = "lock"


class Journal(BaseModel):
    """Description of the vectors in a checkpoint.

    Attributes:
        graph: Hash of the graph.
        encoder: Identity of the encoder.
        rows: Names encoded so far, in the order of `Graph.all_names`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    graph: str
    encoder: str
    dimension: int
    rows: int


class VectorCheckpoint:
    """The folder `NAME.part` beside an index that is being built; a context manager that holds its lock.

    It contains the vectors of the names as float16 and a journal. A build that is stopped in any way leaves it behind,
    and the next build for the same graph and encoder resumes from it.

    Args:
        path: The index to be built.
        graph, encoder, dimension: See `Journal`.

    Attributes:
        folder: Where the checkpoint is; other temporary files may be put there.
        waited: Whether another process was building the same index, which has finished or was stopped.

    Raises:
        OSError: On entering, and whenever rows are added: the folder cannot be written.
    """

    def __init__(self, path: Path, *, graph: str, encoder: str, dimension: int) -> None:
        self.folder = path.with_name(path.name + ".part")
        self.waited = False
        self._journal = Journal(graph=graph, encoder=encoder, dimension=dimension, rows=0)
        self._rows_path = self.folder / "rows.f16"

    def __enter__(self) -> Self:
        self._lock = self._wait_for_lock()
        try:
            self._resume()
            self._file = self._rows_path.open("ab")
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # a full disk was reported while writing
            self._file.close()
        if kind is None:
            # Before the lock is released, so that a waiting process finds the folder removed (see _wait_for_lock). The
            # file of the lock goes last: without it another process could lock a new one, and lose what it writes.
            with suppress(OSError):
                for file in self.folder.iterdir():
                    if file.name != _LOCK:
                        file.unlink()
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._journal.rows

    def append(self, rows: Floats32) -> None:
        """Add rows, flushed to disk before the journal counts them."""
        self._file.write(rows.astype(np.float16).tobytes())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._write_journal(len(self) + len(rows))

    def read(self) -> Iterator[tuple[int, Floats32]]:
        """Yield (number of the first row, rows), some thousand at a time."""
        dimension = self._journal.dimension
        with self._rows_path.open("rb") as file:
            for start in range(0, len(self), _ROWS_PER_READ):
                count = min(_ROWS_PER_READ, len(self) - start)
                rows = np.fromfile(file, dtype=np.float16, count=count * dimension)
                yield start, rows.reshape(count, dimension).astype(np.float32)

    def rows_at(self, numbers: Integers) -> Floats32:
        """Return rows by number."""
        rows = np.memmap(self._rows_path, np.float16, "r", shape=(len(self), self._journal.dimension))
        return rows[numbers].astype(np.float32)

    def _wait_for_lock(self) -> IO[bytes]:
        path = self.folder / _LOCK
        while True:
            make_private_folder(self.folder)
            with suppress(FileNotFoundError):  # the folder was removed in between
                file = lock_file(path)
                if file is None:
                    self.waited = True
                    time.sleep(_POLL_SECONDS)
                    continue
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                        return file
                # The locked file belongs to a finished checkpoint that was removed.
                file.close()
            self.waited = True

    def _resume(self) -> None:
        try:
            before = Journal.model_validate_json((self.folder / "journal.json").read_bytes())
        except (FileNotFoundError, ValidationError):
            before = None
        size = self._rows_path.stat().st_size if self._rows_path.exists() else 0
        row = self._journal.dimension * np.dtype(np.float16).itemsize
        fits = before is not None and before.model_copy(update={"rows": 0}) == self._journal
        if before is None or not fits or size < before.rows * row:
            self._rows_path.write_bytes(b"")
            self._write_journal(0)
        else:
            # Drops rows written by a process that was killed before it updated the journal.
            os.truncate(self._rows_path, before.rows * row)
            self._journal = before

    def _write_journal(self, rows: int) -> None:
        self._journal = self._journal.model_copy(update={"rows": rows})
        replace_file(self.folder / "journal.json", self._journal.model_dump_json().encode())
