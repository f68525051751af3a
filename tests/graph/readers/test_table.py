from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record, Source
from imapeval.graph.readers.formats import find_format
from imapeval.graph.readers.table import FORMAT

OWN = Path(__file__).parents[3] / "kg" / "names"


def read(path: Path, text: str | None = None) -> tuple[list[Record], Source]:
    if text is not None:
        path.write_text(text, encoding="utf-8")
    source = Source(path, path.stem)
    return list(FORMAT.read(source)), source


def test_names_by_concept(tmp_path: Path) -> None:
    text = (
        "lang\tname\tconcept\ttype\tkind\tparent\n"
        "zh\t布洛芬\tibuprofen\tdrug\tname\tNSAID|CHEBI:35475\n"
        "en\tBrufen\tibuprofen\tdrug\tbrand\t\n"
    )
    (first, second), source = read(tmp_path / "drugs.tsv", text)
    assert first == Record(
        "drugs:ibuprofen",
        "drugs",
        label="ibuprofen",
        type="drug",
        names=[Name("ibuprofen", "en", "name", "drugs"), Name("布洛芬", "zh", "name", "drugs")],
        parents=["CHEBI:35475"],
        parent_names=["NSAID"],
    )
    assert second == Record("drugs:ibuprofen", "drugs", type="drug", names=[Name("Brufen", "en", "brand", "drugs")])
    assert not source.problems.counts


def test_names_by_id_with_the_required_columns(tmp_path: Path) -> None:
    text = 'id,name\nMSH:D005334,"Fever, of any cause"\nMESH:D005334,pyrexia\nMESH:D005334,发热\n'
    records, _ = read(tmp_path / "fever.csv", text)
    assert [(record.id, record.label) for record in records] == [
        ("MESH:D005334", "Fever, of any cause"),
        ("MESH:D005334", ""),
        ("MESH:D005334", ""),
    ]
    # The first name in English is the label; the language is that of the letters.
    assert [name for record in records for name in record.names] == [
        Name("Fever, of any cause", "en", "name", "fever"),
        Name("pyrexia", "en", "synonym", "fever"),
        Name("发热", "zh", "synonym", "fever"),
    ]


def test_scope_and_type_by_prefix(tmp_path: Path) -> None:
    text = "id;label;name;scope\nDOID:1612;breast cancer;mammary tumor;broad\n"
    (record,), _ = read(tmp_path / "x.csv", text)
    assert (record.label, record.type) == ("breast cancer", "disease")
    assert record.names[1] == Name("mammary tumor", "en", "synonym", "x", "broad")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("fr,fièvre,fever,symptom,name", "a lang that is not one of en, zh"),
        ("en,fever,fever,sign,name", "a type that is not one of disease, "),
        ("en,fever,fever,symptom,word", "a kind that is not one of name, "),
        ("en,,fever,symptom,name", "no name"),
        ("en,fever,,symptom,name", "the concept is empty"),
        ("en,fever,...,symptom,name", "an id that is not a CURIE"),
        ("en,fever", "not 5 cells"),
        ("en,fever,fever,symptom,name,x", "not 5 cells"),
        ('en,"fever,fever,symptom,name', "not 5 cells"),
    ],
)
def test_bad_rows_have_their_places(tmp_path: Path, row: str, problem: str) -> None:
    text = f"lang,name,concept,type,kind\n{row}\nen,pyrexia,fever,symptom,synonym\n"
    records, source = read(tmp_path / "x.csv", text)
    assert [record.label for record in records] == ["fever"]
    ((found, places),) = source.problems.places.items()
    assert found.startswith(problem)
    assert places == ["x.csv line 2"]


def test_is_a_of_ids_and_names(tmp_path: Path) -> None:
    text = (
        "child\tparent\trelation\n"
        "MESH:D005334\tMESH:D001832\t\n"
        "left ventricle\theart\tpart_of\n"
        "左心室\t心脏\tpart_of\n"
        "a\tb\tcauses\n"
        "a\t\tis_a\n"
    )
    records, source = read(tmp_path / "x.tsv", text)
    assert records == [
        Record("MESH:D005334", "x", parents=["MESH:D001832"]),
        Record(
            "x:left-ventricle",
            "x",
            label="left ventricle",
            names=[Name("left ventricle", "en", "name", "x")],
            wholes=["x:heart"],
        ),
        Record("x:heart", "x", label="heart", names=[Name("heart", "en", "name", "x")]),
        Record("x:左心室", "x", names=[Name("左心室", "zh", "name", "x")], wholes=["x:心脏"]),
        Record("x:心脏", "x", names=[Name("心脏", "zh", "name", "x")]),
    ]
    assert source.problems.places == {
        "a relation that is neither is_a nor part_of": ["x.tsv line 5"],
        "the child or the parent is empty": ["x.tsv line 6"],
    }


def test_a_table_without_a_concept_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'id'"):
        read(tmp_path / "x.csv", "name,lang\nfever,en\n")
    with pytest.raises(InputError, match="'name'"):
        read(tmp_path / "x.csv", "id,lang\nMESH:D005334,en\n")


