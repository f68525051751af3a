"""The words that negate, or advise against, each item of a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.text.negation.governors import (
    find_denied_claim,
    find_denied_verb,
    find_denying_predicate,
    find_governor,
)


@pytest.mark.parametrize(
    ("clause", "governor"),
    [
        ("avoid alcohol", "avoid"),
        ("Do not take aspirin", "Do not take"),
        ("you should not eat nuts", "you should not eat"),
        ("no biopsy", "no"),
        ("Take neither aspirin", "Take neither"),
        ("has no fever", "has no"),
        ("there is no fracture", "there is no"),
        ("refrain from smoking", "refrain from smoking"),
        ("do not need to take aspirin", "do not need to take"),
        ("don't have to rest", "don't have to"),
        ("do not ignore pain", "do not ignore"),
        ("do not delay", "do not"),
        ("keep away from dust", "keep away from"),
        ("without fever", "without"),
        ("limit salt", "limit"),
        ("denies fever", "denies"),
        ("否认高血压", "否认"),
        ("rest", ""),
        ("notable pain", ""),
        ("nothing", ""),
        ("not only rest", ""),
        ("no doubt gout", ""),
        ("48小时内不要热敷", "48小时内不要"),
        ("不要喝咖啡", "不要喝"),
        ("千万不要按摩", "千万不要"),
        ("切勿热敷", "切勿"),
        ("无发热", "无"),
        ("没有必要手术", "没有必要"),
        ("建议避免咖啡", "建议避免"),
        ("注意避免劳累", "注意避免"),
        ("停用布洛芬", "停用"),
        ("不能排除肿瘤", "不能排除"),
        ("要不要禁食", "要不要"),
        ("少吃盐", "少吃"),
        ("无论如何", ""),
        ("无创通气", ""),
        ("别的药", ""),
        ("少量饮水", ""),
        ("不舒服", ""),
    ],
)
def test_governors_of_lists(clause, governor):
    assert find_governor(clause) == governor


@pytest.mark.parametrize(
    ("clause", "predicate"),
    [
        ("smoking should be avoided", "should be avoided"),
        ("beer is not allowed", "is not allowed"),
        ("ibuprofen is contraindicated", "is contraindicated"),
        ("surgery isn't necessary", "isn't necessary"),
        ("bleeding is unlikely", "is unlikely"),
        ("tea must not be drunk", "must not be drunk"),
        ("fever wasn't seen", "wasn't seen"),
        ("cancer has been ruled out", "has been ruled out"),
        ("感染均已排除", "均已排除"),
        ("奶茶等甜饮也别喝", "也别喝"),
        ("贝类要尽量少碰", "要尽量少碰"),
        ("aspirin is helpful", ""),
        ("should be avoided", ""),
        ("avoid smoking", ""),
        ("咖啡都不能喝", "都不能喝"),
        ("海鲜禁用", "禁用"),
        ("手术没必要", "没必要"),
        ("阿司匹林应避免使用", "应避免使用"),
        ("不能喝", ""),
        ("可以喝", ""),
    ],
)
def test_denying_predicates(clause, predicate):
    assert find_denying_predicate(clause) == predicate


@pytest.mark.parametrize(
    ("clause", "verb"),
    [
        ("gout is not contagious", "gout is not"),
        ("it does not cause cancer", "it does not cause"),
        ("children should not take aspirin", "children should not take"),
        ("it is not only safe", ""),
        ("people with gout should avoid beer", "people with gout should avoid"),
        ("it is best to avoid salt", "it is best to avoid"),
        ("drink water to avoid stones", ""),
        ("患者无发热", "患者无"),
        ("患者无明显诱因头痛", ""),
        ("有无发热", ""),
        ("经检查排除了肺炎", "经检查排除了"),
        ("目前不考虑肿瘤", "目前不考虑"),
        ("胸片未见结节", "胸片未见"),
        ("孕妇应避免饮酒", "孕妇应避免"),
        ("gout is contagious", ""),
        ("I can't rule out gout", "I can't rule out"),
        ("children do not need to take aspirin", "children do not need to take"),
        ("孕妇不能吃海鲜", "孕妇不能吃"),
        ("不会引起癌症", "不会引起"),
        ("痛风会复发", ""),
    ],
)
def test_denied_verbs(clause, verb):
    assert find_denied_verb(clause) == verb


@given(st.text(max_size=80))
def test_any_text_is_parsed(text):
    for find in (find_governor, find_denied_verb, find_denied_claim):
        assert text.startswith(find(text))
    assert text.endswith(find_denying_predicate(text)) or text.endswith("\n")
