"""Texts and the log-probabilities that a model gives to their tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import ProviderError
from imapeval.llm.protocol import Request
from imapeval.llm.providers.echo_logprobs import token_ends

if TYPE_CHECKING:
    from imapeval.llm.protocol import Model


@dataclass(frozen=True, slots=True)
class Continuation:
    """A text and its prefix.

    Attributes:
        prefix: If it is empty, a loaded model reads its begin-of-text token first; a server may read nothing, and then
            returns no probability of the first token.
        text: The text whose tokens count; not empty. A token that extends from the prefix into the text counts.
        whole: Whether the text must not be read in windows, of which the later ones do not include the prefix.
    """

    prefix: str
    text: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The probabilities of a text after its prefix.

    Attributes:
        logprobs: Natural logarithms of the probabilities of the text's tokens.
        ends: Ends of these tokens, in characters of the text: not decreasing; the last one is the text's length. Tokens
            that encode parts of one character may have the same end.
        windows: Number of windows in which the text was read; above 1 if it exceeds the model's context.
    """

    logprobs: tuple[float, ...]
    ends: tuple[int, ...]
    windows: int = 1


@dataclass(frozen=True, slots=True)
class ServerLogprobReader:
    """Requests the probabilities of texts from a language model behind a server; replies are cached.

    The server has to return the text with them (`imapeval.llm.providers.echo_logprobs`). A text longer than the
    server's context raises a `ProviderError` of kind "too-long"; it is not truncated.
    """

    model: Model

    @property
    def identity(self) -> str:
        return self.model.identity

    async def read(self, continuation: Continuation) -> TokenLogprobs:
        """Read one text.

        Raises:
            ProviderError: The model did not answer, or returned no probabilities of this text, or one of 0.
            ServiceError: The server is not available, or returns no probabilities at all.
        """
        whole = continuation.prefix + continuation.text
        completion = await self.model.complete(Request((), given=whole, max_tokens=1))
        ends = token_ends([token.text for token in completion.tokens], whole)
        if ends is None:
            raise ProviderError(f"{self.identity} gave tokens that do not spell the text", kind="unsupported")
        start = len(continuation.prefix)
        seen = [(token.logprob, end - start) for token, end in zip(completion.tokens, ends, strict=True) if end > start]
        if not all(math.isfinite(logprob) for logprob, _ in seen):
            raise ProviderError(f"{self.identity} gave a token of the text the probability 0", kind="unsupported")
        return TokenLogprobs(tuple(logprob for logprob, _ in seen), tuple(end for _, end in seen))
