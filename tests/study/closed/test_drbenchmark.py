"""DrBenchmark: its tasks, its own files, data sets on disk, and the table of several runs a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from imapeval.errors import InputError
from imapeval.study.closed.comparison import compare_runs
from imapeval.study.closed.drbenchmark.data import read_data
from imapeval.study.closed.drbenchmark.results import analyse_task_runs
from imapeval.study.closed.drbenchmark.runs import TaskRun, read_predictions, read_runs
from imapeval.study.closed.drbenchmark.tasks import load_tasks, parse_answer
from imapeval.study.closed.outputs import OutputFiles, read_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.drbenchmark.tasks import BenchmarkTask

TASKS = {task.name: task for task in load_tasks()}
TAGS = ("O", "B-DISO", "I-DISO", "B-CHEM", "I-CHEM")


def test_the_twenty_tasks():
    """Test sizes: the table of drbenchmark.univ-avignon.fr (CAS, ESSAI) and of the repository's README."""
    assert {name: task.test for name, task in TASKS.items()} == {
        "CAS POS": 758,
        "ESSAI POS": 1450,
        "QUAERO EMEA": 348,
        "QUAERO MEDLINE": 833,
        "E3C clinical": 293,
        "E3C temporal": 293,
        "MorFITT": 1088,
        "FrenchMedMCQA MCQA": 622,
        "FrenchMedMCQA CLS": 622,
        "Mantra-GSC EMEA": 20,
        "Mantra-GSC MEDLINE": 20,
        "Mantra-GSC PATENT": 10,
        "CLISTER": 400,
        "DEFT-2020 STS": 410,
        "DEFT-2020 CLS": 530,
        "DEFT-2021 CLS": 108,
        "DEFT-2021 NER": 1766,
        "DiaMED": 154,
        "PxCorpus NER": 397,
        "PxCorpus CLS": 397,
    }
    # Those of `ComputeMetrics.py` of the repository, by kind of task.
    assert {(task.kind, task.metrics) for task in TASKS.values()} == {
        ("sequence", ("f1-micro",)),
        ("labels", ("f1-weighted",)),
        ("multilabel", ("f1-weighted",)),
        ("multilabel", ("hamming-score", "exact-match-ratio")),
        ("grade", ("edrm", "spearman")),
    }


def make_runs(name: str, pairs: Sequence[tuple[Sequence[Any], Sequence[Any]]], **fields: Any) -> list[TaskRun]:
    return [
        TaskRun(
            TASKS[name],
            fields.get("model", "a"),
            str(number),
            fields.get("share", 1.0),
            {str(place): pair for place, pair in enumerate(zip(gold, predicted, strict=True))},
        )
        for number, (gold, predicted) in enumerate(pairs)
    ]


