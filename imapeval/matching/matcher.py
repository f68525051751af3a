"""The protocol by which values are compared, and how two values alone are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from imapeval.types import Failure, Imap, Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.types import Lang, Match


class Matcher(Protocol):
    """Judges every pair of a reference value and a response value that share a term.

    Attributes:
        signature: Everything that can change a match, as `name|key:value|...`.
    """

    @property
    def signature(self) -> str: ...

    async def match(self, imaps: Sequence[Imap], *, langs: Sequence[Lang]) -> list[tuple[Match, ...] | Failure]:
        """Judge many imaps at once, so that all values are encoded in one batch.

        Args:
            imaps: What to judge. Where `relations` are recorded they are used as they are, and only the
                similarity is computed.
            langs: Language of each imap's sample, as many as imaps.

        Returns:
            For each imap the matches of every (reference value, response value) of every shared term,
            unmatched ones included, in the order term, reference, response. Duplicated pairs count once. A `Failure`
            where one imap alone cannot be judged.
        """
        ...


async def relate(matcher: Matcher, reference: str, response: str, *, lang: Lang) -> Match | Failure:
    """Judge one pair of values, of no term in particular."""
    imap = Imap((), (), (Pair("value", reference),), (Pair("value", response),))
    (matches,) = await matcher.match([imap], langs=[lang])
    return matches if isinstance(matches, Failure) else matches[0]
