"""Texts as a model reads them: what is given to it, and how likely it found each token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from imapeval.errors import ProviderError
from imapeval.llm.protocol import Request
from imapeval.llm.providers.echo_logprobs import token_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.llm.protocol import Model
    from imapeval.types import Failure


@dataclass(frozen=True, slots=True)
class Continuation:
    """A text, and what precedes it.

    Attributes:
        prefix: Where it is empty, a model that is loaded here has the token before the text that begins its texts; a
            server may have nothing there, and tells no probability of the first token.
        text: Whose tokens count; not empty. A token that reaches from the prefix into the text is one of its tokens.
        whole: Whether it means nothing to read it in pieces, of which the later ones do not see the prefix.
    """

    prefix: str
    text: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """How likely a model found a text after its prefix.

    Attributes:
        logprobs: Log-probabilities (natural) of the text's tokens.
        ends: Where these tokens end, in characters of the text; never less than the one before, and the last one is
            the text's length. Tokens that hold parts of one character may have the same.
        pieces: Into how many pieces a text was cut that is longer than the model's context.
    """

    logprobs: tuple[float, ...]
    ends: tuple[int, ...]
    windows: int = 1


class LogprobReader(Protocol):
    """A model that is here and reads.

    Attributes:
        identity: Which model, for the signature.
    """

    @property
    def identity(self) -> str: ...

    def read(self, given: Sequence[Continuation]) -> list[TokenLogprobs | Failure]:
        """Read a batch.

        Returns:
            For each text its reading; or `Failure("too-long")` for one that does not fit whole, though it has to.
        """
        ...


@dataclass(frozen=True, slots=True)
class ServerLogprobReader:
    """Asks a language model behind a server for the probabilities of given texts; replies are cached.

    The server has to return the text with them (`imapeval.llm.providers.echo_logprobs`). A text that is longer than the
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
