"""What a run would take: calls and tokens, and what of it is supposed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import ProviderError
from imapeval.evaluation.forecast.dry_run import dry_run_samples
from imapeval.evaluation.forecast.simulated_replies import (
    ASSUMPTIONS,
    GIVEN_TEXT,
    TYPICAL_TOKENS,
    simulate_reply,
    task_name,
)
from imapeval.llm import tokens
from imapeval.llm.middleware.cache import cache_key
from imapeval.llm.protocol import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.evaluation.forecast.dry_run import DryRun
    from imapeval.llm.dry_run import RecordedRequest
    from imapeval.llm.protocol import Request
    from imapeval.types import Sample

_MIN_SEEN = 10
"""Completions whose mean is worth more than what is typical."""

_COUNT_BATCH = 10_000
"""Texts whose tokens are counted at once: some 20 MB."""


@dataclass(frozen=True, slots=True)
class TaskForecast:
    """What one kind of request would take.

    Attributes:
        name: As the prompt is called.
        calls: Different requests.
        supposed: Those of them that there may not be: they follow from replies that nobody knows yet. There may be more
            of them, too.
        cached: Those of the calls that were paid for already.
        prompt_tokens: Of the others.
        completion_tokens: Of the others; expected.
        seen: Completions that the expectation is the mean of; 0 where it is a typical value.
        weighed: Those of the others that ask for log-probabilities; a server that gives none is asked further.
    """

    name: str
    calls: int
    supposed: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    seen: int
    weighed: int


@dataclass(frozen=True, slots=True)
class UsageForecast:
    """What a run would take.

    Attributes:
        questions, references, responses: Texts of the samples: each question once, each reference once per question.
            Those of samples without a response are not among them.
        tasks: The requests, by kind.
        exact: Whether the prompts' tokens are counted by the model's own tokenizer; else they are estimated.
        assumed: What is supposed of replies that nobody knows yet.
        failed: Samples of which something will not be read or judged, by kind of failure.
    """

    questions: int
    references: int
    responses: int
    tasks: tuple[TaskForecast, ...]
    exact: bool
    assumed: tuple[str, ...]
    failed: Counter[str]


async def forecast_usage(
    samples: Sequence[Sample],
    work: DryRun,
    *,
    count: Callable[[Sequence[str]], tuple[int, bool]],
    progress: Callable[[int], None] | None = None,
) -> UsageForecast:
    """Forecast what the work on the samples takes. Second attempts at what a model does badly are not foreseen.

    Args:
        samples: What is to be read and judged.
        work: Over a rehearsal that replies as `suppose` does.
        count: Counts the tokens of texts, and says whether exactly.
        progress: Called with the number of samples done since the last call.
    """
    tallies: dict[str, _Tally] = {}
    known: set[bytes] = set()
    failed: Counter[str] = Counter()
    async for done in dry_run_samples(samples, work):
        supposed = set(map(id, done.supposed))
        for asked in done.asked:
            key = bytes.fromhex(cache_key(canonical_json(asked.request, work.model.identity)))
            if key not in known:
                known.add(key)
                tally = tallies.setdefault(task_name(asked.request), _Tally(count))
                tally.add(asked, supposed=id(asked) in supposed)
        if done.failure is not None:
            failed[done.failure.kind] += 1
        if progress is not None:
            progress(1)
    tasks = tuple(tally.finish(name) for name, tally in tallies.items())
    asking = {task.name for task in tasks if task.cached < task.calls}
    # What is read is of no consequence where nothing is asked about it.
    told = [name for name in ASSUMPTIONS if name in asking and (name != "answer-inform" or work.matcher is not None)]
    answered = [sample for sample in samples if sample.answered]
    return UsageForecast(
        questions=len({(sample.lang, sample.question) for sample in answered}),
        references=len({(sample.lang, sample.question, text) for sample in answered for text in sample.references}),
        responses=len(answered),
        tasks=tasks,
        exact=all(tally.exact for tally in tallies.values()),
        assumed=tuple(ASSUMPTIONS[name] for name in told),
        failed=failed,
    )


class _Tally:
    """Adds up the requests of one task. What they have in common is counted once and multiplied."""

    def __init__(self, count: Callable[[Sequence[str]], tuple[int, bool]]) -> None:
        self.exact = True
        self._count = count
        self._calls = self._supposed = self._cached = self._weighed = 0
        self._prompt_tokens = self._seen_tokens = self._expected_tokens = 0
        self._common: Counter[str] = Counter()
        self._texts: list[str] = []

    def add(self, asked: RecordedRequest, *, supposed: bool) -> None:
        self._calls += 1
        self._supposed += supposed
        if asked.completion is not None:
            self._cached += 1
            self._seen_tokens += asked.completion.usage.completion_tokens
            return
        self._weighed += asked.request.logprobs > 0
        self._expected_tokens += _expected_completion_tokens(asked.request)
        *common, last = [message.content for message in asked.request.messages] or [asked.request.given]
        self._common.update(common)
        self._texts.append(last)
        if len(self._texts) == _COUNT_BATCH:
            self._flush()

    def finish(self, name: str) -> TaskForecast:
        self._flush()
        for text, times in self._common.items():
            self._prompt_tokens += times * self._count_tokens([text])
        seen = self._cached if self._cached >= _MIN_SEEN and self._seen_tokens else 0
        missing = self._calls - self._cached
        return TaskForecast(
            name,
            calls=self._calls,
            supposed=self._supposed,
            cached=self._cached,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=round(missing * self._seen_tokens / seen) if seen else self._expected_tokens,
            seen=seen,
            weighed=self._weighed,
        )

    def _flush(self) -> None:
        if self._texts:
            self._prompt_tokens += self._count_tokens(self._texts)
            self._texts = []

    def _count_tokens(self, texts: Sequence[str]) -> int:
        tokens, exact = self._count(texts)
        self.exact = self.exact and exact
        return tokens


def _expected_completion_tokens(request: Request) -> int:
    """Return how many tokens the completion of a request will have, as far as can be said beforehand."""
    name = task_name(request)
    if name in TYPICAL_TOKENS:
        return TYPICAL_TOKENS[name]
    if name == GIVEN_TEXT:
        return request.max_tokens
    reply = simulate_reply(request)
    return 0 if isinstance(reply, ProviderError) else tokens.estimate(reply.text)
