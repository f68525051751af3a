"""Work on long texts beside the event loop, so that whoever else waits there is attended to meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

LONG = 2_000
"""Characters from which a text is worth a thread: to read as many offline takes 20 ms, to start a thread 0.1 ms."""


async def offload(work: Callable[[], _T], *texts: str) -> _T:
    """Do the work on texts: at once where they are short, in a thread where they are long."""
    if sum(map(len, texts)) < LONG:
        return work()
    return await asyncio.to_thread(work)
