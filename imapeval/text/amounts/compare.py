"""Find the amounts in a short English or Chinese phrase, and compare those of two phrases.

"400 mg every 8 hours" and 每次0.4克，每日三次 are the same amounts, "under 5 years" and 5岁以上 exclude each other, and
"at least 3 days" includes "5 days". A number is an amount only with a unit, or where the unit is commonly left out: an
age, a blood pressure, a body temperature, a value of a test, or a number that stands alone. Names ("type 2", B12,
2019年) are not amounts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from imapeval.text.amounts.parse import find_readings
from imapeval.text.amounts.units import fold_amount_text
from imapeval.text.amounts.vocabulary import CALENDAR_UNITS, MOLAR_MASSES, UNIT_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterable
_DOSE_FORMS = frozenset({"tablets", "sachets", "puffs"})
"""What is counted, and has a dose each: "2 tablets of 250 mg". "2 x 250 mg" may also mean twice a day."""
_PER_DAY = " per duration"
_NUMBER = "number"
_YEAR = 365.25
_CONCENTRATION = "substance per volume"
_EQUIVALENTS = "equivalents"
_MONOVALENT = re.compile(
    r"\b(?:potassium|sodium|chloride|bicarbonate|lithium|K|Na|KCl|NaCl|Cl|HCO3)(?![A-Za-z])|[钾钠氯锂]|碳酸氢"
)
"""Ions of which an equivalent is a mole."""
_OTHER_IONS = re.compile(r"\b(?:calcium|magnesium|phosphate|sul(?:f|ph)ate|vitamin)\b|[钙镁磷]|硫酸", re.IGNORECASE)
_FIRST_NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?")
_MAX_RATIO = 3.0
"""Largest ratio of two values of one measure; beyond, a number without a unit is in another one, such as mg/dL."""
_WITHIN = re.compile(r"\b(?:within|under|below|before|less than)\b|<|[内下]$|不到|未满|[低小]于")
_DAY_IN_HOURS = re.compile(r"24 ?(?:h|小时)")
_APPROXIMATE_TOLERANCE = 0.1
_DEGREE_TOLERANCE, _APPROXIMATE_DEGREE_TOLERANCE = 0.1, 0.5
"""Largest difference of equal temperatures in °C (102 °F is written as 38.9 °C), and if one of them is approximate."""


class AmountRelation(Enum):
    """How the amounts of one phrase, A, relate to those of another, B."""

    SAME = "the same amounts"
    NARROWER_A = "those of the first lie within those of the second"
    NARROWER_B = "those of the second lie within those of the first"
    OVERLAPPING = "neither the same nor exclusive"
    DIFFERENT = "some exclude each other"
    ONE_SIDED = "only one names some, what both name is the same"


@dataclass(frozen=True, slots=True)
class Amount:
    """One amount.

    Attributes:
        dimension: What is measured: "mass", "duration", "frequency", "mass per volume", and so on.
        low: Lowest value, in the dimension's base unit; None if unbounded.
        high: Highest value, likewise.
        text: As written.
        span: Its place in the phrase, as [start, end).
        unit: The unit that decides how exact its conversion is, such as "month"; "" for counts.
        exclusive: Whether the bound itself is excluded, as by "under" but not by "at most".
        approximate: Whether the phrase calls it approximate.
    """

    dimension: str
    low: float | None
    high: float | None
    text: str
    span: tuple[int, int]
    unit: str = ""
    exclusive: bool = False
    approximate: bool = False

    @property
    def is_limit(self) -> bool:
        """Whether it has one end only: "at least 3 days"."""
        return (self.low is None) != (self.high is None)


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amounts of a phrase.

    Attributes:
        items: In order of appearance.
        rest: The phrase with each amount replaced by a comma.
    """

    items: tuple[Amount, ...]
    rest: str


