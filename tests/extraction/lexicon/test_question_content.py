"""Answers to yes-no questions are facts; other repetitions of a question are none."""

from __future__ import annotations

import pytest

from imapeval.extraction.lexicon.question_content import QuestionContent
from imapeval.text.language import has_chinese

MASTITIS = "I have mastitis. Can I breastfeed with mastitis?"
IBUPROFEN = "Is ibuprofen safe in the third trimester?"
ASPIRIN = "孕妇可以吃阿司匹林吗？"


def read(question: str, answer: str) -> list[str]:
    content = QuestionContent(question, "zh" if has_chinese(question) else "en")
    return [piece.text for piece in content.read_statements(answer)]


@pytest.mark.parametrize(
    ("question", "answer", "statements"),
    [
        (MASTITIS, "Yes.", ["breastfeed with mastitis"]),
        (MASTITIS, "No.", ["breastfeed with mastitis: no"]),
        (MASTITIS, "You can breastfeed with mastitis.", ["breastfeed with mastitis"]),
        (MASTITIS, "Yes. You can breastfeed with mastitis.", ["breastfeed with mastitis"]),
        (MASTITIS, "No. You cannot breastfeed with mastitis.", ["cannot breastfeed with mastitis"]),
        ("Can I do exercises?", "Do exercises.", ["Do exercises"]),
        (MASTITIS, "You can breastfeed.", ["breastfeed"]),
        # Without a comma, and without a yes or no.
        ("Is asthma hereditary?", "Yes it is.", ["asthma hereditary"]),
        ("Can I drink coffee?", "Yes you can, but rest.", ["drink coffee", "rest"]),
        ("Does ibuprofen cause ulcers?", "It does.", ["ibuprofen cause ulcers"]),
        ("Can I drink coffee?", "You can't. It keeps you awake.", ["drink coffee: no", "It keeps you awake"]),
        ("Can I drink coffee?", "You should.", []),
        ("Is it cancer?", "It is, rarely.", ["rarely"]),
        (MASTITIS, "Yes, feed often.", ["breastfeed with mastitis", "feed often"]),
        (IBUPROFEN, "Yes, ibuprofen is safe in the third trimester.", ["ibuprofen is safe in the third trimester"]),
        (IBUPROFEN, "No, avoid it.", ["ibuprofen safe in the third trimester: no", "avoid it"]),
        ("Does it hurt?", "No.", ["hurt: no"]),
        ("Am I contagious?", "No.", ["contagious: no"]),
        ("Did the fracture heal?", "No.", ["the fracture heal: no"]),
        ("Has the cancer spread?", "Yes.", ["the cancer spread"]),
        ("Would surgery help?", "No.", ["surgery help: no"]),
        ("My son has a fever, should I worry?", "No.", ["worry: no"]),
        ("Do you think it is cancer?", "Yes.", ["it is cancer"]),
        ("Can I take ibuprofen while pregnant?", "Yes.", ["take ibuprofen (while pregnant)"]),
        ("Can I take ibuprofen while pregnant?", "No.", ["take ibuprofen: no (while pregnant)"]),
        ("Can you catch HIV from kissing?", "No.", ["you catch HIV from kissing: no"]),
        # What something serves is a fact where an answer states nothing else, but no heading.
        ("华法林期间为什么要监测INR？", "为了防止出血。", ["为了防止出血"]),
        ("华法林期间为什么要监测INR？", "监测INR，为了防止出血。", ["为了防止出血"]),
        ("术前为什么要禁食？", "为了防止误吸，需要排空胃。", ["排空胃"]),
        ("术前为什么要禁食？", "为了防止误吸：\n1. 排空胃", ["排空胃"]),
        ("高血压是否会遗传？", "否。", ["高血压会遗传：不"]),
        ("是否可以通过X线确诊？", "不能。", ["可以通过X线确诊：不能"]),
        ("是否需要鉴别诊断？", "需要。", ["需要鉴别诊断"]),
        ("淀粉酶还未下降，是否可以出院？", "不可以。", ["可以出院：不可以"]),
        ("两种病是否多发于不同的人群？", "是。", ["两种病多发于不同的人群"]),
        (ASPIRIN, "可以。", ["孕妇可以吃阿司匹林"]),
        (ASPIRIN, "不可以。", ["孕妇可以吃阿司匹林：不可以"]),
        (ASPIRIN, "可以吃阿司匹林。", ["吃阿司匹林"]),
        ("发烧了，请问能不能洗澡？", "能，水不要太热。", ["能洗澡", "水不要太热"]),
        # In the words of the end of the question.
        ("糖尿病会遗传吗？", "会遗传。", ["会遗传"]),
        ("糖尿病会遗传吗？", "会。", ["糖尿病会遗传"]),
        ("糖尿病会遗传吗？", "不会。", ["糖尿病会遗传：不会"]),
        ("胰岛素必须冷藏吗？", "必须冷藏。", ["冷藏"]),
        ("布洛芬伤胃吗？", "布洛芬伤胃。", ["布洛芬伤胃"]),
        ("结节是良性的吗？", "是良性的。", ["良性"]),
        ("吃头孢期间能喂奶吗？", "可以喂奶。", ["喂奶"]),
        ("乙肝有没有传染性？", "有传染性。", ["传染性"]),
        ("阿莫西林和头孢能不能吃？", "阿莫西林不能吃，头孢可以吃。", ["阿莫西林不能吃", "头孢可以吃"]),
        ("胃疼，你知道为什么吗？", "胃疼，要休息。", ["休息"]),
        ("胃炎严重，是吗？", "是。胃炎严重。", []),
        ("Can I take ibuprofen for a bad headache with fever?", "You have fever. Rest.", ["Rest"]),
    ],
)
def test_a_yes_or_no_is_what_it_answers(question: str, answer: str, statements: list[str]):
    assert read(question, answer) == statements


