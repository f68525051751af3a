import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command

COLUMNS = ("--gold", "right", "--predicted", "given")


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    rows = [("yes", "yes", 0.9), ("yes", "no", 0.4), ("no", "no", 0.1), ("no", None, 0.6), ("yes", "yes", 0.8)]
    return write_rows(tmp_path / "a.jsonl", [{"right": r, "given": g, "p": p} for r, g, p in rows])


def values(done: subprocess.CompletedProcess[str]) -> dict[str, float | None]:
    assert (done.returncode, done.stderr) == (0, "")
    return {row["metric"]: row["value"] for row in json.loads(done.stdout)}


def test_labels_as_json(imapeval: Command, labels: Path):
    done = imapeval("closed", labels, *COLUMNS, "--scores", "p", "--json")
    found = values(done)
    # 3 of 5 are right; no answer (null) is a wrong one, but predicts nothing: yes 2/2 of 3, no 1/2 of 2.
    assert found["accuracy"] == 3 / 5
    assert found["precision-macro"] == pytest.approx((2 / 2 + 1 / 2) / 2)
    assert found["recall-macro"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    # .9 .4 .8 beside .1 .6: 5 of 6 pairs are in order.
    assert found["auc"] == pytest.approx(5 / 6)
    first = json.loads(done.stdout)[0]
    assert set(first) == {"metric", "value", "low", "high", "n", "reason"}
    assert first["low"] <= first["value"] <= first["high"]
    assert imapeval("closed", labels, *COLUMNS, "--scores", "p", "--json").stdout == done.stdout


def test_table(imapeval: Command, labels: Path):
    done = imapeval("closed", labels, *COLUMNS, "--metrics", "f1-macro,accuracy")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("│ ")] == ["f1-macro", "accuracy"]
    assert "0.600" in done.stdout
    assert "Wilson score intervals" in done.stdout


def test_what_is_known_of_the_intervals_stands_below_them(imapeval: Command, labels: Path):
    args = ("closed", labels, *COLUMNS, "--scores", "p", "--metrics")
    area, macro = "Intervals of AUC and PR-AUC can be too long", "intervals of macro averages are rather too long"
    for metrics, said in (("auc,accuracy", {area}), ("f1-macro", {macro}), ("accuracy,f1-micro", set[str]())):
        text = " ".join(imapeval(*args, metrics).stdout.split())
        assert {sentence for sentence in (area, macro) if sentence in text} == said


def test_what_is_undefined_says_why(imapeval: Command, tmp_path: Path):
    data = write_rows(tmp_path / "a.jsonl", [{"right": 1, "given": 1, "p": 0.5}, {"right": 1, "given": 0, "p": 0.2}])
    args = ("closed", data, *COLUMNS, "--scores", "p")
    found = values(imapeval(*args, "--json"))
    assert (found["accuracy"], found["auc"], found["pr-auc"]) == (0.5, None, None)
    told = "Undefined: auc, pr-auc: every answer is '1': there is nothing to tell apart."
    assert told in imapeval(*args).stdout


def test_csv_and_json_hold_the_same_labels(imapeval: Command, labels: Path, tmp_path: Path):
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    path = tmp_path / "b.csv"
    path.write_text("right,given,p\n" + "".join(f"{r['right']},{r['given'] or ''},{r['p']}\n" for r in rows))
    args = (*COLUMNS, "--scores", "p", "--json")
    assert imapeval("closed", path, *args).stdout == imapeval("closed", labels, *args).stdout


def test_a_label_that_no_answer_is_of_is_named(imapeval: Command, tmp_path: Path):
    rows = [("a", {"a": 0.7, "b": 0.2, "c": 0.1}), ("b", {"a": 0.2, "b": 0.7, "c": 0.1})] * 3
    data = write_rows(tmp_path / "a.jsonl", [{"right": r, "given": r, "p": p} for r, p in rows])
    done = imapeval("closed", data, *COLUMNS, "--scores", "p", "--json")
    found = {row["metric"]: row for row in json.loads(done.stdout)}
    assert found["auc"]["value"] is None
    assert "no answer is 'c'" in found["auc"]["reason"]
    assert found["accuracy"]["value"] == 1


