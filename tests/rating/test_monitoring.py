from __future__ import annotations

import random
from typing import TYPE_CHECKING
from unittest.mock import ANY

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.rating.monitoring import Stopping, overview, parse_stopping_rule
from imapeval.rating.rater_status import judge_rater
from imapeval.rating.records import RatingRecord, read_records
from imapeval.study.agreement.measure import measure_agreement
from imapeval.study.data.rated import rated_without_scores
from imapeval.study.data.ratings import read_ratings
from tests.rating.site import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.rating import Entry, Item, RatingStudy
    from imapeval.rating.rater_status import RaterStatus
    from imapeval.study.arrays import Floats
    from tests.rating.conftest import Studies


def truth(item: Item) -> float:
    """Return what an answer is worth: the same for every rater."""
    return random.Random(item.response).choice([0.5, 1.5, 2.5, 3.5, 4.5])


def rate_as(studies: Studies, rate: Callable[[Item, random.Random], float], seed: int) -> Callable[[Item], Entry]:
    rng = random.Random(seed)

    def enter(item: Item) -> Entry:
        value = min(5.0, max(0.0, round(rate(item, rng) * 2) / 2))
        return studies.enter(value, value, seconds=10)

    return enter


def careful(item: Item, rng: random.Random) -> float:
    return 1.0 if "attention" in item.response else truth(item) + rng.choice([-0.5, 0, 0.5])


@pytest.fixture(scope="module")
def careless(shared_studies: Studies) -> RatingStudy:
    """Two careful raters, one who answers at random, and one who always gives 4; only read."""
    study, raters = shared_studies.make(
        questions=10, raters=4, panel=4, repeats=4, attention=shared_studies.checks("attention", 2, 1.0)
    )
    manners: list[Callable[[Item, random.Random], float]] = [
        careful,
        careful,
        lambda _, rng: rng.uniform(0, 5),
        lambda _item, _rng: 4.0,
    ]
    for seed, (rater, manner) in enumerate(zip(raters, manners, strict=True)):
        shared_studies.rate_all(study, rater, rate_as(shared_studies, manner, seed))
    return study


def test_careless_raters_are_noticed(careless: RatingStudy):
    first, second, guessing, straight = overview(careless).raters
    for status in (first, second):
        assert not status.flags
        assert status.with_others is not None
        assert guessing.with_others is not None
        assert status.with_others > guessing.with_others
        assert (status.attention_failed, status.attention_total) == (0, 2)
        assert status.repeat_difference is not None
        assert status.repeat_difference <= 1
        assert status.seconds == 10
    assert any("random" in flag for flag in guessing.flags)
    assert any("attention" in flag for flag in guessing.flags)
    assert guessing.repeat_difference is not None
    assert guessing.repeat_difference > 1
    assert any("all 30 answers" in flag for flag in straight.flags)
    assert straight.repeat_difference == 0


def test_the_correlation_with_others_is_pearsons(careless: RatingStudy):
    # numpy 2: corrcoef.
    with careless.database.read() as connection:
        records = [record for record in read_records(connection) if record.kind == "rating"]
    own = {record.answer: record.values["accuracy"] for record in records if record.rater == "rater-0"}
    rest = [
        np.mean([o.values["accuracy"] for o in records if o.answer == answer and o.rater != "rater-0"])
        for answer in own
    ]
    expected = np.corrcoef(list(own.values()), rest)[0, 1]
    assert overview(careless).raters[0].with_others == pytest.approx(expected)


def record(rater: int, place: int, value: float) -> RatingRecord:
    return RatingRecord(
        answer=place,
        id=f"a{place}",
        question_number=place,
        kind="rating",
        rater_id=rater,
        rater=f"rater-{rater}",
        saw_facts=False,
        order=place + 1,
        values={"accuracy": value},
        cannot_judge={},
        comment="",
        confidence=None,
        spans=(),
        seconds=10.0,
        revision=1,
        saved_at="2026-11-29T12:00:00",
        expected={},
    )


