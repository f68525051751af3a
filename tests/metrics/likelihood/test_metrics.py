"""The metrics over a reader whose probabilities are known: a character is a token, and how likely depends on it."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from imapeval.errors import ProviderError, ServiceError, UsageError
from imapeval.evaluation.evaluate import evaluate
from imapeval.llm.protocol import Completion, Request, Token, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics import options
from imapeval.metrics.base import Case, Metric, MetricResources
from imapeval.metrics.likelihood import build
from imapeval.metrics.likelihood.base import LikelihoodMetric
from imapeval.metrics.likelihood.logprobs import Continuation, TokenLogprobs
from imapeval.metrics.on_imaps import MetricOnImaps
from imapeval.types import Failure, Imap, Pair, Sample, Score

METRICS = {metric.name: metric for metric in build() if isinstance(metric, LikelihoodMetric)}
ON_IMAPS = {metric.name: metric for metric in build() if isinstance(metric, MetricOnImaps)}
CASE = Case("1", "What helps?", "Rest helps.", "Drink and rest.", "en")
CHINESE = Case("1", "怎么办？", "注意休息。", "多喝水，注意休息。", "zh")


def weigh(character: str) -> float:
    return -(1 + ord(character) % 7) / 8


class Reader:
    """Reads texts of up to 2,000 characters with their prefix."""

    identity = "characters#1"

    def __init__(self) -> None:
        self.given: list[Continuation] = []

    def read(self, given: Sequence[Continuation]) -> list[TokenLogprobs | Failure]:
        self.given += given
        return [self._read(one) for one in given]

    def _read(self, one: Continuation) -> TokenLogprobs | Failure:
        if one.whole and len(one.prefix + one.text) > 2000:
            return Failure("metric", "too-long", "too long")
        logprobs = tuple(map(weigh, one.text))
        return TokenLogprobs(logprobs, tuple(range(1, len(one.text) + 1)), 1 + len(one.prefix + one.text) // 2000)


def ready(name: str, **settings: str | int) -> LikelihoodMetric:
    return replace(METRICS[name], reader=Reader(), **settings)


def measure(name: str, case: Case = CASE, **settings: str | int) -> Score | Failure:
    [outcome] = ready(name, **settings).score_batch([case])
    return outcome


def total(text: str) -> float:
    return math.fsum(map(weigh, text))


def test_perplexities_are_those_of_the_reference_after_the_question() -> None:
    metric = ready("perplexity")
    [outcome] = metric.score_batch([CASE])
    assert metric.reader.given == [Continuation("Question: What helps?\nAnswer:", " Rest helps.")]
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(math.exp(-total(" Rest helps.") / 2))
    assert outcome.parts == {
        "loglikelihood": pytest.approx(total(" Rest helps.")), "tokens": 12.0, "words": 2.0, "bytes": 11.0,
    }  # fmt: skip
    assert measure("byte-perplexity").value == pytest.approx(math.exp(-total(" Rest helps.") / 11))
    assert measure("bits-per-byte").value == pytest.approx(-total(" Rest helps.") / 11 / math.log(2))


def test_chinese() -> None:
    # Three bytes a character; words are not separated by white space there.
    assert measure("bits-per-byte", CHINESE).value == pytest.approx(-total("注意休息。") / 15 / math.log(2))
    assert measure("perplexity", CHINESE).kind == "language"
    metric = ready("byte-perplexity")
    metric.score_batch([CHINESE])
    assert metric.reader.given == [Continuation("问题：怎么办？\n回答：", "注意休息。")]


def test_relaxed_perplexity_looks_for_the_reference_at_each_step_of_the_response() -> None:
    metric = ready("relaxed-perplexity", steps=3)
    [outcome] = metric.score_batch([CASE])
    prompt = "Question: What helps?\nAnswer:"
    assert metric.reader.given == [
        Continuation(prompt, " Drink and rest."),
        *(Continuation(prompt + start, " Rest helps.", whole=True) for start in ("", " ", " D", " Dr")),
    ]
    expected = 4 * total(" Rest helps.") / (3 + 12)
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(math.exp(-expected))
    assert outcome.parts == {"completion_tokens": 3.0, "target_tokens": 12.0, "truncated": 1.0}
    assert measure("relaxed-cross-entropy", steps=3).value == pytest.approx(-expected)


def test_relaxed_perplexity_of_a_short_response() -> None:
    short = replace(CASE, response="No")
    assert measure("relaxed-perplexity", short).parts == {"completion_tokens": 3.0, "target_tokens": 12.0}
    silent = measure("relaxed-perplexity", replace(CASE, response=" \n"))
    # Only at once, so that it is the reference's perplexity by token.
    assert silent.value == pytest.approx(math.exp(-total(" Rest helps.") / 12))
    assert silent.parts == {"completion_tokens": 0.0, "target_tokens": 12.0}


def test_gptscore() -> None:
    instruction = "Convert the following text into another expression that preserves key information. \n"
    metric = ready("gptscore", direction="both")
    [outcome] = metric.score_batch([CASE])
    assert metric.reader.given == [
        Continuation(f"{instruction}Rest helps. In other words ,", " Drink and rest.", whole=True),
        Continuation(f"{instruction}Drink and rest. In other words ,", " Rest helps.", whole=True),
    ]
    response, reference = total(" Drink and rest.") / 16, total(" Rest helps.") / 12
    assert isinstance(outcome, Score)
    assert outcome.parts == {"of_response": pytest.approx(response), "of_reference": pytest.approx(reference)}
    assert outcome.value == pytest.approx((response + reference) / 2)
    assert measure("gptscore").value == pytest.approx(response)
    assert measure("gptscore", direction="reference").value == pytest.approx(reference)
    bare = ready("gptscore", aspect="none")
    bare.score_batch([CHINESE])
    assert bare.reader.given == [Continuation("注意休息。换句话说，", "多喝水，注意休息。", whole=True)]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("gptscore", {"aspect": "beauty"}, "aspect='beauty'.*informativeness, naturalness, quality, none"),
        ("gptscore", {"direction": "left"}, "direction='left'.*response, reference, both"),
        ("relaxed-perplexity", {"steps": "0"}, "steps=0"),
    ],
)
def test_options_that_cannot_be(name: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options.set_options(METRICS[name], settings)


TEXTS = {
    "empty": "",
    "space": " \n",
    "word": "rest",
    "long": "rest well " * 10_000,
    "mixed": "Take 布洛芬 400 mg，然后休息。",
    "emoji": "🩺💊😀",
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("side", ["reference", "response"])
def test_every_text_has_a_score_or_a_reason(name: str, text: str, side: str) -> None:
    outcome = measure(name, replace(CASE, **{side: TEXTS[text]}))
    relaxed, gpt = name.startswith("relaxed"), name == "gptscore"
    if side == "reference" and text in ("empty", "space"):
        expected = "no-reference-tokens"
    elif gpt and text in ("empty", "space"):
        expected = "no-response-tokens"
    elif text == "long" and (gpt or (relaxed and side == "reference")):
        expected = "too-long"
    else:
        assert isinstance(outcome, Score), outcome
        low, high = METRICS[name].range
        assert low is None or outcome.value >= low
        assert high is None or outcome.value <= high
        if text == "long" and not relaxed and side == "reference":
            assert outcome.parts["pieces"] > 1
        return
    assert isinstance(outcome, Failure)
    assert outcome.kind == expected


def test_one_failure_leaves_the_others_alone() -> None:
    cases = [CASE, replace(CASE, reference=""), replace(CASE, reference=TEXTS["long"]), CASE]
    outcomes = ready("relaxed-cross-entropy").score_batch(cases)
    assert [getattr(outcome, "kind", "score") for outcome in outcomes] == [
        "score", "no-reference-tokens", "too-long", "score",
    ]  # fmt: skip
    assert outcomes[0] == outcomes[3]


def test_a_perplexity_beyond_all_numbers() -> None:
    word = replace(CASE, reference="z" * 1999)
    assert measure("perplexity", word).kind == "overflow"
    assert measure("bits-per-byte", word).value < 2


def test_what_is_told_about_them() -> None:
    assert list(METRICS) == [
        "perplexity", "byte-perplexity", "bits-per-byte", "relaxed-perplexity", "relaxed-cross-entropy", "gptscore",
    ]  # fmt: skip
    for name, metric in METRICS.items():
        assert metric.requires == {"reference", "logprobs"}
        assert metric.higher_is_better == (name == "gptscore")
        assert metric.missing_requirements == ""
        with pytest.raises(UsageError, match=f"--set {name}.model=FOLDER"):
            metric.prepare(MetricResources())
        with pytest.raises(UsageError, match="prepare"):
            metric.score_batch([CASE])
        absent = options.set_options(metric, {"model": "/nowhere"})
        assert absent.requires == {"reference", "weights"}
        assert absent.missing_requirements != ""
    assert METRICS["relaxed-perplexity"].signature == "relaxed-perplexity|steps:50|model:none|v:1"
    assert ready("gptscore").signature == ("gptscore|aspect:informativeness|direction:response|model:characters#1|v:1")


def echo(request: Request) -> Completion:
    """Reply as a server does that tells the probabilities of the given text, character by character."""
    assert request.messages == ()
    tokens = tuple(Token(character, weigh(character)) for character in request.given)
    return Completion("", "length", "echo", Usage(len(tokens), 1), tokens=tokens)


def ask(metric: Metric, cases: Sequence[Case]) -> list[Score | Failure]:
    assert metric.is_async
    return asyncio.run(metric.ascore_batch(cases))


@pytest.mark.parametrize("name", METRICS)
def test_a_server_gives_the_same(name: str) -> None:
    cases = [CASE, CHINESE, replace(CASE, response=""), replace(CASE, reference="")]
    asked = METRICS[name].prepare(MetricResources(llm=ScriptedModel(echo, identity="echo")))
    outcomes = ask(asked, cases)
    for outcome, expected in zip(outcomes, ready(name).score_batch(cases), strict=True):
        if isinstance(expected, Score):
            assert isinstance(outcome, Score)
            assert outcome.value == pytest.approx(expected.value)
            assert outcome.parts == pytest.approx(expected.parts)
        else:
            assert outcome == expected
    assert asked.signature == METRICS[name].signature.replace("model:none", "model:echo")
    assert (asked.requires, asked.range, asked.languages) == (
        METRICS[name].requires, METRICS[name].range, METRICS[name].languages,
    )  # fmt: skip


def test_what_fails_at_the_server_fails_alone() -> None:
    def answer(request: Request) -> Completion | Exception:
        if "long" in request.given:
            return ProviderError("8,192 tokens at most", kind="too-long")
        return echo(request)

    asked = METRICS["perplexity"].prepare(MetricResources(llm=ScriptedModel(answer)))
    outcomes = ask(asked, [CASE, replace(CASE, reference="a long one"), CASE])
    assert outcomes[1] == Failure("llm", "too-long", "8,192 tokens at most")
    assert isinstance(outcomes[0], Score)
    assert outcomes[0] == outcomes[2]


@pytest.mark.parametrize("name", METRICS)
def test_a_probability_of_0_is_a_failure_of_the_server(name: str) -> None:
    def answer(request: Request) -> Completion:
        completion = echo(request)
        return replace(completion, tokens=tuple(replace(token, logprob=-math.inf) for token in completion.tokens))

    (outcome,) = ask(METRICS[name].prepare(MetricResources(llm=ScriptedModel(answer))), [CASE])
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.kind) == ("llm", "unsupported")


def test_a_server_that_tells_none_ends_the_run() -> None:
    error = ServiceError("does not tell", kind="unsupported")
    asked = METRICS["relaxed-perplexity"].prepare(MetricResources(llm=ScriptedModel(lambda _: error)))
    with pytest.raises(ServiceError, match="does not tell"):
        ask(asked, [CASE, CASE])


IMAP = Imap(
    query=(Pair("drug", "?"),),
    constraint=(),
    reference=(Pair("drug", "ibuprofen"), Pair("dose", "400 mg")),
    response=(Pair("dose", "200 mg"), Pair("drug", "ibuprofen")),
)
SEEN = {
    "gptscore+imap": ("ibuprofen 400 mg", "ibuprofen 200 mg"),
    "gptscore+imap:pairs": ("drug: ibuprofen\ndose: 400 mg", "drug: ibuprofen\ndose: 200 mg"),
}


@pytest.mark.parametrize("name", SEEN)
def test_gptscore_on_imaps_behind_a_server_and_loaded_here(name: str) -> None:
    assert ON_IMAPS.keys() == SEEN.keys()
    metric = ON_IMAPS[name]
    assert metric.requires == {"reference", "imap", "logprobs"}
    model = ScriptedModel(echo, identity="echo")
    asked = metric.prepare(MetricResources(llm=model))
    good = replace(CASE, imap=IMAP, matches=())
    silent, unasked = replace(good, imap=replace(IMAP, response=())), replace(good, imap=replace(IMAP, query=()))
    outcomes = ask(asked, [unasked, good, silent])
    reference, response = SEEN[name]
    # What the metric of texts says of these texts, loaded here.
    expected = measure("gptscore", replace(CASE, reference=reference, response=response))
    assert isinstance(expected, Score)
    assert outcomes[1].value == pytest.approx(expected.value)
    assert [getattr(outcome, "kind", "score") for outcome in outcomes] == ["no-query", "score", "no-response-tokens"]
    assert [request.given.count(reference) for request in model.requests] == [1]
    assert asked.signature.startswith(f"{name}|aspect:informativeness|direction:response|model:echo|v:1|join:")
    loaded = replace(metric, metric=ready("gptscore"))
    assert loaded.score_batch([unasked, good, silent]) == [outcomes[0], expected, outcomes[2]]


async def test_evaluate_waits_for_gptscore_on_imaps() -> None:
    class Reads:
        signature, concurrency = "reads", 1

        async def extract(self, sample: Sample) -> tuple[Imap, ...]:
            return (IMAP,)

    class Matches:
        signature = "matches"

        async def match(self, imaps: Sequence[Imap], **_: Sequence[str]) -> list[tuple[()]]:
            return [() for _ in imaps]

    metric = ON_IMAPS["gptscore+imap"].prepare(MetricResources(llm=ScriptedModel(echo)))
    samples = [Sample("1", "q", ("a",), "b", "en")]
    [result] = await evaluate(samples, metrics=[metric], extractor=Reads(), matcher=Matches())
    assert isinstance(result.outcome, Score)


async def test_evaluate_keeps_the_best_reference() -> None:
    metric = METRICS["bits-per-byte"].prepare(MetricResources(llm=ScriptedModel(echo)))
    samples = [Sample("1", "q", ("aaaa", "zzzz"), "x", "en"), Sample("2", "q", (), "x", "en")]
    first, second = [result.outcome for result in await evaluate(samples, metrics=[metric], references="best")]
    assert isinstance(first, Score)
    # "z" is likelier than "a" here, and less is better.
    assert weigh("z") > weigh("a")
    assert first.parts["reference"] == 1.0
    assert isinstance(second, Failure)
    assert second.kind == "no-reference"
