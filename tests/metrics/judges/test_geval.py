"""G-Eval with a scripted model: arithmetic to the last digit, and what happens where the model does not play along."""

import asyncio
import json
import math
from dataclasses import replace
from statistics import fmean

import pytest

from imapeval.errors import ProviderError, ServiceError, UsageError
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.protocol import Completion, Token, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.structured.templates import find_texts
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges.client import SAMPLING_TEMPERATURE
from imapeval.metrics.judges.geval import DIMENSIONS, build
from imapeval.metrics.options import list_options, set_options
from imapeval.text.language import FACT_LANGS
from imapeval.types import Failure, Score

METRICS = {metric.name: metric for metric in build()}

CASE = Case("1", "How is a boil treated?", "Warm cloths, three times a day.", "Put a warm wet cloth on it.", "en")
CASE_ZH = Case("2", "疖子怎么治？", "每天热敷三次。", "用热毛巾敷。", "zh")


def prepared(name, model, **options):
    metric = set_options(METRICS[name], {key: str(value) for key, value in options.items()})
    return metric.prepare(MetricResources(llm=model))


def likely(chances: dict[int, float]) -> Completion:
    """A completion whose score is the likeliest of these."""
    best = max(chances, key=lambda score: chances[score])
    top = tuple((str(score), math.log(chance)) for score, chance in chances.items())
    tokens = (Token('{"score": ', 0.0), Token(str(best), math.log(chances[best]), top), Token("}", 0.0))
    return Completion(f'{{"score": {best}}}', "stop", "m", Usage(9, 5), tokens=tokens)


def write(score) -> str:
    return json.dumps({"score": score})


def criterion(request) -> str:
    """Return which of the dimensions a request is about."""
    (found,) = [name for name in DIMENSIONS if f"{name.capitalize()} (1-5)" in request.messages[0].content]
    return found


async def judge(metric, *cases):
    return await metric.ascore_batch(cases)


def test_there_is_one_metric_for_each_criterion_and_one_for_all():
    assert [*METRICS] == [
        "geval",
        *(f"geval:{name}" for name in DIMENSIONS),
        "geval-noref",
        *(f"geval-noref:{name}" for name in DIMENSIONS),
    ]
    assert all(metric.is_async for metric in METRICS.values())
    assert METRICS["geval"].requires == {"llm", "reference"}
    assert METRICS["geval-noref"].requires == {"llm"}
    assert METRICS["geval"].range == (1.0, 5.0)


async def test_the_metric_of_all_criteria_sends_the_requests_of_each():
    together, apart = (ScriptedModel(lambda request: likely({4: 0.6, 5: 0.3})) for _ in range(2))
    await judge(prepared("geval", together), CASE)
    for name in DIMENSIONS:
        await judge(prepared(f"geval:{name}", apart), CASE)
    assert len(together.requests) == len(DIMENSIONS)
    assert sorted(map(repr, together.requests)) == sorted(map(repr, apart.requests))


async def test_scores_are_weighted_where_probabilities_come():
    model = ScriptedModel([likely({4: 0.5, 5: 0.3, 3: 0.1})])
    (outcome,) = await judge(prepared("geval:accuracy", model), CASE)
    # (.5 * 4 + .3 * 5 + .1 * 3) / .9
    assert outcome.value == pytest.approx(3.8 / 0.9, abs=1e-12)
    assert outcome.parts == {"weighted": 1.0, "mass": pytest.approx(0.9, abs=1e-12)}
    (request,) = model.requests
    assert (request.logprobs, request.temperature, request.seed) == (20, 0.0, None)


async def test_without_probabilities_the_mean_of_samples_counts():
    model = ScriptedModel([write(5), *map(write, (4, 4, 2, 5, 3))])
    (outcome,) = await judge(prepared("geval:accuracy", model), CASE)
    assert outcome == Score(18 / 5, {"weighted": 0.0, "samples": 5.0})
    first, *samples = model.requests
    assert first.logprobs == 20
    # Requests that differ in nothing would be one in the cache.
    assert [request.seed for request in samples] == [1, 2, 3, 4, 5]
    assert {(request.temperature, request.logprobs) for request in samples} == {(SAMPLING_TEMPERATURE, 0)}