def judge(given: Floats) -> RaterStatus:
    """Judge the last of several raters, each of whom rated all answers in the same order."""
    records = [record(rater, place, value) for (rater, place), value in np.ndenumerate(given)]
    total = given.shape[1]
    return judge_rater(
        "anna", records[-total:], records, DIMENSIONS[:1], role="rater", invited=True, left=False, total=total
    )


def test_drift_is_the_slope_of_a_regression():
    # 48 answers: a change by 2 points beside careful raters was flagged in 100 of 100 simulated studies.
    rng = np.random.default_rng(4)
    given = rng.choice([2.5, 3, 3.5, 4, 4.5], 48) + rng.choice([-0.5, 0, 0.5], (5, 48))
    given[4] -= 2 * np.arange(48) / 48
    # scipy: linregress, and Student's t.
    expected = stats.linregress(np.linspace(0, 1, 48), given[4] - given[:4].mean(axis=0))
    half = stats.t.ppf(0.975, 46) * expected.stderr
    status = judge(given)
    drift = status.drift
    assert drift is not None
    assert drift.change == pytest.approx(expected.slope)
    assert (drift.low, drift.high) == pytest.approx((expected.slope - half, expected.slope + half))
    assert expected.pvalue < 0.01
    assert drift.clear
    assert any(f"stricter by {-drift.change:.2f} " in flag for flag in status.flags)


@pytest.mark.parametrize("apart", [1, 0.5, 1 / 3])
def test_a_constant_difference_is_no_drift(apart: float):
    for size in range(10, 40):
        first = 1.0 + np.arange(size) % 3
        status = judge(np.array([first, first + apart]))
        assert status.drift is not None
        assert not status.drift.clear


def test_a_run_of_equal_ratings_is_noticed(sqlite_studies: Studies):
    study, (rater, other) = sqlite_studies.make(questions=14, raters=2, panel=2)

    def rate(item: Item, rng: random.Random) -> float:
        return 3.0 if item.position > 25 else truth(item)

    sqlite_studies.rate_all(study, rater, rate_as(sqlite_studies, rate, 0))
    sqlite_studies.rate_all(study, other, rate_as(sqlite_studies, careful, 1))
    first, second = overview(study).raters
    assert any("in a row" in flag for flag in first.flags)
    assert not any("in a row" in flag for flag in second.flags)


def test_agreement_is_what_the_study_command_measures(careless: RatingStudy):
    with careless.database.read() as connection:
        questions = {record.id: str(record.question_number) for record in read_records(connection)}
    ratings = read_ratings(careless.database.place)
    expected = {
        (row.dimension, row.statistic): (row.value, row.low, row.high)
        for row in measure_agreement(rated_without_scores(ratings, questions=questions))
    }
    found = {(row.dimension, row.statistic): (row.value, row.low, row.high) for row in overview(careless).agreement}
    assert found.keys() == expected.keys()
    for name, numbers in found.items():
        assert numbers == pytest.approx(expected[name])


def test_progress(studies: Studies):
    study, (rater, *_) = studies.make(questions=4, raters=2, panel=3, names=1)
    empty = overview(study)
    assert (empty.ratings, empty.ratings_total, empty.complete, empty.answers) == (0, 24, 0, 12)
    assert [(one.name, one.invited, one.done, one.total) for one in empty.raters] == [
        ("rater-0", True, 0, 8),
        ("seat 2", False, 0, 8),
        ("seat 3", False, 0, 8),
    ]
    studies.rate_all(study, rater, most=3)
    later = overview(study)
    assert (later.ratings, later.complete, later.raters[0].done) == (3, 0, 3)
    assert later.raters[0].last_saved is not None


