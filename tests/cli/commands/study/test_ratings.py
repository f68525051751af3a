import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

FILES = Path(__file__).parents[3] / "study" / "data" / "ratings" / "files"


def test_a_table_is_shown(imapeval: Command, tmp_path: Path):
    path = tmp_path / "r.csv"
    path.write_text("answer,who,accuracy,comment\na,anna,4,x\na,ben,5,\nb,anna,4,\nc,ben,NA,\n")
    options = ["--map", "id=answer", "--map", "rater=who", "--dimensions", "accuracy", "--scale", "accuracy=0:5:0.5"]
    done = imapeval("study", "ratings", path, *options)
    assert (done.returncode, done.stderr) == (0, "")
    for part in (
        "table: 3 answers, 2 raters.",
        "accuracy (0 to 5 in steps of 0.5)",
        "2, 4.00",
        "1, 5.00",
        f"  4  {'█' * 40} 2\n  5  {'█' * 20} 1\n",
        "Left out of the ratings: cells that say 'NA' (1).",
        "Not read as ratings: 'comment'.",
    ):
        assert part in done.stdout


def test_json(imapeval: Command):
    done = imapeval("study", "ratings", FILES / "label-studio.json", "--labels", "poor=1,fair=2,good=3", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["kind"], found["answers"], found["raters"]) == ("Label Studio", 3, ["7", "8"])
    assert found["dimensions"][1] == {
        "dimension": "tone",
        "answers": 2,
        "missing": 1,
        "ratings": 3,
        "low": 1.0,
        "high": 3.0,
        "mean": 2.0,
        "scale": None,
        "bars": [{"low": n, "high": n, "count": 1} for n in (1.0, 2.0, 3.0)],
        "by_rater": {"7": {"ratings": 2, "mean": 2.0}, "8": {"ratings": 1, "mean": 2.0}},
    }
    assert found["notes"] == [
        "Left out of the ratings: cancelled annotations (1), tasks that nobody annotated (1).",
        "Not read as ratings: 'comment'.",
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["none.csv"], "no such file"),
        (["r.docx"], "r.docx: no such file"),
        (["r.csv"], "line 2: the rating 'tone' is not a number but 'good'"),
        (["r.csv", "--labels", "good"], "--labels: 'good' is not WORD=NUMBER"),
        (["r.csv", "--labels", "good=much"], "is not WORD=NUMBER"),
        (["r.csv", "--labels", "good=1,good=2"], "names 'good' twice"),
        (["r.csv", "--labels", ","], "names nothing"),
        (["r.csv", "--scale", "tone"], "is not DIMENSION=LOW:HIGH"),
        (["r.csv", "--map", "tone"], "is not NAME=COLUMN"),
        (["r.csv", "--dimensions", "safety"], "no dimension 'safety'. There are: tone"),
        (["r.csv", "--labels", "good=7", "--scale", "tone=1:3"], "its scale is 1 to 3"),
    ],
)
def test_bad_usage_exits_with_2(imapeval: Command, tmp_path: Path, args: list[str], message: str):
    (tmp_path / "r.csv").write_text("id,tone\na,good\n")
    done = imapeval("study", "ratings", *args)
    assert done.returncode == 2
    assert message in done.stderr
