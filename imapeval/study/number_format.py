"""Writes numbers in sentences and tables: the one place where it is decided how many digits they have.

Only what is 0, 1 or -1 is written as that, and an interval has two different ends: a coefficient of .9996 is not 1.00,
one of .0004 not 0, and .9991 to .9994 not 1.00 to 1.00. Such numbers get as many more digits as that takes. A p-value
has a limit instead: < .001 and > .99 (APA 2020, Publication Manual, section 6.36).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_DIGITS = 9

_ROUNDING = 0.5 * 10**-_MAX_DIGITS
"""Numbers this near to each other are the same but for rounding in their computation."""

_EXACT_DIGITS = 12
"""Decimals that rounding in a computation leaves alone: .3375 is written .338 however it was computed."""


def find_digits(*values: float, digits: int) -> int:
    """Return the fewest decimals, `digits` or more, that keep numbers apart from one another and from 0, 1 and -1."""
    # As the writers round: what they write is to differ.
    values = tuple(round(value, _EXACT_DIGITS) for value in values)
    pairs = [*combinations(values, 2), *((value, end) for value in values for end in (0.0, 1.0, -1.0))]
    apart = [(first, second) for first, second in pairs if abs(first - second) > _ROUNDING]
    while digits < _MAX_DIGITS and any(round(first, digits) == round(second, digits) for first, second in apart):
        digits += 1
    return digits


def write_coefficient(value: float, digits: int) -> str:
    """Write a number with so many decimals and no leading zero: .57, -.02, 1.00; 0 is 0."""
    text = f"{round(value, _EXACT_DIGITS):z.{digits}f}"
    if not float(text):
        return "0"
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def write_decimal(value: float, digits: int) -> str:
    """Write a number with so many decimals: 0.57, -0.02, 1.00."""
    return f"{round(value, _EXACT_DIGITS):z.{digits}f}"


def write_signed(value: float, digits: int) -> str:
    """Write a difference with so many decimals and its sign: +0.57, -0.02; 0 is 0.00."""
    text = write_decimal(value, digits)
    return f"+{text}" if float(text) > 0 else text


def write_percent(value: float, digits: int) -> str:
    """Write a share with so many decimals, 2 or more, of which a percentage has two fewer: 57%."""
    # Rounded as a share, as `find_digits` does: 99.5% would be 100%, though .995 is not 1.00.
    return f"{round(round(value, _EXACT_DIGITS), digits):.{digits - 2}%}"


def write_score(value: float, digits: int) -> str:
    """Write a number with so many decimals, with two fewer from 10 on: 0.574, 87.2."""
    return write_decimal(value, digits if abs(value) < 10 else max(1, digits - 2))


def format_number(value: float, *, digits: int = 2) -> str:
    """Format a coefficient, or another number of which most lie between -1 and 1: .57, -.02, 1.00, .9996."""
    return write_coefficient(value, find_digits(value, digits=digits))


def format_decimal(value: float, *, digits: int = 3) -> str:
    """Format a number in units of something else than itself: 0.574."""
    return write_decimal(value, find_digits(value, digits=digits))


def format_signed(value: float, *, digits: int = 3) -> str:
    """Format a difference: +0.574, -0.020, +0.0004."""
    return write_signed(value, find_digits(value, digits=digits))


def format_percent(share: float, *, digits: int = 2) -> str:
    """Format a share: 57%, 0%, 100%, 0.4%, 99.6%; with `digits` 3 57.4%."""
    return write_percent(share, find_digits(share, digits=digits))


def format_score(value: float) -> str:
    """Format a score: 0.574, 87.2."""
    return write_score(value, find_digits(value, digits=3))


def format_interval(
    low: float,
    high: float,
    *,
    digits: int = 2,
    between: str = ", ",
    write: Callable[[float, int], str] = write_coefficient,
) -> str:
    """Format the ends of an interval: ".12, .34", ".9991, .9994", ".0004, .55"."""
    # Compared as written, because `write_score` writes fewer digits of large numbers.
    while high - low > _ROUNDING and digits < _MAX_DIGITS and write(low, digits) == write(high, digits):
        digits += 1
    return between.join(write(end, find_digits(end, digits=digits)) for end in (low, high))


def format_p_value(p: float) -> str:
    """Format a p-value for a table: .031, .310, < .001, > .999; 1.000 is 1."""
    if p < 0.001:
        return "< .001"
    return "> .999" if 0.999 < p < 1 else write_coefficient(p, 3)


def format_p(p: float) -> str:
    """Format a p-value for a sentence: "p = .031", "p = .31", "p < .001", "p > .99"."""
    if p < 0.001:
        return "p < .001"
    if p > 0.99:
        return "p > .99"
    return f"p = {write_coefficient(p, 3 if p < 0.1 else 2)}"