async def test_completions_without_probabilities_are_paid_for_once(tmp_path):
    model = ScriptedModel([write(5), *map(write, (4, 4, 2, 5, 3))])
    outcomes = [
        await judge(prepared("geval:accuracy", CachedModel(model, tmp_path / "c.sqlite")), CASE) for _ in range(2)
    ]
    assert outcomes[0] == outcomes[1]
    assert len(model.requests) == 6


async def test_that_none_came_for_one_case_says_nothing_of_others():
    def reply(request):
        return write(request.seed or 5) if "疖子" in request.messages[-1].content else likely({4: 1.0})

    outcomes = await judge(prepared("geval:accuracy", ScriptedModel(reply), samples=3), CASE_ZH, CASE)
    assert [outcome.value for outcome in outcomes] == [2.0, 4.0]
    assert [outcome.parts["weighted"] for outcome in outcomes] == [0.0, 1.0]


async def test_samples_alone_ask_for_no_probabilities():
    model = ScriptedModel([write(4)])
    (outcome,) = await judge(prepared("geval:accuracy", model, weights="samples", samples=1), CASE)
    assert outcome == Score(4.0, {"weighted": 0.0, "samples": 1.0})
    assert (model.requests[0].logprobs, model.requests[0].temperature) == (0, 0.0)


async def test_probabilities_that_are_insisted_on_and_do_not_come():
    (outcome,) = await judge(prepared("geval:accuracy", ScriptedModel([write(4)]), weights="logprobs"), CASE)
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.kind) == ("metric", "no-logprobs")
    assert "--set geval:accuracy.weights=auto" in outcome.message
    assert "imapeval cache clear --model NAME" in outcome.message


async def test_geval_is_the_mean_of_its_criteria():
    chances = {"accuracy": {5: 1.0}, "completeness": {2: 0.5, 3: 0.5}, "specificity": {1: 0.8}}
    model = ScriptedModel(lambda request: likely(chances[criterion(request)]))
    (outcome,) = await judge(prepared("geval", model), CASE)
    values = {"accuracy": 5.0, "completeness": 2.5, "specificity": 1.0}
    assert outcome.value == pytest.approx(fmean(values.values()), abs=1e-12)
    assert {name: outcome.parts[name] for name in DIMENSIONS} == pytest.approx(values, abs=1e-12)
    assert (outcome.parts["weighted"], outcome.parts["mass"]) == (1.0, pytest.approx(0.8, abs=1e-12))


async def test_geval_is_not_weighted_where_one_criterion_is_not():
    def reply(request):
        return write(4) if criterion(request) == "specificity" else likely({3: 1.0})

    (outcome,) = await judge(prepared("geval", ScriptedModel(reply), samples=2), CASE)
    assert outcome.parts == {"accuracy": 3.0, "completeness": 3.0, "specificity": 4.0, "weighted": 0.0}


@pytest.mark.parametrize(
    ("reply", "kind", "note"),
    [
        ("6/5", "off-scale", "its score is not on the scale"),
        (write(4.5), "off-scale", "its score is not on the scale"),
        ("3 or 5", "no-score", "it gave no score in the form that is asked for"),
        ("It is right.\nScore: 4", "no-score", "it gave no score in the form that is asked for"),
        ("no idea", "no-score", "it gave no score in the form that is asked for"),
        ("I'm sorry, but I can't rate that.", "refusal", "it refused"),
        (ProviderError("no", kind="refusal", raw="no"), "refusal", "it refused"),
    ],
)
async def test_what_cannot_be_used_is_asked_for_once_more(reply, kind, note):
    model = ScriptedModel([reply, likely({2: 1.0})])
    (outcome,) = await judge(prepared("geval:accuracy", model), CASE)
    assert outcome.value == 2.0
    first, second = model.requests
    assert second.messages[:-1] == first.messages[:-1]
    assert note in second.messages[-1].content.removeprefix(first.messages[-1].content)

    model = ScriptedModel([reply, reply])
    (outcome,) = await judge(prepared("geval:accuracy", model), CASE)
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind
    assert outcome.stage == ("llm" if isinstance(reply, Exception) else "metric")
    assert len(model.requests) == 2


