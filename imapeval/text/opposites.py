"""Words that exclude each other: acute and chronic, high and low, before and after, type 1 and type 2, 3期 and 4期.

Two values that differ only in such a word are different, although for a sentence encoder "acute pancreatitis" and
"chronic pancreatitis" are nearly identical.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from imapeval.text.normalise import stem
from imapeval.text.stages import SCALES, find_stages

if TYPE_CHECKING:
    from collections.abc import Mapping


def _read_antonyms(pairs: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in pairs.split():
        a, b = map(stem, pair.split("-"))
        found.setdefault(a, set()).add(b)
        found.setdefault(b, set()).add(a)
    return {word: frozenset(others) for word, others in found.items()}


_TIMES_OF_DAY = (
    r"\bmornings?\b|\bbreakfast\b|\bqam\b|清?晨[起间]?|早(?=上|餐|饭|间|起|[晚饭]|[一二两三半\d]|各|中晚)",
    r"\b(?:noon|midday|lunch)\b|中午|午[餐饭]|早中晚",
    r"\b(?:evenings?|nights?|nightly|bedtime|dinner|supper|nocte|qhs|qn|qpm|q\.h\.s)\b|晚(?=上|餐|饭|间|[一二两三半\d]|各)|睡前|夜[间里]",
)

# Each row is one dimension, each pattern one side of it. Chinese patterns are limited to contexts where they have this
# meaning.
_DIMENSIONS: tuple[tuple[re.Pattern[str], ...], ...] = tuple(
    tuple(re.compile(side, re.IGNORECASE) for side in sides)
    for sides in (
        (r"\bacute\b|急性", r"\bchronic\b|慢性"),
        (r"\bbenign\b|良性", r"\bmalignan(?:t|cy)\b|恶性"),
        (
            r"\b(?:increas\w+|elevat\w+|rais(?:e|ed|ing)|high|higher)\b|升高|增高|增加|偏高|过高|过多",
            r"\b(?:decreas\w+|reduc\w+|lower\w*|low)\b|降低|减低|减少|下降|偏低|过低|过少",
        ),
        (
            r"\bhyper(?=[a-z]{4})|亢进|高(?=血[压糖脂钾钠钙]|热量|脂|盐|糖|蛋白|纤维|[钠钾磷钙]|嘌呤)",
            r"\bhypo(?=[a-z]{4})|减退|低下|低(?=血[压糖脂钾钠钙]|热量|脂|盐|糖|蛋白|纤维|[钠钾磷钙]|嘌呤)",
        ),
        (r"\bleft\b|左", r"\bright\b|右"),
        (r"\bupper\b|上(?=肢|腹|呼吸道|消化道|颌)", r"\blower\b|下(?=肢|腹|呼吸道|消化道|颌)"),
        (r"\bbefore\b|(?<=[餐饭术产])前", r"\bafter\b|(?<=[餐饭术产])后"),
        (r"\btype[ -]?(?:1|i|one)\b|(?:1|一|Ⅰ|\bI)型", r"\btype[ -]?(?:2|ii|two)\b|(?:2|二|Ⅱ|\bII)型"),
        tuple(
            rf"(?<=hepatitis )\b{latin}\b|{chinese}(?=型|肝)"
            for latin, chinese in zip("abcde", "甲乙丙丁戊", strict=True)
        ),
        (
            r"\bvir(?:al|us(?:es)?)\b|病毒性?",
            r"\bbacteri(?:al|a|um)\b|细菌性?",
            r"\bfung(?:al|us|i)\b|真菌性?",
        ),
        (
            r"\b(?:on an? )?empty stomach\b|\bfasting\b|空腹|\bbefore (?:food|meals?|eating)\b",
            r"\b(?:with|after) (?:food|meals?|eating)\b|[餐饭]后",
        ),
        (r"\bbed rest\b|\bin bed\b|卧床|静养", r"\b(?:active|exercise|activity)\b|锻炼|活动"),
        (
            r"\b(?:immediately|at once|right away|straight away|urgent(?:ly)?)\b|立即|马上|立刻|尽快",
            r"\b(?:wait|delay(?:ed)?|postponed?|no hurry)\b|推迟|暂缓|不急",
        ),
        (
            r"\bfirst trimester\b|孕早期|早孕|头三个月",
            r"\bsecond trimester\b|孕中期",
            r"\b(?:third|last) trimester\b|孕晚期",
        ),
        (r"\btemporar(?:y|ily)\b|暂时", r"\bpermanent(?:ly)?\b|\blifelong\b|\bfor life\b|永久|终身|终生"),
        (r"\bsystolic\b|收缩", r"\bdiastolic\b|舒张"),
        (r"\bearly\b|早(?=中?期)", r"中(?=晚?期)", r"\b(?:late|advanced)\b|晚(?=期)"),
        (r"\boral(?:ly)?\b|口服", r"\bintravenous(?:ly)?\b|\bIV\b|静脉", r"\btopical(?:ly)?\b|外用|局部"),
        _TIMES_OF_DAY,
    )
)
TIME_OF_DAY = len(_DIMENSIONS) - 1
"""Number of the dimension of morning, noon and night."""


_ANTONYMS: Mapping[str, frozenset[str]] = _read_antonyms(
    "increase-decrease increase-reduce increase-lower raise-lower raise-reduce rise-fall high-low higher-lower more-less "
    "more-fewer most-least left-right upper-lower before-after early-late earlier-later first-last morning-night "
    "morning-evening morning-bedtime day-night hot-cold warm-cold heat-cold heat-ice warm-ice warm-cool safe-dangerous "
    "safe-harmful harmless-harmful harmless-serious harmless-dangerous mild-severe mild-serious mild-strong "
    "reversible-irreversible curable-incurable common-rare common-uncommon often-seldom often-rarely usually-rarely "
    "always-never strong-weak local-general localised-generalised ischemic-hemorrhagic ischaemic-haemorrhagic "
    "congenital-acquired normal-abnormal positive-negative short-long shorter-longer dry-wet dry-moist forward-backward "
    "forwards-backwards cause-prevent begin-end open-closed inside-outside internal-external full-empty gain-loss "
    "male-female man-woman better-worse improve-worsen fast-slow rapid-slow quick-slow soft-hard loose-tight "
    "sitting-standing sitting-lying enlarged-shrunken benign-malignant acute-chronic primary-secondary single-multiple "
    "unilateral-bilateral systolic-diastolic overactive-underactive pass-persist resolve-persist enough-insufficient "
    "present-absent raise-drop above-below over-under with-without up-down excellent-poor good-poor good-bad well-poorly "
    "better-poorly much-little plenty-little reduced-preserved hereditary-acquired inherited-acquired forward-back "
    "first-second first-third second-third helpful-useless advisable-pointless painful-painless thick-thin wide-narrow "
    "deep-shallow deep-superficial heavy-light easy-difficult easy-hard sudden-gradual suddenly-gradually "
    "continuous-intermittent constant-intermittent proximal-distal anterior-posterior medial-lateral central-peripheral "
    "systemic-topical obstructive-restrictive dominant-recessive constrict-dilate tachycardia-bradycardia "
    "symptomatic-asymptomatic sterile-infected tighten-loosen inhale-exhale refrigerate-freeze "
    "前-后 早-晚 大-小 多-少 高-低 上-下 左-右 内-外 轻-重 快-慢 强-弱 冷-热 干-湿 干-潮 开-关 男-女 升-降 长-短 阴-阳 新-旧 生-熟 软-硬 松-紧 "
    "粗-细 厚-薄 深-浅 远-近 增-减 增-降 加-减 有-无 急-慢 抬-垂 良-恶 缺-出 先-后 藏-冻"
)


@dataclass(frozen=True, slots=True)
class Opposites:
    """The words of a value that have opposites.

    Attributes:
        sides: Number of a dimension to the numbers of the sides of it that the value names. Stages, grades and degrees
            are dimensions too; their sides are the stage numbers.
        rest: The value without these words.
    """

    sides: dict[int, frozenset[int]]
    rest: str


@lru_cache(maxsize=1 << 16)
def find_opposites(value: str) -> Opposites:
    """Find the words of a value that have opposites.

    >>> find_opposites("chronic hepatitis B").sides
    {0: frozenset({1}), 8: frozenset({1})}
    """
    # Stages first: the IV of "stage IV" does not mean intravenous.
    stages, unstaged = find_stages(value)
    rest = unstaged
    taken = {len(_DIMENSIONS) + SCALES.index(scale): numbers for scale, numbers in stages.items()}
    for dimension, sides in enumerate(_DIMENSIONS):
        if named := frozenset(number for number, side in enumerate(sides) if side.search(unstaged)):
            taken[dimension] = named
            for number in named:
                rest = sides[number].sub(" ", rest)
    return Opposites(taken, rest)


def are_opposed(a: Opposites, b: Opposites) -> bool:
    """Return whether two values name different sides of any dimension.

    >>> are_opposed(find_opposites("acute bronchitis"), find_opposites("chronic bronchitis"))
    True
    >>> are_opposed(find_opposites("acute on chronic kidney failure"), find_opposites("chronic kidney failure"))
    False
    """
    return any(a.sides[dimension].isdisjoint(b.sides[dimension]) for dimension in a.sides.keys() & b.sides.keys())


_NEGATING_PREFIX = re.compile(r"^(?:un|in|im|ir|non|dis|de)(?=[a-z]{4})")
_HIGH, _LOW = "hyper", "hypo"


def are_antonyms(a: str, b: str) -> bool:
    """Return whether two words, as stems or Chinese characters, exclude each other.

    >>> are_antonyms("high", "low"), are_antonyms("displac", "undisplac"), are_antonyms("前", "后")
    (True, True, True)
    """
    if b in _ANTONYMS.get(a, ()):
        return True
    if _NEGATING_PREFIX.sub("", a) == b or _NEGATING_PREFIX.sub("", b) == a:
        return True
    return any(x.startswith(_HIGH) and y.startswith(_LOW) and x[5:] == y[4:] for x, y in ((a, b), (b, a)))
