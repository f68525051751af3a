from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from imapeval.errors import ResourceError, UsageError
from imapeval.rating import UnknownItemError
from imapeval.rating.administration import issue_links, stop
from imapeval.rating.export import list_exported
from imapeval.rating.monitoring import overview
from imapeval.rating.reassignment import HandedOver, adjudicate, reassign

if TYPE_CHECKING:
    from imapeval.rating import RatingStudy
    from tests.rating.conftest import Studies


def count_ratings(study: RatingStudy) -> Counter[str]:
    """Return the number of raters by answer, each rater once."""
    with study.database.read() as connection:
        query = sa.text("SELECT DISTINCT id, rater FROM study_ratings")
        return Counter(row.id for row in connection.execute(query))


def test_what_a_rater_leaves_goes_to_the_others(studies: Studies):
    study, raters = studies.make(questions=6, raters=2, panel=5, gold=studies.checks("gold", 1, 4.0))
    leaver = raters[0]
    studies.rate_all(study, leaver, most=3)
    half = studies.take(study, leaver)
    study.save(leaver, half.token, studies.enter(completeness=None))
    left = sum(1 for _ in study.progress(leaver).open)
    found = reassign(study, leaver.name)
    # The gold item is the leaver's own and goes to nobody.
    assert sum(found.given.values()) in (left, left - 1)
    assert (found.open, found.secret) == (0, None)
    assert study.progress(leaver).total == 3
    with pytest.raises(UnknownItemError):
        study.save(leaver, half.token, studies.enter())
    for rater in raters[1:]:
        seen = studies.rate_all(study, rater)
        responses = [item.response for item in seen]
        assert len(set(responses)) == len(responses)
        assert all(one.question != other.question for one, other in pairwise(seen))
    assert set(count_ratings(study).values()) == {2}
    assert len(count_ratings(study)) == 18


def test_a_new_rater_takes_over_with_training_and_checks(studies: Studies):
    study, raters = studies.make(
        questions=6, training=studies.checks("training", 1, 4.0), gold=studies.checks("gold", 2, 4.0), panel=3
    )
    studies.rate_all(study, raters[0], most=5)
    found = reassign(study, raters[0].name, to="successor")
    successor = studies.identify(study, found.secret)
    seen = studies.rate_all(study, successor)
    assert seen[0].training
    assert sum("gold" in item.response for item in seen) == 2
    assert len(seen) == found.given["successor"] + 3
    assert all(one.question != other.question for one, other in pairwise(seen))
    for rater in raters[1:]:
        studies.rate_all(study, rater)
    assert set(count_ratings(study).values()) == {2}


def test_nobody_new_gets_the_checks_alone(studies: Studies):
    study, raters = studies.make(questions=2, raters=2, panel=2, gold=studies.checks("gold", 1, 4.0))
    for rater in raters:
        studies.rate_all(study, rater)
    assert reassign(study, raters[0].name, to="successor") == HandedOver({}, 0, None)
    assert overview(study).finished
    stop(study, reason="all is rated")
    assert {record["rater"] for record in list_exported(study, everything=True)} == {rater.name for rater in raters}


def test_ratings_without_a_taker_wait_for_one(studies: Studies):
    # All three have every answer, so that nobody can take over.
    study, raters = studies.make(questions=2, raters=3, panel=3)
    found = reassign(study, raters[0].name)
    assert (found.given, found.open) == ({}, 6)
    assert overview(study).unassigned == 6
    second = reassign(study, raters[1].name, to="successor")
    # One answer is given to a rater once.
    assert (second.given, second.open) == ({"successor": 6}, 6)
    for rater in (raters[2], studies.identify(study, second.secret)):
        studies.rate_all(study, rater)
    assert set(count_ratings(study).values()) == {2}
    third = reassign(study, raters[0].name, to="another")
    studies.rate_all(study, studies.identify(study, third.secret))
    assert set(count_ratings(study).values()) == {3}
    assert overview(study).complete == 6


def test_names_that_cannot_take_over(sqlite_studies: Studies):
    study, raters = sqlite_studies.make()
    for name, to in (("nobody", None), (raters[0].name, raters[0].name), (raters[0].name, " ")):
        with pytest.raises(UsageError):
            reassign(study, name, to=to)
    reassign(study, raters[0].name)
    with pytest.raises(UsageError):
        reassign(study, raters[1].name, to=raters[0].name)
    with pytest.raises(UsageError, match="3"):
        issue_links(study, ["late"])
    with pytest.raises(UsageError, match="already"):
        issue_links(study, [raters[0].name])


def test_a_command_quotes_a_name_with_a_space(sqlite_studies: Studies):
    study, _ = sqlite_studies.make(names=0)
    issue_links(study, ["Anna Berg"])
    with pytest.raises(UsageError, match="--reissue 'Anna Berg'"):
        issue_links(study, ["Anna Berg"])


