"""Nothing is read that is not wanted, and what is read takes time and memory in proportion to it."""

import csv
import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from openpyxl import Workbook

from imapeval.errors import InputError
from imapeval.evaluation.samples import read
from imapeval.evaluation.samples.files import delimited, excel, excel_parts, json_files, parquet, text_lines
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import Row, UnusableCell

COLUMNS = ("question", "reference", "response")


def write_parquet(path: Path, rows: int, *, groups: int) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    numbers = pyarrow.array(range(rows)).cast(pyarrow.string())
    table = pyarrow.table(dict.fromkeys(COLUMNS, numbers))
    pytest.importorskip("pyarrow.parquet").write_table(
        table, path, row_group_size=rows // groups, use_dictionary=False, compression="none"
    )
    return path


def write_jsonl(path: Path, rows: int) -> Path:
    with path.open("w") as file:
        # Not with json, which takes a second for the largest file.
        file.writelines(
            f'{{"question": "row {n}", "reference": "row {n}", "response": "row {n}"}}\n' for n in range(rows)
        )
    return path


def write_csv(path: Path, rows: int) -> Path:
    with path.open("w") as file:
        file.write(",".join(COLUMNS) + "\n")
        file.writelines(f"{n},row {n},what row {n} says\n" for n in range(rows))
    return path


def measure(small: Path, large: Path) -> tuple[int, int]:
    """Return the most memory, in bytes, of a process that reads the first five samples of one file, then of another."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc: ru_maxrss counts what the parent had, too")
    script = """
import re, sys
from imapeval.evaluation.samples import read
for path in sys.argv[1:]:
    assert len(read(path, limit=5)) == 5
    print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""
    command = [sys.executable, "-c", script, str(small), str(large)]
    first, second = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(first) * 1024, int(second) * 1024


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 20])
def test_a_limit_of_a_parquet_file_of_millions_of_rows(tmp_path: Path, groups: int):
    small = write_parquet(tmp_path / "small.parquet", 4_000, groups=groups)
    large = write_parquet(tmp_path / "large.parquet", 4_000_000, groups=groups)
    assert large.stat().st_size > 30 << 20
    less, more = measure(small, large)
    assert more < less + (15 << 20)


@pytest.mark.parametrize(("name", "write"), [("d.jsonl", write_jsonl), ("d.csv", write_csv)])
def test_a_limit_of_a_text_file(tmp_path: Path, name: str, write: Callable[[Path, int], Path]):
    small = write(tmp_path / f"small_{name}", 100)
    large = write(tmp_path / name, 300_000)
    assert large.stat().st_size > 10 << 20
    less, more = measure(small, large)
    assert more < less + (5 << 20)


def test_a_limit_larger_than_any_file(tmp_path: Path):
    assert len(read(write_jsonl(tmp_path / "d.jsonl", 3), limit=10**30)) == 3


def test_what_comes_after_the_limit_is_not_read(tmp_path: Path):
    path = write_jsonl(tmp_path / "d.jsonl", 3)
    with path.open("ab") as file:
        file.write(b"\xff no JSON\n")
    assert [sample.response for sample in read(path, limit=2)] == ["row 0", "row 1"]
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.line == 4


def test_a_header_of_very_many_columns(tmp_path: Path):
    taken: list[float] = []
    for count in (10_000, 20_000, 40_000):
        names = [*COLUMNS, *(f"column {n}" for n in range(count))]
        path = tmp_path / "d.csv"
        path.write_text(f"{','.join(names)}\n{','.join(names)}\n")
        start = time.process_time()
        (sample,) = read(path)
        taken.append(time.process_time() - start)
        assert len(sample.meta) == count
    # Fourfold columns: with a comparison of each column with each it would take sixteen times as long.
    assert taken[2] < 8 * taken[0] + 0.1


def test_a_message_names_some_columns_of_very_many(tmp_path: Path):
    path = tmp_path / "d.csv"
    names = ",".join(f"column {n}" for n in range(40_000))
    path.write_text(f"{names}\n{names}\n")
    with pytest.raises(InputError, match="39,950 more") as caught:
        read(path)
    assert len(str(caught.value)) < 2_000


