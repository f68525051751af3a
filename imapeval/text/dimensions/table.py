"""All dimensions, and a search for the sides that a text names."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from imapeval.text.dimensions import advice, course, findings, general

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
# The standard library's parser of patterns has no public name.
_PARSER: Any = import_module("re._parser")


def find_sides(text: str) -> Iterator[tuple[int, int, re.Match[str]]]:
    """Yield the sides that a text names: number of the dimension, number of the side, and where.

    >>> [(found[0], found[2][0]) for found in find_sides("chronic cough")]
    [(0, 'chronic')]
    """
    # Most of several hundred patterns need a word that the text lacks.
    lower = text.lower()
    index = _index_sides()
    grams = {lower[i : i + size] for size in range(1, _KEY_LENGTH + 1) for i in range(len(lower) - size + 1)}
    for dimension, side in sorted(set[tuple[int, int]]().union(*(index[gram] for gram in grams & index.keys()))):
        for found in _compile(dimension, side).finditer(text):
            yield dimension, side, found


@cache
def _compile(dimension: int, side: int) -> re.Pattern[str]:
    return re.compile(_DIMENSIONS[dimension][side], re.IGNORECASE)


@cache
def _index_sides() -> dict[str, list[tuple[int, int]]]:
    """Return the sides by the beginnings of strings of which one is in every text that matches the side's pattern."""
    index: dict[str, list[tuple[int, int]]] = {}
    for dimension, sides in enumerate(_DIMENSIONS):
        for side, pattern in enumerate(sides):
            strings = _find_required(_PARSER.parse(pattern, re.IGNORECASE))
            if not strings:
                raise ValueError(f"the pattern matches texts that share no letter: {pattern}")
            for key in {string[:_KEY_LENGTH] for string in strings}:
                index.setdefault(key, []).append((dimension, side))
    return index


def _find_required(parsed: Any) -> frozenset[str]:
    """Return strings in lower case of which every match of a parsed pattern contains one; empty if there are none."""
    best = frozenset[str]()
    run = ""
    elements: list[tuple[Any, Any]] = [*parsed, ("END", None)]
    for operator, value in elements:
        if str(operator) == "LITERAL":
            run += chr(value).lower()
            continue
        for strings in (frozenset(filter(None, (run,))), _find_required_in(str(operator), value)):
            # The longer the shortest of them, the fewer texts contain one.
            if strings and min(map(len, strings)) > min(map(len, best), default=0):
                best = strings
        run = ""
    return best


def _find_required_in(operator: str, value: Any) -> frozenset[str]:
    """Return the same for one element of a pattern."""
    if operator == "SUBPATTERN":
        return _find_required(value[-1])
    if operator == "MAX_REPEAT" and value[0] > 0:
        return _find_required(value[2])
    if operator == "BRANCH":
        branches = [_find_required(branch) for branch in value[1]]
        return frozenset[str]().union(*branches) if all(branches) else frozenset()
    if operator == "IN" and all(str(kind) == "LITERAL" for kind, _ in value):
        return frozenset(chr(code).lower() for _, code in value)
    return frozenset()
