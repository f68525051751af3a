"""Words that exclude each other: acute and chronic, benign and malignant, high and low, type 1 and type 2, 3期 and 4期.

An encoder finds "acute pancreatitis" and "chronic pancreatitis" nearly the same. Where two values differ only in such
a word, they name different things.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from imapeval.graph.stages import SCALES, find_stages

# Each line is one dimension, each pattern one side of it. Chinese sides are limited to where they are that word.
_DIMENSIONS: tuple[tuple[re.Pattern[str], ...], ...] = tuple(
    tuple(re.compile(side, re.IGNORECASE) for side in sides)
    for sides in (
        (r"\bacute\b|急性", r"\bchronic\b|慢性"),
        (r"\bbenign\b|良性", r"\bmalignan(?:t|cy)\b|恶性"),
        (
            r"\b(?:increas\w+|elevat\w+|rais(?:e|ed|ing)|high|higher)\b|升高|增高|增加|偏高|过高|过多",
            r"\b(?:decreas\w+|reduc\w+|lower\w*|low)\b|降低|减低|减少|下降|偏低|过低|过少",
        ),
        (r"\bhyper(?=[a-z]{4})|亢进|高(?=血[压糖脂钾钠钙])", r"\bhypo(?=[a-z]{4})|减退|低下|低(?=血[压糖脂钾钠钙])"),
        (r"\bleft\b|左", r"\bright\b|右"),
        (r"\bupper\b|上(?=肢|腹|呼吸道|消化道|颌)", r"\blower\b|下(?=肢|腹|呼吸道|消化道|颌)"),
        (r"\bbefore\b|(?<=[餐饭术产])前", r"\bafter\b|(?<=[餐饭术产])后"),
        (r"\btype[ -]?(?:1|i|one)\b|(?:1|一|Ⅰ|\bI)型", r"\btype[ -]?(?:2|ii|two)\b|(?:2|二|Ⅱ|\bII)型"),
        tuple(
            rf"(?<=hepatitis )\b{latin}\b|{chinese}(?=型|肝)"
            for latin, chinese in zip("abcde", "甲乙丙丁戊", strict=True)
        ),
        (r"\bviral\b|病毒性", r"\bbacterial\b|细菌性", r"\bfungal\b|真菌性"),
        (r"\bsystolic\b|收缩", r"\bdiastolic\b|舒张"),
        (r"\bearly\b|早(?=中?期)", r"中(?=晚?期)", r"\b(?:late|advanced)\b|晚(?=期)"),
        (r"\boral(?:ly)?\b|口服", r"\bintravenous(?:ly)?\b|\bIV\b|静脉", r"\btopical(?:ly)?\b|外用|局部"),
    )
)


@dataclass(frozen=True, slots=True)
class Sides:
    """Which sides a value takes.

    Attributes:
        taken: Dimension number to the numbers of the sides that it names. Stages, grades and degrees are dimensions
            as well, with the numbers that they count.
        rest: The value without the words that take sides.
    """

    taken: dict[int, frozenset[int]]
    rest: str


@lru_cache(maxsize=1 << 16)
def find_sides(value: str) -> Sides:
    """Find the sides that a value takes.

    >>> find_sides("chronic hepatitis B").taken
    {0: frozenset({1}), 8: frozenset({1})}
    """
    # First, because the IV of "stage IV" is no way to give a drug.
    stages, unstaged = find_stages(value)
    rest = unstaged
    taken = {len(_DIMENSIONS) + SCALES.index(scale): numbers for scale, numbers in stages.items()}
    for dimension, sides in enumerate(_DIMENSIONS):
        if named := frozenset(number for number, side in enumerate(sides) if side.search(unstaged)):
            taken[dimension] = named
            for number in named:
                rest = sides[number].sub(" ", rest)
    return Sides(taken, rest)


def contrast(a: Sides, b: Sides) -> bool:
    """Say whether two values take different sides of any dimension.

    >>> contrast(find_sides("acute bronchitis"), find_sides("chronic bronchitis"))
    True
    >>> contrast(find_sides("acute on chronic kidney failure"), find_sides("chronic kidney failure"))
    False
    """
    return any(a.taken[dimension].isdisjoint(b.taken[dimension]) for dimension in a.taken.keys() & b.taken.keys())
