"""The nearest names of the graph to any wording: a FAISS index over the names' vectors.

An index is two files: `names.faiss`, and beside it `names.json`, which says of which graph and which encoder it was
made, how well it finds names, and what all names of a language have in common. They lie in the graph's folder, or in
the user's cache.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from imapeval._resources import cache_folder
from imapeval.errors import ResourceError
from imapeval.graph.index.build import build_index
from imapeval.graph.index.files import FORMAT, HOW_TO_FIX, IndexDescription, open_index, read_description
from imapeval.graph.index.preprocessing import centre

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from imapeval.graph.encoder import Encoder
    from imapeval.graph.store.graph import Graph
    from imapeval.types import Lang

    Rows = npt.NDArray[np.float32]

INDEX_FILE = "names.faiss"
"""Name of the index in the graph's folder."""


class NameIndex:
    """Finds the names nearest to a vector, and removes from vectors what all names have in common.

    Row r of the index is the name with row id r + 1 of `Graph.all_names`. May be shared between threads.

    Attributes:
        encoder: What the names were encoded with; queries must be as well.
        path: The file.
        recipe: The index in the words of FAISS's `index_factory`; "Flat" is exact.
        recall: How well it finds what exact search finds; None where it is exact.
    """

    def __init__(self, path: Path, description: IndexDescription, index: Any, encoder: Encoder) -> None:
        """Not for callers: use `NameIndex.open_or_build`, `NameIndex.open` or `NameIndex.build`."""
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
        """Open an index; its vectors stay on disk, and are read into memory as they are searched.

        Args:
            graph: The graph whose names were indexed.
            encoder: The encoder they were encoded with.
            path: The `.faiss` file.

        Raises:
            ResourceError: There is none, it is damaged, or it was made of another graph or with another encoder.
        """
        description = read_description(path)
        if description is None:
            raise ResourceError(f"there is no name index at {path}. {HOW_TO_FIX}")
        if not _is_for(description, graph, encoder):
            raise ResourceError(
                f"the name index {path} does not fit: it was made of the graph {description.graph[:12]} with the "
                f"encoder {description.encoder!r}, but open are the graph {graph.hash[:12]} and the encoder "
                f"{encoder.identity!r}. {HOW_TO_FIX}"
            )
        return cls(path, description, open_index(path, description), encoder)

    @classmethod
    def open_or_build(
        cls, graph: Graph, encoder: Encoder, *, progress: Callable[[int, int], None] | None = None
    ) -> Self:
        """Open the index beside the graph or the one in the user's cache; where neither fits, build it into the cache.

        Building encodes every name once: 40 s for 92,000 with the shipped encoder on two cores.

        Args:
            graph: The graph whose names to find.
            encoder: What to encode them with.
            progress: Called while building, with the number of names encoded so far and of all names.

        Raises:
            ResourceError: An index is damaged, or the cache cannot be written.
        """
        for path in (graph.path.parent / INDEX_FILE, cached_path(graph, encoder)):
            description = read_description(path)
            if description is not None and _is_for(description, graph, encoder):
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

        The vectors are kept beside the index, in the folder `NAME.part`, until it is written: a build that was
        stopped goes on where it was when it is called again. Where another process is building the same index, this
        one waits and opens what the other has made.

        Args:
            graph: Whose names to index.
            encoder: What to encode them with.
            path: Where to write the `.faiss` file; its description goes beside it, with the suffix `.json`.
            max_bytes: Size that the `.faiss` file must keep to; vectors are compressed as far as it takes. None keeps
                them exactly where there are few names, and with a byte or two a dimension where there are many.
            progress: Called with the number of names encoded so far and of all names.

        Raises:
            ResourceError: The folder cannot be written, or the disk is full.
            UsageError: No index is as small as `max_bytes`.
        """
        build_index(graph, encoder, path, max_bytes=max_bytes, progress=progress)
        return cls.open(graph, encoder, path)

    def centre(self, vectors: Rows, lang: Lang) -> Rows:
        """Return unit rows from which the mean of all names of a language has been taken; rows of zeros stay so.

        Args:
            vectors: Shape (n, dimension), as the encoder gives them.
            lang: Language of the texts.
        """
        return centre(vectors, self._means.get(lang))

    def search(self, vectors: Rows, k: int) -> tuple[npt.NDArray[np.int64], Rows]:
        """Return the row ids (see `Graph.all_names`) and the similarities of the nearest names, nearest first.

        Args:
            vectors: Shape (n, dimension), centred.
            k: How many names; fewer where the graph has fewer.

        Returns:
            Two arrays of shape (n, k). Similarities are cosines, off by some hundredths where the stored vectors are
            compressed. Where nothing is found the row id is 0.
        """
        if not len(vectors):
            return np.zeros((0, k), dtype=np.int64), np.zeros((0, k), dtype=np.float32)
        scores, rows = self._index.search(np.ascontiguousarray(vectors, dtype=np.float32), min(k, len(self)))
        return rows + 1, scores


def cached_path(graph: Graph, encoder: Encoder) -> Path:
    """Return where an index is kept that does not lie beside its graph: in the cache folder, named after both."""
    name = re.sub(r"[^\w.@-]+", "_", encoder.identity)
    return cache_folder() / "index" / f"{graph.hash[:16]}-{name}-{FORMAT}.faiss"


def _is_for(description: IndexDescription, graph: Graph, encoder: Encoder) -> bool:
    return (description.graph, description.encoder) == (graph.hash, encoder.identity)
