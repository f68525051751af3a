import json
import math
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.metrics.neural.idf import count, read_collection


def test_weights_by_hand() -> None:
    # 3 texts; 7 is in all of them, 8 in two (once each, however often), 9 in one.
    weights = count([(7, 8, 8), (7, 8), (7, 9)])
    assert weights.weigh([7, 8, 9, 1, 7]) == pytest.approx([0.0, math.log(4 / 3), math.log(2), math.log(4), 0.0])


def test_no_texts_weigh_nothing() -> None:
    assert count([]).weigh([1, 2]) == [0.0, 0.0]


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8-sig")
    return path


def test_a_file_of_samples(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {"id": 1, "reference": "rest", "response": "sleep", "lang": "en"},
        {"references": ["休息", "多喝水"], "response": "睡觉", "lang": "zh"},
        {"reference": "both"},
    )
    assert read_collection(path, "references", lang="en") == ["rest", "both"]
    assert read_collection(path, "references", lang="zh") == ["休息", "多喝水", "both"]
    assert read_collection(path, "responses", lang="en") == ["sleep"]


def test_faults_name_the_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_collection(tmp_path / "none", "references", lang="en")
    with pytest.raises(InputError, match=r"a.jsonl, line 2: not a sample"):
        read_collection(write(tmp_path / "a.jsonl", {"reference": "x"}, ["y"]), "references", lang="en")
