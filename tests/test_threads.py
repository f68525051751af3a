"""Work on long texts leaves threads to short ones."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from imapeval.extraction import selection
from imapeval.extraction.llm_reader import LLMReader
from imapeval.extraction.protocols import TwoStepExtractor
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.threads import LONG, run_in_thread
from imapeval.types import Sample

LONG_TEXT = "Take aspirin. " * LONG


@pytest.fixture
def blocked() -> Iterator[threading.Event]:
    """Work on long texts does not end until this is set."""
    event = threading.Event()
    yield event
    event.set()


async def test_long_work_leaves_threads_to_short_work(blocked: threading.Event):
    waiting = [asyncio.create_task(run_in_thread(blocked.wait, size=LONG)) for _ in range(100)]
    assert await run_in_thread(lambda: 1, size=LONG - 1) == 1
    blocked.set()
    assert await asyncio.gather(*waiting) == [True] * 100


async def test_an_answer_with_many_long_references_holds_up_no_other(
    blocked: threading.Event, monkeypatch: pytest.MonkeyPatch
):
    select = selection.select_inform
    begun = []

    def select_when_free(said, source, *args):
        if len(source.shown_text) > LONG:
            begun.append(source)
            blocked.wait()
        return select(said, source, *args)

    monkeypatch.setattr(selection, "select_inform", select_when_free)
    answers = {
        "question-imap": '{"query": ["treatment"], "constraint": []}',
        "answer-inform": '{"inform": [{"term": "treatment", "values": ["aspirin"]}]}',
    }
    extractor = TwoStepExtractor(LLMReader(ScriptedModel(lambda request: answers[request.schema_name])))
    references = tuple(LONG_TEXT + str(number) for number in range(20))
    hostile = asyncio.create_task(extractor.extract(Sample("a", "What helps?", references, LONG_TEXT)))
    while not begun:
        await asyncio.sleep(0.01)
    (imap,) = await extractor.extract(Sample("b", "What else helps?", ("Take aspirin.",), "aspirin"))
    assert [pair.value for pair in imap.response] == ["aspirin"]
    assert not hostile.done()
    blocked.set()
    assert len(await hostile) == 20