@pytest.mark.parametrize(
    ("question", "answer", "statements"),
    [
        ("When should a mole be checked?", "If it changes or bleeds.", ["If it changes or bleeds"]),
        (
            "When do I call?",
            "Rest. If it bleeds. If it swells, ice it.",
            ["Rest", "If it bleeds", "ice it (If it swells)"],
        ),
        ("When do I call?", "If it bleeds:\n- press", ["press (If it bleeds)"]),
        ("When do I call?", "## When to see a doctor\n- Fever\n- Bleeding", ["Fever", "Bleeding"]),
        ("When do I call?", "If you have a fever\n- Rest", ["Rest (If you have a fever)"]),
        ("What helps?", "Rest. If it bleeds.", ["Rest"]),
        ("什么情况下要去医院？", "如果出血。", ["如果出血"]),
        ("How long do I rest?", "Until the wound is dry.", ["Until the wound is dry"]),
        # A yes, or the question itself, with a condition.
        (MASTITIS, "Yes, unless the nipples bleed.", ["breastfeed with mastitis (unless the nipples bleed)"]),
        ("Can I eat eggs?", "Yes, but only if boiled. Milk is fine.", ["eat eggs (only if boiled)", "Milk is fine"]),
        ("Can I eat eggs?", "Yes, if they are boiled, eggs are safe.", ["eggs are safe (if they are boiled)"]),
        ("孕妇能吃鸡蛋吗？", "可以，如果煮熟的话。", ["孕妇能吃鸡蛋（如果煮熟的话）"]),
        ("Do I need a scan?", "Only if you cannot walk.", ["Only if you cannot walk"]),
        ("Do I need a scan?", "Rest. If you cannot walk.", ["Rest"]),
        ("When is a CT needed?", "A CT is needed if he vomits.", ["A CT is needed if he vomits"]),
        ("How should I take ibuprofen if I have a fever?", "Take ibuprofen if you have a fever.", []),
    ],
)
def test_a_condition_answers_when(question: str, answer: str, statements: list[str]):
    assert read(question, answer) == statements


