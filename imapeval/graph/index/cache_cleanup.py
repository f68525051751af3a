"""Deleting indexes: those of a graph that was replaced, and those in the user's cache.

An index records its graph and is rejected for any other, so a stale index is harmless, but it may take gigabytes.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval._resources import cache_folder
from imapeval.errors import ResourceError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_INDEX_FILE = re.compile(r"(?P<graph>[0-9a-f]{16})-(?P<encoder>.+)-\d+(?:\.faiss|\.json|\.faiss\.part)")
"""Names of the files of an index in the cache; see `imapeval.graph.index.names`."""


@dataclass(frozen=True, slots=True)
class CachedIndex:
    """An index in the user's cache.

    Attributes:
        kind: "n-grams" for an n-gram index, "names" for an index of vectors.
        graph: The first 16 characters of the hash of the graph it was made from.
        encoder: Identity of the encoder as in the file's name, with "_" for ":", "#" and the like; "" for n-grams.
        bytes: Its size on disk.
        paths: Its files and folders; those that end in ".part" belong to a build that was stopped.
    """

    kind: str
    graph: str
    encoder: str
    bytes: int
    paths: tuple[Path, ...]


def remove_stale_indexes(folder: Path, graph: str) -> None:
    """Remove the indexes in a folder that were made from another graph than the one with this hash, which is there now.

    Raises:
        ResourceError: One cannot be removed.
    """
    names, draft = folder / "names.faiss", folder / "names.faiss.part"
    # Descriptions are removed last, so that a call after an interrupted one still finds the other files.
    for description, files in (
        (folder / "grams.json", sorted(folder.glob("grams-*.npy"))),
        (draft / "journal.json", [draft]),
        (names.with_suffix(".json"), [names]),
    ):
        if not _is_of_graph(description, graph):
            _remove([*files, description])


def list_cached_indexes() -> list[CachedIndex]:
    """Return the indexes in the user's cache, by kind, graph and encoder."""
    found = {("n-grams", folder.name, ""): [folder] for folder in sorted((cache_folder() / "grams").glob("*"))}
    for path in sorted((cache_folder() / "index").glob("*")):
        if parts := _INDEX_FILE.fullmatch(path.name):
            found.setdefault(("names", parts["graph"], parts["encoder"]), []).append(path)
    return [CachedIndex(*key, sum(map(_disk_usage, paths)), tuple(paths)) for key, paths in sorted(found.items())]


def clear_cached_indexes() -> list[CachedIndex]:
    """Remove all indexes from the user's cache and return them; they are rebuilt when needed.

    Raises:
        ResourceError: One cannot be removed.
    """
    found = list_cached_indexes()
    for index in found:
        _remove(index.paths)
    return found


def _is_of_graph(description: Path, graph: str) -> bool:
    try:
        return json.loads(description.read_bytes())["graph"] == graph
    # Missing or damaged: the index could not be opened anyway.
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _disk_usage(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise ResourceError(
                f"{path} cannot be removed ({error.strerror}). Remove it when no other process uses it."
            ) from error
