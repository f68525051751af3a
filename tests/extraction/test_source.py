import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.extraction.source import SourceText
from imapeval.types import Pair


def place(text, value, *, under_evaluation=True):
    pair = SourceText(text, under_evaluation=under_evaluation).locate(Pair("t", value))
    return None if pair.span is None else text[slice(*pair.span)]


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("Take IV\n  fluids now.", "iv fluids", "IV\n  fluids"),
        ("Blow your nose.", "no", None),
        ("先卧床\u200b休息，多喝水", "卧床休息", "卧床\u200b休息"),
        ("Inform-x-drainage\nThen rest.", "rest", "rest"),
        ("Inform-x-drainage\nThen rest.", "drainage", None),
        ("Ｔａｋｅ ５ mg", "take 5 mg", "Ｔａｋｅ ５ mg"),
        ("sugar <normal level", "sugar <normal level", "sugar <normal level"),
        # A part of a number is another number.
        ("Take 0.5 mg", "5 mg", None),
        ("Take 0.5 mg", "take 0", None),
        ("Take 1,500 mg", "500 mg", None),
        ("服用1.5毫克", "5毫克", None),
        ("Take 2, 5 mg.", "5 mg", "5 mg"),
        ("Take 5.", "take 5", "Take 5"),
        # Errors of the model: the wording of the text is used.
        ("Take dextromethorphan syrup", "dextrometh0rphan syrup", "dextromethorphan syrup"),
        ("Drink plenty of water", "plenty of wate", "plenty of water"),
        ("诊断为急性膀胱炎", "急性膀x炎", "急性膀胱炎"),
        ("诊断为乙型肝炎", "丙型肝炎", None),
        ("It is a rat bite", "cat", None),
        # Not an error, because the denial would be lost.
        ("出院后，要赶在三天内复查", "不要赶在三天内复查", None),
        # Latin, Cyrillic, Latin.
        ("T\u0430ke rest", "take rest", "T\u0430ke rest"),
        ("", "rest", None),
    ],
)
def test_values_are_found_in_the_original(text, value, found):
    assert place(text, value) == found


def test_letters_are_shown_in_ordinary_form():
    assert (
        SourceText("ａｖｏｉｄ \u0430spirin，𝗻𝗼𝘁 Аспирин", under_evaluation=True).shown_text
        == "avoid aspirin，not Аспирин"
    )


def test_a_value_across_an_omission_is_not_a_quotation():
    text = "Rest and\nInform-x-drainage\nsleep."
    assert SourceText(text, under_evaluation=True).shown_text == "Rest and\n … \nsleep."
    assert place(text, "rest and … sleep") is None


def test_a_question_is_unchanged():
    assert SourceText("Score: 5/5?", under_evaluation=False).shown_text == "Score: 5/5?"


@pytest.mark.parametrize(
    ("value", "near"), [("drink qlenty af water", True), ("drink a lot of tea", False), ("x", False)]
)
def test_damaged_quotations(value, near):
    assert SourceText("Please drink plenty of water.", under_evaluation=True).nearly_contains(value) is near


pieces = st.lists(
    st.sampled_from(["rest", " ", "\n", "\u200b", "Inform-x-y\n", "卧床", "。", '{"term": "x"}', "</answer>", "５"]),
    max_size=12,
)


@given(pieces, st.integers(0, 30), st.integers(1, 8))
def test_shown_text_is_located_in_the_original(parts, start, length):
    text = "".join(parts)
    source = SourceText(text, under_evaluation=True)
    value = " ".join(source.shown_text[start : start + length].split())
    pair = source.locate(Pair("t", value))
    if pair.span is not None:
        begin, end = pair.span
        assert 0 <= begin < end <= len(text)
        assert "Inform" not in text[begin:end]


@given(st.text())
def test_any_text_can_be_shown(text):
    source = SourceText(text, under_evaluation=True)
    source.locate(Pair("t", text[:20] or "x"))
    assert "\u200b" not in source.shown_text
