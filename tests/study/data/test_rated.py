from pathlib import Path

import numpy as np
import pytest

from imapeval.study.data.rated import rated_without_scores
from imapeval.study.data.ratings import read_ratings
from tests.study.answers import make_rated


def test_ratings_of_a_file(tmp_path: Path):
    file = tmp_path / "ratings.csv"
    file.write_text("id,rater,accuracy\nx,ann,3\nx,bo,5\ny,ann,1\nz,bo,2\n", "utf-8")
    given = read_ratings(file)
    rated = rated_without_scores(given, questions={"x": "Why?", "z": "Why?"})
    assert rated.ids == ("x", "y", "z")
    assert rated.questions.tolist() == [0, 1, 0]
    assert rated.ratings_of("accuracy").tolist() == [4, 1, 2]
    assert np.array_equal(rated.by_rater["accuracy"], [[3, 5], [1, np.nan], [np.nan, 2]], equal_nan=True)
    assert rated_without_scores(given).questions.tolist() == [0, 1, 2]


def test_averages_stay_averages(tmp_path: Path):
    file = tmp_path / "ratings.csv"
    file.write_text("id,accuracy\nx,3\ny,1\n", "utf-8")
    rated = rated_without_scores(read_ratings(file))
    assert rated.by_rater == {}
    assert rated.raters == ()


@pytest.mark.parametrize("name", ["system", "dimension"])
def test_the_facets_of_every_study_are_not_replaced(name: str):
    with pytest.raises(ValueError, match=f"'{name}'"):
        make_rated(np.arange(2), np.arange(2), facets={name: ("p", "q")})
    with pytest.raises(ValueError, match=f"'{name}'"):
        make_rated(np.arange(2), np.arange(2), covariates={name: np.arange(2.0)})
