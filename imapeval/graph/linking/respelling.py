"""Other spellings of one wording that a normal form does not bring together, because their parts have other meanings.

"IV" is four in "stage IV" and a way of giving drugs elsewhere, so that it cannot be a 4 in every key; here both are
tried, and a spelling counts only where it is a name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.text.stages import CHINESE_NUMERALS, ROMAN_NUMERALS

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGITS = tuple(map(str, range(1, 14)))
_VALUES = {
    numeral: value for numerals in (_DIGITS, ROMAN_NUMERALS, CHINESE_NUMERALS) for value, numeral in enumerate(numerals)
}

# One letter is a numeral only after what is counted: "type I", but not "vitamin K" or "chromosome X".
_COUNTED_NOUNS = frozenset(
    ["category", "class", "degree", "factor", "grade", "group", "phase", "stage", "subtype", "type"]
)
_LETTERS = frozenset("ivx")
_CHINESE_NUMERAL = re.compile(rf"(?:[{''.join(CHINESE_NUMERALS)}]|(?<![a-z0-9.])(?:[ivx]{{1,4}}|1?\d))(?=[型期级度类])")

# Pairs that mean the same wherever they stand; texts write the one and names the other.
_EQUIVALENT_TERMS = (
    ("综合症", "综合征"),
    ("症候群", "综合征"),
    ("粘膜", "黏膜"),
    ("粘液", "黏液"),
    ("返流", "反流"),
    ("返酸", "反酸"),
    ("淤血", "瘀血"),
    ("阿斯匹林", "阿司匹林"),
    ("白血球", "白细胞"),
    ("红血球", "红细胞"),
    ("心肌梗塞", "心肌梗死"),
    ("脑梗塞", "脑梗死"),
)


def spelling_variants(norm: str) -> Iterator[str]:
    """Yield other spellings of a normal form; none of them is the form itself.

    >>> list(respell("type ii diabetes"))
    ['type 2 diabetes']
    >>> list(respell("二型糖尿病"))
    ['2型糖尿病', 'ii型糖尿病']
    >>> list(respell("vitamin k")), list(respell("trisomy x"))
    ([], [])
    """
    seen = {norm}
    for numerals in (_DIGITS, ROMAN_NUMERALS, CHINESE_NUMERALS):
        spelling = _rewrite_numerals(norm, numerals)
        for one, other in (
            (one, other) for pair in _EQUIVALENT_TERMS for one, other in (pair, pair[::-1]) if one in spelling
        ):
            if (variant := spelling.replace(one, other)) not in seen:
                seen.add(variant)
                yield variant
        if spelling not in seen:
            seen.add(spelling)
            yield spelling


def _rewrite_numerals(norm: str, numerals: tuple[str, ...]) -> str:
    """Return a normal form with its numerals written with others; as it is where these cannot write them."""

    def turn(numeral: str) -> str:
        value = _VALUES.get(numeral, len(numerals))
        return numerals[value] if value < len(numerals) else numeral

    if not norm.isascii():
        return _CHINESE_NUMERAL.sub(lambda found: turn(found.group()), norm)
    if numerals is CHINESE_NUMERALS:
        return norm
    words = norm.split(" ")
    for place, word in enumerate(words):
        # A numeral by itself, unless one of its spellings is a letter, which may mean anything.
        plain = word in _VALUES and ROMAN_NUMERALS[_VALUES[word]] not in _LETTERS
        if plain or (place and words[place - 1] in _COUNTED_NOUNS):
            words[place] = turn(word)
    return " ".join(words)
