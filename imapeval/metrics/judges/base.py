"""The base class of metrics that ask a language model to judge a response."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Self, TypeVar

from imapeval.errors import UsageError
from imapeval.extraction.injection_filter import is_about_score
from imapeval.extraction.repeated import gather_readings
from imapeval.llm.structured import templates
from imapeval.metrics.base import Metric, computed, option, resource, unsigned
from imapeval.metrics.judges.client import PROMPT_VERSION, RETRY_NOTE, JudgeClient
from imapeval.metrics.judges.prompts.answer_text import clean_answer, has_content
from imapeval.threads import offload
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from imapeval.llm.protocol import Completion
    from imapeval.llm.structured.templates import PromptTemplate
    from imapeval.metrics.base import Case, MetricResources
    from imapeval.metrics.judges.client import JudgeRequest
    from imapeval.signature import Value
    from imapeval.types import Outcome

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(Metric):
    """A metric whose cases are judged by a language model, one by one; a subclass defines `async def score`.

    A case for which the model gives no usable judgement, even when it is asked a second time with what was wrong, is a
    `Failure`. The model sees texts as data between markers, and the response without what is not a statement of it
    (`clean_response`); a text that is longer than the model takes is `Failure("too-long")`.

    Attributes:
        client: Asks the model; None until the metric is prepared.
        on_imaps: Whether responses are texts of imaps, in which each fact was cleaned by itself (`clean_fact`).
    """

    requires = frozenset({"llm", "reference"})
    revision = "6"
    client: JudgeClient | None = resource()
    on_imaps: bool = unsigned(default=False, repr=False)

    @computed
    def prompt_names(self) -> tuple[str, ...]:
        """The prompts in `prompts/` that it uses; none unless a subclass names some."""
        return ()

    @computed
    def template(self) -> PromptTemplate | None:
        """A prompt of the judge's own that is not in `prompts/` (`make_template`); None if it has none."""
        return None

    @abstractmethod
    async def score(self, case: Case) -> float | Outcome:
        """Judge one case; see `Metric.score`."""

    @computed
    def concurrency(self) -> int:
        """As many cases at the same time as the model can use."""
        return 1 if self.client is None else self.client.model.concurrency

    def describe_state(self) -> Mapping[str, Value]:
        """Return the model and the prompts, in both languages."""
        prompts = [templates.prompt_identity(name, PROMPT_VERSION) for name in (*self.prompt_names, RETRY_NOTE)]
        if self.template is not None:
            digest = hashlib.sha256(repr(self.template.messages).encode()).hexdigest()
            prompts.insert(0, f"{self.template.name}#{digest[:8]}")
        return {
            "model": "none" if self.client is None else self.client.model.identity,
            "prompts": "/".join(prompts),
        }

    def prepare(self, resources: MetricResources) -> Self:
        """Return it with the model to ask; see `Metric.prepare`."""
        if resources.llm is None:
            raise UsageError(
                f"the metric {self.name!r} asks a language model, and none is named. Add --llm openai:NAME."
            )
        return replace(self, client=JudgeClient(resources.llm))

    async def ask(self, request: JudgeRequest, parse: Callable[[Completion], _T]) -> _T:
        """Ask the model once, without sampling; see `JudgeClient.ask`."""
        return await self.get_client().ask(request, parse)

    def get_client(self) -> JudgeClient:
        """Return what asks the model.

        Raises:
            UsageError: The metric is not prepared.
        """
        if self.client is None:
            raise UsageError(f"the metric {self.name!r} has no language model to ask. Call prepare() first.")
        return self.client

    async def clean_response(self, case: Case, *, labels: tuple[str, ...] = ()) -> str | None:
        """Return what the model is shown of a response, None if it states nothing at all; see `clean_answer`.

        A long response is cleaned in a thread.
        """
        if self.on_imaps:
            # Its lines "term: value" are ours, and would look like forged ones: "system: digestive".
            return case.response if has_content(case.response) else None
        reference = case.reference if "reference" in self.requires else ""

        def clean() -> str | None:
            return clean_answer(case.response, score_asked=is_about_score(case.question, reference), labels=labels)

        return await offload(clean, case.response, case.question, reference)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledJudge(Judge):
    """A judge that judges a case several times if wanted; `--votes N` asks for at least N times.

    Attributes:
        samples: How often a case is judged; see `JudgeClient.repeat`.
    """

    samples: int = option("judgements whose mean counts; one is greedy, several are sampled", 1)

    def __post_init__(self) -> None:
        """Check the options."""
        if self.samples < 1:
            raise ValueError(f"samples {self.samples} is less than 1")

    def prepare(self, resources: MetricResources) -> Self:
        """Return it with the model to ask, and as many samples as are wanted; see `Metric.prepare`."""
        repeated = replace(self, samples=max(self.samples, resources.votes))
        return super(SampledJudge, repeated).prepare(resources)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiStepJudge(SampledJudge):
    """A judge whose requests build on earlier replies; a subclass defines `judge_once`, whose outcomes are averaged."""

    @abstractmethod
    async def judge_once(self, case: Case, answer: str, client: JudgeClient) -> Outcome:
        """Judge one case once.

        Args:
            case: The case.
            answer: The response without what is not a statement of it; states something.
            client: Whom to ask.
        """

    @computed
    def empty(self) -> Outcome:
        """The outcome of a response that states nothing."""
        return Score(0.0)

    async def score(self, case: Case) -> Outcome:
        """Return the mean of the judgements if more than half of them give a score, else the first failure."""
        answer = await self.clean_response(case)
        if answer is None:
            return self.empty
        needed = self.samples // 2 + 1
        work = (self.judge_once(case, answer, client) for client in self.get_client().repeat(self.samples))
        outcomes = await gather_readings(work, needed=needed)
        scores = [outcome for outcome in outcomes if isinstance(outcome, Score)]
        if len(scores) < needed:
            return next(outcome for outcome in outcomes if not isinstance(outcome, Score))
        if self.samples == 1:
            return scores[0]
        values = tuple(score.value for score in scores)
        parts = {part: fmean(score.parts[part] for score in scores) for part in scores[0].parts}
        return Score(fmean(values), parts, (values,))
