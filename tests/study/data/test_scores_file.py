import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from imapeval.errors import InputError, UsageError
from imapeval.study.data.rated import Rated, choose_metrics
from imapeval.study.data.scores_file import add_scores, describe_matching, read_scores
from tests.study.answers import make_rated


@pytest.fixture
def rated() -> Rated:
    return make_rated([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], ids=("a", "b", "c"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wide.csv", "id,answer,theirs,other\nc,well,.5,1\na,so,,2\nx,?,.9,3\n"),
        ("long.csv", "id,metric,value\nc,theirs,.5\na,theirs,NA\nx,theirs,.9\nc,other,1\na,other,2\nx,other,3\n"),
        ("long.jsonl", '{"id": "c", "metric": "theirs", "score": 0.5}\n{"id": "c", "metric": "other", "score": 1}\n'
         '{"id": "a", "metric": "other", "score": 2}\n'),
    ],
)  # fmt: skip
def test_tables_wide_and_long(tmp_path: Path, rated: Rated, name: str, content: str):
    (tmp_path / name).write_text(content)
    found = add_scores(rated, read_scores(tmp_path / name))
    assert found.metrics == ("m", "theirs", "other")
    np.testing.assert_allclose(found.scores, [[1, np.nan, 2], [2, np.nan, np.nan], [3, 0.5, 1]])
    assert choose_metrics(found, ["other", "m"]).scores.tolist()[0] == [2.0, 1.0]


def test_texts_that_are_numbers_are_no_scores(tmp_path: Path):
    rows = ("id,question,response,reference,system,theirs", "a,6 * 7?,42,42,1,.5", "b,?,well,so,2,1")
    (tmp_path / "s.csv").write_text("\n".join(rows))
    assert read_scores(tmp_path / "s.csv").scores == {"theirs": {"a": 0.5, "b": 1.0}}


def test_rows_may_complete_one_another(tmp_path: Path):
    (tmp_path / "s.csv").write_text("id,m,n\na,4,\na,,3\n")
    assert read_scores(tmp_path / "s.csv").scores == {"m": {"a": 4.0}, "n": {"a": 3.0}}


def test_decimal_commas_between_semicolons(tmp_path: Path):
    (tmp_path / "s.csv").write_text("id;m\na;4,5\nb;3,5\n")
    assert read_scores(tmp_path / "s.csv").scores == {"m": {"a": 4.5, "b": 3.5}}


def test_scores_of_two_systems_with_one_id(tmp_path: Path):
    (tmp_path / "s.csv").write_text("id,system,m\na,A,4\na,B,3\n")
    with pytest.raises(InputError, match="a/B"):
        read_scores(tmp_path / "s.csv")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("id,m2\na,1\na,2\n", 3),
        ("id,m2\na,1\nb,high\n", 3),
        ("key,m2\na,1\n", 2),
        ("id,metric,value\na,,1\n", 2),
        ("id,m2\na,1\nb,1e200\n", 3),
        ('id,m2\na,1\nb,"0,5"\n', 3),
        ("id,m2\na,\n", None),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str, line: int | None):
    (tmp_path / "s.csv").write_text(content)
    with pytest.raises(InputError) as caught:
        read_scores(tmp_path / "s.csv")
    assert (caught.value.path, caught.value.line) == (tmp_path / "s.csv", line)
    # Options for files of ratings do not apply.
    assert not re.search("rating|--", str(caught.value))


@pytest.mark.skipif(sys.platform == "win32", reason="needs the pipes of POSIX systems")
def test_a_pipe_cannot_be_hashed(tmp_path: Path):
    os.mkfifo(tmp_path / "s.csv")
    with pytest.raises(InputError):
        read_scores(tmp_path / "s.csv")


def test_names_and_ids_must_fit(tmp_path: Path, rated: Rated):
    (tmp_path / "s.csv").write_text("id,m\na,1\n")
    with pytest.raises(UsageError, match="'m'"):
        add_scores(rated, read_scores(tmp_path / "s.csv"))
    (tmp_path / "s.csv").write_text("id,n\nz,1\n")
    with pytest.raises(UsageError, match="none of its ids"):
        add_scores(rated, read_scores(tmp_path / "s.csv"))


def test_what_does_not_match_is_counted_and_named(tmp_path: Path, rated: Rated):
    rows = ["id,theirs,other", "a,1,1", "b,,2", "left-out,1,1", *(f"x{n},1,1" for n in range(5))]
    (tmp_path / "s.csv").write_text("\n".join(rows))
    imported = read_scores(tmp_path / "s.csv")
    strays, theirs, other = describe_matching(add_scores(rated, imported), imported, unrated=("left-out",))
    assert "5 of 8 ids" in strays
    assert "x0, x1, x2 and 2 more" in strays
    assert "2 of 3 answers have no score by theirs: b, c." in theirs
    assert "1 of 3 answers have no score by other: c." in other
    (tmp_path / "s.csv").write_text("id,n\na,1\nb,1\nc,1\n")
    imported = read_scores(tmp_path / "s.csv")
    assert describe_matching(add_scores(rated, imported), imported) == ()
