import asyncio
import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval.errors import ExtractionError
from imapeval.evaluation.samples import read
from imapeval.extraction.lexicon.reader import LexiconReader
from imapeval.fact_model import open_fact_model
from imapeval.graph.store.graph import Graph
from imapeval.types import Lang, QuestionImap, Sample


@pytest.fixture(scope="module")
def reader() -> Iterator[LexiconReader]:
    with Graph.open() as graph:
        yield LexiconReader(graph)


def ask(reader: LexiconReader, question: str, lang: Lang) -> QuestionImap:
    return asyncio.run(reader.read_question(question, lang=lang))


def facts(reader: LexiconReader, question: str, answer: str, lang: Lang) -> list[tuple[str, str]]:
    imap = ask(reader, question, lang)
    pairs = asyncio.run(reader.read_answer(answer, question=question, imap=imap, lang=lang)).inform
    return [(pair.term, pair.value) for pair in pairs]


def test_an_english_consultation(reader: LexiconReader) -> None:
    question = "I am a 34-year-old woman with a sore throat and fever for three days. What is it and how is it treated?"
    imap = ask(reader, question, "en")
    assert [pair.term for pair in imap.query] == ["diagnosis", "treatment"]
    given_values = {(pair.term, pair.value) for pair in imap.constraint}
    assert {("age", "34-year-old"), ("sex", "woman"), ("symptom", "sore throat"), ("symptom", "fever")} <= given_values
    answer = (
        "Hello. It is most likely acute tonsillitis. "
        "You should take amoxicillin for 7 days and avoid alcohol or smoking."
    )
    assert facts(reader, question, answer, "en") == [
        ("diagnosis", "acute tonsillitis"),
        ("treatment", "take amoxicillin for 7 days"),
        ("diagnosis", "avoid alcohol"),
        ("diagnosis", "avoid smoking"),
    ]


def test_a_chinese_consultation(reader: LexiconReader) -> None:
    question = "患者，女，45岁，关节肿痛三个月，应该做哪些检查？"
    imap = ask(reader, question, "zh")
    assert [(pair.term, pair.value) for pair in imap.query] == [("检查", "?")]
    assert {("年龄", "45岁"), ("性别", "女"), ("病程", "三个月")} <= {
        (pair.term, pair.value) for pair in imap.constraint
    }
    answer = "您好，应检查类风湿因子、C反应蛋白和血常规等项目。无需做CT检查。"
    assert facts(reader, question, answer, "zh") == [
        ("检查", "检查类风湿因子"),
        ("检查", "C反应蛋白"),
        ("检查", "血常规"),
        ("检查", "无需做CT检查"),
    ]


@pytest.mark.parametrize(
    ("question", "durations"),
    [
        ("我2019年确诊糖尿病，怎么办？", []),
        ("2020年3月做的手术，去年11月复发，怎么办？", []),
        ("我3月5日开始发烧，怎么办？", []),
        ("每年十二月咳嗽，五月份好转，怎么办？", []),
        ("每次吃两片，一天三次可以吗？", []),
        ("抽烟一天一包，腹泻一周三四次，头痛一个月几次，怎么办？", []),
        ("发烧一天39度，怎么办？", ["一天"]),
        ("咳嗽3月余，加重1周，怎么办？", ["3月余", "1周"]),
        ("腹痛2月，怎么办？", ["2月"]),
        ("宝宝咳嗽三个月了，怎么办？", ["三个月了"]),
        ("停经半月，怎么办？", ["半月"]),
        ("高血压30年，怎么办？", ["30年"]),
        ("失眠一年三个月，怎么办？", ["一年", "三个月"]),
        ("失眠一年半，怎么办？", ["一年"]),
        ("病程1.5年，咳嗽3-4天，发烧三到五天，怎么办？", ["1.5年", "3-4天", "三到五天"]),
        ("2018-2020年、2021.3月和去年3-5月发作，3到5月份好转，怎么办？", []),
    ],
)
def test_dates_and_frequencies_are_no_durations(reader: LexiconReader, question: str, durations: list[str]) -> None:
    assert [pair.value for pair in ask(reader, question, "zh").constraint if pair.term == "病程"] == durations