def simulate(model: str, accuracy: float, *, runs: int = 4, items: int = 200, share: float = 1.0) -> list[TaskRun]:
    gold = ["1", "2"] * (items // 2)
    flip = {"1": "2", "2": "1"}
    rng = np.random.default_rng([ord(model), round(100 * accuracy), round(100 * share)])
    pairs = [(gold, [g if rng.random() < accuracy else flip[g] for g in gold]) for _ in range(runs)]
    return make_runs("DEFT-2020 CLS", pairs, model=model, share=share)


def test_a_table_of_four_runs_a_model():
    runs = [*simulate("a", 0.9), *simulate("b", 0.89), *simulate("c", 0.6)]
    found = analyse_task_runs(runs)
    rows = {row.model: row for row in found.results}
    for model, row in rows.items():
        own = [
            f1_score(*zip(*run.answers.values(), strict=True), average="weighted") for run in runs if run.model == model
        ]
        # Pseudo-values of F1 have a mean that is F1's: the jackknife's correction of bias is taken off.
        assert row.runs == pytest.approx(own)
        assert row.mean == pytest.approx(np.mean(own))
        assert row.spread == pytest.approx(np.std(own, ddof=1))
        assert row.low < row.mean < row.high
    best = max(rows.values(), key=lambda row: row.mean)
    assert [row.model for row in rows.values() if row.best] == [best.model]
    assert {model: row.as_best for model, row in rows.items() if model != best.model} == {
        **{model: True for model in "ab" if model != best.model},
        "c": False,
    }
    tests = {(row.first, row.second): row for row in found.tests}
    assert tests["a", "c"].p_adjusted < 1e-6
    assert tests["a", "c"].p_over_runs == pytest.approx(stats.ttest_ind(rows["a"].runs, rows["c"].runs).pvalue)
    assert tests["a", "b"].p_adjusted >= tests["a", "b"].p


def test_means_of_items_are_compared_as_accuracies_are():
    """For a metric that is a mean of items, pseudo-values are the items' own values."""
    letters = [frozenset("a"), frozenset("b")] * 20
    other = [frozenset("a")] * 40
    one = make_runs("FrenchMedMCQA MCQA", [(letters, letters), (letters, other)], model="one")
    two = make_runs("FrenchMedMCQA MCQA", [(letters, other), (letters, other)], model="two")
    (found,) = (row for row in analyse_task_runs([*one, *two]).tests if row.metric == "exact-match-ratio")
    order = sorted(map(str, range(40)))
    right = np.array([float(int(item) % 2 == 0) for item in order])
    expected = compare_runs("", "", "", np.array([np.ones(40), right]).T, np.array([right, right]).T)
    assert (found.difference, found.low, found.high, found.p) == pytest.approx(
        (expected.difference, expected.low, expected.high, expected.p)
    )


def test_learning_curves_have_intervals_and_only_the_end_is_compared():
    runs = [run for share in (0.25, 0.5, 1.0) for run in simulate("a", 0.5 + 0.4 * share, share=share)]
    found = analyse_task_runs([*runs, *simulate("b", 0.7)])
    curve = {row.share: row for row in found.results if row.model == "a"}
    assert list(curve) == [0.25, 0.5, 1.0]
    assert curve[0.25].mean < curve[0.5].mean < curve[1.0].mean
    assert [(row.best, row.as_best) for row in curve.values()][:2] == [(False, None)] * 2
    assert [(test.first, test.second) for test in found.tests] == [("a", "b")]


def test_one_model_is_not_the_best_of_a_task():
    assert not any(row.best for row in analyse_task_runs(simulate("a", 0.9)).results)


def test_single_runs_are_compared_over_items_alone():
    found = analyse_task_runs([*simulate("a", 0.95, runs=1), *simulate("b", 0.6, runs=1)])
    (test,) = found.tests
    assert test.p < 1e-6
    assert test.p_over_runs is None
    assert {row.spread for row in found.results} == {None}


@pytest.mark.parametrize(
    ("given", "letters"), [("a", "a"), ("a ", "a"), (" ca\n", "ac"), ([" a "], "a"), (" ", ""), ("", "")]
)
def test_white_space_around_letters_is_none_of_them(given: str | list[str], letters: str):
    assert parse_answer(given, TASKS["FrenchMedMCQA MCQA"]) == frozenset(letters)


# Its own files.


def write_run(folder: Path, corpus: str, name: str, **content: Any) -> Path:
    path = folder / "recipes" / corpus / "runs" / f"DrBenchmark-{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = {
        "model_name": content.pop("model", "../../../models/camembert-base"),
        "fewshot": content.pop("share", 1.0),
    }
    metrics = content.pop("metrics", {})
    path.write_text(
        json.dumps({"model_name": "x", "metrics": metrics, "hyperparameters": settings, "predictions": content})
    )
    return path


def sides(gold: list[Any], predicted: list[Any]) -> dict[str, list[Any]]:
    """Return the answers to the items a, b and so on as its files have them."""
    return {"identifiers": list("abcdef"[: len(gold)]), "real_labels": gold, "system_predictions": predicted}


