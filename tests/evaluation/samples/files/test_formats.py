"""Data as people have it: every kind of file is read right, or refused with the place and what to do.

One table. Each kind is a real file with the same two answers, made by the program that people make it with where there
is one (openpyxl, pandas, pyarrow, gzip). A kind is read, with exactly these answers, or refused.
"""

import codecs
import csv
import gzip
import io
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from openpyxl import Workbook
from openpyxl.styles import Font

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples import read
from imapeval.types import Sample

ROWS = [
    {
        "id": "1",
        "question": "高血压怎么办？",
        "reference": "少吃盐，\n多运动。",
        "response": '少吃"盐"; 多休息, walk.',
    },
    {"id": "2", "question": "What helps?", "reference": "Rest.", "response": "Sleep\tand rest"},
]
NAMES = list(ROWS[0])
TWO = [(row["question"], (row["reference"],), row["response"]) for row in ROWS]

Write = Callable[[Path], object]
Shown = tuple[str, tuple[str, ...], str]


def shown(samples: list[Sample]) -> list[Shown]:
    return [(sample.question, sample.references, sample.response) for sample in samples]


def table(delimiter: str = ",", encoding: str = "utf-8", end: str = "\r\n", rows: Any = None) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerow(NAMES)
    writer.writerows(row.values() for row in (rows or ROWS))
    return file.getvalue().replace("\r\n", end).encode(encoding)


def lines(rows: Any = None) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in (rows or ROWS)).encode()


def sheet(*rows: list[Any], merge: tuple[str, ...] = (), title: str = "answers") -> Write:
    def write(path: Path) -> None:
        book = Workbook()
        page = book.active
        assert page is not None
        page.title = title
        for row in rows:
            page.append(row)
        for area in merge:
            page.merge_cells(area)
        book.save(path)

    return write


def content(raw: bytes) -> Write:
    return lambda path: path.write_bytes(raw)


