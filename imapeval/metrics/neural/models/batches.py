"""Batches of texts of similar length: little padding and bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def batch_by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Group texts of similar length, the longest first.

    The longest come first so that a lack of memory shows at once and not after an hour.

    Args:
        lengths: Tokens of each text, > 0.
        budget: Maximum number of tokens per batch, padding included: number of texts times the longest. A longer text
            is a batch of its own.

    Yields:
        Indices into `lengths`; every index is in exactly one batch.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        size = max(1, budget // lengths[order[start]])
        yield order[start : start + size]
        start += size
