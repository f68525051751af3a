import gc
import json
from dataclasses import replace
from pathlib import Path

import pytest

from imapeval.errors import ExtractionError, InputError
from imapeval.evaluation.imap_files import RecordedImaps, hash_texts
from imapeval.types import KnownRelation, Match, Relation, Sample

LINE = {
    "id": "a",
    "query": [{"term": "t", "value": "?"}],
    "constraint": [],
    "reference": [{"term": "t", "value": "x"}],
    "response": [{"term": "t", "value": "y"}],
    "relations": [{"term": "t", "reference": "x", "response": "y", "relation": "exact"}],
}


def write(path: Path, *lines: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


async def test_by_id_and_reference(tmp_path: Path):
    path = write(tmp_path / "i.jsonl", LINE | {"reference_index": 1, "relations": []}, LINE)
    first, second = await RecordedImaps(path).extract(Sample("a", "q", ("r", "s"), ""))
    assert first.relations == (KnownRelation("t", "x", "y", Relation.EXACT),)
    assert (second.reference_index, second.relations) == (1, ())


def test_matches_are_not_kept_besides_relations(tmp_path: Path):
    path = write(tmp_path / "i.jsonl", *(LINE | {"id": str(number)} for number in range(100)))
    before = sum(type(one) is Match for one in gc.get_objects())
    recorded = RecordedImaps(path)
    assert recorded.signature
    assert sum(type(one) is Match for one in gc.get_objects()) < before + 10


async def test_several_readings(tmp_path: Path):
    lines = [LINE | {"reading": reading, "reference_index": index} for reading in (2, 0) for index in (0, 1)]
    recorded = RecordedImaps(write(tmp_path / "i.jsonl", *lines, LINE | {"id": "b"}))
    imaps = await recorded.extract(Sample("a", "q", ("r", "s"), ""))
    # One of three was not made, which is no fault.
    assert [(imap.reading, imap.reference_index) for imap in imaps] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert len(await recorded.extract(Sample("b", "q", ("r",), ""))) == 1
    assert recorded.signature.endswith("|readings:2")


@pytest.mark.parametrize(
    ("sample", "told"),
    [
        (Sample("b", "q", ("r",), ""), "'b', reference 0"),
        (Sample("a", "q", ("r", "s", "t"), ""), "'a', reference 2"),
        (Sample("a", "q", ("r", "s"), ""), "'a', reference 1, reading 1"),
    ],
)
async def test_a_sample_without_an_entry(tmp_path: Path, sample: Sample, told: str):
    lines = [LINE, LINE | {"reference_index": 1}, LINE | {"reading": 1}]
    with pytest.raises(ExtractionError, match=f"sample {told}$") as caught:
        await RecordedImaps(write(tmp_path / "i.jsonl", *lines)).extract(sample)
    assert caught.value.kind == "no-imap"


async def test_a_sample_without_reference(tmp_path: Path):
    path = write(tmp_path / "i.jsonl", LINE | {"reference": [], "relations": []})
    (imap,) = await RecordedImaps(path).extract(Sample("a", "q", (), ""))
    assert imap.reference == ()


TEXTS = LINE | {"texts_sha256": hash_texts(Sample("a", "q", ("r",), "x  y"))}


@pytest.mark.parametrize(
    "other", [Sample("a", "Q", ("r",), "x y"), Sample("a", "q", ("R",), "x y"), Sample("a", "q", ("r",), "x")]
)
async def test_an_imap_of_other_texts_is_not_used(tmp_path: Path, other: Sample):
    recorded = RecordedImaps(write(tmp_path / "i.jsonl", TEXTS))
    assert await recorded.extract(Sample("a", "q\n", ("r",), "x y"))  # other white space
    with pytest.raises(ExtractionError, match=r"i\.jsonl, line 1: .*'a', reference 0") as caught:
        await recorded.extract(other)
    assert caught.value.kind == "other-texts"


async def test_each_reference_has_a_hash_of_its_own(tmp_path: Path):
    sample = Sample("a", "q", ("r", "s"), "x y")
    lines = [LINE | {"reference_index": n, "texts_sha256": hash_texts(sample, n)} for n in (0, 1)]
    recorded = RecordedImaps(write(tmp_path / "i.jsonl", *lines))
    assert len(await recorded.extract(sample)) == 2
    with pytest.raises(ExtractionError, match="line 2"):
        await recorded.extract(replace(sample, references=("r", "t")))


@pytest.mark.parametrize("text", ["cafe\u0301 x y", "\ufeffcaf\xe9 x y", "ca\u200bf\xe9 \u200b x y"])
async def test_the_same_text_in_other_characters(tmp_path: Path, text: str):
    made = Sample("a", "q", ("r",), "caf\xe9 x y")
    recorded = RecordedImaps(write(tmp_path / "i.jsonl", LINE | {"texts_sha256": hash_texts(made)}))
    assert await recorded.extract(replace(made, response=text))


async def test_references_in_another_order(tmp_path: Path):
    made = Sample("a", "q", ("r", "s", "t"), "x y")
    lines = [
        LINE
        | {"reference_index": n, "reading": reading, "texts_sha256": hash_texts(made, n)}
        | {"reference": [{"term": "t", "value": f"{made.references[n]}{reading}"}], "relations": []}
        for reading in (0, 1)
        for n in range(3)
    ]
    recorded = RecordedImaps(write(tmp_path / "i.jsonl", *lines))
    imaps = await recorded.extract(replace(made, references=("t", "r")))
    assert [(imap.reading, imap.reference_index, imap.reference[0].value) for imap in imaps] == [
        (0, 0, "t0"),
        (0, 1, "r0"),
        (1, 0, "t1"),
        (1, 1, "r1"),
    ]


def test_a_file_of_which_nothing_fits_is_refused(tmp_path: Path):
    recorded = RecordedImaps(write(tmp_path / "i.jsonl", TEXTS))
    for samples, told in (
        ([Sample("b/M", "q", ("r",), "x y", system="M")], r"'a'.*'b/M'"),
        ([Sample("a/M", "q", ("r",), "x y", system="M")], r"'a' became 'a/M'"),
        ([Sample("a", "other", ("r",), "x y")], "'a'"),
    ):
        with pytest.raises(InputError, match=told) as caught:
            recorded.check(samples)
        assert caught.value.path == tmp_path / "i.jsonl"
    # One who did not answer needs no imap.
    recorded.check([Sample("b", "q", ("r",), "", answered=False)])


def test_what_does_not_fit_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    recorded = RecordedImaps(write(tmp_path / "i.jsonl", TEXTS, TEXTS | {"id": "b"}, LINE | {"id": "c"}))
    recorded.check([Sample(id_, question, ("r",), "x y") for id_, question in zip("abx", "qzq", strict=True)])
    told = [record.getMessage() for record in caplog.records]
    assert [line.partition(": ")[2].partition(" ")[0] for line in told] == ["1", "1", "1"]
    assert [line[-1] for line in told] == ["x", "b", "c"]


def test_the_signature_follows_the_content(tmp_path: Path):
    one, same, other = (
        RecordedImaps(write(tmp_path / name, line)).signature
        for name, line in (("1", LINE), ("2", LINE), ("3", LINE | {"id": "b"}))
    )
    assert one == same != other
    assert one.startswith("recorded|sha256:")


def test_twice_the_same(tmp_path: Path):
    with pytest.raises(InputError, match=r"line 2: .*sample 'a', reference 0.*line 1"):
        RecordedImaps(write(tmp_path / "i.jsonl", LINE, LINE))


def test_empty_file(tmp_path: Path):
    with pytest.raises(InputError):
        RecordedImaps(write(tmp_path / "i.jsonl"))
