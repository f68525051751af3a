"""Requests of judges to the language model: their prompts, sampling, and repetition after unusable completions."""

from __future__ import annotations

import inspect
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from imapeval.llm.gathering import gather_results
from imapeval.llm.protocol import Message, Request
from imapeval.llm.structured import templates
from imapeval.llm.structured.client import OutputFormat, StructuredOutputClient
from imapeval.metrics.judges.logprobs import LogprobsSupport
from imapeval.threads import offload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from imapeval.llm.protocol import Completion, Model
    from imapeval.llm.structured.templates import PromptTemplate
    from imapeval.types import Lang

PROMPT_VERSION = 1
"""Version of the prompts."""

RETRY_NOTE = "judge-retry"

SAMPLING_TEMPERATURE = 1.0
"""For means of several completions: Liu et al. 2023, section 3.1, "we set n = 20, temperature = 1"."""

_MAX_TOKENS = 1024
"""Maximum tokens of a completion, as in prometheus-eval. A score takes six tokens, but reasoning models need more."""

MAX_LIST_TOKENS = 4096
"""Maximum tokens of a completion that is a list: 200 facts (`lists`) of some 15 tokens, or ten answers of 500 Chinese
characters at half a token each, and the JSON around them."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A request of a judge.

    Attributes:
        task: Name of the prompt.
        lang: Language of the prompt.
        texts: Texts for the placeholders of the prompt.
        schema: JSON schema of the reply; None if the reply is not JSON.
        max_tokens: Maximum tokens of the completion; None for the usual limit.
        template: The prompt, if it is not a file in `prompts/`.
    """

    task: str
    lang: Lang
    texts: Mapping[str, str]
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    template: PromptTemplate | None = None


def object_schema(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def make_template(name: str, text: str, *, lang: Lang = "en") -> PromptTemplate:
    """Return a prompt that is part of a judge's code, not a file in `prompts/`.

    Args:
        name: Its name in signatures and requests.
        text: Its text, with placeholders such as `<answer>{{answer}}</answer>`; a text between tags is marked as data.
            Sections `## system` and `## user` are messages; without them, all of it is one message.
        lang: Language of the prompt.
    """
    text = inspect.cleandoc(text)
    _, messages = templates.split_sections(text)
    return templates.PromptTemplate(name, templates.delimit_texts(messages or (Message("user", text),), lang=lang))


class JudgeClient:
    """Sends the requests of judges to a model; finds out once what its server supports (formats, log-probabilities)."""

    def __init__(self, model: Model) -> None:
        self.model = model
        # None: greedy decoding.
        self._seed: int | None = None
        self._client = StructuredOutputClient(model, retry_note=RETRY_NOTE)
        self._logprobs = LogprobsSupport()

    def repeat(self, samples: int) -> list[JudgeClient]:
        """Return clients that sample with different seeds and share the output format; a single one does not sample."""
        if samples == 1:
            return [self]
        clients: list[JudgeClient] = [copy(self) for _ in range(samples)]
        for seed, client in enumerate(clients, 1):
            client._seed = seed
        return clients

    async def ask(
        self,
        request: JudgeRequest,
        parse: Callable[[Completion], _T],
        *,
        logprobs: int = 0,
    ) -> _T:
        """Send a request and parse the completion; if it is unusable, the request is repeated once.

        Raises:
            SampleError: Neither completion can be used, or the model did not answer.
            ServiceError: Every request to the model would fail.
        """
        template = request.template or templates.load(request.task, lang=request.lang, version=PROMPT_VERSION)
        messages = await offload(lambda: template.render(**request.texts), *request.texts.values())

        def make(form: OutputFormat) -> Request:
            return Request(
                messages,
                schema=request.schema if form is OutputFormat.SCHEMA else None,
                schema_name=request.task,
                json=form is OutputFormat.JSON and request.schema is not None,
                max_tokens=_MAX_TOKENS if request.max_tokens is None else request.max_tokens,
                temperature=0.0 if self._seed is None else SAMPLING_TEMPERATURE,
                seed=self._seed,
                logprobs=logprobs,
            )

        return await self._client.complete(make, parse, lang=request.lang)

    async def ask_weighted(
        self, request: JudgeRequest, parse: Callable[[Completion], _T], *, logprobs: int
    ) -> _T | None:
        """Send a request whose completion is of use only with log-probabilities; see `ask`.

        Returns:
            The parsed completion; None if the server is known to give none, and nothing was sent.

        Raises:
            SampleError, ServiceError: See `ask`.
        """
        async with self._logprobs.attempt():
            if self._logprobs.absent:
                return None
            parsed, given = await self.ask(
                request, lambda completion: (parse(completion), bool(completion.tokens)), logprobs=logprobs
            )
            self._logprobs.record(given=given)
            return parsed

    async def ask_repeatedly(
        self, request: JudgeRequest, parse: Callable[[Completion], _T], *, samples: int
    ) -> list[_T]:
        """Send a request several times, each with its own seed; a single request is not sampled.

        Unusable completions are ignored as long as more than half are usable.

        Returns:
            The parsed completions, in order.

        Raises:
            SampleError: See `ask`; the first one.
            ServiceError: See `ask`.
        """
        work = (client.ask(request, parse) for client in self.repeat(samples))
        return await gather_results(work, needed=samples // 2 + 1)
