"""The base class of metrics computed from token probabilities.

With the option `model`, the model is loaded here with transformers. Without it, the probabilities come from the
language model of the run (--llm), whose server must return those of given texts.

A metric defines its computation once for both: its `measure` is a generator that yields the texts to read, is sent
their log-probabilities, and returns the outcome.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.llm.gathering import gather_results
from imapeval.metrics.base import BatchMetric, Metric, computed, option, resource, score_concurrently, unsigned
from imapeval.metrics.likelihood.logprobs import Continuation, ServerLogprobReader, TokenLogprobs
from imapeval.metrics.neural.models.weights import describe_missing_weights
from imapeval.types import Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.metrics.base import Case, Example, MetricResources, Range, Requirement
    from imapeval.metrics.likelihood.local_model import LocalLogprobReader
    from imapeval.signature import Value
    from imapeval.types import Lang

Measurement = Generator[list[Continuation], list[TokenLogprobs], Outcome]
"""Yields texts to read, is sent their readings in the same order, and returns the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelihoodMetric(BatchMetric):
    """A metric computed from the probabilities of tokens.

    Attributes:
        name, summary, citation, formula, example, range, languages, higher_is_better: See `Metric`.
        model: See the module's docstring.
        reader: Computes the probabilities; None until the metric is prepared.
    """

    name: str = unsigned()
    summary: str = unsigned()
    citation: str = unsigned()
    formula: str = unsigned()
    example: Example | None = unsigned(default=None)
    range: Range = unsigned()
    languages: frozenset[Lang] = unsigned(default=Metric.languages)
    higher_is_better: bool = unsigned(default=False)
    # The signature holds the identity of the model, not its path.
    model: str = option(
        "causal model to load: a folder or a hub name. Empty: the model named by --llm, behind a server "
        "that returns the probabilities of given texts, such as vLLM",
        "",
        signed=False,
    )
    reader: LocalLogprobReader | ServerLogprobReader | None = resource()

    @computed
    def requires(self) -> frozenset[Requirement]:
        return frozenset({"reference", "weights" if self.model else "logprobs"})

    @property
    def missing_requirements(self) -> str:
        return describe_missing_weights(self.name, self.model) if self.model and self.reader is None else ""

    def describe_state(self) -> Mapping[str, Value]:
        return {"model": self.model or "none" if self.reader is None else self.reader.identity}

    @property
    def is_async(self) -> bool:
        """Whether the probabilities come from a server."""
        return isinstance(self.reader, ServerLogprobReader)

    def prepare(self, resources: MetricResources) -> Metric:
        if self.model:
            from imapeval.metrics.likelihood.local_model import open_local_reader

            return replace(self, reader=open_local_reader(self.model, device=resources.device))
        if resources.llm is None:
            raise UsageError(
                f"the metric {self.name!r} needs the probabilities of tokens, and no model is named that gives them. "
                f"Load one here (--set {self.name}.model=FOLDER), or ask one behind vLLM: --llm openai:NAME "
                "--base-url http://127.0.0.1:8000/v1."
            )
        return replace(self, reader=ServerLogprobReader(resources.llm))

    @abstractmethod
    def measure(self, case: Case) -> Measurement:
        """Measure a case in one of the metric's languages."""

    def score_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score cases; see `Metric.score_batch`.

        Raises:
            UsageError: The metric is not prepared.
        """
        if self.reader is None:
            raise UsageError(f"the metric {self.name!r} has no model. Call prepare() first.")
        if isinstance(self.reader, ServerLogprobReader):
            return asyncio.run(self.ascore_batch(cases))
        return _measure_all([self._measure_case(case) for case in cases], self.reader.read)

    async def ascore_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        reader = self.reader
        if not isinstance(reader, ServerLogprobReader):
            return await BatchMetric.ascore_batch(self, cases)

        async def measure(case: Case) -> Outcome:
            return await _measure_on_server(self._measure_case(case), reader)

        return await score_concurrently(cases, measure, limit=reader.model.concurrency)

    def _measure_case(self, case: Case) -> Measurement:
        if refused := self.refuse_language(case.lang):
            return refused
        return (yield from self.measure(case))


async def _measure_on_server(measurement: Measurement, reader: ServerLogprobReader) -> Outcome:
    readings: list[TokenLogprobs] | None = None
    while True:
        try:
            wanted = next(measurement) if readings is None else measurement.send(readings)
        except StopIteration as end:
            return end.value
        readings = await gather_results(map(reader.read, wanted))


def _measure_all(
    measurements: Sequence[Measurement], read: Callable[[Sequence[Continuation]], list[TokenLogprobs | Failure]]
) -> list[Outcome]:
    """Return the outcomes; the next texts of all measurements are read together."""
    outcomes: dict[int, Outcome] = {}
    ready: dict[int, list[TokenLogprobs] | None] = dict.fromkeys(range(len(measurements)))
    while ready:
        wanted: dict[int, list[Continuation]] = {}
        for index, readings in ready.items():
            try:
                wanted[index] = next(measurements[index]) if readings is None else measurements[index].send(readings)
            except StopIteration as end:
                outcomes[index] = end.value
        read_all = iter(read([*chain.from_iterable(wanted.values())]))
        ready = {}
        for index, continuations in wanted.items():
            found = [next(read_all) for _ in continuations]
            readings = [reading for reading in found if isinstance(reading, TokenLogprobs)]
            if len(readings) == len(found):
                ready[index] = readings
            else:
                outcomes[index] = next(reading for reading in found if isinstance(reading, Failure))
    return [outcomes[index] for index in range(len(measurements))]