def test_scores_of_each_label(imapeval: Command, tmp_path: Path):
    rows = [
        ("a", {"a": 0.7, "b": 0.2, "c": 0.1}),
        ("b", {"a": 0.2, "b": 0.7, "c": 0.1}),
        ("c", {"a": 0, "b": 0, "c": 1}),
    ]
    data = write_rows(tmp_path / "a.jsonl", [{"right": r, "given": r, "p": p} for r, p in rows])
    assert values(imapeval("closed", data, *COLUMNS, "--scores", "p", "--json"))["auc"] == 1
    del rows[1][1]["c"]
    write_rows(data, [{"right": r, "given": r, "p": p} for r, p in rows])
    done = imapeval("closed", data, *COLUMNS, "--scores", "p")
    assert done.returncode == 2
    assert "line 2: 'p' is {'a': 0.2, 'b': 0.7}, without a number for the label 'c'" in done.stderr


@pytest.mark.parametrize(
    ("task", "rows", "expected"),
    [
        (
            "multilabel",
            # One of 3 labels wrong in the first, none in the second.
            [(["flu", "cold"], ["flu"]), ('["asthma"]', "asthma")],
            {"hamming-loss": 1 / 6, "exact-match-ratio": 1 / 2, "precision-micro": 1.0, "recall-micro": 2 / 3},
        ),
        (
            "ranking",
            [(["EGFR", "ErbB1"], ["BRAF", "erbb1"]), ("TP53", ["TP53"]), ("KRAS", [])],
            {"strict-accuracy": 1 / 3, "lenient-accuracy": 2 / 3, "mrr": (1 / 2 + 1) / 3},
        ),
        (
            "sequence",
            [(["B-DRUG", "I-DRUG", "O"], ["B-DRUG", "I-DRUG", "O"]), ("O B-DOSE", "B-DOSE O"), ([], [])],
            {"precision-micro": 1 / 2, "recall-micro": 1 / 2, "f1-macro": 1 / 2},
        ),
        # Classes 1 | 2 | 3 with 1, 4 | 2 | 5: (1 2 5) of 2 choices is in order.
        ("ordinal", [(1, 1), (3, 5), ("1", 4), (2.0, "2")], {"vus": 1 / 2}),
    ],
)
def test_other_tasks(imapeval: Command, tmp_path: Path, task: str, rows: list[Any], expected: dict[str, float]):
    data = write_rows(tmp_path / "a.jsonl", [{"right": right, "given": given} for right, given in rows])
    found = values(imapeval("closed", data, *COLUMNS, "--task", task, "--json"))
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_grades(imapeval: Command, tmp_path: Path):
    # Right 5, 1, 2.5 and given 4, 3, 9 (cut to 5) on 0 to 5: 1 - 1/5, 1 - 2/4, 1 - 2.5/2.5.
    rows = [{"right": right, "given": given} for right, given in ((5, 4), (1, "3"), (2.5, 9))]
    data = write_rows(tmp_path / "a.jsonl", rows)
    found = values(imapeval("closed", data, *COLUMNS, "--task", "grade", "--scale", "0:5", "--json"))
    assert found == pytest.approx({"edrm": (0.8 + 0.5 + 0.0) / 3})


def test_order_of_words(imapeval: Command, tmp_path: Path):
    rows = [("mild", 0.1), ("severe", 0.9), ("moderate", 0.5)]
    data = write_rows(tmp_path / "a.jsonl", [{"right": right, "given": given} for right, given in rows])
    args = ("closed", data, *COLUMNS, "--task", "ordinal", "--json")
    assert values(imapeval(*args, "--order", "mild,moderate,severe")) == {"vus": 1.0}
    assert values(imapeval(*args, "--order", "severe,moderate,mild")) == {"vus": 0.0}


ROW = {"right": "a", "given": "b", "p": 0.5, "tags": ["B-X"]}


