"""Rating scales. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

LOWEST, HIGHEST = 1, 5
"""Bounds of the scale of G-Eval's forms (Liu et al. 2023) and of Prometheus's rubrics (Kim et al. 2024)."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A rating scale of whole or half points.

    Attributes:
        low, high: The worst and the best score.
        half_points: Whether half points such as 3.5 are scores.
    """

    low: int
    high: int
    half_points: bool = False

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Return the scale of a text such as "0:5:0.5" or "1:10".

        Raises:
            ValueError: It is not LOW:HIGH or LOW:HIGH:STEP with whole ends and a step of 1 or 0.5.
        """
        found = re.fullmatch(r"(-?\d{1,3}):(-?\d{1,3})(?::(1|0?\.5))?", text.strip())
        if found is None or int(found[1]) >= int(found[2]):
            raise ValueError(f"the scale {text!r} is not LOW:HIGH[:STEP] with a STEP of 1 or 0.5, such as 0:5:0.5")
        return cls(int(found[1]), int(found[2]), half_points=found[3] not in (None, "1"))

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"

    def __contains__(self, score: float) -> bool:
        return self.low <= score <= self.high and (score * (2 if self.half_points else 1)) % 1 == 0

    @property
    def scores(self) -> list[float]:
        """All scores in ascending order; whole numbers are integers."""
        if not self.half_points:
            return list(range(self.low, self.high + 1))
        return [half // 2 if half % 2 == 0 else half / 2 for half in range(2 * self.low, 2 * self.high + 1)]

    @property
    def has_single_digits(self) -> bool:
        """Whether all whole scores have one digit, so that token probabilities are those of scores.

        To many models "10" is several tokens, the first of which is another score.
        """
        return self.low >= 0 and self.high <= 9


ONE_TO_FIVE = Scale(LOWEST, HIGHEST)
