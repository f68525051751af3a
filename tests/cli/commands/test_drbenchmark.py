"""`imapeval closed` on runs and predictions of DrBenchmark's tasks, `imapeval datasets` on its texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imapeval.cli.closed_tables import print_closed
from imapeval.study.closed.drbenchmark.runs import TaskRun
from imapeval.study.closed.drbenchmark.tasks import Task
from imapeval.study.closed.findings import analyse_closed_answers

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Command

NAMES = ["medical_prescription", "negate", "none", "replace"]


def write_runs(folder: Path) -> Path:
    """Write four runs of two models, and of one of them on a quarter of the training data."""
    rng = np.random.default_rng(0)
    gold = [0, 1, 2, 3] * 25
    runs = folder / "recipes" / "pxcorpus" / "runs"
    runs.mkdir(parents=True)
    for model, share, accuracy in (("camembert", 1.0, 0.9), ("drbert", 1.0, 0.7), ("camembert", 0.25, 0.5)):
        for run in range(4):
            given = [right if rng.random() < accuracy else (right + 1) % 4 for right in gold]
            content = {
                "metrics": {"weighted avg": {"f1-score": 0.999}},
                "hyperparameters": {"model_name": model, "fewshot": share},
                "predictions": {
                    "identifiers": [*range(100)],
                    "real_labels": gold,
                    "system_predictions": given,
                },
            }
            (runs / f"DrBenchmark-PxCorpus-cls-{model}{share}{run}.json").write_text(json.dumps(content))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    tags = {"feature": {"names": ["O", "B-drug"], "_type": "ClassLabel"}, "_type": "Sequence"}
    features = {"label": {"names": NAMES, "_type": "ClassLabel"}, "ner_tags": tags}
    columns = {
        "id": ["0", "1", "2"],
        "text": ["doliprane un gramme", "non", "oui"],
        "label": [0, 1, 2],
        "tokens": [["doliprane", "un", "gramme"], ["non"], ["oui"]],
        "ner_tags": [[1, 0, 0], [0], [0]],
    }
    table = pa.table(columns).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path = tmp_path / "hub" / "PxCorpus" / "test-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(table, path)
    return tmp_path / "hub"


def test_runs_of_its_scripts(imapeval: Command, tmp_path: Path):
    folder = write_runs(tmp_path)
    done = imapeval("closed", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "All scores" in done.stdout
    assert "camembert - drbert" in done.stdout
    assert "By share of the training data" in done.stdout
    assert "a file says f1-weighted 0.999, where" in done.stdout
    assert "100 test items here, 397 as published" in done.stdout
    found = json.loads(imapeval("closed", folder, "--json").stdout)
    rows = {(row["model"], row["share"]): row for row in found["results"]}
    assert list(rows) == [("camembert", 0.25), ("camembert", 1.0), ("drbert", 1.0)]
    assert rows["camembert", 1.0]["best"]
    assert rows["drbert", 1.0]["as_best"] is False
    (test,) = found["tests"]
    assert test["p_adjusted"] < 0.01
    shown = f"{test['difference']:+.3f} │ {test['low']:+.3f} .. {test['high']:+.3f} │"
    assert shown in " ".join(done.stdout.split())


@pytest.mark.parametrize("said", [0.0, 0.1])
def test_a_file_that_reports_another_value(capsys: pytest.CaptureFixture[str], said: float):
    task = Task(name="topic", kind="labels", metrics=("accuracy",))
    answers = {str(n): ("a", "a" if n % 5 else "b") for n in range(100)}
    print_closed(analyse_closed_answers([], runs=[TaskRun(task, "bert", "1", 1.0, answers, {"accuracy": said})]))
    assert f"accuracy {said:.3f}" in capsys.readouterr().out


@pytest.mark.filterwarnings("default")
def test_tags_of_parts_of_speech(imapeval: Command, tmp_path: Path, recwarn: pytest.WarningsRecorder):
    """seqeval's warnings would quote them, once for each item left out."""
    runs = tmp_path / "cas" / "runs"
    runs.mkdir(parents=True)
    sides = {"identifiers": [1, 2], "real_labels": [["NOM"], ["\x1b[31m"]], "system_predictions": [["NOM"], ["ADJ"]]}
    content = {"hyperparameters": {"model_name": "m"}, "predictions": sides}
    (runs / "DrBenchmark-CAS-pos-1.json").write_text(json.dumps(content))
    done = imapeval("closed", tmp_path)
    assert (done.returncode, done.stderr, len(recwarn)) == (0, "", 0)


def test_predictions_beside_a_data_set(imapeval: Command, tmp_path: Path, data: Path):
    rows = [
        {"task": "PxCorpus CLS", "model": "m", "run": run, "id": number, "predicted": NAMES[number]}
        for run in range(2)
        for number in range(3)
    ]
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = json.loads(imapeval("closed", path, "--data", data, "--json").stdout)
    (row,) = found["results"]
    assert (row["task"], row["metric"], row["mean"], row["items"]) == ("PxCorpus CLS", "f1-weighted", 1.0, 3)


@pytest.mark.parametrize("options", [("--metric", "acc"), ("--against", "m"), ("--gold", "a", "--predicted", "b")])
def test_options_of_other_logs_are_refused(imapeval: Command, tmp_path: Path, data: Path, options: tuple[str, ...]):
    (tmp_path / "p.jsonl").write_text('{"task": "MedQA"}\n')
    done = imapeval("closed", tmp_path / "p.jsonl", "--data", data, *options)
    assert done.returncode == 2
    assert options[0] in done.stderr


def test_tokens_per_word(imapeval: Command, tmp_path: Path, data: Path):
    tokenizers: Any = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({"[UNK]": 0, "doli": 1, "##prane": 2, "un": 3, "gramme": 4}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    args = ("--tokenizer", tmp_path / "tokenizer.json")
    words, row = json.loads(imapeval("datasets", data, *args, "--json").stdout)
    assert {name for name in row if row[name] != words[name]} == {"task"}
    # doli ##prane un gramme | [UNK] | [UNK]: 6 tokens of 5 words, of which doliprane is two.
    assert (row["task"], row["lang"], row["texts"], row["words"]) == ("PxCorpus CLS", "fr", 3, 5)
    assert (row["tokens_per_word"], row["whole"], row["by_text"]) == (6 / 5, 4 / 5, pytest.approx((4 / 3 + 2) / 3))
    assert "words kept" in imapeval("datasets", data, *args).stdout
    assert imapeval("datasets", data).returncode == imapeval("datasets", *args).returncode == 2
