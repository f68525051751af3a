import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from openpyxl import Workbook

from imapeval.errors import InputError, UsageError
from imapeval.study.data.ratings import read_ratings
from imapeval.study.data.ratings.collection import average_exactly
from imapeval.study.data.scales import RatingScale
from tests.study.data.ratings.conftest import Write, content

WIDE = "id,accuracy,safety\na,4.5,\n7,3,1\n"
LONG = "id,dimension,rating\na,accuracy,4.5\n7,accuracy,3\n7,safety,1\n"
RATED = "id,rater,accuracy,safety\na,anna,4,\na,ben,5,\n7,anna,3,1\n7,ben,3,\n"
LONG_RATED = (
    "rater,id,dimension,rating\nanna,a,accuracy,4\nben,a,accuracy,5\nanna,7,accuracy,3\nanna,7,safety,1\n"
    "ben,7,accuracy,3\n"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", WIDE),
        ("r.csv", "\ufeff" + WIDE),
        ("r.csv", LONG),
        ("r.jsonl", '{"id": "a", "accuracy": 4.5, "safety": null}\n{"id": 7, "accuracy": "3", "safety": 1}'),
        ("r.jsonl", '{"id": "a", "accuracy": 4.5}\n\n{"id": 7, "accuracy": 3, "safety": 1}\n'),
        ("r.json", '[{"id": "a", "accuracy": 4.5}, {"id": 7, "accuracy": 3, "safety": 1}]'),
        ("r.csv", "id,ratings.accuracy,ratings.safety,question\na,4.5,,What?\n7,3,1,Why?\n"),
        ("r.jsonl", '{"id": "a", "ratings": {"accuracy": 4.5}}\n{"id": 7, "ratings": {"accuracy": 3, "safety": 1}}'),
    ],
)
def test_wide_and_long_say_the_same(write: Write, name: str, text: str):
    found = read_ratings(write(name, text))
    assert content(found) == {("a", "accuracy", ""): 4.5, ("7", "accuracy", ""): 3.0, ("7", "safety", ""): 1.0}
    assert (found.ids, found.dimensions, found.raters) == (("a", "7"), ("accuracy", "safety"), ())
    np.testing.assert_array_equal(found.average(), [[4.5, np.nan], [3, 1]])


