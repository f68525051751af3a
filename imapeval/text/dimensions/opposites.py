"""Words that exclude each other: acute and chronic, high and low, before and after, type 1 and type 2, 3期 and 4期.

Two values that differ only in such a word are different, although for a sentence encoder "acute pancreatitis" and
"chronic pancreatitis" are nearly identical.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from imapeval.text.dimensions.stages import SCALES, find_stages
from imapeval.text.dimensions.table import COMPLEMENTS, DIMENSION_COUNT, ONE_SIDED, TIME_OF_DAY, find_sides
from imapeval.text.normalise import stem

if TYPE_CHECKING:
    from collections.abc import Mapping


def _read_antonyms(pairs: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in pairs.split():
        a, b = map(stem, pair.split("-"))
        found.setdefault(a, set()).add(b)
        found.setdefault(b, set()).add(a)
    return {word: frozenset(others) for word, others in found.items()}


_ANTONYMS: Mapping[str, frozenset[str]] = _read_antonyms(
    "increase-decrease increase-reduce increase-lower raise-lower raise-reduce rise-fall high-low more-less "
    "more-fewer most-least left-right upper-lower before-after early-late earlier-later first-last morning-night "
    "morning-evening morning-bedtime day-night hot-cold warm-cold heat-cold heat-ice warm-ice warm-cool safe-dangerous "
    "safe-harmful harmless-serious harmless-dangerous mild-severe mild-serious mild-strong "
    "common-rare often-seldom often-rarely usually-rarely "
    "always-never strong-weak local-general localised-generalised ischemic-hemorrhagic "
    "congenital-acquired normal-abnormal positive-negative short-long dry-wet dry-moist forward-backward "
    "cause-prevent begin-end open-closed inside-outside internal-external full-empty gain-loss "
    "male-female man-woman better-worse improve-worsen fast-slow rapid-slow quick-slow soft-hard loose-tight "
    "sitting-standing sitting-lying enlarged-shrunken benign-malignant acute-chronic primary-secondary single-multiple "
    "unilateral-bilateral systolic-diastolic pass-persist resolve-persist enough-insufficient "
    "present-absent raise-drop above-below over-under with-without up-down excellent-poor good-poor good-bad well-poorly "
    "better-poorly well-unwell well-ill much-little plenty-little reduced-preserved hereditary-acquired forward-back "
    "first-second first-third second-third helpful-useless advisable-pointless painful-painless thick-thin wide-narrow "
    "deep-shallow deep-superficial heavy-light easy-difficult easy-hard sudden-gradual suddenly-gradually "
    "continuous-intermittent constant-intermittent proximal-distal anterior-posterior medial-lateral central-peripheral "
    "systemic-topical obstructive-restrictive dominant-recessive constrict-dilate "
    "symptomatic-asymptomatic sterile-infected inhale-exhale refrigerate-freeze raw-cooked alive-dead "
    "hold-start hold-continue hold-resume stimulate-suppress stimulate-inhibit activate-inhibit promote-inhibit "
    "sensitive-resistant live-inactivated stable-progressive agonist-antagonist push-pull "
    "cover-expose attach-detach sleep-wake asleep-awake relax-tense contract-relax flex-extend adduct-abduct "
    "nose-mouth minimum-maximum minimal-maximal majority-minority relieve-aggravate relieve-worsen ease-worsen "
    "improve-deteriorate success-failure succeed-fail accept-refuse allow-forbid permit-forbid healthy-diseased "
    "thrombocytopenia-thrombocytosis constipation-diarrhoea fat-thin clean-dirty sharp-blunt "
    "larger-smaller bigger-smaller taller-shorter "
    "thicker-thinner sooner-later safe-risky "
    "superior-inferior ventral-dorsal ascending-descending elevation-depression "
    "accelerate-slow accelerate-delay expand-shrink grow-shrink encourage-discourage "
    "identical-fraternal sunken-bulging "
    "ovulatory-anovulatory febrile-afebrile symmetrical-asymmetrical temporary-permanent voluntary-mandatory "
    "optional-mandatory optional-compulsory pale-dark gently-hard gently-vigorously gentle-vigorous sufficient-deficient sufficient-deficiency "
    "young-old elderly-young newborn-adult smooth-rough sweet-bitter empty-replete full-fasting flexion-extension inspiration-expiration "
    "前-后 早-晚 大-小 多-少 高-低 上-下 左-右 内-外 轻-重 快-慢 强-弱 冷-热 干-湿 干-潮 开-关 男-女 升-降 长-短 阴-阳 新-旧 生-熟 软-硬 松-紧 "
    "粗-细 厚-薄 深-浅 远-近 增-减 增-降 加-减 有-无 急-慢 抬-垂 良-恶 缺-出 先-后 藏-冻 坐-卧 站-卧 坐-站 仰-俯 胖-瘦 开-闭 睁-闭 升-落 "
    "屈-伸 吸-呼 咸-淡 正-负 显-隐 单-双 单-多 稀-稠 松-硬 亢-减 留-拔 进-退 涨-跌 鼻-嘴 鼻-口"
)


@dataclass(frozen=True, slots=True)
class Opposites:
    """The words of a value that have opposites.

    Attributes:
        sides: Number of a dimension to the numbers of the sides of it that the value names. Stages, grades and degrees
            are dimensions too; their sides are the stage numbers.
        spans: Where it names them, as [start, end), for each of these dimensions but stages.
        rest: The value without these words, but with those of dimensions with one side, which say what it is about.
        remainder: The value without all these words.
    """

    sides: dict[int, frozenset[int]]
    spans: dict[int, list[tuple[int, int]]]
    rest: str
    remainder: str


@lru_cache(maxsize=1 << 16)
def find_opposites(value: str) -> Opposites:
    """Find the words of a value that have opposites.

    >>> find_opposites("chronic hepatitis B").sides
    {0: frozenset({1}), 7: frozenset({1})}
    """
    # Stages first: the IV of "stage IV" does not mean intravenous.
    stages, unstaged = find_stages(value)
    taken = {DIMENSION_COUNT + SCALES.index(scale): numbers for scale, numbers in stages.items()}
    # Words of several dimensions may overlap: 饭后 is after the meal, and not on an empty stomach.
    rest, remainder = list(unstaged), list(unstaged)
    spans: dict[int, list[tuple[int, int]]] = {}
    for dimension, side, found in find_sides(unstaged):
        taken[dimension] = taken.get(dimension, frozenset()) | {side}
        spans.setdefault(dimension, []).append(found.span())
        for kept in (remainder,) if dimension in ONE_SIDED else (rest, remainder):
            kept[found.start() : found.end()] = " " * len(found[0])
    return Opposites(taken, spans, "".join(rest), "".join(remainder))


def are_opposed(a: Opposites, b: Opposites) -> bool:
    """Return whether two values name different sides of any dimension.

    >>> are_opposed(find_opposites("acute bronchitis"), find_opposites("chronic bronchitis"))
    True
    >>> are_opposed(find_opposites("acute on chronic kidney failure"), find_opposites("chronic kidney failure"))
    False
    """
    return bool(list_opposed(a, b))


def are_complements(a: Opposites, b: Opposites) -> bool:
    """Return whether two values name the two sides of a dimension of which one is the denial of the other.

    >>> are_complements(find_opposites("harmful"), find_opposites("safe"))
    True
    >>> are_complements(find_opposites("left arm"), find_opposites("right arm"))
    False
    """
    opposed = list_opposed(a, b)
    return bool(opposed) and all(dimension in COMPLEMENTS for dimension in opposed)


def are_twice_opposed(a: Opposites, b: Opposites) -> bool:
    """Return whether two values name different sides of two dimensions in different words, and so may both be true.

    >>> are_twice_opposed(find_opposites("mild effects are common"), find_opposites("severe effects are rare"))
    True
    >>> are_twice_opposed(find_opposites("with food"), find_opposites("on an empty stomach"))
    False
    """
    # "Before breakfast" and "after dinner" exclude each other all the same, and stages have no spans.
    opposed = [number for number in list_opposed(a, b) if number in a.spans and number != TIME_OF_DAY]
    return any(
        all(_are_apart(one.spans[first], one.spans[second]) for one in (a, b))
        for place, first in enumerate(opposed)
        for second in opposed[:place]
    )


def _are_apart(spans: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    return all(end <= start or other_end <= begin for begin, end in spans for start, other_end in others)


def list_opposed(a: Opposites, b: Opposites) -> list[int]:
    """Return the dimensions of which two values name different sides."""
    return [number for number in a.sides.keys() & b.sides.keys() if a.sides[number].isdisjoint(b.sides[number])]


_NEGATING_PREFIX = re.compile(
    r"^(?!disinfect|discharg|disord|diseas|dissol|deliver|degrad|implant|impart|inpat|inform|intak|insert|insul|inten)"
    r"(?:un|in|im|ir|non|dis|de)(?=[a-z]{4})"
)
_PREFIXES = (
    ("hyper", "hypo"),
    ("over", "under"),
    ("pre", "post"),
    ("ante", "post"),
    ("intra", "extra"),
    ("tachy", "brady"),
    ("macro", "micro"),
    ("poly", "oligo"),
    ("homo", "hetero"),
    ("endo", "exo"),
    ("supra", "infra"),
)
_SUFFIXES = (("penia", "cytosi"), ("ful", "les"))
"""Beginnings of words, and endings of stems, that exclude each other."""


@lru_cache(maxsize=1 << 16)
def list_antonyms(word: str) -> frozenset[str]:
    """Return the antonyms of a word, a stem or Chinese character: those in the table, and those by beginning or ending.

    Two words exclude each other if either is in the other's list.

    >>> "low" in list_antonyms("high"), "displac" in list_antonyms("undisplac"), "后" in list_antonyms("前")
    (True, True, True)
    """
    return frozenset(
        (
            *_ANTONYMS.get(word, ()),
            _NEGATING_PREFIX.sub("", word),
            *(other + word[len(one) :] for one, other in _PREFIXES if word.startswith(one)),
            *(word[: -len(one)] + other for one, other in _SUFFIXES if word.endswith(one) and word != one),
        )
    )
