from dataclasses import replace

import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.disagreements import find_disagreements
from tests.study.answers import make_rated


def make(scores: list[float], ratings: list[float], **changes: object) -> Rated:
    n = len(scores)
    rated = make_rated(np.array(scores), np.array(ratings), ids=tuple("abcdefgh"[:n]))
    return replace(rated, **changes)


def test_the_largest_gap_comes_first():
    rows = find_disagreements(make([0.1, 0.2, 0.3, 0.4, 0.9], [5, 2, 3, 4, 1]), "m", "accuracy")
    assert [(row.id, row.score_rank, row.rating_rank) for row in rows] == [("a", 0, 1), ("e", 1, 0)]
    assert (rows[0].score, rows[0].rating, rows[0].metric, rows[0].dimension) == (0.1, 5, "m", "accuracy")


def test_ties_share_the_middle_of_their_places():
    # Scores: places 1 and 2 of 1..4 are shared, and so are 3 and 4: (1.5 - 1) / 3 and (3.5 - 1) / 3.
    rows = find_disagreements(make([1, 1, 2, 2], [3, 4, 2, 5]), "m", "accuracy")
    places = {row.id: (row.score_rank, row.rating_rank) for row in rows}
    assert places == {
        "a": (pytest.approx(1 / 6), pytest.approx(1 / 3)),
        "b": (pytest.approx(1 / 6), pytest.approx(2 / 3)),
        "c": (pytest.approx(5 / 6), pytest.approx(0)),
        "d": (pytest.approx(5 / 6), pytest.approx(1)),
    }
    assert [row.id for row in rows] == ["c", "b", "a", "d"]


def test_only_answers_with_both_count():
    rated = make([0.1, np.nan, 0.3, 0.4], [3, 1, np.nan, 2])
    assert [(row.id, row.score_rank) for row in find_disagreements(rated, "m", "accuracy")] == [("a", 0), ("d", 1)]


def test_agreement_is_no_disagreement():
    assert find_disagreements(make([1, 2, 3], [2, 3, 4]), "m", "accuracy") == []


def test_one_answer_has_no_place():
    assert find_disagreements(make([1, np.nan], [2, 3]), "m", "accuracy") == []


def test_no_more_than_asked_for_and_the_earlier_first():
    rows = find_disagreements(make([1, 2, 3, 4], [4, 3, 2, 1]), "m", "accuracy", count=1)
    assert [row.id for row in rows] == ["a"]


def test_a_score_that_is_better_low_is_shown_as_it_is():
    rated = make([10.0, 20, 30], [5, 1, 3], lower_is_better=frozenset({"m"}))
    rows = find_disagreements(rated, "m", "accuracy")
    assert [(row.id, row.score, row.score_rank, row.rating_rank) for row in rows] == [
        ("b", 20, 0.5, 0),
        ("c", 30, 0, 0.5),
    ]


@pytest.mark.parametrize(("metric", "dimension"), [("x", "accuracy"), ("m", "x")])
def test_unknown_names(metric, dimension):
    with pytest.raises(UsageError, match="'x'"):
        find_disagreements(make([1, 2], [1, 2]), metric, dimension)
