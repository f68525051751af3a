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
        ["avoid Nuts", "avoid Milk", "Rest"],
    ),
    ("Do not do the following:\n- take aspirin\n- smoke", "en", ["Do not take aspirin", "Do not smoke"]),
    ("You should not:\n* drive\n\nYou can:\n* walk", "en", ["not drive", "can", "walk"]),
    ("Don'ts:\n- smoke", "en", ["do not smoke"]),
    # Headings that deny.
    ("These are not signs of a stroke:\n- headache\n- fever", "en", ["not headache", "not fever"]),
    ("Who does not need a scan\n- children\n\nNot red flags:\n- fever", "en", ["not children", "not fever"]),
    (
        "You do not need urgent care if you have any of the following:\n- numbness",
        "en",
        ["not numbness"],
    ),
    ("What won't wait:\n- chest pain", "en", ["What won't wait", "chest pain"]),
    (
        "Patients who do not tolerate metformin:\n- a sulfonylurea",
        "en",
        ["a sulfonylurea (Patients who do not tolerate metformin)"],
    ),
    ("You do not need antibiotics:\n- rest helps", "en", ["do not need antibiotics", "rest helps"]),
    # A condition above its list.
    (
        "- If the child is under 2:\n  - amoxicillin\n- If you have:\n  - fever",
        "en",
        ["amoxicillin (If the child is under 2)", "fever"],
    ),
    ("如果疼痛加重：\n- 去医院", "zh", ["去医院（如果疼痛加重）"]),
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
    (
        "Do not: take aspirin; if you drive, drink beer; smoke, vape. Rest.",
        "en",
        ["Do not take aspirin", "Do not drink beer (if you drive)", "Do not smoke", "Do not vape", "Rest"],
    ),
    ("Do not: smoke, avoid thirst, drink beer.", "en", ["Do not smoke", "avoid thirst", "Do not drink beer"]),
    (
        "不要：喝酒；熬夜，考虑手术；如果发烧，洗澡。多喝水。",
        "zh",
        ["不要喝酒", "不要熬夜", "不要考虑手术", "不要洗澡（如果发烧）", "多喝水"],
    ),
    ("不要：喝酒；不要熬夜；吸烟。", "zh", ["不要喝酒", "不要熬夜", "不要吸烟"]),
    ("不要：提重物，以免再次损伤。", "zh", ["不要提重物", "以免再次损伤"]),
    # A remedy in a list of what to avoid.
    ("Avoid:\n- Coffee; drink decaf\n- Take breaks", "en", ["Avoid Coffee", "drink decaf", "Take breaks"]),
    # What is below a colon or in brackets in such a list.
    (
        "Avoid:\n- **Caffeine:** coffee, tea\n- Milk (cheese, cream)\n- Wheat: it contains gluten, and zinc",
        "en",
        [
            *("Avoid Caffeine", "Avoid coffee", "Avoid tea", "Avoid Milk", "Avoid cheese", "Avoid cream"),
            *("Avoid Wheat", "it contains gluten", "zinc"),
        ],
    ),
    ("忌口：\n- 海鲜类：虾、蟹\n- 酒：伤肝、伤胃", "zh", ["忌海鲜类", "忌虾", "忌蟹", "忌酒", "伤肝", "伤胃"]),
    ("Avoid triggers: dust and smoke.", "en", ["Avoid triggers", "Avoid dust", "Avoid smoke"]),
    ("Avoid dehydration: water, soup.", "en", ["Avoid dehydration", "water", "soup"]),
    (
        "Do not:\n- share needles; reuse syringes\n- smoke",
        "en",
        ["Do not share needles", "Do not reuse syringes", "Do not smoke"],
    ),
    # What a category that is a hazard includes is what to do about it.
    (
        "Avoid:\n- **Stress:** meditation, yoga\n- **Caffeine:** coffee, tea",
        "en",
        ["Avoid Stress", "meditation", "yoga", "Avoid Caffeine", "Avoid coffee", "Avoid tea"],
    ),
    ("避免：\n- 便秘：香蕉、燕麦", "zh", ["避免便秘", "香蕉", "燕麦"]),
    ("避免便秘的食物：香蕉、燕麦。", "zh", ["避免便秘的食物", "香蕉", "燕麦"]),
    # Without markers, up to an empty line or a sentence.
    (
        "Foods to avoid:\nCoffee\nTea and cola\n\nDrink water.",
        "en",
        ["avoid Coffee", "avoid Tea", "avoid cola", "Drink water"],
    ),
    ("Avoid:\nCoffee\nSalt.\nSugar", "en", ["Avoid Coffee", "Salt", "Sugar"]),
    ("Avoid:\nThis is a sentence.\nSugar", "en", ["Avoid", "a sentence", "Sugar"]),
    ("1. Do not:\nDrive\n2. Rest", "en", ["Do not Drive", "Rest"]),
    ("You should not:\nDrive\nYou can:\nWalk", "en", ["not Drive", "can", "Walk"]),
    ("忌口：\n咖啡\n浓茶\n可以吃：\n燕麦", "zh", ["忌咖啡", "忌浓茶", "燕麦"]),
    # With crosses and ticks.
    ("❌ Alcohol\n- ❌ Nuts\n✅ Water", "en", ["avoid Alcohol", "avoid Nuts", "Water"]),
    ("❌ 不要饮酒\n✅ 白开水", "zh", ["不要饮酒", "白开水"]),
    ("Foods you can't eat\n- nuts", "en", ["avoid nuts"]),
    # With a topic.
    (
        "Foods to avoid with gout:\n- beer\n\nFoods you can eat:\n- rice",
        "en",
        ["avoid beer", "Foods you can eat", "rice"],
    ),
    ("**What to avoid during pregnancy**\n* wine", "en", ["avoid wine"]),
    ("### Foods to Avoid While Breastfeeding\n- tuna", "en", ["avoid tuna"]),
    ("Things you should not do after surgery:\n1. Take a bath", "en", ["do not Take a bath"]),
    ("Drugs to avoid if you have asthma: aspirin, atenolol.", "en", ["avoid aspirin", "avoid atenolol"]),
    ("Avoid the following until the diarrhea stops:\n- milk", "en", ["Avoid milk"]),
    ("High-purine foods to avoid:\n- liver", "en", ["avoid liver"]),
    ("What foods should you avoid?\n- liver", "en", ["avoid liver"]),
    ("Who should not take it:\n- children", "en", ["contraindicated in children"]),
    ("During pregnancy, avoid:\n- wine", "en", ["During pregnancy", "avoid wine"]),
    ("痛风患者忌口：啤酒、海鲜。\n痛风患者宜吃：牛奶。", "zh", ["忌啤酒", "忌海鲜", "痛风患者宜吃", "牛奶"]),
    ("孕期不能吃的食物：\n- 酒\n\n孕期可以吃的食物：\n- 菠菜", "zh", ["不能吃酒", "孕期可以吃的食物", "菠菜"]),
    ("术后禁忌事项\n1. 盆浴", "zh", ["避免盆浴"]),
    ("以下人群慎用：\n1. 孕妇", "zh", ["禁用于孕妇"]),
    ("在腹泻停止前避免以下食物：\n- 牛奶", "zh", ["在腹泻停止前避免牛奶"]),
    # Numbered within a line.
    ("Avoid: 1) beer 2) wine. Drink: 1) tea 2) milk.", "en", ["Avoid beer", "Avoid wine", "Drink", "tea", "milk"]),
    ("Do not (1) drive, (2) drink or (3) smoke. Rest.", "en", ["Do not drive", "Do not drink", "Do not smoke", "Rest"]),
    ("Avoid: 1. Beer. 2. Wine. Rest.", "en", ["Avoid Beer", "Avoid Wine", "Rest"]),
    ("No evidence of (a) gout or (b) cancer.", "en", ["No evidence of gout", "No evidence of cancer"]),
    ("- Avoid: 1) beer 2) wine\n- Rest", "en", ["Avoid beer", "Avoid wine", "Rest"]),
    ("Avoid:\n- Drinks: 1) beer 2) wine\n- Nuts", "en", ["Avoid beer", "Avoid wine", "Avoid Nuts"]),
    ("注意避免：①咳嗽；②提重物。可进食。", "zh", ["注意避免咳嗽", "注意避免提重物", "进食"]),
    ("不要：1、喝啤酒 2、吃火锅。多饮水。", "zh", ["不要喝啤酒", "不要吃火锅", "多饮水"]),
    ("患者没有：1.发热2.皮疹。", "zh", ["没有发热", "没有皮疹"]),
    # A verdict alone.
    ("Given: salbutamol. Contraindicated: beta blockers.", "en", ["Given", "salbutamol", "avoid beta blockers"]),
    ("Safe: rest. Not safe: codeine, aspirin.", "en", ["Safe", "rest", "avoid codeine", "avoid aspirin"]),
    ("Present: fever; absent: rash and cough.", "en", ["Present", "fever", "no rash", "no cough"]),
    ("Forbidden:\n- bread\n- pasta\n\nRest.", "en", ["avoid bread", "avoid pasta", "Rest"]),
    ("Rest. Not needed: antibiotics.", "en", ["Rest", "no need for antibiotics"]),
    ("Not needed: antibiotics, steroids.", "en", ["no need for antibiotics", "no need for steroids"]),
    # A verdict that answers the question, and its reason.
    ("Not necessary: viral infection.", "en", ["Not necessary", "viral infection"]),
    ("Unsafe: causes birth defects.", "en", ["Unsafe", "causes birth defects"]),
    ("阴性：说明没有感染。", "zh", ["阴性", "说明没有感染"]),
    ("You cannot: lift anything that is heavy, drive.", "en", ["cannot lift anything that is heavy", "cannot drive"]),
    ("阳性：流感。阴性：新冠、疟疾。", "zh", ["阳性", "流感", "无新冠", "无疟疾"]),
    ("休息。不安全：可待因。", "zh", ["休息", "避免可待因"]),
    ("Unsafe: it causes bleeding.", "en", ["Unsafe", "it causes bleeding"]),
    ("Contraindicated: high risk of bleeding.", "en", ["Contraindicated", "high risk of bleeding"]),
    ("Negative: the test shows no infection.", "en", ["Negative", "the test shows no infection"]),
    # Headings that deny nothing of what they introduce, or not all of it.
    ("Not serious: 1) you are young 2) it is mild", "en", ["Not serious", "young", "mild"]),
    ("Foods to avoid constipation:\n- bran", "en", ["Foods to avoid constipation", "bran"]),
    ("Symptoms you should not ignore:\n- pain", "en", ["Symptoms you should not ignore", "pain"]),
    (
        "How to avoid infection during chemotherapy:\n- masks",
        "en",
        ["How to avoid infection during chemotherapy", "masks"],
    ),
    ("Foods to eat and to avoid:\n- beer", "en", ["Foods to eat", "to avoid", "beer"]),
    ("性别：男性多见。", "zh", ["性别", "男性多见"]),
    ("如何在孕期避免感染：\n- 洗手", "zh", ["如何在孕期避免感染", "洗手"]),
    ("无需忌口：鱼肉都可以吃。", "zh", ["无需忌口", "鱼肉都可以吃"]),
    ("Dos and Don'ts:\n- Drink water", "en", ["Dos", "Don'ts", "Drink water"]),
    ("What to do and what to avoid:\n- Rest", "en", ["What to do", "what to avoid", "Rest"]),
    ("It is not recommended: it can cause bleeding.", "en", ["not recommended", "it can cause bleeding"]),
    ("You don't need medicine: rest is enough.", "en", ["don't need medicine", "rest is enough"]),
    ("Stopping this medicine:\n- Taper it", "en", ["Stopping this medicine", "Taper it"]),
    ("Should you avoid exercise?\n- Walking is fine", "en", ["Walking is fine"]),
    ("忌口：\n辛辣。\n平时多喝水。", "zh", ["忌口", "辛辣", "平时多喝水"]),
    ("Avoid dehydration:\n- drink water", "en", ["Avoid dehydration", "drink water"]),
    ("No:\n- it is harmless", "en", ["No", "harmless"]),
    ("包括：\n- 茶叶", "zh", ["茶叶"]),
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
