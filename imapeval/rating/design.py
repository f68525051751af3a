"""Who rates which answers, and in which order."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

_T = TypeVar("_T")

_PROPOSALS = 40
"""Exchanges tried per rating: benchmarks of 12 to 2,000 answers gain nothing from more."""


def assign_blocks(
    systems: Sequence[Hashable], *, panel: int, raters_per_answer: int, seed: int
) -> tuple[tuple[int, ...], ...]:
    """Choose the raters of each answer: an incomplete block design, as balanced as a search finds it.

    Every answer gets its number of raters, and the numbers of answers of two raters differ by at most one. Among such
    designs, a search by exchanges evens out how often two raters meet on an answer (every pair equally often is a
    balanced incomplete block design; Yates 1936) and how many answers of each system a rater sees, so that a strict
    rater does not affect one system more than another.

    Args:
        systems: The system of each answer.
        panel: Number of raters.
        raters_per_answer: How many of them rate each answer.
        seed: Random seed.

    Returns:
        Raters of each answer, numbered from 0, ascending.

    Raises:
        UsageError: The panel is smaller than the number of raters an answer needs.
    """
    if panel < raters_per_answer:
        raise UsageError(
            f"--panel {panel} is smaller than --raters {raters_per_answer}: an answer needs {raters_per_answer} "
            "different raters. Give more raters or fewer per answer."
        )
    if panel == raters_per_answer:
        return (tuple(range(panel)),) * len(systems)
    rng = random.Random(f"{seed}/blocks")
    design = _Design(systems, panel)
    for answer in rng.sample(range(len(systems)), len(systems)):
        design.fill(answer, raters_per_answer, rng)
    for _ in range(_PROPOSALS * raters_per_answer * len(systems)):
        design.exchange(rng)
    return tuple(tuple(sorted(block)) for block in design.blocks)


class _Design:
    """Blocks, and the counts that the search evens out."""

    def __init__(self, systems: Sequence[Hashable], panel: int) -> None:
        self.blocks: list[set[int]] = [set() for _ in systems]
        self._systems = systems
        self._panel = panel
        self._loads = [0] * panel
        self._pairs = [[0] * panel for _ in range(panel)]
        self._seen: dict[Hashable, list[int]] = {system: [0] * panel for system in systems}

    def fill(self, answer: int, size: int, rng: random.Random) -> None:
        """Choose the raters of an answer among those with the fewest answers so far, so that loads stay within one."""
        block, seen = self.blocks[answer], self._seen[self._systems[answer]]
        for _ in range(size):
            free = [rater for rater in range(self._panel) if rater not in block]
            rater = min(
                free,
                key=lambda one: (
                    self._loads[one],
                    sum(self._pairs[one][other] for other in block) + seen[one],
                    rng.random(),
                ),
            )
            self._add(answer, rater)

    def exchange(self, rng: random.Random) -> None:
        """Let two raters swap two answers where that makes the design no less balanced."""
        first, second = rng.randrange(len(self.blocks)), rng.randrange(len(self.blocks))
        leaving, coming = (
            sorted(self.blocks[first] - self.blocks[second]),
            sorted(self.blocks[second] - self.blocks[first]),
        )
        if not leaving or not coming:
            return
        one, other = rng.choice(leaving), rng.choice(coming)
        cost = self._remove(first, one) + self._remove(second, other)
        cost += self._add(first, other) + self._add(second, one)
        if cost > 0:
            self._remove(first, other)
            self._remove(second, one)
            self._add(first, one)
            self._add(second, other)

    def _add(self, answer: int, rater: int) -> int:
        """Add a rater to an answer, and return by how much the sum of squared counts grows."""
        block, seen = self.blocks[answer], self._seen[self._systems[answer]]
        growth = 2 * seen[rater] + 1
        seen[rater] += 1
        for other in block:
            growth += 2 * self._pairs[rater][other] + 1
            self._pairs[rater][other] += 1
            self._pairs[other][rater] += 1
        block.add(rater)
        self._loads[rater] += 1
        return growth

    def _remove(self, answer: int, rater: int) -> int:
        block, seen = self.blocks[answer], self._seen[self._systems[answer]]
        block.remove(rater)
        self._loads[rater] -= 1
        seen[rater] -= 1
        growth = -2 * seen[rater] - 1
        for other in block:
            self._pairs[rater][other] -= 1
            self._pairs[other][rater] -= 1
            growth -= 2 * self._pairs[rater][other] + 1
        return growth


def order_items(items: Sequence[_T], question: Mapping[_T, int], *, rng: random.Random, together: bool) -> list[_T]:
    """Put items into a random order.

    Args:
        items: Distinct items.
        question: The question of each.
        rng: Source of randomness.
        together: Whether the answers to one question follow each other. Otherwise no two do, unless one question has
            more than half of the items.
    """
    rest = list(items)
    rng.shuffle(rest)
    if together:
        first: dict[int, int] = {}
        for place, item in enumerate(rest):
            first.setdefault(question[item], place)
        return sorted(rest, key=lambda item: first[question[item]])
    counts = Counter(question[item] for item in rest)
    ordered: list[_T] = []
    # Only counts of at least half of what is left can force a choice, and counts never grow.
    most = max(counts.values(), default=0)
    while rest:
        last = question[ordered[-1]] if ordered else None
        forced = None
        if 2 * most >= len(rest):
            top, number = counts.most_common(1)[0]
            forced = top if 2 * number > len(rest) and top != last else None
        fitting = (
            place
            for place in reversed(range(len(rest)))
            if (question[rest[place]] != last if forced is None else question[rest[place]] == forced)
        )
        item = rest.pop(next(fitting, len(rest) - 1))
        counts[question[item]] -= 1
        ordered.append(item)
    return ordered


def insert_spread(
    ordered: list[_T], extra: Sequence[_T], question: Mapping[_T, int], *, rng: random.Random, start: float = 0.0
) -> list[_T]:
    """Insert items at random, one in each of as many stretches of equal length.

    Where possible, none is next to an item of the same question.

    Args:
        ordered: Items in order.
        extra: Items to insert.
        question: The question of each item.
        rng: Source of randomness.
        start: Share of the order before which nothing is inserted, 0..1.
    """
    merged = list(ordered)
    first = round(start * len(ordered))
    width = (len(ordered) - first) / max(1, len(extra))
    # From the end, so that earlier positions do not shift.
    for number in reversed(range(len(extra))):
        item = extra[number]
        low, high = first + round(number * width), first + round((number + 1) * width)
        places = list(range(low, high + 1))
        rng.shuffle(places)
        free = [
            place
            for place in places
            if all(question[near] != question[item] for near in merged[max(0, place - 1) : place + 1])
        ]
        merged.insert((free or places)[0], item)
    return merged


def insert_together(
    ordered: Sequence[_T], extra: Sequence[_T], question: Mapping[_T, int], *, rng: random.Random, start: int
) -> list[_T]:
    """Insert items beside the first of the same question, or at random between two questions.

    Args:
        ordered: Items in order, those of a question together.
        extra: Items to insert.
        question: The question of each item.
        rng: Source of randomness.
        start: Nothing is inserted before this place, counted from 0.
    """
    merged = list(ordered)
    asked = [question[item] for item in merged]
    before = max(0, start - 1)
    for item in extra:
        if question[item] in asked[before:]:
            place = max(start, asked.index(question[item], before))
        else:
            ends = (0, len(merged))
            places = range(start, len(merged) + 1)
            place = rng.choice([one for one in places if one in ends or asked[one - 1] != asked[one]])
        merged.insert(place, item)
        asked.insert(place, question[item])
    return merged


def choose_repeats(ordered: Sequence[_T], count: int, *, rng: random.Random) -> list[_T]:
    """Choose which items a rater sees again: among the first half, so that the others lie between.

    Raises:
        UsageError: There are fewer.
    """
    early = list(ordered[: len(ordered) // 2])
    if count > len(early):
        raise UsageError(
            f"--repeats {count} is more than half of the {len(ordered)} answers that a rater gets. Give at most "
            f"{len(early)}."
        )
    return rng.sample(early, count)