@pytest.mark.parametrize(
    ("rows", "args", "message"),
    [
        (
            [ROW],
            ("--gold", "wrong", "--predicted", "given"),
            "there is no column 'wrong'. Name one of: 'right',",
        ),
        ([ROW, {"right": "a"}], COLUMNS, "line 2: there is no column 'given'"),
        ([ROW | {"right": ""}], COLUMNS, "line 1: 'right' is '', which is no label"),
        ([ROW | {"given": {}}], COLUMNS, "line 1: 'given' is {}, which is no label"),
        ([ROW], (*COLUMNS, "--task", "label"), "unknown --task 'label'"),
        ([ROW], (*COLUMNS, "--metrics", "f1"), "unknown metric 'f1'. This task has: accuracy,"),
        ([ROW], (*COLUMNS, "--metrics", ","), "--metrics ',' names nothing"),
        ([ROW], (*COLUMNS, "--positive", "a"), "Add --scores"),
        ([ROW], (*COLUMNS, "--order", "a,b"), "the task 'labels' has no order"),
        ([ROW], (*COLUMNS, "--scale", "0:5"), "the task 'labels' has no scale"),
        ([ROW], (*COLUMNS, "--task", "grade"), "--scale LOW:HIGH"),
        ([ROW], (*COLUMNS, "--task", "grade", "--scale", "5:0"), "--scale '5:0' is not LOW:HIGH"),
        ([ROW], (*COLUMNS, "--task", "grade", "--scale", "0:5"), "'right' is 'a', which is no finite number"),
        ([ROW | {"right": 6}], (*COLUMNS, "--task", "grade", "--scale", "0:5"), "'right' is 6, which is not on the"),
        ([ROW], (*COLUMNS, "--task", "ranking", "--scores", "p"), "the task 'ranking' takes no scores"),
        ([ROW, ROW | {"right": "c"}], (*COLUMNS, "--scores", "p"), "a, c."),
        ([ROW, ROW | {"right": "c"}], (*COLUMNS, "--scores", "p", "--positive", "b"), "one of: a, c."),
        ([ROW, ROW | {"right": 1}, ROW | {"right": 2}], (*COLUMNS, "--scores", "p"), "but there are 3 labels"),
        ([ROW | {"p": "high"}], (*COLUMNS, "--scores", "p"), "'p' is 'high', which is no finite number"),
        ([ROW | {"p": {"a": 1}}], (*COLUMNS, "--scores", "p", "--positive", "a"), "here each label has its own"),
        ([ROW], (*COLUMNS, "--task", "ordinal"), "'right' is 'a', which is no finite number. Say the order"),
        ([ROW | {"given": 1}], (*COLUMNS, "--task", "ordinal", "--order", "b,c"), "which --order does not name"),
        ([ROW], (*COLUMNS, "--task", "ordinal", "--order", "a,a"), "names a label twice"),
        ([ROW | {"right": []}], (*COLUMNS, "--task", "ranking"), "'right' is [], which holds no answer"),
        ([ROW | {"right": [], "given": []}], (*COLUMNS, "--task", "multilabel"), "no answer has a label in 'right'"),
        ([ROW | {"given": "[a"}], (*COLUMNS, "--task", "multilabel"), "'given' is '[a', which is broken JSON"),
        ([ROW], (*COLUMNS, "--task", "sequence"), "with the tag 'a'. Write O, or B-, I-, E- or S-"),
        ([ROW], ("--gold", "tags", "--predicted", "p", "--task", "sequence"), "which is no list of tags"),
        (
            [ROW | {"given": ["O", "O"]}],
            ("--gold", "tags", "--predicted", "given", "--task", "sequence"),
            "of 2 tags, where 1 are right",
        ),
    ],
)
def test_what_cannot_be_measured_says_why(
    imapeval: Command, tmp_path: Path, rows: list[dict[str, Any]], args: tuple[str, ...], message: str
):
    done = imapeval("closed", write_rows(tmp_path / "a.jsonl", rows), *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("imapeval: ")


def test_a_file_of_no_known_kind(imapeval: Command, tmp_path: Path):
    (tmp_path / "a.txt").write_text("x")
    assert "unknown file type '.txt'" in imapeval("closed", tmp_path / "a.txt", *COLUMNS).stderr
    (tmp_path / "a.csv").write_text("right,given\n")
    assert "there are no answers" in imapeval("closed", tmp_path / "a.csv", *COLUMNS).stderr


LOGS = Path(__file__).parents[2] / "study" / "closed" / "logs"


def test_logs_of_a_harness(imapeval: Command):
    done = imapeval("closed", LOGS, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [(row["task"], row["items"], row["readings"]) for row in found["models"]] == [
        ("kinds_gen", 16, {"read": 16}),
        ("kinds_mc", 16, {"read": 16}),
    ]
    assert (found["leaderboard"], found["differences"], found["runs"], found["orders"]) == ([], [], [], [])
    shown = imapeval("closed", LOGS).stdout
    assert "HuggingFaceTB/SmolLM2-135M-Instruct" in shown
    assert "is not shown to be better than guessing on kinds_mc." in shown


def test_models_are_compared(imapeval: Command, tmp_path: Path):
    """One model is better, with two runs each, and follows the option where another follows the place."""
    options = ["aspirin", "rest", "tea"]
    rows = [
        {
            "id": f"{n}/{turn}", "question": f"{n}?", "system": system, "run": run, "answer": "aspirin", "task": "care",
            "options": options[::-1] if turn else options,
            "response": "A" if system == "place" else "The answer is aspirin." if n % 10 else "Sorry, I cannot.",
        }
        for n in range(30) for turn in (0, 1) for system in ("good", "place") for run in (1, 2)
    ]  # fmt: skip
    data = write_rows(tmp_path / "a.jsonl", rows)
    done = imapeval("closed", data, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(row["model"], row["accuracy"], row["accuracy_of_read"]) for row in found["models"]] == [
        ("good", 0.9, 1.0),
        ("place", 0.5, 0.5),
    ]
    assert [row["readings"] for row in found["models"]] == [{"read": 108, "refused": 12}, {"read": 120}]
    assert [(row["same_option"], row["same_place"]) for row in found["orders"]] == [(1, 0), (0, 1)]
    (difference,) = found["differences"]
    assert (difference["better"], difference["difference"]) == ("good", pytest.approx(0.4))
    assert (found["runs"][0]["p"], found["runs"][0]["p_over_runs"]) == (difference["p"], None)
    assert [row["groups"] for row in found["leaderboard"]] == ["a", "b"]
    shown = imapeval("closed", data, "--margin", "0.05").stdout
    for part in ("good is better than place", "refused", "10.0%", "Leaderboard", "over questions and runs"):
        assert part in shown


def test_options_of_the_other_use_are_refused(imapeval: Command, labels: Path):
    for said, options in (
        ("--gold and --predicted go together", ("--gold", "right")),
        ("--scores is for", ("--scores", "p")),
        ("--task", (*COLUMNS, "--task", "none")),
        ("--html is for", (*COLUMNS, "--html", labels.parent / "page.html")),
        ("--data is for", (*COLUMNS, "--data", labels.parent)),
        ("--metric is for", (*COLUMNS, "--metric", "accuracy")),
        ("--against is for", (*COLUMNS, "--against", "nobody")),
        ("--margin is for", (*COLUMNS, "--margin", "0")),
        ("--open is for", (*COLUMNS, "--open", labels.parent)),
        ("--open-from is for", (*COLUMNS, "--open-from", "0.5")),
    ):
        done = imapeval("closed", labels, *options)
        assert done.returncode == 2, options
        assert said in done.stderr
    done = imapeval("closed", labels, labels, *COLUMNS)
    assert done.returncode == 2
    assert "2 files are given" in done.stderr


def test_options_of_the_other_use_may_be_in_the_configuration(imapeval: Command, labels: Path, tmp_path: Path):
    (tmp_path / "imapeval.toml").write_text("margin = 0.05\ntask = 'labels'\nmetric = 'imapscore'\n")
    done = imapeval("closed", labels, *COLUMNS)
    assert done.returncode == 0, done.stderr
    row = {"task": "t", "kind": "labels", "gold": "a", "predicted": "a"}
    table = write_rows(tmp_path / "a.jsonl", [{**row, "id": n} for n in range(3)])
    done = imapeval("closed", table)
    assert done.returncode == 0, done.stderr


def test_options_of_another_use_of_the_same_files_are_refused(imapeval: Command, tmp_path: Path):
    row = {"task": "t", "kind": "labels", "gold": "a", "predicted": "a"}
    table = write_rows(tmp_path / "a.jsonl", [{**row, "id": n} for n in range(3)])
    assert imapeval("closed", table).returncode == 0
    for option, value in (
        ("--task", "labels"),
        ("--margin", "0"),
        ("--open-item", "id"),
        ("--open-metric", "imapscore"),
        ("--open-from", "0.5"),
    ):
        done = imapeval("closed", table, option, value)
        assert done.returncode == 2, option
        assert option in done.stderr


def test_open_beside_closed(imapeval: Command, tmp_path: Path):
    rows = [
        {"id": f"q{n}", "system": "m", "options": ["x", "y"], "answer": "A", "response": "AB"[n % 3 == 0]}
        for n in range(12)
    ]
    samples = [
        {"id": f"q{n}", "question": f"What helps {n}?", "reference": "Rest.", "system": "m",
         "response": "Work." if n % 3 == 0 else "Rest."}
        for n in range(12)
    ]  # fmt: skip
    run = tmp_path / "open"
    scored = imapeval("score", write_rows(tmp_path / "o.jsonl", samples), "--metrics", "exact-match", "--out", run)
    assert scored.returncode == 0, scored.stderr
    logs = write_rows(tmp_path / "c.jsonl", rows)
    page = tmp_path / "closed.html"
    done = imapeval("closed", logs, "--open", run, "--open-metric", "exact-match", "--html", page, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["open"]
    (counts,) = found["forms"]
    assert (counts["both"], counts["closed_only"], counts["open_only"], counts["neither"]) == (8, 0, 0, 4)
    assert found["correlations"][0]["value"] == pytest.approx(1)
    shown = imapeval("closed", logs, "--open", run, "--open-metric", "exact-match").stdout
    assert "The same questions in open form" in shown
    assert "open form" in shown.partition("Closed questions")[0]
    assert "exact-match from 0.5 on" in shown
    assert "these runs lack: rouge1, rouge2," in shown
    assert "Open beside closed" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_everything_in_one_run(imapeval: Command, tmp_path: Path):
    """Multiple choice, labels and tags in tables, DrBenchmark's files, and open answers: one object, one page."""
    choices = [
        {"id": f"q{n}", "system": model, "options": ["x", "y"], "answer": "A", "task": "exam",
         "response": "A" if n % every else "B"}
        for model, every in (("m", 5), ("n", 2)) for n in range(30)
    ]  # fmt: skip
    tasks = [
        {"task": task, "kind": kind, "model": model, "id": n, "gold": gold, "predicted": gold if n % every else other}
        for task, kind, gold, other in (("topic", "labels", "a", "b"), ("drugs", "sequence", "B-X O", "O O"))
        for model, every in (("m", 5), ("n", 2))
        for n in range(30)
    ]
    samples = [
        {"id": f"{model}-{n}", "item": f"q{n}", "question": f"What helps {n}?", "reference": "Rest.", "system": model,
         "response": "Rest." if n % every else "Work."}
        for model, every in (("m", 5), ("n", 2)) for n in range(30)
    ]  # fmt: skip
    runs = tmp_path / "recipes" / "pxcorpus" / "runs"
    runs.mkdir(parents=True)
    for model in "mn":
        content = {
            "hyperparameters": {"model_name": model},
            "predictions": {
                "identifiers": [0, 1],
                "real_labels": [0, 1],
                "system_predictions": [0, 1 - (model == "n")],
            },
        }
        (runs / f"DrBenchmark-PxCorpus-cls-{model}.json").write_text(json.dumps(content))
    opened = tmp_path / "open"
    scored = imapeval("score", write_rows(tmp_path / "o.jsonl", samples), "--metrics", "exact-match", "--out", opened)
    assert scored.returncode == 0, scored.stderr
    files = (write_rows(tmp_path / "c.jsonl", choices), write_rows(tmp_path / "t.jsonl", tasks), tmp_path / "recipes")
    page = tmp_path / "all.html"
    args = ("closed", *files, "--open", opened, "--open-item", "item", "--open-metric", "exact-match")
    done = imapeval(*args, "--html", page, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    scores = {(row["task"], row["metric"], row["model"]): row for row in found["scores"]}
    assert scores["exam", "accuracy", "m"]["mean"] == pytest.approx(0.8)
    assert scores["exam", "accuracy", "m"]["best"]
    assert scores["exam", "accuracy", "n"]["as_best"] is False
    assert scores["exam", "accuracy", "n"]["chance"] == 0.5
    assert scores["topic", "accuracy", "n"]["mean"] == pytest.approx(0.5)
    assert scores["topic", "accuracy", "n"]["majority"] == 1.0
    assert scores["open form", "exact-match", "m"]["mean"] == pytest.approx(0.8)
    assert scores["open form", "right choice", "n"]["mean"] == pytest.approx(0.5)
    assert {("drugs", "f1-micro", "m"), ("PxCorpus CLS", "f1-weighted", "n")} <= scores.keys()
    text = page.read_text(encoding="utf-8")
    for section in ("scores", "accuracy", "comparisons", "pairs", "open", "metrics"):
        assert f'<section id="{section}"' in text
    shown = imapeval(*args).stdout
    for part in ("All scores", "Closed questions", "Pairs of models on other tasks", "The same questions in open form"):
        assert part in shown
