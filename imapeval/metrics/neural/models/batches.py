"""Batches of texts of like length: little padding, and a bound on memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def batch_by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Group texts so that those of like length are together, the longest first.

    Longest first, so that what does not fit into memory fails at once and not after an hour.

    Args:
        lengths: Tokens of each text, > 0.
        budget: Most tokens of a batch with its padding: number of texts times the longest of them. A text that alone
            has more is a batch of its own.

    Yields:
        Indices into `lengths`; every index is in exactly one batch.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        size = max(1, budget // lengths[order[start]])
        yield order[start : start + size]
        start += size
