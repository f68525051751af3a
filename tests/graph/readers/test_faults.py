"""What is wrong with files, the same for every format that is read line by line or whole."""

import csv
import gzip
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.graph.readers.base import MAX_LINE, MAX_NAME, Record, Source
from imapeval.graph.readers.formats import FORMATS

READERS = {known.name: known.read for known in FORMATS}
IRI = "http://purl.obolibrary.org/obo/"

HEADERS = {
    "obo": "kind-version: 1.2\n",
    "kgx": "id\tcategory\tname\n",
    "babelon": "subject_id\tpredicate_id\ttranslation_language\ttranslation_value\n",
    "table": "id,name\n",
}
ROWS = {
    "obo": "[Term]\nid: DOID:{0}\nname: {1}\n\n",
    "kgx": "DOID:{0}\tbiolink:Disease\t{1}\n",
    "babelon": "DOID:{0}\trdfs:label\ten\t{1}\n",
    "table": "DOID:{0},{1}\n",
}
FILES = {"obo": "x.obo", "kgx": "x_nodes.tsv", "babelon": "x.babelon.tsv", "table": "x.csv"}
# Lines before the first name, and lines from one name to the next.
PLACES = {"obo": (4, 4), "kgx": (2, 1), "babelon": (2, 1), "table": (2, 1)}

by_line = pytest.mark.parametrize("kind", list(HEADERS))


def make(kind: str, *names: str) -> str:
    return HEADERS[kind] + "".join(ROWS[kind].format(number, name) for number, name in enumerate(names, 1))


def read(path: Path, kind: str, content: bytes) -> tuple[list[Record], Source]:
    path.write_bytes(content)
    source = Source(path, "x")
    return list(READERS[kind](source)), source


def texts(records: list[Record]) -> list[str]:
    return [name.text for record in records for name in record.names]


@by_line
def test_byte_order_mark_and_windows_line_ends(tmp_path: Path, kind: str) -> None:
    content = b"\xef\xbb\xbf" + make(kind, "one", "two").replace("\n", "\r\n").encode()
    records, source = read(tmp_path / FILES[kind], kind, content)
    assert texts(records) == ["one", "two"]
    assert not source.problems.counts


@by_line
def test_a_line_that_is_not_utf8_is_left_out(tmp_path: Path, kind: str) -> None:
    content = make(kind, "one", "br\u00fbl\u00e9", "three").encode().replace("br\u00fbl\u00e9".encode(), b"br\xfbl\xe9")
    records, source = read(tmp_path / FILES[kind], kind, content)
    assert texts(records) == ["one", "three"]
    first, step = PLACES[kind]
    assert source.problems.places["not UTF-8"] == [f"{FILES[kind]} line {first + step}"]


@by_line
def test_a_name_of_100_000_characters_is_rejected_with_its_place(tmp_path: Path, kind: str) -> None:
    records, source = read(tmp_path / FILES[kind], kind, make(kind, "one", "x" * 100_000, "three").encode())
    assert texts(records) == ["one", "three"]
    first, step = PLACES[kind]
    assert source.problems.places == {
        f"a name of more than {MAX_NAME:,} characters": [f"{FILES[kind]} line {first + step}"]
    }


@by_line
def test_an_empty_file_is_rejected(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path / FILES[kind], kind, b"")
    assert error.value.path == tmp_path / FILES[kind]
    assert error.value.fix


@pytest.mark.parametrize("kind", ["kgx", "babelon", "table"])
def test_a_header_alone_has_nothing(tmp_path: Path, kind: str) -> None:
    records, source = read(tmp_path / FILES[kind], kind, HEADERS[kind].encode())
    assert not records
    assert not source.problems.counts


@pytest.mark.parametrize("kind", ["kgx", "babelon", "table"])
def test_only_a_broken_row_is_left_out(tmp_path: Path, kind: str) -> None:
    content = make(kind, "one") + "DOID:9\n\n" + ROWS[kind].format(3, "three")
    records, source = read(tmp_path / FILES[kind], kind, content.encode())
    assert texts(records) == ["one", "three"]
    (places,) = source.problems.places.values()
    assert places == [f"{FILES[kind]} line 3"]


@pytest.mark.parametrize("kind", ["kgx", "babelon", "table"])
def test_a_missing_column_is_named(tmp_path: Path, kind: str) -> None:
    column = {"kgx": "id", "babelon": "translation_value", "table": "name"}[kind]
    content = make(kind, "one").replace(column, "x", 1)
    with pytest.raises(InputError, match="column"):
        read(tmp_path / FILES[kind], kind, content.encode())


