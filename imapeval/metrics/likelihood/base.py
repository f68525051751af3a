"""What all metrics of this kind have in common: where the probabilities come from.

With the option `model` the model is loaded here, through transformers. Without it the language model that is named for
the run (--llm) is asked, which has to stand behind a server that tells the probabilities of given texts.

What a metric computes it says once, for both: its `measure` is a generator that yields what is to be read, is sent the
readings, and returns the outcome.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.metrics.judges.base import score_each
from imapeval.metrics.likelihood.logprobs import Continuation, TokenLogprobs
from imapeval.metrics.likelihood.server import ServerLogprobReader
from imapeval.metrics.neural.models.weights import describe_missing_weights
from imapeval.signature import signature
from imapeval.types import Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.metrics.base import Case, Metric, MetricResources, Requirement
    from imapeval.metrics.likelihood.logprobs import LogprobReader
    from imapeval.types import Lang

Measurement = Generator[list[Continuation], list[TokenLogprobs], Outcome]
"""Yields texts to read, is sent their readings in the same order, and returns the outcome."""

NOT_FINITE = Failure(
    "metric", "not-finite", "the model's numbers pass what its precision holds; have it computed with --device cpu"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelihoodMetric(ABC):
    """A metric made of the probabilities of tokens.

    Attributes:
        name, summary, citation, range, languages, higher_is_better: See `Metric`.
        model: See the module's docstring.
        reader: The model, once it is loaded.
    """

    name: str = field(metadata={"signature": False})
    summary: str = field(metadata={"signature": False})
    citation: str = field(metadata={"signature": False})
    range: tuple[float | None, float | None] = field(metadata={"signature": False})
    languages: frozenset[Lang] = field(default=frozenset({"en", "zh"}), metadata={"signature": False})
    higher_is_better: bool = field(default=False, metadata={"signature": False})
    model: str = field(
        default="",
        metadata={
            "option": "causal model that is loaded here: a folder, or a name at the hub. Empty: the one that --llm "
            "names, behind a server that tells the probabilities of given texts, such as vLLM's",
            "signature": False,
        },
    )
    reader: LogprobReader | None = field(default=None, repr=False, compare=False, metadata={"signature": False})

    @property
    def requires(self) -> frozenset[Requirement]:
        """A reference, and weights or a server; see `Metric.requires`."""
        return frozenset({"reference", "weights" if self.model else "logprobs"})

    @property
    def missing_requirements(self) -> str:
        """See `Metric.missing_requirements`."""
        return describe_missing_weights(self.name, self.model) if self.model and self.reader is None else ""

    @property
    def signature(self) -> str:
        """See `Metric.signature`."""
        return self.sign(self.model or "none" if self.reader is None else self.reader.identity)

    def sign(self, identity: str) -> str:
        """Return the signature with a model of that identity."""
        return signature(self.name, self, model=identity, v=1)

    def prepare(self, resources: MetricResources) -> Metric:
        """Return it with its model; see `Preparable`."""
        if self.model:
            from imapeval.metrics.likelihood.local_model import open_local_reader

            return replace(self, reader=open_local_reader(self.model, device=resources.device))
        if resources.llm is None:
            raise UsageError(
                f"the metric {self.name!r} needs the probabilities of tokens, and no model is named that tells them. "
                f"Have one loaded here (--set {self.name}.model=FOLDER), or ask one behind vLLM: --llm openai:NAME "
                "--base-url http://127.0.0.1:8000/v1."
            )
        return AskedLikelihood(self, ServerLogprobReader(resources.llm))

    @abstractmethod
    def measure(self, case: Case) -> Measurement:
        """Measure a case in one of the metric's languages."""

    def begin(self, case: Case) -> Measurement:
        """Measure any case; one in none of the metric's languages is `Failure("language")`."""
        if case.lang not in self.languages:
            known = " and ".join(sorted(self.languages))
            return Failure("metric", "language", f"{self.name} is for texts in {known}; this sample is {case.lang!r}")
        return (yield from self.measure(case))

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch; see `Metric.score`.

        Raises:
            UsageError: It is not prepared.
        """
        if self.reader is None:
            raise UsageError(f"the metric {self.name!r} has no model. Call prepare() first.")
        return _measure_all([self.begin(case) for case in cases], self.reader.read)


@dataclass(frozen=True, slots=True)
class AskedLikelihood:
    """A metric whose model is behind a server.

    Attributes:
        metric: What it measures.
        reader: Asks the model.
    """

    metric: LikelihoodMetric
    reader: ServerLogprobReader

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def summary(self) -> str:
        return self.metric.summary

    @property
    def citation(self) -> str:
        return self.metric.citation

    @property
    def requires(self) -> frozenset[Requirement]:
        return self.metric.requires

    @property
    def languages(self) -> frozenset[Lang]:
        return self.metric.languages

    @property
    def range(self) -> tuple[float | None, float | None]:
        return self.metric.range

    @property
    def higher_is_better(self) -> bool:
        return self.metric.higher_is_better

    @property
    def missing_requirements(self) -> str:
        return self.metric.missing_requirements

    @property
    def signature(self) -> str:
        return self.metric.sign(self.reader.identity)

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch, waiting for it; see `Metric.score`. Where an event loop runs, use `ask`."""
        return asyncio.run(self.ask(cases))

    async def ask(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch; see `Asking.ask`."""
        return await score_each(cases, self._measure, at_a_time=self.reader.model.concurrency)

    async def _measure(self, case: Case) -> Outcome:
        measure = self.metric.begin(case)
        readings: list[TokenLogprobs] | None = None
        while True:
            try:
                wanted = next(measure) if readings is None else measure.send(readings)
            except StopIteration as end:
                return end.value
            # All of them are waited for: what is under way has been paid for.
            read = await asyncio.gather(*map(self.reader.read, wanted), return_exceptions=True)
            readings = []
            for reading in read:
                if isinstance(reading, BaseException):
                    raise reading
                readings.append(reading)


def _measure_all(
    measures: Sequence[Measurement], read: Callable[[Sequence[Continuation]], list[TokenLogprobs | Failure]]
) -> list[Outcome]:
    """Return the outcomes, reading together what all of them want to be read next."""
    outcomes: dict[int, Outcome] = {}
    ready: dict[int, list[TokenLogprobs] | None] = dict.fromkeys(range(len(measures)))
    while ready:
        wanted: dict[int, list[Continuation]] = {}
        for place, readings in ready.items():
            try:
                wanted[place] = next(measures[place]) if readings is None else measures[place].send(readings)
            except StopIteration as end:
                outcomes[place] = end.value
        read_all = iter(read([one for given in wanted.values() for one in given]))
        ready = {}
        for place, given in wanted.items():
            found = [next(read_all) for _ in given]
            readings = [reading for reading in found if isinstance(reading, TokenLogprobs)]
            if len(readings) == len(found):
                ready[place] = readings
            else:
                outcomes[place] = next(reading for reading in found if isinstance(reading, Failure))
    return [outcomes[place] for place in range(len(measures))]
