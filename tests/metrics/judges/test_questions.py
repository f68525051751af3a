import json
from dataclasses import replace

import pytest

from imapeval.errors import ServiceError
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.structured.templates import find_texts
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges.questions import build, measure_f1
from imapeval.types import Failure, Score

METRICS = {metric.name: metric for metric in build()}

CASE = Case("1", "How is a boil treated?", "Warm cloths three times a day.", "Warm cloths, or cephalexin.", "en")
ABOUT_REFERENCE = {"What treats a boil?": "warm cloths", "How often?": "three times a day"}
ABOUT_RESPONSE = {
    "What may be put on a boil?": "warm cloths",
    "Which antibiotic?": "cephalexin",
    "Who said so?": "nobody",
}
OF_RESPONSE = {
    "What treats a boil?": "warm cloths or cephalexin",
    "How often?": "",
    "What may be put on a boil?": "the warm cloths",
    "Which antibiotic?": "cephalexin",
    "Who said so?": "",
}
OF_REFERENCE = {"What may be put on a boil?": "warm cloths", "Which antibiotic?": "", "Who said so?": ""}


def list_questions(texts):
    return json.dumps({"questions": [{"question": asked, "answer": answer} for asked, answer in texts.items()]})


def reply(request):
    asked = request.messages[-1].content
    if request.schema_name == "text-questions":
        return list_questions(ABOUT_REFERENCE if CASE.reference in asked else ABOUT_RESPONSE)
    if request.schema_name == "text-answers":
        answers = OF_REFERENCE if CASE.reference in asked else OF_RESPONSE
        lines = find_texts(asked)["questions"].splitlines()
        numbered = [line.partition(". ") for line in lines]
        return json.dumps({"answers": [{"number": int(n), "answer": answers[asked]} for n, _, asked in numbered]})
    pairs = '1. question "What may be put on a boil?"; A "warm cloths"; B "warm cloths"'
    assert find_texts(asked) == {"pairs": pairs}
    return '{"scores": [{"number": 1, "score": 4}]}'


async def judge(name, model, case=CASE):
    (outcome,) = await METRICS[name].prepare(MetricResources(llm=model)).ascore_batch([case])
    return outcome


async def test_questeval_asks_both_ways():
    model = ScriptedModel(reply)
    outcome = await judge("questeval:llm", model)
    # F1 of "warm cloths" and "warm cloths or cephalexin" is 2 * 2 / (2 + 4); "three times a day" ("a" is an article)
    # has no answer. Answerability 1 and 0.
    recall = (2 / 3 + 0 + 1 + 0) / 4
    # "warm cloths" is there, the two others are not.
    precision = (1 + 0 + 0 + 1 + 0 + 0) / 6
    assert outcome.value == pytest.approx((recall + precision) / 2, abs=1e-12)
    assert outcome.parts == pytest.approx({"recall": recall, "precision": precision, "questions": 5.0}, abs=1e-12)
    assert len(model.requests) == 4


async def test_qafacteval_asks_of_the_response_what_it_answers_itself():
    outcome = await judge("qafacteval:llm", ScriptedModel(reply))
    # "Who said so?" is left out, for the response does not answer it. Of the two others the reference answers one, and
    # that is rated 4 of 1..5; the other counts 0.
    assert outcome == Score((3 / 4 + 0) / 2, {"questions": 2.0, "answered": 0.5, "f1": 0.5})


async def test_qafacteval_rates_nothing_where_nothing_is_answered():
    def refuse(request):
        if request.schema_name == "text-answers" and CASE.reference in request.messages[-1].content:
            return '{"answers": [{"number": 1, "answer": ""}, {"number": 2, "answer": ""}]}'
        return reply(request)

    outcome = await judge("qafacteval:llm", ScriptedModel(refuse))
    assert outcome == Score(0.0, {"questions": 2.0, "answered": 0.0, "f1": 0.0})


async def test_a_question_without_answer_earns_nothing_whatever_is_expected():
    """The blood group "A" is an article to SQuAD."""

    def reply(request):
        if request.schema_name == "text-questions":
            return list_questions({"Which blood group?": "A"})
        return '{"answers": [{"number": 1, "answer": ""}]}'

    outcome = await judge("questeval:llm", ScriptedModel(reply))
    assert outcome == Score(0.0, {"precision": 0.0, "recall": 0.0, "questions": 2.0})
    # The response itself does not answer the question, which is left out.
    outcome = await judge("qafacteval:llm", ScriptedModel(reply))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "no-questions"


