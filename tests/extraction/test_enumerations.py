import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.extraction.enumerations import split


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ("睾丸癌的高危因素包括隐睾、睾丸发育不良和家族史", ["隐睾", "睾丸发育不良", "家族史"]),
        ("高血压、痛风石、第一跖趾关节肿痛等", ["高血压", "痛风石", "第一跖趾关节肿痛"]),
        ("黄疸、腹部疼痛、恶心呕吐等与肝胆系统相关的症状", ["黄疸", "腹部疼痛", "恶心呕吐"]),
        ("维生素B12、叶酸", ["维生素B12", "叶酸"]),
        ("慢性阻塞性肺疾病（COPD）、年龄、睾丸未降", ["慢性阻塞性肺疾病（COPD）", "年龄", "睾丸未降"]),
        ("fever, sore throat and cough", ["fever", "sore throat", "cough"]),
        ("symptoms such as fever, cough, headache, etc", ["fever", "cough", "headache"]),
    ],
)
def test_a_plain_enumeration_is_taken_apart(value, items):
    assert list(split(value)) == items


@pytest.mark.parametrize(
    "value",
    [
        "少吃内脏、海鲜",
        "无发热、咳嗽",
        "发热、无咳嗽、咳痰",
        "避免饮酒、熬夜",
        "肝、肾功能",
        "每日2、3次",
        "阿莫西林0.5克、布洛芬0.2克",
        "三、四天",
        "秋水仙碱0.5毫克，每天两次，连用三天",
        "糖尿病、高血压患者",
        "发热、咳嗽时服用",
        "饱和脂肪",
        "nausea and vomiting",
        "avoid coffee, tea and milk",
        "oral, nasal and topical steroids",
        "amoxicillin 500 mg, ibuprofen, rest",
        "rest, sleep and, if it hurts, ice",
        "pain, severe",
        "dress in loose, comfortable clothing",
    ],
)
def test_anything_else_stays_whole(value):
    assert split(value) == (value,)


values = st.text(alphabet="发热咳嗽疼痛不少如果等包括和、，。 5ab,fever and no if")


@given(values.filter(bool))
def test_items_stand_in_the_value_in_order_and_lose_no_number(value):
    items = split(value)
    at = 0
    for item in items:
        assert item
        at = value.index(item, at) + len(item)
    if len(items) > 1:
        assert not any(split(item) != (item,) for item in items)
    digits = [char for char in value if char.isdigit()]
    assert [char for item in items for char in item if char.isdigit()] == digits
