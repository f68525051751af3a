"""Rating scales: the possible ratings, and how a user declares them."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isfinite
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.evaluation.samples.rows import read_number

if TYPE_CHECKING:
    from collections.abc import Iterable

_SLACK = 1e-6
"""Tolerance, as a share of a step: .1 and its multiples are not exact binary numbers."""


@dataclass(frozen=True, slots=True)
class RatingScale:
    """The ratings that could be given in one dimension.

    Attributes:
        low, high: The worst and the best rating.
        step: Distance between neighbouring ratings, such as .5; None where every number between the ends is allowed.
    """

    low: float
    high: float
    step: float | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise ValueError(f"a scale runs from a number to a higher one, not from {self.low} to {self.high}")
        if self.step is not None and not 0 < self.step <= self.high - self.low:
            raise ValueError(f"the step of a scale is above 0 and at most its length, not {self.step}")


def parse_scales(texts: Iterable[str]) -> dict[str, RatingScale]:
    """Return the scale by dimension, of texts such as "accuracy=0:5:0.5" or "overall=1:7".

    Raises:
        UsageError: A text is not of that form or is no scale, its steps do not reach its upper end, or a dimension is
            given twice.
    """
    scales: dict[str, RatingScale] = {}
    for text in texts:
        # A dimension may contain "="; numbers do not.
        dimension, _, ends = text.rpartition("=")
        numbers = [read_number(part) for part in ends.split(":")]
        if not dimension or len(numbers) not in (2, 3) or None in numbers:
            raise UsageError(
                f"--scale {text!r} is not DIMENSION=LOW:HIGH[:STEP]. Write, for example, --scale accuracy=0:5:0.5."
            )
        if dimension in scales:
            raise UsageError(f"--scale names {dimension!r} twice. Keep one.")
        try:
            scale = RatingScale(*(number for number in numbers if number is not None))
        except ValueError as error:
            raise UsageError(f"--scale {text!r}: {error}. Write, for example, --scale accuracy=0:5:0.5.") from error
        # Not an error of every scale, because a study may have one from before this was refused.
        if not is_on_scale(scale, scale.high):
            raise UsageError(
                f"--scale {text!r}: steps of {scale.step:g} from {scale.low:g} do not reach {scale.high:g}. Write more "
                "digits of the step, or leave it out."
            )
        scales[dimension] = scale
    return scales


def is_on_scale(scale: RatingScale, rating: float, *, average: bool = False) -> bool:
    """Return whether a rating lies on the scale; an average may lie between the steps."""
    if not scale.low <= rating <= scale.high:
        return False
    if scale.step is None or average:
        return True
    steps = (rating - scale.low) / scale.step
    return abs(steps - round(steps)) <= _SLACK


def list_ratings(scale: RatingScale) -> tuple[float, ...]:
    """Return the possible ratings, lowest first; () if every number between the ends is allowed."""
    if scale.step is None:
        return ()
    steps = floor((scale.high - scale.low) / scale.step + _SLACK)
    # Rounded to equal the decimal numbers in a file: .3, not 3 * .1.
    return tuple(round(scale.low + number * scale.step, 9) for number in range(steps + 1))


def describe_scale(scale: RatingScale) -> str:
    """Return a scale in words, such as "0 to 5 in steps of 0.5"."""
    step = "" if scale.step is None else f" in steps of {scale.step:g}"
    return f"{scale.low:g} to {scale.high:g}{step}"
