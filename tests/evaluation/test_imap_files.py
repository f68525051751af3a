import json
import os
import sys
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.evaluation import imap_files
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.types import Imap, KnownRelation, Match, Pair, Relation

RECORDED = Path(__file__).parents[3] / "shared" / "benchmark" / "imaps-recorded-dev.jsonl"
LINE = {
    "id": "a",
    "query": [{"term": "drug", "value": "?"}],
    "constraint": [],
    "reference": [{"term": "drug", "value": "penicillin"}],
    "response": [{"term": "drug", "value": "antibiotics", "span": [3, 14]}],
}
RELATION = {"term": "drug", "reference": "penicillin", "response": "antibiotics", "relation": "belonging"}


def test_without_relations_matching_is_still_to_be_done():
    record = imap_files.parse_record(json.dumps(LINE))
    assert record == ImapRecord(
        "a",
        Imap((Pair("drug", "?"),), (), (Pair("drug", "penicillin"),), (Pair("drug", "antibiotics", (3, 14)),)),
        None,
    )


def test_relations_are_read():
    record = imap_files.parse_record(json.dumps(LINE | {"relations": [RELATION], "reference_index": 1}))
    assert record.imap.reference_index == 1
    assert record.imap.relations == (KnownRelation("drug", "penicillin", "antibiotics", Relation.BELONGING),)
    assert record.matches == (Match("drug", "penicillin", "antibiotics", Relation.BELONGING, 0.0, "recorded"),)


def test_one_relation_may_be_written_twice():
    record = imap_files.parse_record(json.dumps(LINE | {"relations": [RELATION, RELATION]}))
    assert {relation.relation for relation in record.imap.relations or ()} == {Relation.BELONGING}


def test_written_as_the_design_says():
    match = Match("drug", "penicillin", "antibiotics", Relation.BELONGING, 0.51, "graph", {"path": ["a", "b"]})
    record = ImapRecord("a", imap_files.parse_record(json.dumps(LINE)).imap, (match,))
    extras = {"similarity": 0.51, "decided_by": "graph", "evidence": {"path": ["a", "b"]}}
    assert json.loads(imap_files.dump_record(record)) == LINE | {"relations": [RELATION | extras]}
    again = imap_files.parse_record(imap_files.dump_record(record))
    assert again.matches == (match,)
    assert [read.evidence for read in again.matches or ()] == [match.evidence]


def test_pairs_that_could_not_be_read_again_are_not_written():
    for wrong in (Pair("drug", "aspirin", condition=None), Pair("drug", "aspirin", polarity="perhaps")):  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValueError, match=r"response\.0\.(condition|polarity)"):
            imap_files.dump_record(ImapRecord("a", Imap((), (), (), (wrong,)), ()))


def test_importance_is_written_and_read():
    record = ImapRecord("a", Imap((Pair("drug", "?"),), (), (), (Pair("drug", "aspirin", importance=0.125),)), None)
    line = imap_files.dump_record(record)
    assert json.loads(line)["response"] == [{"term": "drug", "value": "aspirin", "importance": 0.125}]
    assert imap_files.parse_record(line).imap == record.imap


@pytest.mark.parametrize("importance", [0, -1, 1.5, float("nan")])
def test_an_importance_out_of_range_is_not_read(importance: float):
    line = json.dumps(LINE | {"response": [{"term": "drug", "value": "aspirin", "importance": importance}]})
    with pytest.raises(InputError, match=r"response\.0\.importance|JSON"):
        imap_files.parse_record(line)


def test_the_stability_of_earlier_versions_is_ignored():
    assert imap_files.parse_record(json.dumps(LINE | {"stability": 2 / 3})) == imap_files.parse_record(json.dumps(LINE))


def test_no_reference_is_an_empty_list():
    record = ImapRecord("a", Imap((Pair("drug", "?"),), (), (), (Pair("drug", "aspirin"),)), ())
    assert json.loads(imap_files.dump_record(record))["reference"] == []
    assert imap_files.parse_record(imap_files.dump_record(record)).imap.reference == ()


