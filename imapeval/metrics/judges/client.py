"""A language model as a judge: what it is asked, in which form, and how often."""

from __future__ import annotations

import asyncio
import inspect
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from imapeval.errors import ProviderError, SampleError
from imapeval.extraction.repeated import gather_readings
from imapeval.llm.protocol import PERMANENT_KINDS, Message, Request
from imapeval.llm.structured import templates
from imapeval.llm.structured.client import OutputFormat, StructuredOutputClient
from imapeval.threads import offload

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from imapeval.llm.protocol import Completion, Model
    from imapeval.llm.structured.templates import PromptTemplate
    from imapeval.types import Lang

PROMPT_VERSION = 1
"""Version of the prompts."""

RETRY_NOTE = "judge-retry"

SAMPLING_TEMPERATURE = 1.0
"""Where the mean of several completions counts: Liu et al. 2023, section 3.1, "we set n = 20, temperature = 1"."""

_MAX_TOKENS = 1024
"""Limit of a completion, as in prometheus-eval. A score takes six tokens, but models that think need room."""

MAX_LIST_TOKENS = 4096
"""Limit of a completion that is a list: 200 facts (`lists`) of some 15 tokens, or ten answers of 500 Chinese characters
at half a token each, with room for the JSON around them."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """What a judge is asked.

    Attributes:
        task: The prompt.
        lang: Its language.
        texts: What goes into it.
        schema: JSON schema of the reply; None if the reply is not JSON.
        max_tokens: Most tokens of the completion; None for the usual limit.
        template: The prompt itself if it is not one of ours; `task` is then its name.
    """

    task: str
    lang: Lang
    texts: Mapping[str, str]
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    template: PromptTemplate | None = None


def make_template(name: str, text: str, *, lang: Lang = "en") -> PromptTemplate:
    """Return a prompt that a judge brings itself, in place of a file in `prompts/`.

    Args:
        name: What it is called in signatures and requests.
        text: Its text, with places such as `<answer>{{answer}}</answer>`: what goes between tags stays data. Sections
            `## system` and `## user` are messages; without them all of it is one.
        lang: Language of the prompt.
    """
    text = inspect.cleandoc(text)
    _, messages = templates.split_sections(text)
    return templates.PromptTemplate(name, templates.delimit_texts(messages or (Message("user", text),), lang=lang))


class JudgeClient:
    """Asks a model for judgements; what its server can be held to is learnt once.

    Args:
        model: The model to ask.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        # Of sampled completions; None for completions without sampling.
        self._seed: int | None = None
        self._client = StructuredOutputClient(model, retry_note=RETRY_NOTE)

    def repeat(self, samples: int) -> list[JudgeClient]:
        """Return clients that sample with different seeds, which share what is learnt; one is without sampling."""
        if samples == 1:
            return [self]
        clients: list[JudgeClient] = [copy(self) for _ in range(samples)]
        for seed, client in enumerate(clients, 1):
            client._seed = seed
        return clients

    async def ask(
        self,
        question: JudgeRequest,
        parse: Callable[[Completion], _T],
        *,
        logprobs: int = 0,
    ) -> _T:
        """Ask, and parse the completion; where the completion has a fault that asking again may fix, once more.

        Raises:
            SampleError: Neither completion can be used, or the model did not answer.
            ServiceError: The model answers nobody any more.
        """
        template = question.template or templates.load(question.task, lang=question.lang, version=PROMPT_VERSION)
        messages = await offload(lambda: template.render(**question.texts), *question.texts.values())

        def make(form: OutputFormat) -> Request:
            return Request(
                messages,
                schema=question.schema if form is OutputFormat.SCHEMA else None,
                schema_name=question.task,
                json=form is OutputFormat.JSON and question.schema is not None,
                max_tokens=_MAX_TOKENS if question.max_tokens is None else question.max_tokens,
                temperature=0.0 if self._seed is None else SAMPLING_TEMPERATURE,
                seed=self._seed,
                logprobs=logprobs,
            )

        return await self._client.complete(make, parse, lang=question.lang)

    async def ask_repeatedly(
        self, question: JudgeRequest, parse: Callable[[Completion], _T], *, samples: int
    ) -> list[_T]:
        """Ask several times, with sampling and another seed each time; once is without sampling.

        A completion that cannot be used counts as one that was not made, as long as more than half can.

        Returns:
            The parsed completions, in order.

        Raises:
            SampleError: As `ask`, of the first that failed.
            ServiceError: As `ask`.
        """
        work = (client.ask(question, parse) for client in self.repeat(samples))
        return await gather_readings(work, needed=samples // 2 + 1)


async def gather_or_raise(work: Iterable[Awaitable[_T]]) -> list[_T]:
    """Return what all of them return, in order; all are waited for also where one fails, for they are paid for.

    Raises:
        ImapEvalError: One failed: what concerns more than one sample, else what may not happen again, else the first.
    """
    made = await asyncio.gather(*work, return_exceptions=True)
    errors = [result for result in made if isinstance(result, BaseException)]
    if errors:
        raise min(errors, key=_rank_error)
    return [result for result in made if not isinstance(result, BaseException)]


def _rank_error(error: BaseException) -> int:
    if not isinstance(error, SampleError):
        return 0
    return 1 if isinstance(error, ProviderError) and error.kind not in PERMANENT_KINDS else 2