def pandas_excel(path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(ROWS).to_excel(path)


def parquet(rows: list[dict[str, Any]]) -> Write:
    def write(path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)

    return write


def arrow(kind: str) -> Write:
    def write(path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        table = pyarrow.Table.from_pylist(ROWS)
        with getattr(pytest.importorskip("pyarrow.ipc"), f"new_{kind}")(str(path), table.schema) as file:
            file.write_table(table, 1)

    return write


def large_decimal(path: Path) -> None:
    """Write a decimal of three digits and the scale 100, as a damaged byte may make it."""
    pyarrow = pytest.importorskip("pyarrow")
    numbers = pyarrow.array([1], pyarrow.decimal128(3, 0)).view(pyarrow.decimal128(3, 100))
    table = pyarrow.table({"question": ["Why?"], "response": ["So."], "n": numbers})
    with pytest.importorskip("pyarrow.ipc").new_file(str(path), table.schema) as file:
        file.write_table(table)


def two_sheets(path: Path) -> None:
    book = Workbook()
    for title in ("March", "April"):
        page = book.create_sheet(title)
        for row in (NAMES, *(list(row.values()) for row in ROWS)):
            page.append(row)
    book.save(path)


def one_table_among_sheets(path: Path) -> None:
    book = Workbook()
    page = book.active
    assert page is not None
    page["A1"] = "Read me: the answers are on the next sheet."
    page["A1"].font = Font(bold=True)
    for title, state in (("answers", "visible"), ("old answers", "hidden")):
        page = book.create_sheet(title)
        page.sheet_state = state
        for row in (NAMES, *(list(row.values()) for row in ROWS)):
            page.append(row)
    book.save(path)


def escaped_texts(path: Path) -> None:
    """Write texts as Excel stores them: with escapes, shared and in the cell, where a formula may have made them."""
    sheet(["question", "response"], ["Why?", "So._x000D_\n_x005F_x000D_ x005F_"])(path)
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    page = "xl/worksheets/sheet1.xml"
    row = (
        b'<row r="3"><c r="A3" t="inlineStr"><is><t>A_x0009_B?</t></is></c><c r="B3" t="str"><v>C_x000D_</v></c></row>'
    )
    parts[page] = parts[page].replace(b"</sheetData>", row + b"</sheetData>")
    with ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)


def strict_excel(path: Path) -> None:
    """Write the variant of ISO 29500 that Excel saves as "Strict Open XML Spreadsheet"."""
    sheet(NAMES, *as_lists(*ROWS))(path)
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(path, "w") as archive:
        for name, part in parts.items():
            part = part.replace(b"schemas.openxmlformats.org/spreadsheetml/2006", b"purl.oclc.org/ooxml/spreadsheetml")
            archive.writestr(
                name,
                part.replace(b"schemas.openxmlformats.org/officeDocument/2006", b"purl.oclc.org/ooxml/officeDocument"),
            )


def as_lists(*rows: dict[str, Any]) -> list[list[Any]]:
    return [list(row.values()) for row in rows]


HUGE = "Rest. " * 2_000_000
WIDE = [{"question": row["question"], "reference": row["reference"], "a": row["response"], "b": "No."} for row in ROWS]
CITING = ROWS[0] | {"contexts": [{"text": "x"}, {"text": "y"}]}
OTHER = {"prompt" if name == "question" else "said" if name == "response" else name: v for name, v in CITING.items()}
OTHER_COLUMNS = {"columns": {"question": "prompt", "response": "said"}}

READ: dict[str, tuple[str, Write, dict[str, Any], list[Shown], str]] = {
    # kind: (file name, how it is written, options, answers, what is said about it)
    "CSV": ("d.csv", content(table()), {}, TWO, ""),
    "CSV with byte-order mark": ("d.csv", content(table(encoding="utf-8-sig")), {}, TWO, ""),
    "CSV with line feeds": ("d.csv", content(table(end="\n")), {}, TWO, ""),
    "CSV with carriage returns": ("d.csv", content(table(end="\r")), {}, TWO, ""),
    "CSV in UTF-16, as Excel writes Unicode text": (
        "d.txt",
        content(table("\t", "utf-16")),
        {},
        TWO,
        "UTF-16-LE",
    ),
    "Chinese in UTF-16, without a known name": (
        "d.txt",
        content("问题\t参考\t回答\n上考？\t分。\t休息\n".encode("utf-16")),
        {"columns": {"question": "问题", "reference": "参考", "response": "回答"}},
        [("上考？", ("分。",), "休息")],
        "UTF-16-LE",
    ),
    "CSV in UTF-16 without byte-order mark": ("d.csv", content(table(encoding="utf-16-be")), {}, TWO, "UTF-16-BE"),
    "CSV in GBK": ("d.csv", content(table(encoding="gbk")), {}, TWO, "GB18030"),
    "CSV in Big5, named": (
        "d.csv",
        content("question,response\n頭痛怎麼辦？,休息\n".encode("big5")),
        {"encoding": "big5"},
        [("頭痛怎麼辦？", (), "休息")],
        "",
    ),
    "CSV in Windows-1252, named": (
        "d.csv",
        content("question,response\nWhy?,a café “here”\n".encode("cp1252")),
        {"encoding": "cp1252"},
        [("Why?", (), "a café “here”")],
        "",
    ),
    "the separator in a line before the header, as Excel reads it": (
        "sep.csv",
        content(b"sep=;\r\n" + table(";")),
        {},
        TWO,
        "semicolons",
    ),
    "a separator in such a line that is less frequent than another one": (
        "sep2.csv",
        content('"SEP=,"\nquestion,response\nA;B?,C;D\n'.encode("utf-8-sig")),
        {},
        [("A;B?", (), "C;D")],
        "",
    ),
    "semicolons and decimal commas": (
        "d.csv",
        content(b"question;response;ratings.accuracy\nWhy, then?;So, it is.;4,5\nWhat?;That.;3\n"),
        {},
        [("Why, then?", (), "So, it is."), ("What?", (), "That.")],
        "semicolons",
    ),
    "TSV with quotes": ("d.tsv", content(table("\t")), {}, TWO, ""),
    "TSV named .csv": ("d.csv", content(table("\t")), {}, TWO, "tabs"),
    "empty rows and columns at the end": (
        "d.csv",
        content(b"question,response,,\nWhy?,So.,,\n,,,\n,,,\n"),
        {},
        [("Why?", (), "So.")],
        "",
    ),
    "JSON Lines": ("d.jsonl", content(lines()), {}, TWO, ""),
    "JSON Lines, gzip": ("d.jsonl.gz", content(gzip.compress(lines())), {}, TWO, ""),
    "JSON Lines with byte-order mark": ("d.jsonl", content(codecs.BOM_UTF8 + lines()), {}, TWO, ""),
    "JSON list": ("d.json", content(json.dumps(ROWS, indent=1).encode()), {}, TWO, ""),
    "JSON list named .jsonl": ("d.jsonl", content(json.dumps(ROWS).encode()), {}, TWO, ""),
    "JSON object with a list inside": (
        "d.json",
        content(json.dumps({"version": 1, "data": ROWS}, indent=1).encode()),
        {},
        TWO,
        "'data'",
    ),
    "JSON object with a list as its response": (
        "d.json",
        content(json.dumps({"response": ROWS}, indent=1).encode()),
        {},
        TWO,
        "'response'",
    ),
    "JSON object with the response of a server": (
        "d.json",
        content(json.dumps({"response": "200 OK", "data": ROWS}, indent=1).encode()),
        {},
        TWO,
        "'data'",
    ),
    "JSON object with a question about its list": (
        "d.json",
        content(json.dumps({"question": "What?", "answers": ROWS}, indent=1).encode()),
        {},
        TWO,
        "'answers'",
    ),
    "JSON Lines named .json": ("d.json", content(lines()), {}, TWO, ""),
    "one JSON object": ("d.json", content(json.dumps(ROWS[0]).encode()), {}, TWO[:1], ""),
    "one JSON object with lists of other things": ("d.json", content(json.dumps(CITING).encode()), {}, TWO[:1], ""),
    "one JSON object in .ndjson": ("d.ndjson", content(json.dumps(OTHER).encode()), OTHER_COLUMNS, TWO[:1], ""),
    "one JSON object, said to be a line": (
        "d.json",
        content(json.dumps(OTHER).encode()),
        {"loader": "jsonl", **OTHER_COLUMNS},
        TWO[:1],
        "",
    ),
    "Excel": ("d.xlsx", sheet(NAMES, *as_lists(*ROWS)), {}, TWO, ""),
    "Excel named .csv": ("d.csv", sheet(NAMES, *as_lists(*ROWS)), {}, TWO, "read as xlsx"),
    "Excel with escapes": (
        "d.xlsx",
        escaped_texts,
        {},
        [("Why?", (), "So.\r\n_x000D_ x005F_"), ("A\tB?", (), "C\r")],
        "",
    ),
    "Excel from pandas, with its index": ("d.xlsx", pandas_excel, {}, TWO, ""),
    "Excel with a title in merged cells and empty rows": (
        "d.xlsx",
        sheet(["Results of the study"], [], NAMES, as_lists(*ROWS)[0], [], as_lists(*ROWS)[1], [], merge=("A1:D1",)),
        {},
        TWO,
        "the header is row 3",
    ),
    "Excel with a question merged over its answers": (
        "d.xlsx",
        sheet(
            ["question", "reference", "response", "system"],
            ["Why?", "So.", "Because.", "a"],
            [None, None, "No.", "b"],
            merge=("A2:A3", "B2:B3"),
        ),
        {},
        [("Why?", ("So.",), "Because."), ("Why?", ("So.",), "No.")],
        "",
    ),
    "Excel with numbers, dates and numbers as text": (
        "d.xlsx",
        sheet(
            ["question", "response", "ratings.accuracy", "asked"],
            ["How many?", 5, "4.5", datetime(2024, 3, 1)],
            ["How much?", "5", 3, date(2024, 3, 2)],
        ),
        {},
        [("How many?", (), "5"), ("How much?", (), "5")],
        "",
    ),
    "Excel with one table among several sheets": ("d.xlsx", one_table_among_sheets, {}, TWO, "'answers'"),
    "Excel with the sheet named": ("d.xlsx", two_sheets, {"sheet": "April"}, TWO, ""),
    "Parquet": ("d.parquet", parquet(ROWS), {}, TWO, ""),
    "Arrow": ("d.arrow", arrow("file"), {}, TWO, ""),
    "Arrow as a stream": ("d.arrow", arrow("stream"), {}, TWO, ""),
    "Parquet with nested lists": (
        "d.parquet",
        parquet([{"question": "Why?", "answers": {"text": ["So.", "Thus."]}, "said": [{"text": "Because."}]}]),
        {"columns": {"references": "answers.text", "response": "said.text"}},
        [("Why?", ("So.", "Thus."), "Because.")],
        "",
    ),
    "a wide file": (
        "d.csv",
        content(("question,reference,a,b\n" + "".join(f"{n},So.,yes {n},no {n}\n" for n in "xy")).encode()),
        {"columns": {"response": "a,b"}},
        [(n, ("So.",), f"{said} {n}") for n in "xy" for said in ("yes", "no")],
        "",
    ),
    "several columns of references": (
        "d.csv",
        content(b"question,reference 1,Reference_2,reference10,response\nWhy?,one,,ten,So.\n"),
        {},
        [("Why?", ("one", "ten"), "So.")],
        "'reference 1' and 'Reference_2' and 'reference10'",
    ),
    "usual other names": (
        "d.jsonl",
        content(lines([{"prompt": "Why?", "answer": "So.", "prediction": "Because.", "model": "m"}])),
        {},
        [("Why?", ("So.",), "Because.")],
        "'prediction' for response",
    ),
    "a file of chats": (
        "d.jsonl",
        content(
            lines(
                [{"messages": [{"role": "user", "content": "Why?"}], "ideal": ["So.", "Thus."], "output": "Because."}]
            )
        ),
        {},
        [("Why?", ("So.", "Thus."), "Because.")],
        "'messages' for turns",
    ),
    "responses of an API": (
        "d.jsonl",
        content(lines([{"question": "Why?", "reply": {"choices": [{"message": {"content": "So."}}]}}])),
        {"columns": {"response": "reply.choices.0.message.content"}},
        [("Why?", (), "So.")],
        "",
    ),
    "ids that repeat between systems": (
        "d.jsonl",
        content(lines([{"id": "q1", "question": "Why?", "response": "So.", "system": name} for name in "ab"])),
        {},
        [("Why?", (), "So.")] * 2,
        "(q1), so all ids are ID/SYSTEM",
    ),
    "a huge cell": (
        "d.csv",
        content(f"question,response\nWhy?,{HUGE}\n".encode()),
        {},
        [("Why?", (), HUGE)],
        "",
    ),
}

REFUSED: dict[str, tuple[str, Write, dict[str, Any], int | None, str]] = {
    # kind: (file name, how it is written, options, line, the message)
    "an empty file": ("d.csv", content(b""), {}, None, "empty"),
    "an empty gzip": ("d.jsonl.gz", content(gzip.compress(b"\n")), {}, None, "empty"),
    "a header only": ("d.csv", content(b"question,response\n"), {}, None, "no rows"),
    "an empty Excel file": ("d.xlsx", sheet(), {}, None, "empty"),
    "a damaged gzip": ("d.jsonl.gz", content(gzip.compress(lines() * 9)[:-20]), {}, None, "gzip"),
    "two encodings in one file": (
        "d.csv",
        content("question,response\nWhy?,caf\u00e9\nWhat?,".encode() + "café\n".encode("latin-1")),
        {},
        3,
        "0xe9",
    ),
    "Windows-1252, not named": ("d.csv", content("question,response\nWhy?,café\n".encode("cp1252")), {}, 2, "cp1252"),
    "Big5, not named": (
        "d.csv",
        content("question,response\n頭痛怎麼辦呢？,多休息喝水\n".encode("big5")),
        {},
        2,
        "--encoding",
    ),
    "a wrong byte in GBK": (
        "d.csv",
        content("question,response\n头痛怎么办？,休息\n咳嗽怎么办？,".encode("gbk") + b"\xff\n"),
        {},
        3,
        "GB18030",
    ),
    "the wrong encoding": ("d.csv", content(table(encoding="gbk")), {"encoding": "utf-8"}, 2, "UTF-8"),
    "a quotation mark that is not closed": ("d.csv", content(b'question,response\nWhy?,"So.\n'), {}, 2, "Quote"),
    "a column twice": ("d.csv", content(b"question,response,response\nWhy?,a,b\n"), {}, 1, "'response' is twice"),
    "a column without a name": ("d.csv", content(b"question,response,,\nWhy?,a,b,c\n"), {}, 2, "column 3"),
    "duplicate ids": ("d.jsonl", content(lines([ROWS[0], ROWS[0]])), {}, 2, "Make ids unique"),
    "several sheets with a table": ("d.xlsx", two_sheets, {}, None, "'March', 'April'.*--sheet"),
    "a header of merged cells": (
        "d.xlsx",
        sheet(["question", "response", None], [None, "gpt4", "llama"], ["Why?", "So.", "No."], merge=("B1:C1",)),
        {},
        1,
        "B1:C1",
    ),
    "a sheet of one column": ("d.xlsx", sheet(["response"], ["Rest."]), {}, None, "header"),
    "an old Excel file": ("d.xls", content(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)), {}, None, "xlsx"),
    "Excel of the strict type": ("d.xlsx", strict_excel, {}, None, "Strict Open XML"),
    "a ZIP archive": ("d.csv", lambda path: ZipFile(path, "w").writestr("x", "y"), {}, None, "ZIP"),
    "text named .xlsx": ("d.xlsx", content(table()), {}, None, "not an Excel file"),
    "a list that does not end": ("d.json", content(b'[\n{"question": "Why?",\n"response": "So."}\n'), {}, 3, "JSON"),
    "a text named .json": ("d.json", content(b'"So."\n'), {}, 1, "So."),
    "an object with two lists": ("d.json", content(json.dumps({"a": ROWS, "b": ROWS}).encode()), {}, None, "'a', 'b'"),
    "a column that may be two": (
        "d.jsonl",
        content(lines([{"question": "Why?", "answer": "So."}])),
        {},
        None,
        "--map response=answer or --map reference=answer",
    ),
    "two columns that may be one": (
        "d.jsonl",
        content(lines([{"question": "Why?", "prediction": "So.", "output": "No."}])),
        {},
        None,
        "--map response=prediction",
    ),
    "ratings of a wide file": (
        "d.jsonl",
        content(lines([row | {"ratings.accuracy": 4} for row in WIDE])),
        {"columns": {"response": "a,b"}},
        None,
        "'ratings.accuracy'",
    ),
    "a column that is not there": ("d.csv", content(table()), {"columns": {"response": "a,b"}}, None, "'a'"),
    "bytes of byte-order marks alone": ("d", content(b"\xff\xfe\0\0\xff"), {}, None, "not recognised"),
    "a number of Arrow that Python cannot hold": ("d.arrow", large_decimal, {}, None, "as Arrow"),
    "text of no format": ("d.txt", content(b"The patient should rest.\n"), {}, None, "--loader"),
}