def test_a_file_that_can_be_read_once_only(tmp_path: Path):
    path = write_csv(tmp_path / "d.csv", 3)
    script = "import sys; from imapeval.evaluation.samples import read; print(len(read('/dev/stdin', loader='csv')))"
    with path.open("rb") as file:
        cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        done = subprocess.run([sys.executable, "-c", script], stdin=cat.stdout, capture_output=True, text=True)
        assert cat.stdout is not None
        cat.stdout.close()
        cat.wait()
    assert done.stdout == "3\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_end_of_a_line_of_csv(tmp_path: Path, end: str):
    path = tmp_path / "d.csv"
    path.write_bytes(end.join(["question,reference,response", 'Why?,"two\rlines",So.', "What?,b,c", ""]).encode())
    assert [sample.references for sample in read(path)] == [("two\rlines",), ("b",)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, packed: bool):
    monkeypatch.setattr(text_lines, "MAX_ROW", 2**20)
    row = json.dumps(dict.fromkeys(COLUMNS, "问"), ensure_ascii=False)
    content = f"{row}\n{' ' * 2**21}{row}\n".encode(encoding)
    path = tmp_path / ("d.jsonl.gz" if packed else "d.jsonl")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_long_lines_of_other_encodings_are_read(tmp_path: Path):
    path = tmp_path / "d.jsonl"
    answer = "答" * 3_000_000
    row = {"question": "问", "reference": "答", "response": answer}
    path.write_bytes(f"{json.dumps(row, ensure_ascii=False)}\n".encode("utf-16"))
    (sample,) = read(path)
    assert sample.response == answer


def write_excel(path: Path, rows: int) -> Path:
    """Write a file as Excel does, with the texts apart, and the cells A2 and A3 merged."""
    numbers = range(1, rows + 2)
    cells = "".join(
        f'<row r="{n}">'
        + "".join(f'<c r="{column}{n}" t="s"><v>{3 * (n - 1) + place}</v></c>' for place, column in enumerate("ABC"))
        + "</row>"
        for n in numbers
    )
    merged = '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>'
    texts = [*COLUMNS, *(f"row {n} {column}" for n in numbers[:-1] for column in COLUMNS)]
    parts = {
        "xl/worksheets/sheet1.xml": f"<worksheet {SHEET}><sheetData>{cells}</sheetData>{merged}</worksheet>",
        "xl/sharedStrings.xml": f"<sst {SHEET}>{''.join(f'<si><t>{text}</t></si>' for text in texts)}</sst>",
        "[Content_Types].xml": (
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            f'<Override PartName="/xl/workbook.xml" ContentType="{CONTENT}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{CONTENT}.styles+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{CONTENT}.worksheet+xml"/>'
            f'<Override PartName="/xl/sharedStrings.xml" ContentType="{CONTENT}.sharedStrings+xml"/></Types>'
        ),
    }
    return rewrite(path, parts)


SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
CONTENT = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def rewrite(path: Path, parts: dict[str, str | bytes]) -> Path:
    """Write an Excel file of two rows with some of its parts replaced."""
    book = Workbook()
    book.active.append(COLUMNS)
    book.active.append(["q", "r", "a"])
    with BytesIO() as plain:
        book.save(plain)
        with ZipFile(plain) as old, ZipFile(path, "w", ZIP_DEFLATED) as new:
            for name in {*old.namelist(), *parts}:
                new.writestr(name, parts[name] if name in parts else old.read(name))
    return path


def write_sheet(path: Path, behind: str, *, first: str = "", cell: str = "", encoding: str = "utf-8") -> Path:
    """Write an Excel file of two rows, with XML before the sheet and behind its rows, and a further cell."""
    rows = "".join(
        f'<row r="{n}">{"".join(f"""<c t="str"><v>{text}</v></c>""" for text in texts)}{cell * (n == 2)}</row>'
        for n, texts in enumerate((COLUMNS, ("q", "r", "a"), ("", "s", "b")), 1)
    )
    sheet = f"{first}<worksheet {SHEET} xmlns:x={SHEET[6:]}><sheetData>{rows}</sheetData>{behind}</worksheet>"
    return rewrite(path, {"xl/worksheets/sheet1.xml": sheet.encode(encoding)})


