"""Ids of answers: finds them among millions, and says which do not fit."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.types import Sample

_NAMED = 3
"""Maximum number of ids listed in a sentence."""


class IdIndex:
    """The places of ids in a sequence: 16 bytes for each, where a dictionary takes 150 and more.

    Ids are found by their hash of 64 bits. If two of them share one, which a million do with a probability of 1 in
    4 x 10^7, the ids themselves are kept. An id that is not there is taken for one of a million with 1 in 10^13.

    Attributes:
        repeated: The two places of the first id to occur again; None if all ids differ.
    """

    def __init__(self, ids: Sequence[str]) -> None:
        import numpy as np

        hashes = np.fromiter(map(hash, ids), dtype=np.int64)
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        self._hashes, self._order = hashes.data, order.data
        self._exact: dict[str, int] | None = None
        self.repeated: tuple[int, int] | None = None
        same = hashes[1:] == hashes[:-1]
        first, again = order[:-1][same], order[1:][same]
        if len(again):
            earliest = again.argmin()
            self.repeated = int(first[earliest]), int(again[earliest])
            if ids[self.repeated[0]] != ids[self.repeated[1]]:
                places = self._exact = dict[str, int]()
                self.repeated = None
                for place, id_ in enumerate(ids):
                    earlier = places.setdefault(id_, place)
                    if earlier != place and self.repeated is None:
                        self.repeated = earlier, place

    def __len__(self) -> int:
        return len(self._hashes)

    def get(self, id_: str) -> int | None:
        """Return the place of an id, the first one if it occurs more than once; None if it does not occur."""
        if self._exact is not None:
            return self._exact.get(id_)
        sought = hash(id_)
        found = bisect_left(self._hashes, sought)
        return self._order[found] if found < len(self._hashes) and self._hashes[found] == sought else None


def list_first(ids: Sequence[str]) -> str:
    """Return the first ids, and how many more there are."""
    more = len(ids) - _NAMED
    return ", ".join(id_[:60] for id_ in ids[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def contrast_ids(things: str, ids: Sequence[str], owner: str, samples: Sequence[Sample]) -> str:
    """Return what the ids of things and those of samples look like, for a message that none of them are the same.

    Args:
        things: What has the ids, such as "ratings".
        ids: The ids, at least one.
        owner: Whose the samples are, such as "the run's".
        samples: The samples, at least one.
    """
    added = describe_added_systems(ids, samples)
    return (
        f"the {things} are of ids such as {ids[0][:60]!r}, and {owner} are such as {samples[0].id[:60]!r}"
        f"{added and f'. {added}'}"
    )


def describe_added_systems(ids: Sequence[str], samples: Sequence[Sample]) -> str:
    """Return that the systems were added to the samples' ids, if one of the given ids is without; "" otherwise."""
    wanted = set(ids)
    for sample in samples:
        plain = sample.id.removesuffix(f"/{sample.system}")
        if plain != sample.id and plain in wanted:
            return (
                f"{plain[:60]!r} became {sample.id[:60]!r} when the data were read, because ids repeat between "
                "systems; if that is a mistake, correct the repeated ids in the data"
            )
    return ""