BAD_ROWS: dict[str, tuple[str, Write, dict[str, Any], str]] = {
    # One row of three is bad, the second: (file name, how it is written, options, its failure)
    "a broken line of JSON": (
        "d.jsonl",
        content(lines(ROWS[:1]) + b'{"id": "9", "question": \n' + lines(ROWS[1:])),
        {},
        "line 2: invalid JSON",
    ),
    "a field that is there twice": (
        "d.jsonl",
        content(lines(ROWS[:1]) + lines(ROWS[:1])[:-2] + b', "response": ""}\n' + lines(ROWS[1:])),
        {},
        "line 2: invalid JSON",
    ),
    "a line that is no object": ("d.jsonl", content(lines(ROWS[:1]) + b"[1]\n" + lines(ROWS[1:])), {}, "line 2"),
    "a field that is there twice in an item": (
        "d.json",
        content(b"[" + b",".join((lines(ROWS[:1]), lines(ROWS[:1])[:-2] + b', "id": "9"}', lines(ROWS[1:]))) + b"]"),
        {},
        "record 2: invalid JSON",
    ),
    "an item that is no object": ("d.json", content(json.dumps([ROWS[0], 7, ROWS[1]]).encode()), {}, "record 2"),
    "too many fields": (
        "d.csv",
        content(
            table(rows=ROWS[:1]) + b"9,Why?,So.,Because, that is it.\n" + table(rows=ROWS[1:]).split(b"\r\n", 1)[1]
        ),
        {},
        "line 4: 5 fields",
    ),
    "a value in a column without a name": (
        "d.csv",
        content(
            table(rows=[ROWS[0], ROWS[0] | {"id": "9", "response": "Because."}, ROWS[1]])
            .replace(b"\r\n", b",\r\n")
            .replace(b"Because.,", b"Because.,oops")
        ),
        {},
        "line 4: column 5",
    ),
    "a value beside a sheet's table": (
        "d.xlsx",
        sheet(NAMES, *as_lists(ROWS[0], ROWS[0] | {"id": "9", "beside": "oops"}, ROWS[1])),
        {},
        "row 3: column 5",
    ),
    "an empty question": (
        "d.jsonl",
        content(lines([ROWS[0], ROWS[0] | {"id": "9", "question": " "}, ROWS[1]])),
        {},
        "line 2: the question is empty",
    ),
    "an error in a cell": (
        "d.xlsx",
        sheet(NAMES, *as_lists(ROWS[0], ROWS[0] | {"id": "9", "response": "#N/A"}, ROWS[1])),
        {},
        "row 3: the cell D3 holds the error #N/A",
    ),
    "a formula whose value is not stored": (
        "d.xlsx",
        sheet(NAMES, *as_lists(ROWS[0], ROWS[0] | {"id": "9", "response": '="Re"&"st"'}, ROWS[1])),
        {},
        "row 3: the formula in D3",
    ),
    "a rating that is no number": (
        "d.jsonl",
        content(lines([ROWS[0], ROWS[0] | {"id": "9", "ratings.accuracy": "good"}, ROWS[1]])),
        {},
        "line 2: the rating",
    ),
    "a row without an id": (
        "d.jsonl",
        content(lines([ROWS[0], ROWS[0] | {"id": None}, ROWS[1]])),
        {},
        "line 2: this row has no id",
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_what_is_read(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture):
    name, write, options, expected, note = READ[kind]
    write(tmp_path / name)
    with caplog.at_level(logging.WARNING):
        samples = read(tmp_path / name, **options)
    assert shown(samples) == expected
    assert len({sample.id for sample in samples}) == len(samples)
    assert not any(sample.fault for sample in samples)
    # What is not as one would expect is said, and nothing else.
    assert note in caplog.text
    assert bool(note) == bool(caplog.records)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(tmp_path: Path, kind: str):
    name, write, options, line, message = REFUSED[kind]
    write(tmp_path / name)
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path / name, **options)
    assert (caught.value.path, caught.value.line) == (tmp_path / name, line)
    assert caught.value.fix


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_bad_row_fails_alone(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture):
    name, write, options, message = BAD_ROWS[kind]
    write(tmp_path / name)
    first, bad, last = read(tmp_path / name, **options)
    assert shown([first, last]) == TWO
    assert (first.fault, last.fault) == (None, None)
    assert bad.fault is not None
    assert (bad.fault.stage, bad.fault.kind) == ("sample", "bad-input")
    assert message in bad.fault.message
    assert bad.references == () or bad.references == first.references
    assert message in caplog.text
    assert len({first.id, bad.id, last.id}) == 3
    with pytest.raises(InputError, match=message.partition(":")[0]):
        read(tmp_path / name, strict=True, **options)


ERRORS = ["#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", " #N/A "]


def error_texts(path: Path, *rows: list[str]) -> None:
    """Write a sheet in which the errors are texts, as a column formatted as text keeps them."""
    book = Workbook()
    page = book.active
    assert page is not None
    for row in rows:
        page.append(row)
    for row in page.iter_rows():
        for cell in row:
            cell.data_type = "s"
    book.save(path)


@pytest.mark.parametrize("column", ["question", "reference", "response", "reference2", "ratings.accuracy"])
@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.xlsx", "texts.xlsx"])
def test_an_error_of_a_spreadsheet_is_a_bad_row_in_every_table(tmp_path: Path, name: str, column: str):
    good = {"question": "What helps?", "reference": "Rest.", "reference2": "Sleep.", "ratings.accuracy": "4"}
    good["response"] = "The cell shows #N/A."
    rows = [list(row.values()) for row in [good, *(good | {column: error} for error in ERRORS)]]
    if name == "texts.xlsx":
        error_texts(tmp_path / name, list(good), *rows)
    elif name == "d.xlsx":
        sheet(list(good), *rows)(tmp_path / name)
    else:
        text = "\n".join(("," if name == "d.csv" else "\t").join(row) for row in [list(good), *rows])
        (tmp_path / name).write_text(text, encoding="utf-8")
    first, *bad = read(tmp_path / name)
    assert first.fault is None
    for error, sample in zip(ERRORS, bad, strict=True):
        assert sample.fault is not None
        assert (sample.fault.stage, sample.fault.kind) == ("sample", "bad-input")
        assert error.strip() in sample.fault.message


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.xlsx"])
def test_an_error_of_a_spreadsheet_may_be_what_stands_for_no_response(tmp_path: Path, name: str):
    rows = [ROWS[0], ROWS[1] | {"response": "#N/A"}]
    write = {
        "d.jsonl": content(lines(rows)),
        "d.csv": content(table(rows=rows)),
        "d.xlsx": sheet(NAMES, *as_lists(*rows)),
    }
    write[name](tmp_path / name)
    assert [(one.fault, one.answered) for one in read(tmp_path / name, missing=["#N/A"])] == [
        (None, True),
        (None, False),
    ]


def test_the_texts_of_errors_are_texts_where_data_has_types(tmp_path: Path):
    (tmp_path / "d.jsonl").write_bytes(lines([ROWS[0], ROWS[1] | {"response": "#N/A"}]))
    assert [(one.fault, one.response) for one in read(tmp_path / "d.jsonl")][1] == (None, "#N/A")


def test_a_column_with_an_error_is_still_found_by_a_common_name(tmp_path: Path):
    names = ["question", "gold", "prediction"]
    sheet(names, ["What helps?", "Rest.", "Sleep."], ["What helps?", "#N/A", "#REF!"])(tmp_path / "d.xlsx")
    good, bad = read(tmp_path / "d.xlsx")
    assert (good.references, good.response, good.fault) == (("Rest.",), "Sleep.", None)
    assert bad.fault is not None


@pytest.mark.parametrize("column", ["references", "turns", "ratings"])
def test_brackets_nested_a_hundred_thousand_deep_are_one_bad_row(tmp_path: Path, column: str):
    path = tmp_path / "data.csv"
    names = ["question", "response", column] if column != "turns" else ["response", column]
    deep = "[" * 100_000
    rows = [dict.fromkeys(names, deep), dict.fromkeys(names, '["a"]') | {"turns": '[{"role": "user", "content": "a"}]'}]
    with path.open("w") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    if column == "ratings":  # no object can stand in a cell
        with pytest.raises(InputError):
            read(path)
    else:
        assert [sample.fault is None for sample in read(path)] == [False, True]


@pytest.mark.parametrize(("name", "loader"), [("d.jsonl", None), ("d.ndjson", None), ("d.json", "jsonl")])
def test_a_broken_first_line_fails_alone(tmp_path: Path, name: str, loader: str | None):
    (tmp_path / name).write_bytes(b'{"question": \n' + lines())
    bad, *good = read(tmp_path / name, loader=loader)
    assert bad.fault is not None
    assert shown(good) == TWO


def test_a_file_without_a_good_row_is_refused(tmp_path: Path):
    (tmp_path / "d.jsonl").write_bytes(b"{\n}{\n")
    with pytest.raises(InputError, match="line 1") as caught:
        read(tmp_path / "d.jsonl")
    assert caught.value.line == 1


def test_ratings_and_columns_keep_their_values(tmp_path: Path):
    for kind in ("semicolons and decimal commas", "Excel with numbers, dates and numbers as text"):
        name, write, options, _, _ = READ[kind]
        write(tmp_path / name)
        assert [sample.ratings["accuracy"] for sample in read(tmp_path / name, **options)] == [4.5, 3.0]
    assert [sample.meta["asked"] for sample in read(tmp_path / "d.xlsx")] == ["2024-03-01", "2024-03-02"]


def test_each_column_of_a_wide_file_is_a_system(tmp_path: Path):
    (tmp_path / "d.jsonl").write_bytes(lines([WIDE[0] | {"id": "q"}, WIDE[1] | {"id": "r", "b": None}]) + b"{\n")
    samples = read(tmp_path / "d.jsonl", columns={"response": "a,b"})
    assert [(sample.id, sample.system, sample.answered) for sample in samples[:4]] == [
        ("q/a", "a", True),
        ("q/b", "b", True),
        ("r/a", "a", True),
        ("r/b", "b", False),
    ]
    assert [(sample.system, sample.fault is None) for sample in samples[4:]] == [("a", False), ("b", False)]
    assert "a" not in samples[0].meta


def test_several_columns_for_the_reference(tmp_path: Path):
    (tmp_path / "d.jsonl").write_bytes(
        lines([{"question": "Why?", "response": "So.", "dr. a": "One.", "dr. b": "Two."}])
    )
    (sample,) = read(tmp_path / "d.jsonl", columns={"reference": "dr. a,dr. b"})
    assert sample.references == ("One.", "Two.")


def test_a_number_in_the_name_of_a_column_that_python_refuses(tmp_path: Path):
    name = "reference" + "9" * 5000
    (tmp_path / "d.jsonl").write_bytes(lines([row | {name: "So."} for row in ROWS]))
    assert [sample.meta for sample in read(tmp_path / "d.jsonl")] == [{name: "So."}] * 2


def test_a_sheet_that_is_not_there(tmp_path: Path):
    two_sheets(tmp_path / "d.xlsx")
    with pytest.raises(UsageError, match=r"'May'.*March, April"):
        read(tmp_path / "d.xlsx", sheet="May")


@pytest.mark.parametrize("encoding", ["latin-2000", "base64"])
def test_an_unknown_encoding(tmp_path: Path, encoding: str):
    (tmp_path / "d.csv").write_bytes(table())
    with pytest.raises(UsageError, match=encoding):
        read(tmp_path / "d.csv", encoding=encoding)


@pytest.mark.parametrize(
    "kind", ["CSV", "CSV in UTF-16, as Excel writes Unicode text", "JSON list", "JSON Lines, gzip", "Excel"]
)
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str):
    name, write, _, expected, _ = READ[kind]
    write(tmp_path / name)
    with subprocess.Popen(["cat", tmp_path / name], stdout=subprocess.PIPE, text=True) as cat:
        monkeypatch.setattr(sys, "stdin", cat.stdout)
        assert shown(read("-")) == expected