def test_parquet(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")
    path = tmp_path / "r.parquet"
    table = pyarrow.table({"id": ["a", "b"], "accuracy": [4.5, None], "safety": pyarrow.array([None, 2], "int64")})
    parquet.write_table(table, path)
    assert content(read_ratings(path)) == {("a", "accuracy", ""): 4.5, ("b", "safety", ""): 2.0}


@pytest.mark.parametrize("text", [RATED, LONG_RATED])
def test_several_raters(write: Write, text: str):
    found = read_ratings(write("r.csv", text))
    assert content(found) == {
        ("a", "accuracy", "anna"): 4,
        ("a", "accuracy", "ben"): 5,
        ("7", "accuracy", "anna"): 3,
        ("7", "safety", "anna"): 1,
        ("7", "accuracy", "ben"): 3,
    }
    assert found.raters == ("anna", "ben")
    np.testing.assert_array_equal(found.average(), [[4.5, np.nan], [3, 1]])
    np.testing.assert_array_equal(found.split("accuracy"), [[4, 5], [3, 3]])
    np.testing.assert_array_equal(found.split("safety"), [[np.nan, np.nan], [1, np.nan]])


@pytest.mark.parametrize(
    "text",
    [
        "id,system,rater,accuracy\na,x,anna,4\na,y,anna,2\nb,x,anna,1\n",
        "id,system,rater,dimension,rating\na,x,anna,accuracy,4\na,y,anna,accuracy,2\nb,x,anna,accuracy,1\n",
        "id,system,ratings.accuracy,rater\na,x,4,anna\na,y,2,anna\nb,x,1,anna\n",
    ],
)
def test_ids_that_repeat_between_systems(write: Write, text: str):
    found = read_ratings(write("r.csv", text))
    # As in the data of a run.
    assert content(found) == {
        ("a/x", "accuracy", "anna"): 4,
        ("a/y", "accuracy", "anna"): 2,
        ("b/x", "accuracy", "anna"): 1,
    }
    assert (found.systems, found.unread) == (("x", "y", "x"), ())


def test_systems_that_are_numbers(write: Write):
    rows = [{"id": "a", "model": number, "accuracy": 4} for number in (0, 1)]
    path = write("r.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    found = read_ratings(path, columns={"system": "model"})
    assert (found.ids, found.systems) == (("a/0", "a/1"), ("0", "1"))


@pytest.mark.parametrize("missing", ["NaN", "null", '""'])
def test_missing_values_of_json(write: Write, missing: str):
    found = read_ratings(
        write(
            "r.jsonl",
            '{"id": "a", "system": "x", "accuracy": 4}\n'
            f'{{"id": "b", "system": {missing}, "accuracy": 3}}\n{{"id": "c", "system": "x", "accuracy": {missing}}}\n',
        )
    )
    assert content(found) == {("a", "accuracy", ""): 4, ("b", "accuracy", ""): 3}
    assert found.systems[:2] == ("x", "")


def test_a_system_may_have_another_column_or_none(write: Write):
    path = write("r.csv", "id,model,accuracy\na,x,4\na,y,2\n")
    found = read_ratings(path, columns={"system": "model"})
    assert (found.ids, found.systems) == (("a/x", "a/y"), ("x", "y"))
    with pytest.raises(InputError, match="--map system="):
        read_ratings(path, dimensions=["accuracy"])
    found = read_ratings(write("s.csv", "id,system,accuracy\na,x,4\nb,,2\n"))
    assert (found.ids, found.systems) == (("a", "b"), ("x", ""))
    grid = write("g.csv", "id,system,anna_accuracy,ben_accuracy\na,x,4,5\na,y,3,3\n")
    found = read_ratings(grid, columns={"accuracy": "anna:anna_accuracy,ben:ben_accuracy"})
    assert (found.ids, found.raters, found.unread) == (("a/x", "a/y"), ("anna", "ben"), ())
    # Numbers are ratings of a dimension.
    found = read_ratings(write("n.csv", "id,system,accuracy\na,1,4\n"))
    assert (found.dimensions, found.systems) == (("system", "accuracy"), ())


def test_columns_are_mapped(write: Write):
    path = write("r.csv", "answer,who,criterion,stars\na,anna,accuracy,4\n")
    columns = {"id": "answer", "rater": "who", "dimension": "criterion", "rating": "stars"}
    assert content(read_ratings(path, columns=columns)) == {("a", "accuracy", "anna"): 4}
    path = write("w.csv", "answer,Average_accuracy_score\na,4\n")
    found = read_ratings(path, columns={"id": "answer", "accuracy": "Average_accuracy_score"})
    assert content(found) == {("a", "accuracy", ""): 4}


def test_dimensions_are_chosen_in_their_order_and_the_rest_is_named(write: Write):
    path = write("r.csv", "id,accuracy,comment,safety\na,4,too long,1\n")
    found = read_ratings(path, dimensions=["safety", "accuracy"])
    assert found.dimensions == ("safety", "accuracy")
    np.testing.assert_array_equal(found.average(), [[1, 4]])
    assert found.unread == ("comment",)
    # A scale that is declared for all files of a study may be of a dimension that is not looked at.
    assert read_ratings(path, dimensions=["accuracy"], scales={"safety": RatingScale(0, 1)}).dimensions == ("accuracy",)


def test_the_index_that_pandas_writes_is_no_rating(write: Write):
    found = read_ratings(write("r.csv", ",id,accuracy\n0,a,4\n1,b,2\n"))
    assert (found.dimensions, found.unread) == (("accuracy",), ("",))


def test_not_available_is_not_rated_and_counted(write: Write):
    found = read_ratings(write("r.csv", "id,accuracy\na,NA\nb,2\nc, \nd,n/a\n"))
    assert content(found) == {("b", "accuracy", ""): 2}
    assert found.left_out == {"cells that say 'NA'": 1, "cells that say 'n/a'": 1}
    assert len(found.ids) == 4


def test_words_have_the_numbers_that_are_given(write: Write):
    found = read_ratings(write("r.csv", "id,tone\na,poor\nb,good\n"), labels={"poor": 1, "good": 3})
    assert content(found) == {("a", "tone", ""): 1, ("b", "tone", ""): 3}


def test_a_label_may_say_what_is_not_available_elsewhere(write: Write):
    found = read_ratings(write("r.csv", "id,accuracy\na,NA\nb,4\n"), labels={"NA": 1})
    assert content(found) == {("a", "accuracy", ""): 1, ("b", "accuracy", ""): 4}


@pytest.mark.parametrize("turn", [1, -1])
def test_rows_may_complete_one_another(write: Write, turn: int):
    rows = ["a,anna,4,", "a,anna,,3"][::turn]
    found = read_ratings(write("r.csv", "\n".join(["id,rater,accuracy,safety", *rows])))
    assert content(found) == {("a", "accuracy", "anna"): 4, ("a", "safety", "anna"): 3}
    assert len(found.ids) == 1


def test_decimal_commas_between_semicolons(write: Write):
    found = read_ratings(write("r.csv", "id;accuracy\na;4,5\nb;-1\n"))
    assert content(found) == {("a", "accuracy", ""): 4.5, ("b", "accuracy", ""): -1}


@pytest.mark.parametrize("row", [("#N/A", 4), ("a", "#N/A")])
def test_a_cell_with_an_error_is_named(tmp_path: Path, row: tuple[str, str | int]):
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["id", "accuracy"])
    sheet.append([*row])
    book.save(tmp_path / "r.xlsx")
    with pytest.raises(InputError, match="#N/A") as caught:
        read_ratings(tmp_path / "r.xlsx")
    assert (caught.value.line, caught.value.unit) == (2, "row")
    assert not re.search("UnusableCell|--", str(caught.value))


@pytest.mark.parametrize(("name", "unit"), [("r.json", "record"), ("r.txt", "record"), ("r.jsonl", "line")])
def test_the_place_of_an_error_is_counted_in_the_unit_of_the_file(write: Write, name: str, unit: str):
    rows = [{"id": "a", "accuracy": 1}, {"id": "b", "accuracy": "x"}]
    text = "\n".join(map(json.dumps, rows)) if unit == "line" else json.dumps(rows, indent=1)
    with pytest.raises(InputError) as caught:
        read_ratings(write(name, text))
    assert (caught.value.line, caught.value.unit) == (2, unit)


def test_scale_is_kept(write: Write):
    scale = RatingScale(0, 5, 0.1)
    found = read_ratings(write("r.csv", "id,accuracy\na,0.3\nb,4.7\n"), scales={"accuracy": scale})
    assert found.scales == {"accuracy": scale}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"id,accuracy\n", "there are no rows"),
        (b"id\na\n", "there are no ratings"),
        (b"id,accuracy\na,\n", "there are no ratings"),
        (b"name,accuracy\na,1\n", "line 2.*'id'.*'name'.*'accuracy'.*--map"),
        (b"id,accuracy\n,1\n", "line 2.*'id'.*''"),
        (b"id,accuracy\na,1,2\n", "line 2.*3.*2"),
        (b'id,accuracy\na,"1\n', "line 2: invalid CSV"),
        (b"id,accuracy\na,good\n", r"r\.csv.*line 2.*'accuracy'.*'good'.*--labels"),
        (b'id,accuracy\na,"4,5"\n', "line 2.*'accuracy'.*'4,5'.*'4.5'"),
        (b"id,accuracy\na,nan\n", "'nan'"),
        (b"id,accuracy\na,inf\n", "'inf'"),
        (b"id,accuracy\na,-Infinity\n", "'-Infinity'"),
        (b"id,accuracy\na,TRUE\n", "'TRUE'"),
        (b"id,accuracy\na,-1e308\n", r"line 2.*'accuracy'.*-1e\+308"),
        (
            b"id,accuracy\na,1\nb,1\na,2\n",
            "line 4.*'a'.*'accuracy'.*line 2.*line 4.*'rater'",
        ),
        (
            b"id,rater,accuracy\na,anna,1\na,ben,2\na,anna,2\n",
            "line 4.*'anna'.*'a'.*'accuracy'.*line 2.*line 4",
        ),
        (
            b"id,system,rater,accuracy\na,nova,anna,1\na,nova,anna,2\n",
            "line 3.*'anna'.*'a'.*'nova'.*'accuracy'.*line 2.*line 3",
        ),
        (b"id,model,accuracy\na,nova,1\n", "line 2.*'model'.*'nova'.*--map system=model"),
        (b"id,rater,accuracy\na,,1\n", "line 2.*'rater'.*''"),
        (b"id,dimension,score\na,accuracy,1\n", "'rating'.*--map"),
        (b"id,dimension,rating\na,,1\n", "line 2.*''"),
        (b"id,accuracy\na,\xe9\n", "line 2.*0xe9.*UTF-8"),
        (b"id,accuracy\na,1\nb,7\n", "line 3.*'accuracy'.*7.*0.*5.*0.5"),
        (
            b"id,rater,accuracy\na,anna,1.25\n",
            "line 2.*'accuracy'.*1.25.*0.*5.*0.5",
        ),
    ],
)
def test_what_is_wrong_in_csv_is_named(write: Write, text: bytes, problem: str):
    with pytest.raises(InputError, match=problem):
        read_ratings(write("r.csv", text), scales={"accuracy": RatingScale(0, 5, 0.5)})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"id": "a", "accuracy": 1}\n{"id": "b", "accuracy"\n', "line 2"),
        ('{"id": "a", "accuracy": 1}\n[1]\n', "line 2"),
        ("{}\n", "line 1"),
        ('{"id": "a", "accuracy": true}', "line 1.*'accuracy'"),
        ('{"id": "a", "accuracy": "NaN"}', "not a number but 'NaN'"),
        ('{"id": "a", "accuracy": 1e999}', "not a number but inf"),
        ('{"id": "a", "accuracy": [1]}', r"line 1.*'accuracy'.*\[1\]"),
        ('{"id": true, "accuracy": 1}', "'id'"),
        ('{"id": "a", "accuracy": 1, "rater": "x"}\n{"id": "b", "accuracy": 1}', "line 2.*'rater'"),
        ('{"id": "a", "ratings": {"x": 1}, "ratings.x": 2}', "'x'.*'ratings'"),
        ('{"id": "a", "ratings": {"x": 1}}\n{"id": "b", "ratings": [2]}', "line 2.*'ratings'"),
    ],
)
def test_what_is_wrong_in_jsonl_is_named(write: Write, text: str, problem: str):
    with pytest.raises(InputError, match=problem):
        read_ratings(write("r.jsonl", text))