@pytest.mark.parametrize(
    ("question", "answer", "statements"),
    [
        ("Is this a cold or flu?", "This is flu.", ["flu"]),
        ("Does it come from a virus, or from bacteria?", "It comes from bacteria.", ["It comes from bacteria"]),
        ("Should I take iron before or after meals?", "Before meals.", ["Before meals"]),
        ("Do I need two or four weeks of rest?", "Four weeks.", ["Four weeks"]),
        ("Which is better, type 1 or type 2?", "Type 2.", ["Type 2"]),
        ("扭伤应该冷敷还是热敷？", "扭伤，应热敷。", ["热敷"]),
        ("药应该饭前吃还是饭后吃？", "饭前。", ["饭前"]),
        ("甲亢和甲减哪个会怕冷？", "甲减。", ["甲减"]),
        # The question again, and what stands beside the choice.
        ("Should it be iced or heated?", "Iced or heated? Rest.", ["Rest"]),
        ("扭伤应该冷敷还是热敷？", "冷敷还是热敷？多休息。", ["多休息"]),
        ("扭伤应该冷敷还是热敷？", "冷敷：减轻肿胀。", ["减轻肿胀"]),
        ("甲亢和甲减有哪些区别？", "甲亢：怕热。", ["怕热"]),
        ("Should I use heat or ice?", "Heat: no. Ice: yes.", ["no Heat", "Ice"]),
        (
            "Should I take ibuprofen or paracetamol?",
            "Paracetamol: 1 g every 6 hours.",
            ["Paracetamol 1 g every 6 hours"],
        ),
        ("Is it a sprain or a break?", "It could be a sprain or a break.", ["a sprain", "a break"]),
        ("Do I have a cold or the flu or COVID?", "COVID.", ["COVID"]),
        # What was taken is no choice, and 还是 may mean "still".
        ("I took aspirin or ibuprofen. What else helps?", "Aspirin. Rest.", ["Rest"]),
        ("吃了药还是疼怎么办？", "疼，去医院。", ["去医院"]),
        ("Can I swim and fly after eye surgery?", "You must not swim. You can fly.", ["not swim", "fly"]),
        ("Which of heat, ice and massage helps?", "Ice helps.", ["Ice helps"]),
        ("Does she have anaemia, fever and cough?", "She has fever. She has no cough.", ["has fever", "has no cough"]),
        ("Can I swim two weeks after surgery on my left eye?", "You can swim.", ["swim"]),
        # What is said of the things in the question needs no other name.
        ("What about aspirin before surgery?", "Continue aspirin.", ["Continue aspirin"]),
        ("What about aspirin before surgery?", "Do not stop aspirin.", ["Do not stop aspirin"]),
        ("How is exercise in pregnancy?", "Exercise is safe in pregnancy.", ["Exercise is safe in pregnancy"]),
        ("手术前阿司匹林怎么办？", "阿司匹林可以吃。", ["阿司匹林可以吃"]),
    ],
)
def test_an_alternative_of_the_question_is_a_fact(question: str, answer: str, statements: list[str]):
    assert read(question, answer) == statements


@pytest.mark.parametrize(
    ("question", "answer", "statements"),
    [
        # Without a question for a yes or no, with two of them, or with a request.
        ("What helps against mastitis?", "Yes, rest.", ["rest"]),
        ("Is it cancer? Should I see a doctor?", "No.", ["No"]),
        ("Could you explain it?", "Yes. Rest.", ["Rest"]),
        ("Should I not take aspirin?", "Yes, rest.", ["rest"]),
        ("Doctor: Is it painful?\nPatient: A bit. What is it?", "No, rest.", ["No", "rest"]),
        ("Is it " + "very " * 50 + "bad?", "Yes, rest.", ["rest"]),
        ("Is the vaccine safe? Isn't it linked to autism?", "No.", ["No"]),
        ("Can I drive after a seizure? Would that be dangerous?", "Yes, rest.", ["rest"]),
        ("吃了头孢能喝酒吗？会死吗？", "会。", []),
        ("要不要做B超，有没有宫外孕？", "要。", []),
        ("孕妇能不能打疫苗？", "没有，放心。", ["没有", "放心"]),
        # A condition of the verdict, or of the question in another clause; a choice; nothing that is asked about.
        ("Do I need surgery?", "No, only if the stone is over 2 cm.", ["No (only if the stone is over 2 cm)"]),
        ("If I don't treat it, will it go away?", "No.", ["No"]),
        ("不治疗，能好吗？", "不能。", ["不能"]),
        ("Can I run or walk?", "Yes, rest.", ["rest"]),
        ("痛风喝啤酒，可以吗？", "可以。", []),
        ("能帮我看看报告吗？", "可以。", []),
        # Not a clause of its own.
        (MASTITIS, "No surgery is needed.", ["No surgery is needed"]),
    ],
)
def test_other_words_are_no_verdict(question: str, answer: str, statements: list[str]):
    assert read(question, answer) == statements


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("I have asthma. Can I fly in winter with asthma?", "Asthma."),
        (MASTITIS, "I have mastitis."),
        (MASTITIS, MASTITIS),
        (ASPIRIN, ASPIRIN),
        (MASTITIS, "Can I breastfeed with mastitis"),
        ("他是否也有可能患上恐怖症？", "他是否也有可能患上恐怖症"),
        ("Can I take ibuprofen with warfarin?", "Ibuprofen with warfarin:"),
        ("Can I take ibuprofen with warfarin?", "Safe to take ibuprofen with warfarin?"),
        ("Is ibuprofen with warfarin safe?", "So, is ibuprofen with warfarin safe?"),
        ("How is mastitis treated?", "Treated mastitis."),
        ("What about aspirin before surgery?", "Aspirin before surgery."),
    ],
)
def test_a_repetition_is_no_fact(question: str, answer: str):
    assert read(question, answer) == []
