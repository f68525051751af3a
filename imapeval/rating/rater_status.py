"""A rater's progress, and signs of carelessness for the owner to look into; none of them is proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.intervals import SIGNIFICANCE_LEVEL
from imapeval.study.intervals.quantiles import student_quantile
from imapeval.study.number_format import format_decimal, format_p

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.rating.model import Dimension
    from imapeval.rating.records import RatingRecord
    from imapeval.study.arrays import Floats

_FEWEST = 10
"""Minimum number of answers for a flag. With 10, correlations from .55 on differ from 0 (one-sided, level .05)."""

_LEVEL = 0.01
"""Significance level of the tests of drift and of runs: with 20 careful raters, each test flags one of them in one
study out of five."""

_PERMUTATIONS = 1999


@dataclass(frozen=True, slots=True)
class Drift:
    """How a rater's strictness changes from the first answer to the last one.

    Attributes:
        change: Change of the difference from the other raters' mean, in points of the scale.
        low, high: Its 95% interval (least squares, Student's t).
        clear: Whether the 99% interval excludes 0.
    """

    change: float
    low: float
    high: float
    clear: bool


@dataclass(frozen=True, slots=True)
class RaterStatus:
    """A rater's progress and signs of carelessness.

    Attributes:
        name: Name of the rater; "seat N" if nobody has been invited yet.
        role: "rater" or "adjudicator".
        invited, left: Whether somebody has been invited to the seat, and whether the rater has left.
        done, total: Numbers of items with a complete entry, and of all items.
        seconds: Median active time per item; None without items.
        last_saved: Time of the last entry (UTC, ISO 8601); None if there is none.
        with_others: Correlation with the mean of the other raters; None if undefined.
        repeat_difference: Mean absolute difference between repeated and first ratings; None without repeats.
        gold_difference: Mean absolute difference from the correct ratings of gold items; None without them.
        attention_failed, attention_total: Numbers of attention checks failed and rated.
        drift: Change of strictness; None for fewer than 10 answers that others rated too.
        flags: Reasons to look at this rater's work, as sentences.
    """

    name: str
    role: str
    invited: bool
    left: bool
    done: int
    total: int
    seconds: float | None
    last_saved: str | None
    with_others: float | None
    repeat_difference: float | None
    gold_difference: float | None
    attention_failed: int
    attention_total: int
    drift: Drift | None
    flags: tuple[str, ...]


def judge_rater(
    name: str,
    own: Sequence[RatingRecord],
    counted: Sequence[RatingRecord],
    dimensions: Sequence[Dimension],
    *,
    role: str,
    invited: bool,
    left: bool,
    total: int,
) -> RaterStatus:
    """Return the status of a rater from the entries so far.

    Args:
        name: Name of the rater.
        own: All complete entries of the rater.
        counted: The ratings of all raters that the study collects.
        dimensions: Dimensions of the study.
        role: "rater" or "adjudicator".
        invited: Whether somebody has been invited.
        left: Whether the rater has left.
        total: Number of the rater's items.
    """
    mine = [record for record in own if record.kind == "rating"]
    first = {record.answer: record for record in mine}
    repeats = [record for record in own if record.kind == "repeat" and record.answer in first]
    checks = [record for record in own if record.kind == "attention"]
    failed = sum(any(record.values.get(name) != value for name, value in record.expected.items()) for record in checks)
    beside = _differences(mine, counted)
    correlation, p = _correlate(beside)
    drift = _measure_drift(beside)
    flags: list[str] = []
    if failed:
        flags.append(f"{failed} of {len(checks)} attention checks failed.")
    if p is not None and p >= SIGNIFICANCE_LEVEL:
        flags.append(f"agrees with the other raters no better than ratings in random order ({format_p(p)}).")
    if (straight := _find_straight_line(mine, dimensions)) is not None:
        flags.append(straight)
    if drift is not None and drift.clear:
        direction = "more lenient" if drift.change > 0 else "stricter"
        flags.append(
            f"became {direction} by {format_decimal(abs(drift.change), digits=2)} from the first answer to the last."
        )
    return RaterStatus(
        name=name,
        role=role,
        invited=invited,
        left=left,
        done=len(own),
        total=total,
        seconds=median(record.seconds for record in own) if own else None,
        last_saved=max((record.saved_at for record in own), default=None),
        with_others=correlation,
        repeat_difference=_mean_difference([(record.values, first[record.answer].values) for record in repeats]),
        gold_difference=_mean_difference([(record.values, record.expected) for record in own if record.kind == "gold"]),
        attention_failed=failed,
        attention_total=len(checks),
        drift=drift,
        flags=tuple(flags),
    )


def _mean_difference(pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]) -> float | None:
    apart = [abs(one[name] - other[name]) for one, other in pairs for name in one if name in other]
    return fmean(apart) if apart else None


def _differences(mine: Sequence[RatingRecord], counted: Sequence[RatingRecord]) -> Floats:
    """Return a rater's mean rating of each answer, the others' in the same dimensions, and its place; shape (n, 3)."""
    others: dict[int, list[RatingRecord]] = {}
    for record in counted:
        others.setdefault(record.answer, []).append(record)
    rows: list[tuple[float, float, float]] = []
    for record in mine:
        pairs = [
            (value, fmean(given))
            for name, value in record.values.items()
            if (
                given := [
                    other.values[name]
                    for other in others[record.answer]
                    if other.rater_id != record.rater_id and name in other.values
                ]
            )
        ]
        if pairs:
            rows.append((fmean(own for own, _ in pairs), fmean(rest for _, rest in pairs), float(record.order)))
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _correlate(beside: Floats) -> tuple[float | None, float | None]:
    """Return Pearson's r of a rater with the others, and its one-sided p by permutation; None where undefined."""
    if len(beside) < _FEWEST or np.ptp(beside[:, 0]) == 0 or np.ptp(beside[:, 1]) == 0:
        return None, None
    own, rest = (beside[:, column] - beside[:, column].mean() for column in (0, 1))
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(own, (_PERMUTATIONS, 1)), axis=1) @ rest
    # Equal up to rounding counts as reached.
    reached = int((shuffled >= own @ rest - 1e-9 * abs(own @ rest)).sum())
    size = math.sqrt(float(own @ own) * float(rest @ rest))
    return float(own @ rest) / size, (1 + reached) / (1 + _PERMUTATIONS)


