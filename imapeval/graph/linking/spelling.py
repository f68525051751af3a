"""Spelling: how similar a value is to a name (misspelt, joined, reordered), and other spellings of a wording.

An encoder cannot tell a misspelling from a sibling, nor a synonym from a narrower kind: of the synonyms held out of the
graph, the nearest other name was of the right concept in 57% of the cases where their cosine was at least .75, and
names of concepts that were held out altogether found a neighbour as near in 54% (docs/graph.md). So the encoder
proposes, and the letters decide.

Other spellings are those that a normal form does not unify because their parts have other meanings: "IV" is four in
"stage IV" and a route of administration elsewhere, so both are tried, and a spelling counts only where it is a name.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from imapeval.text.language import has_chinese
from imapeval.text.stages import CHINESE_NUMERALS, ROMAN_NUMERALS

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

# What turns a name into that of another concept with nearly the same letters.
_DISTINCTIVE = re.compile(
    r"\d+(?:\.\d+)?|(?<![a-z])(?:[a-z]|i{2,3}|iv|vi{1,3}|ix)(?![a-z])|[一二三四五六七八九十甲乙丙丁戊]"
    r"|hyper|hypo|inter|intra|macro|micro|poly|oligo|pre|post|supra|infra|brady|tachy|endo|exo"
    r"|ectomy|ostomy|otomy|plasty|oscopy|emia|uria|emic|uric"
    r"|[急慢左右上下内外前后男女高低亢减大小多少增缺良恶动静无非不抗干湿先继钠钾钙镁铁锌旁副亚拟样药剂素氟氯溴碘羟氢环酶苷菌虫病炎癌瘤术痛头真假]"
)


MIN_SIMILARITY = 0.6
"""Similarity from which an English value is taken for the name: nine in ten are right (docs/graph.md)."""

MIN_CHINESE_SIMILARITY = 0.85
"""The same for Chinese, where word boundaries do not rule out siblings that differ in one character."""


def is_similar_enough(value: str, rating: float) -> bool:
    """Return whether a similarity is high enough to take a value for a name."""
    return rating >= (MIN_CHINESE_SIMILARITY if has_chinese(value) else MIN_SIMILARITY)


def may_be_misspelling(value: str, name: str, *, known: Container[str]) -> bool:
    """Return whether a value may be a misspelling of a name, provided that their vectors are near.

    Not with other numbers or opposites ("hyper" and "hypo"); in English not with a word more or less, or with a word
    that names use otherwise ("cefepime" is no misspelling of "cefixime").

    Args:
        value: Normal form of the value.
        name: Normal form of the name.
        known: The words of all names, in normal form.
    """
    return (
        find_distinctive_parts(value) == find_distinctive_parts(name)
        and is_similar_enough(value, rate_similarity(value, name, 1.0))
        and (has_chinese(value) or _is_variant(value, name, known))
    )


def rate_similarity(value: str, name: str, cosine: float) -> float:
    """Return the similarity of a value and a name in 0..1: the mean of the encoder's cosine and the bigram overlap.

    Args:
        value: Normal form of the value.
        name: Normal form of the name.
        cosine: Similarity of their vectors in -1..1.
    """
    return (max(0.0, min(1.0, cosine)) + bigram_overlap(value, name)) / 2


def _is_variant(value: str, name: str, known: Container[str]) -> bool:
    if value.replace(" ", "") == name.replace(" ", ""):
        return True
    given, meant = Counter(value.split()), Counter(name.split())
    odd, missed = sorted((given - meant).elements()), sorted((meant - given).elements())
    if len(odd) != len(missed):
        return False
    return all(word not in known and _is_misspelt(word, right) for word, right in zip(odd, missed, strict=True))


def _is_misspelt(word: str, right: str) -> bool:
    """Return whether a word is one edit away from another, or two if it is long; the first letter must be the same."""
    if any(map(str.isdigit, word + right)):
        return False  # codes of genes and types: one letter makes another code
    # Shorter words are abbreviations too often: "OCP" and "OCPD", "FAD" and "FADS" (benchmarks/linking.py).
    allowed = 2 if len(right) >= 10 else 1 if min(len(word), len(right)) >= 5 else 0
    return word[0] == right[0] and abs(len(word) - len(right)) <= allowed and _edit_distance(word, right) <= allowed


def _edit_distance(a: str, b: str) -> int:
    """Number of letters put in, left out, replaced or swapped with their neighbour (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


@lru_cache(maxsize=1 << 16)
def find_distinctive_parts(norm: str) -> tuple[str, ...]:
    """Return the numbers, single letters and opposites in a normal form."""
    return tuple(sorted(_DISTINCTIVE.findall(norm)))


def bigram_overlap(a: str, b: str) -> float:
    """Return the Dice coefficient of the character bigrams of two normal forms, in 0..1."""
    left, right = _bigrams(a), _bigrams(b)
    return 2 * len(left & right) / (len(left) + len(right)) if left and right else 0.0


@lru_cache(maxsize=1 << 16)
def _bigrams(norm: str) -> frozenset[str]:
    """Return the character bigrams, with word boundaries, and single Chinese characters."""
    padded = f" {norm} "
    pairs = {padded[i : i + 2] for i in range(len(padded) - 1)}
    return frozenset(pairs | {char for char in norm if has_chinese(char)})


_DIGITS = tuple(map(str, range(1, 14)))
_VALUES = {
    numeral: value for numerals in (_DIGITS, ROMAN_NUMERALS, CHINESE_NUMERALS) for value, numeral in enumerate(numerals)
}

# A single letter is a numeral only after a counted noun: "type I", but not "vitamin K" or "chromosome X".
_COUNTED_NOUNS = frozenset(
    ["category", "class", "degree", "factor", "grade", "group", "phase", "stage", "subtype", "type"]
)
_LETTERS = frozenset("ivx")
_CHINESE_NUMERAL = re.compile(rf"(?:[{''.join(CHINESE_NUMERALS)}]|(?<![a-z0-9.])(?:[ivx]{{1,4}}|1?\d))(?=[型期级度类])")

# Pairs that are always synonymous; texts use one and names the other.
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
    """Yield other spellings of a normal form; never the form itself.

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
    """Return a normal form with its numerals in another system; unchanged where that has no such numeral."""

    def turn(numeral: str) -> str:
        value = _VALUES.get(numeral, len(numerals))
        return numerals[value] if value < len(numerals) else numeral

    if not norm.isascii():
        return _CHINESE_NUMERAL.sub(lambda found: turn(found.group()), norm)
    if numerals is CHINESE_NUMERALS:
        return norm
    words = norm.split(" ")
    for place, word in enumerate(words):
        # A numeral anywhere, unless one of its spellings is a single letter, which is ambiguous.
        plain = word in _VALUES and ROMAN_NUMERALS[_VALUES[word]] not in _LETTERS
        if plain or (place and words[place - 1] in _COUNTED_NOUNS):
            words[place] = turn(word)
    return " ".join(words)
