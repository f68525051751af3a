from pathlib import Path

import pytest

from imapeval.graph.model import Name
from imapeval.graph.readers.babelon import FORMAT
from imapeval.graph.readers.base import Record, Source

SHARED = Path(__file__).parents[4] / "shared" / "terminology"

HEADER = (
    "source_language\ttranslation_language\tsubject_id\tpredicate_id\tsource_value\ttranslation_value\t"
    "translation_status\ttranslation_precision\n"
)


def read(path: Path, *rows: str) -> tuple[list[Record], Source]:
    if rows:
        path.write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    source = Source(path, "hp-zh")
    return list(FORMAT.read(source)), source


def test_names(tmp_path: Path) -> None:
    records, source = read(
        tmp_path / "x.tsv",
        'en\tzh\tHP:0000033\trdfs:label\t"Ambiguous genitalia, male"\t男性外阴性别不明\tOFFICIAL\t',
        "en\tzh-Hans\tHP:0001945\toio:exactSynonym\tPyrexia\t发烧\tUNDER_REVIEW\tEXACT",
        "en\tzh\tHP:0001945\toboInOwl:hasNarrowSynonym\tx\t高热\tOFFICIAL\t",
        "en\tzh\tHP:0001945\trdfs:label\tFever\t热\t\tBROADER",
    )
    assert records == [
        Record("HP:0000033", "hp-zh", names=[Name("男性外阴性别不明", "zh", "name", "hp-zh")]),
        Record("HP:0001945", "hp-zh", names=[Name("发烧", "zh", "synonym", "hp-zh")]),
        Record("HP:0001945", "hp-zh", names=[Name("高热", "zh", "synonym", "hp-zh", "narrow")]),
        Record("HP:0001945", "hp-zh", names=[Name("热", "zh", "name", "hp-zh", "broad")]),
    ]
    assert not source.problems.counts


def test_skipped_rows_are_counted(tmp_path: Path) -> None:
    records, source = read(
        tmp_path / "x.tsv",
        "en\tzh\tHP:0001945\trdfs:label\tFever\t发热\tCANDIDATE\t",
        "en\tzh\tHP:0001945\trdfs:label\tFever\t\tNOT_TRANSLATED\t",
        "en\tde\tHP:0001945\trdfs:label\tFever\tFieber\tOFFICIAL\t",
        "en\tzh\tHP:0001945\tIAO:0000115\tdefinition\t体温升高\tOFFICIAL\t",
        "en\tzh\tnothing\trdfs:label\tFever\t发热\tOFFICIAL\t",
        "en\tzh\tHP:0001945\trdfs:label\tFever\t\tOFFICIAL\t",
    )
    assert not records
    assert source.skipped == {
        "translations that are CANDIDATE": 1,
        "translations that are NOT_TRANSLATED": 1,
        "names in other languages": 1,
        "translations of definitions and other texts": 1,
    }
    assert source.problems.places == {"an id that is not a CURIE": ["x.tsv line 6"], "no name": ["x.tsv line 7"]}


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/terminology")
def test_hpo_in_chinese() -> None:
    records, source = read(SHARED / "hp-zh.babelon.tsv")
    # wc -l, less the header; every row is an official label.
    assert len(records) == 18988
    assert not source.problems.counts
    assert {(name.lang, name.kind) for record in records for name in record.names} == {("zh", "name")}
    assert records[1] == Record("HP:0000002", "hp-zh", names=[Name("身高异常", "zh", "name", "hp-zh")])