@pytest.mark.parametrize("write", [parquet(ROWS), arrow("file"), arrow("stream"), content(json.dumps(ROWS).encode())])
def test_any_format_packed(tmp_path: Path, write: Write):
    write(tmp_path / "d")
    (tmp_path / "d.gz").write_bytes(gzip.compress((tmp_path / "d").read_bytes()))
    assert shown(read(tmp_path / "d.gz")) == TWO


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs the pipes and devices of POSIX systems")


@POSIX
def test_a_named_pipe(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    os.mkfifo(path)
    # Starts after the reader, and takes a while for the second half.
    write = f"sleep 0.3; (cat '{tmp_path}/a'; sleep 0.3; cat '{tmp_path}/b') > '{path}'"
    first, second = lines().splitlines(keepends=True)
    (tmp_path / "a").write_bytes(first)
    (tmp_path / "b").write_bytes(second)
    with subprocess.Popen(["sh", "-c", write]):
        assert shown(read(path)) == TWO


@POSIX
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_process_substitution(tmp_path: Path):
    (tmp_path / "data").write_bytes(gzip.compress(lines()))
    script = "import sys; from imapeval.evaluation.samples import read; print(len(read(sys.argv[1])))"
    command = f"'{sys.executable}' -c '{script}' <(sleep 0.3; cat '{tmp_path}/data')"
    assert subprocess.check_output(["bash", "-c", command], text=True) == "2\n"


@POSIX
def test_a_pipe_that_nobody_writes_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("imapeval.evaluation.samples.files.text_lines._PATIENCE", 0.1)
    os.mkfifo(tmp_path / "data.jsonl")
    with pytest.raises(InputError, match=r"data\.jsonl"):
        read(tmp_path / "data.jsonl")


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="stdin"):
        read("-")


