import pytest

from imapeval.study.data.ratings import read_ratings
from imapeval.study.data.ratings.summary import RaterShare, RatingBar, summarise_ratings
from tests.study.data.ratings.conftest import Write


def test_a_dimension_in_numbers(write: Write):
    text = "id,rater,accuracy,safety\na,anna,4,\na,ben,5,1\nb,anna,4,\nc,ben,,\n"
    accuracy, safety = summarise_ratings(read_ratings(write("r.csv", text)))
    assert (accuracy.answers, accuracy.missing, accuracy.ratings) == (2, 1, 3)
    assert (accuracy.low, accuracy.high, accuracy.mean) == (4, 5, pytest.approx(13 / 3))
    assert accuracy.bars == (RatingBar(4, 4, 2), RatingBar(5, 5, 1))
    assert accuracy.by_rater == {"anna": RaterShare(2, 4), "ben": RaterShare(1, 5)}
    assert (safety.answers, safety.missing, safety.by_rater) == (1, 2, {"ben": RaterShare(1, 1)})


def test_many_different_ratings_go_into_bins(write: Write):
    rows = "".join(f"a{n},{n}\n" for n in range(101))
    (found,) = summarise_ratings(read_ratings(write("r.csv", "id,quality\n" + rows)))
    # Bins of ten, the last with 100 as well.
    assert found.bars == (*(RatingBar(n, n + 10, 10) for n in range(0, 90, 10)), RatingBar(90, 100, 11))
    assert found.by_rater == {}