@pytest.mark.slow
def test_a_limit_of_an_excel_file(tmp_path: Path):
    small = write_excel(tmp_path / "small.xlsx", 100)
    large = write_excel(tmp_path / "d.xlsx", 100_000)
    with ZipFile(large) as archive:
        assert sum(member.file_size for member in archive.infolist()) > 20 << 20
    less, more = measure(small, large)
    assert more < less + (5 << 20)


@pytest.mark.parametrize("packed", [False, True])
def test_the_texts_of_an_excel_file_stand_apart(tmp_path: Path, packed: bool):
    path = write_excel(tmp_path / "d.xlsx", 250)
    if packed:
        path = tmp_path / "d.xlsx.gz"
        path.write_bytes(gzip.compress((tmp_path / "d.xlsx").read_bytes()))
    samples = read(path)
    assert len(samples) == 250
    assert [sample.question for sample in samples[:3]] == ["row 1 question", "row 1 question", "row 3 question"]
    assert samples[249].response == "row 250 response"


MERGED = '<mergeCells><mergeCell ref="A2:A3"/></mergeCells>'


@pytest.mark.parametrize(
    ("behind", "encoding"),
    [
        (MERGED, "utf-8"),
        (MERGED, "utf-16"),
        (MERGED.replace('"', "'").replace(" ", "\n\t"), "utf-8"),
        (MERGED.replace("mergeCell", "x:mergeCell"), "utf-8"),
        (MERGED.replace("ref", f"{' ' * 200_000}ref"), "utf-8"),
        (MERGED.replace("A2:A3", "&#65;2:$A$3"), "utf-8"),
    ],
)
def test_merged_cells_are_found_however_they_are_written(tmp_path: Path, behind: str, encoding: str):
    path = write_sheet(tmp_path / "d.xlsx", behind, encoding=encoding)
    assert [sample.question for sample in read(path)] == ["q", "q"]


@pytest.mark.parametrize("before", range(0, 24, 2))
def test_merged_cells_are_found_where_one_chunk_ends_and_another_begins(tmp_path: Path, before: int):
    path = write_sheet(tmp_path / "d.xlsx", "")
    with ZipFile(path) as archive:
        begin = archive.read("xl/worksheets/sheet1.xml").index(b"</worksheet>")
    comment = f"<!--{'x' * ((1 << 16) - before - begin - len('<!---->'))}-->"
    # Without the element around it, whose name would be found instead.
    write_sheet(path, f'{comment}<mergeCell ref="A2:A3"/>')
    assert [sample.question for sample in read(path)] == ["q", "q"]


@pytest.mark.parametrize("formula", ["<f>1+1</f>", "<f/>", "<f\n>1</f>", '<f t="shared" si="0">1</f>', "<x:f>1</x:f>"])
def test_formulas_without_a_value_are_found_however_they_are_written(tmp_path: Path, formula: str):
    path = write_sheet(tmp_path / "d.xlsx", MERGED, cell=f'<c r="C2">{formula}</c>')
    assert [sample.fault is None for sample in read(path)] == [False, True]


def test_a_merged_formula_without_a_value_counts_for_each_row(tmp_path: Path):
    path = write_sheet(tmp_path / "d.xlsx", MERGED.replace("A2:A3", "C2:C3"), cell='<c r="C2"><f>1+1</f></c>')
    rows = list(read_file(str(path)))
    problems = [cell.problem for row in rows for cell in row.fields.values() if isinstance(cell, UnusableCell)]
    assert len(rows) == len(problems) == 2
    assert all("C2" in problem for problem in problems)


def test_a_formula_behind_a_merged_cell_does_not_count(tmp_path: Path):
    path = write_sheet(tmp_path / "d.xlsx", MERGED.replace("A2:A3", "A2:C2"), cell='<c r="C2"><f>1+1</f></c>')
    rows = list(read_file(str(path)))
    assert rows[0].fields["response"] == ""


