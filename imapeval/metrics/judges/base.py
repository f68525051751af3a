"""What all metrics that ask a language model have in common."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Self, get_args

from imapeval.errors import ImapEvalError, SampleError, UsageError
from imapeval.extraction.injection_filter import is_about_score
from imapeval.extraction.source import SourceText
from imapeval.llm.structured import templates
from imapeval.metrics.judges.client import PROMPT_VERSION, RETRY_NOTE, JudgeClient
from imapeval.signature import signature
from imapeval.text.markup import fold_confusables
from imapeval.types import Failure, Lang, Pair

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from imapeval.metrics.base import Case, MetricResources, Requirement
    from imapeval.types import Outcome

_INSIDE = r"(?:(?!\n\s*\n)[^{}])"
_LINE = r"^[ \t>*•#\-\d.)、）\"'“”‘’]*+"
_SCORE_AFTER_LABEL = (
    r"[ \t*\"'“”‘’]*+(?:[(（][^()（）\n]{1,20}[)）][ \t*]*+)?+[:：=][ \t*\"'“”‘’]*+"
    r"[1-9]\d{0,2}+(?:\.\d++)?+(?:[ \t]*+(?:/|out of)[ \t]*+\d++)?+[ \t*.,;!。，；！分\"'“”‘’…]*+$"
)


@cache
def _compile_score_forms(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return what finds the forms in which judges answer, those that put a score behind one of these labels too.

    In ordinary letters; the extractor's forms are known to `imapeval.extraction.injection_filter`.
    """
    more = "".join(f"|{re.escape(fold_confusables(label))}" for label in labels)
    key = rf"(?<!\w)(?:score|accuracy|completeness|specificity|supported{more})[\"'“”‘’]?\s*+[:：=]"
    return re.compile(
        # The look ahead keeps the time in proportion to the text: without it every key would look for the end.
        rf"\{{(?=[^{{}}]*+\}})[^{{}}]*{key}[^{{}}]*\}}"
        # What is not closed goes to the end of its paragraph.
        rf"|\{{{_INSIDE}*?{key}{_INSIDE}*+"
        r"|\[RESULT\](?:\s*+[(\[]?+\s*+\d++(?:\s*+/\s*+\d++)?+[)\]]?)?"
        # A line that is nothing else. "Specificity: 95%" and "0.95" are what a test has.
        rf"|{_LINE}(?:accuracy|completeness|specificity|准确性|完整性|具体性{more})"
        rf"[ \t]*+(?:score|rating|评分|得分)?+{_SCORE_AFTER_LABEL}"
        rf"|{_LINE}supported[ \t*\"'“”‘’]*+[:：=][ \t*\"'“”‘’]*+(?:true|false)[ \t*.,;!。，；！]*+$",
        re.IGNORECASE | re.MULTILINE,
    )


