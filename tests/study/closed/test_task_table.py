"""Tasks of several kinds in one table; metrics by scikit-learn 1.8, seqeval 1.2.2 and scipy 1.17."""

import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr
from seqeval.metrics import f1_score as tag_f1  # pyright: ignore[reportMissingTypeStubs]
from sklearn.metrics import accuracy_score, f1_score
from typer.testing import CliRunner

from imapeval.cli.main import app
from imapeval.errors import InputError
from imapeval.study.closed.drbenchmark.results import analyse_task_runs
from imapeval.study.closed.task_table import KINDS, holds_tasks, read_task_table

LABELS = ["a", "b", "b", "c", "a", "c"], {"one": ["a", "b", "c", "c", "a", "b"], "two": ["b", "b", "b", "c", "a", "c"]}
GRADES = [0, 1, 2, 3, 5, 4], {"one": [0.5, 1, 2, 2.5, 5, 3], "two": [5, 4, 3, 1, 0, 2]}
TAGS = (
    ["B-X I-X O", "O O B-Y", "B-X O O"],
    {"one": ["B-X I-X O", "O O O", "B-X O O"], "two": ["B-X O O", "O O B-Y", "O O O"]},
)
RANKED = (
    [["flu"], ["gout"], ["anaemia", "anemia"]],
    {"one": [["cold", "flu"], ["gout"], ["Anemia"]], "two": [[], ["gout"], ["x"]]},
)
SETS = [["a", "b"], ["c"], ["a"]], {"one": [["a"], ["c"], ["a"]], "two": [["a", "b"], ["b"], []]}
DATA = {"topic": ("labels", LABELS), "severity": ("grade", GRADES), "drugs": ("sequence", TAGS)}
DATA |= {"diagnosis": ("ranking", RANKED), "signs": ("multilabel", SETS)}


def make_rows() -> list[dict[str, Any]]:
    return [
        {"task": task, "kind": kind, "model": model, "id": n, "gold": right, "predicted": given}
        | ({"scale": "0:5"} if kind == "grade" else {})
        for task, (kind, (gold, models)) in DATA.items()
        for model, predicted in models.items()
        for n, (right, given) in enumerate(zip(gold, predicted, strict=True))
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_metrics_are_those_of_independent_libraries(tmp_path: Path):
    runs, missing = read_task_table([write(tmp_path / "t.jsonl", make_rows())])
    found = {(row.task, row.metric, row.model): row.mean for row in analyse_task_runs(runs).results}
    assert {metric for _, metric, _ in found} == {metric for _, metrics in KINDS.values() for metric in metrics}
    assert missing == {}
    for model in ("one", "two"):
        gold, given = LABELS[0], LABELS[1][model]
        assert found["topic", "accuracy", model] == pytest.approx(accuracy_score(gold, given))
        assert found["topic", "f1-macro", model] == pytest.approx(f1_score(gold, given, average="macro"))
        tags, tagged = ([text.split() for text in side] for side in (TAGS[0], TAGS[1][model]))
        assert found["drugs", "f1-micro", model] == pytest.approx(tag_f1(tags, tagged))
        rho = spearmanr(GRADES[0], GRADES[1][model])[0]
        assert found["severity", "spearman", model] == pytest.approx(rho)
    # By hand: ranks 2, 1 and 1; none, 1 and none.
    assert found["diagnosis", "mrr", "one"] == pytest.approx(2.5 / 3)
    assert found["diagnosis", "mrr", "two"] == pytest.approx(1 / 3)
    assert found["signs", "exact-match-ratio", "two"] == pytest.approx(1 / 3)
    assert found["signs", "hamming-score", "one"] == pytest.approx(2.5 / 3)


def test_intervals_hold_the_value_and_end_where_the_metric_does(tmp_path: Path):
    runs, _ = read_task_table([write(tmp_path / "t.jsonl", make_rows())])
    found = analyse_task_runs(runs)
    for row in found.results:
        assert (-1 if row.metric == "spearman" else 0) <= row.low <= row.mean <= row.high <= 1
        assert row.low < row.high
    for test in found.tests:
        most = 2 if test.metric == "spearman" else 1
        assert -most <= test.low <= test.difference <= test.high <= most


def test_no_answer_is_wrong_and_counted(tmp_path: Path):
    rows = make_rows()
    rows[0]["predicted"] = None
    rows[1]["predicted"] = ""
    path = write(tmp_path / "t.jsonl", rows)
    assert holds_tasks(path)
    content = json.loads(CliRunner().invoke(app, ["closed", str(path), "--json"]).stdout)
    assert content["missing"] == [{"task": "topic", "model": "one", "answers": 2}]
    (accuracy,) = (
        r for r in content["results"] if (r["task"], r["metric"], r["model"]) == ("topic", "accuracy", "one")
    )
    assert accuracy["mean"] == pytest.approx(2 / 6)
    assert "no answer to 2" in CliRunner().invoke(app, ["closed", str(path)]).stdout


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kind": "essay"}, "essay"),
        ({"task": "severity", "kind": "grade", "scale": "5"}, "5"),
        ({"task": "severity", "kind": "grade", "predicted": None, "gold": 1, "scale": "0:5"}, "predicted"),
        ({"task": "drugs", "kind": "sequence", "gold": "O O", "predicted": "O"}, "1 tags"),
        ({"kind": "multilabel"}, "multilabel"),
        ({"share": 2}, "2"),
        ({"id": 1}, "twice"),
        ({"gold": "z", "model": "two", "id": 0}, "twice"),
    ],
)
def test_a_row_that_cannot_be_is_refused_with_its_line(tmp_path: Path, change: dict[str, Any], named: str):
    rows = [*make_rows(), make_rows()[0] | {"id": 99} | change]
    with pytest.raises(InputError, match=named) as caught:
        read_task_table([write(tmp_path / "t.jsonl", rows)])
    assert caught.value.line == len(rows)


def test_models_have_to_answer_the_same_items(tmp_path: Path):
    with pytest.raises(InputError, match="items"):
        read_task_table([write(tmp_path / "t.jsonl", make_rows()[:-1])])
