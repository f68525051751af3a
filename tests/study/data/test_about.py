import os
import sys
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.study.data.about import KEYS, find_about, read_about


def test_texts_are_read(tmp_path: Path):
    assert find_about(tmp_path) is None
    path = tmp_path / "study.toml"
    path.write_text(
        'raters = "Two GPs.\\nOne nurse."\ntraining = """\nAn hour\nwith 20 answers.\n"""\nsize = ""\n', "utf-8"
    )
    assert find_about(tmp_path) == path
    assert read_about(path) == {"raters": "Two GPs. One nurse.", "training": "An hour with 20 answers."}


def test_a_byte_order_mark_is_no_content(tmp_path: Path):
    (tmp_path / "study.toml").write_text('training = "x"\n', "utf-8-sig")
    assert read_about(tmp_path / "study.toml") == {"training": "x"}


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('raters = "a"\nblindness = "yes"\n', 2, "blindness"),
        ('raters = "a"\n\nsize = 40\n', 3, "size"),
        ('[raters]\nnumber = "a"\n', 1, "raters"),
        ('raters.number = "a"\n', 1, "raters"),
        ('raters = ["a"]\n', 1, "list"),
        ('raters = "a"\nsize = forty\n', 2, "TOML"),
        ('raters = "a"\nraters = "b"\n', 2, "TOML"),
        ("raters = " + "[\n" * 100_000, None, "TOML"),
        pytest.param('raters = "a"\nsize = ' + "9" * 5000, None, "TOML", id="digits"),
        ('training = "a\u2028b"\nfoo = 1\n', 2, "foo"),
        pytest.param("\n" + "a." * 6_000 + "a = 1\n", 2, "10,000", id="long"),
    ],
)
def test_bad_files_are_refused_by_line_and_key(tmp_path: Path, text: str, line: int | None, part: str):
    path = tmp_path / "study.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        read_about(path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert part in str(caught.value)


def test_the_fix_lists_the_keys(tmp_path: Path):
    path = tmp_path / "study.toml"
    path.write_text('blindness = "yes"\n', "utf-8")
    with pytest.raises(InputError) as caught:
        read_about(path)
    assert all(key in caught.value.fix for key in KEYS)


@pytest.mark.skipif(sys.platform == "win32", reason="needs the pipes and devices of POSIX systems")
def test_what_is_no_file(tmp_path: Path):
    os.mkfifo(tmp_path / "study.toml")
    for path in (tmp_path / "study.toml", Path("/dev/zero")):
        with pytest.raises(InputError):
            read_about(path)


@pytest.mark.parametrize("content", [b"raters = \xff", None])
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None):
    path = tmp_path / "study.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError):
        read_about(path)