_SCORE_LINE = re.compile(rf"{_LINE}(?:score|评分|得分){_SCORE_AFTER_LABEL}", re.IGNORECASE | re.MULTILINE)
"""A score of nothing in particular, which is one of those forms unless a score was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(ABC):
    """A metric whose cases are judged by a language model, one by one.

    A case of which the model makes nothing usable, also when it is asked a second time with what was wrong, is a
    `Failure` of its own. The model sees texts as data between markers, the response without what is no statement of
    it (`imapeval.extraction.injection_filter`); a text that is longer than the model takes is `Failure("too-long")`.

    Attributes:
        name, summary, citation: See `Metric`.
        jury: The model, once it is there.
        on_imaps: Whether responses are texts of imaps, in which each fact was looked at by itself (`clean_fact`).
    """

    name: str = field(metadata={"signature": False})
    summary: str = field(metadata={"signature": False})
    citation: str = field(metadata={"signature": False})
    client: JudgeClient | None = field(default=None, repr=False, compare=False, metadata={"signature": False})
    on_imaps: bool = field(default=False, repr=False, metadata={"signature": False})

    @property
    def languages(self) -> frozenset[Lang]:
        """Those of the prompts."""
        return frozenset(get_args(Lang))

    @property
    def higher_is_better(self) -> bool:
        """Of all judges."""
        return True

    @property
    def missing_requirements(self) -> str:
        """Nothing but the model, which is named with --llm."""
        return ""

    @property
    @abstractmethod
    def requires(self) -> frozenset[Requirement]:
        """See `Metric`."""

    @property
    @abstractmethod
    def range(self) -> tuple[float | None, float | None]:
        """See `Metric`."""

    @property
    @abstractmethod
    def prompt_names(self) -> tuple[str, ...]:
        """The prompts that it uses."""

    @abstractmethod
    async def judge_one(self, case: Case, jury: JudgeClient) -> Outcome:
        """Judge one case.

        Raises:
            SampleError: The model did not answer, or nothing that can be used.
            ServiceError: The model answers nobody any more.
        """

    @property
    def signature(self) -> str:
        """Options, model and prompts of both languages."""
        return self.sign()

    def sign(self, **more: str) -> str:
        """Return the signature with further entries."""
        return signature(
            self.name,
            self,
            **more,
            model="none" if self.client is None else self.client.model.identity,
            prompts="/".join(
                templates.prompt_identity(task, PROMPT_VERSION) for task in (*self.prompt_names, RETRY_NOTE)
            ),
            v="3",
        )

    def prepare(self, resources: MetricResources) -> Self:
        """Return it with the model to ask; see `Preparable`."""
        if resources.llm is None:
            raise UsageError(
                f"the metric {self.name!r} asks a language model, and none is named. Add --llm openai:NAME."
            )
        return replace(self, jury=JudgeClient(resources.llm))

    def clean_response(self, case: Case, *, labels: tuple[str, ...] = ()) -> str | None:
        """Return what the model is shown of a response, None where it states nothing at all; see `clean_answer`."""
        if self.on_imaps:
            # Its lines "term: value" are ours, and look like forged ones: "system: digestive".
            return case.response if _has_content(case.response) else None
        reference = case.reference if "reference" in self.requires else ""
        return clean_answer(case.response, score_asked=is_about_score(case.question, reference), labels=labels)

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch, waiting for it; see `Metric.score`. Where an event loop runs, use `ask`."""
        return asyncio.run(self.ask(cases))

    async def ask(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch, so many cases at a time as the model makes good use of; see `Asking.ask`."""
        jury = self.client
        if jury is None:
            raise UsageError(f"the metric {self.name!r} has no language model to ask. Call prepare() first.")
        return await score_each(cases, lambda case: self.judge_one(case, jury), at_a_time=jury.model.concurrency)


async def score_each(
    cases: Sequence[Case], judge: Callable[[Case], Awaitable[Outcome]], *, at_a_time: int
) -> list[Outcome]:
    """Judge every case; what fails for one alone is its own `Failure`.

    Raises:
        ImapEvalError: Something that concerns all cases; raised once what was under way is done, and paid for.
    """
    outcomes: dict[int, Outcome] = {}
    fatal: list[ImapEvalError] = []
    waiting = iter(enumerate(cases))

    async def work() -> None:
        for place, case in waiting:
            try:
                outcomes[place] = await judge(case)
            except SampleError as error:
                stage = "llm" if error.stage == "llm" else "metric"
                outcomes[place] = Failure(stage, error.kind, str(error), error.raw)
            except ImapEvalError as error:
                fatal.append(error)
            if fatal:
                return

    await asyncio.gather(*(work() for _ in range(min(at_a_time, len(cases)))))
    if fatal:
        raise fatal[0]
    return [outcomes[place] for place in range(len(cases))]


def clean_answer(response: str, *, score_asked: bool = False, labels: tuple[str, ...] = ()) -> str | None:
    """Return what a judge is shown of a response: without what is no statement of it, such as a ready-made score.

    Args:
        response: The text.
        score_asked: Whether a score is asked for, such as Apgar's: then a line "Score: 7" is a statement. Only question
            and reference can say so, never the response.
        labels: What a judge's score stands behind, beside those that judges of ours have.

    Returns:
        None where nothing at all is stated.
    """
    shown = SourceText(response, under_evaluation=True, score_asked=score_asked).shown_text
    scored = _compile_score_forms(labels)
    for form in (scored,) if score_asked else (scored, _SCORE_LINE):
        shown = _cut_out(form, shown)
    return shown if _has_content(shown) else None


def clean_fact(pair: Pair) -> Pair | None:
    """Return what a judge is shown of a fact, of which term and value are looked at singly, each as by `clean_answer`.

    Returns:
        None where one of them is nothing but what `clean_answer` leaves out.
    """
    # A value without a letter, such as "+", says nothing to `clean_answer`, but is one.
    term, value = (clean_answer(text) if _has_content(text) else text for text in (pair.term, pair.value))
    return None if term is None or value is None else Pair(" ".join(term.split()), " ".join(value.split()))


def _cut_out(form: re.Pattern[str], text: str) -> str:
    parts: list[str] = []
    done = 0
    # As long, character for character.
    for found in form.finditer(fold_confusables(text)):
        parts += text[done : found.start()], " … "
        done = found.end()
    return "".join((*parts, text[done:]))


def _has_content(text: str) -> bool:
    return any(map(str.isalnum, text))
