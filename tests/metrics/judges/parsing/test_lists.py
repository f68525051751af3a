import json

import pytest

from imapeval.errors import ExtractionError
from imapeval.metrics.judges.parsing.lists import (
    MAX_QUESTIONS,
    read_answers,
    read_facts,
    read_overlaps,
    read_questions,
    read_support,
)


def read_one_answer(text):
    return read_answers(text, questions=1)


def read_one_overlap(text):
    return read_overlaps(text, pairs=1)


def dump(**fields):
    return json.dumps(fields, ensure_ascii=False)


def test_facts_are_read_once_each():
    assert read_facts(dump(facts=["Rest helps.", " Rest\nhelps. ", "", None, "热敷"])) == ["Rest helps.", "热敷"]
    assert read_facts("```json\n" + dump(facts=[]) + "\n```") == []


@pytest.mark.parametrize("said", [True, "true", "Yes", "是", "支持"])
def test_support(said):
    assert read_support(dump(supported=said)) is True


@pytest.mark.parametrize("completion", ["False.", "no", "否。", dump(supported="false"), dump(supported=False)])
def test_no_support(completion):
    assert read_support(completion) is False


def test_questions_are_read_up_to_the_most():
    many = [{"question": f"q{n}?", "answer": "a"} for n in range(MAX_QUESTIONS + 3)]
    assert list(read_questions(dump(questions=many))) == [f"q{n}?" for n in range(MAX_QUESTIONS)]
    assert read_questions(dump(questions=[{"question": "q?", "answer": ""}, {"question": "", "answer": "a"}])) == {}


def test_answers_are_in_the_order_of_their_numbers():
    answers = [{"number": 2, "answer": None}, {"number": 1, "answer": "rest"}, {"number": 7, "answer": "x"}]
    assert read_answers(dump(answers=answers), questions=2) == ["rest", ""]


def test_overlaps():
    completion = dump(scores=[{"number": 1, "score": 5}, {"number": 2, "score": "1"}])
    for written in (completion, f"```json\n{completion}\n```", f"<think>4?</think>\n{completion}<|im_end|>"):
        assert read_overlaps(written, pairs=2) == [5, 1]


@pytest.mark.parametrize("read", [read_facts, read_support, read_questions, read_one_answer, read_one_overlap])
@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ("maybe", "unreadable-completion"),
        ("true and false", "unreadable-completion"),
        ("I'm sorry, I cannot do that.", "refusal"),
        ("{}", "empty-object"),
        ("<think>hm", "only-thinking"),
    ],
)
def test_what_cannot_be_read_has_a_name(read, completion, kind):
    with pytest.raises(ExtractionError) as caught:
        read(completion)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("read", "completion"),
    [
        (read_facts, dump(facts="Rest helps.")),
        (read_facts, dump(facts=[{"fact": "Rest helps."}])),
        (read_facts, dump(facts=["x" * 501])),
        (read_support, dump(supported="perhaps")),
        (read_support, dump(supported=1)),
        (read_support, dump(supported=True) + "\nWait, that is wrong."),
        (read_support, dump(supported=True, error="cannot tell")),
        (read_one_overlap, dump(scores=[{"number": 1, "score": 4}]) + "\nNo: 2."),
        (read_one_overlap, dump(scores=[{"number": 1, "score": 4, "error": "none"}])),
        # Only an empty list under the key says that there is nothing.
        (read_facts, "[]"),
        (read_facts, dump(facts={})),
        (read_facts, dump(facts=[{}])),
        (read_facts, dump(facts=None)),
        (read_facts, "I cannot read the answer. " + dump(facts=[])),
        (read_facts, dump(facts=[]) + " 抱歉，无法完成。"),
        (read_facts, dump(facts=[], note="I cannot help with that")),
        (read_questions, "No questions can be made of this. " + dump(questions=[])),
        (read_questions, dump(questions=[{"question": "", "answer": ""}], detail="overloaded")),
        (read_support, dump(supported=True, refusal="I cannot tell")),
        (read_one_overlap, dump(scores=[{"number": 1, "score": 4}], note="a guess")),
        (read_questions, "[]"),
        (read_questions, dump(questions={})),
        (read_questions, dump(questions=[{}])),
        (read_questions, dump(questions=[{"question": "q?"}])),
        (read_questions, dump(questions=[{"q": "q?", "a": "rest"}])),
        (read_questions, dump(questions=[{"question": {"text": "q?"}, "answer": "rest"}])),
        (read_questions, dump(questions=["q?"])),
        (read_one_answer, dump(answers=[{"number": 1}])),
        (read_one_answer, dump(answers=[{"number": 1, "text": "rest"}])),
        (read_one_answer, dump(answers=[{"number": True, "answer": "rest"}])),
        (lambda text: read_answers(text, questions=2), dump(answers=[{"number": 1, "answer": "a"}])),
        (read_one_answer, dump(answers=[{"number": 1, "answer": "a"}, {"number": 1, "answer": "b"}])),
        (read_one_answer, dump(answers=[{"number": "1", "answer": "a"}])),
    ],
)
def test_half_a_list_is_none(read, completion):
    with pytest.raises(ExtractionError) as caught:
        read(completion)
    assert caught.value.kind == "unreadable-completion"


