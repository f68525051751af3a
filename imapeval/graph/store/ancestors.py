"""The shortest ways up a hierarchy, level by level. Numbers in, numbers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Ancestors = dict[tuple[int, bool], tuple[int, tuple[int, bool]]]
"""{(concept, whether the way to it has a part-of step): (number of steps, the one below it on the way)}."""


def find_ancestors(start: int, steps: Iterable[tuple[int, int, int]]) -> Ancestors:
    """Return what lies above a concept, nearest first, with a shortest way to each.

    A concept may be reached twice: by is-a alone, and by a way with part-of in it. Of equally short ways the one
    through the concepts with the lowest numbers is taken.

    Args:
        start: The concept; it is not above itself.
        steps: (below, above, 1 for part-of or 0 for is-a), at least all that start from what lies above.
    """
    above: dict[int, list[tuple[int, bool]]] = {}
    for low, high, is_part in steps:
        if high != start:
            above.setdefault(low, []).append((high, bool(is_part)))
    found: Ancestors = {}
    level, depth = [(start, False)], 0
    while level:
        depth += 1
        reached: dict[tuple[int, bool], tuple[int, bool]] = {}
        for here in level:
            for high, is_part in above.get(here[0], ()):
                there = (high, here[1] or is_part)
                if there not in found:
                    reached.setdefault(there, here)
        level = sorted(reached)
        found.update((there, (depth, reached[there])) for there in level)
    return found


def trace_path(goal: tuple[int, bool], found: Ancestors) -> list[int]:
    """Return the way from the start up to a goal that was found, both included."""
    path = [goal]
    while path[-1] in found:
        path.append(found[path[-1]][1])
    return [number for number, _ in reversed(path)]