@pytest.mark.parametrize(
    ("task", "limit"), [("text-questions", 4096), ("text-answers", 4096), ("answer-overlap", 1024)]
)
async def test_lists_have_room(task, limit):
    model = ScriptedModel(reply)
    await judge("qafacteval:llm", model)
    assert {request.max_tokens for request in model.requests if request.schema_name == task} == {limit}


@pytest.mark.parametrize("first", ["text-questions", "text-answers"])
async def test_a_server_that_is_gone_counts_more_than_what_cannot_be_read(first):
    def fail(request):
        if request.schema_name != first:
            return reply(request)
        about_reference = find_texts(request.messages[-1].content)["text"] == CASE.reference
        return "hm" if about_reference == (first == "text-questions") else ServiceError("gone", kind="unreachable")

    with pytest.raises(ServiceError, match="gone"):
        await judge("questeval:llm", ScriptedModel(fail))


@pytest.mark.parametrize("response", ["", "?", "🙂"])
@pytest.mark.parametrize("name", METRICS)
async def test_an_empty_response_is_worth_nothing(name, response):
    assert await judge(name, ScriptedModel([]), replace(CASE, response=response)) == Score(0.0)


async def test_a_reference_or_response_without_facts():
    def nothing(request):
        return list_questions({}) if request.schema_name == "text-questions" else reply(request)

    for name in METRICS:
        outcome = await judge(name, ScriptedModel(nothing))
        assert isinstance(outcome, Failure)
        assert (outcome.stage, outcome.kind) == ("metric", "no-questions")

    def greet(request):
        asked = request.messages[-1].content
        if request.schema_name == "text-questions" and CASE.reference not in asked:
            return list_questions({})
        return reply(request)

    outcome = await judge("questeval:llm", ScriptedModel(greet))
    assert (outcome.parts["precision"], outcome.parts["questions"]) == (0.0, 2.0)


@pytest.mark.parametrize("name", METRICS)
async def test_what_cannot_be_read_is_a_failure(name):
    outcome = await judge(name, ScriptedModel(lambda _: "Warm cloths."))
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.kind) == ("metric", "unreadable-completion")


@pytest.mark.parametrize(
    ("expected", "given", "f1"),
    [
        # `calculate_f1_squad` of QuestEval's utils.py, worked out by hand.
        ("The aspirin tablet", "an aspirin", 2 / 3),
        ("three times a day", "Three times, day", 1.0),
        ("rest", "", 0.0),
        # Not theirs, to which these are all alike.
        ("A", "", 0.0),
        ("A", "a", 1.0),
        ("the", "a", 0.0),
        ("+", "-", 0.0),
        ("+", "+", 1.0),
        ("rest rest", "rest", 2 / 3),
        ("每天热敷三次", "热敷三次。", 8 / 10),
        ("查CT", "做CT", 2 / 4),
        ("2.5 mg", "25 mg", 1 / 2),
        ("每次2.5片", "每次25片", 6 / 8),
        ("2-3 times", "23 times", 1 / 2),
        ("120/80", "12080", 0.0),
        ("1,000 mg", "1000 mg.", 1.0),
        ("2,5 mg", "25 mg", 1 / 2),
        ("2,5 mg", "2.5 mg", 1.0),
        ("1,000,50 mg", "1000.50 mg", 1.0),
        ("at 9.", "at 9", 1.0),
        ("O+", "O-", 0.0),
        ("HIV+", "HIV-.", 0.0),
        ("HIV+", "hiv+, ", 1.0),
        ("A+", "A-", 0.0),
        ("A+", "A+", 1.0),
        ("follow-up", "followup", 1.0),
        ("- rest", "rest", 1.0),
        (".5 mg", "5 mg", 1 / 2),
        ("yes.", "yes", 1.0),
        *((f"{name}+", f"{name}-", 0.0) for name in ("HER2", "CD4", "HLA-B27", "CD138")),
        ("HIV (+)", "HIV(-)", 0.0),
        ("HIV (+)", "HIV+", 1.0),
        ("HBsAg（+）", "HBsAg（-）", 0.0),
        ("乙肝表面抗原(+)", "乙肝表面抗原-", 6 / 7),
        # A hyphen that stands for the rest of a word.
        ("pre and postoperative", "pre- and postoperative", 1.0),
        ("low to moderate", "low- to moderate", 1.0),
        ("aspirin--rest", "aspirin-rest", 1.0),
    ],
)
def test_answers_are_compared_as_in_squad(expected, given, f1):
    assert measure_f1(expected, given) == pytest.approx(f1, abs=1e-12)


def test_the_names_say_that_a_language_model_runs_them():
    assert [*METRICS] == ["questeval:llm", "qafacteval:llm"]
    assert all(metric.requires == {"llm", "reference"} for metric in METRICS.values())
