import json
from pathlib import Path

import pytest

from imapeval._optional import installed
from imapeval.errors import InputError, MissingExtraError, UsageError
from imapeval.evaluation.samples import read

UPSTREAM = Path(__file__).parents[4] / "shared" / "benchmark" / "upstream"


def test_imapscore_row(tmp_path: Path):
    row = {
        "Question": "Why?",
        "Doctor_Response": "So.",
        "palm2_prediction": "Because.",
        "Average_accuracy_score": 4.5,
        "Average_completeness_score": 3.0,
        "Average_specific_scores": 2,
    }
    (tmp_path / "iCliniq-PaLM-2.txt").write_text(json.dumps(row) + "\n" + json.dumps(row))
    first, second = read(tmp_path / "iCliniq-PaLM-2.txt", loader="imapscore")
    assert (first.id, second.id) == ("iCliniq-PaLM-2:0", "iCliniq-PaLM-2:1")
    assert (first.question, first.references, first.response) == ("Why?", ("So.",), "Because.")
    assert (first.system, first.meta) == ("PaLM-2", {"dataset": "iCliniq"})
    assert first.ratings == {"accuracy": 4.5, "completeness": 3.0, "specificity": 2.0}


def test_imapscore_without_a_prediction(tmp_path: Path):
    (tmp_path / "x.txt").write_text('{"Question": "Why?", "Doctor_Response": "So."}')
    with pytest.raises(InputError, match=r"line 1: .*'<system>_prediction'.*'Question', 'Doctor_Re"):
        read(tmp_path / "x.txt", loader="imapscore")


def test_a_folder_of_imapscore_files(tmp_path: Path):
    with pytest.raises(InputError, match=r"\.txt"):
        read(tmp_path, loader="imapscore")
    row = {"Question": "Why?", "Doctor_Response": "So.", "gpt4_prediction": "Because."}
    (tmp_path / "HMedQA-GPT-4.txt").write_text(json.dumps(row))
    (tmp_path / "a.txt").write_text(json.dumps(row | {"Average_accuracy_score": "five"}))
    with pytest.raises(InputError, match=r"a\.txt, line 1"):
        read(tmp_path, loader="imapscore", strict=True)
    (tmp_path / "a.txt").write_text(json.dumps(row))
    assert [sample.id for sample in read(tmp_path, loader="imapscore")] == ["HMedQA-GPT-4:0", "a:0"]


def test_a_pattern_of_files_of_one_benchmark(tmp_path: Path):
    row = {"Question": "Why?", "Doctor_Response": "So.", "gpt4_prediction": "Because."}
    for name in ("a.txt", "b.txt", "c[1].txt"):
        (tmp_path / name).write_text(json.dumps(row))
    pattern = str(tmp_path / "?.txt")
    assert [sample.id for sample in read(pattern, loader="imapscore")] == ["a:0", "b:0"]
    assert [sample.id for sample in read(tmp_path / "c[1].txt", loader="imapscore")] == ["c[1]:0"]
    with pytest.raises(InputError) as caught:
        read(tmp_path / "x*.txt", loader="imapscore")
    assert caught.value.path == tmp_path / "x*.txt"