def test_unmatched_pairs_are_written_where_they_are_a_values_closest():
    def match(reference: str, response: str, similarity: float) -> Match:
        return Match("t", reference, response, Relation.UNMATCHED, similarity, "encoder")

    matches = (
        match("a", "x", 0.5),
        match("a", "y", 0.1),
        match("b", "x", 0.4),
        match("b", "y", 0.3),
        match("c", "z", 0),
    )
    pairs = tuple(Pair("t", value) for value in "abc"), tuple(Pair("t", value) for value in "xyz")
    written = imap_files.parse_record(imap_files.dump_record(ImapRecord("s", Imap((), (), *pairs), matches))).matches
    # a: closest x; b: closest x; y: closest b; a-y is nobody's closest, c-z has nothing in common.
    assert written == (matches[0], matches[2], matches[3])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not an imap: Invalid JSON"),
        (json.dumps(LINE)[:-1] + ', "response": []}', "twice"),
        (json.dumps({k: v for k, v in LINE.items() if k != "query"}), "not an imap: query: Field required"),
        (json.dumps(LINE | {"reading": -1}), "not an imap: reading: Input should be greater than or equal to 0"),
        (json.dumps(LINE | {"query": [{"term": "x"}]}), "not an imap: query.0.value: Field required"),
        (
            json.dumps(LINE | {"relations": [RELATION | {"relation": "near"}]}),
            "relations.0.relation: Input should be 'exact'",
        ),
        (json.dumps(LINE | {"relations": [RELATION | {"reference": "x"}]}), "values that the imap does not have"),
        (json.dumps(LINE | {"relations": [RELATION, RELATION | {"relation": "exact"}]}), "belonging and exact"),
        (
            json.dumps(LINE | {"relations": [RELATION, RELATION | {"other_term": "drug", "relation": "unmatched"}]}),
            "belonging and unmatched",
        ),
        (json.dumps(LINE | {"query": [{"term": "x", "value": "\ud800"}]}), "surrogate"),
    ],
)
def test_broken_lines(tmp_path: Path, line: str, problem: str):
    (tmp_path / "imaps.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(InputError) as caught:
        list(imap_files.read_records(tmp_path / "imaps.jsonl"))
    assert problem in str(caught.value)
    assert caught.value.line == 2


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path):
    (tmp_path / "imaps.jsonl").write_text(json.dumps(LINE) + "\n", encoding="utf-8-sig")
    ((number, record),) = imap_files.read_records(tmp_path / "imaps.jsonl")
    assert (number, record.id) == (1, LINE["id"])


@pytest.mark.skipif(sys.platform == "win32", reason="needs the pipes and devices of POSIX systems")
def test_what_is_no_file(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "imaps.jsonl", tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError):
            list(imap_files.read_records(path))


def test_a_value_longer_than_any_text_that_is_scored(tmp_path: Path):
    path = tmp_path / "imaps.jsonl"
    path.write_text(json.dumps(LINE | {"response": [{"term": "drug", "value": "x" * 100_001}]}))
    with pytest.raises(InputError) as caught:
        imap_files.RecordedImaps(path)
    assert caught.value.line == 1


@pytest.mark.skipif(not RECORDED.exists(), reason="the benchmark files of ../shared are not here")
def test_the_recorded_imaps_are_read_as_they_are_and_written_back():
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    for line, (_, record) in zip(lines, imap_files.read_records(RECORDED), strict=True):
        written = json.loads(imap_files.dump_record(record))
        for relation in written["relations"]:
            assert relation.pop("similarity", 0.0) == 0.0
            assert relation.pop("decided_by", "recorded") == "recorded"
        assert written == json.loads(line)


def test_the_response_alone():
    line = '{"id": "a", "query": 3, "response": [{"term": "t", "value": "v", "span": [0, 1]}], "relations": [{"x": 1}]}'
    assert imap_files.parse_response_pairs(line) == ("a", (Pair("t", "v", (0, 1)),))
    with pytest.raises(InputError, match=r"i\.jsonl, line 7: .*response"):
        imap_files.parse_response_pairs('{"id": "a"}', path=Path("i.jsonl"), number=7)


def test_equal_keys_are_refused_when_only_the_response_is_read():
    line = '{"id": "a", "response": [{"term": "t", "value": "v"}], "response": []}'
    with pytest.raises(InputError, match=r"i\.jsonl, line 7: .*response"):
        imap_files.parse_response_pairs(line, path=Path("i.jsonl"), number=7)
