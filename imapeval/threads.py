"""Runs work on texts in threads, so that the event loop stays free, and long texts do not delay short ones."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

_SHORT = 2_000
"""Characters that are not worth a thread: reading as many by rules takes 20 ms, starting a thread 0.1 ms."""

LONG = 10_000
"""Characters of a long text. Work on one may take many seconds."""

LONG_WORKERS = 2
"""Threads for long texts. Those of the event loop are left to short ones: with 20 long references in one sample they
would all be busy."""


async def run_in_thread(work: Callable[[], _T], *, size: int) -> _T:
    """Run work in a thread.

    Args:
        work: What to do.
        size: Characters of the longest text, or pairs of facts: whatever the time depends on.
    """
    if size < LONG:
        return await asyncio.to_thread(work)
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_open_pool(), lambda: context.run(work))


async def offload(work: Callable[[], _T], *texts: str) -> _T:
    """Run work on texts, in a thread unless they are short."""
    size = sum(map(len, texts))
    return work() if size < _SHORT else await run_in_thread(work, size=size)


@cache
def _open_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(LONG_WORKERS, thread_name_prefix="imapeval-long")
