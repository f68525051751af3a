"""Finds names by their character n-grams: an inverted index with TF-IDF weights, searched by cosine.

It consists of four memory-mapped arrays: the keys of all features (see `imapeval.graph.index.ngrams`), the start of the
names of each key, the names, and the length of the vector of each name.

SQLite's FTS5 with its trigram tokenizer is slower and finds fewer concepts (docs/graph-linking.md).
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import pairwise
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from imapeval._resources import cache_folder
from imapeval.errors import ResourceError
from imapeval.files import is_process_running, make_private_folder
from imapeval.graph.index.ngrams import extract_features, initials_keys, make_feature_sets, unique_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from imapeval.graph.arrays import Floats, Floats32, Integers
    from imapeval.graph.index.ngrams import FeatureSets, Occurrences
    from imapeval.graph.store.graph import Graph

    Rows = npt.NDArray[np.int32]

FORMAT = 1
"""Version of the files; other versions are rejected."""

_DESCRIPTION_FILE = "grams.json"
_DRAFT = re.compile(r"\.(\d+)(?:\.npy)?$")
"""End of the name of a file that the process with this id is still writing."""
_ARRAYS = {"keys": np.int64, "starts": np.int64, "rows": np.int32, "lengths": np.float32}

_CHUNK = 20_000
"""Names processed at a time while building: about 100 MB of arrays."""

_MAX_PENDING_KEYS = 4_000_000
"""Keys collected before they are merged: 64 MB."""

_SCANNED_POSTINGS = 20_000
"""Entries of the inverted index summed for all names, rarest features first; others only for the best names."""

_KEPT_FACTOR = 3
"""Number of best names, as a multiple of the number of names to be found."""

MAX_CHARACTERS = 200
"""Characters of a text that are used; longer texts are not names."""


class _Description(BaseModel):
    """Content of `grams.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int
    graph: str
    names: int
    keys: int
    entries: int


class NgramIndex:
    """Finds names by n-grams; safe to share between threads. Create one with `open_or_build`, `build` or `open`."""

    def __init__(self, keys: Integers, starts: Integers, rows: Rows, lengths: Floats32, folder: Path | None = None):
        """Do not call this; use `NgramIndex.open_or_build`."""
        self._folder = folder
        self._keys = keys
        self._starts = starts
        self._rows = rows
        self._lengths = lengths
        self._names = len(lengths) - 1
        # The last entry is for features that no name has.
        self._squared_idf = _inverse_frequency(np.append(np.diff(starts), 0), self._names) ** 2

    @classmethod
    def open_or_build(cls, graph: Graph, *, progress: Callable[[int, int], None] | None = None) -> Self:
        """Open the index beside the graph or in the user's cache; if there is none, build it.

        It is written to the cache, or kept in memory if the cache is not writable. `progress` is called while building,
        with the number of names read so far and the total; each is read twice and counts twice.
        """
        cached = cache_folder() / "grams" / graph.hash[:16]
        for folder in (graph.path.parent, cached):
            if _is_of_graph(folder, graph):
                return cls.open(graph, folder)
        try:
            return cls.build(graph, cached, progress=progress)
        except ResourceError:
            return cls.build(graph, progress=progress)

    @classmethod
    def open(cls, graph: Graph, folder: Path) -> Self:
        """Open an index from its folder.

        Raises:
            ResourceError: It is missing or damaged, or was made from another graph.
        """
        meta = _read_description(folder)
        if meta.graph != graph.hash:
            raise ResourceError(
                f"the n-gram index in {folder} was made from the graph {meta.graph[:12]}, but the open "
                f"graph is {graph.hash[:12]}. {_how_to_fix(folder)}"
            )
        arrays = [_load(_path(folder, name)) for name in _ARRAYS]
        sizes = meta.keys, meta.keys + 1, meta.entries, meta.names + 1
        for (name, kind), size, array in zip(_ARRAYS.items(), sizes, arrays, strict=True):
            if (array.dtype, array.shape) != (kind, (size,)):
                raise _damaged(_path(folder, name), f"does not fit {_DESCRIPTION_FILE}")
        starts = arrays[1]
        if starts[0] != 0 or starts[-1] != meta.entries or (np.diff(starts) < 0).any():
            raise _damaged(_path(folder, "starts"), "has numbers that were not written")
        return cls(*arrays, folder=folder)

    @classmethod
    def build(
        cls, graph: Graph, folder: Path | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> Self:
        """Build an index in a folder, or in memory if there is none; for `progress` see `open_or_build`.

        Raises:
            ResourceError: The folder cannot be written.
        """
        names = graph.name_count
        counter = _ProgressCounter(progress, 2 * names)
        keys, counts = _count_keys(graph, counter)
        starts = np.concatenate([[0], np.cumsum(counts)])
        if folder is None:
            rows = np.empty(int(starts[-1]), dtype=np.int32)
            return cls(keys, starts, rows, _fill_postings(graph, keys, starts, rows, counter))
        try:
            make_private_folder(folder)
            _remove_drafts(folder, lambda process: not is_process_running(process))
            draft = _path(folder, f"rows.{os.getpid()}")
            rows = np.lib.format.open_memmap(draft, mode="w+", dtype=np.int32, shape=(int(starts[-1]),))
            _reserve(draft)
            lengths = _fill_postings(graph, keys, starts, rows, counter)
            rows.flush()
            draft.replace(_path(folder, "rows"))
            for name, array in (("keys", keys), ("starts", starts), ("lengths", lengths)):
                draft = _path(folder, f"{name}.{os.getpid()}")
                np.save(draft, array)
                draft.replace(_path(folder, name))
            # The description is written last: without it the other files are ignored.
            meta = _Description(format=FORMAT, graph=graph.hash, names=names, keys=len(keys), entries=len(rows))
            draft = folder / f".{_DESCRIPTION_FILE}.{os.getpid()}"
            draft.write_text(meta.model_dump_json(indent=1) + "\n")
            draft.replace(folder / _DESCRIPTION_FILE)
        except OSError as error:
            with suppress(OSError):  # where the folder may not even be looked into
                _remove_drafts(folder, lambda process: process == os.getpid())
            raise ResourceError(
                f"the n-gram index cannot be written to {folder} ({error}). Free some space or make the folder "
                "writable, and repeat the command."
            ) from error
        return cls.open(graph, folder)

    def __len__(self) -> int:
        """Return the number of names."""
        return self._names

    def search(self, norm: str, k: int) -> tuple[Integers, Floats32]:
        """Return the row ids (see `Graph.all_names`) of the nearest names, and their cosines.

        Args:
            norm: A normal form.
            k: Maximum number of names; fewer if fewer share a feature.

        Returns:
            Two arrays, nearest first; names with the same cosine by row id.
        """
        ngrams, words, _ = extract_features([norm[:MAX_CHARACTERS]])
        [found] = self.search_many(make_feature_sets(1, ngrams, words), k)
        return found

    def search_many(self, texts: FeatureSets, k: int) -> list[tuple[Integers, Floats32]]:
        """Return the result of `search` for each text, given its features."""
        begins, ends = self._find_spans(texts.keys)
        weights = self.squared_idf(texts.keys).astype(np.float32)
        return [
            self._find_nearest(begins[low:high], ends[low:high], weights[low:high], k)
            for low, high in pairwise(texts.bounds.tolist())
        ]

    def _find_nearest(self, begins: Integers, ends: Integers, weights: Floats32, k: int) -> tuple[Integers, Floats32]:
        """Return the nearest names, given the span of the names of each feature of the text, and its weight."""
        length = float(np.sqrt(weights.sum()))
        counts = ends - begins
        order = np.argsort(counts, kind="stable")
        order = order[counts[order] > 0]
        # The rarest features are always summed.
        few = max(1, int(np.searchsorted(np.cumsum(counts[order]), _SCANNED_POSTINGS, side="right")))
        spans = list(zip(begins[order].tolist(), ends[order].tolist(), weights[order].tolist(), strict=True))
        if not spans:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        some = self._check(np.concatenate([self._rows[begin:end] for begin, end, _ in spans[:few]]))
        scores = np.zeros(self._names + 1, dtype=np.float32)
        np.add.at(scores, some, np.repeat(weights[order[:few]], counts[order[:few]]))
        # Only names that share a feature are considered: there may be millions of names.
        rows = _select_best(
            some, scores[some] / self._lengths[some], _KEPT_FACTOR * k if spans[few:] else k, repeats=few
        )
        found = scores[rows]
        for begin, end, weight in spans[few:]:
            postings = self._rows[begin:end]
            places = np.minimum(np.searchsorted(postings, rows), len(postings) - 1)
            found[postings[places] == rows] += weight
        cosines = found / (self._lengths[rows] * length)
        order = np.lexsort((rows, -cosines))[:k]
        return rows[order].astype(np.int64), cosines[order].astype(np.float32)

    def rows_with(self, keys: Integers, limit: int) -> list[Rows]:
        """Return the row ids of at most `limit` names with each feature."""
        begins, ends = self._find_spans(keys)
        ends = np.minimum(ends, begins + limit)
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        return [self._check(self._rows[begin:end]) for begin, end in spans]

    def squared_idf(self, keys: Integers) -> Floats:
        """Return the squared inverse document frequencies of features, the squares of scikit-learn's TfidfVectorizer.

        They are the squares of ln((1 + names) / (1 + names with the feature)) + 1, and add up to the squared length of
        a vector.
        """
        return self._squared_idf[self._find(keys)]

    def vector_lengths(self, rows: Integers) -> Floats32:
        """Return the lengths of the vectors of names, given their row ids."""
        return self._lengths[rows]

    def _check(self, rows: Rows) -> Rows:
        """Return row ids as they are. They are checked here: at opening, the whole file would have to be read."""
        if self._folder is not None and len(rows) and not 1 <= rows.min() <= rows.max() <= self._names:
            raise _damaged(_path(self._folder, "rows"), "has numbers that were not written")
        return rows

    def _find(self, keys: Integers) -> Integers:
        """Return the positions of features; that of unknown ones is after the last."""
        places = np.searchsorted(self._keys, keys)
        inside = places < len(self._keys)
        inside[inside] = self._keys[places[inside]] == keys[inside]
        return np.where(inside, places, len(self._keys))

    def _find_spans(self, keys: Integers) -> tuple[Integers, Integers]:
        """Return the start and the end of the names of each feature."""
        places = self._find(keys)
        return self._starts[places], self._starts[np.minimum(places + 1, len(self._keys))]


def _select_best(rows: Rows, ratings: Floats32, count: int, *, repeats: int) -> Rows:
    """Return at least `count` distinct rows with the best ratings, sorted, or all if there are fewer.

    A row may be given as often as `repeats`.
    """
    last = len(rows) - count * repeats
    return np.unique(rows[ratings >= np.partition(ratings, last)[last]] if last > 0 else rows)


class _ProgressCounter:
    """Counts names for a progress report."""

    def __init__(self, progress: Callable[[int, int], None] | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(self._done, self._total)


def _read_chunks(
    graph: Graph, counter: _ProgressCounter
) -> Iterator[tuple[int, Occurrences, Occurrences, Occurrences]]:
    """Yield the row id before the first name of each chunk, and the features of its names."""
    for first in range(0, graph.name_count, _CHUNK):
        norms = graph.norms(first + 1, first + _CHUNK)
        ngrams, words, initials = extract_features([norm[:MAX_CHARACTERS] for norm in norms])
        yield first, ngrams, words, initials._replace(keys=initials_keys(initials.keys))
        counter.add(len(norms))


def _count_keys(graph: Graph, counter: _ProgressCounter) -> tuple[Integers, Integers]:
    """Return all keys, sorted, and how many names have each."""
    pending: list[tuple[Integers, Integers]] = []
    for _, *features in _read_chunks(graph, counter):
        keys, counts = np.unique(unique_pairs(*features)[0], return_counts=True)
        pending.append((keys, counts))
        if sum(len(keys) for keys, _ in pending[1:]) > _MAX_PENDING_KEYS:
            pending = [_add_counts(pending)]
    return _add_counts(pending)


def _add_counts(parts: list[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    keys, places = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([counts for _, counts in parts]))
    return keys, counts


def _fill_postings(graph: Graph, keys: Integers, starts: Integers, rows: Rows, counter: _ProgressCounter) -> Floats32:
    """Write the names of each key, in order, and return the lengths of the names' vectors."""
    free = starts[:-1].copy()
    lengths = np.ones(graph.name_count + 1, dtype=np.float32)
    squares = _inverse_frequency(np.diff(starts), graph.name_count) ** 2
    for first, ngrams, words, initials in _read_chunks(graph, counter):
        for parts in ((ngrams, words), (initials,)):
            found, owners = unique_pairs(*parts)
            places = np.searchsorted(keys, found)
            begins = np.flatnonzero(np.diff(places, prepend=-1))
            counts = np.diff(begins, append=len(places))
            rows[np.repeat(free[places[begins]] - begins, counts) + np.arange(len(places))] = owners + first + 1
            free[places[begins]] += counts
            if parts[0] is ngrams:
                sums = np.bincount(owners, weights=squares[places])
                lengths[first + 1 : first + 1 + len(sums)] = np.sqrt(np.where(sums > 0, sums, 1))
    return lengths


def _inverse_frequency(counts: npt.NDArray[np.int64 | np.float64], names: int) -> Floats:
    return np.log((1 + names) / (1 + counts)) + 1


def _path(folder: Path, name: str) -> Path:
    stem, _, process = name.partition(".")
    return folder / (f".grams-{stem}.{process}.npy" if process else f"grams-{stem}.npy")


def _reserve(path: Path) -> None:
    """Reserve the disk space of a mapped file: if the disk were full later, the process would be killed (SIGBUS).

    Raises:
        OSError: There is not enough space.
    """
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _remove_drafts(folder: Path, is_owner: Callable[[int], bool]) -> None:
    """Remove the drafts of some processes.

    If a process on another machine owns one, it finds its draft missing and keeps the index in memory.
    """
    for path in folder.glob(".grams*"):
        number = _DRAFT.search(path.name)
        if number is not None and is_owner(int(number[1])):
            with suppress(OSError):
                path.unlink()


def _load(path: Path) -> npt.NDArray[Any]:
    try:
        return np.asarray(np.load(path, mmap_mode="r"))
    # The last three are those of NumPy's parser of headers.
    except (OSError, ValueError, EOFError, OverflowError, SyntaxError, TokenError) as error:
        raise _damaged(path, f"cannot be read ({error})") from error


def _damaged(path: Path, problem: str) -> ResourceError:
    return ResourceError(f"{path}: this file of the n-gram index {problem}. {_how_to_fix(path.parent)}")


def _how_to_fix(folder: Path) -> str:
    return f"Delete the files grams* in {folder}; they will be rebuilt."


def _is_of_graph(folder: Path, graph: Graph) -> bool:
    # A cache that belongs to another user is one without an index.
    return os.access(folder / _DESCRIPTION_FILE, os.R_OK) and _read_description(folder).graph == graph.hash


def _read_description(folder: Path) -> _Description:
    path = folder / _DESCRIPTION_FILE
    try:
        meta = _Description.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ResourceError(f"there is no n-gram index in {folder} ({error}).") from error
    except ValidationError as error:
        raise ResourceError(f"{path} does not describe an n-gram index ({error}). {_how_to_fix(folder)}") from error
    if meta.format != FORMAT:
        raise ResourceError(f"{path} has format {meta.format}; this version reads {FORMAT}. {_how_to_fix(folder)}")
    return meta
