"""Limits on a metric's mean, on the score of one answer and on a run's contradictions, and whether they are met."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from statistics import stdev
from typing import TYPE_CHECKING, Any, Literal

from imapeval.errors import UsageError
from imapeval.metrics import registry
from imapeval.report.summary import CONTRADICTIONS_METRIC, format_contradictions, format_mean_interval
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.quantiles import student_quantile
from imapeval.study.number_format import find_digits, write_decimal
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.metrics.base import Metric, Range
    from imapeval.report.summary import SummaryRow
    from imapeval.types import Outcome

VerdictWord = Literal["pass", "fail", "too close to call"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A limit on the mean of one metric, or on the score of one answer.

    Attributes:
        value: The limit; a mean equal to it meets it.
        higher_is_better: Whether the limit is a minimum; otherwise it is a maximum.
    """

    metric: str
    value: float
    higher_is_better: bool = True

    def is_met_by(self, value: float) -> bool:
        """Return whether a number meets the limit."""
        return value >= self.value if self.higher_is_better else value <= self.value

    def describe_side(self, value: float) -> str:
        """Return on which side of the limit a number is, such as "below 0.35"."""
        sides = ("below", "at least") if self.higher_is_better else ("above", "at most")
        return f"{sides[self.is_met_by(value)]} {self.limit}"

    def judge(self, score: Score) -> AnswerVerdict:
        """Return whether the score of one answer meets the limit, and how sure that is."""
        values = list_repetitions(score)
        if len(values) < 2:
            return AnswerVerdict(self, score.value)
        reach = student_quantile((1 + CONFIDENCE) / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
        return AnswerVerdict(self, score.value, len(values), score.value - reach, score.value + reach)

    def format_value(self, value: float) -> str:
        """Format a number with three decimals, or with as many as tell it from the limit."""
        shown = write_decimal(value, find_digits(value, self.value, digits=3))
        return shown if self.is_met_by(float(shown)) == self.is_met_by(value) else repr(value)

    @property
    def limit(self) -> str:
        """The limit with all its digits."""
        shown = f"{self.value:g}"
        return shown if float(shown) == self.value else repr(self.value)

    def __str__(self) -> str:
        return f"{self.metric} at {'least' if self.higher_is_better else 'most'} {self.limit}"


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """Whether the score of one answer meets a threshold.

    Attributes:
        value: The score.
        repetitions: Number of readings or judgements that the score is the mean of; 1 if it is not a mean.
        low, high: Ends of the score's 95% interval: Student's over whole repetitions (`list_repetitions`). None for a
            single one, whose error is not known.
    """

    threshold: Threshold
    value: float
    repetitions: int = 1
    low: float | None = None
    high: float | None = None

    @property
    def met(self) -> bool:
        """Whether the score meets the limit, for hosts that know nothing between pass and fail."""
        return self.threshold.is_met_by(self.value)

    @property
    def too_close(self) -> bool:
        """Whether the limit lies within the score's interval; never if all repetitions are equal."""
        return (
            self.low is not None and self.high is not None and self.low <= self.threshold.value <= self.high > self.low
        )

    @property
    def word(self) -> VerdictWord:
        """The verdict in a word or a few."""
        return "too close to call" if self.too_close else "pass" if self.met else "fail"

    @property
    def counts(self) -> dict[str, float]:
        """1 or 0 for `passed` and `too_close`, for hosts that average numbers: their means are shares of answers."""
        return {"passed": float(self.met), "too_close": float(self.too_close)}

    @property
    def doubt(self) -> str:
        """A sentence if it is too close to call; else ""."""
        return str(self) if self.too_close else ""

    def __str__(self) -> str:
        if self.too_close:
            return (
                f"Too close to call: {self.threshold.limit} lies within the 95% interval "
                f"{format_mean_interval(self.low, self.high, write=write_decimal)} of {self.repetitions} repetitions."
            )
        shown = self.threshold.format_value(self.value)
        return f"{self.word.capitalize()}: {shown} is {self.threshold.describe_side(self.value)}."

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        return {
            "metric": self.threshold.metric,
            "higher_is_better": self.threshold.higher_is_better,
            "threshold": self.threshold.value,
            "verdict": self.word,
            "met": self.met,
            "low": self.low,
            "high": self.high,
            "repetitions": self.repetitions,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a threshold is met.

    Attributes:
        mean: Mean over the answers with a score; None without any.
        scored: Number of answers with a score.
        pending: Number of answers that a stopped run has not reached.
        low, high: Ends of the mean's 95% interval (`imapeval.report.summary.SummaryRow`); None if there is none.
        failed: Number of answers that were tried and have no score.
    """

    threshold: Threshold
    mean: float | None
    scored: int
    pending: int = 0
    low: float | None = None
    high: float | None = None
    failed: int = 0

    @property
    def met(self) -> bool:
        """Whether the mean meets the limit; False if the mean is unknown."""
        return self.mean is not None and not self.pending and self.threshold.is_met_by(self.mean)

    @property
    def too_close(self) -> bool:
        """Whether the limit lies within the mean's interval, so that other answers could have decided otherwise."""
        return self.low is not None and self.high is not None and self.low <= self.threshold.value <= self.high

    @property
    def name(self) -> str:
        """Name for a list of tests."""
        return f"mean of {self.threshold}"

    def __str__(self) -> str:
        name, value = self.threshold.metric, self.threshold.limit
        if self.pending:
            pending = _format_pending(self.pending)
            return f"{name}: whether the mean meets {value} is not known: {pending} not been tried yet."
        if self.mean is None:
            return f"{name}: no answer was scored, so the mean does not meet {value}."
        shown, side = self.threshold.format_value(self.mean), self.threshold.describe_side(self.mean)
        interval = format_mean_interval(self.low, self.high, write=write_decimal)
        doubt = f", too close to call (95% interval {interval})" if self.too_close else ""
        return f"{name}: the mean {shown} of {_format_scored(self.scored, self.failed)} is {side}{doubt}."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "metric": self.threshold.metric,
            "higher_is_better": self.threshold.higher_is_better,
            "threshold": self.threshold.value,
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "met": self.met,
            "too_close": self.too_close,
        }


@dataclass(frozen=True, slots=True)
class ContradictionVerdict:
    """Whether a run has few enough contradictions.

    Attributes:
        most: Maximum number in all answers together.
        found: Number of contradictions; None if no answer was scored.
        scored: Number of answers with a score.
        pending: Number of answers that a stopped run has not reached.
        failed: Number of answers that were tried and have no score.
    """

    most: int
    found: float | None
    scored: int
    pending: int = 0
    failed: int = 0

    @property
    def met(self) -> bool:
        """Whether there are few enough; False while answers are pending, which can only add some."""
        return self.found is not None and not self.pending and self.found <= self.most

    @property
    def name(self) -> str:
        """Name for a list of tests."""
        return f"contradictions at most {self.most}"

    def __str__(self) -> str:
        if self.found is None:
            return f"contradictions: no answer was scored, so whether there are at most {self.most} is not known."
        if self.pending and self.found <= self.most:
            return (
                f"contradictions: whether there are at most {self.most} is not known: "
                f"{_format_pending(self.pending)} not been tried yet."
            )
        side = f"more than {self.most}" if self.found > self.most else f"at most {self.most}"
        shown = format_contradictions(self.found)
        if (float(shown) <= self.most) != (self.found <= self.most):
            shown = f"{self.found:g}"
        return f"contradictions: {shown} in {_format_scored(self.scored, self.failed)}, {side}."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "metric": CONTRADICTIONS_METRIC,
            "higher_is_better": False,
            "threshold": self.most,
            "contradictions": self.found,
            "met": self.met,
        }


