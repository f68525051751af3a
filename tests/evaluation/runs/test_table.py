"""The table of results: the same rows in CSV, Parquet and Excel, none of whose texts is run as a formula."""

import csv
import errno
import io
import json
import os
from array import array
from pathlib import Path
from typing import Any, NoReturn

import pytest
from openpyxl import load_workbook

from imapeval.errors import UsageError
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter, TableFormat, export_table, outcomes, table
from imapeval.evaluation.samples import index_samples, read
from imapeval.types import Failure, Outcome, Sample, Score

FORMATS: tuple[TableFormat, ...] = ("csv", "parquet", "xlsx")

SAMPLES = [
    Sample(
        *("a", "What helps?", ("Rest.", "Sleep."), "Sleep, and rest."),
        system="s1",
        ratings={"accuracy": 4.5},
        meta={"task": "treatment", "failure": "mine", "n": 3, "tags": ["x", "y"]},
    ),
    Sample("b", "怎么治疗？", ("休息",), "", "zh", "s2", meta={"task": "advice"}, answered=False),
]
OUTCOMES: dict[tuple[str, str], Outcome] = {
    ("a", "imapscore"): Score(0.123456, {"recall": 2 / 3, "precision": 1.0, "contradictions": 1.0, "f1": 0.5}),
    ("a", "bleu"): Score(12.34567, {"bp": 1.0, "recall": 0.5}),
    ("b", "imapscore"): Failure("sample", "no-response", "there is none"),
    ("b", "bleu"): Failure("sample", "no-response", "there is none"),
}


def make_run(folder: Path, samples: list[Sample], outcomes: dict[tuple[str, str], Outcome]) -> Run:
    metrics = list(dict.fromkeys(metric for _, metric in outcomes))
    with RunWriter(folder, samples, settings=RunSettings({metric: f"{metric}|v:1" for metric in metrics})) as run:
        run.add(imaps=[], results=[Result(*key, outcome, f"{key[1]}|v:1") for key, outcome in outcomes.items()])
    return Run(folder)


def read_table(path: Path) -> list[dict[str, Any]]:
    """Read a table with another program's reader; empty cells are None."""
    if path.suffix == ".csv":
        rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))
        return [{name: value or None for name, value in row.items()} for row in rows]
    if path.suffix == ".parquet":
        return pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    header, *rows = load_workbook(path).active.iter_rows(values_only=True)  # pyright: ignore
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.mark.parametrize("kind", FORMATS)
def test_table(tmp_path: Path, kind: TableFormat):
    path = export_table(make_run(tmp_path / "run", SAMPLES, OUTCOMES), kind)
    assert path == tmp_path / "run" / f"results.{kind}"
    first, second = read_table(path)
    number = str if kind == "csv" else float
    assert first == {
        "id": "a",
        "system": "s1",
        "question": "What helps?",
        "references": '["Rest.", "Sleep."]',
        "response": "Sleep, and rest.",
        "lang": "en",
        "ratings.accuracy": number(4.5),
        "task": "treatment",
        "data.failure": "mine",
        "n": "3" if kind == "csv" else 3,
        "tags": '["x", "y"]',
        "imapscore": number(0.1235),
        "imapscore.recall": number(0.6667),
        "imapscore.precision": number(1.0),
        "imapscore.contradictions": number(1.0),
        "bleu": number(12.35),
        "failure": None,
    }
    assert {name: value for name, value in second.items() if value is not None} == {
        "id": "b",
        "system": "s2",
        "question": "怎么治疗？",
        "references": '["休息"]',
        "lang": "zh",
        "task": "advice",
        "failure": "no-response",
    }


def test_one_reference_is_a_text(tmp_path: Path):
    sample = Sample("a", "What helps?", ("Rest.",), "Sleep.")
    path = export_table(make_run(tmp_path / "run", [sample], {("a", "m"): Score(1)}))
    assert read_table(path)[0]["reference"] == "Rest."