@pytest.mark.parametrize(
    ("behind", "first"),
    [
        (
            "&m;",
            "<!DOCTYPE a [<!ENTITY m '&#60;merge&#67;ells>&#60;merge&#67;ell ref=\"A2:A3\"/>&#60;/merge&#67;ells>'>]>",
        ),
        ("", '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'),
        ("<mergeCells><mergeCell/></mergeCells>", ""),
        (MERGED.replace("A3", "A"), ""),
        ("<mergeCells>", ""),
    ],
)
def test_a_sheet_that_no_program_writes_is_refused(tmp_path: Path, behind: str, first: str):
    path = write_sheet(tmp_path / "d.xlsx", behind, first=first)
    with pytest.raises(InputError) as caught:
        read(path, limit=1)
    assert caught.value.path == path


def test_a_text_that_is_not_there(tmp_path: Path):
    path = write_sheet(tmp_path / "d.xlsx", "", cell='<c t="s"><v>7</v></c>')
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.path == path


def test_rows_that_are_left_out_cost_nothing(tmp_path: Path):
    path = write_sheet(tmp_path / "d.xlsx", MERGED)
    with ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").replace(b'<row r="3">', b'<row r="1000000000000">')
    rewrite(path, {"xl/worksheets/sheet1.xml": sheet})
    start = time.process_time()
    assert read(path)[0].question == "q"
    assert time.process_time() - start < 2


@pytest.fixture(
    scope="module",
    params=[("d.parquet", partial(write_parquet, groups=2)), ("d.xlsx", write_excel)],
    ids=["parquet", "xlsx"],
)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    name, write = request.param
    return write(tmp_path_factory.mktemp("whole") / name, 20)


@pytest.mark.parametrize("at", range(0, 600, 7))
def test_a_damaged_file(tmp_path: Path, whole: Path, at: int):
    path = tmp_path / whole.name
    raw = bytearray(whole.read_bytes())
    raw[at * len(raw) // 600] ^= 0xFF
    path.write_bytes(raw)
    try:
        assert len(read(path)) == 20
    except InputError as error:
        assert error.path == path  # noqa: PT017  # damage in a text, or in what is not read, goes unseen


@pytest.mark.parametrize(
    ("place", "by"),
    [(6, 235), (8, 1), (8, 1 << 5), (8, 1 << 6), (10, 99), (10, 14)],
    ids=["version", "password", "patched", "strong encryption", "unknown method", "LZMA"],
)
def test_an_archive_that_is_not_of_excel(tmp_path: Path, place: int, by: int):
    """The fields of a file header in the directory of a ZIP file (APPNOTE.TXT 6.3.10, section 4.3.12)."""
    path = rewrite(tmp_path / "d.xlsx", {})
    raw = bytearray(path.read_bytes())
    at = raw.find(b"PK\1\2")
    while at >= 0:
        raw[at + place] = by
        at = raw.find(b"PK\1\2", at + 1)
    path.write_bytes(raw)
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("area", "limits"), [("E2:XFD1048576", {}), ("A3:C9", {"MAX_MERGED": 20}), ("A3:C3", {"MAX_UNPACKED": 2000})]
)
def test_an_excel_file_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, area: str, limits: dict[str, int]
):
    path = write_sheet(tmp_path / "d.xlsx", MERGED.replace("A2:A3", area))
    for name, value in limits.items():
        monkeypatch.setattr(excel, name, value)
    with pytest.raises(InputError) as caught:
        read(path, limit=5)
    assert caught.value.path == path
    assert "as CSV" in str(caught.value)


def write_list(path: Path, rows: int) -> Path:
    with path.open("w") as file:
        file.write("[")
        file.writelines(f"{',' if n else ''}{json.dumps(dict.fromkeys(COLUMNS, f'row {n}'))}" for n in range(rows))
        file.write("]")
    return path


def write_arrow(path: Path, rows: int) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    numbers = pyarrow.array(range(rows)).cast(pyarrow.string())
    table = pyarrow.table(dict.fromkeys(COLUMNS, numbers))
    with pytest.importorskip("pyarrow.ipc").new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=rows)
    return path