@pytest.mark.parametrize("table", ["diseases", "drugs", "symptoms", "tests", "treatments"])
def test_our_own_tables_are_read_completely(table: str) -> None:
    path = OWN / f"{table}.tsv"
    records, source = read(path)
    assert not source.problems.counts
    assert len(records) == len(path.read_text(encoding="utf-8").splitlines()) - 1
    assert all(record.type for record in records)
    assert {name.lang for record in records for name in record.names} == {"en", "zh"}
    assert all(record.id.startswith(f"{table}:") for record in records)


def test_a_concept_named_in_chinese_keeps_its_name(tmp_path: Path) -> None:
    (first, second), _ = read(tmp_path / "x.csv", "concept,name\n发热,发烧\n发热,发热\n")
    assert (first.label, first.names) == ("", [Name("发热", "zh", "name", "x"), Name("发烧", "zh", "synonym", "x")])
    assert second.names == [Name("发热", "zh", "synonym", "x")]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Rh+", "Rh-"), ("HER2+ breast cancer", "HER2- breast cancer"), ("0.5 % saline", "5 % saline")],
)
def test_names_that_differ_in_a_sign_are_two_concepts(tmp_path: Path, one: str, other: str) -> None:
    records, _ = read(tmp_path / "x.csv", f"concept,name\n{one},{one}\n{other},{other}\n")
    assert len({record.id for record in records}) == 2


def test_a_first_line_that_cannot_be_split_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b'id,"name"\rX:1,"a"\r')
    with pytest.raises(InputError, match="UTF-8"):
        list(FORMAT.read(Source(path, "x")))


@pytest.mark.parametrize("header", ["id,name", "id,name,备注"])
@pytest.mark.parametrize("coding", ["gbk", "gb18030", "utf-16"])
def test_a_table_in_another_encoding_is_rejected(tmp_path: Path, coding: str, header: str) -> None:
    # 痛 in GBK happens to be a valid character in UTF-8; only other lines show the encoding.
    assert "痛".encode("gbk").decode("utf-8") == "\u0374"
    more = ",无" if header.endswith("备注") else ""
    rows = [("X:1", "痛"), ("X:2", "发热"), ("X:3", "pyrexia"), ("X:4", "幽门螺杆菌感染")]
    path = tmp_path / "x.csv"
    path.write_text("".join([f"{header}\n", *(f"{id_},{name}{more}\n" for id_, name in rows)]), encoding=coding)
    looks = "UTF-16" if coding == "utf-16" else "GBK"
    with pytest.raises(InputError, match=rf"line [13]:.*{looks}.*iconv") as refused:
        list(FORMAT.read(Source(path, "x")))
    if coding != "utf-16":
        assert ("备注" if more else "X:2,发热") in str(refused.value)
    # The fix in the message works.
    path.write_text(path.read_text(encoding=coding), encoding="utf-8")
    assert {name.text for record in FORMAT.read(Source(path, "x")) for name in record.names} == {n for _, n in rows}


def test_another_encoding_is_reported_by_find_format(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("编号,名称\nX:1,发热\n", encoding="gbk")
    with pytest.raises(InputError, match=r"line 1:.*GBK.*编号,名称"):
        find_format(path)


def test_edges_without_ids_or_names_are_reported(tmp_path: Path) -> None:
    records, source = read(tmp_path / "x.csv", "child,parent\n???,fever\nhttps://a.org/fever,fever\n")
    assert not records
    assert source.problems.places == {
        "a child or parent that is neither an id nor a name": ["x.csv line 2", "x.csv line 3"]
    }


def test_a_broader_name_or_an_abbreviation_is_not_the_label(tmp_path: Path) -> None:
    text = (
        "id,name,scope,kind\nDOID:1,lung problem,broad,\nDOID:1,lung cancer,exact,name\nDOID:2,MI,exact,abbreviation\n"
    )
    records, _ = read(tmp_path / "x.csv", text)
    assert [record.label for record in records] == ["", "lung cancer", ""]
    assert records[0].names == [Name("lung problem", "en", "synonym", "x", "broad")]
    assert records[2].names == [Name("MI", "en", "abbreviation", "x")]


def test_a_category_in_a_comma_separated_table(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,name,category\nDOID:1,asthma,disease\n", encoding="utf-8")
    assert find_format(path) is FORMAT
    path.write_text("id\tname\tcategory\nDOID:1\tasthma\tdisease\n", encoding="utf-8")
    assert find_format(path).name == "kgx"


def test_a_cell_cut_at_a_line_break_is_reported(tmp_path: Path) -> None:
    records, source = read(tmp_path / "x.csv", 'id,name\nDOID:1,"asthma\nbronchiale"\nDOID:2,5" tube\n')
    assert [record.label for record in records] == ['5" tube']
    assert source.problems.places == {"not 2 cells": ["x.csv line 2", "x.csv line 3"]}


def test_a_blank_behind_a_closing_quotation_mark(tmp_path: Path) -> None:
    records, source = read(tmp_path / "x.csv", 'id,name\n"DOID:1" ,"asthma, bronchial" \n')
    assert [(record.id, record.label) for record in records] == [("DOID:1", "asthma, bronchial")]
    assert not source.problems.counts
