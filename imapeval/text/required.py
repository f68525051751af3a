"""Strings of which every match of a pattern contains one: texts without them need not be searched for the pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from imapeval.text.synonyms import join_alternatives

if TYPE_CHECKING:
    from collections.abc import Callable

# The standard library's parser of patterns has no public name.
_PARSER: Any = import_module("re._parser")


@dataclass(frozen=True, slots=True)
class RarePattern:
    """A long pattern that few texts match, whatever the case; a search for the strings that it needs is faster.

    Its methods are those of `re.Pattern`.

    Raises:
        ValueError: It matches texts that share no letter.
    """

    pattern: str
    _compiled: re.Pattern[str] = field(init=False, repr=False)
    _required: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        strings = find_required(self.pattern)
        shortest = {string for string in strings if not any(other in string for other in strings - {string})}
        object.__setattr__(self, "_compiled", re.compile(self.pattern, re.IGNORECASE))
        object.__setattr__(self, "_required", re.compile(join_alternatives(sorted(shortest)), re.IGNORECASE))

    def search(self, text: str) -> re.Match[str] | None:
        return self._compiled.search(text) if self._required.search(text) else None

    def match(self, text: str) -> re.Match[str] | None:
        return self._compiled.match(text) if self._required.search(text) else None

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self.subn(replacement, text)[0]

    def subn(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> tuple[str, int]:
        return self._compiled.subn(replacement, text) if self._required.search(text) else (text, 0)


def find_required(pattern: str) -> frozenset[str]:
    """Return strings in lower case of which every match of a pattern, whatever its case, contains one.

    >>> sorted(find_required("(?:very )?(?:acute|sudden(?:ly)?)"))
    ['acute', 'sudden']

    Raises:
        ValueError: There are none.
    """
    strings = _find_required(_PARSER.parse(pattern, re.IGNORECASE))
    if not strings:
        raise ValueError(f"the pattern matches texts that share no letter: {pattern}")
    return strings


def _find_required(parsed: Any) -> frozenset[str]:
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
