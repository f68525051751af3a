"""Stages and grades: what "stage IV", "class 2", 4期 and 三级 say of the disease that they stand before or behind.

Another stage of a disease is another thing, and a stage of it is a kind of it. No table of names lists them all.
"""

from __future__ import annotations

import re

ROMAN_NUMERALS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii")
CHINESE_NUMERALS = ("一", "二", "三", "四", "五", "六", "七", "八", "九", "十")
"""Numerals from one on."""

_NUMBERS = {
    **{str(number): number for number in range(10)},
    **{numeral: number for number, numeral in enumerate(ROMAN_NUMERALS, start=1)},
    **{chr(0x2170 + number): number + 1 for number in range(12)},  # ⅰ to ⅻ, one character each
    **{numeral: number for number, numeral in enumerate(CHINESE_NUMERALS, start=1)},
}
# Nothing of a longer number is a stage.
_DIGIT = r"(?<![\d.])\d"
_HAN = "".join(CHINESE_NUMERALS)
_ROMAN_OR_CHINESE = rf"(?<![a-z])[ivx]{{1,4}}|[\u2170-\u217b]|(?<![{_HAN}])[{_HAN}]"
_NUMERAL = rf"(?:{_DIGIT}|{_ROMAN_OR_CHINESE})"
_PART = r"(?:[a-d]\d?)?"
_RANGE = r"-|–|~|～|至|到|to"


def _list_numerals(group: str, numeral: str) -> str:
    # Letters, as in IIIa, are left aside: a part of a stage agrees with the whole. At most five numerals, so that a
    # long run of them is not tried from each to each.
    one = rf"{numeral}{_PART}"
    return rf"(?P<{group}>{one}(?: ?(?:{_RANGE}|[/、,，和或与 ]|and|or) ?{one}){{0,4}})"


_STAGE = (
    rf"(?:\b(?:stage|(?P<class>grade|class))(?:e?s)?[ -]?{_list_numerals('latin', _NUMERAL)}(?![a-z\d]|\.\d|-[a-z\d])"
    rf"|第?{_list_numerals('chinese', _NUMERAL)}(?:期|(?P<level>级))"
    # With digits, 度 measures heat and angles.
    rf"|{_list_numerals('degree', f'(?:{_ROMAN_OR_CHINESE})')}度)"
)
_ANYWHERE = re.compile(_STAGE, re.IGNORECASE)
_EACH = re.compile(rf"({_NUMERAL}){_PART}", re.IGNORECASE)
_SPAN = re.compile(_RANGE, re.IGNORECASE)
_PHASE = r"(?:早中?|中晚?|晚|初|末|终末|急性|慢性|恢复|稳定|缓解|急性加重|加重|急性发作|发作|活动|后遗症)期"
_BEFORE = re.compile(rf"^{_STAGE} ?(?=\S)")
_BEHIND = re.compile(rf"(?<=\S) ?(?:{_STAGE}|{_PHASE})$")

SCALES = ("stage", "grade", "degree")
"""What is counted: stages (期), grades and classes (级), and degrees (度)."""


def find_stages(value: str) -> tuple[dict[str, frozenset[int]], str]:
    """Return the numbers that a value names on each of `SCALES`, and the value without them.

    >>> find_stages("CKD stage 3-4"), find_stages("高血压Ⅱ级")
    (({'stage': frozenset({3, 4})}, 'CKD  '), ({'grade': frozenset({2})}, '高血压 '))
    """
    named: dict[str, frozenset[int]] = {}
    for found in _ANYWHERE.finditer(value):
        scale = "degree" if found["degree"] else "grade" if found["class"] or found["level"] else "stage"
        if numbers := _read_numbers(found["latin"] or found["chinese"] or found["degree"]):
            named[scale] = named.get(scale, frozenset()) | numbers
    return named, _ANYWHERE.sub(" ", value)


def strip_stage(norm: str) -> str:
    """Return a normal form without the stage, grade or phase behind or before it; as it is where there is none.

    >>> [strip_stage(norm) for norm in ("慢性肾脏病4期", "stage iv lung cancer", "脑梗死恢复期", "4期")]
    ['慢性肾脏病', 'lung cancer', '脑梗死', '4期']
    """
    return (_BEHIND if _BEHIND.search(norm) else _BEFORE).sub("", norm)


def _read_numbers(numerals: str) -> frozenset[int]:
    numbers = [_NUMBERS[one] for one in map(str.lower, _EACH.findall(numerals)) if one in _NUMBERS]
    return frozenset(range(min(numbers), max(numbers) + 1) if numbers and _SPAN.search(numerals) else numbers)
