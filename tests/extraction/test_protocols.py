import asyncio
from dataclasses import dataclass, field

import pytest

from imapeval.errors import ExtractionError, ProviderError, SampleError, ServiceError
from imapeval.extraction.protocols import TwoStepExtractor
from imapeval.types import AnswerImap, Imap, Lang, Pair, QuestionImap, Sample

QUERY = (Pair("advice", "?"),)
GIVEN = (Pair("age", "40"),)


@dataclass
class Words:
    """A reader of which every word is a fact; it fails on demand."""

    errors: list[Exception] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    signature: str = "words|v:1"
    concurrency: int = 5

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        await self._read(question)
        return QuestionImap(QUERY, GIVEN)

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
        await self._read(answer)
        return AnswerImap(tuple(Pair("advice", word) for word in answer.split()))

    async def _read(self, text: str) -> None:
        self.asked.append(text)
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop()


async def test_an_imap_per_reference():
    assert await TwoStepExtractor(Words()).extract(Sample("1", "Q?", ("rest", "drink tea"), "sleep")) == (
        Imap(QUERY, GIVEN, (Pair("advice", "rest"),), (Pair("advice", "sleep"),)),
        Imap(
            QUERY,
            GIVEN,
            (Pair("advice", "drink"), Pair("advice", "tea")),
            (Pair("advice", "sleep"),),
            reference_index=1,
        ),
    )


async def test_one_imap_without_references():
    words = Words()
    assert await TwoStepExtractor(words).extract(Sample("1", "Q?", (), "sleep")) == (
        Imap(QUERY, GIVEN, (), (Pair("advice", "sleep"),)),
    )
    assert words.asked == ["Q?", "sleep"]


async def test_question_and_reference_are_read_once():
    words = Words()
    extractor = TwoStepExtractor(words)
    samples = [Sample(str(n), "Q?", ("rest",), f"sleep {n}") for n in range(3)]
    await asyncio.gather(*map(extractor.extract, samples))
    assert sorted(words.asked) == ["Q?", "rest", "sleep 0", "sleep 1", "sleep 2"]
    assert (extractor.signature, extractor.concurrency) == ("words|v:1", 5)


@pytest.mark.parametrize(
    "error",
    [ExtractionError("garbled", kind="x"), ServiceError("down", kind="unreachable"), KeyError("a bug")],
    ids=["sample", "service", "bug"],
)
async def test_a_failed_reading_is_repeated(error: Exception):
    extractor = TwoStepExtractor(Words(errors=[error]))
    sample = Sample("1", "Q?", ("rest",), "sleep")
    with pytest.raises(type(error)):
        await extractor.extract(sample)
    assert len(await extractor.extract(sample)) == 1


@pytest.mark.parametrize("failing", [ExtractionError, ProviderError])
@pytest.mark.parametrize(
    ("text", "named"),
    [("Q?", "question"), ("rest", "reference 1"), ("tea", "reference 2"), ("sleep", "response")],
)
async def test_a_completion_that_was_cut_off_names_its_text(text: str, named: str, failing: type[SampleError]):
    @dataclass
    class Cut(Words):
        long: str = ""

        async def _read(self, text: str) -> None:
            if text == self.long:
                raise failing("was cut off", kind="truncated", raw="half")

    extractor = TwoStepExtractor(Cut(long=text))
    for _ in range(2):
        with pytest.raises(failing) as caught:
            await extractor.extract(Sample("1", "Q?", ("rest", "tea"), "sleep"))
        assert (caught.value.kind, caught.value.raw) == ("truncated", "half")
        assert str(caught.value) == f"reading the {named}: was cut off"


async def test_the_only_reference_has_no_number():
    class Cut(Words):
        async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
            raise ProviderError("was cut off", kind="truncated")

    with pytest.raises(ProviderError, match="the reference: "):
        await TwoStepExtractor(Cut()).extract(Sample("1", "Q?", ("rest",), "sleep"))


@pytest.mark.parametrize(
    ("slow", "kind"),
    [
        (None, "no-fact"),
        (ServiceError("down", kind="unreachable"), "unreachable"),
        # May pass, so that the next run tries again.
        (ProviderError("slow", kind="timeout"), "timeout"),
    ],
)
async def test_a_failure_waits_for_concurrent_readings(slow: Exception | None, kind: str):
    finished: list[str] = []

    class Uneven(Words):
        async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
            if answer == "reference":
                raise ExtractionError("no", kind="no-fact")
            await asyncio.sleep(0.02)
            finished.append(answer)
            if slow is not None:
                raise slow
            return AnswerImap(())

    with pytest.raises((ExtractionError, ProviderError, ServiceError)) as caught:
        await TwoStepExtractor(Uneven()).extract(Sample("1", "Q?", ("reference",), "response"))
    assert caught.value.kind == kind
    assert finished == ["response"]
