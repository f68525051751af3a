"""Tasks of several kinds in one table; metrics by scikit-learn, seqeval and scipy."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import Workbook
from scipy.stats import spearmanr, t, ttest_rel
from seqeval.metrics import f1_score as tag_f1  # pyright: ignore[reportMissingTypeStubs]
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, f1_score
from typer.testing import CliRunner

from imapeval.cli.main import app
from imapeval.errors import InputError
from imapeval.study.closed.baselines import measure_baselines
from imapeval.study.closed.drbenchmark.results import analyse_task_runs
from imapeval.study.closed.drbenchmark.runs import TaskRun
from imapeval.study.closed.drbenchmark.tasks import Task
from imapeval.study.closed.logs import read_logs
from imapeval.study.closed.metrics.estimate import estimate_metrics
from imapeval.study.closed.reading import AnswerColumns, read_closed_answers
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
    assert {metric for _, metric, _ in found} == {metric for metrics in KINDS.values() for metric in metrics}
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
    rows = [row for row in make_rows() if row["task"] == "topic"]
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
        ({"kind": ["labels"], "task": "other"}, "'labels'"),
        ({"task": "severity", "kind": "grade", "scale": "5"}, "scale 5, where"),
        ({"task": "severity", "kind": "grade", "predicted": None, "gold": 1, "scale": "0:5"}, "predicted"),
        ({"task": "drugs", "kind": "sequence", "gold": "O O", "predicted": "O"}, "1 tags"),
        ({"kind": "multilabel"}, "multilabel"),
        ({"share": 2}, "2 is no share"),
        ({"id": 1}, "twice"),
        ({"gold": "z", "model": "two", "id": 0}, "twice"),
        # What is empty would equal no answer.
        ({"gold": " ", "predicted": ""}, "'gold' is empty"),
        ({"task": "diagnosis", "kind": "ranking", "gold": []}, "'gold' is empty"),
        ({"task": "severity", "kind": "grade", "gold": 7, "predicted": 7, "scale": "0:5"}, "7, which is not on"),
    ],
)
def test_a_row_that_cannot_be_is_refused_with_its_line(tmp_path: Path, change: dict[str, Any], named: str):
    rows = [*make_rows(), make_rows()[0] | {"id": 99} | change]
    with pytest.raises(InputError, match=named) as caught:
        read_task_table([write(tmp_path / "t.jsonl", rows)])
    assert caught.value.line == len(rows)


@pytest.mark.parametrize(
    ("gold", "scale"), [(5.000000000000001, "0:5"), (0.1 + 0.2, "0:0.3"), (0.9999999999999999, "1:5")]
)
def test_a_mean_grade_may_be_rounded_past_the_end(gold: float, scale: str, tmp_path: Path):
    rows = [{"task": "t", "kind": "grade", "id": item, "gold": gold, "predicted": 1, "scale": scale} for item in (1, 2)]
    (run,), _ = read_task_table([write(tmp_path / "t.jsonl", rows)])
    assert run.task.scale is not None


def test_empty_cells_of_csv_are_absent(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text(
        "task,kind,id,gold,predicted,model,share,run,group\nt,labels,1,a,a,m,,,\nt,labels,2,b, ,m,,,\n"
        "t,labels,1,a,a,n,.5,,\nt,labels,2,b,b,n,.5,,\n"
    )
    (one, two), missing = read_task_table([path])
    assert (one.share, two.share, one.run) == (1, 0.5, "")
    assert missing == {("t", "m"): 1}


@pytest.mark.parametrize("kind", ["labels", "ranking", "multilabel"])
def test_numbers_are_labels_in_every_format(tmp_path: Path, kind: str):
    rows = [{"task": "t", "kind": kind, "id": n, "gold": n, "predicted": given} for n, given in enumerate((0, 1, 1))]
    if kind == "multilabel":
        rows = [row | {"gold": [row["gold"]], "predicted": [row["predicted"]]} for row in rows]
    (run,), _ = read_task_table([write(tmp_path / "t.jsonl", rows)])
    right, given = run.answers["2"]
    assert (list(right), list(given)) == (["2"], ["1"])


@pytest.mark.parametrize("kind", ["ranking", "multilabel"])
def test_numbers_are_labels_in_a_list_in_a_cell(tmp_path: Path, kind: str):
    path = tmp_path / "t.csv"
    path.write_text(f'task,kind,id,gold,predicted\nt,{kind},1,[1],"[1, 2]"\nt,{kind},2,[2],"[""b"", 1.0]"\n')
    (run,), _ = read_task_table([path])
    found = [tuple(map(sorted, run.answers[item])) for item in "12"]
    assert found == [(["1"], ["1", "2"]), (["2"], ["1", "b"])]


def test_whole_numbers_with_a_point_are_the_right_labels(tmp_path: Path):
    """pandas writes 1.0 in a column of whole numbers with gaps."""
    path = tmp_path / "t.csv"
    path.write_text("task,kind,id,gold,predicted\nt,labels,1,1,1.0\nt,labels,2,0,1.0\nt,labels,3,1,\n")
    (run,), missing = read_task_table([path])
    assert run.answers == {"1": ("1", "1"), "2": ("0", "1"), "3": ("1", "")}
    assert missing == {("t", ""): 1}


@pytest.mark.parametrize(
    ("cells", "accuracy"),
    # A right label may be written so itself.
    [("1,1.0\n0,0.0\n1,\n0,0.0\n", 3 / 4), ("1.0,1.0\n1,1.0\n", 1 / 2)],
)
def test_whole_numbers_with_a_point_in_a_file_of_answers(tmp_path: Path, cells: str, accuracy: float):
    path = tmp_path / "t.csv"
    path.write_text(f"gold,predicted\n{cells}")
    found = estimate_metrics(*read_closed_answers(path, AnswerColumns("gold", "predicted")), metrics=["accuracy"])
    assert [row.value for row in found] == [pytest.approx(accuracy)]


def test_models_have_to_answer_the_same_items(tmp_path: Path):
    with pytest.raises(InputError, match="items"):
        read_task_table([write(tmp_path / "t.jsonl", make_rows()[:-1])])


@pytest.mark.parametrize(("kind", "gold"), [("labels", "ab"), ("ranking", [["a"], ["a", "b"]])])
def test_models_have_to_have_the_same_right_answers(tmp_path: Path, kind: str, gold: Any):
    rows = [
        {"task": "t", "kind": kind, "id": n, "model": model, "gold": right, "predicted": "b"}
        for model, right in zip("mn", gold, strict=True)
        for n in range(2)
    ]
    with pytest.raises(InputError, match="right answers"):
        read_task_table([write(tmp_path / "t.jsonl", rows)])


@pytest.mark.parametrize(("kind", "gold", "given"), [("multilabel", [], ["a"]), ("sequence", "O O", "O B-X")])
def test_a_task_in_which_nothing_is_right_is_refused(tmp_path: Path, kind: str, gold: Any, given: Any):
    row = {"task": "t", "kind": kind, "gold": gold, "predicted": given}
    with pytest.raises(InputError, match="nothing is right"):
        read_task_table([write(tmp_path / "t.jsonl", [row | {"id": n} for n in range(3)])])


def test_baselines_are_those_of_dummy_classifiers(tmp_path: Path):
    """scikit-learn's DummyClassifier: most_frequent, and the mean of 200 stratified ones."""
    gold = [*"aaaaabbbc"] * 5
    rows = [
        {"task": "topic", "kind": "labels", "model": "m", "id": n, "gold": right, "predicted": "a"}
        for n, right in enumerate(gold)
    ]
    runs, _ = read_task_table([write(tmp_path / "t.jsonl", rows)])
    found = {row.metric: row for row in measure_baselines(runs)}
    empty = np.zeros((len(gold), 1))

    def predict(strategy: str, seed: int = 0) -> Any:
        return DummyClassifier(strategy=strategy, random_state=seed).fit(empty, gold).predict(empty)

    constant = predict("most_frequent")
    dealt = [predict("stratified", seed) for seed in range(200)]
    # Of a, b and c; the mean over predictions of a mean over labels is the mean over labels of the predictions' means.
    by_label = np.mean([f1_score(gold, given, average=None, zero_division=0) for given in dealt], axis=0)
    for metric, average, weights in (("f1-macro", "macro", (1, 1, 1)), ("f1-weighted", "weighted", (5, 3, 1))):
        expected = f1_score(gold, constant, average=average, zero_division=0)
        assert found[metric].majority == pytest.approx(expected)
        assert found[metric].chance == pytest.approx(np.average(by_label, weights=weights), abs=0.02)
    assert found["accuracy"].majority == pytest.approx(5 / 9)
    assert found["accuracy"].chance == pytest.approx((25 + 9 + 1) / 81, abs=0.01)


