"""Tables and patterns for amounts: units, numerals, comparatives, and their context."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from imapeval.text.language import HAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
# "dimension in base unit: unit = its names; ...". pint converts the units, which may be expressions; pint's own name of
# a unit counts too. A teaspoon has 5 mL, a tablespoon 15, a fluid ounce 30: 21 CFR 101.9(b)(5)(viii). A 斤 is half a
# kilogram: 度量衡法 of 1929, article 5, and unchanged since. Food calories are kilocalories.
_PHYSICAL = """
mass in milligram: picogram = pg 皮克; nanogram = ng 纳克; microgram = μg ug mcg 微克; milligram = mg 毫克
mass in milligram: gram = g gm 克; kilogram = kg kilo 千克 公斤; 500 gram = 斤; pound = lb 磅; ounce = oz 盎司
volume in milliliter: femtoliter = fl; microliter = μl ul 微升; mm ** 3 = mm3; milliliter = ml cc 毫升; deciliter = dl 分升
volume in milliliter: liter = l 升 公升; 5 milliliter = tsp teaspoon teaspoonful 茶匙; 30 milliliter = floz fluidounce
volume in milliliter: 15 milliliter = tbsp tablespoon tablespoonful 汤匙
duration in day: second = sec 秒 秒钟; minute = min 分 分钟; 15 minute = 刻钟; hour = h hr hourly 小时 钟头; week = w wk weekly 周 星期 礼拜
duration in day: day = d night morning evening 天 日 晚 夜; 14 day = fortnight; month = mo monthly 月; 3 month = 季度
duration in day: year = y yr 年; 10 year = decade
age in year: year of age = yo y/o 岁 周岁; month of age = 月龄; week of age = 周龄; day of age = 日龄 天龄
pressure in mmHg: mmHg = mmhg mmofmercury 毫米汞柱; kPa = kpa 千帕; cmH2O = cmh2o 厘米水柱
length in centimeter: millimeter = mm 毫米; centimeter = cm 厘米 公分; meter = m 米; kilometer = km 公里 千米; mile =
length in centimeter: inch = inches 英寸; foot = ft feet 英尺
area in m ** 2: m ** 2 = m2 平方米; cm ** 2 = cm2 平方厘米; mm ** 2 = mm2
energy in kilocalorie: kilocalorie = kcal calorie 千卡 大卡; kilojoule = kj 千焦
substance in millimole: 1000 millimole = mol; millimole = mmol 毫摩尔; micromole = μmol umol 微摩尔; nanomole = nmol
substance in millimole: picomole = pmol
radiation dose in gray: 1 gray = gy; centigray = cgy
"""
# Units of counted things; those on one line are interchangeable.
_COUNTED = """
count: time x dose shot injection jab beat breath 次 回 剂 针
tablets: tablet tab pill capsule cap caplet lozenge 片 粒 丸 颗 枚
drops: drop gtt gtts 滴
puffs: puff spray actuation 喷 揿 吸
sachets: sachet packet 袋 包
vials: vial ampoule ampule 支 瓶
patches: patch patches 贴
cups: cup glass glasses 杯
courses: course cycle 疗程
share: % percent pct 成
international units: iu u unit internationalunit 单位 国际单位
equivalents: meq 毫当量
ratio: fold 倍
rate: bpm
"""
COUNTED_SIZES = {"成": 10.0}
"""Units that hold several of what is counted: 九成 is 90%."""
# A unit, then characters with which it is another word: 天然, 百日咳, 月经, 年龄, 次要, 粒细胞, 克隆.
_LONGER = """
天然生气麻花 日常光晒本咳号 月经板份初底中末子 年龄级轻老代 周围身末 晚期餐饭 夜间 次要日全品氯性 片状段面红斑皮 粒细 滴速 瓶颈 支架气原持撑
包块皮括膜虫 喷嚏雾 吸入氧烟 针灸对刺头尖 克隆罗氏 升高级上 倍他 回声肠 米饭粥汤 成人年功分效长熟果药立为就像都员本品绩虫形因型份瘾
"""
# Words for frequencies: number of times, unit: words.
_FREQUENCIES = """
1 day: daily nightly qd q.d q.d. od qn qm qhs q.h.s q.h.s.
2 day: bid b.i.d b.i.d. bd b.d b.d.
3 day: tid t.i.d t.i.d. tds t.d.s t.d.s.
4 day: qid q.i.d q.i.d. qds q.d.s q.d.s.
1 2 day: qod q.o.d q.o.d.
1 hour: hourly qh
1 week: weekly qw
2 week: biw
3 week: tiw
1 14 day: fortnightly
1 month: monthly
1 3 month: quarterly
1 year: yearly annually annual
"""
INTERVAL_ORDINALS = {"other": 2.0, "second": 2.0, "alternate": 2.0, "third": 3.0, "3rd": 3.0, "fourth": 4.0, "4th": 4.0}
# Dimensions in which "a" means one: not "a unit of blood", "a drop in pressure", "a mole".
ARTICLE_DIMENSIONS = frozenset({"duration", "mass", "volume", "tablets", "cups", "sachets", "puffs"})
DOSE_DIMENSIONS = frozenset({"mass", "tablets", "sachets", "puffs", "international units"})
BEHIND_DOSE = re.compile(r"[ (]{0,2}(?:(?:po|oral|orally|tablets?|tabs?|capsules?|caps?)[ )]{1,2}){0,2}")
FOR_THE_EYE = re.compile(r"(?<![a-z])(?:eyes?|drops?|instil|ophthalmic)")
# Dimensions of rates per day or kilogram: "2 tablets a day", 每公斤10毫克. 每天 before a temperature says when it is
# measured.
RATE_DIMENSIONS = ARTICLE_DIMENSIONS.union(
    ("count", "drops", "vials", "patches", "energy", "substance", "international units", "length")
)
# Comparatives before an amount: which bound they set, whether the bound is excluded, and the words. 以上, 以下 and 以内
# include it, 不满 and 超过 do not: 民法典, article 1259.
_BEFORE = """
upper: up to|at most|maximum|maximum of|maximum is|max|max.|not exceeding|not exceed|cannot exceed|can't exceed|can not exceed
upper: don't exceed|never exceed|not to exceed|not over|not above|within|≤|<=|less than or equal to
upper: should not exceed|must not exceed|should not be more than|must not be more than|not be over|should not be longer than|小于等于|小于或等于|低于或等于|切勿超过|最多|至多|不长于
upper excluded: earlier than|sooner than|under|below|less than|lower than|fewer than|smaller than|younger than|shorter than|<|must be under|must be below|must be less than|应低于|应小于|应少于|小于|少于|低于|早于|未满|不到|不足|不满
lower excluded: later than|over|above|more than|greater than|higher than|larger than|older than|longer than|heavier than|must be over|must be above|must be more than|must exceed|should exceed|应高于|应大于|应超过|应多于|exceeding|exceeds|exceed|>|超过|多于|大于|高于|晚于|迟于|超出|逾
lower: at least|not under|not below|minimum|minimum of|≥|>=|greater than or equal to
lower: should not be less than|must not be less than|should not be under|should not be below|must not be under|must not be below|should not be shorter than|must not be shorter than|not be fewer than
lower: 大于等于|大于或等于|高于或等于|至少|最少|起码|不短于|年满|满
about: about|around|approximately|approx|approx.|roughly|circa|~|≈|nearly|almost|大约|约为|大概|差不多|将近|接近|约|近
: between|from|age of|the age of|an age of|ages|ages of|the ages of
"""
_AFTER = """
lower: or more|or above|or over|or older|or longer|or higher|or greater|and above|and over|and older|and up|at least|起|以上|及以上|或以上|之上
upper: or less|or under|or below|or younger|or fewer|or lower|or shorter|and under|and below|and younger|at most|maximum|max|以下|及以下|或以下|之下|以内|之内|内
about: or so|左右|上下
"""
_ONES = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
SMALL_NUMBERS = {word: float(value) for value, word in enumerate(f"{_ONES} {_TEENS}".split(), start=1)}
_DECADES = "ten twenty thirty forty fifty sixty seventy eighty ninety"
TENS = {word: 10.0 * value for value, word in enumerate(_DECADES.split(), start=1) if value > 1}
TIMES = {"once": 1.0, "twice": 2.0, "thrice": 3.0}
VAGUE = (2.0, 7.0)
"""What "several" and "a few" mean: a few days are less than weeks, and a few weeks less than months."""
_FRACTIONS = {"quarter": 1 / 4, "third": 1 / 3, "two thirds": 2 / 3, "three quarters": 3 / 4}
FRACTION_WORDS = {word.replace(" ", joint): value for word, value in _FRACTIONS.items() for joint in " -"}
SCALES = {"百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8, "hundred": 1e2, "thousand": 1e3, "million": 1e6}
HAN_DIGITS = {numeral: value for value, numeral in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_NUMERALS = "".join((*HAN_DIGITS, *HAN_SCALES))
# 两三, 十五六, 七八十: two neighbouring numerals mean a range.
HAN_BETWEEN = re.compile(r"([二三四五六七八九]?十)?([一二两三四五六七八])([二两三四五六七八九])([十百千万]?)")
CHARACTER_FOLDS = str.maketrans(
    {
        **{chr(0xFF01 + n): chr(0x21 + n) for n in range(94)},
        **dict(zip("º˚µ–—−‐‑〜∼×≧⩾≦⩽’İ", "°°μ-----~~x≥≥≤≤'I", strict=True)),
        **dict(zip("個兩週時鐘歲內過於滿約", "个两周时钟岁内过于满约", strict=True)),
    }
)
NONSTANDARD_CHARACTER = re.compile(f"[{''.join(map(chr, CHARACTER_FOLDS))}]")
DROPPED_IN_UNIT_NAMES = str.maketrans("", "", " .^")
DIMENSION_LETTER = re.compile(r"[DWYM](?<=[0-9][DWYM])(?![A-Za-z])")  # 2D, 3M


class Number(NamedTuple):
    """A number, which may be a range by itself; `kind` is "article" for "a", "times" for "twice", "vague" for "a few"."""

    low: float
    high: float
    end: int
    kind: str = ""
    scale: float = 1.0


class Unit(NamedTuple):
    """A parsed unit: values are converted with `scale` and `zero`; `more` is a 多 or + before it."""

    dimension: str
    name: str
    scale: float
    end: int
    zero: float = 0.0
    more: str = ""

    def convert(self, value: float) -> float:
        return value * self.scale + self.zero


class Interval(NamedTuple):
    """The denominator of a rate: every 4 to 6 hours, 每公斤."""

    low: float
    high: float
    unit: Unit


class Margins(NamedTuple):
    """The extent of an amount with the comparatives around it, and their meaning."""

    start: int
    end: int
    cuts: tuple[tuple[int, int], ...]
    bound: str = ""
    strict: bool = False
    about: bool = False
    words: str = ""


class AmountReading(NamedTuple):
    """An amount in the folded phrase; `cuts` are the stretches of the phrase that it consists of."""

    dimension: str
    low: float | None
    high: float | None
    start: int
    end: int
    name: str
    strict: bool
    about: bool
    cuts: tuple[tuple[int, int], ...]


def _read_tables() -> tuple[dict[str, str], dict[str, tuple[str, str]], dict[str, tuple[float, str]]]:
    """Return dimension to base unit, name to (dimension, unit, or "" for counts), and word to (times, unit)."""
    bases: dict[str, str] = {}
    names: dict[str, tuple[str, str]] = {}
    frequencies: dict[str, tuple[float, str]] = {}
    for head, _, units in (line.partition(": ") for line in _PHYSICAL.strip().splitlines()):
        dimension, _, bases[dimension] = head.partition(" in ")
        for unit, _, aliases in (entry.partition("=") for entry in units.split(";")):
            name = unit.strip().removesuffix(" of age")
            spellings = [] if dimension == "age" else [name, name.replace("ter", "tre"), name.replace("gram", "gramme")]
            names |= dict.fromkeys([*aliases.split(), *spellings], (dimension, name))
    for dimension, _, aliases in (line.partition(": ") for line in _COUNTED.strip().splitlines()):
        names |= dict.fromkeys(aliases.split(), (dimension, ""))
    for head, _, words in (line.partition(": ") for line in _FREQUENCIES.strip().splitlines()):
        times, _, unit = head.partition(" ")
        frequencies |= dict.fromkeys(words.split(), (float(times), unit))
    return bases, names, frequencies


def _read_bounds(table: str) -> dict[str, str]:
    rows = (line.partition(": ") for line in table.strip("\n").splitlines())
    return {word: bound for bound, _, words in rows for word in words.split("|")}


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _latin_words(words: Iterable[str]) -> list[str]:
    return [word for word in words if word[0].isascii() and word[0].isalpha()]


BASE_UNITS, UNITS_BY_NAME, FREQUENCY_WORDS = _read_tables()
BOUNDS_AFTER = _read_bounds(_AFTER)
_BOUNDS_BEFORE = {
    word: (bound.removesuffix(" excluded"), bound.endswith(" excluded"))
    for word, bound in _read_bounds(_BEFORE).items()
}
_NEGATORS = {
    r"\w+ than": ("no ", "not ", "not be ", "never ", "never be ", "isn't ", "aren't "),
    ".[于过]": ("不", "不得", "不能", "不要", "不应", "不宜", "不可", "别", "勿"),
}
BOUNDS_BEFORE = _BOUNDS_BEFORE | {
    no + word: ("lower" if bound == "upper" else "upper", False)
    for word, (bound, excluded) in _BOUNDS_BEFORE.items()
    for pattern, negators in _NEGATORS.items()
    if excluded and re.fullmatch(pattern, word)
    for no in negators
}
MAX_COMPARATIVE_CHARACTERS = max(map(len, BOUNDS_BEFORE)) + 2
# Matched on the reversed text before an amount, so that one match finds the longest comparative that ends there.
COMPARATIVE_BEFORE = re.compile(
    rf"[\s:]{{0,2}}(?:(?P<latin>{_alternatives(word[::-1] for word in _latin_words(BOUNDS_BEFORE))})(?![a-z])"
    # 预约3天 does not mean about three days, nor does 最近3天.
    rf"|(?P<other>{_alternatives(word[::-1] for word in set(BOUNDS_BEFORE) - set(_latin_words(BOUNDS_BEFORE)) - {*'约近'})}|约(?!预)"
    r"|近(?![最附临邻]))"
    # 至少治疗三天
    rf"|[{HAN}]{{1,2}}(?P<apart>少至|多最|少最|多至|码起))"
)
COMPARATIVE_AFTER = re.compile(
    rf" ?(?P<latin>{_alternatives(_latin_words(BOUNDS_AFTER))})(?![a-z])(?! [0-9])"
    rf"|(?P<other>{_alternatives(set(BOUNDS_AFTER) - set(_latin_words(BOUNDS_AFTER)))})(?<!内(?=[科服分镜]))(?<!起(?=[床来效搏病伏用]))"
)
# Every repetition is bounded or possessive, to keep matching linear on a run of 10,000 digits.
NUMBER = re.compile(
    rf"""(?:
      (?:(?P<whole>[0-9]{{1,2}})(?:[ -]|\ and\ ))?(?P<top>[1-9])/(?P<bottom>[2-9])(?![0-9/.,])
    | (?P<digits>(?:[0-9]{{1,3}}(?:,[0-9]{{3}}|\ 000){{1,4}}|[0-9]{{1,15}})(?:\.[0-9]{{1,15}})?|\.[0-9]{{1,15}})
      (?![0-9]|[.,][0-9])
      (?:\s?[x*]\s?10(?:\^|\*\*|\*|e)(?P<power>[0-9]{{1,2}})(?![0-9]))?
      (?:\s?(?P<scale>百|千(?![克卡米焦帕])|万|亿|(?:hundred|thousand|million)(?![a-z])))?
    | (?P<han>[{_NUMERALS}]{{1,12}}(?:点[{_NUMERALS}]{{1,4}})?)(?![{_NUMERALS}])
    | (?P<vague_han>[几数])
    | (?P<half>half(?:[ -](?:of\ )?an?(?![a-z]))?(?![a-z])|半)
    | (?:an?\ )?(?P<part>{_alternatives(FRACTION_WORDS)})\ of\ an?(?![a-z])
    | (?:(?P<tens>{_alternatives(TENS)})(?:[ -](?P<ones>{_alternatives(_ONES.split())}))?|(?P<small>{_alternatives(SMALL_NUMBERS)})
      |(?P<times>{_alternatives(TIMES)})|(?:a\ )?couple\ of|(?P<vague>several|a\ few)
      |(?P<single>(?:a\ )?single)|(?P<article>an?))(?![a-z])(?P<hundred>\ hundred(?![a-z]))?
    )(?P<half_more>[ -]and[ -](?:an?[ -])?half(?![a-z])|个半(?!月板))?""",
    re.VERBOSE,
)
RANGE_SIGN = re.compile(r"\s?[-~至到、或]\s?| (?P<word>to|or|and) ")
_NUMBER_WORDS = {"a", "an", "half", "several", "couple", "single", *FRACTION_WORDS, *SMALL_NUMBERS, *TENS, *TIMES}
# Where an amount may begin. A set of characters comes first, because that search is fast. Letters before a digit belong
# to a name (B12, COVID-19), but "x3 days" means three days.
NUMERAL_HINT = re.compile(rf"[0-9半几数每隔间早晚睡日终{_NUMERALS}]")
WORD = re.compile(r"[a-z]++")
START_CANDIDATE = re.compile(rf"[a-z0-9.第半几数每隔间早晚睡日终{_NUMERALS}](?:(?<=[a-z])[a-z]*+|(?<=[0-9.])[0-9]*+|)")
START = re.compile(
    rf"""(?P<share>百分之)
    | (?P<date>(?:19|20)[0-9]{{2}}\s?年(?:[0-9]{{1,2}}月)?(?:[0-9]{{1,2}}[日号])?|[0-9]{{1,2}}月[0-9]{{1,2}}[日号]
      |[{_NUMERALS}]{{1,3}}月(?![余龄来])(?:[{_NUMERALS}]{{1,3}}[日号])?)
    | (?P<number>
        [0-9](?<![a-wyz0-9_][0-9])(?<![a-z]-[0-9])(?<![0-9][.,:/^][0-9])(?<!第[0-9])(?<!第\s[0-9])
      | \.[0-9](?<![0-9a-z.]\.[0-9])
      | [{_NUMERALS}半](?<![{_NUMERALS}半第几数周期拜][{_NUMERALS}半])
      | [几数](?<![{_NUMERALS}次人系函参指计][几数])(?=个?(?:小时|分钟|星期|[天日周月年])(?![{_NUMERALS}期经内]))
      | (?<![a-z0-9])(?:{_alternatives(_NUMBER_WORDS)})(?![a-z]))
    | (?P<each>每间?隔?|间?隔|早中?晚各|(?:every|each)[ -](?:(?P<skip>{_alternatives(INTERVAL_ORDINALS)})[ -])?|per\ |q\s?(?=[0-9]))
    | (?P<period>(?<![a-z]\.)(?:{_alternatives(FREQUENCY_WORDS)})(?![a-z=])(?!\s(?:living|life|activit|routine))|alternate\ days)
    | (?P<always>lifelong(?![a-z])|终身)
    | (?P<nth>第(?=\s?[0-9{_NUMERALS}]{{1,4}}\s?个?(?:[天日月年]|周(?!期)))
      |(?<![a-z])(?<!first\ )(?<!next\ )(?<!same\ )(?<!last\ )(?<!third\ )(?<!each\ )(?<!per\ )(?P<unit>day|week)s?\ (?=[0-9]{{1,3}}(?![0-9.,/])))
    | (?P<night>at\ (?:night|bedtime)(?![a-z]))
    | (?P<times>(?:(?<![今昨明当生{_NUMERALS}0-9])日|晚上|早上|睡前)(?=[0-9{_NUMERALS}]{{1,3}}次))""",
    re.VERBOSE,
)
_OTHER_OPENINGS = "lifelong every each per q alternate at day week days weeks"
OPENING_WORDS = frozenset(
    word.partition(".")[0] for word in (*_NUMBER_WORDS, *FREQUENCY_WORDS, *_OTHER_OPENINGS.split())
)
LIFETIME = 100.0
"""Years that "lifelong" stands for: more than any course of treatment, and the same for everybody."""
ONE_IN = re.compile(
    r"([0-9]{1,4}) (?:in|out of) (?:every )?([0-9]{1,3}(?:,?[0-9]{3}| 000){0,2})(?![0-9]|[.,/:][0-9]|%"
    r"| ?(?:m?g|kg|m?l|h|hours?|days?|weeks?|months?|years?|min(?:ute)?s?)(?![a-z]))"
)
NUMBER_PAIR = re.compile(
    r"([0-9]{1,3}(?:\.[0-9]{1,2})?)(?:-([0-9]{2,3}))?\s?(?:/|over)\s?([0-9]{2,3})(?:-([0-9]{2,3}))?(?![0-9/]|[.,][0-9])"
    r"\s?(mm ?hg|毫米汞柱|kpa)?"
)
_LONG = {word[0]: word[1:] for word in _LONGER.split()}
_HAN_NAMES = "|".join(
    name + (f"(?![{_LONG[name]}])" if name in _LONG else "")
    for name in sorted(UNITS_BY_NAME, key=len, reverse=True)
    if name[0] >= "一"
)
UNIT_NAME = re.compile(
    rf"\s{{0,2}}-?\s?个?(?P<more>[多余来+])?\s?个?(?P<name>mm ?hg|mm of mercury|cm ?h2o|international units?|per ?cent"
    rf"|fl\.? ?oz|fluid ounces?|y/o(?![a-z])|[cdm]?m\^?[23](?![0-9{_NUMERALS}次])|[a-zμ]{{1,20}}(?![a-zμ])|%|{_HAN_NAMES})"
)
UNIT_CHAIN = re.compile(
    r"(?:\s?/\s?\(?|(?<=kg)\s?[·.*⋅]\s?(?=d|h|min)|[ -](?:per|an?|(?P<within>in an?|in(?= 24 ?h)))[ -])"
    r"(?P<number>[0-9]{1,4})?(?![0-9./])"
)
MAX_UNIT_CHAIN = 3
CHAIN_END = re.compile(r"\)|\s?/\s?1\.73 ?m\^?2")
UNNAMED_COUNT = re.compile(r"\s?(?:个|cells?|copies)?(?=\s?/| per (?:min(?:ute)?|day)(?![a-z]))")
DEGREES = re.compile(
    r"\s{0,2}(?:(?P<celsius>°\s?c(?:elsius)?|摄氏度|(?:degrees?\s)?(?:celsius|centigrade)|degrees?\sc)"
    r"|(?P<fahrenheit>°\s?f(?:ahrenheit)?|华氏度|(?:degrees?\s)?fahrenheit|degrees?\sf)|(?P<letter>[cf])|°|degrees?|(?:(?<=\d)|(?<=十)|(?<=十[一二三四五六七八九]))度)"
    rf"(?![a-z])(?P<tenth>(?<=度)[0-9{_NUMERALS}](?![0-9{_NUMERALS}度]))?"
)
# A sign, not a hyphen or a dash: not 2-8 °C, 体温-38.5℃.
MINUS_BEFORE = re.compile(r"(?:(?<![^\s(:,;、<>≤≥~于在为至到])-|(?<![a-z])(?<!or )(?<!plus )minus |零下)$")
TEMPERATURE_CONTEXT = re.compile(r"零下|温|烧|发热|摄氏|华氏|fever|(?<![a-z])temp")
HALF_MORE = re.compile(r"半(?![流夏卧坐身月年小天个片粒夜衰])| and a half(?![a-z])")
HALF_MONTH = re.compile(r"半个?月")
AND_MORE = re.compile(rf"[多余](?=[^{HAN}]|$|[以了未仍后前无不])")
SPREAD = re.compile(r"\s?±\s?([0-9]{1,4}(?:\.[0-9]{1,3})?)(?![0-9.])")
AND_DAYS = re.compile(r"\+([0-6])(?=\s?(?:周|weeks?(?![a-z])|wks?(?![a-z])))")
"""The days of a length of gestation: 32+4 weeks."""
OR_TWO = re.compile(r" or two(?![a-z])")
AGE_AFTER = re.compile(r"[ -]?(?:olds?|of age)(?![a-z])|大(?![便量概于小约剂夫多部家])")
RATIO_AFTER = re.compile(r" (?:as|the|more|less|higher|lower|greater|larger|upper|faster)(?![a-z])")
_PERSON = (
    r"(?:child(?:ren)?|kids?|adults?|infants?|bab(?:y|ies)|newborns?|toddlers?|teen(?:ager)?s?|adolescents?|people"
    r"|persons?|patients?|wom[ae]n|m[ae]n|(?:fe)?males?|girls?|boys?|those"
    r"|anyone|everyone|seniors?|smokers?)(?: who are| are)?"
)
PEOPLE_BEFORE = re.compile(rf"(?<![a-z]){_PERSON} $|(?:年龄[在为是:]?|宝宝|婴儿|幼儿|儿童|孩子)$")
CHILD_AFTER = re.compile(r"的?(?:婴|宝宝|幼儿|小儿|儿童|孩|患儿|新生儿)")
# A few characters between an interval and its amount: 每天 [饮水] 2升.
WORDS_BETWEEN = re.compile(
    rf"(?P<words>(?:早中?晚各)?(?:(?![{_NUMERALS}半和或及与各])[{HAN}]){{0,6}}+)\s?(?=[0-9{_NUMERALS}半])"
)
DURATION_BEFORE = re.compile(
    r"(?<![a-z])(?:for|in|of|since|after|last|lasts|lasting|lasted|just|well|take|takes)(?: the)? $"
)
TIME_SPENT_BEFORE = re.compile(
    r"(?:^|[^a-z ] ?|(?<![a-z])(?:for|in|within|after|than|about|around|nearly|almost|over|under|least|most|last"
    r"|lasts|lasting|take|takes|took|wait|rest|stay|spend|need|needs|or|and|to"
    r"|of|is|until|by|before|approximately|half|the|be)\s)$"
)
TIME_RELATION_AFTER = re.compile(
    r" (?:later|ago|off|earlier|apart|long|before|after|prior|in|of|following|or so)(?![a-z])"
)
DOSING_VERB = re.compile(
    r"(?<![a-z])(?:tak(?:en?|es|ing)|apply(?:ing)?|used?|using|inject|give|given|giving|dose|tablets?|pills?|swallow"
    r"|drink(?:ing)?)(?![a-z])"
)
# "Infuse over 30 minutes" says how long it takes, not "lasts over 30 minutes".
SPREAD_BEFORE = re.compile(
    r"(?:(?<![a-z])(?<!not )(?<!never )(?:(?:infus|inject|administ|giv|intraven|transfus|drip)[a-z]*+|iv|run)"
    r"(?: (?!(?:if|when|where|for|after|with|without|birth|lasts?|lasting|takes|persists?|until|since)(?![a-z]))[a-z0-9,./%μ-]++){0,6}"
    r"|[0-9] ?(?:m?g|mcg|μg|m?l|units?|iu|mmol|meq)(?:/kg)?)(?<! of) $"
)
WEEK_BEFORE = re.compile(r"(?<![a-z])(before|until|by|after|from|since) week $")
# Molar masses in g/mol, to compare concentrations in mmol/L with those in mg/dL (PubChem, computed by PubChem 2.2).
# Triglycerides are counted as triolein, as laboratories do.
MOLAR_MASSES: Mapping[re.Pattern[str], float] = {
    re.compile(pattern, re.IGNORECASE): mass
    for pattern, mass in (
        (r"\b(?:glucose|blood sugar)\b|血糖|葡萄糖", 180.16),
        (r"\b(?:cholesterol|[LH]DL)\b|胆固醇", 386.7),
        (r"\btriglycerides?\b|甘油三酯", 885.4),
        (r"\bcreatinine\b|肌酐", 113.12),
        (r"\bbilirubin\b|胆红素", 584.7),
        (r"\b(?:uric acid|urate)\b|尿酸", 168.11),
    )
}
UNIT_TOLERANCE: Mapping[str, tuple[float, float]] = {
    # A month has 28 to 31 days. A year has 365 or 366, and is also written as 52 weeks.
    **dict.fromkeys(("month", "3 month"), (28 / 30.4375, 31 / 30.4375)),
    **dict.fromkeys(("year", "10 year"), (364 / 365.25, 366 / 365.25)),
    # Conversions between systems are rounded: a kilogram is written as 2.2 pounds. The tolerance is our choice.
    **dict.fromkeys(("pound", "ounce", "inch", "foot", "mile", "kPa", "kilojoule"), (0.99, 1.01)),
    # Guidelines round thresholds to one digit: LDL of 55 mg/dL is 1.4 mmol/L, HDL of 40 mg/dL is 1.0.
    "mole": (0.96, 1.04),
}
CALENDAR_UNITS = frozenset({"month", "3 month", "year", "10 year"})