def test_a_study_with_repeats_left_is_not_finished(sqlite_studies: Studies):
    study, (rater,) = sqlite_studies.make(raters=1, panel=1, repeats=6)
    while (found := overview(study)).ratings < found.ratings_total:
        assert not found.finished
        sqlite_studies.rate_all(study, rater, most=1)
    assert not found.finished
    assert sqlite_studies.rate_all(study, rater)
    assert overview(study).finished


def test_checks_of_a_seat_without_a_rater_are_not_waited_for(sqlite_studies: Studies):
    # Three answers, so that the last of the four seats has only its gold item.
    gold = sqlite_studies.checks("gold", 1, 4.0)
    study, raters = sqlite_studies.make(questions=1, raters=1, panel=4, names=3, gold=gold)
    for rater in raters:
        sqlite_studies.rate_all(study, rater)
    assert [row.total - row.done for row in overview(study).raters] == [0, 0, 0, 1]
    assert overview(study).finished


def test_stopping_at_a_number_of_answers(sqlite_studies: Studies):
    rule = parse_stopping_rule("answers:6", [])
    study, raters = sqlite_studies.make(questions=2, raters=2, panel=2, stopping=rule)
    sqlite_studies.rate_all(study, raters[0])
    before = overview(study).stopping
    assert before is not None
    assert (before.value, before.reached) == (0, False)
    sqlite_studies.rate_all(study, raters[1])
    after = overview(study).stopping
    assert after is not None
    assert (after.value, after.reached) == (6, True)


def test_stopping_at_the_width_of_an_interval(sqlite_studies: Studies):
    rule = parse_stopping_rule("mean:accuracy:1.2", DIMENSIONS[:1])
    study, raters = sqlite_studies.make(questions=12, raters=2, panel=2, stopping=rule)
    assert overview(study).stopping == Stopping("mean", "accuracy", 1.2, None, False, ANY, ANY)
    for seed, rater in enumerate(raters):
        sqlite_studies.rate_all(
            study, rater, rate_as(sqlite_studies, lambda item, rng: truth(item) + rng.choice([0, 0.5]), seed)
        )
    # Equal numbers of answers per question, so the mean is that of the questions' means (scipy 1.17: Student's t).
    with study.database.read() as connection:
        records = read_records(connection)
    means = [
        np.mean([record.values["accuracy"] for record in records if record.question_number == number])
        for number in range(12)
    ]
    low, high = stats.t.interval(0.95, 11, np.mean(means), stats.sem(means))
    found = overview(study).stopping
    assert found is not None
    assert found.value == pytest.approx(high - low)
    assert found.reached == (high - low <= 1.2)
    assert f"is {high - low:.2f} wide, and 1.2 is enough" in found.sentence


def test_stopping_at_the_width_of_agreement(sqlite_studies: Studies):
    rule = parse_stopping_rule("krippendorff_alpha_interval:accuracy:0.9", DIMENSIONS[:1])
    study, raters = sqlite_studies.make(questions=8, raters=2, panel=2, stopping=rule)
    for seed, rater in enumerate(raters):
        sqlite_studies.rate_all(
            study, rater, rate_as(sqlite_studies, lambda item, rng: truth(item) + rng.choice([0, 0.5]), seed)
        )
    state = overview(study)
    (row,) = [one for one in state.agreement if (one.dimension, one.statistic) == (rule.dimension, rule.measure)]
    assert state.stopping is not None
    assert row.low is not None
    assert row.high is not None
    assert state.stopping.value == pytest.approx(row.high - row.low)
    assert state.stopping.reached


@pytest.mark.parametrize(
    "text",
    [
        *("", "mean", "mean:accuracy", "mean:style:1", "x:accuracy:1"),
        *("mean:accuracy:x", "mean:accuracy:inf", "mean:accuracy:nan"),
        *("answers:0", "answers:inf", "answers:accuracy:3"),
    ],
)
def test_rules_that_are_none(text: str):
    with pytest.raises(UsageError, match="--stop"):
        parse_stopping_rule(text, DIMENSIONS)
