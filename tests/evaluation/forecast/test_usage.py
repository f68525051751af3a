"""What is foretold of judges is held against what a model is then asked, and against what is in the cache."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from imapeval.evaluation.evaluate import evaluate
from imapeval.evaluation.forecast.dry_run import DryRun, dry_run_samples, open_dry_run
from imapeval.evaluation.forecast.simulated_replies import _simulate_values, task_name
from imapeval.evaluation.forecast.usage import TaskForecast, UsageForecast, forecast_usage
from imapeval.evaluation.imap_files import ImapRecord, dump_record
from imapeval.evaluation.pipeline import LlmSettings, open_extractor, open_graph, open_matcher
from imapeval.evaluation.samples import read
from imapeval.llm import tokens
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics import registry
from imapeval.metrics.base import Case, Metric, MetricResources
from imapeval.metrics.judges.base import Judge
from imapeval.metrics.judges.client import JudgeRequest, make_template
from imapeval.types import Lang, Sample, Score

OpenOver = Callable[..., DryRun]
JudgeLive = Callable[..., Awaitable[Counter[str]]]

SAMPLES = [
    Sample("a", "What helps against a fever?", ("Take ibuprofen, and drink plenty.",), "Take paracetamol. Rest."),
    Sample("b", "What helps against a fever?", ("Take ibuprofen, and drink plenty.",), "Rest in bed."),
    Sample("c", "咳嗽吃什么药？", ("口服止咳糖浆。",), "多喝水，休息。", lang="zh"),
]
TEXT_JUDGES = ("prometheus", "factscore", "questeval:llm", "qafacteval:llm")


async def forecast(samples: list[Sample], work: DryRun) -> UsageForecast:
    return await forecast_usage(samples, work, count=lambda texts: (sum(map(tokens.estimate, texts)), False))


def find(found: UsageForecast, name: str) -> TaskForecast:
    (task,) = [task for task in found.tasks if task.name == name]
    return task


@pytest.fixture
def judge_live(model: ScriptedModel, cached: CachedModel) -> Callable[..., Awaitable[Counter[str]]]:
    """Score for real and return how many requests there were of each kind."""

    async def judge(names: Sequence[str], samples: Sequence[Sample] = SAMPLES) -> Counter[str]:
        results = await evaluate(
            samples, metrics=[metric.prepare(MetricResources(llm=cached)) for metric in registry.choose(names)]
        )
        assert all(isinstance(result.outcome, Score) for result in results)
        return Counter(map(task_name, model.requests))

    return judge


async def test_what_is_certain_is_what_is_asked(open_over: OpenOver, judge_live: JudgeLive):
    found = await forecast(SAMPLES, open_over(*TEXT_JUDGES))
    certain = {task.name: task.calls - task.supposed for task in found.tasks}
    asked = await judge_live(TEXT_JUDGES)
    for name in ("prometheus", "atomic-facts", "text-questions"):
        assert certain[name] == asked[name] > 0
    for name in ("fact-support", "text-answers", "answer-overlap"):
        assert certain[name] == 0
    # A fact for every clause: two of the first answer, one of the second, two of the third.
    assert find(found, "fact-support").calls == 5
    # Three each, which two samples with the same question and reference share.
    assert asked["fact-support"] == 6
    assert "a fact for every clause of the answer" in found.assumed


async def test_what_is_in_the_cache_is_known_and_free(open_over: OpenOver, judge_live: JudgeLive):
    asked = await judge_live(TEXT_JUDGES)
    found = await forecast(SAMPLES, open_over(*TEXT_JUDGES))
    assert {task.name: task.calls for task in found.tasks} == asked
    assert [task.supposed for task in found.tasks] == [0] * len(found.tasks)
    assert (found.assumed, sum(task.prompt_tokens + task.completion_tokens for task in found.tasks)) == ((), 0)


async def test_facts_that_are_known_make_their_verdicts_certain(open_over: OpenOver, cached: CachedModel):
    work = open_over("factscore")
    async for done in _dry_run_first(work):
        for asked in done:
            await cached.complete(asked)
    found = await forecast(SAMPLES, open_over("factscore"))
    facts, support = find(found, "atomic-facts"), find(found, "fact-support")
    assert (facts.calls, facts.cached) == (3, 3)
    assert (support.calls, support.supposed, support.cached) == (6, 0, 0)
    assert found.assumed == ()


async def _dry_run_first(work: DryRun):
    async for done in dry_run_samples(SAMPLES, work):
        yield [asked.request for asked in done.asked if asked.request.schema_name == "atomic-facts"]


async def test_probabilities_are_supposed_and_said_to_be(open_over: OpenOver, judge_live: JudgeLive):
    found = await forecast(SAMPLES, open_over("geval"))
    geval = find(found, "geval")
    assert (geval.calls, geval.with_logprobs, geval.supposed) == (9, 9, 0)
    # By then it is known that this server gives none.
    asked = await judge_live(["geval"])
    again = find(await forecast(SAMPLES, open_over("geval")), "geval")
    assert (again.calls, again.cached, again.with_logprobs) == (asked["geval"], asked["geval"], 0)
    assert asked["geval"] == 2 + 9 * 5


async def test_samples_are_certain(open_over: OpenOver):
    options = {"geval": {"weights": "samples", "samples": "4"}}
    geval = find(await forecast(SAMPLES, open_over("geval", **options)), "geval")
    assert (geval.calls, geval.with_logprobs, geval.supposed) == (36, 0, 0)


async def test_means_of_the_cache_are_expected(open_over: OpenOver, judge_live: JudgeLive):
    many = [replace(SAMPLES[0], id=str(number), response=f"Rest for {number} days.") for number in range(12)]
    await judge_live(["prometheus"], many)
    more = [*many, replace(SAMPLES[0], id="new", response="Sleep.")]
    prometheus = find(await forecast(more, open_over("prometheus")), "prometheus")
    assert (prometheus.calls, prometheus.cached, prometheus.seen, prometheus.completion_tokens) == (13, 12, 12, 9)


async def test_given_texts(open_over: OpenOver):
    found = await forecast(SAMPLES[:1], open_over("perplexity", "gptscore", "relaxed-cross-entropy"))
    given = find(found, "given-text")
    # The response has 24 characters with the space before it, and its first token begins before it: 7 tokens. So the
    # reference is looked for at 8 places, the first of which is perplexity's; besides, the response is read as a whole.
    assert given.calls == 1 + 1 + (1 + 8) - 1
    assert given.completion_tokens == given.calls
    assert "a token for every four Latin characters of a given text, or one Chinese" in found.assumed


def _asks_about_texts(metric: Metric) -> bool:
    return "llm" in metric.requires and "imap" not in metric.requires


@dataclass(frozen=True)
class Stranger(Metric):
    """A metric of another package."""

    model: object = None
    name = "strange"
    summary = "a rating"
    signature = "strange"
    requires = frozenset({"llm"})
    range = (0.0, 1.0)
    concurrency = 1

    def prepare(self, resources: MetricResources):
        return replace(self, model=resources.llm)

    async def score(self, case: Case):
        request = Request((Message("user", f"Rate {case.response}"),), schema_name="strange-rating")
        return float((await self.model.complete(request)).text)


async def test_what_a_stranger_asks_is_counted_and_not_guessed_further(open_over: OpenOver):
    dry_run = open_over("prometheus").model
    work = open_dry_run(LlmSettings("openai:m"), dry_run, metrics=[Stranger()])
    found = await forecast(SAMPLES, work)
    strange = find(found, "strange-rating")
    assert (strange.calls, strange.completion_tokens, found.failed) == (3, 0, {"unforeseen": 3})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kindness(Judge):
    """A judge of another package, which states no reply: a number alone is supposed."""

    name = "kindness"
    summary = "how kind the response is, 1..5"
    range = (1.0, 5.0)
    template = make_template("kindness", "How kind is it, from 1 to 5? <answer>{{answer}}</answer>")

    async def score(self, case: Case) -> float:
        request = JudgeRequest("kindness", case.lang, {"answer": case.response}, template=self.template)
        return await self.ask(request, lambda completion: float(self.read(completion.text)))

    def read(self, text: str) -> str:
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class VerboseKindness(Kindness):
    """The same with reasons, of which it states an example."""

    def simulate_reply(self, task: str) -> str:
        assert task == "kindness"
        return f"{'It is friendly. ' * 10}Rating: 4"

    def read(self, text: str) -> str:
        return text.split("Rating: ")[1]


@pytest.mark.parametrize("judge", [Kindness(), VerboseKindness()])
async def test_a_judge_of_another_package_states_its_reply(
    open_over: OpenOver, monkeypatch: pytest.MonkeyPatch, judge: Judge
):
    dry_run = open_over("prometheus").model
    monkeypatch.setattr(registry, "all_metrics", lambda: [judge])
    found = await forecast(SAMPLES, open_dry_run(LlmSettings("openai:m"), dry_run, metrics=[judge]))
    kindness = find(found, "kindness")
    assert (kindness.calls, found.failed) == (3, {})
    assert kindness.completion_tokens == 3 * tokens.estimate(judge.simulate_reply("kindness")) > 0


@pytest.mark.parametrize("name", [metric.name for metric in registry.all_metrics() if _asks_about_texts(metric)])
async def test_every_judge_of_texts_can_read_the_supposed_replies(open_over: OpenOver, name: str):
    found = await forecast(SAMPLES[1:], open_over(name))
    assert found.failed.keys() <= {"language"}, "state a reply in Judge.simulate_reply"


JUDGES = [metric.name for metric in registry.all_metrics() if metric.requires & {"llm", "logprobs"}]


@pytest.mark.slow
@pytest.mark.parametrize("relations", [False, True])
async def test_what_is_supposed_is_understood(open_over: OpenOver, relations: bool):
    """Every judge reaches its score over made-up replies, in both languages: no request is left out."""
    dry_run = open_over("prometheus").model
    settings = LlmSettings("openai:m", relations=relations)
    work = open_dry_run(settings, dry_run, metrics=registry.choose(["imapscore", *JUDGES]))
    samples = [*read("sample-en")[:6], *read("sample-zh")[:6]]
    found = await forecast(samples, work)
    assert found.failed - Counter(language=len(samples)) == {}, "but for metrics that know one language"
    assert ("value-relation" in {task.name for task in found.tasks}) == relations
    for name in ("question-imap", "answer-inform", "atomic-facts", "text-questions"):
        assert find(found, name).supposed == 0
    assert find(found, "judge").supposed == 0
    for name in ("fact-support", "text-answers", "answer-overlap"):
        task = find(found, name)
        assert task.supposed == task.calls > 0


async def test_readings_are_blended_with_one_rating(open_over: OpenOver):
    dry_run = open_over("prometheus").model
    text = "Take ibuprofen. Drink plenty. Rest in bed. Call a doctor after three days."
    sample = Sample("a", "What helps against a fever?", (text,), text)
    work = open_dry_run(LlmSettings("openai:m", votes=3), dry_run, metrics=registry.choose(["blend"]))
    found = await forecast([sample], work)
    assert {task.name: task.calls for task in found.tasks} == {"question-imap": 3, "answer-inform": 3, "judge": 1}


@pytest.mark.parametrize(
    ("lang", "clause"), [("en", "Take ibuprofen every eight hours with food. "), ("zh", "口服布洛芬每八小时一次。")]
)
async def test_long_answers_take_more_tokens_to_read(open_over: OpenOver, lang: Lang, clause: str):
    mean_length = {"en": 787, "zh": 192}[lang]
    work = open_dry_run(LlmSettings("openai:m"), open_over("prometheus").model)

    async def expected_tokens(length: int) -> int:
        answer = (clause * length)[:length]
        found = await forecast(
            [Sample("a", {"en": "What helps?", "zh": "怎么办？"}[lang], (), answer, lang=lang)], work
        )
        return find(found, "answer-inform").completion_tokens

    # Measured for answers of this length: 80.
    assert await expected_tokens(mean_length) == pytest.approx(80, abs=5)
    assert await expected_tokens(10 * mean_length) == pytest.approx(700, abs=60)
    assert await expected_tokens(5) < 25


async def test_real_imaps_make_judgements_of_them_certain(open_over: OpenOver, tmp_path):
    graph = open_graph()
    extractor, matcher = open_extractor(graph), open_matcher(graph)
    samples = read("sample-en")[:4]
    lines: list[str] = []
    for sample in samples:
        for imap in await extractor.extract(sample):
            (matches,) = await matcher.match([imap], langs=[sample.lang])
            lines.append(dump_record(ImapRecord(sample.id, imap, matches)))
    (tmp_path / "imaps.jsonl").write_text("\n".join(lines), encoding="utf-8")
    dry_run = open_over("prometheus").model
    metrics = registry.choose(["blend", "geval:accuracy+imap"])
    work = open_dry_run(LlmSettings("openai:m"), dry_run, metrics=metrics, imaps=tmp_path / "imaps.jsonl")
    found = await forecast(samples, work)
    assert {task.name: (task.calls, task.supposed) for task in found.tasks} == {"judge": (4, 0), "geval": (4, 0)}


@pytest.mark.parametrize(("answer", "size"), [("一二三四五六七八九十" * 3, 9), ("a" * 80, 34)])
def test_no_simulated_value_is_longer_than_supposed(answer: str, size: int):
    assert {len(value) for value in _simulate_values(answer, reading=1)} == {size}
