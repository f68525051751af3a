"""Chooses the FAISS index for a number of names and bytes, and the number of its cells to search.

The recall of an approximate index is measured on names of the graph itself while the index is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from math import log2, sqrt
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np

from imapeval.errors import UsageError
from imapeval.graph.index.files import Recall

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.graph.arrays import Floats32, Integers
    from imapeval.graph.index.device import FaissDevice


_MIN_NAMES_FOR_CELLS = 20_000
"""Number of names from which vectors are sorted into cells; fewer are kept exactly, in 40 MB and 5 ms per query."""

_MIN_BYTE_DIMENSION = 256
"""Number of dimensions from which one byte each is enough; with fewer, neighbours are too close together."""

# (dimensions kept, bytes a vector), best first; docs/graph-files.md has the recall of each on the shipped graph.
_COMPRESSED = ((256, 64), (192, 48), (128, 32))
_COMPRESSED_CELLS = 256

_OVERHEAD = 1 << 16
"""Bytes of a file for everything except vectors, matrices and cells."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Specification of an index.

    Attributes:
        factory: Specification for FAISS's `index_factory`.
        cells: Number of cells that the vectors are sorted into; 0 for none.
        uses_pca: Whether the vectors are first reduced by PCA.
        size: Upper bound on the bytes of the file, to a few percent.
    """

    factory: str
    cells: int
    uses_pca: bool
    size: int


def choose_recipe(names: int, dimension: int, *, max_bytes: int | None) -> Recipe:
    """Return the recipe with the highest recall for a number of names, in a file of at most `max_bytes`.

    Raises:
        UsageError: The smallest index exceeds the limit.
    """
    if names < _MIN_NAMES_FOR_CELLS:
        recipes = [Recipe("Flat", 0, uses_pca=False, size=names * dimension * 4 + _OVERHEAD)]
    else:
        compressed = [_make_compressed(names, dimension, *how) for how in _COMPRESSED if how[0] < dimension]
        recipes = [_make_cells(names, dimension), *compressed]
    for recipe in recipes:
        if max_bytes is None or recipe.size <= max_bytes:
            return recipe
    raise UsageError(
        f"no index of {names} names of {dimension} dimensions fits into {max_bytes} bytes; "
        f"the smallest takes {recipes[-1].size}. Raise the limit."
    )


def _make_cells(names: int, dimension: int) -> Recipe:
    # 2 sqrt(n), although FAISS's guidelines say 4 to 16 sqrt(n): training and filling take time for each cell.
    cells = 2 ** round(log2(2 * sqrt(names)))
    code, width = ("SQfp16", 2) if dimension < _MIN_BYTE_DIMENSION else ("SQ8", 1)
    # 8 bytes for the id of the name.
    size = names * (dimension * width + 8) + cells * dimension * 4 + _OVERHEAD
    return Recipe(f"IVF{cells},{code}", cells, uses_pca=False, size=size)


def _make_compressed(names: int, dimension: int, kept: int, code: int) -> Recipe:
    # 4 bits for every two remaining dimensions; "fs" for FAISS's fast scan, which pads cells to multiples of 32 names.
    return Recipe(
        f"PCAR{kept},IVF{_COMPRESSED_CELLS},PQ{code * 2}x4fs",
        _COMPRESSED_CELLS,
        uses_pca=True,
        size=(names + 31 * _COMPRESSED_CELLS) * (code + 8) + (dimension + _COMPRESSED_CELLS) * kept * 4 + _OVERHEAD,
    )


NEIGHBOURS = 10
"""Number of nearest names that are compared with those of exact search."""

QUERIES = 1_000
"""Number of names used as queries, with which the standard error of the recall is about .004."""

TARGET_RECALL = 0.96
"""Recall to be reached: .95 plus two standard errors, so that other queries reach .95 as well."""

_PROBE_COUNTS = (1, *sorted(step << power for step in (2, 3) for power in range(20)))
"""Numbers of cells that are tried: 1, 2, 3, 4, 6, 8, 12, ..."""

_MIN_GAIN = 0.003
"""If a step gains less recall than this, compression limits it."""

_TIE_MARGIN = 1e-5
"""Similarities that differ by less count as equal, as those of names with the same words."""


class ExactNeighbours:
    """The similarities of the `NEIGHBOURS` rows nearest to each query, by exact search over rows added in batches.

    Args:
        queries: Shape (queries, dimension), centred.
        device: Where to search.
    """

    def __init__(self, queries: Floats32, device: FaissDevice) -> None:
        self.queries = queries
        self._device = device
        self._best = np.full((len(queries), NEIGHBOURS), -np.inf, dtype=np.float32)

    def add(self, rows: Floats32) -> None:
        """Add rows, shape (n, dimension), centred."""
        found = self._device.score_nearest(self.queries, rows, k=min(NEIGHBOURS, len(rows)))
        self._best = np.sort(np.concatenate([self._best, found], axis=1), axis=1)[:, -NEIGHBOURS:]

    @property
    def least(self) -> Floats32:
        """The similarity of the farthest of these rows to each query."""
        return self._best[:, 0]


def drop_character(text: str, rng: np.random.Generator) -> str:
    """Return a text with one character removed, like a typing error; texts shorter than four are returned unchanged."""
    if len(text) < 4:
        return text
    index = int(rng.integers(len(text)))
    return text[:index] + text[index + 1 :]


def choose_probes(index: Any, nearest: ExactNeighbours, pick: Callable[[Integers], Floats32]) -> Recall:
    """Set the smallest number of cells to search that reaches the target, and return the recall.

    If compression prevents the target, the largest number that still improves recall is set.

    Args:
        index: A FAISS index of cells, filled.
        nearest: The result of exact search.
        pick: Returns the uncompressed rows with given numbers, shape (n, dimension), centred.
    """
    cells: Any = faiss.extract_index_ivf(index)
    best: Recall | None = None
    for probes in takewhile(cells.nlist.__ge__, _PROBE_COUNTS):
        cells.nprobe = probes
        found: Integers = index.search(nearest.queries, NEIGHBOURS)[1]
        rows = pick(np.maximum(found, 0).ravel()).reshape(*found.shape, -1)
        scores: Floats32 = np.einsum("qd,qkd->qk", nearest.queries, rows)
        right = (found >= 0) & (scores >= nearest.least[:, None] - _TIE_MARGIN)
        share = float(right.mean())
        if best is not None and share < best.share + _MIN_GAIN:
            break
        best = Recall(share=round(share, 4), k=NEIGHBOURS, probes=probes, queries=len(nearest.queries))
        if share >= TARGET_RECALL:
            break
    if best is None:
        raise ValueError("an index without cells has no number of cells to choose")
    cells.nprobe = best.probes
    return best
