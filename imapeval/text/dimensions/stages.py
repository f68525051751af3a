"""Stages, grades and degrees of a disease: "stage IV", "class 2", 4期, 三级.

Two stages of one disease are different things, and each is a kind of the disease. No table of names lists them all, so
they are parsed.
"""

from __future__ import annotations

import re

ROMAN_NUMERALS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii")
CHINESE_NUMERALS = ("一", "二", "三", "四", "五", "六", "七", "八", "九", "十")
"""Numerals, starting at one."""

_NUMBERS = {
    **{str(number): number for number in range(10)},
    **{numeral: number for number, numeral in enumerate(ROMAN_NUMERALS, start=1)},
    **{chr(0x2170 + number): number + 1 for number in range(12)},  # ⅰ to ⅻ, one character each
    **{numeral: number for number, numeral in enumerate(CHINESE_NUMERALS, start=1)},
}
# A digit of a longer number is not a stage.
_DIGIT = r"(?<![\d.])\d"
_HAN = "".join(CHINESE_NUMERALS)
_ROMAN_OR_CHINESE = rf"(?<![a-z])[ivx]{{1,4}}|[\u2170-\u217b]|(?<![{_HAN}])[{_HAN}]"
_NUMERAL = rf"(?:{_DIGIT}|{_ROMAN_OR_CHINESE})"
_PART = r"(?:[a-d]\d?)?"
_RANGE = r"-|–|~|～|至|到|to"
_JOINT = rf"{_RANGE}|,? ?(?:and(?: ?/ ?or)?|or)|[/、,，和或与及 ]"
_DOSE = (
    r" ?(?:mc?g|gm?|grams?|milligrams?|tab(?:let)?s?|pills?|cap(?:sule)?s?|doses?|times|x|×|hours?|days?|weeks?|months?"
    r"|daily|毫?克|[片粒颗次天日])(?![a-z])"
)
"""What follows the number of a dose: ASA is aspirin too."""


def _list_numerals(group: str, numeral: str, *, unit: str, word: str = "") -> str:
    # Letters, as in IIIa, are ignored: a substage agrees with its stage. At most five numerals, to keep matching linear
    # on a long run of them. Each may have its own unit or word: II期或III期, "stage II or stage III".
    one = rf"{numeral}{_PART}"
    return (
        rf"(?P<{group}>{one}(?:(?: ?(?:{_JOINT}) ?|{unit} ?(?:(?:{_JOINT}) ?)?第?(?={one}{unit})){word}{one}){{0,4}})"
    )


def _make_stage(before: str) -> str:
    """Return a pattern for a stage; `before` is one for what comes before a numeral without 期, 级 or 度."""
    again = r"(?:(?P=word)(?:e?s)?[ -]?)?"
    return (
        rf"(?:(?:{before})(?!\d ?x ){_list_numerals('latin', _NUMERAL, unit='[类级]', word=again)}"
        rf"(?![a-z\d]|\.\d|-[a-z\d]|{_DOSE})[类级]?"
        rf"|第?{_list_numerals('stage', _NUMERAL, unit='期')}期|第?{_list_numerals('level', _NUMERAL, unit='级')}级"
        # With digits, 度 means degrees of temperature or of an angle.
        rf"|第?{_list_numerals('degree', f'(?:{_ROMAN_OR_CHINESE})', unit='度')}度)"
    )


_WORD = r"\b(?P<word>stage|(?P<class>grade|class|category))(?:e?s)?[ -]?"
# Some names need no word for the scale: CIN1, BI-RADS 2类, "NYHA II".
_IN_DISEASE = r"(?<=\b[CVA]IN)|(?<=\b[CVA]IN )"
_NAMED = rf"(?P<named>{_IN_DISEASE}|(?<=-RADS)|(?<=-RADS )|(?<=\bNYHA )|(?<=\bECOG )|(?<=\bASA ))"
_ANYWHERE = re.compile(_make_stage(f"{_WORD}|{_NAMED}"), re.IGNORECASE)
_HINT = re.compile(r"stage|grade|class|category|[CVA]IN|RADS|NYHA|ECOG|ASA|[期级度]", re.IGNORECASE)
"""Words for a scale, of which a text with a stage has one; few texts do, and this search is fast."""
_EACH = re.compile(rf"({_NUMERAL}){_PART}", re.IGNORECASE)
_SPAN = re.compile(_RANGE, re.IGNORECASE)
_PHASE = r"(?:早中?|中晚?|晚|初|末|终末|急性|慢性|恢复|稳定|缓解|急性加重|加重|急性发作|发作|活动|后遗症)期"
# Atomic: of a list that is all of the text, no part is cut off.
_BEFORE = re.compile(rf"^(?>{_make_stage(_WORD)}) ?(?=\S)")
# CIN is a disease of its own, NYHA only the name of a scale.
_SCALE = r"(?<![a-z])(?:NYHA|ECOG|ASA) "
_BEHIND = re.compile(
    rf"(?<=\S) ?(?:{_make_stage(rf'(?:{_SCALE})?{_WORD}|{_SCALE}|{_IN_DISEASE}')}|{_PHASE})$", re.IGNORECASE
)
_CUT_LIST = re.compile(r"^(?:and|or|to) |^[和或与及至到]| (?:and|or|to)$|[和或与及至到]$")
"""What is left of a list that is cut in the middle: 肺癌早期或."""

SCALES = ("stage", "grade", "degree")
"""The scales: stages (期), grades and classes (级), and degrees (度)."""


def find_stages(value: str) -> tuple[dict[str, frozenset[int]], str]:
    """Return the numbers that a value gives on each of `SCALES`, and the value with spaces in their place.

    >>> find_stages("stage 3 CKD"), find_stages("高血压Ⅱ级")
    (({'stage': frozenset({3})}, '        CKD'), ({'grade': frozenset({2})}, '高血压  '))
    """
    if not _HINT.search(value):
        return {}, value
    named: dict[str, frozenset[int]] = {}
    for found in _ANYWHERE.finditer(value):
        scale = (
            "degree"
            if found["degree"]
            else "grade"
            if found["class"] or found["level"] or found["named"] is not None
            else "stage"
        )
        if numbers := _read_numbers(found["latin"] or found["stage"] or found["level"] or found["degree"]):
            named[scale] = named.get(scale, frozenset()) | numbers
    return named, _ANYWHERE.sub(lambda found: " " * len(found[0]), value)


def strip_stage(norm: str) -> str:
    """Return a normal form without the stages, grades or phase at its start or end; unchanged if there are none.

    >>> [strip_stage(norm) for norm in ("慢性肾脏病4期", "stage iv lung cancer", "脑梗死恢复期", "肺癌ii期或iii期", "4期")]
    ['慢性肾脏病', 'lung cancer', '脑梗死', '肺癌', '4期']
    """
    if _ANYWHERE.fullmatch(norm):
        return norm
    rest = (_BEHIND if _BEHIND.search(norm) else _BEFORE).sub("", norm)
    return norm if _CUT_LIST.search(rest) else rest


def _read_numbers(numerals: str) -> frozenset[int]:
    numbers: set[int] = set()
    last, end = 0, 0
    for found in _EACH.finditer(numerals):
        number = _NUMBERS.get(found[1].lower())
        if number is None:
            continue
        # A list may hold ranges: "I, III-IV".
        first = last if end and _SPAN.search(numerals[end : found.start()]) else number
        numbers.update(range(min(first, number), max(first, number) + 1))
        last, end = number, found.end()
    return frozenset(numbers)
