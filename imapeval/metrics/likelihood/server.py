"""Texts read by a model behind a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import ProviderError
from imapeval.llm.protocol import Request
from imapeval.llm.providers.echo_logprobs import token_ends
from imapeval.metrics.likelihood.logprobs import TokenLogprobs

if TYPE_CHECKING:
    from imapeval.llm.protocol import Model
    from imapeval.metrics.likelihood.logprobs import Continuation


@dataclass(frozen=True, slots=True)
class ServerLogprobReader:
    """Asks a language model for the probabilities of given texts; what it was asked once is in the cache.

    The server has to be one that repeats the text with them (`imapeval.llm.providers.echo_logprobs`). A text that is longer than the
    server's context is a `ProviderError` of kind "too-long": it is not cut.
    """

    model: Model

    @property
    def identity(self) -> str:
        """The model's own."""
        return self.model.identity

    async def read(self, given: Continuation) -> TokenLogprobs:
        """Read one text.

        Raises:
            ProviderError: The model did not answer, or tells no probabilities of this text.
            ServiceError: It answers nobody any more, or tells no probabilities at all.
        """
        whole = given.prefix + given.text
        completion = await self.model.complete(Request((), given=whole, max_tokens=1))
        ends = token_ends([token.text for token in completion.tokens], whole)
        if ends is None:
            raise ProviderError(f"{self.identity} gave tokens that do not spell the text", kind="unsupported")
        start = len(given.prefix)
        seen = [(token.logprob, end - start) for token, end in zip(completion.tokens, ends, strict=True) if end > start]
        return TokenLogprobs(tuple(logprob for logprob, _ in seen), tuple(end for _, end in seen))
