import asyncio
from dataclasses import dataclass

import pytest

from imapeval.errors import ExtractionError, ProviderError, ServiceError
from imapeval.evaluation.pipeline import open_extractor, open_graph
from imapeval.extraction.protocols import TwoStepExtractor
from imapeval.extraction.repeated import RepeatedExtractor
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.types import Imap, Pair, Sample

SAMPLE = Sample("1", "Q?", ("R.", "S."), "A.")
UNREADABLE = ExtractionError("garbled", kind="unreadable-completion")


@dataclass
class Fixed:
    """An extractor that reads one word in every answer, or fails."""

    reading: str | Exception
    signature: str = "fixed|v:1"
    concurrency: int = 8

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        await asyncio.sleep(0)
        if isinstance(self.reading, Exception):
            raise self.reading
        fact = (Pair("advice", self.reading),)
        return tuple(Imap((), (), fact, fact, reference_index=index) for index in range(len(sample.references)))


async def read(*readings: str | Exception) -> list[tuple[int, int, str]]:
    imaps = await RepeatedExtractor([Fixed(reading) for reading in readings]).extract(SAMPLE)
    return [(imap.reading, imap.reference_index, imap.response[0].value) for imap in imaps]


async def test_each_reading_has_its_own_imaps():
    assert await read("rest", "tea") == [(0, 0, "rest"), (0, 1, "rest"), (1, 0, "tea"), (1, 1, "tea")]


async def test_failed_readings_are_ignored():
    assert await read("rest", UNREADABLE, "tea") == [(0, 0, "rest"), (0, 1, "rest"), (2, 0, "tea"), (2, 1, "tea")]


@pytest.mark.parametrize("error", [UNREADABLE, ProviderError("no", kind="refusal")])
async def test_too_few_readings_fail_with_the_first_error(error: Exception):
    for others in (["rest"], ["rest", ExtractionError("other", kind="no-query")]):
        with pytest.raises(type(error)) as caught:
            await read(error, *others)
        assert caught.value is error


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("slow", kind="timeout"),
        ProviderError("not yet", kind="pending"),
        ServiceError("gone", kind="unreachable"),
        KeyError("a bug"),
    ],
    ids=["passing", "pending", "service", "bug"],
)
async def test_a_transient_failure_fails_the_sample(error: Exception):
    with pytest.raises(type(error)) as caught:
        await read(UNREADABLE, "rest", "rest", "rest", error)
    assert caught.value is error


async def test_an_error_that_ends_the_run_takes_precedence():
    gone = ServiceError("gone", kind="unreachable")
    with pytest.raises(ServiceError) as caught:
        await read(ProviderError("slow", kind="timeout"), "rest", gone, UNREADABLE)
    assert caught.value is gone


def test_the_signature_has_the_number_of_readings():
    three = RepeatedExtractor([Fixed("rest")] * 3)
    assert three.signature == "repeated|readings:3|needed:2|v:1|fixed|v:1"
    assert RepeatedExtractor([Fixed("rest")] * 5).signature.startswith("repeated|readings:5|needed:3|")
    # Eight requests at a time keep three samples busy.
    assert three.concurrency == 3


def test_one_extractor_is_rejected():
    with pytest.raises(ValueError, match="1"):
        RepeatedExtractor([Fixed("rest")])


async def test_each_reading_is_a_separate_request():
    question, answer = '{"query": ["advice"], "constraint": []}', '{"inform": []}'
    model = ScriptedModel(lambda request: answer if "<answer" in request.messages[-1].content else question)
    graph = open_graph()
    await open_extractor(graph, llm=model, votes=3).extract(SAMPLE)
    assert sorted(request.seed for request in model.requests) == sorted([1, 2, 3] * 4)
    assert {request.temperature for request in model.requests} == {0.9}
    assert isinstance(open_extractor(graph, llm=model), TwoStepExtractor)