@pytest.mark.parametrize(
    ("question", "lang", "term", "value"),
    [
        ("My 1.5-year-old coughs. Why?", "en", "age", "1.5-year-old"),
        ("Is this normal in a 2-3 year old?", "en", "age", "2-3 year old"),
        ("宝宝1.5岁，怎么办？", "zh", "年龄", "1.5岁"),
        ("3-4岁的孩子怎么办？", "zh", "年龄", "3-4岁"),
        ("I have coughed for 2-3 weeks. Why?", "en", "duration", "for 2-3 weeks"),
        ("It has hurt for 1.5 years. Why?", "en", "duration", "for 1.5 years"),
    ],
)
def test_a_decimal_number_or_a_range_is_read_as_a_whole(
    reader: LexiconReader, question: str, lang: Lang, term: str, value: str
) -> None:
    assert [pair.value for pair in ask(reader, question, lang).constraint if pair.term == term] == [value]


@pytest.mark.parametrize(
    ("question", "lang", "denied", "affirmed"),
    [
        ("I am 30, not pregnant, no fever, but I cough. What is it?", "en", {"not pregnant", "no fever"}, {"cough"}),
        ("I have a cough but no fever or rash. What is it?", "en", {"no fever", "no rash"}, {"cough"}),
        ("I don't have diabetes. She denies fever. Why?", "en", {"no diabetes", "no fever"}, set()),
        ("She has never had asthma. What helps against a cough?", "en", {"no asthma"}, {"cough"}),
        ("Fever? No. Dose: 5 mg. I cough. What is it?", "en", {"no Fever"}, {"cough"}),
        ("I am pregnant with a fever. What helps?", "en", set(), {"pregnant", "fever"}),
        (
            "He denies chest pain, nausea and vomiting but has a cough. Why?",
            "en",
            {"no chest pain", "no nausea", "no vomiting"},
            {"cough"},
        ),
        ("我不发烧也不咳嗽，头痛吃什么药？", "zh", {"无发烧", "无咳嗽"}, {"头痛"}),
        ("否认高血压、糖尿病，胸痛，怎么办？", "zh", {"无高血压", "无糖尿病"}, {"胸痛"}),
        ("是不是感冒？要不要手术？会不会发热？", "zh", set(), {"感冒", "手术", "发热"}),
        (
            "女，30岁，未怀孕，无发热、皮疹，头痛三天，是什么病？",
            "zh",
            {"未怀孕", "无怀孕", "无发热", "无皮疹"},
            {"女", "30岁", "三天", "头痛"},
        ),
        ("睡不着，没有糖尿病和高血压，吃什么药？", "zh", {"无糖尿病", "无高血压"}, {"睡不着"}),
    ],
)
def test_denied_findings_of_a_patient_are_denied_constraints(
    reader: LexiconReader, question: str, lang: Lang, denied: set[str], affirmed: set[str]
) -> None:
    given_pairs = [pair for pair in ask(reader, question, lang).constraint if pair.term != "age"]
    assert {pair.value for pair in given_pairs if pair.polarity == "denied"} == denied
    assert {pair.value for pair in given_pairs if pair.polarity == "affirmed"} == affirmed
    for pair in given_pairs:
        assert pair.span is not None
        assert pair.value.endswith(question[slice(*pair.span)])


LAYOUTS: dict[str, Callable[[str], str]] = {
    "bold": lambda text: re.sub(r"\b([A-Za-z]{4,})\b", r"**\1**", text),
    "capitals": str.upper,
    "html": lambda text: "<p>" + re.sub(r"\b([A-Za-z]{4,})\b", r"<b>\1</b>", text) + "</p>",
    "soft hyphens": lambda text: re.sub(r"([a-z]{3})([a-z]{3})", "\\1\u00ad\\2", text),
    "zero width": lambda text: "\u200b".join(text),
}


Reading = list[tuple[str, str, object, object, object, object]]


@pytest.fixture(scope="module")
def plain(reader: LexiconReader) -> list[tuple[Sample, QuestionImap, Reading]]:
    """The English samples, the imaps of their questions, and the readings of their responses as written."""
    imaps = [(sample, ask(reader, sample.question, "en")) for sample in read("sample-en")]
    return [(sample, imap, read_located(reader, sample, imap, sample.response)) for sample, imap in imaps]