def test_a_pattern_of_folders_of_one_benchmark(tmp_path: Path):
    row = {"Question": "Why?", "Doctor_Response": "So.", "gpt4_prediction": "Because."}
    for name in ("sub1", "sub2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text(json.dumps(row))
    assert [sample.id for sample in read(tmp_path / "su*", loader="imapscore")] == ["sub1:0", "sub2:0"]
    (tmp_path / "sum.txt").write_text(json.dumps(row))
    assert [sample.id for sample in read(tmp_path / "su*", loader="imapscore")] == ["sum:0"]


@pytest.mark.skipif(not UPSTREAM.exists(), reason="the benchmark files of ../shared are not here")
def test_upstream_files_hold_the_benchmarks_rows():
    samples = read(UPSTREAM, loader="imapscore")
    benchmark = read(UPSTREAM.parent / "imapscore-dev.jsonl")
    assert {
        (s.system, s.meta["dataset"], s.question, s.references, s.response, *s.ratings.values()) for s in samples
    } == {(s.system, s.meta["dataset"], s.question, s.references, s.response, *s.ratings.values()) for s in benchmark}


@pytest.mark.skipif(not installed("datasets"), reason="the package 'datasets' (extra 'hf') is not installed")
@pytest.mark.filterwarnings("default")  # whatever the package and its many dependencies warn of
def test_hugging_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    rows = [{"id": str(n), "question": f"Why {n}?", "reference": "So.", "response": "Because."} for n in range(3)]
    for split, kept in (("train", rows[:2]), ("test", rows[2:])):
        (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, kept)))
    assert [sample.id for sample in read(f"hf:{tmp_path}:train")] == ["0", "1"]
    with pytest.raises(UsageError, match=f"train, test.*hf:{tmp_path}:<split>"):
        read(f"hf:{tmp_path}")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "train.jsonl").write_text(json.dumps(rows[0]) + '\n{"id":')
    for name in ("nothing", "cut"):
        with pytest.raises(InputError, match=name):
            read(f"hf:{tmp_path}/{name}:train")


@pytest.mark.skipif(installed("datasets"), reason="the package 'datasets' is installed")
@pytest.mark.parametrize("source", ["hf:some/thing", "hf:/some/folder:train"])
def test_hugging_face_without_the_extra(source: str):
    with pytest.raises(MissingExtraError, match=r"pip install 'imapeval\[hf\]'"):
        read(source)


def test_hugging_face_without_a_name():
    with pytest.raises(UsageError, match="hf:"):
        read("hf:")


def write_shards(folder: Path) -> list[Path]:
    rows = [{"question": f"Why {n}?", "response": f"So {n}."} for n in range(6)]
    files = [folder / f"part-{n}.jsonl" for n in range(3)]
    for n, file in enumerate(files):
        file.write_text("".join(json.dumps(row) + "\n" for row in rows[2 * n : 2 * n + 2]))
    (folder / "README.md").write_text("Not data.")
    return files


def test_files_a_folder_and_a_pattern_are_read_as_one(tmp_path: Path):
    files = write_shards(tmp_path)
    samples = read(files)
    assert [(sample.id, sample.response) for sample in samples] == [(str(n + 1), f"So {n}.") for n in range(6)]
    assert read(tmp_path) == read(tmp_path / "part-*.jsonl") == read(tmp_path, loader="jsonl") == samples
    assert read(files, limit=3) == samples[:3]


def test_folders_within_a_pattern_are_not_read_as_files(tmp_path: Path):
    (tmp_path / "sub" / "empty").mkdir(parents=True)
    for file in (tmp_path / "a.jsonl", tmp_path / "sub" / "b.jsonl"):
        file.write_text('{"question": "Why?", "response": "So."}\n')
    assert [len(read(tmp_path / pattern)) for pattern in ("*", "**", "**/*", "sub/*")] == [1, 2, 2, 1]
    with pytest.raises(InputError):
        read(tmp_path / "sub" / "em*")


def test_imaps_beside_the_data_are_no_data(tmp_path: Path):
    write_shards(tmp_path)
    samples = read(tmp_path)
    (tmp_path / f"{tmp_path.name}-imaps.jsonl").write_text('{"id": "1"}\n')
    assert read(tmp_path, strict=True) == samples


def test_what_excel_writes_beside_an_open_workbook_is_no_data(tmp_path: Path):
    write_shards(tmp_path)
    samples = read(tmp_path)
    (tmp_path / "~$answers.xlsx").write_bytes(b"\x04Wang".ljust(165))
    assert read(tmp_path, strict=True) == samples


def test_an_error_in_one_of_several_files_names_it(tmp_path: Path):
    files = write_shards(tmp_path)
    files[1].write_text('{"question": "Why?", "response": 3}\n')
    with pytest.raises(InputError) as raised:
        read(tmp_path, strict=True)
    assert (raised.value.path, raised.value.line) == (files[1], 1)


@pytest.mark.parametrize("name", ["", "*.csv"])
def test_a_folder_or_pattern_without_data(tmp_path: Path, name: str):
    with pytest.raises(InputError) as raised:
        read(tmp_path / name)
    assert raised.value.path == tmp_path / name
