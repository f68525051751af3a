"""The state of a study for its owner: progress, agreement, raters, disputes, the stopping rule."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from imapeval.errors import UsageError
from imapeval.rating import schema
from imapeval.rating.model import StoppingRule
from imapeval.rating.rater_status import RaterStatus, judge_rater
from imapeval.rating.records import RatingRecord, read_records
from imapeval.rating.store import is_stopped
from imapeval.study.agreement.measure import STATISTICS, measure_agreement
from imapeval.study.data.rated import Rated, rated_without_scores
from imapeval.study.data.ratings.collection import Ratings
from imapeval.study.intervals.quantiles import student_quantile
from imapeval.study.number_format import find_digits, write_decimal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.rating.model import Dimension
    from imapeval.rating.store import RatingStudy
    from imapeval.study.agreement.measure import Agreement


@dataclass(frozen=True, slots=True)
class Disputed:
    """An answer on which raters differ.

    Attributes:
        id: Id of the answer.
        question: Its question.
        dimension: The dimension in which they differ most.
        ratings: The ratings in that dimension, lowest first.
        raters: Number of raters so far, including those who could not judge it.
        apart: The highest minus the lowest, in points of the scale.
        adjudicated: The adjudicator's rating; None if there is none yet.
    """

    id: str
    question: str
    dimension: str
    ratings: tuple[float, ...]
    raters: int
    apart: float
    adjudicated: float | None


@dataclass(frozen=True, slots=True)
class Stopping:
    """Whether the stopping rule of a study is met.

    Attributes:
        measure, dimension, limit: The rule (`StoppingRule`).
        value: Number of complete answers, or width of the interval; None while it is unknown.
        reached: Whether the rule is met.
        state: The same in words.
        sentence: The same, with whether to go on if the study has not been stopped.
    """

    measure: str
    dimension: str
    limit: float
    value: float | None
    reached: bool
    state: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of a study.

    Attributes:
        answers: Number of answers.
        complete: Number of answers with all their ratings.
        ratings, ratings_total: Numbers of ratings collected and wanted.
        unassigned: Number of ratings without a rater (`reassign`).
        finished: Whether all ratings are in, and raters have no repeats, gold items or attention checks left.
        stopped: Whether the study has ended.
        raters: Status of each rater.
        agreement: Agreement by dimension, with 95% intervals.
        disputed: Answers with different ratings, those furthest apart first.
        stopping: The stopping rule; None without one.
    """

    answers: int
    complete: int
    ratings: int
    ratings_total: int
    unassigned: int
    finished: bool
    stopped: bool
    raters: tuple[RaterStatus, ...]
    agreement: tuple[Agreement, ...]
    disputed: tuple[Disputed, ...]
    stopping: Stopping | None


def overview(study: RatingStudy) -> Overview:
    """Return the state of a study, all numbers from one snapshot of the database."""
    assignments, answers, raters = schema.assignments, schema.answers, schema.raters
    with study.database.read() as connection:
        records = read_records(connection)
        questions = {
            row.id: row.question
            for row in connection.execute(
                sa.select(answers.c.id, answers.c.question).where(answers.c.purpose == "rating")
            )
        }
        seats = connection.execute(sa.select(raters).order_by(raters.c.id)).all()
        given = sa.select(assignments.c.rater, sa.func.count().label("total")).where(assignments.c.slot.is_not(None))
        counts: dict[int | None, int] = {
            row.rater: row.total for row in connection.execute(given.group_by(assignments.c.rater))
        }
        stopped = is_stopped(connection)
    counted = [record for record in records if record.kind == "rating"]
    by_answer = Counter(record.answer for record in counted)
    rated = _collect(counted, study.settings.dimensions)
    agreement = tuple(measure_agreement(rated)) if rated is not None else ()
    complete = sum(count == study.settings.raters_per_answer for count in by_answer.values())
    wanted = len(questions) * study.settings.raters_per_answer
    rule = study.settings.stopping
    statuses = tuple(
        judge_rater(
            seat.name or f"seat {seat.id}",
            [record for record in records if record.rater_id == seat.id],
            counted,
            study.settings.dimensions,
            role=seat.role,
            invited=seat.name is not None,
            left=seat.left_at is not None,
            total=counts.get(seat.id, 0),
        )
        for seat in seats
    )
    busy = any(row.role == "rater" and row.invited and row.done < row.total for row in statuses)
    finished = len(counted) == wanted and not busy
    advice = "" if stopped else ": all ratings are in" if finished else ": go on"
    return Overview(
        answers=len(questions),
        complete=complete,
        ratings=len(counted),
        ratings_total=wanted,
        unassigned=counts.get(None, 0),
        finished=finished,
        stopped=stopped,
        raters=statuses,
        agreement=agreement,
        disputed=tuple(_find_disputed(records, questions)),
        stopping=None if rule is None else _check_rule(rule, rated, complete, advice=advice),
    )