def find_amounts(text: str) -> Amounts:
    """Find the amounts of a phrase.

    >>> [(item.dimension, item.low, item.high) for item in find_amounts("at least 0.5 g twice a day").items]
    [('mass', 500.0, None), ('frequency', 2.0, 2.0)]
    >>> find_amounts("ibuprofen 400 mg with food").rest
    'ibuprofen , with food'
    """
    folded, origins = fold_amount_text(text)
    readings = find_readings(folded)
    if not readings:
        return Amounts((), text)

    def original(start: int, end: int) -> tuple[int, int]:
        return (start, end) if origins is None else (origins[start], origins[end - 1] + 1)

    items: list[Amount] = []
    monovalent = _MONOVALENT.search(text) is not None and _OTHER_IONS.search(text) is None
    for found in readings:
        start, end = original(found.start, found.end)
        low, high = _round_off(found.low), _round_off(found.high)
        dimension = found.dimension
        if monovalent and dimension.startswith(_EQUIVALENTS):
            dimension = dimension.replace(_EQUIVALENTS, "substance", 1)
        item = Amount(dimension, low, high, text[start:end], (start, end), found.name, found.strict, found.about)
        items.append(_read_beginning(item) if item.dimension == "age" else item)
    if any(item.dimension == _CONCENTRATION for item in items):
        masses = [mass for name, mass in MOLAR_MASSES.items() if name.search(text)]
        if len(masses) == 1:  # else it is open which of the substances is meant
            items = [_convert_concentration(item, masses[0]) for item in items]
    items = [item for place, item in enumerate(items) if not place or not _repeats(items[place - 1], item, text)]
    items = [*items[:1], *(_multiply_by_number(item, before, text) for before, item in pairwise(items))]
    kept: list[str] = []
    last = -1
    for cut in sorted(cut for reading in readings for cut in reading.cuts):
        start, end = original(*cut)
        if start > last:  # adjacent cuts become one comma
            kept += [text[max(last, 0) : start], ","]
        last = max(last, end)
    return Amounts(tuple(items), "".join([*kept, text[last:]]))


def _multiply_by_number(dose: Amount, before: Amount, text: str) -> Amount:
    """Return the whole dose of "2 tablets of 250 mg", which is 500 mg."""
    counted = before.dimension in _DOSE_FORMS and before.low == before.high
    if dose.dimension != "mass" or not counted or text[before.span[1] : dose.span[0]].strip().lower() != "of":
        return dose
    low, high = (_round_off(end and end * (before.low or 1)) for end in (dose.low, dose.high))
    return replace(dose, low=low, high=high)


def _read_beginning(age: Amount) -> Amount:
    """Return an age without an upper end if it is where something begins: "from 12 years", not "from 2 to 12 years"."""
    return replace(age, high=None) if age.low == age.high and _says_from(age) else age


def _says_from(amount: Amount) -> bool:
    return amount.text.lower().startswith("from ")


def _repeats(before: Amount, amount: Amount, text: str) -> bool:
    """Return whether an amount in brackets is the one before it in other words: "above 38°C (100.4°F)"."""
    opening, closing = text[before.span[1] : amount.span[0]].strip(), text[amount.span[1] :].lstrip()[:1]
    if f"{opening}{closing}" not in ("()", "（）") or before.dimension != amount.dimension:
        return False
    # Of a limit, the brackets usually repeat only the number.
    bound = _bound(before)
    return _same(before, amount) or (before.is_limit and _same(replace(before, low=bound, high=bound), amount))


def _convert_concentration(amount: Amount, molar_mass: float) -> Amount:
    if amount.dimension != _CONCENTRATION:
        return amount
    low, high = (_round_off(end and end * molar_mass) for end in (amount.low, amount.high))
    return replace(amount, dimension="mass per volume", low=low, high=high, unit="mole")


def _round_off(value: float | None) -> float | None:
    """Round to nine significant digits: 101.3 °F is 38.5 °C, not 38.500000000000036."""
    return value and float(f"{value:.9g}")


def compare_amounts(a: Amounts, b: Amounts) -> AmountRelation | None:
    """Return how the amounts of two phrases relate; None if neither has any.

    >>> compare_amounts(find_amounts("rest for two weeks"), find_amounts("rest for 14 days"))
    <AmountRelation.SAME: 'the same amounts'>
    >>> compare_amounts(find_amounts("at least 3 days"), find_amounts("5 days"))
    <AmountRelation.NARROWER_B: 'those of the second lie within those of the first'>
    >>> compare_amounts(find_amounts("5岁以下"), find_amounts("over 5 years"))
    <AmountRelation.DIFFERENT: 'some exclude each other'>
    """
    if not (a.items or b.items):
        return None
    first, second = (
        _group_by_dimension(
            _measure_number(_read_duration_as_age(_combine_dose_and_frequency(ours, theirs), theirs), theirs)
        )
        for ours, theirs in ((a.items, b.items), (b.items, a.items))
    )
    relations = {_relate(first[dimension], second[dimension]) for dimension in first.keys() & second.keys()}
    if AmountRelation.DIFFERENT in relations:
        return AmountRelation.DIFFERENT
    nested = relations - {AmountRelation.SAME}
    if first.keys() != second.keys():
        return AmountRelation.OVERLAPPING if nested else AmountRelation.ONE_SIDED
    return AmountRelation.SAME if not nested else nested.pop() if len(nested) == 1 else AmountRelation.OVERLAPPING


