"""Similarity of a value to a name by spelling (misspelt, joined, reordered), and other spellings of a value.

An encoder cannot distinguish a misspelling from a sibling, nor a synonym from a narrower kind, so a link by similarity
also needs a similar spelling.

Other spellings are those that a normal form does not unify, because their parts may have another meaning: "IV" is four
in "stage IV" and a route of administration elsewhere. All are looked up, and those that are names count.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from imapeval.text.dimensions.stages import CHINESE_NUMERALS, ROMAN_NUMERALS
from imapeval.text.language import has_chinese

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

# Parts that distinguish names of different concepts with nearly the same letters.
_DISTINCTIVE = re.compile(
    r"\d+(?:\.\d+)?|(?<![a-z])(?:[a-z]|i{2,3}|iv|vi{1,3}|ix)(?![a-z])|[一二三四五六七八九十甲乙丙丁戊]"
    r"|hyper|hypo|inter|intra|macro|micro|poly|oligo|pre|post|supra|infra|brady|tachy|endo|exo"
    r"|ectomy|ostomy|otomy|plasty|oscopy|emia|uria|emic|uric"
    r"|[急慢左右上下内外前后男女高低亢减大小多少增缺良恶动静无非不抗干湿先继钠钾钙镁铁锌旁副亚拟样药剂素氟氯溴碘羟氢环酶苷菌虫病炎癌瘤术痛头真假]"
)


MIN_SIMILARITY = 0.6
"""Minimum similarity of an English value and a name that are linked (docs/graph-linking.md has the precision)."""

MIN_CHINESE_SIMILARITY = 0.85
"""The same for Chinese, where siblings may differ in one character."""


def is_similar_enough(value: str, rating: float) -> bool:
    """Return whether a similarity is high enough to link a value to a name."""
    return rating >= (MIN_CHINESE_SIMILARITY if has_chinese(value) else MIN_SIMILARITY)


def may_be_misspelling(value: str, name: str, *, known: Container[str]) -> bool:
    """Return whether a value may be a misspelling of a name, if their vectors are near.

    It is not if numbers or opposites differ ("hyper", "hypo"), or in English if a word is added or missing, or is
    itself a word of names ("cefepime" is not a misspelling of "cefixime").

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
    """Return the similarity of two normal forms in 0..1: the mean of the encoder's cosine and the bigram overlap."""
    return (max(0.0, min(1.0, cosine)) + bigram_overlap(value, name)) / 2


def _is_variant(value: str, name: str, known: Container[str]) -> bool:
    if value.replace(" ", "") == name.replace(" ", ""):
        return True
    ours, theirs = Counter(value.split()), Counter(name.split())
    added, missing = sorted((ours - theirs).elements()), sorted((theirs - ours).elements())
    if len(added) != len(missing):
        return False
    return all(word not in known and _is_misspelt(word, right) for word, right in zip(added, missing, strict=True))


def _is_misspelt(word: str, right: str) -> bool:
    """Return whether a word is one edit away from another, or two if it is long; the first letter must be the same."""
    if any(map(str.isdigit, word + right)):
        return False  # in codes of genes and types, one letter more or less is another code
    # Shorter words are often abbreviations: "OCP" and "OCPD", "FAD" and "FADS" (benchmarks/linking.py).
    allowed = 2 if len(right) >= 10 else 1 if min(len(word), len(right)) >= 5 else 0
    return word[0] == right[0] and abs(len(word) - len(right)) <= allowed and _edit_distance(word, right) <= allowed


def _edit_distance(a: str, b: str) -> int:
    """Return the number of insertions, deletions, substitutions and transpositions (optimal string alignment)."""
    previous: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        before_previous, previous, row = previous, row, [i]
        for j, y in enumerate(b, start=1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before_previous[j - 2] + 1)
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

# Pairs of synonyms, one of which is used in texts and the other in names.
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
    ("念珠菌", "假丝酵母菌"),
    ("x射线", "x线"),
    ("x光", "x线"),
    ("药物", "药"),
)


def spelling_variants(norm: str) -> Iterator[str]:
    """Yield other spellings of a normal form; never the form itself.

    >>> list(spelling_variants("type ii diabetes"))
    ['type 2 diabetes']
    >>> list(spelling_variants("二型糖尿病"))
    ['2型糖尿病', 'ii型糖尿病']
    >>> list(spelling_variants("vitamin k")), list(spelling_variants("trisomy x"))
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


def unify_spelling(norm: str) -> str:
    """Return the one spelling that a normal form and its other spellings have in common.

    >>> unify_spelling("二型糖尿病"), unify_spelling("type ii diabetes")
    ('2型糖尿病', 'type 2 diabetes')
    """
    norm = _rewrite_numerals(norm, _DIGITS)
    for one, other in _EQUIVALENT_TERMS:
        norm = norm.replace(one, other)
    return norm


def _rewrite_numerals(norm: str, numerals: tuple[str, ...]) -> str:
    """Return a normal form with its numerals in another system; those that it lacks stay."""

    def rewrite(numeral: str) -> str:
        value = _VALUES.get(numeral, len(numerals))
        return numerals[value] if value < len(numerals) else numeral

    if not norm.isascii():
        return _CHINESE_NUMERAL.sub(lambda found: rewrite(found.group()), norm)
    if numerals is CHINESE_NUMERALS:
        return norm
    words = norm.split(" ")
    for place, word in enumerate(words):
        # Numerals with a spelling of a single letter are ambiguous.
        is_numeral = word in _VALUES and ROMAN_NUMERALS[_VALUES[word]] not in _LETTERS
        if is_numeral or (place and words[place - 1] in _COUNTED_NOUNS):
            words[place] = rewrite(word)
    return " ".join(words)
