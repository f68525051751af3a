"""Phrases compared without words that only state that something is so."""

import pytest

from imapeval.text.comparison import WordingVerdict, compare_wordings
from imapeval.text.gist import find_gist


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("diabetes confirmed", {"diabet"}),
        ("runs in families", set()),
        ("a stable fracture of the collarbone", {"fractur", "clavicl"}),
        ("目前已明显好转", set()),
        ("肾结石", {"肾", "结", "石"}),
    ],
)
def test_only_words_that_say_what_it_is_about_are_kept(value, words):
    assert find_gist(value).words == words


@pytest.mark.parametrize(
    ("reference", "response", "verdict"),
    [
        ("diabetes confirmed", "diabetes ruled out", WordingVerdict.OPPOSITE),
        ("the rash is not contagious", "the rash spreads easily to others", WordingVerdict.OPPOSITE),
        ("keep the wound dry", "soak the wound every day", WordingVerdict.OTHER_SIDE),
        ("treat for two weeks", "a 14-day course of treatment", WordingVerdict.SAME),
        ("a five-day course", "take it for ten days", WordingVerdict.OTHER_AMOUNT),
        ("cannot be passed to other people", "non-contagious", WordingVerdict.SAME),
        ("contraindicated in pregnancy", "must not be used by pregnant women", WordingVerdict.SAME),
        ("伤口不要沾水", "保持伤口干燥", WordingVerdict.SAME),
        ("孕妇禁用", "孕妇可安全使用", WordingVerdict.OPPOSITE),
        ("可以根治", "目前无法根治", WordingVerdict.OPPOSITE),
        # Not enough in common, or two things.
        ("cured by surgery", "there is no cure for the cough", None),
        ("prescribe antibiotics", "breastfeeding should not be interrupted", None),
        ("high blood pressure", "low blood sugar", None),
        ("睾丸萎缩", "睾丸未降", None),
        ("缺乏维生素B12", "维生素D正常", None),
        ("糖尿病", "导致糖尿病", None),
    ],
)
def test_gists_decide_where_wordings_do_not(reference, response, verdict):
    assert compare_wordings(reference, response) is verdict


@pytest.mark.parametrize(
    ("reference", "response", "verdict"),
    [
        ("TSH raised, T4 normal", "T4 normal, TSH raised", WordingVerdict.SAME),
        ("TSH raised, T4 normal", "TSH normal, T4 raised", WordingVerdict.OTHER_SIDE),
        ("fever without cough", "cough without fever", WordingVerdict.OPPOSITE),
        ("metformin 500 mg and glipizide 5 mg", "metformin 5 mg and glipizide 500 mg", WordingVerdict.OTHER_AMOUNT),
        ("有发热无咳嗽", "有咳嗽无发热", WordingVerdict.OPPOSITE),
    ],
)
def test_lists_are_compared_part_by_part(reference, response, verdict):
    assert compare_wordings(reference, response) is verdict
