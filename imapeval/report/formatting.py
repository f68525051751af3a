"""Names and numbers as they are printed on the pages of runs and studies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.study import number_format
from imapeval.study.data.findings import ALL
from imapeval.study.number_format import format_number, format_p_value, format_score

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.study.data.findings import CoefficientName, Level, Units

LEVELS: dict[Level, str] = {
    "global": "all answers together",
    "within-system": "within each system, then the mean",
    "within-question": "within each question, then the mean",
    "system": "systems' means",
}


UNITS: dict[Units, str] = {
    "questions": "for these systems on other questions",
    "systems": "for other systems on these questions",
    "both": "for other systems on other questions",
}
"""What intervals and tests speak about."""


_GREEK = {"rho": "ρ", "tau": "τ"}


class _CoefficientTitles(dict["CoefficientName", str]):
    """What coefficients are called on a page."""

    def __missing__(self, name: CoefficientName) -> str:
        from imapeval.study.correlation.coefficients import find_coefficient

        return re.sub(r"\b(rho|tau)\b", lambda found: _GREEK[found[0]], find_coefficient(name).title)


COEFFICIENTS = _CoefficientTitles()

NO_VALUE = "–"
"""Printed in place of a missing number, whose reason is given nearby."""


def format_dimension(dimension: str) -> str:
    """Format the name of a dimension, or of the mean over all."""
    return "mean of dimensions" if dimension == ALL else dimension


def format_system(system: str) -> str:
    """Format the name of a system, of all systems, or of an unnamed one."""
    return "all systems" if system == ALL else system or "unnamed system"


def format_coefficient(value: float | None, *, digits: int = 3) -> str:
    """Format a number between -1 and 1 as journals do: .574, −.020, 1.000."""
    return NO_VALUE if value is None else format_number(value, digits=digits).replace("-", "−")


def format_tick(value: float) -> str:
    """Format a tick label of an axis of coefficients, with as few digits as possible: 0, .2, −.25, 1."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.3g}").replace("-", "−")


def format_interval(
    low: float | None,
    high: float | None,
    *,
    digits: int = 3,
    between: str = " to ",
    write: Callable[[float, int], str] = number_format.write_coefficient,
) -> str:
    """Format the ends of an interval; "" if there is none."""
    if low is None or high is None:
        return ""
    return number_format.format_interval(low, high, digits=digits, between=between, write=write).replace("-", "−")


def format_p(p: float | None) -> str:
    """Format a p-value: .031, < .001."""
    return NO_VALUE if p is None else format_p_value(p)


def format_measure(value: float | None) -> str:
    """Format a score or a rating with as many digits as are worth reading: 4.5, 0.31, 87.2."""
    if value is None:
        return NO_VALUE
    return re.sub(r"\.?0+$", "", format_score(value)).replace("-", "−")


def pluralize(number: int, noun: str) -> str:
    """Format a number and its noun: "1 answer", "2,000 answers"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
