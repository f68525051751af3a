"""Headings whose negation applies to the list behind or below them; the texts were written for this table."""

import pytest

from imapeval.extraction.lexicon.headings import find_list_governor
from imapeval.extraction.lexicon.statements import read_statements
from imapeval.text.markup import PlainText

TEXTS = [
    # Below a heading.
    (
        "Avoid:\n- alcohol\n- coffee and tea\n\nRest well.",
        "en",
        ["Avoid alcohol", "Avoid coffee", "Avoid tea", "Rest well"],
    ),
    ("<b>Avoid:</b><ul><li>alcohol</li><li>coffee</li></ul>Rest.", "en", ["Avoid alcohol", "Avoid coffee", "Rest"]),
    (
        "### Foods to avoid\n\n1. **Nuts**\n\n2. **Milk**\n\n### Advice\n\n1. Rest",
        "en",
        ["avoid Nuts", "avoid Milk", "Advice", "Rest"],
    ),
    ("Do not do the following:\n- take aspirin\n- smoke", "en", ["Do not take aspirin", "Do not smoke"]),
    ("You should not:\n* drive\n\nYou can:\n* walk", "en", ["not drive", "can", "walk"]),
    ("Don'ts:\n- smoke", "en", ["do not smoke"]),
    ("Contraindications:\n- pregnancy", "en", ["contraindicated in pregnancy"]),
    ("If you have reflux, avoid the following foods:\n- coffee", "en", ["avoid coffee"]),
    (
        "避免以下食物：\n1. 高糖食物：高糖饮食会导致炎症。\n2. 酒。\n\n多休息。",
        "zh",
        ["避免高糖食物", "高糖饮食会导致炎症", "避免酒", "多休息"],
    ),
    ("一、不要做的事\n1. 熬夜\n二、其他\n1. 散步", "zh", ["不要熬夜", "其他", "散步"]),
    ("禁忌症：\n1. 妊娠", "zh", ["禁用于妊娠"]),
    # An item is governed up to the end of its first sentence, and not if it has a negation of its own.
    (
        "Avoid:\n- Nuts. They cause allergies.\n- Do not smoke\n- Milk: it is a common cause.",
        "en",
        ["Avoid Nuts", "cause allergies", "Do not smoke", "Avoid Milk", "a common cause"],
    ),
    ("Avoid:\n- Drinks: coffee, tea", "en", ["Avoid coffee", "Avoid tea"]),
    # A list ends with its level.
    ("1. Avoid:\n   - alcohol\n   - coffee\n2. Rest", "en", ["Avoid alcohol", "Avoid coffee", "Rest"]),
    ("1. Avoid:\n- alcohol\n2. Rest", "en", ["Avoid alcohol", "Rest"]),
    ("- Avoid:\n  1. alcohol\n- Rest", "en", ["Avoid alcohol", "Rest"]),
    # In the same line.
    ("Things to avoid: alcohol, smoking. Rest.", "en", ["avoid alcohol", "avoid smoking", "Rest"]),
    ("Not recommended: aspirin; ibuprofen. Rest.", "en", ["avoid aspirin", "avoid ibuprofen", "Rest"]),
    ("Do not: take aspirin; smoke. Rest.", "en", ["Do not take aspirin", "Do not smoke", "Rest"]),
    ("Denies: fever, chills.", "en", ["Denies fever", "Denies chills"]),
    ("以下事情不要做：喝酒、熬夜。多休息。", "zh", ["避免喝酒", "避免熬夜", "多休息"]),
    ("忌口：辣椒；酒。多喝水。", "zh", ["忌辣椒", "忌酒", "多喝水"]),
    ("Avoid: alcohol; eat: rice; take: vitamins.", "en", ["Avoid alcohol", "eat", "rice", "take", "vitamins"]),
    ("忌：辛辣；宜：清淡。", "zh", ["忌辛辣", "清淡"]),
    # A remedy in a list of what to avoid.
    ("Avoid:\n- Coffee; drink decaf\n- Take breaks", "en", ["Avoid Coffee", "drink decaf", "Take breaks"]),
    # Headings that deny nothing of what they introduce, or not all of it.
    ("Dos and Don'ts:\n- Drink water", "en", ["Dos", "Don'ts", "Drink water"]),
    ("What to do and what to avoid:\n- Rest", "en", ["What to do", "what to avoid", "Rest"]),
    ("It is not recommended: it can cause bleeding.", "en", ["not recommended", "it can cause bleeding"]),
    ("You don't need medicine: rest is enough.", "en", ["don't need medicine", "rest is enough"]),
    ("Stopping this medicine:\n- Taper it", "en", ["Stopping this medicine", "Taper it"]),
    ("Should you avoid exercise?\n- Walking is fine", "en", ["Walking is fine"]),
    ("忌口：\n辛辣。\n平时多喝水。", "zh", ["忌口", "辛辣", "平时多喝水"]),
    ("Avoid dehydration:\n- drink water", "en", ["Avoid dehydration", "drink water"]),
    ("No:\n- it is harmless", "en", ["No", "harmless"]),
    ("Not all patients need:\n- surgery", "en", ["Not all patients need", "surgery"]),
    ("Do not wait if you have:\n- chest pain", "en", ["Do not wait if you have", "chest pain"]),
    ("How to avoid reflux:\n- eat early", "en", ["How to avoid reflux", "eat early"]),
]


@pytest.mark.parametrize(("text", "lang", "statements"), TEXTS)
def test_lists(text, lang, statements):
    assert [piece.text for piece in read_statements(PlainText(text).text, lang)] == statements


@pytest.mark.parametrize(
    "text", ["Avoid", "Please avoid these", "What not to eat", "Medicines that should not be taken"]
)
def test_headings(text):
    assert find_list_governor(text, "en")


@pytest.mark.parametrize("text", ["", "Rest", "Yes", "Do not use with", "Avoid if", "No symptoms", "avoid " * 20])
def test_no_headings(text):
    assert not find_list_governor(text, "en")