def begins_where_ends(denied: Amounts, affirmed: Amounts) -> bool:
    """Return whether what is affirmed begins where what is denied ends: not "within a week", but "after 7 days or more".

    >>> begins_where_ends(find_amounts("within a week"), find_amounts("at least 7 days"))
    True
    >>> begins_where_ends(find_amounts("for up to 7 days"), find_amounts("at least 7 days"))
    False
    """
    if len(denied.items) != 1 or len(affirmed.items) != 1:
        return False
    (end,), (start,) = denied.items, affirmed.items
    if end.dimension != start.dimension or end.low is not None or not _WITHIN.search(end.text.lower()):
        return False
    if start.low is None or end.high is None or (start.high is not None and not _says_from(start)):
        return False
    return _ends_agree(end.high, start.low, end, start)


def _group_by_dimension(items: Iterable[Amount]) -> dict[str, list[Amount]]:
    groups: dict[str, list[Amount]] = {}
    for item in items:
        groups.setdefault(item.dimension, []).append(item)
    return groups


def _combine_dose_and_frequency(items: tuple[Amount, ...], others: tuple[Amount, ...]) -> tuple[Amount, ...]:
    """Convert "10 mg three times daily" to mass per day if the other phrase gives mass per day ("30 mg a day").

    A volume behind "24 h" at the beginning is one of a day: 24小时尿量400毫升.
    """
    ours, theirs = _group_by_dimension(items), _group_by_dimension(others)
    often = ours.get("frequency", [])
    if not often and "volume" in ours:
        often = [_make_daily(item) for item in ours.get("duration", []) if _is_day_in_hours(item)]
    for dimension in theirs.keys() - ours.keys():
        doses = ours.get(dimension.removesuffix(_PER_DAY), []) if dimension.endswith(_PER_DAY) else []
        if len(doses) != 1 or len(often) != 1:
            continue
        dose, times = doses[0], often[0]
        product = replace(
            dose,
            dimension=dimension,
            low=None if dose.low is None or times.low is None else dose.low * times.low,
            high=None if dose.high is None or times.high is None else dose.high * times.high,
            unit=times.unit if times.unit in UNIT_TOLERANCE else dose.unit,
            exclusive=dose.exclusive or times.exclusive,
            approximate=dose.approximate or times.approximate,
        )
        spent = (dose,) if "frequency" in theirs else (dose, times)
        return (*(item for item in items if item not in spent and not _is_day_in_hours(item)), product)
    return items


def _is_day_in_hours(item: Amount) -> bool:
    return item.dimension == "duration" and item.span[0] == 0 and _DAY_IN_HOURS.fullmatch(item.text) is not None


def _make_daily(day: Amount) -> Amount:
    return replace(day, dimension="frequency", low=1.0, high=1.0, unit="day", exclusive=False)


def _read_duration_as_age(items: tuple[Amount, ...], others: tuple[Amount, ...]) -> tuple[Amount, ...]:
    """Convert the only time span of a phrase to an age if it is a limit and the other phrase has an age: "from 12 years"."""
    spans = [item for item in items if item.dimension == "duration"]
    known = {item.dimension for item in others}
    if "age" not in known or "duration" in known or len(spans) != 1 or any(item.dimension == "age" for item in items):
        return items
    if not (spans[0].is_limit or _says_from(spans[0])):
        return items
    low, high = (end and end / _YEAR for end in (spans[0].low, spans[0].high))
    age = _read_beginning(replace(spans[0], dimension="age", low=low, high=high))
    return tuple(age if item is spans[0] else item for item in items)


