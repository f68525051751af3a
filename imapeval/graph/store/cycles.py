"""Orders of concepts: what closes a cycle, and what has much below it. Numbers in, numbers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]


def cut_cycles(nodes: int, edges: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Find the edges that close a cycle with edges before them.

    Time grows with the edges; only those between nodes that lie on a cycle, or between two cycles, are looked at one
    by one.

    Args:
        nodes: Their number; they are numbered from 0.
        edges: (child, parent), each once, the most trusted first.

    Returns:
        The cycles, in the order of the edges that close them. Each begins with the child and the parent of that edge
        and goes on upwards until the child would come again; that of a node above itself is the node alone.
    """
    if not edges:
        return []
    child, parent = np.array(edges, dtype=np.int64).T
    free = _find_acyclic(nodes, child, parent) | _find_acyclic(nodes, parent, child)
    above: dict[int, list[int]] = {}
    cycles: list[tuple[int, ...]] = []
    for place in np.flatnonzero(~free[child] & ~free[parent]).tolist():
        low, high = edges[place]
        if path := _find_path(high, low, above):
            cycles.append((low, *path[:-1]))
        else:
            above.setdefault(low, []).append(high)
    return cycles


def find_broad(nodes: int, edges: Sequence[tuple[int, int]], *, more_than: int) -> list[int]:
    """Return the nodes with more than so many others below them, in ascending order.

    Args:
        nodes: Their number; they are numbered from 0.
        edges: (child, parent) without cycles.
        more_than: How many nodes below are not yet enough.
    """
    if len(edges) <= more_than:
        return []
    child, parent = np.array(edges, dtype=np.int64).T
    # How many nodes lie below each at most: a node counts once for each way down to it; in float, because in a wide
    # hierarchy these are very many. And how long the longest way down is.
    bound, depth = np.zeros(nodes), np.zeros(nodes, dtype=np.int64)
    for low, high in _topological_levels(nodes, child, parent):
        np.add.at(bound, high, bound[low] + 1)
        np.maximum.at(depth, high, depth[low] + 1)
    upwards, downwards = _Adjacency(nodes, child, parent), _Adjacency(nodes, parent, child)
    broad: set[int] = set()
    # From the top: what lies above a broad node is broad itself, so most need not be counted.
    likely = np.flatnonzero(bound > more_than)
    for node in likely[np.argsort(-depth[likely], kind="stable")]:
        if (
            broad.issuperset(upwards.successors(np.array([node]))[1].tolist())
            and downwards.count_descendants(node) > more_than
        ):
            broad.add(int(node))
    return sorted(broad)


class _Adjacency:
    """Edges sorted by where they start."""

    def __init__(self, nodes: int, tail: Ints, head: Ints) -> None:
        order = np.argsort(tail, kind="stable")
        self._nodes = nodes
        self._head = head[order]
        self._first = np.searchsorted(tail[order], np.arange(nodes + 1))

    def successors(self, level: Ints) -> tuple[Ints, Ints]:
        """Return where the edges from some nodes start, and where they lead."""
        counts = self._first[level + 1] - self._first[level]
        starts = np.repeat(self._first[level] - np.cumsum(counts) + counts, counts)
        return np.repeat(level, counts), self._head[starts + np.arange(len(starts))]

    def count_descendants(self, node: np.int64) -> int:
        """Return how many other nodes are reached from a node."""
        seen = np.zeros(self._nodes, dtype=bool)
        seen[node] = True
        level = np.array([node])
        while len(level):
            heads = np.unique(self.successors(level)[1])
            level = heads[~seen[heads]]
            seen[level] = True
        return int(seen.sum()) - 1


def _topological_levels(nodes: int, tail: Ints, head: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield the edges, level by level: those from a node when all that lead to it have come; never those of a cycle."""
    ways = _Adjacency(nodes, tail, head)
    waiting = np.bincount(head, minlength=nodes)
    level = np.flatnonzero(waiting == 0)
    while len(level):
        low, high = ways.successors(level)
        yield low, high
        np.subtract.at(waiting, high, 1)
        reached = np.unique(high)
        level = reached[waiting[reached] == 0]


def _find_acyclic(nodes: int, tail: Ints, head: Ints) -> npt.NDArray[np.bool_]:
    """Tell which nodes no cycle leads to."""
    waiting = np.bincount(head, minlength=nodes)
    for _, high in _topological_levels(nodes, tail, head):
        np.subtract.at(waiting, high, 1)
    return waiting == 0


def _find_path(start: int, goal: int, above: dict[int, list[int]]) -> list[int]:
    """Return a shortest way up from one node to another, both included, or nothing."""
    came_from: dict[int, int | None] = {start: None}
    queue = [start]
    for node in queue:
        if node == goal:
            path = [node]
            while (before := came_from[path[-1]]) is not None:
                path.append(before)
            return path[::-1]
        for parent in above.get(node, ()):
            if parent not in came_from:
                came_from[parent] = node
                queue.append(parent)
    return []
