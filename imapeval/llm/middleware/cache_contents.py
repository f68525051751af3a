"""Inspect and clear the file of cached completions (`imapeval cache`)."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import ResourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_BUSY_SECONDS = 30.0
"""How long to wait for another process that writes; see `imapeval.llm.middleware.cache`."""

# Only a damaged request has no identity.
_MODEL = "coalesce(json_extract(request, '$.identity'), '')"


@dataclass(frozen=True, slots=True)
class CachedCompletions:
    """Statistics on the cached completions of one model.

    Attributes:
        model: Identity of the model.
        entries: Number of completions.
        prompt_tokens, completion_tokens: Tokens that they took when they were made.
    """

    model: str
    entries: int
    prompt_tokens: int
    completion_tokens: int


def list_models(path: Path) -> list[CachedCompletions]:
    """Return statistics per model, the most completions first; [] if there is no file, or an empty one.

    Raises:
        ResourceError: It is not a file of completions, or cannot be read.
    """
    if not disk_usage(path):
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
    """Return the size on disk in bytes, including the write-ahead log."""
    return sum(part.stat().st_size for part in (path, path.with_name(f"{path.name}-wal")) if part.exists())


def require_model(path: Path, model: str) -> None:
    """Check that there are completions of a model.

    Raises:
        UsageError: There are none.
        ResourceError: It is not a file of completions, or cannot be read.
    """
    if model not in (known := [cached.model for cached in list_models(path)]):
        raise UsageError(
            f"the cache has no completions of {model!r}. It has those of: {', '.join(known) or 'no model'}. Give "
            "one of these names exactly."
        )


def clear(path: Path, *, model: str | None = None) -> int:
    """Delete the completions of a model, or all of them, and return how many.

    Raises:
        UsageError: There are no completions of that model.
        ResourceError: It is not a file of completions, or cannot be written.
    """
    if model is not None:
        require_model(path, model)
    if not disk_usage(path):
        return 0
    with _opened(path, "rw") as connection:
        with connection:
            dropped = connection.execute(f"DELETE FROM completion WHERE ?1 IS NULL OR {_MODEL} = ?1", (model,)).rowcount
        # Returns the space to the disk, including that of the write-ahead log.
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return dropped


@contextlib.contextmanager
def _opened(path: Path, mode: str) -> Generator[sqlite3.Connection]:
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_BUSY_SECONDS)
        ) as connection:
            yield connection
    # The last two for damaged text, and for more tokens than there can be.
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise ResourceError(
            f"the cache of completions {path} cannot be used ({error}). Is another process using it? If the disk is "
            "full, free some space, or delete the file itself. If the file is damaged, move it away: a new one is "
            "created, and the lost completions are requested, and paid for, again."
        ) from error