@pytest.mark.parametrize("kind", FORMATS)
def test_the_table_is_data_again(tmp_path: Path, kind: TableFormat):
    path = export_table(make_run(tmp_path / "run", SAMPLES, OUTCOMES), kind)
    for before, after in zip(SAMPLES, read(path), strict=True):
        assert (after.id, after.question, after.references, after.response, after.system, after.answered) == (
            *(before.id, before.question, before.references, before.response, before.system, before.answered),
        )
        assert after.ratings == before.ratings


@pytest.mark.parametrize("kind", FORMATS)
def test_columns_of_the_data_that_would_be_fields_are_renamed(tmp_path: Path, kind: TableFormat):
    # "" is the name of pandas' index.
    names = ("", "references", "turns", "question", "References", " Turns", "reference1", "Reference 2")
    samples = [Sample("a", "What helps?", ("Rest.",), "Sleep.", meta=dict.fromkeys(names, "x"))]
    path = export_table(make_run(tmp_path / "run", samples, {("a", "m"): Score(1)}), kind)
    (after,) = read(path)
    assert (after.question, after.references, after.response) == ("What helps?", ("Rest.",), "Sleep.")
    assert {name: after.meta[f"data.{name}"] for name in names} == dict.fromkeys(names, "x")


FORMULAS = ["=1+1", "@sum", "-1+2", "+1", "＝1", " =1", "#N/A"]


@pytest.mark.parametrize("kind", FORMATS)
def test_no_text_becomes_a_formula(tmp_path: Path, kind: TableFormat):
    samples = [Sample(text, text, (text,), text, system=text, meta={text: text}) for text in FORMULAS]
    samples.append(Sample("half \ud83d", "q\x07", ("r",), "a\nb"))
    path = export_table(make_run(tmp_path / "run", samples, {("=1+1", "m"): Score(-0.5)}), kind)
    if kind == "xlsx":
        cells = [cell for row in load_workbook(path).active.iter_rows() for cell in row if cell.value is not None]  # pyright: ignore
        assert {cell.data_type for cell in cells} == {"s", "n"}
        assert {cell.value for cell in cells if cell.quotePrefix} == {text for text in FORMULAS if text != "#N/A"}
    rows = read_table(path)
    mark = "'" if kind == "csv" else ""
    assert [row["response"] for row in rows] == [
        *(text if text == "#N/A" else mark + text for text in FORMULAS),
        "a\nb",
    ]
    assert rows[-1]["id"] == "half ?"
    assert float(rows[0]["m"]) == -0.5


@pytest.mark.parametrize("kind", FORMATS)
def test_no_text_is_a_control_sequence_in_a_table_for_people(tmp_path: Path, kind: TableFormat):
    text = "\x1b[2J\x9b1m\u202eb\ufffe\uffff"
    run = make_run(tmp_path / "run", [Sample(text, "q", ("r",), text)], {(text, "m"): Score(1)})
    (row,) = read_table(export_table(run, kind))
    shown = r"\u001b[2J\u009b1m\u202eb"
    assert row["id"] == row["response"]
    assert row["id"] == {"csv": f"{shown}\ufffe\uffff", "xlsx": f"{shown}\ufffd\ufffd", "parquet": text}[kind]


def test_a_text_longer_than_a_cell_of_excel_is_cut_visibly(tmp_path: Path):
    samples = [Sample("a", "q", ("r",), "x" * 40_000), Sample("b", "q", ("r",), "😀" * 20_000)]
    run = make_run(tmp_path / "run", samples, {("a", "m"): Score(1)})
    row, other = read_table(export_table(run, "xlsx"))
    assert len(row["response"]) == 32_767
    assert row["response"].endswith("x [cut]")
    # An emoji is two units of UTF-16; half of one is left out.
    assert other["response"] == "😀" * 16_380 + " [cut]"
    for kind in ("csv", "parquet"):
        assert len(read_table(export_table(run, kind))[0]["response"]) == 40_000


