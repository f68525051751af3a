"""Forecasts the usage of a run: calls and tokens of the language model, and the assumptions behind them."""

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
    estimate_reading,
    simulate_reply,
    task_name,
)
from imapeval.llm import tokens
from imapeval.llm.middleware.cache import cache_key
from imapeval.llm.protocol import Usage, canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.evaluation.forecast.dry_run import DryRun
    from imapeval.llm.dry_run import RecordedRequest
    from imapeval.llm.protocol import Request
    from imapeval.types import Sample

_MIN_SEEN = 10
"""Number of cached completions from which their mean replaces the typical value."""

_COUNT_BATCH = 10_000
"""Number of texts whose tokens are counted at a time: some 20 MB."""


@dataclass(frozen=True, slots=True)
class TaskForecast:
    """The forecast for one kind of request.

    Attributes:
        name: The name of the prompt.
        calls: Number of different requests.
        supposed: Number of those that may not occur, because they follow from replies that are not known yet. There may
            also be more of them.
        cached: Number of those that are cached.
        prompt_tokens: Tokens of the prompts that are not cached.
        repeated_tokens: Those of `prompt_tokens` in messages with which an earlier prompt began: a server that keeps
            prefixes need not process them again.
        completion_tokens: Expected tokens of the completions that are not cached.
        seen: Number of cached completions whose mean is the expectation; 0 if it is a typical value.
        with_logprobs: Number of requests for log-probabilities that are not cached; see `without_logprobs`.
    """

    name: str
    calls: int
    supposed: int
    cached: int
    prompt_tokens: int
    repeated_tokens: int
    completion_tokens: int
    seen: int
    with_logprobs: int


@dataclass(frozen=True, slots=True)
class UsageForecast:
    """The forecast for a run.

    Attributes:
        questions, references, responses: Number of texts of the samples that have a response: each question once, each
            reference once per question.
        tasks: The forecast by kind of request.
        exact: Whether prompt tokens are counted with the model's own tokenizer, not estimated.
        assumed: The assumptions about replies that are not known yet.
        failed: Number of samples that cannot be scored, by kind of failure.
    """

    questions: int
    references: int
    responses: int
    tasks: tuple[TaskForecast, ...]
    exact: bool
    assumed: tuple[str, ...]
    failed: Counter[str]

    @property
    def calls(self) -> int:
        """Number of different requests, the cached ones included."""
        return sum(task.calls for task in self.tasks)

    @property
    def usage(self) -> Usage:
        """The tokens of all requests; repeated ones are not counted as reused, because not every server reuses them."""
        prompt = sum(task.prompt_tokens for task in self.tasks)
        return Usage(prompt, sum(task.completion_tokens for task in self.tasks))


async def forecast_usage(
    samples: Sequence[Sample],
    work: DryRun,
    *,
    count: Callable[[Sequence[str]], tuple[int, bool]],
    progress: Callable[[int], None] | None = None,
) -> UsageForecast:
    """Forecast the usage of a run. Second attempts after unusable completions are not included.

    Args:
        samples: The samples to be read and judged.
        work: The work over a `DryRunModel` that replies as `simulate_reply` does.
        count: Returns the number of tokens of texts, and whether it is exact.
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
    answered = [sample for sample in samples if sample.answered and sample.fault is None]
    return UsageForecast(
        questions=len({(sample.lang, sample.question) for sample in answered}),
        references=len({(sample.lang, sample.question, text) for sample in answered for text in sample.references}),
        responses=len(answered),
        tasks=tasks,
        exact=all(tally.exact for tally in tallies.values()),
        assumed=tuple(assumption for name, assumption in ASSUMPTIONS.items() if name in asking),
        failed=failed,
    )


class _Tally:
    """Adds up the requests of one kind. Messages that they share are counted once and multiplied."""

    def __init__(self, count: Callable[[Sequence[str]], tuple[int, bool]]) -> None:
        self.exact = True
        self._count = count
        self._calls = self._supposed = self._cached = self._with_logprobs = 0
        self._prompt_tokens = self._seen_tokens = self._expected_tokens = 0
        self._openings: Counter[tuple[str, ...]] = Counter()
        self._texts: list[str] = []

    def add(self, asked: RecordedRequest, *, supposed: bool) -> None:
        self._calls += 1
        self._supposed += supposed
        if asked.completion is not None:
            self._cached += 1
            self._seen_tokens += asked.completion.usage.completion_tokens
            return
        self._with_logprobs += asked.request.logprobs > 0
        self._expected_tokens += _expected_completion_tokens(asked.request)
        *opening, last = [message.content for message in asked.request.messages] or [asked.request.given]
        self._openings[tuple(opening)] += 1
        self._texts.append(last)
        if len(self._texts) == _COUNT_BATCH:
            self._flush()

    def finish(self, name: str) -> TaskForecast:
        self._flush()
        repeated = 0
        for opening, times in self._openings.items():
            size = self._count_tokens(opening)
            self._prompt_tokens += times * size
            repeated += (times - 1) * size
        seen = self._cached if self._cached >= _MIN_SEEN and self._seen_tokens else 0
        missing = self._calls - self._cached
        return TaskForecast(
            name,
            calls=self._calls,
            supposed=self._supposed,
            cached=self._cached,
            prompt_tokens=self._prompt_tokens,
            repeated_tokens=repeated,
            completion_tokens=round(missing * self._seen_tokens / seen) if seen else self._expected_tokens,
            seen=seen,
            with_logprobs=self._with_logprobs,
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
    """Return the expected number of tokens in the completion of a request."""
    name = task_name(request)
    if name in TYPICAL_TOKENS:
        return TYPICAL_TOKENS[name]
    if name == "answer-inform":
        return estimate_reading(request)
    if name == GIVEN_TEXT:
        return request.max_tokens
    reply = simulate_reply(request)
    return 0 if isinstance(reply, ProviderError) else tokens.estimate(reply.text)
