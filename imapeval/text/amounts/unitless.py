"""Numbers without a unit: an age, a blood pressure, a temperature, a value of a test, or a number that stands alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.text.amounts import vocabulary as vocab
from imapeval.text.amounts.units import conversion_factor, make_fahrenheit_unit, make_reading, read_margins
from imapeval.text.amounts.vocabulary import Margins, Unit

if TYPE_CHECKING:
    from imapeval.text.amounts.vocabulary import AmountReading, Number

_UNITLESS_AFTER = re.compile(r"s?(?![a-z0-9%°/μ.,]|[.,-][0-9])|[.,](?![0-9])")
_PRESSURE_BEFORE = re.compile(
    r"(?:(?P<systolic>收缩压|高压|(?<![a-z])systolic(?: blood)?(?: pressure)?)"
    r"|舒张压|低压|(?<![a-z])diastolic(?: blood)?(?: pressure)?)(?: of| is| should be|[^\W\d_a-z]{1,3})?[ :]?$"
)
# Values that are commonly given without a unit; a number after another word may be part of a name (type 2, CA 125).
_MEASURE_BEFORE = re.compile(
    r"(?:(?:(?<![a-z])(?P<latin>counts?|platelets?|level|score|index|rate|pulse|bmi|inr|hba1c|tsh|psa|crp|esr|e?gfr|apgar|gcs|ph|saturation|(?:lv)?ef|ejection fraction"
    r"|glucose|sugar|cholesterol|creatinine|hemoglobin|triglycerides?|bilirubin|ferritin|titer|titre)"
    r"(?: (?:targets?|goals?|range))?(?: (?:of|is|was|to|(?:should|must) (?:be|stay|remain)|reache[sd]))?"
    r"|(?P<chinese>血糖|计数|心率|呼吸频率|评分|得分|指数|血红蛋白|血小板|[白红]细胞|胆固醇|尿酸|肌酐|胆红素|转氨酶|甘油三酯|血氧|饱和度|视力|眼压|水平"
    r"|浓度|含量|滴度|测定值|射血分数))(?:达到|(?:维持|控制|保持)在|降[到至]|[为是约达到在])?[:=]?) ?$"
)
# The unit that is left out: a rate per minute, percent, or mL/min.
_RATE = re.compile(r"(?:(?:heart|respiratory) rate|pulse|心率|呼吸频率)$")
_FRACTIONS = frozenset(("saturation", "ef", "lvef", "ejection fraction", "血氧", "饱和度", "射血分数"))
_FILTRATION = frozenset(("gfr", "egfr"))
_MIN_FRACTION, _MAX_FRACTION = 0.05, 1.0
_MAX_HBA1C = 20.0
"""Higher values of HbA1c are not in percent but in mmol/mol."""
# What may stand beside a number and says no more than that it is reached.
_ALONE_BEFORE = re.compile(
    r"(?:(?:aim(?:ing)? for|targets?(?: of)?|goals?(?: of)?|keep(?: it)?|maintain) )?"
    r"(?:目标|应)?(?:(?:控制|维持|保持)在|降低?[到至]|升高?[到至]|达[到至]?|在)?\s{0,3}"
)
_MAX_CHARACTERS_BEFORE = 40
_ALONE_AFTER = re.compile(r"\s{0,3}(?:之间|即可|就行|就可以|就好|为宜|即?达标)?。?\s{0,3}")
_YEARS = range(1900, 2100)
_FEVER_BEFORE = re.compile(r"(?:体温|烧到|发热|发烧|(?<![a-z])temperature|fever)(?: of| is|达|在|为|至)? ?$")
_AGE_BEFORE = re.compile(r"(?<![a-z])(?:aged?|ages)[ :]{1,2}$|年龄[在为是:]?$")


def mentions_age(text: str, margins: Margins) -> bool:
    """Return whether the words around an amount say that it is an age."""
    words = margins.words
    return any(word in words for word in ("older", "younger", "age of", "ages")) or bool(
        _AGE_BEFORE.search(text, max(0, margins.start - 8), margins.start)
    )


def name_pressure(text: str, start: int) -> str | None:
    """Return the dimension of a pressure that is named before a position: systolic or diastolic; None if neither."""
    found = _PRESSURE_BEFORE.search(text, max(0, start - 30), start)
    return found and ("systolic pressure" if found["systolic"] else "diastolic pressure")


def read_unitless(text: str, start: int, floor: int, number: Number, second: Number | None) -> AmountReading | None:
    """Parse a number without a unit where it is commonly left out: an age, a blood pressure, a value of a test.

    Also one that stands alone: what it is of, only its term says.
    """
    end = (second or number).end
    if not text[start].isdigit() or not _UNITLESS_AFTER.match(text, end):
        return None
    low, high = sorted((number.low, (second or number).high))
    plural = text[end : end + 1] == "s"
    margins = read_margins(text, start, end + plural, floor)
    if (pressure := name_pressure(text, margins.start)) and 20 <= low <= high <= 300:
        return make_reading(margins, pressure, low, high, "mmHg")
    if _FEVER_BEFORE.search(text, max(0, margins.start - 20), margins.start) and (
        34 <= low <= high <= 43 or 90 < low <= high <= 110
    ):
        unit = make_fahrenheit_unit(end) if low > 90 else Unit("temperature", "degC", 1.0, end)
        return make_reading(margins, unit.dimension, unit.convert(low), unit.convert(high), unit.name)
    if week := vocab.WEEK_BEFORE.search(text, max(0, start - 14), start):
        bound = "upper" if week[1] in ("before", "until", "by") else "lower"
        margins = Margins(week.start(), end, ((week.start(), end),), bound)
        return make_reading(margins, "duration", low * 7, high * 7, "week")
    if measure := _MEASURE_BEFORE.search(text, max(0, margins.start - 40), margins.start):
        return _read_measured(margins, measure, low, high)
    people = (margins.bound or second) and vocab.PEOPLE_BEFORE.search(text, max(0, margins.start - 40), margins.start)
    if high <= 120 and (people or (plural and margins.bound) or mentions_age(text, margins)):
        return make_reading(margins, "age", low, high, "year")
    alone = (
        not (low in _YEARS and high in _YEARS)
        and margins.start < _MAX_CHARACTERS_BEFORE
        and _ALONE_BEFORE.fullmatch(text, 0, margins.start)
        and _ALONE_AFTER.fullmatch(text, margins.end)
    )
    return make_reading(margins, "number", low, high) if alone else None


def _read_measured(margins: Margins, measure: re.Match[str], low: float, high: float) -> AmountReading:
    group = "latin" if measure["latin"] else "chinese"
    name, end = measure[group].rstrip("s"), measure.end(group)
    if _RATE.search(measure.string, max(0, end - 20), end):
        return make_reading(margins, "rate", low, high)
    if name in _FILTRATION:
        per_day = conversion_factor("day", "minute")
        return make_reading(margins, "volume per duration", low * per_day, high * per_day, "milliliter")
    if name in _FRACTIONS:
        scale = 100.0 if low >= _MIN_FRACTION and high <= _MAX_FRACTION else 1.0
        return make_reading(margins, "share", low * scale, high * scale)
    if name == "hba1c" and high <= _MAX_HBA1C:
        return make_reading(margins, "share", low, high)
    return make_reading(margins, f"value of {name}", low, high)
