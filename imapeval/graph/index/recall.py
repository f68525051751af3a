"""How well an index that is not exact finds names, measured on the graph's own names while it is built."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np

from imapeval.graph.index.files import Recall

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from imapeval.graph.index.device import FaissDevice

    Rows = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int64]

NEIGHBOURS = 10
"""Nearest names that are compared."""

QUERIES = 1_000
"""Names that are asked for. The standard error of the share is then some .004."""

TARGET_RECALL = 0.96
"""Share to reach: .95, and two standard errors, so that other queries get .95 as well."""

_PROBE_COUNTS = (1, *sorted(step << power for step in (2, 3) for power in range(20)))
"""Numbers of cells that are tried: 1, 2, 3, 4, 6, 8, 12, ..."""

_MIN_GAIN = 0.003
"""An index that finds no more than this in a step has found what its compression lets it find."""

_TIE_MARGIN = 1e-5
"""Similarities that differ by less are equal: names of the same words, of which any ten will do."""


class ExactNeighbours:
    """The similarities of the K rows nearest to each query, by exact search over rows that come some at a time.

    Args:
        queries: Shape (queries, dimension), centred.
        device: Where to search.
    """

    def __init__(self, queries: Rows, device: FaissDevice) -> None:
        self.queries = queries
        self._device = device
        self._best = np.full((len(queries), NEIGHBOURS), -np.inf, dtype=np.float32)

    def add(self, rows: Rows) -> None:
        """Look at more rows, shape (n, dimension), centred."""
        found = self._device.score_nearest(self.queries, rows, k=min(NEIGHBOURS, len(rows)))
        self._best = np.sort(np.concatenate([self._best, found], axis=1), axis=1)[:, -NEIGHBOURS:]

    @property
    def least(self) -> Rows:
        """The similarity of the K-th nearest row to each query."""
        return self._best[:, 0]


def drop_character(text: str, rng: np.random.Generator) -> str:
    """Return a text with one character left out, as somebody in haste writes it; texts under four stay as they are."""
    if len(text) < 4:
        return text
    place = int(rng.integers(len(text)))
    return text[:place] + text[place + 1 :]


def choose_probes(index: Any, nearest: ExactNeighbours, pick: Callable[[Numbers], Rows]) -> Recall:
    """Make an index search as few cells as reach the goal, of some numbers tried, and return what it finds then.

    Where its vectors are so compressed that it cannot reach the goal, it searches as many cells as help.

    Args:
        index: A FAISS index of cells, filled.
        nearest: What exact search finds.
        pick: Gives the uncompressed rows with some numbers, shape (n, dimension), centred.
    """
    cells: Any = faiss.extract_index_ivf(index)
    best: Recall | None = None
    for probes in takewhile(cells.nlist.__ge__, _PROBE_COUNTS):
        cells.nprobe = probes
        found: Numbers = index.search(nearest.queries, NEIGHBOURS)[1]
        rows = pick(np.maximum(found, 0).ravel()).reshape(*found.shape, -1)
        scores: Rows = np.einsum("qd,qkd->qk", nearest.queries, rows)
        right = (found >= 0) & (scores >= nearest.least[:, None] - _TIE_MARGIN)
        share = float(right.mean())
        if best is not None and share < best.share + _MIN_GAIN:
            break
        best = Recall(share=round(share, 4), k=NEIGHBOURS, probes=probes, queries=len(nearest.queries))
        if share >= TARGET_RECALL:
            break
    if best is None:
        raise ValueError("an index without cells has nothing to choose")
    cells.nprobe = best.probes
    return best
