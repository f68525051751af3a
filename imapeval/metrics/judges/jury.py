"""A language model as a judge: what it is asked, in which form, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from imapeval.extraction import prompting
from imapeval.extraction.asking import Asker
from imapeval.extraction.forms import Form
from imapeval.extraction.voting import gather_readings
from imapeval.llm.client import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from imapeval.llm.client import Completion, Model
    from imapeval.types import Lang

VERSION = 1
"""Of the prompts."""

RETRY_NOTE = "judge-retry"

SAMPLING_TEMPERATURE = 1.0
"""Where the mean of several completions counts: Liu et al. 2023, section 3.1, "we set n = 20, temperature = 1"."""

_MAX_TOKENS = 1024
"""Of a completion, as prometheus-eval has it. A score takes six; it is a limit, and models that think need room."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked.

    Attributes:
        task: The prompt.
        lang: Its language.
        texts: What goes into it.
        schema: Of the JSON that it asks for; None where it asks for something else.
    """

    task: str
    lang: Lang
    texts: Mapping[str, str]
    schema: Mapping[str, Any] | None = None


class Jury:
    """Asks a model for judgements; what its server can be held to is learnt once.

    Args:
        model: Who is asked.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._asker = Asker(model, note=RETRY_NOTE)

    async def ask(
        self,
        question: Question,
        understand: Callable[[Completion], _T],
        *,
        temperature: float = 0.0,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> _T:
        """Ask and understand; where the completion has a fault that asking again may mend, once more.

        Raises:
            SampleError: Neither completion can be used, or the model did not answer.
            ServiceError: The model answers nobody any more.
        """
        messages = prompting.load(question.task, lang=question.lang, version=VERSION).render(**question.texts)

        def make(form: Form) -> Request:
            return Request(
                messages,
                schema=question.schema if form is Form.SCHEMA else None,
                schema_name=question.task,
                json=form is Form.JSON and question.schema is not None,
                max_tokens=_MAX_TOKENS,
                temperature=temperature,
                seed=seed,
                logprobs=logprobs,
            )

        return await self._asker.ask(make, understand, lang=question.lang)

    async def poll(self, question: Question, understand: Callable[[Completion], _T], *, samples: int) -> list[_T]:
        """Ask several times, with sampling and another seed each time; once is without sampling.

        A completion that cannot be used counts as one that was not made, as long as more than half can.

        Returns:
            What was understood, in order.

        Raises:
            SampleError: As `ask`, of the first that failed.
            ServiceError: As `ask`.
        """
        if samples == 1:
            return [await self.ask(question, understand)]
        work = (
            self.ask(question, understand, temperature=SAMPLING_TEMPERATURE, seed=seed)
            for seed in range(1, samples + 1)
        )
        return await gather_readings(work, needed=samples // 2 + 1)
