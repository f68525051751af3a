import csv
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.loader_names import LOADER_NAMES
from imapeval.evaluation.samples import LOADERS, read, shipped_samples, system_label
from imapeval.text.language import detect_lang
from imapeval.types import Sample

ROW = {"id": "a", "question": "What helps?", "reference": "Rest.", "response": "Sleep."}


def write_jsonl(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_csv(path: Path, *rows: list[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_jsonl(tmp_path: Path):
    path = write_jsonl(
        tmp_path / "d.jsonl",
        ROW
        | {"system": "s", "ratings": {"accuracy": 4, "completeness": None}, "ratings.tone": "2.5", "task": "advice"},
        ROW | {"id": 7, "question": "怎么治疗？", "references": ["休息", "喝水"], "reference": None, "response": None},
    )
    assert read(path) == [
        Sample("a", "What helps?", ("Rest.",), "Sleep.", "en", "s", {"accuracy": 4.0, "tone": 2.5}, {"task": "advice"}),
        Sample("7", "怎么治疗？", ("休息", "喝水"), "", "zh", answered=False),
    ]


def test_csv(tmp_path: Path):
    path = write_csv(
        tmp_path / "d.csv",
        ["id", "question", "references", "response", "ratings.accuracy"],
        ["1", "头疼\n怎么办?", '["休息", "喝水"]', 'say "rest", and wait', "4.5"],
        ["2", "Why?", '["Because."]', "", ""],
    )
    first, second = read(path)
    assert (first.references, first.response, first.ratings) == (
        ("休息", "喝水"),
        'say "rest", and wait',
        {"accuracy": 4.5},
    )
    assert (second.answered, second.ratings, second.lang) == (False, {}, "en")


def test_parquet(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.Table.from_pylist(
        [ROW | {"ratings": {"accuracy": 4.5}, "n": 1}, ROW | {"id": "b", "reference": "Sleep.", "ratings": None}]
    )
    parquet.write_table(table, tmp_path / "d.parquet")
    first, second = read(tmp_path / "d.parquet")
    assert (first.id, first.ratings, first.meta) == ("a", {"accuracy": 4.5}, {"n": 1})
    assert (second.references, second.ratings) == (("Sleep.",), {})


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_two_columns_of_one_name(tmp_path: Path, kind: str):
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / f"d.{kind}"
    table = pyarrow.table([["Why?"], ["So."], ["No."]], names=["question", "response", "response"])
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        with pytest.importorskip("pyarrow.ipc").new_file(str(path), table.schema) as file:
            file.write(table)
    with pytest.raises(InputError, match="'response'") as caught:
        read(path)
    assert caught.value.path == path


def test_damaged_parquet(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "d.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist([ROW]), path)
    raw = path.read_bytes()
    path.write_bytes(raw[:4] + bytes(40) + raw[44:])
    with pytest.raises(InputError, match="Parquet"):
        read(path)


def test_no_parquet_file(tmp_path: Path):
    pytest.importorskip("pyarrow")
    (tmp_path / "d.parquet").write_text("this is text")
    with pytest.raises(InputError, match="Parquet"):
        read(tmp_path / "d.parquet")


def test_columns_of_other_names(tmp_path: Path):
    path = write_jsonl(tmp_path / "d.jsonl", {"q": "Why?", "gold": "So.", "response": "old", "new": "model", "acc": 3})
    columns = {"question": "q", "reference": "gold", "response": "new", "ratings.accuracy": "acc"}
    (sample,) = read(path, columns=columns)
    assert (sample.question, sample.references, sample.response) == ("Why?", ("So.",), "model")
    assert (sample.ratings, sample.meta) == ({"accuracy": 3.0}, {"response": "old"})


def test_paths_to_several_responses(tmp_path: Path):
    path = write_jsonl(tmp_path / "d.jsonl", {"question": "Why?", "out": {"a": "So.", "b": None}})
    samples = read(path, columns={"response": "out.a,out.b"})
    assert [(s.system, s.response, s.answered) for s in samples] == [("out.a", "So.", True), ("out.b", "", False)]


@pytest.mark.parametrize("name", ["system", "System", "model"])
def test_a_column_that_names_a_system_beside_several_responses(tmp_path: Path, name: str):
    path = write_jsonl(tmp_path / "d.jsonl", {"question": "Why?", "a": "So.", "b": "Thus.", name: "nova"})
    samples = read(path, columns={"response": "a,b"})
    assert [(sample.system, sample.meta) for sample in samples] == [("a", {name: "nova"}), ("b", {name: "nova"})]


@pytest.mark.parametrize(
    ("texts", "references"), [(["one"], ("one",)), (["one", "two"], ("one", "two")), ([""], ()), ([None], ()), ([], ())]
)
@pytest.mark.parametrize("name", ["reference", "references"])
def test_a_path_to_a_list_of_references(
    tmp_path: Path, name: str, texts: list[str | None], references: tuple[str, ...]
):
    path = write_jsonl(tmp_path / "d.jsonl", {"question": "Why?", "response": "So.", "answers": {"text": texts}})
    (sample,) = read(path, columns={name: "answers.text"}, strict=True)
    assert sample.references == references


@pytest.mark.parametrize("turns", [[], [{"role": "assistant", "content": "So."}, {"role": "user", "content": "Why?"}]])
@pytest.mark.parametrize("body", ["an object", "a list of one"])
def test_a_path_to_turns(tmp_path: Path, turns: list[dict[str, str]], body: str):
    turns = [*turns, {"role": "user", "content": "What helps?"}]
    holder = {"messages": turns} if body == "an object" else [{"messages": turns}]
    path = write_jsonl(tmp_path / "d.jsonl", {"body": holder, "response": "Rest."})
    (sample,) = read(path, columns={"turns": "body.messages"}, strict=True)
    assert [turn.content for turn in sample.turns] == [*(turn["content"] for turn in turns), "Rest."]


def test_one_column_for_two_names(tmp_path: Path):
    path = write_jsonl(tmp_path / "d.jsonl", {"text": "Rest.", "question": "What helps?"})
    (sample,) = read(path, columns={"reference": "text", "response": "text"})
    assert (sample.references, sample.response, sample.meta) == (("Rest.",), "Rest.", {})


def test_chinese_names_of_columns(tmp_path: Path):
    row = {"编号": "z1", "问题": "怎么办？", "参考答案": "休息。", "模型回答": "多休息。", "模型": "nova"}
    (sample,) = read(write_jsonl(tmp_path / "d.jsonl", row))
    assert (sample.id, sample.question, sample.references, sample.response, sample.system, sample.meta) == (
        *("z1", "怎么办？", ("休息。",), "多休息。", "nova"),
        {},
    )


@pytest.mark.parametrize(
    ("systems", "ids", "meta"),
    [
        (("nova", "luna"), ["7/nova", "7/luna"], {}),
        (("nova", "nova"), ["1", "2"], {"编号": "7"}),
        (("", ""), ["1", "2"], {"编号": "7"}),
    ],
)
def test_a_number_that_repeats_within_a_system_is_no_id(
    tmp_path: Path, systems: tuple[str, ...], ids: list[str], meta: dict[str, str]
):
    rows = [["7", "怎么办？", "休息。", "多休息。", *([system] if system else [])] for system in systems]
    header = ["编号", "问题", "参考答案", "回答", "模型"][: len(rows[0])]
    samples = read(write_csv(tmp_path / "d.csv", header, *rows))
    assert [(sample.id, sample.meta) for sample in samples] == [(id_, meta) for id_ in ids]


@pytest.mark.parametrize(
    ("names", "missing", "there"),
    [
        (("Frage", "Muster", "KI"), ("question", "response", "reference"), ()),
        (("question", "Muster", "KI"), ("response",), ("question", "reference")),
        (("Frage", "reference", "KI"), ("question", "response"), ("reference",)),
        (("turns", "Muster", "KI"), (), ("question", "response", "reference")),
    ],
)
def test_all_missing_columns_are_named_at_once(
    tmp_path: Path, names: tuple[str, ...], missing: tuple[str, ...], there: tuple[str, ...]
):
    turns = json.dumps([{"role": "user", "content": "What helps?"}, {"role": "assistant", "content": "Rest."}])
    path = write_csv(tmp_path / "d.csv", list(names), [turns, "Rest.", "Sleep."])
    if not missing:
        assert len(read(path)) == 1
        return
    with pytest.raises(InputError, match=r"d\.csv, line 2") as error:
        read(path)
    assert all(f"--map {name}=<column>" in str(error.value) for name in missing)
    assert not any(f"--map {name}=" in str(error.value) for name in there)


def test_mapping_to_no_column_of_ours(tmp_path: Path):
    path = write_jsonl(tmp_path / "d.jsonl", ROW)
    with pytest.raises(UsageError, match=r"'q'.*--map question=q"):
        read(path, columns={"q": "question"})
    with pytest.raises(UsageError, match=r"'answer'.*id, question"):
        read(path, columns={"answer": "response"})
    with pytest.raises(InputError, match=r"'response'.*'x'.*'id'"):
        read(path, columns={"response": "x"})


@pytest.mark.parametrize("given", [{}, {"response": None}, {"response": float("nan")}], ids=["absent", "null", "NaN"])
def test_no_response_is_not_an_empty_one(tmp_path: Path, given: dict[str, object]):
    row = {"id": "b", "question": "Why?", "reference": "So."}
    path = write_jsonl(tmp_path / "d.jsonl", ROW, row | given, row | {"id": "c", "response": ""})
    assert [(sample.response, sample.answered) for sample in read(path)] == [("Sleep.", True), ("", False), ("", True)]
    if given:
        assert [sample.answered for sample in read(write_jsonl(tmp_path / "alone.jsonl", row | given))] == [False]


@pytest.mark.parametrize("value", [None, float("nan"), ""], ids=["null", "NaN", "empty"])
def test_a_column_with_a_usual_name_may_have_missing_values(tmp_path: Path, value: object):
    row = {"prompt": "Why?", "prediction": "So.", "ground_truth": "Thus."}
    path = write_jsonl(tmp_path / "d.jsonl", row, row | {"prediction": value})
    assert [(sample.response, sample.answered) for sample in read(path)] == [("So.", True), ("", value == "")]


def test_a_usual_name_for_texts_and_numbers_in_data_that_distinguish_them(tmp_path: Path):
    row = {"question": "Why?", "response": "So."}
    path = write_jsonl(tmp_path / "d.jsonl", row | {"model": "nova"}, row | {"model": 7})
    assert [(sample.system, sample.meta) for sample in read(path)] == [("", {"model": "nova"}), ("", {"model": 7})]


def test_no_response_in_a_column_of_another_name(tmp_path: Path):
    row = {"question": "Why?", "reference": "So.", "response": "old"}
    path = write_jsonl(tmp_path / "d.jsonl", row | {"new": None}, row, row | {"new": ""})
    assert [sample.answered for sample in read(path, columns={"response": "new"})] == [False, False, True]


def test_an_empty_cell_is_no_response_where_there_is_no_null(tmp_path: Path):
    path = tmp_path / "d.csv"
    path.write_text('id,question,response,topic\na,Why?,,\nb,Why?,"",\nc,Why?, ,\nd,Why?,So.,\n')
    samples = read(path)
    assert [(sample.response, sample.answered) for sample in samples] == [
        ("", False),
        ("", False),
        (" ", True),
        ("So.", True),
    ]
    assert samples[0].meta == {"topic": ""}


def test_null_and_empty_text_in_parquet(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [ROW | {"id": id_, "response": text} for id_, text in (("a", "So."), ("b", None), ("c", ""))]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "d.parquet")
    assert [sample.answered for sample in read(tmp_path / "d.parquet")] == [True, False, True]


def test_what_stands_for_no_response_is_said_by_who_knows(tmp_path: Path):
    texts = ["N/A", " N/A ", "n/a", "N/A, I think", "-", ""]
    path = write_jsonl(tmp_path / "d.jsonl", *(ROW | {"id": str(n), "response": text} for n, text in enumerate(texts)))
    assert all(sample.answered for sample in read(path))
    found = read(path, missing=["N/A", "-"])
    assert [sample.answered for sample in found] == [False, False, True, True, False, True]
    assert found[0].response == ""
    assert not read(path, missing=[""])[-1].answered
    assert [sample.answered for sample in read(path, missing="N/A")] == [False, False, True, True, True, True]


@pytest.mark.parametrize(
    "fields",
    [
        *({}, {"reference": " "}, {"reference": None}),
        *({"references": []}, {"references": ""}, {"references": " "}, {"references": "[]"}),
    ],
    ids=str,
)
def test_a_sample_without_reference(tmp_path: Path, fields: dict[str, object]):
    row = {"id": "b", "question": "Why?", "response": "So."}
    assert [sample.references for sample in read(write_jsonl(tmp_path / "d.jsonl", ROW, row | fields))] == [
        ("Rest.",),
        (),
    ]


NAN = float("nan")


def test_nan_in_any_field_is_a_missing_value(tmp_path: Path):
    row = {"question": "Why?", "response": "So.", "system": NAN, "lang": NAN, "turns": NAN, "ratings.tone": NAN}
    path = write_jsonl(
        tmp_path / "d.jsonl",
        row | {"id": "a", "ratings": NAN, "reference_1": "x", "reference_2": NAN, "ratings.accuracy": 4},
        row | {"id": "b", "ratings": {"tone": NAN}, "reference_1": NAN, "reference_2": NAN, "ratings.accuracy": NAN},
    )
    assert read(path, strict=True, columns={"reference": "reference_1,reference_2"}) == [
        Sample("a", "Why?", ("x",), "So.", "en", "", {"accuracy": 4.0}),
        Sample("b", "Why?", (), "So.", "en"),
    ]


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl"])
def test_of_several_columns_one_with_white_space_alone_is_no_reference(tmp_path: Path, name: str):
    cells = [("x", " "), ("\t", "y"), ("x", "y"), (" ", "\t")]
    path = tmp_path / name
    if name.endswith(".csv"):
        path.write_text("question,response,a,b\n" + "".join(f"Why?,So.,{a},{b}\n" for a, b in cells))
    else:
        write_jsonl(path, *({"question": "Why?", "response": "So.", "a": a, "b": b} for a, b in cells))
    samples = read(path, strict=True, columns={"reference": "a,b"})
    assert [sample.references for sample in samples] == [("x",), ("y",), ("x", "y"), ()]


@pytest.mark.parametrize(
    ("wanted", "fields", "references"),
    [
        ({"reference": "a,b"}, {"a": "x", "b": "y", "references": ["z"]}, ("x", "y")),
        ({"reference": "a"}, {"a": "x", "references": ["z"]}, ("x",)),
        ({"references": "a,b"}, {"a": "x", "b": "y", "reference": "z"}, ("x", "y")),
        ({"reference": "a"}, {"a": "x", "References": ["z"]}, ("x",)),
        ({"reference": "a"}, {"a": "x", "reference_0": "y", "reference_1": "z"}, ("x",)),
        ({"reference": "a,b"}, {"a": ["x", "y"], "b": "z"}, ("x", "y", "z")),
        ({}, {"reference": ["x", " "], "reference_2": "y"}, ("x", "y")),
        ({}, {"References": ["x"], "reference_1": "y"}, ("x",)),
    ],
    ids=str,
)
def test_which_columns_are_the_reference(
    tmp_path: Path, wanted: dict[str, str], fields: dict[str, object], references: tuple[str, ...]
):
    path = write_jsonl(tmp_path / "d.jsonl", {"question": "Why?", "response": "So."} | fields)
    (sample,) = read(path, strict=True, columns=wanted)
    assert sample.references == references


@pytest.mark.parametrize(
    "fields",
    [
        {"reference": "x", "references": []},
        {"reference": "x", "references": "[]"},
        {"reference": "x", "references": NAN},
        {"reference": ["x"], "references": ""},
        {"reference": ["x"], "references": " "},
        {"reference": ["x"], "references": []},
        {"reference": " ", "references": ["x"]},
        {"reference": NAN, "references": ["x"]},
    ],
    ids=str,
)
def test_references_in_one_of_two_columns(tmp_path: Path, fields: dict[str, object]):
    (sample,) = read(write_jsonl(tmp_path / "d.jsonl", {"question": "Why?", "response": "So."} | fields), strict=True)
    assert sample.references == ("x",)


def test_a_rating_of_blanks_is_none(tmp_path: Path):
    path = write_csv(tmp_path / "d.csv", ["question", "response", "ratings.accuracy"], ["Why?", "So.", " "])
    assert [sample.ratings for sample in read(path, strict=True)] == [{}]


def test_every_loader_is_in_the_list_of_names():
    assert tuple(LOADERS) == LOADER_NAMES, "enter it in LOADER_NAMES (evaluation/loader_names.py)"


def test_unknown_loader(tmp_path: Path):
    with pytest.raises(UsageError, match=f"'xml'.*{', '.join(LOADERS)}"):
        read(write_jsonl(tmp_path / "d.jsonl", ROW), loader="xml")


@pytest.mark.parametrize(
    ("rows", "line", "problem"),
    [
        ([ROW, ROW | {"question": " "}], 2, "the question is empty"),
        ([ROW | {"references": ["x", " "], "reference": None}], 1, "a reference is empty or not a text: ' '"),
        ([ROW | {"references": {"x": 1}, "reference": None}], 1, "the references are not a list"),
        ([ROW | {"reference": ["x", 1]}], 1, "a reference is empty or not a text: 1"),
        ([ROW | {"references": ["x"]}], 1, "'reference' and 'references'"),
        ([ROW, ROW | {"id": "b"}, ROW], 3, "'a'.*line 1.*line 3"),
        ([ROW, ROW | {"id": None}], 2, "id"),
        ([ROW | {"response": 3}], 1, "response.*3"),
        ([ROW | {"id": True}], 1, "id.*True"),
        ([ROW | {"lang": "de"}], 1, "'de'.*en, zh, fr, other"),
        ([ROW | {"ratings": {"accuracy": "good"}}], 1, "'accuracy'.*'good'"),
        ([ROW | {"ratings.accuracy": True}], 1, "'accuracy'.*True"),
        ([ROW | {"ratings.accuracy": "nan"}], 1, "'accuracy'.*'nan'"),
        ([ROW | {"ratings": 4}], 1, "ratings.*4"),
        (
            [{"id": "a", "question": "Why?", "said": "So."}],
            1,
            "'response'.*'id', 'question', 'said",
        ),
        ([["a", "b"]], 1, "JSON object"),
    ],
)
def test_broken_rows(tmp_path: Path, rows: list[object], line: int, problem: str):
    with pytest.raises(InputError) as caught:
        read(write_jsonl(tmp_path / "d.jsonl", *rows), strict=True)
    assert re.search(problem, str(caught.value))
    assert caught.value.line == line


def test_half_a_character(tmp_path: Path):
    (tmp_path / "d.jsonl").write_text('{"question": "Why? \\ud83d", "reference": "So.", "response": ""}')
    with pytest.raises(InputError, match="question"):
        read(tmp_path / "d.jsonl")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("d.csv", b" \n", "empty"),
        ("d.jsonl", b'{"id": 1}\n{"id": 2', "line 2: .*JSON"),
        ("d.jsonl", '{"id": 1}\n{"id": "é"}'.encode("latin-1"), "line 1: there is no column|line 2: byte 0xe9"),
        ("d.docx", b"PX", r"'.docx'.*.jsonl, .json, .csv, .tsv, .parquet, .arrow, .xlsx"),
        ("d", b"PK", "type"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, content: bytes, problem: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=problem):
        read(tmp_path / name, strict=True)


def test_absent_file_and_folder(tmp_path: Path):
    with pytest.raises(InputError):
        read(tmp_path / "d.jsonl")
    (tmp_path / "e.jsonl").mkdir()
    with pytest.raises(InputError):
        read(tmp_path / "e.jsonl")


def test_a_name_that_is_nearly_that_of_a_shipped_sample():
    with pytest.raises(InputError, match="sample-en"):
        read("sampel-en")


def test_a_file_without_sheets(tmp_path: Path):
    path = write_jsonl(tmp_path / "d.jsonl", ROW)
    with pytest.raises(InputError, match="--sheet") as caught:
        read(path, sheet="answers")
    assert caught.value.path == path


def test_empty_answers_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    empty = {"id": "b", "question": "Why?", "response": ""}
    path = write_jsonl(tmp_path / "d.jsonl", ROW, empty, empty | {"id": "c", "response": None})
    assert len(read(path)) == 3
    (note,) = caplog.messages
    assert "1 of 3 responses are empty" in note
    caplog.clear()
    read(path, missing=[""])
    assert not caplog.messages


def test_answers_in_another_language_than_the_question_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    asked = {"zh": "感冒怎么办？", "en": "What helps?", "fr": "Que faire ?"}
    answers = [
        ("zh", "I'm sorry, I can only answer in English.", True),
        ("zh", "HBsAg", False),
        ("zh", "INR 2.0-3.0", False),
        ("zh", "休息。", False),
        ("zh", "", False),
        ("en", "休息。", True),
        ("en", "Rest (休息), as long as the fever lasts.", False),
        ("fr", "Rest, and drink a lot.", False),
    ]
    rows = [
        json.dumps({"id": str(n), "question": asked[lang], "lang": lang, "response": text})
        for n, (lang, text, _) in enumerate(answers)
    ]
    (tmp_path / "d.jsonl").write_text("\n".join(rows))
    read(tmp_path / "d.jsonl", missing=[""])
    assert [n for n, (*_, other) in enumerate(answers) if other] == [0, 5]
    (note,) = caplog.messages
    assert note.endswith(
        "2 of 8 responses are in another language than their question, and are scored like the others: 0, 5"
    )


@pytest.mark.parametrize(
    ("second", "noted"),
    [
        ("question,response\nHow?,So.\nWhy? ,Thus.\n", True),
        ("question,response\nHow?,So.\n", False),
        ("question,response,system\nWhy?,So.,b\n", False),
    ],
)
def test_files_of_several_systems_without_a_column_for_them(
    tmp_path: Path, second: str, noted: bool, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "a.csv").write_text("question,response\nWhy?,So.\n")
    (tmp_path / "b.csv").write_text(second)
    read([tmp_path / "a.csv", tmp_path / "b.csv"])
    notes = [message for message in caplog.messages if "add a column 'system'" in message]
    assert len(notes) == noted
    assert not notes or "a.csv, line 2 is answered again on " in notes[0]


def test_rows_within_a_quotation(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "d.csv"
    header = "question,reference,response\n"
    path.write_text(header + 'Why?,So.,Thus.\nWhy,So,"x\nWhat?,This.,That.\nWho?,You.,Me."\nHow?,So.,Thus.\n')
    assert len(read(path)) == 3
    (note,) = caplog.messages
    assert f"{path}, line 3:" in note
    assert "'response'" in note
    assert "line 5" in note
    caplog.clear()
    path.write_text(header + 'Why?,So.,"Rest, drink,\n1,000 ml, sleep, and wait\n- so, yes, well"\n')
    assert len(read(path)) == 1
    assert not caplog.messages


def test_shipped_samples_by_name():
    assert set(shipped_samples()) >= {"sample-en", "sample-zh"}
    assert {sample.lang for sample in read("sample-zh")} == {"zh"}


def test_system_with_its_dataset():
    assert system_label(Sample("a", "q", ("r",), "", system="GPT-4")) == "GPT-4"
    assert system_label(Sample("a", "q", ("r",), "", system="GPT-4", meta={"dataset": "HMedQA"})) == "HMedQA/GPT-4"


@pytest.mark.parametrize(
    ("text", "lang"),
    [("HBsAg 阳性怎么办?", "zh"), ("What is 气虚 called in Western medicine?", "en"), ("", "en"), ("😀?", "en")],
)
def test_language_by_script(text: str, lang: str):
    assert detect_lang(text) == lang


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_csv_and_jsonl_agree(tmp_path_factory: pytest.TempPathFactory, responses: list[str]):
    folder = tmp_path_factory.mktemp("agree")
    # An empty text is an answer in JSONL, and none in CSV, which has no null.
    rows = [{"question": "Why?", "reference": "So.", "response": text or None} for text in responses]
    from_csv = read(write_csv(folder / "d.csv", list(rows[0]), *(list(row.values()) for row in rows)))
    # The csv module reads a lone carriage return inside quotes as it is, so even those survive.
    assert from_csv == read(write_jsonl(folder / "d.jsonl", *rows))