def read_located(reader: LexiconReader, sample: Sample, imap: QuestionImap, answer: str) -> Reading:
    """Return the facts of an answer in lower case, after a check that each has a place in it."""
    pairs = asyncio.run(reader.read_answer(answer, question=sample.question, imap=imap, lang="en")).inform
    for pair in pairs:
        assert pair.span is not None
        assert answer[slice(*pair.span)]
    return [
        (
            pair.term,
            pair.value.casefold(),
            pair.polarity,
            pair.certainty,
            pair.condition.casefold(),
            tuple(amount.casefold() for amount in pair.amounts),
        )
        for pair in pairs
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_and_case_change_nothing(
    reader: LexiconReader, plain: list[tuple[Sample, QuestionImap, Reading]], layout: str
) -> None:
    for sample, imap, reading in plain:
        assert reading == read_located(reader, sample, imap, LAYOUTS[layout](sample.response))
        assert reading


def test_negation_and_quantities_are_kept(reader: LexiconReader) -> None:
    question = "How to treat it?"
    assert facts(reader, question, "No surgery needed", "en") == [("treatment", "No surgery needed")]
    assert facts(reader, question, "ibuprofen 400 mg", "en") == [("treatment", "ibuprofen 400 mg")]
    assert facts(reader, question, "some ibuprofen", "en") == [("treatment", "some ibuprofen")]


def test_a_restriction_applies_only_to_its_list(reader: LexiconReader) -> None:
    question = "Any advice?"
    assert facts(reader, question, "Avoid alcohol, coffee and spicy food, and drink enough.", "en") == [
        ("advice", "Avoid alcohol"),
        ("advice", "Avoid coffee"),
        ("advice", "Avoid spicy food"),
        ("advice", "drink enough"),
    ]
    assert facts(reader, question, "No imaging is needed, and most people improve within weeks.", "en") == [
        ("advice", "No imaging is needed"),
        ("advice", "most people improve within weeks"),
    ]
    assert facts(reader, "Is it contagious?", "No, it is not contagious.", "en") == [
        ("contagion", "not contagious"),
    ]
    assert facts(reader, "要注意什么？", "避免饮酒、熬夜，保持清洁", "zh") == [
        ("建议", "避免饮酒"),
        ("建议", "避免熬夜"),
        ("建议", "保持清洁"),
    ]


@pytest.mark.parametrize(
    "value", ["先天性心脏病", "并发症", "进行性肌营养不良", "再生障碍性贫血", "应激性溃疡", "一般情况良好"]
)
def test_words_that_begin_like_fillers_are_kept(reader: LexiconReader, value: str) -> None:
    assert facts(reader, "这是什么病？", value, "zh") == [("诊断", value)]


def test_names_do_not_extend_across_commas(reader: LexiconReader) -> None:
    imap = ask(reader, "The area is sore, throat is fine. What is it?", "en")
    assert "sore, throat" not in {pair.value for pair in imap.constraint}
    imap = ask(reader, "I have a sore throat. What is it?", "en")
    assert "sore throat" in {pair.value for pair in imap.constraint}


def test_spans_point_at_the_values(reader: LexiconReader) -> None:
    question, answer = "如何治疗？", "1. 建议服用布洛芬；2. 避免饮酒和吸烟。"
    imap = ask(reader, question, "zh")
    pairs = asyncio.run(reader.read_answer(answer, question=question, imap=imap, lang="zh")).inform
    spans = {pair.value: answer[pair.span[0] : pair.span[1]] for pair in pairs if pair.span}
    assert spans == {"布洛芬": "布洛芬", "避免饮酒": "避免饮酒", "避免吸烟": "吸烟"}


def test_greetings_are_not_facts(reader: LexiconReader) -> None:
    assert facts(reader, "What is it?", "Hello, welcome! I understand your concern. Take care.", "en") == []


@pytest.mark.parametrize(
    ("question", "answer", "values", "lang"),
    [
        ("I am 38 years old, no fever. What helps?", "I am 38 years old, no fever. What helps? Rest.", ["Rest"], "en"),
        ("I took aspirin 100 mg. What helps?", "Take aspirin 300 mg.", ["Take aspirin 300 mg"], "en"),
        ("I smoke. What helps my cough?", "Do not smoke.", ["Do not smoke"], "en"),
        ("我45岁，没有发烧，怎么治？", "我45岁，没有发烧。休息。", ["休息"], "zh"),
        ("怎么治？", "也许休息。", ["休息"], "zh"),
    ],
)
def test_repetitions_of_the_question_are_not_facts(reader, question, answer, values, lang) -> None:
    assert [value for _, value in facts(reader, question, answer, lang)] == values


@pytest.mark.parametrize("question", ["", "😀😀", "???"])
def test_a_question_without_words_is_rejected(reader: LexiconReader, question: str) -> None:
    with pytest.raises(ExtractionError) as caught:
        ask(reader, question, "en")
    assert caught.value.kind == "no-query"


@pytest.mark.parametrize(
    ("question", "lang", "expected"),
    [
        ("Patient: I cough. Which test helps?\nDoctor: What medicine do you take?\nPatient: None.", "en", ["test"]),
        ("患者：咳嗽，做什么检查？\n医生：吃过什么药？\n患者：没有。", "zh", ["检查"]),
        ("Doctor: what medicine should I take?", "en", ["medicine"]),
        ("Patient: man of 40.\nWhich medicine helps?", "en", ["medicine"]),
    ],
)
def test_the_doctors_questions_are_not_queries(
    reader: LexiconReader, question: str, lang: Lang, expected: list[str]
) -> None:
    assert [pair.term for pair in ask(reader, question, lang).query] == expected


def test_what_not_to_use_is_no_diet(reader: LexiconReader) -> None:
    question = "高血压合并痛风，医生说不能吃氢氯噻嗪，为什么？可以换什么药？"
    found = facts(reader, question, "氢氯噻嗪会升高血尿酸，应避免使用。可以继续使用氯沙坦。", "zh")
    assert {term for term, _ in found} == {"药物"}
    assert len(found) == 3


def test_facts_are_weighed_by_the_question(reader: LexiconReader) -> None:
    weighing = LexiconReader(reader.graph, open_fact_model())
    question = "**Which drug** treats a migraine attack?"
    answer = "Take sumatriptan 50 mg at the first sign. Every patient is different."
    imap = ask(weighing, question, "en")
    found = asyncio.run(weighing.read_answer(answer, question=question, imap=imap, lang="en")).inform
    drug, remark = found
    assert 0 < remark.importance < 0.5 < drug.importance <= 1
    again = asyncio.run(weighing.read_answer(answer, question=question.replace("*", ""), imap=imap, lang="en")).inform
    assert found == again
    assert weighing.signature != reader.signature


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["en", "zh"]))
def test_any_text_can_be_read(reader: LexiconReader, answer: str, lang: Lang) -> None:
    imap = ask(reader, "How to treat it? 怎么治疗？", lang)
    first = asyncio.run(reader.read_answer(answer, question="", imap=imap, lang=lang)).inform
    assert first == asyncio.run(reader.read_answer(answer, question="", imap=imap, lang=lang)).inform
    for pair in first:
        assert pair.span is not None
        assert answer[pair.span[0] : pair.span[1]].strip()
        assert pair.term in {"treatment", "治疗"}


@pytest.mark.parametrize("blank", ["  ", "\n", "\r\n", " \u00a0", "\u3000 "])
def test_white_space_in_a_question_makes_no_difference(reader: LexiconReader, blank: str) -> None:
    question = "How long is a child contagious that has had chickenpox for three days?"
    spaced = question.replace(" ", blank)
    imaps = [ask(reader, text, "en") for text in (question, spaced)]
    given_values = [[(pair.term, pair.value) for pair in (*imap.query, *imap.constraint)] for imap in imaps]
    assert given_values[1] == given_values[0]
    assert ("duration", "for three days") in given_values[1]
    answer = "Until all blisters have crusted."
    assert facts(reader, spaced, answer, "en") == facts(reader, question, answer, "en") != []
