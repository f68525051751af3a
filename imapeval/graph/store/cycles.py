"""Finds edges of a hierarchy that close a cycle, and nodes with many descendants. Pure functions over numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.graph.arrays import Flags, Integers


def cut_cycles(nodes: int, edges: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Find the edges that close a cycle with edges before them.

    Takes linear time except for edges between nodes that are on a cycle or between two cycles.

    Args:
        nodes: Number of nodes; they are numbered from 0.
        edges: (child, parent), each once, the most trusted first.

    Returns:
        The cycles, in the order of the edges that close them. Each begins with the child and the parent of that edge
        and continues upwards to the node below the child; a node that is its own parent is a cycle of one.
    """
    if not edges:
        return []
    child, parent = np.array(edges, dtype=np.int64).T
    free = _find_acyclic(nodes, child, parent) | _find_acyclic(nodes, parent, child)
    above: dict[int, list[int]] = {}
    cycles: list[tuple[int, ...]] = []
    for index in np.flatnonzero(~free[child] & ~free[parent]).tolist():
        low, high = edges[index]
        if path := _find_path(high, low, above):
            cycles.append((low, *path[:-1]))
        else:
            above.setdefault(low, []).append(high)
    return cycles


def find_broad(nodes: int, edges: Sequence[tuple[int, int]], *, more_than: int) -> list[int]:
    """Return the nodes with more than `more_than` descendants, in ascending order.

    Args:
        nodes: Number of nodes; they are numbered from 0.
        edges: (child, parent) without cycles.
        more_than: Number of descendants to be exceeded.
    """
    if len(edges) <= more_than:
        return []
    child, parent = np.array(edges, dtype=np.int64).T
    # Upper bound on the descendants of each node, which counts a node once for each path down to it (as float, because
    # there may be very many paths), and the length of the longest path down.
    bound, depth = np.zeros(nodes), np.zeros(nodes, dtype=np.int64)
    for low, high in _topological_levels(nodes, child, parent):
        np.add.at(bound, high, bound[low] + 1)
        np.maximum.at(depth, high, depth[low] + 1)
    downwards = _Adjacency(nodes, parent, child)
    broad: set[int] = set()
    # From the bottom: what is above a broad node is broad, so that only nodes with few descendants need to be counted.
    likely = np.flatnonzero(bound > more_than)
    for node in likely[np.argsort(depth[likely], kind="stable")].tolist():
        if not broad.isdisjoint(downwards.list_ends(node)) or downwards.reaches_more_than(more_than, node):
            broad.add(node)
    return sorted(broad)


class _Adjacency:
    """Edges sorted by their start."""

    def __init__(self, nodes: int, tail: Integers, head: Integers) -> None:
        order = np.argsort(tail, kind="stable")
        self._head = head[order]
        self._first = np.searchsorted(tail[order], np.arange(nodes + 1))

    def successors(self, level: Integers) -> tuple[Integers, Integers]:
        """Return the starts and the ends of the edges from some nodes."""
        counts = self._first[level + 1] - self._first[level]
        starts = np.repeat(self._first[level] - np.cumsum(counts) + counts, counts)
        return np.repeat(level, counts), self._head[starts + np.arange(len(starts))]

    def list_ends(self, node: int) -> list[int]:
        """Return the ends of the edges from a node."""
        return self._head[self._first[node] : self._first[node + 1]].tolist()

    def reaches_more_than(self, number: int, node: int) -> bool:
        """Return whether more than a number of other nodes can be reached from a node."""
        seen = {node}
        queue = [node]
        for reached in queue:
            fresh = set(self.list_ends(reached)) - seen
            seen |= fresh
            queue += fresh
            if len(seen) > number + 1:
                return True
        return False


def _topological_levels(nodes: int, tail: Integers, head: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield the edges by level in topological order; edges on or behind a cycle are never yielded."""
    ways = _Adjacency(nodes, tail, head)
    waiting = np.bincount(head, minlength=nodes)
    level = np.flatnonzero(waiting == 0)
    while len(level):
        low, high = ways.successors(level)
        yield low, high
        np.subtract.at(waiting, high, 1)
        reached = np.unique(high)
        level = reached[waiting[reached] == 0]


def _find_acyclic(nodes: int, tail: Integers, head: Integers) -> Flags:
    """Return a mask of the nodes that no cycle leads to."""
    waiting = np.bincount(head, minlength=nodes)
    for _, high in _topological_levels(nodes, tail, head):
        np.subtract.at(waiting, high, 1)
    return waiting == 0


def _find_path(start: int, goal: int, above: dict[int, list[int]]) -> list[int]:
    """Return a shortest path up from one node to another, both included, or an empty list."""
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
