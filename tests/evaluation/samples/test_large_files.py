"""Nothing is read that is not wanted, and what is read takes time and memory in proportion to it."""

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from openpyxl import Workbook
from openpyxl.worksheet.cell_range import CellRange

from imapeval.errors import InputError
from imapeval.evaluation.samples import excel, read, text_lines

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
        file.writelines(json.dumps(dict.fromkeys(COLUMNS, f"row {n}")) + "\n" for n in range(rows))
    return path


def write_csv(path: Path, rows: int) -> Path:
    with path.open("w") as file:
        file.write(",".join(COLUMNS) + "\n")
        file.writelines(f"{n},row {n},what row {n} says\n" for n in range(rows))
    return path


def measure(path: Path) -> int:
    """Return the most memory, in bytes, of a process that reads the first five samples."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc: ru_maxrss counts what the parent had, too")
    script = """
import re, sys
from imapeval.evaluation.samples import read
assert len(read(sys.argv[1], limit=5)) == 5
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 20])
def test_a_limit_of_a_parquet_file_of_millions_of_rows(tmp_path: Path, groups: int):
    small = write_parquet(tmp_path / "small.parquet", 4_000, groups=groups)
    large = write_parquet(tmp_path / "large.parquet", 4_000_000, groups=groups)
    assert large.stat().st_size > 30 << 20
    assert measure(large) < measure(small) + (15 << 20)


@pytest.mark.parametrize(("name", "write"), [("d.jsonl", write_jsonl), ("d.csv", write_csv)])
def test_a_limit_of_a_text_file(tmp_path: Path, name: str, write: Callable[[Path, int], Path]):
    small = measure(write(tmp_path / name, 100))
    large = write(tmp_path / name, 300_000)
    assert large.stat().st_size > 10 << 20
    assert measure(large) < small + (5 << 20)


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


@pytest.mark.parametrize("at", range(0, 600, 7))
def test_a_damaged_parquet_file(tmp_path: Path, at: int):
    path = write_parquet(tmp_path / "d.parquet", 20, groups=2)
    raw = bytearray(path.read_bytes())
    raw[at * len(raw) // 600] ^= 0xFF
    path.write_bytes(raw)
    try:
        assert len(read(path)) == 20
    except InputError as error:
        assert error.path == path  # noqa: PT017  # damage in a text goes unseen


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, packed: bool):
    monkeypatch.setattr(text_lines, "MAX_LINE", 2**20)
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


@pytest.mark.parametrize(
    ("area", "limits"), [("E2:XFD1048576", {}), ("A3:C9", {"MAX_MERGED": 20}), ("A3:C3", {"MAX_UNPACKED": 2000})]
)
def test_an_excel_file_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, area: str, limits: dict[str, int]
):
    book = Workbook()
    book.active.append(COLUMNS)
    book.active.append(["q", "r", "a"])
    # openpyxl itself would make all of these cells.
    book.active.merged_cells.ranges.add(CellRange("A3:C9"))
    book.save(tmp_path / "small.xlsx")
    path = tmp_path / "d.xlsx"
    with ZipFile(tmp_path / "small.xlsx") as old, ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"A3:C9", area.encode()))
    assert len(read(tmp_path / "small.xlsx")) == 1
    for name, value in limits.items():
        monkeypatch.setattr(excel, name, value)
    with pytest.raises(InputError) as caught:
        read(path, limit=5)
    assert caught.value.path == path