async def test_a_score_off_the_scale_is_not_hidden_by_its_weights():
    place = Token("6", math.log(0.6), (("6", math.log(0.6)), ("5", math.log(0.4))))
    off = Completion("6", "stop", "m", Usage(1, 1), tokens=(place,))
    (outcome,) = await judge(prepared("geval:accuracy", ScriptedModel([off, off])), CASE)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "off-scale"


async def test_more_than_half_of_the_samples_are_enough():
    refusal = ProviderError("no", kind="refusal", raw="no")

    def reply(request):
        return refusal if request.seed in (2, 4) else write(request.seed)

    model = ScriptedModel(reply)
    (outcome,) = await judge(prepared("geval:accuracy", model, weights="samples", samples=5), CASE)
    assert outcome == Score(3.0, {"weighted": 0.0, "samples": 3.0})
    assert outcome.repetitions == ((1.0, 3.0, 5.0),)
    (outcome,) = await judge(prepared("geval:accuracy", model, weights="samples", samples=4), CASE)
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.kind) == ("llm", "refusal")


async def test_a_timeout_is_no_vote():
    """Whether it happens must not change the number."""

    def reply(request):
        return ProviderError("slow", kind="timeout") if request.seed == 1 else write(3)

    (outcome,) = await judge(prepared("geval:accuracy", ScriptedModel(reply), weights="samples"), CASE)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "timeout"


async def test_a_case_that_fails_is_the_only_one():
    def reply(request):
        return "hm" if "疖子" in request.messages[-1].content else likely({4: 1.0})

    outcomes = await judge(prepared("geval", ScriptedModel(reply)), CASE, CASE_ZH, CASE)
    assert [isinstance(outcome, Failure) for outcome in outcomes] == [False, True, False]
    assert outcomes[0] == outcomes[2]


async def test_what_ends_it_for_all_is_not_hidden_by_another_criterion():
    replies = {
        "accuracy": ProviderError("no", kind="too-long"),
        "completeness": ProviderError("slow", kind="timeout"),
        "specificity": ServiceError("gone", kind="unreachable"),
    }
    with pytest.raises(ServiceError, match="gone"):
        await judge(prepared("geval", ScriptedModel(lambda request: replies[criterion(request)])), CASE)
    replies["specificity"] = write(4)
    (outcome,) = await judge(prepared("geval", ScriptedModel(lambda request: replies[criterion(request)])), CASE)
    # What may not happen again comes before what lasts.
    assert outcome == Failure("llm", "timeout", "slow")


async def test_a_server_that_is_gone_ends_it():
    model = ScriptedModel(lambda _: ServiceError("gone", kind="unreachable"), concurrency=2)
    with pytest.raises(ServiceError, match="gone"):
        await judge(prepared("geval:accuracy", model), *[CASE] * 50)
    assert len(model.requests) <= 4


async def test_no_more_cases_at_a_time_than_the_model_makes_use_of():
    class Counting(ScriptedModel):
        under_way = most = 0

        async def complete(self, request):
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0)
            self.under_way -= 1
            return await super().complete(request)

    model = Counting(lambda _: likely({4: 1.0}), concurrency=3)
    assert len(await judge(prepared("geval:accuracy", model), *[CASE] * 20)) == 20
    assert model.most == 3