@by_line
@pytest.mark.parametrize("damage", ["cut", "broken"])
def test_damaged_gzip_is_rejected(tmp_path: Path, kind: str, damage: str) -> None:
    whole = gzip.compress(make(kind, *(f"name {number * 7919 % 10007}" for number in range(5000))).encode())
    middle = len(whole) // 2
    data = whole[:middle] if damage == "cut" else whole[:middle] + bytes(50) + whole[middle + 50 :]
    with pytest.raises(InputError, match=r"\.gz"):
        read(tmp_path / f"{FILES[kind]}.gz", kind, data)


@by_line
def test_repeated_ids_are_left_to_the_builder(tmp_path: Path, kind: str) -> None:
    content = make(kind, "one") + ROWS[kind].format(1, "uno")
    records, _ = read(tmp_path / FILES[kind], kind, content.encode())
    assert [record.id for record in records] == ["DOID:1", "DOID:1"]


PAGE = b"<!DOCTYPE html>\n<html><head><title>404</title></head><body>Not found, or: log in</body></html>\n"


@pytest.mark.parametrize("kind", ["obo", "obographs", "owl", "kgx", "babelon", "table"])
@pytest.mark.parametrize("content", [PAGE, b"\x00\xff\xfe\x01" * 500, b"", b"[1, 2"])
def test_foreign_content_is_rejected(tmp_path: Path, kind: str, content: bytes) -> None:
    if kind == "owl":
        pytest.importorskip("pyoxigraph", reason="needs the extra 'owl'")
    name = {**FILES, "obographs": "x.obographs.json", "owl": "x.owl"}[kind]
    with pytest.raises(InputError) as error:
        read(tmp_path / name, kind, content)
    assert error.value.path == tmp_path / name


@pytest.mark.parametrize("encoding", ["utf-9", "gb18030", "base64"])
@pytest.mark.parametrize(("kind", "root"), [("mesh", "DescriptorRecordSet"), ("owl", "rdf:RDF")])
def test_an_encoding_that_no_parser_of_xml_reads(tmp_path: Path, kind: str, root: str, encoding: str) -> None:
    if kind == "owl":
        pytest.importorskip("pyoxigraph", reason="needs the extra 'owl'")
    with pytest.raises(InputError, match=encoding if encoding != "gb18030" else "multi-byte") as error:
        read(tmp_path / "x.xml", kind, f'<?xml version="1.0" encoding="{encoding}"?><{root}></{root}>'.encode())
    assert error.value.path == tmp_path / "x.xml"


@pytest.mark.parametrize("limit", [131_072, 2**26], ids=["of Python", "of samples"])
@pytest.mark.parametrize("cell", ['"a"\rb', '"' + "x" * 200_000 + '"'], ids=["carriage return", "long"])
def test_a_row_that_cannot_be_split_is_left_out(tmp_path: Path, cell: str, limit: int) -> None:
    before = csv.field_size_limit(limit)
    try:
        records, source = read(tmp_path / "x.csv", "table", make("table", cell, "two").encode())
    finally:
        csv.field_size_limit(before)
    assert texts(records) == ["two"]
    assert source.problems.places == {"not 2 cells": ["x.csv line 2"]}


def test_columns_without_a_name_are_those_of_a_spreadsheet(tmp_path: Path) -> None:
    records, source = read(tmp_path / "x.csv", "table", b"id,name,,\nDOID:1,one,,\nDOID:2,two,,\n")
    assert texts(records) == ["one", "two"]
    assert not source.problems.counts
    with pytest.raises(InputError, match=r"line 1:.*'name'"):
        read(tmp_path / "x.csv", "table", b"id,name,Name\nDOID:1,one,uno\n")


def test_an_overlong_line_is_left_out(tmp_path: Path) -> None:
    content = make("table", "one", "x" * (MAX_LINE + 10), "three").encode()
    records, source = read(tmp_path / "x.csv", "table", content)
    assert texts(records) == ["one", "three"]
    assert source.problems.places == {f"longer than {MAX_LINE:,} bytes": ["x.csv line 3"]}


def test_numbers_in_json_that_python_refuses(tmp_path: Path) -> None:
    content = b'{"graphs": [{"nodes": [{"id": "DOID:1", "type": "CLASS", "lbl": "one", "x": ' + b"1" * 5000 + b"}]}]}"
    records, _ = read(tmp_path / "x.json", "obographs", content)
    assert texts(records) == ["one"]


def test_lone_surrogates_in_ids_are_rejected(tmp_path: Path) -> None:
    content = (
        rb'{"graphs": [{"nodes": [{"id": "DOID:1", "type": "CLASS", "meta": {"xrefs": [{"val": "X:\ud800"}]}},'
        rb'{"id": "http://a.org/\ud800", "type": "CLASS"}],'
        rb'"edges": [{"sub": "DOID:1", "pred": "is_a", "obj": "X:\ud800"}]}]}'
    )
    records, source = read(tmp_path / "x.json", "obographs", content)
    assert records == [Record("DOID:1", "x", type="disease")]
    (places,) = source.problems.places.values()
    assert places == [r"x.json 'http://a.org/\ud800'"]  # can be printed
