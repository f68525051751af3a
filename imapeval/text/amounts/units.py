"""Numbers, units and comparatives: "10 mg/kg per day", 三点五毫克, "at least 101.3 °F", converted to base units."""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from imapeval.text.amounts import vocabulary as vocab
from imapeval.text.amounts.vocabulary import AmountReading, Margins, Number, Unit

if TYPE_CHECKING:
    import re


def fold_amount_text(text: str) -> tuple[str, list[int] | None]:
    """Return a phrase in the form that is parsed, and the original position of each character, or None if unchanged.

    Compatibility characters are folded, because there are two micro signs, and full-width digits and units; but a
    superscript digit becomes a power, and a circled digit, which numbers a list item, a space.
    """
    if not text.isascii() and vocab.NONSTANDARD_CHARACTER.search(text):
        text = text.translate(vocab.CHARACTER_FOLDS)
    text = vocab.DIMENSION_LETTER.sub("_", text)
    if unicodedata.is_normalized("NFKC", text):
        return text.lower(), None
    forms: list[str] = []
    origins: list[int] = []
    raised = False
    for place, character in enumerate(text):
        form = unicodedata.normalize("NFKC", character).lower()
        power = form.isdigit() and unicodedata.decomposition(character).startswith("<super>")
        if power and not raised:
            form = "^" + form
        elif "⁄" in form:
            form = " " + form.replace("⁄", "/")
        elif "①" <= character <= "⓿":
            form = " "
        raised = power
        forms.append(form)
        origins += [place] * len(form)
    return "".join(forms), origins


@cache
def _registry() -> Any:
    # On first use: importing pint and building its registry takes about a second (0.25.3).
    return import_module("pint").UnitRegistry()


@cache
def conversion_factor(unit: str, base: str) -> float:
    """Return how many base units a unit equals."""
    return 1.0 if unit == base else float(_registry().Quantity(unit).to(base).magnitude)


def read_number(text: str, start: int) -> Number | None:
    """Parse the number at a position, in digits or in words: 1,000, ½, twenty-one, 两三, a, once."""
    found = vocab.NUMBER.match(text, start)
    if found is None:
        return None
    kind, scale = "", 1.0
    if digits := found["digits"]:
        scale = 10.0 ** int(found["power"] or 0) * vocab.SCALES.get(found["scale"], 1.0)
        low = high = float(digits.replace(",", "").replace(" ", "")) * scale
    elif found["han"]:
        ends = _read_chinese_numeral(found["han"])
        if ends is None:
            return None
        low, high = ends
    elif found["vague"] or found["vague_han"]:
        kind, (low, high) = "vague", vocab.VAGUE
    elif found["top"]:
        low = high = int(found["whole"] or 0) + int(found["top"]) / int(found["bottom"])
    else:
        word = found["small"] or found["ones"]
        kind = "article" if found["article"] else "times" if found["times"] else ""
        value = (
            vocab.SMALL_NUMBERS.get(word, 0.0) + vocab.TENS.get(found["tens"], 0.0)
            or vocab.FRACTION_WORDS.get(found["part"])
            or vocab.TIMES.get(found["times"])
        )
        low = high = value or (0.5 if found["half"] else 1.0 if found["article"] or found["single"] else 2.0)
        if found["hundred"]:
            kind, low, high = "", low * 100, high * 100
    if found["half_more"]:
        kind, low, high = "", low + 0.5, high + 0.5
    return Number(low, high, found.end(), kind, scale)