def test_disputes_are_settled_without_names(studies: Studies):
    study, raters = studies.make(questions=2, raters=2, panel=2)
    for rater, accuracy in zip(raters, (1.0, 5.0), strict=True):
        studies.rate_all(
            study,
            rater,
            lambda item, accuracy=accuracy: studies.enter(
                accuracy if "ailment 0" in item.question else 3.0, None, cannot_judge={"completeness": "no idea"}
            ),
        )
    disputed = overview(study).disputed
    assert [(one.id.split("/")[0], one.dimension, one.ratings, one.apart) for one in disputed] == [
        ("0", "accuracy", (1.0, 5.0), 4.0)
    ] * 3
    with pytest.raises(UsageError):
        adjudicate(study, [one.id for one in disputed], by=raters[0].name)
    with pytest.raises(UsageError):
        adjudicate(study, ["unknown"], by="judge")
    found = adjudicate(study, [one.id for one in disputed], by="judge")
    judge = studies.identify(study, found.secret)
    assert judge.role == "adjudicator"
    seen = studies.rate_all(study, judge, lambda _: studies.enter(4.0))
    assert len(seen) == 3
    for item in seen:
        assert item.adjudication
        assert sorted(one.values["accuracy"] for one in item.earlier) == [1.0, 5.0]
        assert all(one.cannot_judge == {"completeness": "no idea"} for one in item.earlier)
        assert "rater-" not in repr(item)
    assert {one.adjudicated for one in overview(study).disputed} == {4.0}
    # What is settled is not given again, and is no rating of the study.
    again = adjudicate(study, [one.id for one in disputed], by="judge")
    assert (again.given, again.secret) == ({"judge": 0}, None)
    assert set(count_ratings(study).values()) == {2}


@pytest.mark.parametrize("change", ["slot = 'x'", "token = iif(position = 1, CAST(token AS BLOB), token)"])
def test_assignments_altered_by_hand_are_reported(sqlite_studies: Studies, change: str):
    study, raters = sqlite_studies.make(questions=3, raters=1, panel=2)
    with closing(sqlite3.connect(sqlite_studies.place)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        connection.execute(f"UPDATE assignments SET {change} WHERE rater = ?", [raters[0].id])
    with pytest.raises(ResourceError, match=r"study\.db"):
        reassign(study, raters[0].name)


def test_disputes_of_an_adjudicator_who_leaves_go_to_another(sqlite_studies: Studies):
    study, raters = sqlite_studies.make(questions=2, raters=2, panel=2)
    for rater, accuracy in zip(raters, (1.0, 5.0), strict=True):
        sqlite_studies.rate_all(study, rater, lambda _, accuracy=accuracy: sqlite_studies.enter(accuracy))
    disputed = [one.id for one in overview(study).disputed]
    judge = sqlite_studies.identify(study, adjudicate(study, disputed, by="judge").secret)
    sqlite_studies.rate_all(study, judge, most=1)
    with pytest.raises(UsageError, match="'judge'"):
        reassign(study, "judge", to="judge2")
    assert reassign(study, "judge").given == {}
    found = adjudicate(study, disputed, by="judge2")
    assert found.given == {"judge2": len(disputed) - 1}
    sqlite_studies.rate_all(study, sqlite_studies.identify(study, found.secret))
    assert all(one.adjudicated is not None for one in overview(study).disputed)


def test_disputes_of_a_stopped_study_are_settled_and_its_raters_stay(sqlite_studies: Studies):
    study, raters = sqlite_studies.make(questions=2, raters=2, panel=3, names=2)
    for rater, accuracy in zip(raters, (1.0, 5.0), strict=True):
        sqlite_studies.rate_all(study, rater, lambda _, accuracy=accuracy: sqlite_studies.enter(accuracy))
    stop(study, reason="enough")
    disputed = overview(study).disputed
    assert disputed
    judge = sqlite_studies.identify(study, adjudicate(study, [one.id for one in disputed], by="judge").secret)
    assert study.item_at(judge, 1).position == 1
    assert len(sqlite_studies.rate_all(study, judge)) == len(disputed)
    assert all(one.adjudicated is not None for one in overview(study).disputed)
    # Adjudicators go on after the end, and so are not late.
    assert not any(row["after_stop"] for row in list_exported(study, everything=True))
    with pytest.raises(UsageError, match="stopped"):
        reassign(study, raters[0].name)
    with pytest.raises(UsageError, match="stopped"):
        issue_links(study, ["late"])
    # Entries that were made offline can be sent with a new link.
    assert issue_links(study, [raters[0].name], again=True)
    assert reassign(study, "judge").given == {}


def test_an_adjudicator_who_leaves_a_stopped_study_hands_over_nothing(sqlite_studies: Studies):
    study, raters = sqlite_studies.make(questions=2, raters=2, panel=3)
    left = reassign(study, raters[0].name, to=raters[1].name).open
    assert left > 0
    adjudicate(study, [], by="judge")
    stop(study, reason="enough")
    assert reassign(study, "judge") == HandedOver({}, 0)
    assert overview(study).unassigned == left


def test_an_adjudicator_does_not_take_over_from_a_rater(sqlite_studies: Studies):
    study, raters = sqlite_studies.make()
    adjudicate(study, [], by="judge")
    with pytest.raises(UsageError, match=r"'judge'.*adjudicator"):
        reassign(study, raters[0].name, to="judge")


@pytest.mark.parametrize("most", [0, 1])
def test_side_by_side_reassigned_answers_are_beside_those_of_their_question(sqlite_studies: Studies, most: int):
    study, raters = sqlite_studies.make(questions=6, raters=2, panel=4, side_by_side=True)
    begun = {rater.name: sqlite_studies.rate_all(study, rater, most=most) for rater in raters[1:]}
    reassign(study, raters[0].name)
    for rater in raters[1:]:
        asked = [item.question for item in (*begun[rater.name], *sqlite_studies.rate_all(study, rater))]
        assert len([*groupby(asked)]) == len(set(asked))