AnyVerdict = Verdict | ContradictionVerdict


def make_threshold(metric: Metric, value: Any) -> Threshold | None:
    """Return a limit that a score has to reach or, if lower is better, must not exceed; None without a value.

    Raises:
        UsageError: It is not a finite number, or is outside the metric's range.
    """
    if value is None:
        return None
    threshold = Threshold(metric.name, require_number(value, option="threshold"), metric.higher_is_better)
    check_ranges([threshold], {metric.name: metric.range}, option="threshold")
    return threshold


def require_number(value: Any, *, option: str) -> float:
    """Return a limit as a number.

    Raises:
        UsageError: It is not a finite number; the message names `option`, which set it.
    """
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:  # a whole number of many digits
        number = math.inf
    if not math.isfinite(number):
        raise UsageError(f"{option} is {value!r}. Give a number.")
    return number


def list_repetitions(score: Score) -> list[float]:
    """Return whole repetitions of a score: the first reading with its first judgement, the second with its second, ...

    A score that is no mean of repetitions has none.
    """
    rows = score.repetitions
    return [*rows[0]] if len(rows) == 1 else [row[place % len(row)] for place, row in enumerate(rows)]


def judge_answer(outcomes: Mapping[str, Outcome], threshold: Threshold | None) -> AnswerVerdict | None:
    """Return whether an answer meets a limit; None without a limit, or without a score by its metric."""
    outcome = None if threshold is None else outcomes.get(threshold.metric)
    return threshold.judge(outcome) if threshold is not None and isinstance(outcome, Score) else None