def _measure_number(items: tuple[Amount, ...], others: tuple[Amount, ...]) -> tuple[Amount, ...]:
    """Give a number that stands alone the unit of the other phrase's only amount: "2.6" and "1.4 mmol/L"."""
    if [item.dimension for item in items] != [_NUMBER] or len(others) != 1:
        return items
    (number,), (other,) = items, others
    # Two limits are those of one measure, but 50 may be anything.
    limits = other.dimension.endswith(" per volume") and number.is_limit and other.is_limit
    if not (limits or other.dimension.startswith("value of ")):
        return items
    bound, own, written = _bound(other), _bound(number), _FIRST_NUMBER.search(other.text)
    if not bound or not own or written is None or not (value := float(written[0].replace(",", ""))):
        return items
    if not 1 / _MAX_RATIO <= own / value <= _MAX_RATIO:
        return items
    low, high = (end and end * bound / value for end in (number.low, number.high))
    return (replace(number, dimension=other.dimension, low=low, high=high),)


def _bound(amount: Amount) -> float | None:
    return amount.high if amount.low is None else amount.low


def _relate(a: list[Amount], b: list[Amount]) -> AmountRelation:
    if len(a) == len(b) and all(map(_same, sorted(a, key=_ends), sorted(b, key=_ends))):
        return AmountRelation.SAME
    if not any(_overlap(x, y) for x in a for y in b):
        return AmountRelation.DIFFERENT
    within_a, within_b = _all_within(b, a), _all_within(a, b)
    if within_a == within_b:
        return AmountRelation.OVERLAPPING
    return AmountRelation.NARROWER_B if within_a else AmountRelation.NARROWER_A


def _ends(amount: Amount) -> tuple[float, float]:
    return (-inf if amount.low is None else amount.low, inf if amount.high is None else amount.high)


def _same(a: Amount, b: Amount) -> bool:
    return _ends_agree(a.low, b.low, a, b) and _ends_agree(a.high, b.high, a, b)


def _all_within(inner: list[Amount], outer: list[Amount]) -> bool:
    """Return whether each inner amount lies within an outer one, and each outer one contains an inner one."""
    return all(any(_within(x, y) for y in outer) for x in inner) and all(
        any(_within(x, y) for x in inner) for y in outer
    )


def _within(inner: Amount, outer: Amount) -> bool:
    if _same(inner, outer):
        return True
    lower = outer.low is None or (
        inner.low is not None and (_ends_agree(inner.low, outer.low, inner, outer) or inner.low > outer.low)
    )
    upper = outer.high is None or (
        inner.high is not None and (_ends_agree(inner.high, outer.high, inner, outer) or inner.high < outer.high)
    )
    return lower and upper and _overlap(inner, outer)


def _overlap(a: Amount, b: Amount) -> bool:
    if a.is_limit and b.is_limit and (a.low is None) == (b.low is None):
        # "Below 130" and "below 150" have much in common, but as targets or limits they are two.
        return _same(a, b)
    for lower, upper in ((a, b), (b, a)):
        if lower.high is None or upper.low is None:
            continue
        if _ends_agree(lower.high, upper.low, lower, upper):
            # They touch: 5岁以下 and 5岁以上 both name 5, and mean to divide there.
            if lower.exclusive or upper.exclusive or (lower.low is None and upper.high is None):
                return False
        elif lower.high < upper.low:
            return False
    return True


def _ends_agree(x: float | None, y: float | None, a: Amount, b: Amount) -> bool:
    """Return whether two bounds, one of each amount, agree within rounding and the tolerance of their units."""
    if x is None or y is None:
        return x is y
    if a.dimension == "temperature":
        return (
            abs(x - y)
            <= (_APPROXIMATE_DEGREE_TOLERANCE if a.approximate or b.approximate else _DEGREE_TOLERANCE) + 1e-6
        )
    # 30 days, four weeks and a month all mean a month.
    if a.dimension == "duration" and 28 <= x <= 31 and 28 <= y <= 31:
        return True
    (down, up), (other_down, other_up) = _tolerance(a, b), _tolerance(b, a)
    margin = 1e-6 * max(abs(x), abs(y))
    return x * down - margin <= y * other_up and y * other_down - margin <= x * up


def _tolerance(amount: Amount, other: Amount) -> tuple[float, float]:
    """Return the factors by which a value may be smaller and greater and still agree."""
    down, up = (1 - _APPROXIMATE_TOLERANCE, 1 + _APPROXIMATE_TOLERANCE) if amount.approximate else (1.0, 1.0)
    if amount.unit not in UNIT_TOLERANCE or amount.unit == other.unit or {amount.unit, other.unit} <= CALENDAR_UNITS:
        return down, up
    least, most = UNIT_TOLERANCE[amount.unit]
    often = amount.dimension == "frequency" or amount.dimension.endswith(_PER_DAY)
    return (down / most, up / least) if often else (down * least, up * most)