@pytest.mark.skipif(sys.platform == "win32", reason="needs the pipes of POSIX systems")
def test_a_pipe(tmp_path: Path):
    os.mkfifo(tmp_path / "r.csv")
    with subprocess.Popen(["sh", "-c", "printf 'id,accuracy\\na,4\\n' > r.csv"], cwd=tmp_path):
        assert read_ratings(tmp_path / "r.csv").ids == ("a",)


@pytest.mark.slow
def test_a_cell_of_ten_megabytes_is_read_and_cut_in_messages(write: Write):
    long = "x" * 10_000_000
    path = write("r.csv", f"id,accuracy,comment\na,4,{long}\n")
    assert content(read_ratings(path, dimensions=["accuracy"])) == {("a", "accuracy", ""): 4}
    with pytest.raises(InputError, match="not a number but 'xxx") as error:
        read_ratings(path)
    assert len(str(error.value)) < 500
    with pytest.raises(InputError, match="line 3") as error:
        read_ratings(write("t.csv", f"id,accuracy\n{long},4\n{long},4\n"))
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"dimensions": ["tone"]}, "no dimension 'tone'"),
        ({"scales": {"tone": RatingScale(0, 1)}}, "--scale.*'tone'"),
        ({"columns": {"id": "answer"}}, "'id'.*'answer'"),
        ({"columns": {"tone": "style"}}, "'tone'.*'style'"),
    ],
)
def test_names_that_are_not_there(write: Write, options: dict[str, object], problem: str):
    with pytest.raises((UsageError, InputError), match=problem):
        read_ratings(write("r.csv", WIDE), **options)  # pyright: ignore[reportArgumentType]