def _read_chinese_numeral(word: str) -> tuple[float, float] | None:
    """Parse a Chinese numeral, which may be a range: 十五 is 15, 两三 is 2 to 3, 三点五 is 3.5."""
    if found := vocab.HAN_BETWEEN.fullmatch(word):
        tens, first, second, scale = found.groups()
        low, high = vocab.HAN_DIGITS[first], vocab.HAN_DIGITS[second]
        if 0 < high - low <= 2 and not (tens and scale):
            base = 10 * vocab.HAN_DIGITS.get(tens[:-1], 1) if tens else 0
            by = vocab.HAN_SCALES.get(scale, 1)
            return float(base + low * by), float(base + high * by)
    whole, _, decimals = word.partition("点")
    total, digit = 0, None
    for character in whole:
        if character in vocab.HAN_DIGITS:
            if digit:  # 一二三 is not a number, 一百零五 is
                return None
            digit = vocab.HAN_DIGITS[character]
        elif character == "万":
            total, digit = (total + (digit or 0)) * 10_000, None
        else:
            total, digit = total + (1 if digit is None else digit) * vocab.HAN_SCALES[character], None
    if any(character not in vocab.HAN_DIGITS for character in decimals):
        return None
    value = total + (digit or 0) + sum(vocab.HAN_DIGITS[numeral] / 10**n for n, numeral in enumerate(decimals, start=1))
    return value, value


def _look_up(atom: re.Match[str] | None) -> tuple[str, str] | None:
    if atom is None:
        return None
    name = atom["name"].translate(vocab.DROPPED_IN_UNIT_NAMES)
    return vocab.UNITS_BY_NAME.get(name) or (
        vocab.UNITS_BY_NAME.get(name[:-1]) if name[-1] == "s" and len(name) > 2 else None
    )


def read_unit(text: str, number: Number, start: int) -> Unit | None:
    """Parse the unit after a number, as far as "mg/kg per day"; `start` is where the amount begins."""
    end, scale, more = number.end, 1.0, ""
    atom = vocab.UNIT_NAME.match(text, end)
    named = _look_up(atom)
    implied = -1
    # "6-weekly" is every 6 weeks, but "6 weekly sessions" may be one a week.
    if atom and atom["name"] in ("weekly", "monthly") and text[atom.start("name") - 1] != "-":
        named = None
    if number.kind == "times":
        dimension, name = "count", ""
    elif atom and named and atom["name"] != "分":
        dimension, name = named
        # "a D&C", "a second opinion" and "a drop in pressure" contain no unit.
        if number.kind == "article" and (
            dimension not in vocab.ARTICLE_DIMENSIONS or name == "second" or len(atom["name"]) < 3
        ):
            return None
        if number.kind == "vague" and dimension != "duration":
            return None
        end, scale, more = (
            atom.end(),
            conversion_factor(name, vocab.BASE_UNITS[dimension])
            if name
            else vocab.COUNTED_SIZES.get(atom["name"], 1.0),
            atom["more"] or "",
        )
    elif counted := vocab.UNNAMED_COUNT.match(text, end):
        dimension, name, implied = "count", "", counted.end()
        end = implied
    else:
        return _read_temperature_unit(text, number, start)
    for _ in range(vocab.MAX_UNIT_CHAIN):
        chain = vocab.UNIT_CHAIN.match(text, end)
        atom = vocab.UNIT_NAME.match(text, chain.end()) if chain else None
        by = _look_up(atom)
        if chain is None or atom is None or by is None or (chain["within"] and by[0] != "duration"):
            break
        # The strengths of two drugs, 5 mg/325 mg, but 1.2 g/100 g is a share.
        smaller = by[0] == dimension == "mass" and conversion_factor(by[1], "milligram") < scale
        if chain["number"] and (smaller or (by == (dimension, name) and by[0] == "mass" and name != "gram")):
            break
        size = float(chain["number"] or 1) * (conversion_factor(by[1], vocab.BASE_UNITS[by[0]]) if by[1] else 1.0)
        rate: tuple[str, str, float] = divide_unit(dimension, name, *by, size or 1.0)
        dimension, name, share = rate
        closing = vocab.CHAIN_END.match(text, atom.end())
        end, scale = atom.end(), scale * share
        if closing and (closing[0] != ")" or "(" in text[number.end : end]):
            end = closing.end()
    return None if end == implied else Unit(dimension, name, scale, end, 0.0, more)