def parse_stopping_rule(text: str, dimensions: Sequence[Dimension]) -> StoppingRule:
    """Return the rule of a text such as "answers:100", "mean:accuracy:0.4" or "icc_1_1:accuracy:0.2".

    Raises:
        UsageError: It is malformed, or names an unknown statistic or dimension.
    """
    measure, _, rest = text.partition(":")
    dimension, _, limit = rest.rpartition(":")
    names = [one.name for one in dimensions]
    form = "Write answers:NUMBER, mean:DIMENSION:WIDTH or STATISTIC:DIMENSION:WIDTH."
    try:
        rule = StoppingRule(measure=measure, dimension=dimension, limit=float(limit))
    except ValueError as error:
        raise UsageError(f"--stop {text!r} needs a finite number above 0 as its limit. {form}") from error
    if measure not in ("answers", "mean", *STATISTICS):
        raise UsageError(f"--stop names {measure[:60]!r}, which is not a statistic of agreement. {form}")
    if measure == "answers":
        if dimension:
            raise UsageError(f"--stop {text!r} names a dimension, and the number of answers has none. {form}")
    elif dimension not in names:
        raise UsageError(f"--stop {text!r} names no dimension of the study ({', '.join(names)}). {form}")
    return rule


def _collect(records: Sequence[RatingRecord], dimensions: Sequence[Dimension]) -> Rated | None:
    """Return the ratings as arrays; None where there is none."""
    ids = {record.answer: record for record in records}
    answers = {answer: place for place, answer in enumerate(ids)}
    raters = {rater: place for place, rater in enumerate(dict.fromkeys(record.rater for record in records))}
    cells = [
        (answers[record.answer], code, raters[record.rater], record.values[one.name])
        for record in records
        for code, one in enumerate(dimensions)
        if one.name in record.values
    ]
    if not cells:
        return None
    answer, dimension, rater = np.array([cell[:3] for cell in cells], dtype=np.int64).T
    given = Ratings(
        ids=tuple(record.id for record in ids.values()),
        dimensions=tuple(one.name for one in dimensions),
        raters=tuple(raters),
        answer=answer,
        dimension=dimension,
        rater=rater,
        value=np.array([cell[3] for cell in cells]),
        scales={one.name: one.scale for one in dimensions},
    )
    return rated_without_scores(given, questions={r.id: str(r.question_number) for r in ids.values()})


def _find_disputed(records: Sequence[RatingRecord], questions: Mapping[int, str]) -> list[Disputed]:
    given: dict[int, dict[str, list[float]]] = {}
    settled: dict[int, Mapping[str, float]] = {}
    ids: dict[int, str] = {}
    raters: Counter[int] = Counter()
    for record in records:
        ids[record.answer] = record.id
        if record.kind == "adjudication":
            settled[record.answer] = record.values
        elif record.kind == "rating":
            raters[record.answer] += 1
            for name, value in record.values.items():
                given.setdefault(record.answer, {}).setdefault(name, []).append(value)
    found: list[Disputed] = []
    for answer, by_dimension in given.items():
        name, values = max(by_dimension.items(), key=lambda one: max(one[1]) - min(one[1]))
        # 0.3 - 0.1 is less than 0.2.
        apart = round(max(values) - min(values), 9)
        if apart > 0:
            ratings = tuple(sorted(values))
            final = settled.get(answer, {}).get(name)
            found.append(Disputed(ids[answer], questions[answer], name, ratings, raters[answer], apart, final))
    return sorted(found, key=lambda one: (-one.apart, one.id))


def _check_rule(rule: StoppingRule, rated: Rated | None, complete: int, *, advice: str) -> Stopping:
    """Return the state of the rule; `advice` ends the sentence about one that is not met, and is "" after the end."""

    def answer(value: float | None, reached: bool, state: str) -> Stopping:
        sentence = f"{state}{': stop' if reached and advice else advice}."
        return Stopping(rule.measure, rule.dimension, rule.limit, value, reached, f"{state}.", sentence)

    if rule.measure == "answers":
        reached = complete >= rule.limit
        return answer(float(complete), reached, f"{complete} of {rule.limit:g} answers have all their ratings")
    what = f"the mean of {rule.dimension}"
    width = None
    if rule.measure != "mean":
        what = f"{STATISTICS[rule.measure].title} of {rule.dimension}"
        if rated is not None:
            for row in measure_agreement(rated, statistics=(rule.measure,)):
                if row.dimension == rule.dimension and row.low is not None and row.high is not None:
                    width = row.high - row.low
    elif rated is not None:
        width = _width_of_mean(rated, rule.dimension)
    if width is None:
        return answer(None, False, f"The 95% interval of {what} is not known yet")
    # With as many digits as tell it from the limit.
    shown = write_decimal(width, find_digits(width, rule.limit, digits=2))
    sentence = f"The 95% interval of {what} is {shown} wide, and {rule.limit:g} is enough"
    return answer(width, width <= rule.limit, sentence)


def _width_of_mean(rated: Rated, dimension: str) -> float | None:
    """Return the width of the 95% interval of the mean rating, by the jackknife over questions."""
    means = rated.ratings_of(dimension)
    used = ~np.isnan(means)
    questions = np.unique(rated.questions[used], return_inverse=True)[1]
    if not used.any() or questions.max() < 1:
        return None
    sums, sizes = np.bincount(questions, weights=means[used]), np.bincount(questions)
    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    count = len(sums)
    variance = (count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum())
    if variance == 0:
        # Equal ratings so far say nothing about how much others would differ.
        return None
    return 2 * student_quantile(0.975, count - 1) * math.sqrt(variance)
