"""What reading samples would ask of a language model, without asking it: for cost forecasts and for batches.

The extractor runs as always, over a `Rehearsal` in the model's place. So the requests are those of a live run.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imapeval.extracting import attempt, too_long
from imapeval.extraction.prompted import QUESTION
from imapeval.llm.cache import digest
from imapeval.llm.client import canonical
from imapeval.llm.rehearsal import PENDING
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from imapeval.extraction.extractor import Extractor
    from imapeval.llm.batch import BatchFile, BatchFolder
    from imapeval.llm.client import Request
    from imapeval.llm.rehearsal import Asked, Rehearsal
    from imapeval.types import Imap, Sample

_TYPICAL_QUESTION, _TYPICAL_ANSWER = 66, 56
"""Tokens of a completion before one has been seen: means over the questions and answers of 100 imaps that a strong
model made (../shared/benchmark/imaps-recorded-dev.jsonl), as compact JSON, by `tokens.estimate`. A model that indents
its JSON takes more."""

_ENOUGH = 10
"""Completions whose mean is worth more than those."""

_TOGETHER = 10_000
"""Texts whose tokens are counted at once: some 20 MB."""

_CHINESE = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What came of one sample.

    Attributes:
        asked: The requests, in order; those that the extractor remembers from an earlier sample are not among them.
        failure: Why there is no imap; None where there is one. Of kind "pending" where a request is to be answered yet.
    """

    asked: tuple[Asked, ...]
    failure: Failure | None


@dataclass(slots=True)
class Exported:
    """What was handed out.

    Attributes:
        files: The new files of requests.
        waiting: Requests that are in earlier files and have no result yet.
        complete: Samples of which everything has been read.
        pending: Samples that need requests answered.
        further: Those of them that will ask more once these are answered: the answers are read in the light of what
            the question asks.
        failed: Samples that cannot be read, by kind of failure. What failed by the model's fault is asked again.
    """

    files: list[BatchFile] = field(default_factory=list["BatchFile"])
    waiting: int = 0
    complete: int = 0
    pending: int = 0
    further: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])


async def rehearse(
    samples: Sequence[Sample], *, extractor: Extractor, rehearsal: Rehearsal
) -> AsyncIterator[Rehearsed]:
    """Yield for each sample, one after the other, what reading it asks and whether it ends in imaps.

    Args:
        samples: What would be read.
        extractor: What reads it, over the rehearsal.
        rehearsal: In the place of the model.

    Raises:
        ImapEvalError: Something that concerns all samples alike.
    """
    for sample in samples:
        asked = rehearsal.asked = list["Asked"]()
        made: tuple[Imap, ...] | Failure | None = too_long(sample)
        if made is None:
            made = await attempt("extraction", extractor.extract(sample))
            # Where one text fails its sample at once, the others have yet to ask.
            while others := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(others)
        yield Rehearsed(tuple(asked), made if isinstance(made, Failure) else None)


async def export(
    samples: Sequence[Sample],
    *,
    extractor: Extractor,
    rehearsal: Rehearsal,
    folder: BatchFolder,
    progress: Callable[[int], None] | None = None,
) -> Exported:
    """Write what is missing to read the samples into new files of the folder.

    Args:
        samples: What is to be read.
        extractor: What reads it, over the rehearsal.
        rehearsal: Replies with the folder's failures, and else that a request is pending.
        folder: Where the files go.
        progress: Called with the number of samples done since the last call.

    Raises:
        ResourceError: The folder cannot be written.
    """
    exported = Exported()
    with folder.write() as writer:
        async for done in rehearse(samples, extractor=extractor, rehearsal=rehearsal):
            pending = [asked.request for asked in done.asked if asked.error and asked.error.kind == PENDING]
            for request in pending:
                writer.add(request)
            if done.failure is None:
                exported.complete += 1
            elif done.failure.kind == PENDING:
                exported.pending += 1
                exported.further += any(request.schema_name == QUESTION for request in pending)
            else:
                exported.failed[done.failure.kind] += 1
                for asked in done.asked:
                    if asked.error:
                        writer.add(asked.request)
            if progress is not None:
                progress(1)
    exported.files, exported.waiting = writer.files, writer.waiting
    return exported


