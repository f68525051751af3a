"""A thousand damaged completions: none crashes, none becomes a wrong score silently.

A completion that was damaged on its way gives the facts of the whole one, or it is a failure. Only what one reading
says otherwise than another (a value in other words of the same text) may differ.
"""

import json
import random

import pytest

from imapeval.errors import SampleError
from imapeval.extraction import line_format
from imapeval.extraction.llm_reader import LLMReader
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.types import Pair, QuestionImap

# (language, question, answer, asked, inform) and the same in the other language: our own texts.
ANSWERS = [
    {
        "en": (
            "Three weeks of cough. What is it and what should I take?",
            "This is most likely acute bronchitis; pneumonia is unlikely. Take dextromethorphan 15 mg every 6 hours, "
            "drink plenty of water, and do not take antibiotics. If you cough blood, see a lung specialist.",
            {
                "diagnosis": ["most likely acute bronchitis", "pneumonia is unlikely"],
                "medicine": ["dextromethorphan 15 mg every 6 hours", "do not take antibiotics"],
                "advice": ["drink plenty of water", "see a lung specialist"],
            },
        ),
        "zh": (
            "咳嗽三周了，是什么病，吃什么药？",
            "多半是急性支气管炎，肺炎的可能性不大。右美沙芬15毫克，每6小时一次，多喝水，不要用抗生素。如果咳血，要看呼吸科。",
            {
                "诊断": ["多半是急性支气管炎", "肺炎的可能性不大"],
                "药物": ["右美沙芬15毫克，每6小时一次", "不要用抗生素"],
                "建议": ["多喝水", "看呼吸科"],
            },
        ),
    },
    {
        "en": (
            "My toddler has chickenpox. How do I treat it, and may he go to nursery?",
            "Calamine lotion eases the itching, and paracetamol 120 mg brings the fever down. Never give aspirin. "
            "He must not go to nursery until all blisters have crusted, about seven days after the rash began.",
            {
                "treatment": ["calamine lotion", "paracetamol 120 mg", "never give aspirin"],
                "can go to nursery": ["must not go to nursery until all blisters have crusted"],
            },
        ),
        "zh": (
            "孩子得了水痘，怎么治，能去托儿所吗？",
            "炉甘石洗剂可以止痒，对乙酰氨基酚120毫克退烧，不要用阿司匹林。所有水疱结痂之前不能去托儿所，大约要等七天。",
            {
                "治疗": ["炉甘石洗剂", "对乙酰氨基酚120毫克", "不要用阿司匹林"],
                "能否去托儿所": ["结痂之前不能去托儿所"],
            },
        ),
    },
    {
        "en": (
            "What causes kidney stones and which tests do I need?",
            "Too little water, much salt and an inherited tendency cause kidney stones. You need an ultrasound of the "
            "kidneys, a urine culture and, if it comes back, a 24-hour urine collection.",
            {
                "cause": ["too little water", "much salt", "an inherited tendency"],
                "lab test": ["ultrasound of the kidneys", "urine culture", "24-hour urine collection"],
            },
        ),
        "zh": (
            "肾结石是什么引起的，要做哪些检查？",
            "喝水太少、吃盐过多和家族遗传都会引起肾结石。需要做肾脏B超和尿培养，复发的话要收集24小时尿液。",
            {
                "病因": ["喝水太少", "吃盐过多", "家族遗传"],
                "检查": ["肾脏B超", "尿培养", "收集24小时尿液"],
            },
        ),
    },
]
QUESTIONS = {
    "en": (
        "I am a 52-year-old teacher with asthma. Since Monday I wheeze at night. Which spray helps, and may I jog?",
        {"query": ["medicine", "can jog"]},
        {"age": ["52-year-old"], "history": ["asthma"], "symptom": ["wheeze at night"], "duration": ["since Monday"]},
    ),
    "zh": (
        "我52岁，是老师，有哮喘。星期一起夜里喘鸣，用哪种喷雾好？能慢跑吗？",
        {"query": ["药物", "能否慢跑"]},
        {"年龄": ["52岁"], "既往史": ["哮喘"], "症状": ["夜里喘鸣"], "病程": ["星期一起"]},
    ),
}
OTHER = {"en": "zh", "zh": "en"}
NOISE = '{}[]":,0123456789 \n\\aé是\x00\ud800xq'


def groups(values_by_term):
    return [{"term": term, "values": values} for term, values in values_by_term.items()]


def dump(record):
    return json.dumps(record, ensure_ascii=False)


def cut(rng, good, _other):
    return good[: rng.randrange(len(good))]


def garble(rng, good, _other):
    letters = list(good)
    for _ in range(rng.randint(1, 5)):
        letters[rng.randrange(len(letters))] = rng.choice(NOISE)
    return "".join(letters)


def fence(rng, good, _other):
    shape = rng.choice(
        [
            "```json\nX\n```",
            "```\nX",
            "<think>X? No.</think>X",
            "Sure:\nX\nAnything else?",
            "<think>X",
            "想好了</think>X",
        ]
    )
    return shape.replace("X", good)


def double(rng, good, other):
    return good + rng.choice(["", "\n", " or "]) + rng.choice([good, cut(rng, good, other), garble(rng, good, other)])


def to_lines(rng, good, other):
    written = line_format.format_lines(good)
    return rng.choice([written, f"```\n{written}\n```", cut(rng, written, other), garble(rng, written, other)])


def translate(rng, good, other):
    """All values, or all but one, in the wrong language."""
    record, wrong = json.loads(good), json.loads(other)
    if "inform" not in record:
        return dump(wrong)
    for group, translated in zip(record["inform"], wrong["inform"], strict=True):
        group["values"] = translated["values"]
    if rng.random() < 0.3:
        record["inform"][0] = json.loads(good)["inform"][0]
    return dump(record)


MUTATIONS = [cut, garble, fence, double, to_lines, translate]


def answer_cases():
    for texts in ANSWERS:
        for lang, (question, answer, facts) in texts.items():
            imap = QuestionImap(tuple(Pair(term, "?") for term in facts), ())
            good, other = (dump({"inform": groups(texts[code][2])}) for code in (lang, OTHER[lang]))

            async def read(model, answer=answer, question=question, imap=imap, lang=lang):
                return (await LLMReader(model).read_answer(answer, question=question, imap=imap, lang=lang)).inform

            yield read, good, other


def question_cases():
    for lang, (question, query, constraint) in QUESTIONS.items():
        good = dump(query | {"constraint": groups(constraint)})
        other = dump(QUESTIONS[OTHER[lang]][1] | {"constraint": groups(QUESTIONS[OTHER[lang]][2])})

        async def read(model, question=question, lang=lang):
            imap = await LLMReader(model).read_question(question, lang=lang)
            return imap.query + imap.constraint

        yield read, good, other


CASES = [*answer_cases(), *question_cases()]


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutation: mutation.__name__)
@pytest.mark.parametrize("case", range(len(CASES)))
async def test_a_damaged_completion_gives_the_same_facts_or_a_failure(case, mutate):
    read, good, other = CASES[case]
    facts = await read(ScriptedModel([good]))
    values = sum(len(group["values"]) for key in ("inform", "constraint") for group in json.loads(good).get(key, []))
    assert len(facts) >= values
    rng = random.Random(f"{case} {mutate.__name__}")
    for _ in range(21):  # 8 cases x 6 mutations x 21: just over a thousand
        damaged = mutate(rng, good, other)
        model = ScriptedModel(lambda _, damaged=damaged: damaged)
        try:
            kept = await read(model)
        except SampleError:
            continue
        assert set(kept) == set(facts), damaged