@POSIX
def test_devices_and_sockets(tmp_path: Path):
    with socket.socket(socket.AF_UNIX) as served:
        served.bind(str(tmp_path / "data.jsonl"))
        for path in ("/dev/zero", tmp_path / "data.jsonl"):
            with pytest.raises(InputError, match="a device or a socket"):
                read(path)


def test_some_questions_with_all_their_answers(tmp_path: Path):
    rows = [
        {"id": f"{n}{name}", "question": f"Why {n}?", "response": "So.", "system": name}
        for n in range(30)
        for name in "ab"
    ]
    (tmp_path / "d.jsonl").write_bytes(lines(rows))
    drawn = read(tmp_path / "d.jsonl", sample=7, seed=3)
    assert len(drawn) == 14
    assert all(first.question == second.question for first, second in zip(drawn[::2], drawn[1::2], strict=True))
    order = [sample.id for sample in read(tmp_path / "d.jsonl")]
    assert [sample.id for sample in drawn] == sorted((sample.id for sample in drawn), key=order.index)
    assert drawn == read(tmp_path / "d.jsonl", sample=7, seed=3)
    assert drawn != read(tmp_path / "d.jsonl", sample=7, seed=4)
    assert len(read(tmp_path / "d.jsonl", sample=100)) == 60


