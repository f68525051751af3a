"""Which columns are taken for which field, where several or none could be meant."""

import json
from pathlib import Path

import pytest
from openpyxl import Workbook

from imapeval.errors import InputError
from imapeval.evaluation.samples import read


def write_jsonl(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_sheet(path: Path, *rows: tuple[object, ...]) -> Path:
    book = Workbook()
    for row in rows:
        book.active.append(row)  # pyright: ignore
    book.save(path)
    return path


@pytest.mark.parametrize(
    "nested",
    [[{"refs": '["a", "b"]'}], {"refs": ['["a", "b"]']}, [{"refs": ' [\n"a", "b"]'}]],
)
def test_a_json_list_in_a_list_of_one_is_that_list(tmp_path: Path, nested: object):
    path = write_jsonl(tmp_path / "d.jsonl", {"question": "Why?", "response": "So.", "x": nested})
    assert read(path, columns={"references": "x.refs"})[0].references == ("a", "b")


def test_a_text_in_brackets_in_a_list_of_one_is_a_reference(tmp_path: Path):
    row = {"question": "Why?", "response": "So.", "x": [{"refs": "[1] Smith 2020"}]}
    assert read(write_jsonl(tmp_path / "d.jsonl", row), columns={"references": "x.refs"})[0].references == (
        "[1] Smith 2020",
    )


def test_turns_in_json_in_a_list_of_one(tmp_path: Path):
    path = write_jsonl(
        tmp_path / "d.jsonl", {"response": "So.", "m": [{"turns": json.dumps([{"role": "user", "content": "Why?"}])}]}
    )
    (sample,) = read(path, columns={"turns": "m.turns"})
    assert (sample.question, sample.response) == ("Why?", "So.")


@pytest.mark.parametrize("name", ["model", "target"])
def test_numbers_of_json_beside_a_csv_file_are_no_texts(tmp_path: Path, name: str):
    (tmp_path / "a.csv").write_text(f"question,response,{name}\nq,r,words\n")
    write_jsonl(tmp_path / "b.jsonl", {"question": "q", "response": "r", name: 4})
    samples = read(tmp_path)
    assert [sample.fault for sample in samples] == [None, None]
    assert [sample.meta for sample in samples] == [{name: "words"}, {name: 4}]


@pytest.mark.parametrize(
    ("name", "values"),
    [("target", (4, 5, "n/a")), ("expected", (True, False, "unsure")), ("expected", (True, "yes", "no"))],
)
def test_ratings_in_a_sheet_are_no_references_though_some_are_words(
    tmp_path: Path, name: str, values: tuple[object, ...]
):
    rows = [("q", "r", value) for value in values]
    samples = read(write_sheet(tmp_path / "d.xlsx", ("question", "response", name), *rows))
    assert [sample.references for sample in samples] == [()] * 3
    assert [sample.meta[name] for sample in samples] == [*values]


def test_ratings_in_a_sheet_are_no_rival_of_the_response(tmp_path: Path):
    rows = [("q", "r", "g", value) for value in (3, 4, "n/a")]
    samples = read(write_sheet(tmp_path / "d.xlsx", ("question", "prediction", "gold", "output"), *rows))
    assert {sample.response for sample in samples} == {"r"}


@pytest.mark.parametrize("value", [float("nan"), None, " "])
def test_a_column_without_a_value_is_no_rival(tmp_path: Path, value: object):
    row = {"question": "q", "output": value, "prediction": "x", "gold": "a"}
    assert read(write_jsonl(tmp_path / "d.jsonl", row, row))[0].response == "x"


def test_of_columns_without_a_value_the_first_is_taken(tmp_path: Path):
    path = write_jsonl(tmp_path / "d.jsonl", {"question": "q", "prediction": None, "output": None, "gold": "a"})
    (sample,) = read(path)
    assert (sample.answered, sample.meta) == (False, {"output": None})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("question,reference,response,system", "问题,参考答案,回答,模型"),
        ("prompt,target,output,model", "Question,Reference,Response,System"),
        ("问题,答案,回答,模型", "question,reference,answer,system"),
        ("query,gold,answer,model", "input,target,response,model"),
    ],
)
def test_each_of_several_files_has_other_usual_names(
    tmp_path: Path, first: str, second: str, caplog: pytest.LogCaptureFixture
):
    for name, header in (("a.csv", first), ("b.csv", second)):
        (tmp_path / name).write_text(f"{header}\nWhy?,So.,Because {name}.,{name}\n", encoding="utf-8")
    for files in (["a.csv", "b.csv"], ["b.csv", "a.csv"]):
        samples = read([tmp_path / name for name in files], strict=True)
        assert [(s.question, s.references, s.response, s.system, s.meta) for s in samples] == [
            ("Why?", ("So.",), f"Because {name}.", name, {}) for name in files
        ]
    assert "b.csv: took" in caplog.text


def test_a_column_that_is_mapped_is_not_replaced_by_a_renamed_one(tmp_path: Path):
    row = {"question": "Why?", "reference": "The answer of the model."}
    one = write_jsonl(tmp_path / "a.jsonl", row | {"gold": "So."})
    two = write_jsonl(tmp_path / "b.jsonl", row | {"ground_truth": "So."})
    with pytest.raises(InputError, match=r"'gold', 'ground_truth'"):
        read([one, two], columns={"response": "reference"})


def test_references_and_dialogues_of_several_files_may_have_other_usual_names(tmp_path: Path):
    one = write_jsonl(tmp_path / "a.jsonl", {"question": "Why?", "gold": "So.", "output": "Because."})
    turns = [{"role": "user", "content": "Why?"}]
    row = {"messages": turns, "gold_answers": ["So.", "Thus."], "response": "Because."}
    samples = read([one, write_jsonl(tmp_path / "b.jsonl", row)], strict=True)
    assert [sample.references for sample in samples] == [("So.",), ("So.", "Thus.")]
    assert [len(sample.turns) for sample in samples] == [0, 2]


def test_numbers_with_a_usual_name_in_another_file_are_no_texts(tmp_path: Path):
    one = write_jsonl(tmp_path / "a.jsonl", {"question": "Why?", "reference": "So.", "response": "Because."})
    two = write_jsonl(tmp_path / "b.jsonl", {"question": "How?", "target": 4, "response": "So."})
    assert [(s.references, s.meta) for s in read([one, two])] == [(("So.",), {}), ((), {"target": 4})]


def test_what_is_mapped_is_not_looked_for_in_other_files(tmp_path: Path):
    one = write_jsonl(tmp_path / "a.jsonl", {"question": "Why?", "response": "So."})
    two = write_jsonl(tmp_path / "b.jsonl", {"问题": "Why?", "response": "So."})
    samples = read([one, two], columns={"question": "问题"})
    assert [sample.fault is None for sample in samples] == [False, True]
    assert samples[0].fault
    assert "a.jsonl, line 1: there is no column '问题', which is the question in ano" in samples[0].fault.message


def test_what_is_mapped_to_another_field_has_no_usual_meaning(tmp_path: Path):
    one = write_jsonl(tmp_path / "a.jsonl", {"question": "Why?", "output": "So.", "prediction": "Yes."})
    two = write_jsonl(tmp_path / "b.jsonl", {"prompt": "Why?", "output": "So.", "generation": "No."})
    samples = read([one, two], columns={"reference": "output"}, strict=True)
    assert [(s.references, s.response) for s in samples] == [(("So.",), "Yes."), (("So.",), "No.")]
