"""The base class of metrics that ask a language model to judge a response."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from imapeval.errors import UsageError
from imapeval.extraction.injection_filter import has_content, is_about_score
from imapeval.llm.gathering import gather_results
from imapeval.llm.structured import templates
from imapeval.metrics.base import Metric, computed, option, resource, unsigned
from imapeval.metrics.judges.client import PROMPT_VERSION, RETRY_NOTE, JudgeClient
from imapeval.metrics.judges.prompts.answer_text import clean_answer
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

_SHARED_REVISION = "7"
"""Revision of what all judges share, such as how answers are cleaned; raised by any change to it that can move a score.
A judge's own changes raise its `revision`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(Metric):
    """A metric whose cases are judged by a language model, one by one; a subclass defines `async def score`.

    If its prompts ask for more than a number, it also defines `simulate_reply`, so that dry runs know what follows.

    If a completion is unusable, the request is repeated once with a note on what was wrong; if the second one is
    unusable too, the case is a `Failure`. Texts are marked as data, and parts of the response that are not statements
    are removed (`clean_response`). A text that exceeds the model's context is `Failure("too-long")`.

    Attributes:
        client: Sends requests to the model; None until the metric is prepared.
        on_imaps: Whether responses are texts of imaps, whose facts were cleaned one by one (`clean_fact`).
    """

    requires = frozenset({"llm", "reference"})
    client: JudgeClient | None = resource()
    on_imaps: bool = unsigned(default=False, repr=False)

    @computed
    def prompt_names(self) -> tuple[str, ...]:
        """The prompts in `prompts/` that the judge uses."""
        return ()

    @computed
    def template(self) -> PromptTemplate | None:
        """The prompt in the judge's code (`make_template`); None if its prompts are in `prompts/`."""
        return None

    @abstractmethod
    async def score(self, case: Case) -> float | Outcome:
        """Judge one case; see `Metric.score`."""

    @computed
    def concurrency(self) -> int:
        """The concurrency of the model."""
        return 1 if self.client is None else self.client.model.concurrency

    def describe_state(self) -> Mapping[str, Value]:
        prompts = [templates.prompt_identity(name, PROMPT_VERSION) for name in (*self.prompt_names, RETRY_NOTE)]
        if self.template is not None:
            digest = hashlib.sha256(repr(self.template.messages).encode()).hexdigest()
            prompts.insert(0, f"{self.template.name}#{digest[:8]}")
        return {
            "model": "none" if self.client is None else self.client.model.identity,
            "prompts": "/".join(prompts),
            "judge": _SHARED_REVISION,
        }

    def prepare(self, resources: MetricResources) -> Self:
        if resources.llm is None:
            raise UsageError(
                f"the metric {self.name!r} asks a language model, and none is named. Add --llm openai:NAME."
            )
        return replace(self, client=JudgeClient(resources.llm))

    def simulate_reply(self, task: str) -> str:
        """Return a typical reply of the model, with which a dry run continues and whose tokens it counts.

        By default it is a bare number: the middle of the judge's range, or 3 if the range is open. A judge that asks
        for anything else returns what its own parser can read.

        Args:
            task: Name of the prompt.
        """
        del task
        low, high = self.range
        return "3" if low is None or high is None else f"{(low + high) // 2:g}"

    async def ask(self, request: JudgeRequest, parse: Callable[[Completion], _T]) -> _T:
        """Send one request, without sampling; see `JudgeClient.ask`."""
        return await self.get_client().ask(request, parse)

    def get_client(self) -> JudgeClient:
        """Return the client.

        Raises:
            UsageError: The metric is not prepared.
        """
        if self.client is None:
            raise UsageError(f"the metric {self.name!r} has no language model to ask. Call prepare() first.")
        return self.client

    async def clean_response(self, case: Case, *, labels: tuple[str, ...] = ()) -> str | None:
        """Return the response as the model sees it, or None if it states nothing; see `clean_answer`.

        A long response is cleaned in a thread.
        """
        if self.on_imaps:
            # The filter would take its lines "term: value", such as "system: digestive", for forged ones.
            return case.response if has_content(case.response) else None

        def clean() -> str | None:
            return clean_answer(case.response, score_asked=self.is_score_asked(case), labels=labels)

        return await offload(clean, case.response, case.question, case.reference)

    def is_score_asked(self, case: Case) -> bool:
        """Return whether the case asks for a score; see `clean_answer`."""
        return is_about_score(case.question, case.reference if "reference" in self.requires else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledJudge(Judge):
    """A judge that can judge each case several times; with `--votes N`, at least N times.

    Attributes:
        samples: Number of judgements per case; see `JudgeClient.repeat`.
    """

    samples: int = option("judgements whose mean counts; one is greedy, several are sampled", 1)

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"samples {self.samples} is less than 1")

    def prepare(self, resources: MetricResources) -> Self:
        repeated = replace(self, samples=max(self.samples, resources.votes))
        return super(SampledJudge, repeated).prepare(resources)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiStepJudge(SampledJudge):
    """A judge whose requests build on earlier replies; a subclass defines `judge_once`, whose outcomes are averaged.

    Attributes:
        empty: The outcome of a response that states nothing.
    """

    empty: ClassVar[Outcome] = Score(0.0)

    @abstractmethod
    async def judge_once(self, case: Case, answer: str, client: JudgeClient) -> Outcome:
        """Judge one case once.

        Args:
            case: The case.
            answer: The cleaned response (`clean_response`), which states something.
            client: Sends the requests.
        """

    async def score(self, case: Case) -> Outcome:
        """Return the mean of the judgements if more than half of them are scores, else the first failure."""
        answer = await self.clean_response(case)
        if answer is None:
            return self.empty
        needed = self.samples // 2 + 1
        work = (self.judge_once(case, answer, client) for client in self.get_client().repeat(self.samples))
        outcomes = await gather_results(work, needed=needed)
        scores = [outcome for outcome in outcomes if isinstance(outcome, Score)]
        if len(scores) < needed:
            return next(outcome for outcome in outcomes if not isinstance(outcome, Score))
        if self.samples == 1:
            return scores[0]
        values = tuple(score.value for score in scores)
        parts = {part: fmean(score.parts[part] for score in scores) for part in scores[0].parts}
        return Score(fmean(values), parts, (values,))