def test_a_dimension_that_a_long_table_does_not_have(write: Write):
    with pytest.raises(UsageError, match=r"no dimension 'tone'"):
        read_ratings(write("r.csv", LONG), dimensions=["tone"])


def test_unknown_file_type(tmp_path: Path):
    (tmp_path / "r.docx").write_text("good")
    with pytest.raises(InputError, match=r"'\.docx'.*\.csv"):
        read_ratings(tmp_path / "r.docx")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "record 1"),
        ('{"id": "a"}', "there are no ratings"),
        ("[", "line 1: invalid JSON"),
        ("[]", "there are no rows"),
        (json.dumps([{"id": "a", "accuracy": "x"}]), r"r\.json.*record 1.*'accuracy'"),
    ],
)
def test_what_is_wrong_in_json_is_named(write: Write, text: str, problem: str):
    with pytest.raises(InputError, match=problem):
        read_ratings(write("r.json", text))


def test_averages_may_lie_between_the_steps(write: Write):
    found = read_ratings(write("r.csv", "id,accuracy\na,1.25\n"), scales={"accuracy": RatingScale(0, 5, 0.5)})
    assert found.average().tolist() == [[1.25]]


def test_means_that_are_equal_are_equal_numbers(write: Write):
    # All ratings by three raters on 0, .1 ... 1: the sums of tenths are 0..30, whatever floating point makes of them.
    tenths = [(a, b, c) for a in range(11) for b in range(11) for c in range(11)]
    lines = [f"{row},{rater},{given / 10}\n" for row, cell in enumerate(tenths) for rater, given in enumerate(cell)]
    means = read_ratings(write("r.csv", "id,rater,accuracy\n" + "".join(lines))).average()[:, 0]
    assert len(np.unique(means)) == 31
    np.testing.assert_array_equal(means, [sum(cell) / 30 for cell in tenths])