def _measure_drift(beside: Floats) -> Drift | None:
    if len(beside) < _FEWEST or np.ptp(beside[:, 2]) == 0:
        return None
    place = (beside[:, 2] - beside[:, 2].min()) / np.ptp(beside[:, 2])
    place -= place.mean()
    apart = beside[:, 0] - beside[:, 1]
    apart -= apart.mean()
    spread = float(place @ place)
    slope = float(place @ apart) / spread
    left = apart - slope * place
    freedom = len(beside) - 2
    error = math.sqrt(float(left @ left) / freedom / spread)
    half = student_quantile(0.975, freedom) * error
    # A constant difference has a slope from rounding, in the last digits.
    clear = abs(slope) > max(1e-9, student_quantile(1 - _LEVEL / 2, freedom) * error)
    return Drift(slope, slope - half, slope + half, clear)


def _find_straight_line(mine: Sequence[RatingRecord], dimensions: Sequence[Dimension]) -> str | None:
    """Return a sentence about a long run of equal ratings (the "longstring" of Johnson 2005), or None.

    A run is long if the rater's ratings in random order rarely have one as long.
    """
    given = [tuple(record.values.get(one.name) for one in dimensions) for record in mine]
    if len(given) < _FEWEST:
        return None
    codes = np.unique([str(one) for one in given], return_inverse=True)[1]
    if codes.max() == 0:
        return f"gave all {len(given)} answers the same ratings."
    longest = _longest_run(codes[None, :])[0]
    shuffled = _longest_run(np.random.default_rng(0).permuted(np.tile(codes, (_PERMUTATIONS, 1)), axis=1))
    p = (1 + int((shuffled >= longest).sum())) / (1 + _PERMUTATIONS)
    if p > _LEVEL:
        return None
    return f"gave {longest} answers in a row the same ratings ({format_p(p)} if in random order)."


def _longest_run(codes: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the length of the longest run of equal codes in each row."""
    longest = run = np.ones(len(codes), dtype=np.int64)
    for before, here in zip(codes.T[:-1], codes.T[1:], strict=True):
        run = np.where(before == here, run + 1, 1)
        longest = np.maximum(longest, run)
    return longest
