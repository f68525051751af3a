"""The protocol by which values are compared, and how two values alone are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from imapeval.types import Failure, Imap, Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.types import Lang, Match


class Matcher(Protocol):
    """Judges every pair of a fact of the reference and a fact of the response.

    Attributes:
        signature: Everything that can change a match, as `name|key:value|...`.
    """

    @property
    def signature(self) -> str: ...

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        """Judge many imaps at once, so that all values are encoded in one batch.

        Args:
            imaps: What to judge. Where `relations` are recorded they are used as they are, and only the
                similarity is computed.
            langs: Language of each imap's sample, as many as imaps.
            questions: What was asked, as many as imaps, for those who judge in the light of it; None where the
                values stand alone.

        Returns:
            For each imap the matches of every fact of the reference with every fact of the response, unmatched ones
            and those under two terms included, in the order of the facts. Duplicated pairs count once. A `Failure`
            where one imap alone cannot be judged.
        """
        ...


async def relate_values(matcher: Matcher, reference: str, response: str, *, lang: Lang) -> Match | Failure:
    """Judge one pair of values, of no term in particular."""
    imap = Imap((), (), (Pair("value", reference),), (Pair("value", response),))
    (matches,) = await matcher.match([imap], langs=[lang])
    return matches if isinstance(matches, Failure) else matches[0]