def test_runs_of_its_scripts(tmp_path: Path):
    answers = sides([["O", "B-DISO"], ["O"]], [["O", "O"], ["O"]])
    write_run(tmp_path, "quaero", "QUAERO-ner-emea-1", **answers)
    # Another tokenizer cuts the first text after one word.
    answers = sides([["O"], ["O"]], [["O"], ["O"]])
    write_run(tmp_path, "quaero", "QUAERO-ner-emea-2", model="b", share=0.25, **answers)
    reported = {"hamming_score": 0.75, "exact_match": 0.5}
    write_run(tmp_path, "frenchmedmcqa", "FrenchMedMCQA-mcqa-1", metrics=reported, **sides(["ab", "e"], ["a", "e"]))
    first, second, none = [1.0, *[0.0] * 11], [0.0, 1.0, *[0.0] * 10], [0.0] * 12
    write_run(tmp_path, "morfitt", "MORFITT-cls-1", **sides([first, second], [first, none]))
    # The name says CAS, the folder is right.
    write_run(tmp_path, "diamed", "CAS-cls-1", **sides([0, 9], [0, 1]))
    write_run(tmp_path, "clister", "CLISTER-regression-1", **sides([1.0, 4.5], [[1.25], [4.0]]))
    write_run(tmp_path, "cas", "CAS-cls-1", **sides([0], [0]))
    runs = {(run.task.name, run.model): run for run in read_runs(tmp_path)}
    assert set(runs) == {
        ("QUAERO EMEA", "../../../models/camembert-base"),
        ("QUAERO EMEA", "b"),
        *((name, "../../../models/camembert-base") for name in ("FrenchMedMCQA MCQA", "MorFITT", "DiaMED", "CLISTER")),
    }
    own = {name: run for (name, _), run in runs.items()}
    assert runs["QUAERO EMEA", "b"].share == 0.25
    assert own["FrenchMedMCQA MCQA"].answers["a"] == (frozenset("ab"), frozenset("a"))
    assert own["MorFITT"].answers["b"] == (frozenset({"etiology"}), frozenset())
    (hamming, exact) = analyse_task_runs([own["FrenchMedMCQA MCQA"]]).results
    assert (hamming.reported, exact.reported) == ((0.75,), (0.5,))
    assert (*hamming.runs, *exact.runs) == pytest.approx((0.75, 0.5))
    assert own["DiaMED"].reported == {}
    assert own["DiaMED"].answers["b"][0].startswith("J00-J99")
    assert own["CLISTER"].answers["b"] == (4.5, 4.0)
    cut = {row.model: row.cut for row in analyse_task_runs([*runs.values()]).results if row.task == "QUAERO EMEA"}
    assert cut == {"../../../models/camembert-base": 0, "b": 1}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (sides([0, 1], [0, 1]) | {"identifiers": ["a", "a"]}, "two items have the same id"),
        (sides([0, 1], [0, 1]) | {"real_labels": [0]}, "1 real_labels"),
        (sides([0, 7], [0, 1]), "class"),
        ({"identifiers": ["a", "b"], "real_labels": [0, 1]}, "system_predictions"),
        (sides([0, 1], [0, 1]) | {"share": 3}, "share"),
    ],
)
def test_damaged_runs(tmp_path: Path, content: dict[str, Any], reason: str):
    path = write_run(tmp_path, "pxcorpus", "PxCorpus-cls-1", **content)
    with pytest.raises(InputError, match=reason) as caught:
        read_runs(tmp_path)
    assert caught.value.path == path


def test_runs_on_other_test_data_are_refused(tmp_path: Path):
    for number, gold in enumerate(([0, 1], [0, 2])):
        write_run(tmp_path, "pxcorpus", f"PxCorpus-cls-{number}", **sides(gold, [0, 1]))
    with pytest.raises(InputError, match="other items"):
        read_runs(tmp_path)
    with pytest.raises(InputError, match="no run"):
        read_runs(tmp_path / "recipes" / "cas")


@pytest.mark.parametrize("given", [".", "DrBenchmark-CAS-cls-1.json"])
def test_the_data_set_is_the_innermost_folder_of_a_path(tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch):
    path = write_run(tmp_path / "DEFT-2021", "diamed", "CAS-cls-1", **sides([0, 9], [0, 1]))
    monkeypatch.chdir(path.parent)
    assert [run.task.name for run in read_runs(Path(given))] == ["DiaMED"]


def test_predictions_and_runs_are_of_the_same_items(tmp_path: Path):
    save(tmp_path / "QUAERO/emea/test.parquet", QUAERO, {"ner_tags": TAG_FEATURE})
    predicted = predict(tmp_path / "p.jsonl", rows_of("QUAERO EMEA", {"x": "O O", "y": "O"}))
    path = write_run(tmp_path, "quaero", "x-emea-1", **sides([["O"], ["O"]], [["O"], ["O"]]))
    with pytest.raises(InputError):
        read_outputs(OutputFiles(runs=[path], predictions=[predicted]), tmp_path)


# Data sets on disk.


def save(path: Path, columns: dict[str, list[Any]], features: dict[str, Any]) -> None:
    """Write a data set as `datasets` does: its features stand in the schema's metadata."""
    table = pa.table(columns)
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


