"""Runs of equal numbers in weighted rows: what ranks, ties and levels are counted from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from imapeval.study.arrays import Counts, Floats


class Runs(NamedTuple):
    """Rows in ascending order, equal numbers side by side.

    Attributes:
        order: The rows, shape (m, n) or (1, n).
        is_last: Whether a row is the last of its run, shape (m, n) or (1, n).
        size: Weight of the run that each row is in, shape (m, n).
        middle: Average rank in that run less the mean rank of all, shape (m, n).
    """

    order: Counts
    is_last: npt.NDArray[np.bool_]
    size: Floats
    middle: Floats

    def count_weighted(self) -> Counts:
        """Return the number of runs with a weight, shape (m,)."""
        return (self.is_last & (self.size > 0)).sum(axis=-1)

    def sum_squares(self) -> Floats:
        """Return the sum of the squared weights of the runs, shape (m,)."""
        return np.where(self.is_last, self.size**2, 0.0).sum(axis=-1)


def find_runs(side: Floats, weights: Floats) -> Runs:
    """Find the runs of equal numbers.

    Args:
        side: Shape (m, n), or (1, n) for the same numbers under all weights.
        weights: Shape (m, n).
    """
    order = np.argsort(side, axis=-1, kind="stable")
    ordered = np.take_along_axis(side, order, axis=-1)
    changes = ordered[:, 1:] != ordered[:, :-1]
    edge = np.ones((len(side), 1), dtype=np.bool_)
    is_first, is_last = np.hstack([edge, changes]), np.hstack([changes, edge])
    rows: int = side.shape[1]
    place = np.arange(rows)
    first = np.maximum.accumulate(np.where(is_first, place, 0), axis=-1)
    last = np.minimum.accumulate(np.where(is_last, place, rows - 1)[:, ::-1], axis=-1)[:, ::-1]
    if len(side) == 1:
        summed = weights[:, order[0]].cumsum(axis=-1)
        before = np.hstack([np.zeros((len(weights), 1)), summed])[:, first[0]]
        up_to = summed[:, last[0]]
    else:
        summed = np.take_along_axis(weights, order, axis=-1).cumsum(axis=-1)
        before = np.take_along_axis(np.hstack([np.zeros((len(weights), 1)), summed]), first, axis=-1)
        up_to = np.take_along_axis(summed, last, axis=-1)
    return Runs(order, is_last, up_to - before, (before + up_to - summed[:, -1:]) / 2)
