import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval.text.phrases import (
    annotate_pair,
    drop_self_contradictions,
    is_condition,
    join_condition,
    parse_phrase,
    split_condition,
)
from imapeval.types import Pair


@pytest.mark.parametrize(
    ("phrase", "core", "condition"),
    [
        ("see a doctor if the fever lasts", "see a doctor", "if the fever lasts"),
        ("see a doctor, if the fever lasts", "see a doctor", "if the fever lasts"),
        ("If the fever lasts, see a doctor", "see a doctor", "If the fever lasts"),
        ("naproxen (if kidneys are healthy)", "naproxen", "if kidneys are healthy"),
        ("naproxen (only when needed)", "naproxen", "only when needed"),
        ("surgery unless it heals", "surgery", "unless it heals"),
        ("rest until the swelling is down", "rest", "until the swelling is down"),
        ("exercise once the pain is gone", "exercise", "once the pain is gone"),
        # "At once" and "a while" are no conditions, but these only end alike.
        ("do not treat once it heals", "do not treat", "once it heals"),
        ("no marijuana while pregnant", "no marijuana", "while pregnant"),
        ("take vitamin A while pregnant", "take vitamin A", "while pregnant"),
        ("see a doctor at once if it bleeds", "see a doctor at once", "if it bleeds"),
        ("rest provided that it helps", "rest", "provided that it helps"),
        ("萘普生（肾功能正常时）", "萘普生", "肾功能正常时"),
        ("布洛芬（孕妇除外的情况下）", "布洛芬", "孕妇除外的情况下"),
        ("三天不好转时，看医生", "看医生", "三天不好转时"),
        ("如果发烧，看医生", "看医生", "如果发烧"),
        ("看医生，如果发烧", "看医生", "如果发烧"),
        # No conditions.
        ("naproxen (oral)", "naproxen (oral)", ""),
        ("ibuprofen (400 mg)", "ibuprofen (400 mg)", ""),
        ("once daily", "once daily", ""),
        ("ibuprofen 400 mg, once daily", "ibuprofen 400 mg, once daily", ""),
        ("ibuprofen once a day", "ibuprofen once a day", ""),
        ("take it once at bedtime", "take it once at bedtime", ""),
        ("wait a while before eating", "wait a while before eating", ""),
        ("care provided by nurses", "care provided by nurses", ""),
        ("阿司匹林（口服）", "阿司匹林（口服）", ""),
        ("同时，多喝水", "同时，多喝水", ""),
        ("每6小时一次", "每6小时一次", ""),
        # Nothing but a condition is what it is about.
        ("if it lasts", "if it lasts", ""),
        ("", "", ""),
    ],
)
def test_conditions(phrase, core, condition):
    assert split_condition(phrase) == (core, condition)


@pytest.mark.parametrize(
    ("clause", "is_one"),
    [
        ("if it lasts", True),
        ("Unless you are pregnant", True),
        ("肾功能正常时", True),
        ("一旦出血", True),
        ("once daily", False),
        ("iffy", False),
        ("rest", False),
        ("小时", False),
        ("如下", False),
    ],
)
def test_condition_clauses(clause, is_one):
    assert is_condition(clause) is is_one


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ("ibuprofen", {}),
        ("no aspirin", {"polarity": "denied"}),
        ("possibly gout", {"certainty": "possible"}),
        ("肾盂肾炎可能性不大", {"certainty": "unlikely"}),
        ("naproxen (if kidneys are healthy)", {"condition": "if kidneys are healthy"}),
        ("ibuprofen 400 mg", {"amounts": ("400 mg",)}),
        (
            "不要吃布洛芬400毫克（肾功能不全时）",
            {"polarity": "denied", "condition": "肾功能不全时", "amounts": ("400毫克",)},
        ),
    ],
)
def test_a_pair_is_annotated_from_its_value(value, fields):
    pair = Pair("treatment", value, (3, 9))
    assert annotate_pair(pair) == Pair("treatment", value, (3, 9), **fields)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_annotating_is_idempotent(value):
    pair = annotate_pair(Pair("t", value))
    assert annotate_pair(pair) == pair


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("take ibuprofen", "use the ibuprofen"),
        ("tumours", "a tumour"),
        ("no surgery needed", "surgery"),
        ("does not itch", "do not itch"),
        ("always itching", "itching"),
        ("ibuprofen 400 mg", "ibuprofen"),
        ("changing the diet", "a change of diet"),
        ("oesophageal cancer", "cancer, esophageal"),
        ("可以吃鸡蛋", "鸡蛋"),
        ("不要喝啤酒", "啤酒"),
        ("yes, gout", "gout"),
    ],
)
def test_words_are_those_of_the_subject(a, b):
    assert parse_phrase(a).words == parse_phrase(b).words != frozenset()


