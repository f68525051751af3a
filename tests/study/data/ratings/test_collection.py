import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.study.data.ratings.collection import match_ids
from imapeval.study.data.ratings.reading import read_ratings
from tests.study.data.ratings.conftest import Write


def test_an_answer_is_named_in_one_way(write: Write):
    # Which of two rows is of the answer "a" of the system X is known only from the run.
    found = read_ratings(write("r.csv", "id,rater,system,accuracy\na,anna,X,5\na,ben,,1\n"))
    with pytest.raises(UsageError, match="'a'"):
        match_ids(found, {"a": "X"})
    assert match_ids(found, {"a": "Y"}).ids == ("a/X", "a")
    with pytest.raises(UsageError, match="'a/X'"):
        read_ratings(write("r.csv", "id,rater,system,accuracy\na/X,anna,,5\na,ben,X,1\na,ben,Y,1\n"))


def test_a_dimension_that_is_asked_for_twice_is_read_once(write: Write):
    found = read_ratings(write("r.csv", "id,accuracy\na,2\nb,3\n"), dimensions=["accuracy", "accuracy"])
    assert found.dimensions == ("accuracy",)
    np.testing.assert_array_equal(found.average(), [[2], [3]])