@pytest.mark.parametrize(
    ("read", "completion", "kind"),
    [
        (read_facts, '{"facts": ["Rest helps."], "facts": []}', "different-objects"),
        (read_support, '{"supported": true, "supported": false}', "different-objects"),
        (read_questions, '{"questions": [{"question": "q?", "answer": "rest", "answer": ""}]}', "different-objects"),
        (read_one_answer, '{"answers": [{"number": 1, "answer": "a", "Answer": ""}]}', "different-objects"),
        (read_one_overlap, '{"scores": [{"number": 1, "score": 1, "score": 5}]}', "different-objects"),
        (read_facts, '{"facts": [], "facts": []}', "unreadable-completion"),
        (read_support, '{"supported": true, "supported": true}', "unreadable-completion"),
        (read_one_overlap, '{"scores": [{"number": 1, "score": 5, "Score": 5}]}', "unreadable-completion"),
    ],
)
def test_a_key_that_is_there_twice(read, completion, kind):
    with pytest.raises(ExtractionError) as caught:
        read(completion)
    assert (caught.value.kind, caught.value.raw) == (kind, completion)


REFUSALS = ["I'm sorry, but I can't help with that.", "As an AI, I give no advice.", "抱歉，我无法提供医疗建议。"]


@pytest.mark.parametrize("said", REFUSALS)
def test_a_refusal_in_the_asked_form_is_a_refusal(said):
    for read, completion in (
        (read_facts, dump(facts=[said])),
        (read_questions, dump(questions=[{"question": said, "answer": "none"}])),
        (lambda text: read_answers(text, questions=2), dump(answers=[{"number": n, "answer": said} for n in (1, 2)])),
    ):
        with pytest.raises(ExtractionError) as caught:
            read(completion)
        assert (caught.value.kind, caught.value.raw) == ("refusal", completion)


def test_what_a_response_declines_is_what_it_says():
    said = "I cannot prescribe opioids."
    assert read_facts(dump(facts=[said]), text=f"Rest. {said}") == [said]
    assert read_facts(dump(facts=["Rest.", said])) == ["Rest.", said]
    assert read_answers(dump(answers=[{"number": 1, "answer": said}]), questions=1, text=f"Rest. {said}") == [said]


def test_a_list_without_end_is_a_loop():
    with pytest.raises(ExtractionError) as caught:
        read_facts(dump(facts=[f"fact {n}" for n in range(201)]))
    assert caught.value.kind == "repetition-loop"


@pytest.mark.parametrize(("score", "kind"), [(6, "off-scale"), ({"value": 4}, "no-score")])
def test_an_overlap_that_is_no_score(score, kind):
    completion = dump(scores=[{"number": 1, "score": score}])
    with pytest.raises(ExtractionError) as caught:
        read_overlaps(completion, pairs=1)
    assert (caught.value.kind, caught.value.raw) == (kind, completion)
