import csv
import io
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.evaluation.runs.safe_csv import dump_csv, show_text

UNSEEN = ["\n", " ", "\r\n", "\t", "\u3000", "\u00a0", "\u200b", "\ufeff", "\u202e", "\u00ad", "\ufe0f", "\u3164", "\0"]
QUOTES = ['"', "'", "“", "「", "‘", "`", "＂", "«", "„"]


def read(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


@given(
    st.lists(st.sampled_from(UNSEEN + QUOTES), max_size=4).map("".join),
    st.sampled_from("=+-@＝＋－＠﹦﹢﹣﹫"),
    st.text(st.characters(exclude_categories=["Cs"])),
)
def test_what_begins_like_a_formula_is_a_text(before: str, sign: str, after: str):
    text = f"{before}{sign}x{after}"
    (heads, (cell,)) = read(dump_csv(["head"], [[text]]))
    assert heads == ["head"]
    assert cell == f"'{show_text(text)}"


@pytest.mark.parametrize(
    "text", ["\tx", "\rx", "=", "-", "+1", "-5", "-1x", "@sum(a1)", "-1\n", "−=1\t"[1:], "=cmd|' /C calc'!A0"]
)
def test_single_cells(text: str):
    assert read(dump_csv([text], []))[0] == [f"'{show_text(text)}"]


@pytest.mark.parametrize("text", ["", "a=b", "a-1", "'s", "“So.”", "\nline", " x", "*", "中-1", "…", "1=1"])
def test_other_texts_are_as_they_are(text: str):
    assert read(dump_csv(["x"], [[text, 1]]))[1] == [text, "1"]


@given(st.lists(st.one_of(st.floats(allow_nan=False), st.integers())))
def test_numbers_stay_numbers(numbers: list[float]):
    assert [*map(float, read(dump_csv(["x"], [[*numbers, 0]]))[1])] == [*map(float, numbers), 0]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_cell_begins_like_a_formula(text: str):
    (cell,) = read(dump_csv([text], []))[0] or [""]
    assert cell in (show_text(text), f"'{show_text(text)}")
    assert not any(category(character) == "Cc" and character not in "\n\t" for character in cell)
    seen = cell.strip("".join(character for character in cell if category(character)[0] in "CZM"))
    assert not seen.startswith(tuple("=@＝＠"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x9b31m\x07\x00", r"\u001b[2J\u009b31m\u0007\u0000"),
        ("safe\u202egnp.exe\u2069", r"safe\u202egnp.exe\u2069"),
        ("Rest.\r\nDrink.\rSleep.\n\tEat.", "Rest.\nDrink.\nSleep.\n\tEat."),
        ("👩\u200d⚕️ می\u200cخواهم e\u0301", "👩\u200d⚕️ می\u200cخواهم e\u0301"),
    ],
)
def test_a_terminal_obeys_no_cell(text: str, shown: str):
    assert read(dump_csv([text], [[f"-{text}"]])) == [[shown], [f"'-{shown}"]]


def test_half_a_character_and_nothing():
    assert dump_csv(["a", None], [["\ud83d", None]]) == b"a,\r\n?,\r\n"