@pytest.mark.parametrize(
    ("named", "other"),
    [
        ("vitamin A deficiency", "a vitamin deficiency"),
        ("influenza A", "influenza"),
        ("hepatitis A.", "hepatitis"),
        ("hepatitis A is possible", "hepatitis is possible"),
        ("维生素A", "维生素"),
        ("A positive", "A positive family history"),
        ("GABA A", "See A Doctor"),
    ],
)
def test_the_letter_a_is_not_an_article(named, other):
    assert "lettera" in parse_phrase(named).words - parse_phrase(other).words
    assert parse_phrase(named).subject != parse_phrase(other).subject


def test_a_condition_that_denies_is_not_joined():
    for value in ("ibuprofen if there is no ulcer", "surgery unless it heals", "没有家族史的人也会得乳腺癌"):
        phrase = parse_phrase(value)
        assert phrase.condition
        assert join_condition(phrase) is phrase
        assert join_condition(phrase, parse_phrase("ibuprofen")) is phrase
        assert join_condition(phrase, parse_phrase("no ibuprofen")).condition == ""
    assert join_condition(parse_phrase("ibuprofen if it hurts")).condition == ""


def test_tokens_depend_on_the_order_of_chinese_characters():
    ours, theirs = parse_phrase("蜂蜜"), parse_phrase("蜜蜂")
    assert ours.words == theirs.words
    assert ours.tokens.isdisjoint(theirs.tokens)


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (("see a doctor if it lasts", "do not see a doctor if it lasts"), []),
        (("see a doctor if it lasts", "do not see a doctor if it stops"), [0, 1]),
        (("see a doctor if it lasts", "do not see a doctor"), [0, 1]),
        (("去医院（如果发烧）", "不要去医院（如果发烧）"), []),
    ],
)
def test_self_contradictions_under_one_condition_are_dropped(values, kept):
    pairs = [Pair("advice", value) for value in values]
    assert drop_self_contradictions(pairs) == [pairs[place] for place in kept]


def test_brackets():
    phrase = parse_phrase("blood urea nitrogen (BUN)")
    assert (phrase.outside, phrase.inside, phrase.qualified) == ("blood urea nitrogen", {"bun"}, False)
    assert parse_phrase("diabetes (type 1)").qualified
    assert parse_phrase("ibuprofen (400 mg)").inside == frozenset()


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_a_phrase(text):
    phrase = parse_phrase(text)
    core, condition = split_condition(text)
    assert (phrase.core, phrase.condition) == (core, condition)
    assert condition in text


@pytest.mark.parametrize(
    ("phrase", "core", "condition", "denies"),
    [
        ("没有症状就不用吃药", "不用吃药", "没有症状", True),
        ("没有症状也要吃药", "要吃药", "没有症状", False),
        ("没有症状也不用吃药", "不用吃药", "没有症状", True),
        ("即使医生不同意也可以吃", "可以吃", "即使医生不同意", False),
        ("没必要就别用", "别用", "没必要", True),
        ("没有发热才能上学", "能上学", "没有发热", False),
        ("阴性3年后复查", "阴性3年后复查", "", False),
        ("不能吃也不能喝", "不能吃也不能喝", "", True),
        ("不咳嗽也不发热", "不咳嗽也不发热", "", True),
        ("不吃药也能好", "不吃药也能好", "", True),
    ],
)
def test_a_negation_before_the_advice_is_its_condition(phrase, core, condition, denies):
    parsed = parse_phrase(phrase)
    assert (parsed.core, parsed.condition, parsed.stance.denies) == (core, condition, denies)
