"""Finds the names of the graph nearest to a text: a FAISS index over the vectors of the names.

An index is two files (see `imapeval.graph.index.files`), in the folder of the graph or in the user's cache.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from imapeval._resources import cache_folder
from imapeval.errors import ResourceError
from imapeval.graph.index.build import build_index
from imapeval.graph.index.files import FORMAT, HOW_TO_BUILD, HOW_TO_FIX, IndexDescription, open_index, read_description
from imapeval.graph.index.preprocessing import centre

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from imapeval.graph.arrays import Floats32, Integers
    from imapeval.graph.encoder import Encoder
    from imapeval.graph.store.graph import Graph
    from imapeval.types import Lang


INDEX_FILE = "names.faiss"
"""Name of the index in the graph's folder."""


class NameIndex:
    """Finds the names nearest to a vector, and subtracts the mean of all names from vectors.

    Row r of the index holds the name whose row id in `Graph.all_names` is r + 1. May be shared between threads.

    Attributes:
        encoder: Encoder of the names, which queries must use as well.
        path: The file.
        recipe: Specification for FAISS's `index_factory`; "Flat" is exact.
        recall: Its recall relative to exact search; None where it is exact.
    """

    def __init__(self, path: Path, description: IndexDescription, index: Any, encoder: Encoder) -> None:
        """Do not call this; use `NameIndex.open_or_build`, `NameIndex.open` or `NameIndex.build`."""
        self.encoder = encoder
        self.path = path
        self.recipe = description.recipe
        self.recall = description.recall
        self._index = index
        self._means = description.decode_means()

    def __len__(self) -> int:
        """Return the number of names."""
        return int(self._index.ntotal)

    @classmethod
    def open(cls, graph: Graph, encoder: Encoder, path: Path) -> Self:
        """Open the `.faiss` file of an index; its vectors stay on disk and are read as they are searched.

        Raises:
            ResourceError: It is missing or damaged, or was made from another graph or with another encoder.
        """
        description = read_description(path)
        if description is None:
            raise ResourceError(f"there is no name index at {path}. {HOW_TO_BUILD}")
        if not _was_made_from(description, graph, encoder):
            raise ResourceError(
                f"the name index {path} does not match: it was made from the graph {description.graph[:12]} with the "
                f"encoder {description.encoder!r}, but the open ones are the graph {graph.hash[:12]} and the encoder "
                f"{encoder.identity!r}. {HOW_TO_FIX}"
            )
        return cls(path, description, open_index(path, description), encoder)

    @classmethod
    def open_or_build(
        cls, graph: Graph, encoder: Encoder, *, progress: Callable[[int, int], None] | None = None
    ) -> Self:
        """Open the index beside the graph or in the user's cache; if neither matches, build one in the cache.

        Building encodes every name once: 40 s for 92,000 with the shipped encoder on two cores. Meanwhile `progress`
        is called with the number of names encoded so far and of all names.

        Raises:
            ResourceError: An index is damaged, or the cache cannot be written.
        """
        for path in (graph.path.parent / INDEX_FILE, cached_path(graph, encoder)):
            description = read_description(path)
            if description is not None and _was_made_from(description, graph, encoder):
                return cls.open(graph, encoder, path)
        return cls.build(graph, encoder, cached_path(graph, encoder), progress=progress)

    @classmethod
    def build(
        cls,
        graph: Graph,
        encoder: Encoder,
        path: Path,
        *,
        max_bytes: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Encode all names of a graph, write the index and open it.

        The vectors are kept beside the index, in the folder `NAME.part`, until it is written, so that another call
        resumes a build that was stopped. If another process is building the same index, this one waits and opens the
        result.

        Args:
            graph: The graph.
            encoder: The encoder.
            path: Where to write the `.faiss` file; its description goes beside it, with the suffix `.json`.
            max_bytes: Maximum size of the `.faiss` file; vectors are compressed as far as needed. With None they are
                kept exactly for few names, and with one or two bytes per dimension for many.
            progress: Called with the number of names encoded so far and of all names.

        Raises:
            ResourceError: The folder cannot be written, or the disk is full.
            UsageError: No index fits into `max_bytes`.
        """
        build_index(graph, encoder, path, max_bytes=max_bytes, progress=progress)
        return cls.open(graph, encoder, path)

    def centre(self, vectors: Floats32, lang: Lang) -> Floats32:
        """Return rows minus the mean of all names of a language, scaled to length 1; rows of zeros stay zero.

        Args:
            vectors: Shape (n, dimension), as the encoder returns them.
            lang: Language of the texts.
        """
        return centre(vectors, self._means.get(lang))

    def search(self, vectors: Floats32, k: int) -> tuple[Integers, Floats32]:
        """Return the row ids (see `Graph.all_names`) and the similarities of the nearest names, nearest first.

        Args:
            vectors: Shape (n, dimension), centred.
            k: Number of names; fewer if the graph has fewer.

        Returns:
            Two arrays of shape (n, k), or as many columns as the graph has names. Similarities are cosines; with
            compressed vectors they are off by some hundredths. The row id is 0 if nothing is found.
        """
        shape = len(vectors), min(k, len(self))
        if not all(shape):
            return np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.float32)
        scores, rows = self._index.search(np.ascontiguousarray(vectors, dtype=np.float32), shape[1])
        return rows + 1, scores


def cached_path(graph: Graph, encoder: Encoder) -> Path:
    """Return the path in the cache folder of the index of a graph and an encoder."""
    name = re.sub(r"[^\w.@-]+", "_", encoder.identity)
    return cache_folder() / "index" / f"{graph.hash[:16]}-{name}-{FORMAT}.faiss"


def _was_made_from(description: IndexDescription, graph: Graph, encoder: Encoder) -> bool:
    return (description.graph, description.encoder) == (graph.hash, encoder.identity)
