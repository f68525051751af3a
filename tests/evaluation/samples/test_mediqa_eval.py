import csv
import json
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.evaluation.samples import read

ROW = {
    "dataset": "woundcare",
    "encounter_id": "E1",
    "lang": "en",
    "candidate": "Keep it dry.",
    "candidate_author_id": "S1",
    "metric": "completeness",
    "label": "0.5",
    "query_text": "How do I treat it?",
    "image_path": "a.png",
    "gold_texts": json.dumps(["Keep it clean.", "Keep it dry.", "Keep it clean."]),
    "rater_id": "R1",
}


def write(path: Path, *rows: dict[str, str]) -> Path:
    """Write rows, each with the changes to `ROW`."""
    file = path / "rated.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, ROW)
        writer.writeheader()
        writer.writerows(ROW | row for row in rows)
    return file


def test_rows_of_an_answer_become_one_sample(tmp_path: Path):
    file = write(
        tmp_path,
        {},
        {"rater_id": "R2", "label": "1"},
        {"metric": "disagree_flag", "label": "1"},
        {"metric": "overall", "label": ""},
        {"candidate_author_id": "S2", "candidate": "See a nurse,\nsoon.", "gold_texts": '["Keep it clean."]'},
        {"lang": "zh", "candidate": "保持干燥。", "query_text": "怎么治？", "metric": "writing-style", "label": "1"},
        {"candidate": "Use a dressing.", "label": "0"},
    )
    first, second, third, fourth = read(file, loader="mediqa-eval")
    assert (first.id, first.system, first.lang) == ("woundcare-E1-en-S1", "S1", "en")
    assert (first.question, first.response) == ("How do I treat it?", "Keep it dry.")
    assert first.references == ("Keep it clean.", "Keep it dry.")
    # The mean over two raters; disagreement turned round; no rating where there is no label.
    assert first.ratings == {"completeness": 0.75, "disagree_flag": 0.0}
    assert first.meta == {"dataset": "woundcare", "encounter_id": "E1"}
    assert (second.id, second.response, second.references) == (
        "woundcare-E1-en-S2",
        "See a nurse,\nsoon.",
        ("Keep it clean.",),
    )
    assert (third.id, third.lang, third.ratings) == ("woundcare-E1-zh-S1", "zh", {"writing-style": 1.0})
    assert (fourth.id, fourth.response, fourth.ratings) == (
        "woundcare-E1-en-S1-2",
        "Use a dressing.",
        {"completeness": 0.0},
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"label": "2"}, "'2'"),
        ({"label": "good"}, "'good'"),
        ({"gold_texts": "Keep"}, "'Keep'"),
        ({"gold_texts": "[1]"}, "'[1]'"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, change: dict[str, str], told: str):
    with pytest.raises(InputError) as caught:
        read(write(tmp_path, {}, change), loader="mediqa-eval")
    assert caught.value.line == 3
    assert told in str(caught.value)


def test_another_csv_file(tmp_path: Path):
    (tmp_path / "a.csv").write_text("id,question\n1,Why?\n")
    with pytest.raises(InputError) as caught:
        read(tmp_path / "a.csv", loader="mediqa-eval")
    assert "'dataset'" in str(caught.value)


def test_the_answers_of_one_language(tmp_path: Path):
    file = write(tmp_path, {}, {"lang": "zh", "candidate": "保持干燥。", "query_text": "怎么治？"})
    assert [sample.lang for sample in read(f"{file}:zh", loader="mediqa-eval")] == ["zh"]
    assert [sample.lang for sample in read(f"{file}:en", loader="mediqa-eval")] == ["en"]
    assert len(read(file, loader="mediqa-eval")) == 2
    # The name that browsers give to a second download is no pattern.
    again = file.rename(tmp_path / "rated[1].csv")
    assert [sample.lang for sample in read(f"{again}:zh", loader="mediqa-eval")] == ["zh"]
    only = write(tmp_path, {})
    with pytest.raises(InputError, match="language 'zh'"):
        read(f"{only}:zh", loader="mediqa-eval")
    # A file may be called so.
    only.rename(tmp_path / "rated.csv:zh")
    assert [sample.lang for sample in read(tmp_path / "rated.csv:zh", loader="mediqa-eval")] == ["en"]


def test_a_pattern_with_a_language(tmp_path: Path):
    for name in ("m1", "m2", "n[1]"):
        rows = [{"encounter_id": name}, {"encounter_id": name, "lang": "zh", "query_text": "怎么治？"}]
        write(tmp_path, *rows).rename(tmp_path / f"{name}.csv")
    for pattern, names in (("m*.csv", ["m1", "m2"]), ("m[12].csv", ["m1", "m2"]), ("n[1].csv", ["n[1]"])):
        samples = read(f"{tmp_path / pattern}:zh", loader="mediqa-eval")
        assert [(sample.meta["encounter_id"], sample.lang) for sample in samples] == [(name, "zh") for name in names]
    with pytest.raises(InputError) as caught:
        read(f"{tmp_path}/x*.csv:zh", loader="mediqa-eval")
    assert caught.value.path == tmp_path / "x*.csv"