def test_means_over_different_numbers_of_raters_tie():
    table = "id,rater,accuracy\na,1,0.1\na,2,0.2\na,3,0.3\nb,1,0.2\nc,1,0.1\nc,2,0.3\nd,1,0.30000000000000004\n"
    means = average_exactly(*_read_cells(table), size=5)
    assert means[0] == means[1] == means[2] == 0.2
    assert means[3] == 0.30000000000000004
    assert np.isnan(means[4])


def _read_cells(table: str) -> tuple[np.ndarray, np.ndarray]:
    rows = [line.split(",") for line in table.splitlines()[1:]]
    return np.array([float(row[2]) for row in rows]), np.array(["abcd".index(row[0]) for row in rows])


GRID = {"accuracy": "anna:anna_accuracy,ben:ben_accuracy", "safety": "anna:anna_safety, ben:ben_safety"}


def test_a_column_for_each_rater_and_dimension(write: Write):
    path = write("r.csv", "id,anna_accuracy,anna_safety,ben_accuracy,ben_safety,x\na,4,,5,,?\n7,3,1,3,,?\n")
    found = read_ratings(path, columns=GRID)
    assert content(found) == content(read_ratings(write("rated.csv", RATED)))
    assert found.unread == ("x",)
    chosen = read_ratings(path, columns=GRID, dimensions=["safety"])
    assert content(chosen) == {("7", "safety", "anna"): 1}
    with pytest.raises(UsageError, match="safety=anna_safety"):
        read_ratings(path, columns=GRID | {"safety": "anna_safety"})
    with pytest.raises(InputError, match=r"column 'ben_savety'"):
        read_ratings(path, columns=GRID | {"safety": "anna:anna_safety,ben:ben_savety"})
    blank = {"accuracy": "anna: anna_accuracy, ben: ben_accuracy", "safety": "anna : anna_safety"}
    assert content(read_ratings(path, columns=blank)) == content(found)


@pytest.mark.parametrize(
    "columns",
    [
        {"accuracy": "li:A,smith:A"},
        {"accuracy": "li:A,li:A"},
        {"accuracy": "li:A,smith:B", "overall": "li:A,smith:C"},
    ],
)
def test_a_column_is_of_one_rater_and_dimension(write: Write, columns: dict[str, str]):
    with pytest.raises(UsageError, match="'A'"):
        read_ratings(write("r.csv", "id,A,B,C\na,1,2,3\n"), columns=columns)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("li_accuracy,li_safety,dr_li_accuracy,dr_li_safety", "--map accuracy=li:li_accuracy,dr_li:dr_li_accuracy"),
        ("accuracy.R1,accuracy.R2,safety.R1,safety.R2", "--map safety=R1:safety.R1,R2:safety.R2"),
        ("li accuracy,li safety,wu accuracy,wu safety,total", "--map 'accuracy=li:li accuracy,wu:wu accuracy'"),
        ("ratings.li:a,ratings.wu:a,ratings.li:b,ratings.wu:b", "--map a=li:ratings.li:a,wu:ratings.wu:a"),
        ("li_accuracy,li_safety,wu_accuracy", ""),
        ("li_accuracy,wu_accuracy", ""),
        ("accuracy,safety", ""),
        # What cannot be written with --map.
        ("dr:li_accuracy,dr:li_safety,dr:wu_accuracy,dr:wu_safety", ""),
        ("li_rating,li_safety,wu_rating,wu_safety", ""),
        ("li_a=b,li_safety,wu_a=b,wu_safety", ""),
    ],
)
def test_raters_in_the_names_of_columns_are_noted(write: Write, header: str, told: str):
    count = header.count(",") + 1
    found = read_ratings(write("r.csv", f"id,{header}\na{',1' * count}\n"))
    assert len(found.dimensions) == count
    assert bool(found.notes) == bool(told)
    assert all(told in note for note in found.notes)
