"""What two wordings alone say: the same name, or a contradiction.

Three readings of a value decide: its normal form (with abbreviations in brackets taken as names of their own), its
polarity ("no surgery needed" is not "surgery needed") and its quantities ("5 days" is not "2 weeks", "14 days" is).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from imapeval.graph.normalise import normalise
from imapeval.graph.wordings import BRACKETS, is_abbreviation
from imapeval.polarity import negated, restrains
from imapeval.wording.contrast import contrast, find_sides

# Possessive, here and below: a run of 10,000 digits must not be tried from each of its digits to each other.
_NUMBER = r"(?<![\d.])(?:\d++(?:\.\d++)?|\.\d++)"
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_QUANTITY = re.compile(
    rf"(?P<low>{_NUMBER})\s*+(?:(?:-|–|~|～|至|到|to)\s*+(?P<high>{_NUMBER}))?+\s*+"
    r"(?P<unit>mcg|μg|ug|微克|mg|毫克|kg|千克|公斤|g|克|ml|毫升|l|升|%|°c|度"
    r"|seconds?|秒|min(?:ute)?s?|分钟|hours?|hrs?|h|小时|days?|[天日]|weeks?|周(?!岁)|星期|months?|个?月|years?|yrs?|周岁|[年岁]"
    r"|times?|次|tablets?|pills?|[片粒]|drops?|滴)(?![a-z])",
    re.IGNORECASE,
)
# Unit to (dimension, factor). Months and years are kept apart from days: nobody means 30.4 days by "a month".
_UNITS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("mcg", "μg", "ug", "微克"), ("mass", 1e-3)),
    **dict.fromkeys(("mg", "毫克"), ("mass", 1.0)),
    **dict.fromkeys(("g", "克"), ("mass", 1e3)),
    **dict.fromkeys(("kg", "千克", "公斤"), ("mass", 1e6)),
    **dict.fromkeys(("ml", "毫升"), ("volume", 1.0)),
    **dict.fromkeys(("l", "升"), ("volume", 1e3)),
    "%": ("share", 1.0),
    **dict.fromkeys(("°c", "度"), ("temperature", 1.0)),
    **dict.fromkeys(("second", "秒"), ("time", 1 / 3600)),
    **dict.fromkeys(("min", "minute", "分钟"), ("time", 1 / 60)),
    **dict.fromkeys(("hour", "hr", "h", "小时"), ("time", 1.0)),
    **dict.fromkeys(("day", "天", "日"), ("time", 24.0)),
    **dict.fromkeys(("week", "周", "星期"), ("time", 168.0)),
    **dict.fromkeys(("month", "月", "个月"), ("months", 1.0)),
    **dict.fromkeys(("year", "yr", "年", "岁", "周岁"), ("months", 12.0)),
    **dict.fromkeys(("time", "次"), ("count", 1.0)),
    **dict.fromkeys(("tablet", "pill", "片", "粒"), ("pieces", 1.0)),
    **dict.fromkeys(("drop", "滴"), ("drops", 1.0)),
}
_COUNT_WORDS = {
    **{
        word: str(n)
        for n, word in enumerate(
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], start=1
        )
    },
    **{word: str(n) for n, word in enumerate("一二三四五六七八九十", start=1)},
    "两": "2",
    "once": "1 time",
    "twice": "2 times",
    "thrice": "3 times",
}
_COUNT_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten)\b(?=[- ](?:hour|day|week|month|year|time|tablet|pill|drop))"
    r"|\b(?:once|twice|thrice)\b|(?<![一二三四五六七八九十第])[一二三四五六七八九十两](?=个?(?:小时|天|日|周|星期|月|年|次|片|粒|滴))",
    re.IGNORECASE,
)
_PUNCTUATION = re.compile(r"[,，、;；。]")
_LATIN_WORDS = re.compile(r"[a-z0-9]+")
_CHINESE_RUNS = re.compile(r"[\u3400-\u9fff]+")
_FUNCTION_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "to",
        "for",
        "in",
        "on",
        "at",
        "by",
        "with",
        "and",
        "or",
        "is",
        "are",
        "be",
        "it",
        "this",
        "that",
        "you",
        "your",
        "i",
        "he",
        "she",
        "they",
        "will",
        "can",
        "may",
        "should",
        "need",
        "do",
        "does",
        "did",
        "no",
        "not",
        "never",
        "without",
        "cannot",
    ]
) | frozenset("的了是有在和与或及吗不无没未勿")

SAME_SUBJECT = 0.5
"""Share of common words from which two values speak of the same thing, so that a differing polarity contradicts."""

SAME_OTHERWISE = 0.8
"""The same for quantities and sides, higher: a long clause with another dose may still agree in everything else."""


class Verdict(Enum):
    """What the wordings say of each other."""

    SAME = "same wording"
    OPPOSITE = "one affirms what the other denies"
    OTHER_QUANTITY = "the quantities differ"
    OTHER_SIDE = "they take different sides, such as acute and chronic"


@dataclass(frozen=True, slots=True)
class Reading:
    """A value as `compare` sees it.

    Attributes:
        whole: Normal form.
        outside: Normal form of what stands outside its brackets, the whole where it has none.
        inside: Normal forms of what stands in brackets, but for quantities.
        qualified: Whether something other than abbreviations stands in brackets, which may narrow what stands outside.
        negated: Whether an odd number of negators stands in it.
        restrains: Whether it keeps from something, as "avoid" does.
        quantities: Dimension to the ranges named, (lowest, highest) in the dimension's unit, as they follow each other.
        phrases: Content words, sorted; in Chinese what stands between quantities and punctuation.
        words: Content words (Chinese: characters), without quantities and function words.
        tokens: What `overlap` counts: content words, and pairs of neighbouring Chinese characters.
    """

    whole: str
    outside: str
    inside: frozenset[str]
    qualified: bool
    negated: bool
    restrains: bool
    quantities: dict[str, tuple[tuple[float, float], ...]]
    phrases: tuple[str, ...]
    words: frozenset[str]
    tokens: frozenset[str]


@lru_cache(maxsize=1 << 16)
def read(value: str) -> Reading:
    """Read a value. Pure; remembered, because each value is compared with many."""
    inside = [m.group(1) for m in BRACKETS.finditer(value)]
    # Compatibility forms first: there are two characters for the micro sign, and full-width digits and units.
    plain = unicodedata.normalize("NFKC", value)
    spelled = _COUNT_WORD.sub(lambda m: _COUNT_WORDS[m.group().lower()], _THOUSANDS.sub("", plain))
    quantities: dict[str, list[tuple[float, float]]] = {}
    for hit in _QUANTITY.finditer(spelled):
        unit = hit["unit"].lower()
        dimension, factor = _UNITS.get(unit) or _UNITS[unit.rstrip("s")]
        low, high = sorted(round(float(amount) * factor, 6) for amount in (hit["low"], hit["high"] or hit["low"]))
        quantities.setdefault(dimension, []).append((low, high))
    latin: list[str] = []
    chinese: list[str] = []
    for part in _PUNCTUATION.split(_QUANTITY.sub(",", spelled)):
        norm = normalise(part)
        latin += [word for word in _LATIN_WORDS.findall(norm) if word not in _FUNCTION_WORDS]
        chinese += ["".join(c for c in run if c not in _FUNCTION_WORDS) for run in _CHINESE_RUNS.findall(norm)]
    return Reading(
        normalise(value),
        normalise(BRACKETS.sub(" ", value)),
        frozenset(form for text in inside if not _QUANTITY.search(text) and (form := normalise(text))),
        not all(map(is_abbreviation, inside)),
        negated(value),
        restrains(value),
        {dimension: tuple(ranges) for dimension, ranges in quantities.items()},
        tuple(sorted(filter(None, (*latin, *chinese)))),
        frozenset([*latin, *"".join(chinese)]),
        _tokens(normalise(value)),
    )


def compare(reference: str, response: str) -> Verdict | None:
    """Say what two wordings alone tell of each other; None where they leave it open.

    >>> compare("computed tomography (CT)", "CT")
    <Verdict.SAME: 'same wording'>
    >>> compare("no surgery needed", "surgery is needed")
    <Verdict.OPPOSITE: 'one affirms what the other denies'>
    >>> compare("rest for two weeks", "rest for 14 days")
    <Verdict.SAME: 'same wording'>
    >>> compare("ibuprofen 400 mg", "ibuprofen 200 mg")
    <Verdict.OTHER_QUANTITY: 'the quantities differ'>
    >>> compare("acute pancreatitis", "chronic pancreatitis")
    <Verdict.OTHER_SIDE: 'they take different sides, such as acute and chronic'>
    >>> compare("penicillin", "antibiotic therapy") is None
    True
    """
    a, b = read(reference), read(response)
    if _same_name(a, b) and a.negated == b.negated and a.quantities == b.quantities:
        return Verdict.SAME
    common = _shared(a.words, b.words)
    # Where one side only restrains, a negator on either side need not turn it round: "avoid it", "do not do it".
    if a.negated != b.negated and a.restrains == b.restrains and common >= SAME_SUBJECT:
        return Verdict.OPPOSITE
    if _take_sides(reference, response):
        return Verdict.OTHER_SIDE
    shared = a.quantities.keys() & b.quantities.keys()
    if not shared or common < SAME_OTHERWISE:
        return None
    if any(_disjoint(a.quantities[dimension], b.quantities[dimension]) for dimension in shared):
        return Verdict.OTHER_QUANTITY
    alike = a.quantities == b.quantities and a.phrases == b.phrases and a.negated == b.negated
    return Verdict.SAME if alike else None


def overlap(reference: str, response: str) -> float:
    """Return the Dice coefficient of the two values' tokens, 0..1: English content words, Chinese bigrams.

    >>> overlap("steam inhalation", "some steam inhalation thrice daily")
    0.5714285714285714
    """
    a, b = read(reference).tokens, read(response).tokens
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def _take_sides(reference: str, response: str) -> bool:
    """Say whether two values differ in a side and in hardly anything else."""
    a, b = find_sides(reference), find_sides(response)
    return contrast(a, b) and _shared(read(a.rest).words, read(b.rest).words) >= SAME_OTHERWISE


def _same_name(a: Reading, b: Reading) -> bool:
    """Say whether two values have one name.

    What only stands in both's brackets names neither: "(oral)", "(if needed)". Nor is "diabetes (type 1)" the same as
    "diabetes", but "computed tomography (CT)" is the same as "computed tomography".
    """
    if a.whole == b.whole:
        return a.whole != ""
    if a.inside and b.inside and a.outside == b.outside:
        return not a.inside.isdisjoint(b.inside)
    if a.outside == b.outside != "" and not a.qualified and not b.qualified:
        return True
    return a.outside in b.inside or b.outside in a.inside


def _disjoint(a: tuple[tuple[float, float], ...], b: tuple[tuple[float, float], ...]) -> bool:
    return not any(low <= highest and lowest <= high for low, high in a for lowest, highest in b)


def _tokens(normal: str) -> frozenset[str]:
    words = {word for word in _LATIN_WORDS.findall(normal) if word not in _FUNCTION_WORDS}
    for run in _CHINESE_RUNS.findall(normal):
        words.update([run[i : i + 2] for i in range(len(run) - 1)] or [run])
    return frozenset(words)


def _shared(a: frozenset[str], b: frozenset[str]) -> float:
    """Share of the smaller set that the other has; 1 where either says nothing but a quantity."""
    if not a or not b:
        return 1.0
    return len(a & b) / min(len(a), len(b))