def require_contradiction_counts(metrics: Iterable[str]) -> None:
    """Raise a UsageError if none of the metrics counts contradictions."""
    names = list(metrics)
    if CONTRADICTIONS_METRIC not in names:
        raise UsageError(
            f"--max-contradictions: none of the metrics counts contradictions: {', '.join(names)}. Add "
            f"{CONTRADICTIONS_METRIC} to --metrics."
        )


def check_contradictions(most: int, rows: Sequence[SummaryRow], *, samples: int) -> ContradictionVerdict:
    """Return whether a run of so many samples has few enough contradictions, over all systems together.

    Raises:
        UsageError: Nothing in the run counts contradictions.
    """
    require_contradiction_counts(dict.fromkeys(row.metric for row in rows))
    row = next(row for row in rows if row.metric == CONTRADICTIONS_METRIC and not row.system)
    if row.n and row.contradictions is None:
        raise UsageError(
            f"--max-contradictions: the scores of {CONTRADICTIONS_METRIC} in this run have no number of "
            "contradictions: they were made by an earlier version. Score again."
        )
    return ContradictionVerdict(most, row.contradictions, row.n, samples - row.n - row.failed, row.failed)


def parse_thresholds(texts: Iterable[str], metrics: Iterable[Metric] | None = None, *, option: str) -> list[Threshold]:
    """Parse `METRIC=VALUE` texts, given with an option; if there are `metrics`, only these may be named.

    Raises:
        UsageError: A text is malformed, or names an unknown metric, or one that another text names.
    """
    by_name = None if metrics is None else {metric.name: metric for metric in metrics}
    found: dict[str, Threshold] = {}
    for text in texts:
        name, value = _parse_threshold(text, option)
        if by_name is not None and name not in by_name:
            raise UsageError(f"{option} {text}: {name!r} is not among the metrics: {', '.join(by_name)}.")
        if name in found:
            raise UsageError(f"{option} names {name!r} twice. Keep one of {found[name].limit} and {value:g}.")
        metric = registry.get(name) if by_name is None else by_name[name]
        found[name] = Threshold(name, value, metric.higher_is_better)
    return list(found.values())


def check_ranges(thresholds: Iterable[Threshold], ranges: Mapping[str, Range], *, option: str) -> None:
    """Raise a UsageError if a limit is outside the range of its metric, such as 35 for 0.35.

    The ranges, by metric, are those with the options that are set, on which they may depend; a metric that is not
    among them is not checked. The message names `option`, which set the limits.
    """
    for threshold in thresholds:
        low, high = ranges.get(threshold.metric, (None, None))
        if (low is not None and threshold.value < low) or (high is not None and threshold.value > high):
            span = " ".join(
                ([] if low is None else [f"from {low:g}"]) + (["upwards"] if high is None else [f"to {high:g}"])
            )
            raise UsageError(
                f"{option} {threshold.metric}={threshold.limit}: the range of the metric is {span}. Give a limit in it."
            )


def check_thresholds(thresholds: Iterable[Threshold], rows: Sequence[SummaryRow], *, samples: int) -> list[Verdict]:
    """Return whether a run of so many samples meets the thresholds, over all systems together."""
    whole = {row.metric: row for row in rows if not row.system}
    verdicts: list[Verdict] = []
    for threshold in thresholds:
        row = whole[threshold.metric]
        pending = samples - row.n - row.failed
        verdicts.append(Verdict(threshold, row.mean, row.n, pending, row.low, row.high, row.failed))
    return verdicts


def _parse_threshold(text: str, option: str) -> tuple[str, float]:
    name, equals, written = text.partition("=")
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not (name.strip() and equals and math.isfinite(value)):
        raise UsageError(f"{option} {text!r} is not METRIC=VALUE. Example: {option} imapscore=0.35.")
    return name.strip(), value


def _format_scored(scored: int, failed: int) -> str:
    if not failed:
        return f"{scored} scored"
    return f"{scored} scored ({failed} of {scored + failed} {'has' if failed == 1 else 'have'} no score)"


def _format_pending(pending: int) -> str:
    return f"{pending} answer{' has' if pending == 1 else 's have'}"
