"""That a server gives no log-probabilities is found out by two requests, not by one for every answer."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from imapeval.errors import ProviderError
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.protocol import Completion, Request, Token, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics import registry
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges import logprobs
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from pathlib import Path

    from imapeval.llm.protocol import Model
    from imapeval.types import Outcome

CASE = Case("1", "How is a boil treated?", "Warm cloths.", "Put a warm wet cloth on it.", "en")
CASES = [replace(CASE, id=str(day), response=f"Warm cloths for {day} days.") for day in range(2, 8)]


def rate(request: Request) -> str:
    """Give a score without log-probabilities, which depends on the seed alone."""
    return json.dumps({"score": request.seed or 5})


def weigh(_: Request) -> Completion:
    tokens = (Token('{"score": ', 0.0), Token("4", 0.0, (("4", 0.0),)), Token("}", 0.0))
    return Completion('{"score": 4}', "stop", "m", Usage(9, 5), tokens=tokens)


def prepare(model: Model, *, samples: str = "3", weights: str = "auto") -> Any:
    settings = {"geval:accuracy": {"samples": samples, "weights": weights}}
    (metric,) = registry.choose(["geval:accuracy"], settings)
    return metric.prepare(MetricResources(llm=model))


async def judge(model: Model, cases: list[Case] = CASES, **options: str) -> list[Outcome]:
    return await prepare(model, **options).ascore_batch(cases)


def count_weighed(model: ScriptedModel) -> int:
    return sum(request.logprobs > 0 for request in model.requests)


async def test_two_requests_find_out():
    model = ScriptedModel(rate)
    outcomes = await judge(model)
    assert outcomes == [Score(2.0, {"weighted": 0.0, "samples": 3.0}, ((1.0, 2.0, 3.0),))] * len(CASES)
    assert (count_weighed(model), len(model.requests)) == (2, 2 + 3 * len(CASES))


async def test_what_is_in_the_cache_finds_out_too(tmp_path: Path):
    model = ScriptedModel(rate)
    before = await judge(CachedModel(model, tmp_path / "c.sqlite"), CASES[:2])
    again = await judge(CachedModel(model, tmp_path / "c.sqlite"))
    assert again[:2] == before
    assert count_weighed(model) == 2


async def test_a_server_that_gives_some_is_asked_each_time():
    model = ScriptedModel(lambda request: rate(request) if "for 3 days" in str(request.messages) else weigh(request))
    outcomes = await judge(model, [*CASES, *CASES[1:2]])
    assert [outcome.parts["weighted"] for outcome in outcomes if isinstance(outcome, Score)] == [1, 0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(("samples", "weights"), [("1", "auto"), ("3", "logprobs")])
async def test_a_completion_that_counts_anyway_is_asked_for_each_time(samples: str, weights: str):
    model = ScriptedModel(rate)
    await judge(model, samples=samples, weights=weights)
    assert count_weighed(model) == len(model.requests) == len(CASES)


async def test_requests_that_fail_tell_nothing():
    def fail(request: Request) -> str:
        if request.logprobs and any(f"for {day} days" in str(request.messages) for day in (2, 3)):
            raise ProviderError("too many", kind="rate-limit")
        return rate(request)

    model = ScriptedModel(fail)
    outcomes = await judge(model)
    assert [isinstance(outcome, Failure) for outcome in outcomes] == [True, True, False, False, False, False]
    assert count_weighed(model) == len(CASES)


async def test_nobody_waits_long_for_the_first(monkeypatch: pytest.MonkeyPatch):
    class Slow(ScriptedModel):
        async def complete(self, request: Request) -> Completion:
            if request.logprobs and "for 2 days" in str(request.messages):
                await released.wait()
            if len(self.requests) == len(CASES[2:]) * 3:
                released.set()
            return await super().complete(request)

    released = asyncio.Event()
    monkeypatch.setattr(logprobs, "PATIENCE", 0.01)
    async with asyncio.timeout(10):
        outcomes = await judge(Slow(rate))
    assert all(isinstance(outcome, Score) for outcome in outcomes)


def test_event_loops_one_after_the_other():
    model = ScriptedModel(rate)
    prepared = prepare(model)
    for _ in range(2):
        asyncio.run(prepared.ascore_batch(CASES))
    assert count_weighed(model) == 2