@dataclass(frozen=True, slots=True)
class Task:
    """What one kind of request would take.

    Attributes:
        name: As the prompt is called.
        calls: Different requests.
        cached: Those of them that were paid for already.
        prompt_tokens: Of the others.
        completion_tokens: Of the others; expected.
        seen: Completions that the expectation is the mean of; 0 where it is a typical value.
    """

    name: str
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    seen: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What reading samples would take.

    Attributes:
        questions, references, responses: Texts to be read: each question once, each reference once per question.
        tasks: The requests, by kind.
        exact: Whether the prompts' tokens are counted by the model's own tokenizer; else they are estimated.
        failed: Samples that will not be read, by kind of failure.
    """

    questions: int
    references: int
    responses: int
    tasks: tuple[Task, ...]
    exact: bool
    failed: Counter[str]


def suppose(request: Request) -> str:
    """Return what a model might say, so that a rehearsal gets to the second step."""
    if request.schema_name == QUESTION:
        chinese = _CHINESE.search(request.messages[0].content)
        return json.dumps({"query": ["治疗方法", "病因"] if chinese else ["treatment", "cause"], "constraint": []})
    return json.dumps({"inform": []})


async def plan(
    samples: Sequence[Sample],
    *,
    extractor: Extractor,
    rehearsal: Rehearsal,
    count: Callable[[Sequence[str]], tuple[int, bool]],
    progress: Callable[[int], None] | None = None,
) -> Plan:
    """Forecast what reading the samples takes. Second attempts at what a model does badly are not foreseen.

    Args:
        samples: What is to be read.
        extractor: What reads it, over the rehearsal.
        rehearsal: Replies as `suppose` does.
        count: Counts the tokens of texts, and says whether exactly.
        progress: Called with the number of samples done since the last call.
    """
    tallies: dict[str, _Tally] = {}
    known: set[bytes] = set()
    failed: Counter[str] = Counter()
    async for done in rehearse(samples, extractor=extractor, rehearsal=rehearsal):
        for asked in done.asked:
            key = bytes.fromhex(digest(canonical(asked.request, rehearsal.identity)))
            if key not in known:
                known.add(key)
                tallies.setdefault(asked.request.schema_name, _Tally(count)).add(asked)
        if done.failure is not None:
            failed[done.failure.kind] += 1
        if progress is not None:
            progress(1)
    return Plan(
        questions=len({(sample.lang, sample.question) for sample in samples}),
        references=len({(sample.lang, sample.question, text) for sample in samples for text in sample.references}),
        responses=len(samples),
        tasks=tuple(tally.close(name) for name, tally in tallies.items()),
        exact=all(tally.exact for tally in tallies.values()),
        failed=failed,
    )


class _Tally:
    """Adds up the requests of one task. What they have in common is counted once and multiplied."""

    def __init__(self, count: Callable[[Sequence[str]], tuple[int, bool]]) -> None:
        self.exact = True
        self._count = count
        self._calls = self._cached = self._prompt_tokens = self._seen_tokens = 0
        self._common: Counter[str] = Counter()
        self._texts: list[str] = []

    def add(self, asked: Asked) -> None:
        self._calls += 1
        if asked.known is not None:
            self._cached += 1
            self._seen_tokens += asked.known.usage.completion_tokens
            return
        *common, last = (message.content for message in asked.request.messages)
        self._common.update(common)
        self._texts.append(last)
        if len(self._texts) == _TOGETHER:
            self._flush()

    def close(self, name: str) -> Task:
        self._flush()
        for text, times in self._common.items():
            self._prompt_tokens += times * self._tokens([text])
        seen = self._cached if self._cached >= _ENOUGH and self._seen_tokens else 0
        typical = _TYPICAL_QUESTION if name == QUESTION else _TYPICAL_ANSWER
        mean = self._seen_tokens / seen if seen else typical
        missing = self._calls - self._cached
        return Task(name, self._calls, self._cached, self._prompt_tokens, round(missing * mean), seen)

    def _flush(self) -> None:
        if self._texts:
            self._prompt_tokens += self._tokens(self._texts)
            self._texts = []

    def _tokens(self, texts: Sequence[str]) -> int:
        tokens, exact = self._count(texts)
        self.exact = self.exact and exact
        return tokens