def test_a_column_of_parquet_has_one_type_over_all_groups_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(table, "_GROUP_ROWS", 2)
    metas: list[dict[str, object]] = [{"x": 1, "y": 1}, {"x": 2}, {"x": "two", "y": 0.5}, {"x": None}, {"x": {"k": 1}}]
    samples = [Sample(str(n), "q", (), "r", meta=meta) for n, meta in enumerate(metas)]
    path = export_table(make_run(tmp_path / "run", samples, {("4", "m"): Score(1)}), "parquet")
    rows = read_table(path)
    assert [row["x"] for row in rows] == ["1", "2", "two", None, json.dumps({"k": 1})]
    assert [row["y"] for row in rows] == [1.0, None, 0.5, None, None]
    assert [row["m"] for row in rows] == [None, None, None, None, 1.0]


def test_long_integers_of_parquet_are_exact(tmp_path: Path):
    metas: list[dict[str, object]] = [
        {"pid": 2**53 + 1, "big": 2**63, "mixed": 1},
        {"pid": None, "big": 1, "mixed": 0.5},
    ]
    samples = [Sample(str(n), "q", (), "r", meta=meta) for n, meta in enumerate(metas)]
    rows = read_table(export_table(make_run(tmp_path / "run", samples, {("1", "m"): Score(1)}), "parquet"))
    assert [row["pid"] for row in rows] == [2**53 + 1, None]
    assert [(row["big"], row["mixed"]) for row in rows] == [(2.0**63, 1.0), (1.0, 0.5)]


def test_long_integers_of_excel_are_exact(tmp_path: Path):
    # A SNOMED CT identifier has up to 18 digits; a number in Excel has 15.
    meta: dict[str, object] = {"snomed": 900000000000441003, "negative": -(10**15), "huge": 10**400, "n": 10**15 - 1}
    sample = Sample("a", "q", (), "r", meta=meta | {"right": True})
    (row,) = read_table(export_table(make_run(tmp_path / "run", [sample], {("a", "m"): Score(1)}), "xlsx"))
    texts = {name: str(meta[name]) for name in ("snomed", "negative", "huge")}
    assert {name: row[name] for name in (*meta, "right")} == texts | {"n": 10**15 - 1, "right": True}


@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_a_temporary_folder_without_space(kind: TableFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail() -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(table, "TemporaryFile", fail)
    run = make_run(tmp_path / "run", [Sample("a", "q", (), "r")], {("a", "m"): Score(1)})
    with pytest.raises(UsageError, match="TMPDIR"):
        export_table(run, kind)
    assert not list(run.folder.glob("*results.[px]*"))


def test_shards_have_a_row_per_answer_and_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(table, "_SHARD_ROWS", 3)
    folder = export_table(make_run(tmp_path / "run", SAMPLES, OUTCOMES), "shards")
    assert sorted(file.name for file in folder.iterdir()) == ["part-00000.parquet", "part-00001.parquet"]
    rows = {(row["id"], row["metric"]): row for row in pyarrow.read_table(folder).to_pylist()}
    assert rows.keys() == OUTCOMES.keys()
    scored, failed = rows["a", "imapscore"], rows["b", "bleu"]
    assert (scored["score"], dict(scored["parts"])) == (0.123456, OUTCOMES["a", "imapscore"].parts)
    assert (failed["score"], failed["parts"], failed["stage"], failed["kind"]) == (None, None, "sample", "no-response")
    assert {row["system"] for row in rows.values()} == {"s1", "s2"}
    assert failed["signature"] == "bleu|v:1"


def test_shards_of_a_run_without_results_keep_their_columns(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    folder = export_table(make_run(tmp_path / "run", SAMPLES, {}), "shards")
    assert pyarrow.read_table(folder).column_names[:4] == ["id", "system", "metric", "score"]


def test_arrays_of_parts_are_made_once_and_not_for_each_outcome(monkeypatch: pytest.MonkeyPatch):
    made: list[object] = []

    def count(*args: Any) -> Any:
        made.append(args)
        return array(*args)

    monkeypatch.setattr(outcomes, "array", count)
    samples = [Sample(str(n), "q", (), "r") for n in range(50)]
    results = (Result(sample.id, "m", Score(0.5, {"recall": 0.5}), "m") for sample in samples)
    found = outcomes.Outcomes(results, ["m"], index_samples(samples))
    assert found.fill("m", "recall").tolist() == [0.5] * 50
    assert len(made) < 10