def divide_unit(dimension: str, name: str, by: str, by_name: str, size: float) -> tuple[str, str, float]:
    """Return dimension, unit and factor of a rate, per `size` base units of `by`: tablets a day, mg per kg."""
    if by == "count":  # "10 mg per dose" means "10 mg"
        return dimension, name, 1.0
    # "5 days a week" is a frequency, but 30 minutes a day are minutes.
    if by == "duration" and (dimension == "count" or (dimension == "duration" and name == "day" and size >= 7)):
        return (
            ("rate", name, 1 / (size * 1440)) if by_name in ("second", "minute") else ("frequency", by_name, 1 / size)
        )
    return f"{dimension} per {by}", by_name if by_name in vocab.UNIT_TOLERANCE else name, 1 / size


def _read_temperature_unit(text: str, number: Number, start: int) -> Unit | None:
    """Parse degrees. Without a scale they are a body temperature, 34 to 43 °C, or follow a word for temperature."""
    found = vocab.DEGREES.match(text, number.end)
    if found is None:
        return None
    tenth = (read_number(found["tenth"], 0) or number).low / 10 if found["tenth"] else 0.0
    before = text[max(0, start - 30) : start]
    warm, letter, hot = vocab.TEMPERATURE_CONTEXT.search(before), found["letter"], 90 <= number.high <= 110
    bare = not (found["celsius"] or found["fahrenheit"] or letter)
    if found["fahrenheit"] or (letter == "f" and hot) or (bare and ("华氏" in before or (warm and hot))):
        return make_fahrenheit_unit(found.end(), tenth)
    if found["celsius"] or (letter == "c" and 30 <= number.high <= 45) or (bare and (warm or 34 <= number.high <= 43)):
        return Unit("temperature", "degC", 1.0, found.end(), tenth)
    return None


def make_fahrenheit_unit(end: int, more: float = 0.0) -> Unit:
    """Return the degree Fahrenheit as a unit, with `more` degrees added to the value."""
    zero, scale = -160 / 9, 5 / 9
    return Unit("temperature", "degF", scale, end, zero + more * scale)


def read_margins(text: str, start: int, end: int, floor: int) -> Margins:
    """Parse the comparatives around an amount: at least, 不超过, 以上, or so."""
    bound, strict, about, words = "", False, False, ""
    cuts = [(start, end)]
    while len(cuts) < 3 and (
        found := vocab.COMPARATIVE_BEFORE.match(
            text[max(floor, start - vocab.MAX_COMPARATIVE_CHARACTERS) : start][::-1]
        )
    ):
        word = (found["latin"] or found["other"] or found["apart"])[::-1]
        kind, exclusive = vocab.BOUNDS_BEFORE[word]
        begin = start - found.end()
        cuts.insert(0, (begin, begin + len(word) if found["apart"] else start))
        start, words = begin, f"{words} {word}"
        bound, strict, about = (bound, strict, True) if kind == "about" else (kind or bound, exclusive or strict, about)
    while len(cuts) < 5 and (found := vocab.COMPARATIVE_AFTER.match(text, end)):
        word = found["latin"] or found["other"]
        kind = vocab.BOUNDS_AFTER[word]
        cuts.append((end, found.end()))
        end, words = found.end(), f"{words} {word}"
        bound, about = (bound, True) if kind == "about" else (kind, about)
    return Margins(start, end, tuple(cuts), bound, strict, about, words)


def make_reading(margins: Margins, dimension: str, low: float, high: float, name: str = "") -> AmountReading:
    """Return the amount with these margins, open on the side that its comparatives leave open."""
    lowest = None if margins.bound == "upper" else low
    highest = None if margins.bound == "lower" else high
    strict = margins.strict and (lowest is None or highest is None)
    return AmountReading(
        dimension, lowest, highest, margins.start, margins.end, name, strict, margins.about, margins.cuts
    )
