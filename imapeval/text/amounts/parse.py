"""Parse the amounts in a phrase: their extent, intervals and context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.text.amounts import vocabulary as vocab
from imapeval.text.amounts.unitless import mentions_age, name_pressure, read_unitless
from imapeval.text.amounts.units import (
    conversion_factor,
    divide_unit,
    make_fahrenheit_unit,
    make_reading,
    read_margins,
    read_number,
    read_unit,
)
from imapeval.text.amounts.vocabulary import AmountReading, Interval, Margins, Number, Unit

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence


def find_readings(text: str) -> list[AmountReading]:
    """Return the amounts of a folded phrase, in order."""
    readings: list[AmountReading] = []
    if vocab.OPENING_WORDS.isdisjoint(vocab.WORD.findall(text)) and not vocab.NUMERAL_HINT.search(text):
        return readings
    position = behind = 0
    for candidate in vocab.START_CANDIDATE.finditer(text):
        start = candidate.start()
        if start < position or ("a" <= text[start] <= "z" and candidate[0] not in vocab.OPENING_WORDS):
            continue
        found = vocab.START.match(text, start)
        if found is None:
            continue
        new = _read_readings(text, found, behind, readings)
        behind = max(behind, *(reading.end for reading in new)) if new else behind
        position = max(found.end(), behind)
        readings += new
    return readings


def _read_readings(text: str, found: re.Match[str], floor: int, before: Sequence[AmountReading]) -> list[AmountReading]:
    """Parse the amounts that begin at a match of `START`; none if it is a false start.

    `floor` is the end of the previous amount, whose comparatives do not belong to this one.
    """
    start, end = found.span()
    match found.lastgroup:
        case "number":
            return (
                _read_pair(text, start, floor)
                or _read_proportion(text, start, floor)
                or _read_number_first(text, start, floor)
            )
        case "each" | "times":
            return _read_each(text, found, floor)
        # "Several times daily"; OD is the right eye, too.
        case "period" if not text.endswith("times ", 0, start) and (
            text[start:end] != "od" or _follows_dose(text, start, before)
        ):
            low, high, _, name = _read_period(text, start) or (1.0, 1.0, end, "day")
            return [make_reading(Margins(start, end, ((start, end),)), "frequency", low, high, name)]
        case "night":
            # For a medicine this is a dosing time; for a cough only when it occurs.
            meant = before or not text[:start].strip() or vocab.DOSING_VERB.search(text, max(0, start - 60), start)
            known = any(reading.dimension == "frequency" for reading in before[-4:])
            return (
                [make_reading(read_margins(text, start, end, floor), "frequency", 1.0, 1.0)]
                if meant and not known
                else []
            )
        case "nth":
            return _read_numbered_time(text, found, floor)
        case "always":
            days = vocab.LIFETIME * conversion_factor("year", "day")
            return [make_reading(read_margins(text, start, end, floor), "duration", days, days, "year")]
        case "share":
            number = read_number(text, end)
            return (
                [make_reading(read_margins(text, start, number.end, floor), "share", number.low, number.high)]
                if number
                else []
            )
        case _:
            return []


def _follows_dose(text: str, start: int, before: Sequence[AmountReading]) -> bool:
    dose = before[-1] if before else None
    return (
        dose is not None
        and dose.dimension in vocab.DOSE_DIMENSIONS
        and vocab.BEHIND_DOSE.fullmatch(text, dose.end, start) is not None
        and not vocab.FOR_THE_EYE.search(text)
    )


def _read_range_end(text: str, number: Number, floor: int, start: int) -> Number | None:
    """Parse the upper end of a range: 3-5, 3至5, 3 or 5, between 3 and 5."""
    to = vocab.RANGE_SIGN.match(text, number.end)
    second = read_number(text, to.end()) if to else None
    if to is None or second is None or second.kind == "article":
        return None
    if to["word"] == "and" and "between" not in text[max(floor, start - 24) : start]:
        return None
    # 3、4天 is a range, 0、1、6个月 are three dates.
    return None if to[0] == "、" and second.low != number.low + 1 else second


def _read_amount(text: str, start: int, floor: int) -> AmountReading | None:
    number = read_number(text, start)
    if number is None:
        return None
    if spread := vocab.SPREAD.match(text, number.end):
        by = float(spread[1])
        number = number._replace(low=number.low - by, high=number.high + by, end=spread.end())
    elif days := vocab.AND_DAYS.match(text, number.end):
        # From the week to the day, so that a week without days is a part of it.
        number = number._replace(high=number.high + int(days[1]) / 7, end=days.end())
    second = _read_range_end(text, number, floor, start)
    unit = read_unit(text, second, start) if second else None
    if second and unit:
        # The scale of "4-10×10^9/L" and 3-5万 applies to both numbers.
        ends = (unit.convert(number.low * (second.scale if number.scale == 1 else 1)), unit.convert(second.high))
        return _finish_reading(text, start, floor, number, unit, ends)
    unit = read_unit(text, number, start)
    if unit is None:
        return read_unitless(text, start, floor, number, second)
    low, high = unit.convert(number.low), unit.convert(number.high)
    # "6 months to 2 years", 3天至一周
    to = vocab.RANGE_SIGN.match(text, unit.end)
    second = read_number(text, to.end()) if to and to["word"] in (None, "to") and to[0] not in "、或" else None
    other = read_unit(text, second, start) if second else None
    if (
        second
        and other
        and (other.dimension == unit.dimension or (unit.dimension, other.dimension) == ("duration", "age"))
    ):
        low = low if other.dimension == unit.dimension else low / conversion_factor("year", "day")
        return _finish_reading(text, start, floor, number, other, (low, other.convert(second.high)))
    return _finish_reading(text, start, floor, number, unit, (low, high))


def _finish_reading(
    text: str, start: int, floor: int, number: Number, unit: Unit, ends: tuple[float, float]
) -> AmountReading | None:
    """Parse what follows number and unit (and a half, daily, old, or more) and return the amount."""
    (low, high), dimension, name, end = sorted(ends), unit.dimension, unit.name, unit.end
    feverish = name == "degF" and number.low >= 90  # "temp -101 °F": a dash
    if (
        dimension == "temperature"
        and not feverish
        and (minus := vocab.MINUS_BEFORE.search(text, max(0, start - 7), start))
    ):
        zero, start = 0.0 if name == "degC" else make_fahrenheit_unit(0).zero, minus.start()
        low, high = 2 * zero - ends[0], ends[1] if low < high else 2 * zero - ends[1]
    # "6-hourly" is every 6 hours.
    if dimension == "duration" and low > 0 and text.endswith(("hourly", "weekly", "monthly"), 0, end):
        dimension, low, high = "frequency", 1 / high, 1 / low
    if unit.more in ("多", "余", "来"):  # 10多天 is less than 20
        high += unit.scale * (10 if number.high % 10 == 0 else 1)
    if found := vocab.HALF_MORE.match(text, end):
        low, high, end = low + unit.scale / 2, high + unit.scale / 2, found.end()
    elif found := vocab.AND_MORE.match(text, end) or (
        vocab.OR_TWO.match(text, end) if number.kind == "article" else None
    ):
        high, end = high + unit.scale, found.end()
    elif name == "day" and high <= 15 and (found := vocab.HALF_MONTH.match(text, end)):  # 十天半个月
        high, end = conversion_factor("month", "day") / 2, found.end()
    behind = end + 1 if text[end : end + 1] in (" ", "-") else end
    period = _read_period(text, behind) if dimension == "count" or (name == "day" and behind > end) else None
    if period and name == "day" and period[3] in ("week", "month"):
        dimension = "count"  # "five days weekly"
    if name == "year" and low % unit.scale:  # half a year is as exact as six months
        name = "month"
    if dimension == "count":
        if period:
            dimension, low, high, end, name = "frequency", low * period[0], high * period[1], period[2], period[3]
        elif text[end - 1] == "x" or (number.kind == "times" and number.low == 1):  # "2 x 500 mg", "once it is dry"
            return None
        elif vocab.RATIO_AFTER.match(text, end):
            dimension = "ratio"
    old = vocab.AGE_AFTER.match(text, end) if dimension == "duration" else None
    margins = read_margins(text, start, old.end() if old else end, floor)
    if (
        name in ("minute", "hour")
        and margins.words.endswith(" over")
        and vocab.SPREAD_BEFORE.search(text, max(0, margins.start - 60), margins.start)
        and not text.startswith((" apart", " ago"), margins.end)
    ):
        bound = "" if margins.about or margins.words == " over" else margins.bound
        margins = margins._replace(bound=bound, strict=False)
    if unit.more == "+":
        margins = margins._replace(bound="lower")
    if dimension == "duration" and (old or _is_age(text, margins, name)):
        dimension, low, high = "age", low / conversion_factor("year", "day"), high / conversion_factor("year", "day")
    elif (
        number.kind == "article" and dimension == "duration" and not margins.bound and not margins.about and low == high
    ):
        # "smokes 5 cigarettes a day", but "rest for a day", "an hour before meals"; "several times a day" is open.
        if text.endswith("times ", 0, start):
            return None
        if not (
            vocab.TIME_SPENT_BEFORE.search(text, max(0, start - 14), start)
            or vocab.TIME_RELATION_AFTER.match(text, end)
        ):
            dimension, low, high = "frequency", 1 / high, 1 / low
    elif dimension == "pressure":
        dimension = name_pressure(text, margins.start) or dimension
    return make_reading(margins, dimension, low, high, name)


def _is_age(text: str, margins: Margins, name: str) -> bool:
    """Return whether a duration is an age: younger than 24 months, aged 6 weeks, under 5 years, 3个月以下婴儿."""
    if name not in ("day", "week", "month", "year"):
        return False
    if mentions_age(text, margins):
        return True
    if not margins.bound:
        return False
    before = max(0, margins.start - 40)
    if vocab.PEOPLE_BEFORE.search(text, before, margins.start) or vocab.CHILD_AFTER.match(text, margins.end):
        return True
    # Only "under 5 years" and the like: "for over 5 years", "over 5 years ago" and "more than 5 years" are durations.
    alone = name == "year" and not {"under", "over", "below", "above"}.isdisjoint(margins.words.split())
    return (
        alone
        and not vocab.DURATION_BEFORE.search(text, before, margins.start)
        and not vocab.TIME_RELATION_AFTER.match(text, margins.end)
    )


def _read_numbered_time(text: str, found: re.Match[str], floor: int) -> list[AmountReading]:
    """Parse "day 7", "days 3-5", 第7天 or 第2周, counted from some beginning; days and weeks are not converted."""
    start, end = found.span()
    number = read_number(text, end)
    if number is None or vocab.WEEK_BEFORE.search(text, max(0, start - 9), end):  # "after week 12" is a time span
        return []
    second = _read_range_end(text, number, floor, start)
    unit = read_unit(text, second or number, start)
    if (unit is None) == (found["unit"] is None):  # 第3 alone, or "the next day 500 mg"
        return []
    low, high = sorted((number.low, (second or number).high))
    margins = read_margins(text, start, unit.end if unit else (second or number).end, floor)
    return [make_reading(margins, f"number of the {unit.name if unit else found['unit']}", low, high)]


def _read_proportion(text: str, start: int, floor: int) -> list[AmountReading]:
    """Parse "1 in 1,000" as a share, in percent."""
    found = vocab.ONE_IN.match(text, start)
    if found is None or not (whole := float(found[2].replace(",", "").replace(" ", ""))) or float(found[1]) > whole:
        return []
    share = 100 * float(found[1]) / whole
    return [make_reading(read_margins(text, start, found.end(), floor), "share", share, share)]


def _read_pair(text: str, start: int, floor: int) -> list[AmountReading]:
    """Parse a blood pressure, 140/90, or the strengths of two drugs in one tablet, 875/125 mg."""
    found = vocab.NUMBER_PAIR.match(text, start)
    if found is None:
        return []
    systolic, diastolic, end = float(found[1]), float(found[3]), found.end()
    unit = None if found[5] else read_unit(text, Number(0, 0, end), start)
    if unit and unit.dimension in ("mass", "volume", "international units"):
        both = (
            (read_margins(text, start, found.end(1), floor), systolic),
            (read_margins(text, found.start(3), unit.end, end), diastolic),
        )
        return [
            make_reading(margins, unit.dimension, unit.convert(value), unit.convert(value)) for margins, value in both
        ]
    # Without a unit, only plausible blood pressures: not 70/30 insulin, 24/7, 20/20.
    if unit or not (found[5] or (80 <= systolic <= 260 and 40 <= diastolic <= 150 and systolic - diastolic >= 10)):
        return []
    to = vocab.RANGE_SIGN.match(text, end)
    upper = vocab.NUMBER_PAIR.match(text, to.end()) if to and to["word"] in (None, "to") else None
    last = upper or found
    margins = read_margins(text, start, last.end(), floor)
    scale, name = (conversion_factor("kPa", "mmHg"), "kPa") if last[5] == "kpa" else (1.0, "mmHg")
    ends = (systolic, float(last[2] or last[1])), (diastolic, float(last[4] or last[3]))
    readings: list[AmountReading] = []
    for kind, pair in zip(("systolic pressure", "diastolic pressure"), ends, strict=True):
        low, high = sorted(pair)
        readings.append(make_reading(margins, kind, low * scale, high * scale, name))
    return readings


def _read_period(text: str, start: int) -> tuple[float, float, int, str] | None:
    """Parse "daily", "b.i.d.", "every 4 to 6 hours": fewest and most times per day, end position, and unit."""
    found = vocab.START.match(text, start)
    if found and found["period"]:
        times, name = vocab.FREQUENCY_WORDS.get(found["period"], (1.0, "2 day"))
        often = times / conversion_factor(name, "day")
        return often, often, found.end(), name
    interval = _read_interval(text, found) if found and found["each"] else None
    if interval is None or interval.unit.dimension != "duration":
        return None
    return 1 / interval.high, 1 / interval.low, interval.unit.end, interval.unit.name


def _read_interval(text: str, found: re.Match[str]) -> Interval | None:
    """Parse what follows "every" or 每: a unit, perhaps with a number before it."""
    word, end = found["each"], found.end()
    if word is None or word[0] == "早":
        return Interval(1.0, 1.0, Unit("duration", "day", 1.0, end))
    numbered = read_number(text, end)
    number = numbered or Number(1.0, 1.0, end)
    second = _read_range_end(text, number, end, end) if numbered else None
    unit = read_unit(text, second, end) if second else None
    if second is None or unit is None:
        second, unit = number, read_unit(text, number, end)
    if unit is None or not 0 < number.low <= second.high:
        return None
    by = vocab.INTERVAL_ORDINALS.get(found["skip"] or "", 1.0) * unit.scale
    # 隔日 skips a day, but 每隔8小时 does not skip eight hours.
    by *= 2 if "隔" in word and "间" not in word and number.low == second.high == 1 and unit.scale >= 1 else 1
    return Interval(number.low * by, second.high * by, unit)


def _read_each(text: str, found: re.Match[str], floor: int) -> list[AmountReading]:
    """Parse "every 8 hours", 每日, 隔日, also with an amount per interval: 每日两次, 每公斤10毫克, 每天饮水2升."""
    interval = _read_interval(text, found)
    if interval is None:
        return []
    start, end = found.start(), interval.unit.end
    margins = read_margins(text, start, end, floor)
    # The longer an interval, the lower the frequency; 隔两日 is an interval, 隔日 every other day.
    each = found["each"] or ""
    if "隔" in each and (each == "间隔" or margins.end > end or (each == "隔" and read_number(text, found.end()))):
        margins = margins._replace(bound={"lower": "upper", "upper": "lower"}.get(margins.bound, ""))
    shared = _read_per_interval(text, interval, margins, found[0]) if text[start] >= "一" else None
    if shared:
        return [shared]
    if interval.unit.dimension != "duration":
        return []
    times = _count_doses(found[0])
    return [make_reading(margins, "frequency", times / interval.high, times / interval.low, interval.unit.name)]


def _count_doses(words: str) -> int:
    return 3 if "早中晚" in words else 2 if "早晚" in words else 1


def _read_per_interval(text: str, interval: Interval, margins: Margins, word: str) -> AmountReading | None:
    """Parse the amount per interval: 每天 [饮水] 2升, 每周 [复查] 一次."""
    between = vocab.WORDS_BETWEEN.match(text, margins.end)
    amount = _read_amount(text, between.end(), margins.end) if between else None
    if between is None or amount is None or amount.dimension not in vocab.RATE_DIMENSIONS:
        return None
    takings, unit = _count_doses(word + between["words"]), interval.unit
    if amount.dimension != "count" and (takings > 1 or interval.low != interval.high or interval.low != unit.scale):
        return None
    dimension, name, factor = divide_unit(amount.dimension, amount.name, unit.dimension, unit.name, unit.scale)
    least = most = factor * takings
    if unit.dimension != "count":
        least, most = least * unit.scale / interval.high, most * unit.scale / interval.low
    return amount._replace(
        dimension=dimension,
        low=None if amount.low is None else amount.low * least,
        high=None if amount.high is None else amount.high * most,
        start=margins.start,
        name=name,
        about=amount.about or margins.about,
        cuts=(*margins.cuts, *amount.cuts),
    )


def _read_number_first(text: str, start: int, floor: int) -> list[AmountReading]:
    """Parse an amount, and in Chinese an amount per it: 8小时一次, 一天 [吃] 3回, 一天两片, 一次10毫克."""
    amount = _read_amount(text, start, floor)
    if amount is None:
        return []
    each = amount.dimension in ("duration", "count") and amount.low == amount.high and text[amount.end - 1] >= "一"
    if not each or not amount.low or amount.about:
        return [amount]
    unit = Unit(
        amount.dimension, amount.name, conversion_factor(amount.name, "day") if amount.name else 1.0, amount.end
    )
    # A number of days must adjoin the amount: in 发热3天呕吐2次 it is not an interval, but in 半年复查一次 the months
    # are.
    near = vocab.WORDS_BETWEEN.match(text, amount.end)
    if (
        near is None
        or (near["words"] and amount.low != unit.scale and amount.name not in vocab.CALENDAR_UNITS)
        or near["words"][:1] in (*"后前之以的比",)
    ):
        return [amount]
    if amount.dimension == "count" and (
        amount.low != 1 or near["words"] not in ("", "服", "吃", "用", "口服", "服用", "喝")
    ):
        return [amount]
    margins = Margins(amount.start, amount.end, amount.cuts)
    return [_read_per_interval(text, Interval(amount.low, amount.low, unit), margins, "") or amount]