def test_sequences_without_tags_have_baselines():
    items = {"a": ([], []), "b": ([], [])}
    found = measure_baselines(
        [TaskRun(Task(name="drugs", kind="sequence", metrics=("f1-micro",)), "m", "1", 1.0, items)]
    )
    assert [(row.majority, row.chance) for row in found] == [(0, 0)]


def test_every_kind_of_task_has_baselines(tmp_path: Path):
    runs, _ = read_task_table([write(tmp_path / "t.jsonl", make_rows())])
    found = {(row.task, row.metric): row for row in measure_baselines(runs)}
    assert {metric for _, metric in found} == {metric for metrics in KINDS.values() for metric in metrics}
    # By hand: O for every tag finds no entity, one grade for all orders nothing, and flu or gout is right in one of 3.
    assert found["drugs", "f1-micro"].majority == 0
    assert found["severity", "spearman"].majority == 0
    assert found["diagnosis", "mrr"].majority == pytest.approx(1 / 3)


def test_items_of_one_group_count_together(tmp_path: Path):
    """With groups of one size, the mean of group means (Student's t over groups) and their paired differences."""
    rng = np.random.default_rng(3)
    easy = rng.random(20)
    right = {model: rng.random((20, 5)) < easy[:, None] * reach for model, reach in (("one", 0.9), ("two", 0.6))}
    rows = [
        {"task": "topic", "kind": "labels", "model": model, "id": f"{g}-{n}", "gold": "ab"[n % 2], "group": g,
         "predicted": "ab"[n % 2 if yes else 1 - n % 2]}
        for model, table in right.items() for g, own in enumerate(table.tolist()) for n, yes in enumerate(own)
    ]  # fmt: skip
    runs, _ = read_task_table([write(tmp_path / "t.jsonl", rows)])
    found = analyse_task_runs(runs)
    one, two = (table.mean(axis=1) for table in right.values())
    row = next(row for row in found.results if (row.metric, row.model) == ("accuracy", "one"))
    reach = t.ppf(0.975, 19) * one.std(ddof=1) / np.sqrt(20)
    assert (row.mean - row.low, row.high - row.mean) == pytest.approx((reach, reach))
    test = next(test for test in found.tests if test.metric == "accuracy")
    assert test.p == pytest.approx(ttest_rel(one, two).pvalue)


@pytest.mark.parametrize(("group", "named"), [("x", "one group"), ("y", "'y' here")])
def test_groups_that_cannot_be_are_refused(tmp_path: Path, group: str, named: str):
    rows = [row | {"group": "x"} for row in make_rows()]
    rows[7]["group"] = group
    with pytest.raises(InputError, match=named):
        read_task_table([write(tmp_path / "t.jsonl", rows)])


@pytest.mark.parametrize("read", [read_task_table, read_logs])
def test_the_place_of_an_error_is_counted_in_the_unit_of_the_file(tmp_path: Path, read: Callable[[list[Path]], Any]):
    path = tmp_path / "t.xlsx"
    book = Workbook()
    for row in [("task", "kind"), ("topic", "labels")]:
        book.worksheets[0].append(row)
    book.save(path)
    with pytest.raises(InputError, match="row 2: there is no column 'id'"):
        read([path])