@pytest.mark.parametrize("bad", [b'{"question": \n', b'{"question": " ", "response": "So."}\n'])
def test_a_row_without_a_question_is_not_drawn(tmp_path: Path, bad: bytes):
    (tmp_path / "d.jsonl").write_bytes(lines(ROWS[1:]) + bad)
    for seed in range(5):
        (drawn,) = read(tmp_path / "d.jsonl", sample=1, seed=seed)
        assert (drawn.question, drawn.fault) == ("What helps?", None)


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl"])
def test_a_file_that_begins_with_many_empty_lines(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(b"\n" * 5000 + (table() if name == "d.csv" else lines()))
    assert shown(read(tmp_path / name)) == TWO
    for count in (100, 5000):
        (tmp_path / name).write_bytes(b"\n" * count)
        with pytest.raises(InputError) as caught:
            read(tmp_path / name)
        assert caught.value.path == tmp_path / name


def test_numbers_in_a_column_of_excel_with_a_usual_name(tmp_path: Path):
    path = tmp_path / "d.xlsx"
    sheet(["prompt", "prediction", "target"], ["How much?", "5 mg", 4], ["How many?", 5, None])(path)
    samples = read(path)
    assert [sample.response for sample in samples] == ["5 mg", "5"]
    # A column of numbers alone may be ratings.
    assert [(sample.references, sample.meta["target"]) for sample in samples] == [((), 4), ((), "")]


@pytest.mark.parametrize("raw", [b'{"question": "Why?"}\n\n{"question"}\n', b'{"question": "Why?",\n"response"\n}'])
def test_one_line_is_named_and_no_other(tmp_path: Path, raw: bytes):
    for name in ("d.json", "d.jsonl"):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(InputError) as caught:
            read(tmp_path / name, strict=True)
        assert caught.value.line
        assert str(caught.value).count(" line ") == 1
