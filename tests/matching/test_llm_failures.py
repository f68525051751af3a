"""What becomes of relations that a model does not, or not at once, give as asked."""

import asyncio
import json
from dataclasses import replace

import pytest

from imapeval.errors import ProviderError, ServiceError
from imapeval.evaluation.evaluate import evaluate_to_store, make_run_settings
from imapeval.evaluation.pipeline import Pipeline
from imapeval.evaluation.runs import Run, RunWriter
from imapeval.extraction.llm_reader import LLMReader
from imapeval.extraction.protocols import TwoStepExtractor
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.structured.templates import find_texts
from imapeval.matching.llm import LLMMatcher
from imapeval.matching.protocol import relate_values
from imapeval.metrics import registry
from imapeval.types import Failure, Relation, Sample

# Neither wording nor graph relates any of these values to another.
OPEN = ("raise the head of the bed", "sleep with the upper body propped up", "quit cigarettes")


YES = '{"relations": [{"reference": 1, "response": 1, "why": "so", "relation": "exact"}]}'
ENTRY = YES.removeprefix('{"relations": [').removesuffix("]}")
LOOP = f'{{"relations": [{", ".join([ENTRY] * 50)}]}}'


@pytest.mark.parametrize(
    ("fault", "changed"),
    [
        ("All is well.", {}),
        ("", {}),
        (YES.replace('"response": 1', '"response": 9'), {}),
        (YES.replace("exact", "similar"), {}),
        (ProviderError("no", kind="refusal", raw="I would rather not."), {}),
        (
            ProviderError("cut", kind="truncated", raw='{"relations": [{"reference": 1, "why": "'),
            {"max_tokens": 8192},
        ),
        (ProviderError("cut", kind="truncated", raw=LOOP), {"temperature": 0.3}),
    ],
    ids=["prose", "nothing", "no listed facts", "no relation", "refusal", "truncated", "loop"],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_an_unusable_completion_is_requested_again_once(lang, fault, changed, make_imap, match_with_llm):
    (match,), model = await match_with_llm(make_imap(OPEN[:1], OPEN[1:2]), fault, YES, lang=lang)
    assert match.relation is Relation.EXACT
    first, second = model.requests
    assert second == replace(first, messages=second.messages, **changed)
    assert second.messages[:-1] == first.messages[:-1]
    note = second.messages[-1].content.removeprefix(first.messages[-1].content + "\n\n")
    assert note.startswith("A first attempt" if lang == "en" else "第一次的输出")


async def test_an_imap_with_only_unusable_completions_fails_alone(inner, make_imap):
    def reply(request):
        return "All is well." if OPEN[2] in request.messages[-1].content else YES

    cases = [make_imap(OPEN[:1], OPEN[1:2]), make_imap(OPEN[:1], OPEN[2:]), make_imap(OPEN[1:2], OPEN[:1])]
    model = ScriptedModel(reply)
    good, bad, also_good = await LLMMatcher(inner, model).match(cases, langs=["en", "en", "zh"])
    assert good[0].relation is also_good[0].relation is Relation.EXACT
    assert isinstance(bad, Failure)
    assert (bad.stage, bad.kind, bad.raw) == ("matching", "unreadable-completion", "All is well.")
    assert len(model.requests) == 4


async def test_an_imap_about_which_the_provider_fails_fails_alone(make_imap, match_with_llm):
    failure, model = await match_with_llm(
        make_imap(OPEN[:1], OPEN[1:2]), ProviderError("no", kind="server", raw="<html>")
    )
    assert failure == Failure("llm", "server", "no", "<html>")
    assert len(model.requests) == 1


async def test_a_service_error_is_raised_after_requests_under_way(inner, make_imap):
    class Down:
        identity, concurrency = "down", 2
        finished = 0

        async def complete(self, request):
            if OPEN[2] in request.messages[-1].content:
                raise ServiceError("the server is down", kind="unreachable")
            await asyncio.sleep(0.01)
            self.finished += 1
            raise ProviderError("slow", kind="timeout")

    model = Down()
    cases = [make_imap(OPEN[:1], OPEN[2:]), make_imap(OPEN[:1], OPEN[1:2])]
    with pytest.raises(ServiceError):
        await LLMMatcher(inner, model).match(cases, langs=["en", "en"])
    assert model.finished == 1


async def test_a_server_without_schemas_is_asked_in_weaker_forms(inner, write_relations):
    unsupported = ProviderError("no response_format", kind="unsupported")
    model = ScriptedModel([unsupported, unsupported, YES, write_relations((1, 1, "belonging"))])
    matcher = LLMMatcher(inner, model)
    for relation in (Relation.EXACT, Relation.BELONGING):
        assert (await relate_values(matcher, OPEN[0], OPEN[1], lang="en")).relation is relation
    asked = [(request.schema is not None, request.json) for request in model.requests]
    # What the server does not know is not tried a second time.
    assert asked == [(True, False), (False, True), (False, False), (False, False)]


async def test_a_server_that_supports_nothing_is_a_failure(make_imap, match_with_llm):
    failure, model = await match_with_llm(
        make_imap(OPEN[:1], OPEN[1:2]), *[ProviderError("no", kind="unsupported")] * 3
    )
    assert (failure.stage, failure.kind, len(model.requests)) == ("llm", "unsupported", 3)


async def test_a_run_tries_again_where_the_provider_failed(inner, tmp_path):
    """And keeps what it paid for: the second time nothing else is asked."""
    samples = [Sample("a", "What now?", (OPEN[0],), OPEN[1]), Sample("b", "What now?", (OPEN[0],), OPEN[2])]
    failing = [True]

    def reply(request):
        asked = request.messages[-1].content
        if "<reference-" in asked:
            if OPEN[2] in asked and failing:
                failing.pop()
                return ProviderError("slow down", kind="rate-limit")
            return YES
        if "<answer-" not in asked:
            return '{"query": ["advice"], "constraint": []}'
        said = next(value for value in OPEN if find_texts(asked)["answer"] == value)
        return json.dumps({"inform": [{"term": "advice", "values": [said]}]})

    model = ScriptedModel(reply)
    metrics = [registry.get("imapscore:mean")]
    counts = []
    for _ in range(2):
        cached = CachedModel(model, tmp_path / "cache.sqlite")
        extractor, matcher = TwoStepExtractor(LLMReader(cached)), LLMMatcher(inner, cached)
        parts = Pipeline(metrics, extractor, matcher)
        with RunWriter(tmp_path / "run", samples, settings=make_run_settings(parts, seed=0)) as run:
            await evaluate_to_store(samples, parts, run=run)
            run.finish()
        counts.append(len(model.requests))
        results = {result.id: result for result in Run(tmp_path / "run").results()}
        if len(counts) == 1:
            assert results["b"].outcome == Failure("llm", "rate-limit", "slow down")
            assert not results["b"].final
    assert all(result.scored for result in results.values())
    assert counts[1] - counts[0] == 1
    (match,) = Run(tmp_path / "run").imaps()[-1].matches
    assert (match.relation, match.decided_by) == (Relation.EXACT, "llm")
