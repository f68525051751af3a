"""What the file of completions holds, and how to empty it."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import ResourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_WAIT_SECONDS = 30.0
"""For another process that writes; see `imapeval.llm.middleware.cache`."""

_MODEL = "json_extract(request, '$.identity')"


@dataclass(frozen=True, slots=True)
class CachedCompletions:
    """The completions of one model.

    Attributes:
        model: Its identity.
        entries: How many there are.
        prompt_tokens, completion_tokens: What they took when they were made.
    """

    model: str
    entries: int
    prompt_tokens: int
    completion_tokens: int


def list_models(path: Path) -> list[CachedCompletions]:
    """Return what is kept of each model, the most first; nothing where there is no file.

    Raises:
        ResourceError: It is no file of completions, or cannot be read.
    """
    if not path.exists():
        return []
    with _opened(path, "ro") as connection:
        rows = connection.execute(
            f"SELECT {_MODEL}, COUNT(*), TOTAL(json_extract(completion, '$.usage.prompt_tokens')), "
            "TOTAL(json_extract(completion, '$.usage.completion_tokens')) FROM completion GROUP BY 1 ORDER BY 2 DESC, 1"
        )
        return [
            CachedCompletions(model, entries, int(prompt), int(completion))
            for model, entries, prompt, completion in rows
        ]


def disk_usage(path: Path) -> int:
    """Return the bytes on disk, those not yet merged into the file included."""
    return sum(part.stat().st_size for part in (path, path.with_name(f"{path.name}-wal")) if part.exists())


def clear(path: Path, *, model: str | None = None) -> int:
    """Drop the completions of a model, or all of them, and return how many.

    Raises:
        UsageError: Nothing is kept of that model.
        ResourceError: It is no file of completions, or cannot be written.
    """
    if model is not None and model not in (known := [kept.model for kept in list_models(path)]):
        raise UsageError(
            f"no completion of {model!r} is kept. Kept are those of: {', '.join(known) or 'none yet'}. Give one of "
            "them, letter by letter."
        )
    if not path.exists():
        return 0
    with _opened(path, "rw") as connection:
        with connection:
            dropped = connection.execute(f"DELETE FROM completion WHERE ?1 IS NULL OR {_MODEL} = ?1", (model,)).rowcount
        # Gives the room back to the disk, also that of the write-ahead log.
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return dropped


@contextlib.contextmanager
def _opened(path: Path, mode: str) -> Generator[sqlite3.Connection]:
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_WAIT_SECONDS)
        ) as connection:
            yield connection
    except sqlite3.Error as error:
        raise ResourceError(
            f"the cache of completions {path} cannot be used ({error}). Is another process busy with it? If the file "
            "is damaged, move it away: a new one is made, and what was in it is asked and paid for again."
        ) from error
