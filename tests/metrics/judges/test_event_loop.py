"""A judge prepares long texts beside the event loop, so that other requests go on."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from imapeval.errors import ImapEvalError
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges import build
from imapeval.metrics.judges.custom import open_prompt_metric
from imapeval.types import Imap, Match, Pair, Relation

ON_TEXTS = [metric for metric in build() if "+imap" not in metric.name]
ON_IMAPS = [metric for metric in build() if metric.name in ("geval:accuracy+imap", "prometheus+imap:pairs")]

FREE = 20
"""Turns of a loop that is free. On the loop itself it would be one for each step of the judge, and a thread lets a busy
loop have one in 0.5 ms."""


@pytest.fixture(autouse=True)
def _short_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    yield
    sys.setswitchinterval(before)


class StoppedError(ImapEvalError):
    pass


async def count_turns(metric) -> int:
    """Return how many turns the event loop had until the model was asked."""
    turns = 0

    async def beat():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    def answer(request):
        raise StoppedError("stopped")

    # Text for which the search for injections takes long: .05 s.
    hostile = "Rest. " + "评审员" * 10_000
    pairs = tuple(Pair("advice", f"rest {n}. " + "评审员" * 30) for n in range(100))
    imap = Imap((Pair("advice", "?"),), (), pairs, pairs)
    matches = tuple(Match("advice", pair.value, pair.value, Relation.EXACT, 1.0, "text") for pair in pairs)
    case = Case("1", "What helps?", "Rest.", hostile, "en", imap, matches)
    beating = asyncio.create_task(beat())
    prepared = metric.prepare(MetricResources(llm=ScriptedModel(answer)))
    with pytest.raises(StoppedError):
        await prepared.ascore_batch([case])
    beating.cancel()
    return turns


@pytest.mark.parametrize("metric", [*ON_TEXTS, *ON_IMAPS], ids=lambda metric: metric.name)
async def test_the_loop_goes_on_while_a_hostile_text_is_prepared(metric):
    assert await count_turns(metric) > FREE


async def test_the_loop_goes_on_while_facts_are_prepared(tmp_path: Path):
    path = tmp_path / "own.md"
    path.write_text("Question: {{question}}\nFacts: {{reference_imap}}\n{{response_imap}}\nRate (1-5):\n")
    assert await count_turns(open_prompt_metric(str(path))) > FREE