TAG_FEATURE = {"feature": {"names": list(TAGS), "_type": "ClassLabel"}, "_type": "Sequence"}
QUAERO = {"id": ["x", "y"], "tokens": [["un", "infarctus"], ["rien"]], "ner_tags": [[0, 1], [0]]}


@pytest.mark.parametrize(
    "place",
    ["recipes/quaero/data/local_hf_emea/test/data-00000-of-00001.arrow", "QUAERO/emea/test-00000-of-00001.parquet"],
)
def test_right_answers_from_disk(tmp_path: Path, place: str):
    save(tmp_path / place, QUAERO, {"ner_tags": TAG_FEATURE})
    save(tmp_path / place.replace("emea", "medline"), QUAERO, {"ner_tags": TAG_FEATURE})
    save(tmp_path / place.replace("test", "train"), QUAERO, {"ner_tags": TAG_FEATURE})
    data = read_data(tmp_path, TASKS["QUAERO EMEA"])
    assert data.gold == {"x": ["O", "B-DISO"], "y": ["O"]}
    assert data.texts == {"x": ["un", "infarctus"], "y": ["rien"]}


def test_right_answers_that_datasets_saved():
    folder = Path(__file__).parent / "frenchmedmcqa"
    assert read_data(folder, TASKS["FrenchMedMCQA MCQA"]).gold == {"x": frozenset("ac"), "y": frozenset("b")}
    data = read_data(folder, TASKS["FrenchMedMCQA CLS"])
    assert data.gold == {"x": "2", "y": "1"}
    assert data.texts["x"] == ["Laquelle ?", "aaa", "bbb", "ccc", "ddd", "eee"]


def test_data_without_a_column_or_names(tmp_path: Path):
    place = tmp_path / "QUAERO/emea/test.parquet"
    save(place, {"id": ["x"], "tokens": [["a"]]}, {})
    with pytest.raises(InputError, match="ner_tags") as caught:
        read_data(tmp_path, TASKS["QUAERO EMEA"])
    assert "\n" not in str(caught.value)
    save(place, QUAERO, {})
    with pytest.raises(InputError, match="without a name"):
        read_data(tmp_path, TASKS["QUAERO EMEA"])


def predict(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(task: BenchmarkTask | str, predicted: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    name = task if isinstance(task, str) else task.name
    return [{"task": name, "model": "m", "id": id_, "predicted": value, **fields} for id_, value in predicted.items()]


def test_predictions_and_right_answers_from_disk(tmp_path: Path):
    save(tmp_path / "QUAERO/emea/test.parquet", QUAERO, {"ner_tags": TAG_FEATURE})
    path = predict(
        tmp_path / "p.jsonl",
        [
            *rows_of("quaero emea", {"y": ["O"], "x": "O B-DISO"}, seed=1),
            *rows_of("QUAERO EMEA", {"x": [0, 0], "y": [0]}, seed=2, share=0.5),
        ],
    )
    one, two = read_predictions([path], tmp_path)
    assert (one.run, one.share, one.answers["x"]) == ("1", 1.0, (["O", "B-DISO"], ["O", "B-DISO"]))
    assert (two.run, two.share) == ("2", 0.5)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"task": "QUAERO EMEA", "id": "x", "predicted": "O"}], "model"),
        (rows_of("MedQA", {"x": "a"}), "unknown task"),
        (rows_of("QUAERO EMEA", {"x": 5}), "list of tags"),
        (rows_of("QUAERO EMEA", {"x": ["O", "O"]}), "'y'"),
        ([*rows_of("QUAERO EMEA", {"x": "O O"}), *rows_of("QUAERO EMEA", {"x": "O O"})], "twice"),
        (rows_of("QUAERO EMEA", {"x": "O", "y": "O"}), "tags"),
        (rows_of("QUAERO EMEA", {"x": "O O", "y": "O"}, share=2), "^[^O]*2 is"),
    ],
)
def test_predictions_that_do_not_fit(tmp_path: Path, rows: list[dict[str, Any]], reason: str):
    save(tmp_path / "QUAERO/emea/test.parquet", QUAERO, {"ner_tags": TAG_FEATURE})
    with pytest.raises(InputError, match=reason):
        read_predictions([predict(tmp_path / "p.jsonl", rows)], tmp_path)
