"""All dimensions, and a search for the sides that a text names."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from imapeval.text.dimensions import advice, course, findings, general
from imapeval.text.required import find_required

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULES = (general, findings, course, advice)


def _gather(group: str) -> tuple[tuple[str, ...], ...]:
    return tuple(sides for module in _MODULES for sides in getattr(module, group, ()))


_CONTRARIES, _STANDALONE, _STANDALONE_COMPLEMENTS, _COMPLEMENTS = map(
    _gather, ("CONTRARIES", "STANDALONE", "STANDALONE_COMPLEMENTS", "COMPLEMENTS")
)
_DIMENSIONS = (*_CONTRARIES, *_STANDALONE, *_STANDALONE_COMPLEMENTS, *_COMPLEMENTS)
DIMENSION_COUNT = len(_DIMENSIONS)
STANDALONE = range(len(_CONTRARIES), len(_DIMENSIONS) - len(_COMPLEMENTS))
COMPLEMENTS = range(len(_CONTRARIES) + len(_STANDALONE), len(_DIMENSIONS))
"""Numbers of the dimensions that say what they are about, and of those where denying one side affirms the other."""

EQUIVALENT = range(COMPLEMENTS.start, COMPLEMENTS.start + len(general.STANDALONE_COMPLEMENTS))
"""Numbers of the dimensions where whatever names a side means the same: "hereditary" and "runs in the family"."""

ONE_SIDED = frozenset(number for number, sides in enumerate(_DIMENSIONS) if len(sides) == 1)
"""Numbers of the dimensions that a phrase can only affirm or deny."""

TIME_OF_DAY, START, RESULT, SAFETY, LEVEL, QUANTITY = map(
    _DIMENSIONS.index,
    (general.TIMES_OF_DAY, general.START, general.RESULT, general.SAFETY, general.LEVEL, general.QUANTITY),
)
"""Numbers of the dimensions of morning, noon and night, of taking and pausing, of results of tests, of safe and harmful,
of raised, low and normal, and of more and less."""

_KEY_LENGTH = 4


def find_sides(text: str) -> Iterator[tuple[int, int, re.Match[str]]]:
    """Yield the sides that a text names: number of the dimension, number of the side, and where.

    >>> [(found[0], found[2][0]) for found in find_sides("chronic cough")]
    [(0, 'chronic')]
    """
    # Most of several hundred patterns need a word that the text lacks.
    lower = text.lower()
    index = _index_sides()
    grams = {lower[i : i + size] for size in range(1, _KEY_LENGTH + 1) for i in range(len(lower) - size + 1)}
    likely = {place for gram in grams & index.keys() for string, place in index[gram] if string in lower}
    for dimension, side in sorted(likely):
        for found in _compile(dimension, side).finditer(text):
            yield dimension, side, found


@cache
def _compile(dimension: int, side: int) -> re.Pattern[str]:
    return re.compile(_DIMENSIONS[dimension][side], re.IGNORECASE)


@cache
def _index_sides() -> dict[str, list[tuple[str, tuple[int, int]]]]:
    """Return strings of which one is in every text that matches a side's pattern, with the side, by their beginnings."""
    index: dict[str, list[tuple[str, tuple[int, int]]]] = {}
    for dimension, sides in enumerate(_DIMENSIONS):
        for side, pattern in enumerate(sides):
            for string in find_required(pattern):
                index.setdefault(string[:_KEY_LENGTH], []).append((string, (dimension, side)))
    return index
