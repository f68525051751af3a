from typing import get_args

import pytest

from imapeval.rating.model import Kind
from imapeval.study.data.ratings import read_ratings
from imapeval.study.data.ratings.tables import STUDY_KINDS
from tests.study.data.ratings.conftest import Write, content


def test_rows_of_an_export_that_are_no_ratings_are_left_out_and_counted(write: Write):
    assert frozenset(get_args(Kind)) == STUDY_KINDS
    rows = "a,anna,4,rating\na,anna,2,repeat\na,zoe,1,adjudication\ng,anna,5,gold\nb,anna,3,rating\nh,anna,5,gold\n"
    found = read_ratings(write("all.csv", f"id,rater,ratings.accuracy,kind\n{rows}"))
    assert content(found) == {("a", "accuracy", "anna"): 4, ("b", "accuracy", "anna"): 3}
    assert found.left_out == {
        "rows of the kind 'repeat'": 1,
        "rows of the kind 'adjudication'": 1,
        "rows of the kind 'gold'": 2,
    }


@pytest.mark.parametrize("kinds", [("adjudication", "adjudication"), ("rating", "essay"), ("rating", "")])
def test_kinds_that_are_not_of_an_export_leave_out_nothing(write: Write, kinds: tuple[str, str]):
    text = f"id,rater,ratings.accuracy,kind\na,anna,4,{kinds[0]}\nb,anna,3,{kinds[1]}\n"
    assert len(content(read_ratings(write("r.csv", text)))) == 2
