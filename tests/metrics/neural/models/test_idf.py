import json
import math
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.evaluation.samples import read
from imapeval.metrics.neural.models.idf import count_token_weights, read_collection


def test_weights_by_hand() -> None:
    # 3 texts; 7 is in all of them, 8 in two (once each, however often), 9 in one.
    weights = count_token_weights([(7, 8, 8), (7, 8), (7, 9)])
    assert weights.weigh([7, 8, 9, 1, 7]) == pytest.approx([0.0, math.log(4 / 3), math.log(2), math.log(4), 0.0])


def test_no_texts_weigh_nothing() -> None:
    assert count_token_weights([]).weigh([1, 2]) == [0.0, 0.0]


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8-sig")
    return path


def test_a_file_of_samples(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {"id": 1, "reference": "rest", "response": "sleep", "lang": "en"},
        {"references": ["休息", "多喝水"], "response": "睡觉", "lang": "zh"},
        {"reference": "drink", "lang": ""},
    )
    assert read_collection(path, "references", lang="en") == ["rest", "drink"]
    assert read_collection(path, "references", lang="zh") == ["休息", "多喝水"]
    assert read_collection(path, "responses", lang="en") == ["sleep"]


def test_several_references_as_samples_have_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"question": "q", "reference": ["rest", "drink"], "response": "sleep"})
    (sample,) = read(path)
    assert read_collection(path, "references", lang="en") == list(sample.references) == ["rest", "drink"]


def test_a_language_that_no_column_names_is_that_of_the_samples(tmp_path: Path) -> None:
    rows = [
        {"question": "HBsAg 阳性怎么办？", "reference": "HBV", "response": "a"},
        {"question": "What is 肝 in English?", "reference": "肝", "response": "b"},
        # One in five letters is CJK, and one in six.
        {"question": "肝abcd", "reference": "ALT", "response": "c"},
        {"question": "肝abcde", "reference": "AST", "response": "d"},
        {"question": "㐀？", "reference": "GGT", "response": "e"},
        {"question": "5?", "reference": "多喝水", "response": "f"},
    ]
    path = write(tmp_path / "a.jsonl", *rows)
    samples = read(path)
    for lang in ("en", "zh"):
        expected = [text for sample in samples if sample.lang == lang for text in sample.references]
        assert read_collection(path, "references", lang=lang) == expected
    # Samples have a question; a mere collection of texts may not.
    assert read_collection(write(path, {"reference": "多喝水"}), "references", lang="en") == []


def test_lines_end_with_a_newline_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"reference": "rest\u2028a\u0085lot"}\n{"reference": "drink"}\n', encoding="utf-8")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_collection(path, "references", lang="en") == ["rest\u2028a\u0085lot", "drink"]


def test_faults_name_the_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none"):
        read_collection(tmp_path / "none", "references", lang="en")
    with pytest.raises(InputError, match=r"a\.jsonl, line 2"):
        read_collection(write(tmp_path / "a.jsonl", {"reference": "x"}, ["y"]), "references", lang="en")


def test_an_empty_cell_is_absent(tmp_path: Path) -> None:
    row = {"question": None, "reference": "rest", "references": None, "response": "sleep", "lang": None}
    path = write(tmp_path / "a.jsonl", row)
    assert read_collection(path, "references", lang="en") == ["rest"]


def test_a_fault_names_the_field(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="references: "):
        read_collection(write(tmp_path / "a.jsonl", {"references": 3}), "references", lang="en")
