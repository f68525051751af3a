import pytest

from imapeval.extraction.lexicon.cues import TERMS, find_asked_terms, is_courtesy
from imapeval.extraction.lexicon.frames import is_disclaimer
from imapeval.types import Lang

# Written by us, one or more for every term and language.
QUESTIONS: list[tuple[Lang, str, list[str]]] = [
    ("en", "I have a rash on my arm. What is it?", ["diagnosis"]),
    ("en", "Why does my knee hurt?", ["cause"]),
    ("en", "How to treat a sprained ankle?", ["treatment"]),
    ("en", "He had surgery in May. Why does it hurt?", ["cause"]),
    ("en", "Which medicine can I take for a cough?", ["medicine"]),
    ("en", "What tests do I need?", ["test"]),
    ("en", "Which doctor should I see?", ["department"]),
    ("en", "What do I have to do?", ["advice"]),
    ("en", "What are the symptoms of appendicitis?", ["symptom"]),
    ("en", "How long will it take to recover?", ["prognosis"]),
    ("en", "Is it dangerous?", ["risk"]),
    ("en", "Is chickenpox contagious?", ["contagion"]),
    ("en", "Is it hereditary?", ["heredity"]),
    ("en", "How can I prevent malaria?", ["prevention"]),
    ("en", "What is the dose of paracetamol for a child?", ["dose"]),
    ("en", "What foods are good for gout?", ["diet"]),
    ("en", "My TSH is 8. What does this result mean?", ["meaning"]),
    ("en", "I feel tired all the time.", ["advice"]),
    ("en", "Do I have to fast before the blood test?", ["advice"]),
    ("en", "Do I have to take the tablets with food?", ["medicine", "diet"]),
    ("en", "Is it a good idea to exercise?", ["advice"]),
    ("en", "Do I have diabetes?", ["diagnosis"]),
    ("en", "Is it a tumour?", ["diagnosis"]),
    ("en", "What is it and how should it be treated?", ["diagnosis", "treatment"]),
    ("zh", "皮肤起红疹，这是什么病？", ["诊断"]),
    ("zh", "为什么会头晕？", ["病因"]),
    ("zh", "急性阑尾炎怎么治疗？", ["治疗"]),
    ("zh", "咳嗽吃什么药好？", ["药物"]),
    ("zh", "应该做哪些检查？", ["检查"]),
    ("zh", "胃疼应该挂哪个科？", ["科室"]),
    ("zh", "肺结核有哪些症状？", ["症状"]),
    ("zh", "骨折多久能恢复？", ["预后"]),
    ("zh", "这个结节严重吗？", ["风险"]),
    ("zh", "手足口病会传染吗？", ["传染性"]),
    ("zh", "近视会遗传吗？", ["遗传"]),
    ("zh", "如何预防流感？", ["预防"]),
    ("zh", "布洛芬的剂量是多少？", ["用法用量"]),
    ("zh", "痛风不能吃什么？", ["饮食"]),
    ("zh", "痛风的人能吃海鲜吗？", ["饮食"]),
    ("zh", "医生说不能吃氢氯噻嗪，可以换什么药？", ["药物"]),
    ("zh", "报告上的这个指标是什么意思？", ["结果解读"]),
    ("zh", "孩子总是哭闹。", ["建议"]),
    ("zh", "这是什么病？怎么治疗？", ["诊断", "治疗"]),
]


@pytest.mark.parametrize(("lang", "question", "terms"), QUESTIONS, ids=[row[1] for row in QUESTIONS])
def test_asked_terms(lang: Lang, question: str, terms: list[str]) -> None:
    assert [term.label(lang) for term in find_asked_terms(question, lang=lang)] == terms


def test_every_term_is_asked_for_in_both_languages() -> None:
    for lang in ("en", "zh"):
        asked = {term for row in QUESTIONS if row[0] == lang for term in row[2]}
        assert asked == {term.label(lang) for term in TERMS}


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "Hello"),
        ("en", "I understand your concern"),
        ("en", "Take care"),
        ("en", "But"),
        ("en", "e.g"),
        ("en", "Take care of yourself"),
        ("en", "Get well soon"),
        ("en", "Hoping this helps"),
        ("en", "Revert to me with the reports"),
        ("en", "If you have any further questions"),
        ("en", "If you have other concerns"),
        ("en", "If you have any other medical queries ask a specialist online"),
        ("en", "For more information consult a specialist online"),
        ("zh", "您好"),
        ("zh", "你好"),
        ("zh", "好的"),
        ("zh", "希望以上信息对您有帮助"),
        ("zh", "以上是我的建议"),
        ("zh", "请按照以上建议进行"),
        ("zh", "按以上建议治疗"),
        ("zh", "专家认定：以上内容准确"),
        ("zh", "以下是一些建议"),
        ("zh", "以下部分供您阅读"),
        ("zh", "具体治疗方案应由医生决定"),
        ("zh", "等指标"),
    ],
)
def test_courtesies_state_nothing(lang: Lang, text: str) -> None:
    assert is_courtesy(text, lang=lang)


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "Hip replacement"),
        ("en", "High-dose steroids"),
        ("en", "Thankfully no surgery is needed"),
        ("en", "see a dermatologist"),
        ("en", "If you have other symptoms such as fever"),
        ("en", "If you have any more bleeding"),
        ("en", "Take care of the wound daily"),
        ("en", "Take care to avoid falls"),
        ("en", "Get well-fitting shoes"),
        ("en", "Hi-res CT shows fibrosis"),
        ("en", "Revert to the old dose if pain returns"),
        ("en", "Get back to work after 2 weeks"),
        ("en", "Take care during pregnancy"),
        ("en", "Your problem is dyssebacia (attachment removed to protect patient identity)"),
        ("en", "If the response is inadequate, add insulin"),
        ("en", "The answer is appendicitis"),
        ("en", "Antibiotics are not a substitute for surgical drainage"),
        ("zh", "检查类风湿因子等项目"),
        ("zh", "注意休息"),
        ("zh", "体温38.5℃以上建议服用布洛芬"),
        ("zh", "血压140/90mmHg以上为高血压"),
        ("zh", "体温 38.5 ℃ 以上建议服用布洛芬"),
        ("zh", "以下肢水肿为主要表现"),
        ("zh", "好发于青少年"),
        ("zh", "好转后逐渐停药"),
        ("zh", "最后一次月经后两周"),
    ],
)
def test_facts_are_neither_courtesies_nor_disclaimers(lang: Lang, text: str) -> None:
    assert not is_courtesy(text, lang=lang)
    assert not is_disclaimer(text, lang=lang)


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "This information is not a substitute for professional advice"),
        ("en", "The above answer is not intended as medical advice"),
        ("en", "The information provided here should be verified"),
        ("zh", "以上内容仅供参考"),
        ("zh", "本回答不能代替医生的诊断"),
    ],
)
def test_disclaimers_are_known(lang: Lang, text: str) -> None:
    assert is_disclaimer(text, lang=lang)
