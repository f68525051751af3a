"""The protocol `Matcher`, which relates the values of imaps, and a function for two single values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from imapeval.types import Failure, Imap, Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.types import Lang, Match


class Matcher(Protocol):
    """Relates every fact of the reference to every fact of the response.

    Attributes:
        signature: Everything that can change a match, as `name|key:value|...`.
    """

    @property
    def signature(self) -> str: ...

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        """Relate the facts of many imaps at once, so that all values are encoded in one batch.

        Args:
            imaps: The imaps. Recorded `relations` are used unchanged, and only the similarity is computed.
            langs: Language of each imap's sample, as many as imaps.
            questions: Question of each imap's sample, for matchers that use it; None if there are none.

        Returns:
            For each imap the matches of every fact of the reference with every fact of the response, including
            unmatched ones and those with different terms, in the order of the facts. Duplicate pairs count once. A
            `Failure` for an imap that cannot be matched.
        """
        ...


async def relate_values(matcher: Matcher, reference: str, response: str, *, lang: Lang) -> Match | Failure:
    """Relate two values, under an arbitrary term."""
    imap = Imap((), (), (Pair("value", reference),), (Pair("value", response),))
    (matches,) = await matcher.match([imap], langs=[lang])
    return matches if isinstance(matches, Failure) else matches[0]
