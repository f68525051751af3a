from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.graph.model import Name
from imapeval.graph.readers.source import Source
from imapeval.graph.readers.table import FORMAT
from imapeval.graph.record import Record

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


def test_names_by_id_with_the_least_of_columns(tmp_path: Path) -> None:
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
        ("fr,fièvre,fever,symptom,name", "a lang that is none of en, zh"),
        ("en,fever,fever,sign,name", "a type that is none of disease, "),
        ("en,fever,fever,symptom,word", "a kind that is none of name, "),
        ("en,,fever,symptom,name", "no name"),
        ("en,fever,,symptom,name", "the concept is empty"),
        ("en,fever,...,symptom,name", "an id that is no CURIE"),
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


def test_a_table_without_a_concept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'id' or 'concept'"):
        read(tmp_path / "x.csv", "name,lang\nfever,en\n")
    with pytest.raises(InputError, match="'name' is missing"):
        read(tmp_path / "x.csv", "id,lang\nMESH:D005334,en\n")


@pytest.mark.parametrize("table", ["diseases", "drugs", "symptoms", "tests", "treatments"])
def test_our_own_tables_are_read_as_they_are(table: str) -> None:
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


@pytest.mark.parametrize("content", ["id,name\nX:1,发热\n".encode("utf-16"), b'id,"name"\rX:1,"a"\r'])
def test_a_table_in_another_coding_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"no line of a table in UTF-8\. Save it as CSV in UTF-8"):
        list(FORMAT.read(Source(path, "x")))


def test_edges_of_what_is_neither_id_nor_name_are_reported(tmp_path: Path) -> None:
    records, source = read(tmp_path / "x.csv", "child,parent\n???,fever\nhttps://a.org/fever,fever\n")
    assert not records
    assert source.problems.places == {
        "a child or parent that is neither an id nor a name": ["x.csv line 2", "x.csv line 3"]
    }