async def test_a_model_without_schemas_is_asked_without():
    def reply(request):
        if request.schema is not None or request.json:
            return ProviderError("no such format", kind="unsupported")
        return "4"

    model = ScriptedModel(reply)
    (outcome,) = await judge(prepared("geval:accuracy", model, weights="samples", samples=1), CASE)
    assert outcome.value == 4.0
    assert [(request.schema is not None, request.json) for request in model.requests] == [
        (True, False),
        (False, True),
        (False, False),
    ]


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("case", [CASE, CASE_ZH], ids=lambda case: case.lang)
async def test_what_is_sent(name, case):
    model = ScriptedModel(lambda _: likely({4: 1.0}))
    await judge(prepared(name, model), case)
    assert len(model.requests) == len(METRICS[name].criteria)
    for request in model.requests:
        system, user = request.messages
        assert ("1 到 5" if case.lang == "zh" else "from 1 to 5") in system.content
        texts = {"question": case.question, "answer": case.response}
        if METRICS[name].with_reference:
            texts["reference"] = case.reference
        assert find_texts(user.content) == texts
        assert request.schema["properties"]["score"]["enum"] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("response", ["", "  \n", "…!?", "😀😀"])
async def test_a_response_that_says_nothing_is_the_worst_and_not_asked_about(response):
    model = ScriptedModel([])
    outcomes = await judge(prepared("geval", model), replace(CASE, response=response))
    assert outcomes == [Score(1.0)]
    assert not model.requests


@pytest.mark.parametrize("response", ["Rest.", "word " * 20_000, "热敷 three times 每天 😀", "😀 rest"])
async def test_any_other_response_is_scored(response):
    (outcome,) = await judge(
        prepared("geval", ScriptedModel(lambda _: likely({4: 1.0}))), replace(CASE, response=response)
    )
    assert outcome.value == 4.0


async def test_a_response_that_is_too_long_for_the_model_is_a_failure():
    model = ScriptedModel(lambda _: ProviderError("too long", kind="too-long"))
    (outcome,) = await judge(prepared("geval", model), replace(CASE, response="word " * 20_000))
    assert outcome == Failure("llm", "too-long", "too long")


def test_it_is_signed_with_everything_that_counts():
    metric = METRICS["geval:accuracy"]
    signatures = {
        metric.signature,
        prepared("geval:accuracy", ScriptedModel([], identity="m1")).signature,
        prepared("geval:accuracy", ScriptedModel([], identity="m2")).signature,
        *(
            prepared("geval:accuracy", ScriptedModel([]), weights=weights).signature
            for weights in ("logprobs", "samples")
        ),
        prepared("geval:accuracy", ScriptedModel([]), samples=20).signature,
        METRICS["geval:completeness"].signature,
        METRICS["geval-noref:accuracy"].signature,
    }
    assert len(signatures) == 8
    assert {option.name for option in list_options(metric)} == {"weights", "samples"}
    signed = prepared("geval:accuracy", ScriptedModel([], identity="m1")).signature
    assert signed.startswith("geval:accuracy|samples:5|weights:auto|model:m1|prompts:geval.v1#")


def test_without_a_model_it_says_how_to_name_one():
    with pytest.raises(UsageError, match=r"'geval'.*--llm openai:NAME"):
        METRICS["geval"].prepare(MetricResources())
    with pytest.raises(UsageError, match=r"prepare\(\)"):
        METRICS["geval"].score_batch([CASE])


@pytest.mark.parametrize("options", [{"samples": "0"}, {"weights": "log"}])
def test_options_are_checked(options):
    with pytest.raises(UsageError, match="'geval'"):
        set_options(METRICS["geval"], options)


def test_it_may_be_called_without_an_event_loop():
    assert prepared("geval", ScriptedModel(lambda _: likely({4: 1.0}))).score_batch([CASE])[0].value == 4.0


def test_both_languages_have_prompts():
    assert METRICS["geval"].languages == set(FACT_LANGS)