def write_images(path: Path, rows: int) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    texts = pyarrow.array([str(n) for n in range(rows)])
    images = pyarrow.array([bytes([n % 256]) * 2**20 for n in range(rows)])
    pytest.importorskip("pyarrow.parquet").write_table(
        pyarrow.table({**dict.fromkeys(COLUMNS, texts), "image": images}),
        path,
        use_dictionary=False,
        compression="none",
    )
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write", "rows"),
    [("d.json", write_list, 300_000), ("d.arrow", write_arrow, 1_000_000), ("d.parquet", write_images, 300)],
)
def test_a_limit_of_other_formats(tmp_path: Path, name: str, write: Callable[[Path, int], Path], rows: int):
    less, more = measure(write(tmp_path / f"small_{name}", 30), write(tmp_path / name, rows))
    assert more < less + (30 << 20)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs the pipes of POSIX systems")
@pytest.mark.parametrize("named", [False, True])
def test_a_limit_of_a_pipe_without_end(tmp_path: Path, named: bool):
    command = "echo question,reference,response; exec yes q,r,a"
    script = "import sys; from imapeval.evaluation.samples import read; print(len(read(sys.argv[1], limit=5)))"
    path = "-"
    if named:
        path = str(tmp_path / "pipe")
        subprocess.run(["mkfifo", path], check=True)
    with subprocess.Popen(
        ["sh", "-c", f"exec > {path}; {command}" if named else command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as endless:
        try:
            done = subprocess.run(
                [sys.executable, "-c", script, path], stdin=endless.stdout, capture_output=True, text=True, timeout=30
            )
        finally:
            endless.kill()
    assert done.stdout == "5\n"


def parquet_of(path: Path, text: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({name: [text] for name in COLUMNS}), path)


TOO_LONG: dict[str, Callable[[Path], object]] = {
    "d.csv": lambda path: path.write_text(f"{','.join(COLUMNS)}\nq,r,{'x' * 3000}\n"),
    "quoted.csv": lambda path: path.write_text(f'{",".join(COLUMNS)}\nq,r,"' + "x,\n" * 3000),
    "fields.csv": lambda path: path.write_text(f'{",".join(COLUMNS)}\nq,r,"x"' + ',"\n"' * 3000),
    "commas.tsv": lambda path: path.write_text("\t".join(COLUMNS) + "\t" * 3000),
    "d.json": lambda path: path.write_text('[\n{"question":\n"' + "x" * 3000 + '"}]'),
    "nested.json": lambda path: path.write_text(f"[\n[{'[],' * 3000}"),
    "object.json": lambda path: path.write_text('{"data": [\n' + "{},\n" * 3000),
    "d.parquet": lambda path: parquet_of(path, "x" * 3000),
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_row_of_any_length_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    for module in (text_lines, delimited, json_files, parquet):
        monkeypatch.setattr(module, "MAX_ROW", 2000)
    monkeypatch.setattr(json_files, "_MAX_OBJECT", 2000)
    monkeypatch.setattr(json_files, "_CHUNK", 100)
    TOO_LONG[name](tmp_path / name)
    with pytest.raises(InputError) as caught:
        read(tmp_path / name, limit=1)
    assert (caught.value.path, "2,000 characters" in str(caught.value)) == (tmp_path / name, True)


def test_two_files_with_long_fields_can_be_read_at_the_same_time(tmp_path: Path):
    before = csv.field_size_limit(131_072)  # Python's own
    try:
        readers = [read_rows(tmp_path / name) for name in ("a.csv", "b.csv")]
        for reader in readers:
            next(reader)
        assert [len(list(reader)) for reader in readers] == [1, 1]
    finally:
        csv.field_size_limit(before)


def read_rows(path: Path) -> Iterator[Row]:
    path.write_text("question,response\nWhy?,So.\nWhy?," + "x" * 200_000)
    return read_file(str(path))


def test_a_quotation_mark_that_is_not_closed_in_long_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for module in (text_lines, delimited):
        monkeypatch.setattr(module, "MAX_ROW", 2000)
    before = csv.field_size_limit(2000)
    try:
        (tmp_path / "d.csv").write_text('question,response\nWhy?,"So.\n' + f"Why?,{'x' * 900}\n" * 5)
        with pytest.raises(InputError) as caught:
            read(tmp_path / "d.csv")
    finally:
        csv.field_size_limit(before)
    assert (caught.value.path, caught.value.line) == (tmp_path / "d.csv", 2)


@pytest.mark.parametrize("row", ["\n", ",,\n", "\r"])
def test_empty_rows_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str):
    monkeypatch.setattr(delimited, "_MAX_EMPTY", 100)
    path = tmp_path / "d.csv"
    path.write_text(f"{','.join(COLUMNS)}\n{row * 100}q,r,a\n{row * 100}q,r,a\n", newline="")
    assert len(read(path)) == 2
    path.write_text(f"{','.join(COLUMNS)}\n{row * 101}q,r,a\n", newline="")
    with pytest.raises(InputError) as caught:
        read(path, limit=1)
    assert (caught.value.path, caught.value.line) == (path, 102)


@pytest.mark.parametrize("chunk", [1, 7, 64])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_is_read_in_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chunk: int, indent: int | None):
    monkeypatch.setattr(json_files, "_CHUNK", chunk)
    extra = {"meta": [1, -2.5e-7, True, None, float("inf"), ']},[\\"😀\x7f'], "empty": [{}, []]}
    rows = [{**dict.fromkeys(COLUMNS, f"{n}" * (n * 40 + 1)), **extra} for n in range(4)]
    path = tmp_path / "d.json"
    path.write_text(f" \n{json.dumps(rows, indent=indent)}\n ")
    assert [sample.meta for sample in read(path)] == [extra] * 4


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[\n{"question": "q"},\n{"a": tru}]', 3),
        ('[\n{"question": "q"}\n{"a": 1}]', 3),
        ('[{"question": "q"}]\n\n[]', 3),
        (f'[\n{{"question": "q"}},\n{"[" * 100_000}', 3),
        ('[\n{"question": "q"},', 2),
        ('[\n{"question": "q\n"}]', 2),
    ],
)
def test_where_a_list_is_damaged(tmp_path: Path, text: str, line: int):
    path = tmp_path / "d.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert (caught.value.path, caught.value.line) == (path, line)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_damaged_arrow_file_does_not_end_the_process(tmp_path: Path, kind: str):
    path = write_arrow(tmp_path / "d.arrow", 40)
    ipc = pytest.importorskip("pyarrow.ipc")
    if kind == "stream":
        table = ipc.open_file(path.read_bytes()).read_all()
        with ipc.new_stream(path, table.schema) as file:
            file.write_table(table)
    script = """
import sys
from pathlib import Path
from imapeval.errors import InputError
from imapeval.evaluation.samples import read
path = Path(sys.argv[1])
raw = path.read_bytes()
for at in range(0, len(raw), 3):
    path.write_bytes(raw[:at] + b"\\x7f" + raw[at + 1 :])
    try:
        read(path)
    except InputError:
        pass
"""
    assert subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("xl/styles.xml", "<styleSheet {}><cellXfs>" + "<xf/>" * 9000 + "</cellXfs></styleSheet>"),
        (
            "xl/worksheets/sheet1.xml",
            "<worksheet {}><sheetData><row>" + "<c/>" * 9000 + "</row></sheetData></worksheet>",
        ),
        ("xl/worksheets/sheet1.xml", "<worksheet {}><sheetData>" + "<a/>" * 9000 + "</sheetData></worksheet>"),
        ("xl/worksheets/sheet1.xml", "<worksheet {}><sheetData>" + "<row/>" * 900 + "</sheetData></worksheet>"),
        ("xl/worksheets/sheet1.xml", "<worksheet {}><sheetData><row>" + "<c>" * 900),
        ("xl/styles.xml", "<styleSheet {}>" + "<a>" * 900 + "</a>" * 900 + "</styleSheet>"),
    ],
)
def test_xml_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, content: str
):
    monkeypatch.setattr(excel_parts, "MAX_XML", 20_000)
    monkeypatch.setattr(excel, "MAX_ROWS", 500)
    path = rewrite(tmp_path / "d.xlsx", {part: content.format(SHEET)})
    with pytest.raises(InputError) as caught:
        read(path, limit=5)
    assert (caught.value.path, "table as CSV" in str(caught.value)) == (path, True)
