"""The table of dimensions and the search in it."""

import csv
import re
from pathlib import Path

import pytest

from imapeval.text.dimensions import table
from imapeval.text.dimensions.opposites import are_opposed, find_opposites, list_antonyms
from imapeval.text.normalise import stem

PAIRS = Path(__file__).parents[1] / "matching" / "relation_pairs.tsv"


def test_the_search_finds_what_all_patterns_find():
    patterns = [
        (dimension, number, re.compile(side, re.IGNORECASE))
        for dimension, sides in enumerate(table._DIMENSIONS)
        for number, side in enumerate(sides)
    ]
    with PAIRS.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows[::8]:
        text = row["response"]
        every = [(dimension, side, found.span()) for dimension, side, one in patterns for found in one.finditer(text)]
        assert [(dimension, side, found.span()) for dimension, side, found in table.find_sides(text)] == every


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("hereditary", 1),
        ("timolol eye drops", 0),
        ("community-acquired pneumonia", 0),
        ("左肾结石", 1),
        ("左右下肢均肿胀", 2),
        ("100% blocked artery", 2),
        ("let in some fresh air", 0),
        ("un-complicated", 1),
        ("non-serious", 1),
        ("operate machinery", 1),
        ("the operating theatre", 0),
        ("避孕套破", 0),
    ],
)
def test_words_are_sides_only_where_they_mean_one(text, sides):
    assert len({(dimension, side) for dimension, side, _ in table.find_sides(text)}) >= sides
    assert sides or not list(table.find_sides(text))


def test_a_pattern_without_any_letter_is_refused(monkeypatch):
    monkeypatch.setattr(table, "_DIMENSIONS", ((r"\w+", "b"),))
    table._index_sides.cache_clear()
    with pytest.raises(ValueError, match=re.escape(r"\w+")):
        table._index_sides()
    table._index_sides.cache_clear()


def test_spans_of_sides_are_places_in_the_value():
    value = "stage IV kidney disease, acute"
    spans = find_opposites(value).spans
    assert [value[start:end] for some in spans.values() for start, end in some] == ["acute"]


@pytest.mark.parametrize(("a", "b"), [("TSH above normal", "abnormal TSH"), ("血压高于正常", "血压异常")])
def test_above_normal_is_not_normal(a, b):
    assert not are_opposed(find_opposites(a), find_opposites(b))


def test_back_to_normal_is_normal():
    assert are_opposed(find_opposites("TSH back to normal"), find_opposites("abnormal TSH"))


@pytest.mark.parametrize(
    ("a", "b", "exclusive"),
    [
        ("careful", "careless", True),
        ("harmless", "harmful", True),
        ("leukocytosis", "leukopenia", True),
        ("ischaemic", "haemorrhagic", True),
        ("tachycardia", "bradycardia", True),
        ("patient", "inpatient", False),
    ],
)
def test_antonyms(a, b, exclusive):
    words = stem(a), stem(b)
    assert (words[1] in list_antonyms(words[0]) or words[0] in list_antonyms(words[1])) is exclusive
