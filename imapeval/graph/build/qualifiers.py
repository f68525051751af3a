"""Words that set a name against a sibling's: what is acute is not chronic, and what is either is merely a kind."""

from __future__ import annotations

import re

_PAIRS = (
    ("acute", "chronic"),
    ("primary", "secondary"),
    ("upper", "lower"),
    ("type 1", "type 2"),
    ("alcoholic", "nonalcoholic"),
    ("congenital", "acquired"),
    ("juvenile", "adult"),
)
_OPPOSITES = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_QUALIFIER = re.compile(rf"\b(?:{'|'.join(_OPPOSITES)})\b")
_ROMAN_TYPE = re.compile(r"\btype (i{1,2})\b")


def list_qualifiers(name: str) -> frozenset[str]:
    """Return the words of an English name that set it against a sibling, such as "acute" or "nonalcoholic".

    >>> sorted(list_qualifiers("Non-alcoholic fatty liver"))
    ['nonalcoholic']
    """
    return frozenset(_QUALIFIER.findall(_normalise_non(name)))


def have_same_qualifiers(one: str, other: str) -> bool:
    """Tell whether two names are qualified alike.

    "Type II" is "type 2" where both names say so, but Pompe disease need not say that it is "type II" of something.
    """
    return list_qualifiers(one) == list_qualifiers(other) or list_qualifiers(_write_digits(one)) == list_qualifiers(
        _write_digits(other)
    )


def invert_qualifiers(name: str) -> tuple[str, str]:
    """Return a name in lower case, and the same with every qualifier turned into its opposite.

    >>> turn_qualifiers("Acute bronchitis")
    ('acute bronchitis', 'chronic bronchitis')
    """
    folded = _normalise_non(name)
    return folded, _QUALIFIER.sub(lambda found: _OPPOSITES[found.group()], folded)


def _normalise_non(name: str) -> str:
    return re.sub(r"\bnon[- ]", "non", name.lower())


def _write_digits(name: str) -> str:
    return _ROMAN_TYPE.sub(lambda found: f"type {len(found[1])}", name.lower())
