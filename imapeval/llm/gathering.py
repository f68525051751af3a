"""Await concurrent requests: all of them to their end, then their results or the error that matters most."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ProviderError, SampleError
from imapeval.llm.protocol import PERMANENT_KINDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

_T = TypeVar("_T")


async def gather_results(work: Iterable[Awaitable[_T]], *, needed: int | None = None) -> list[_T]:
    """Return the results of work that succeeded, in order: at least `needed`, or all of them for None.

    Raises:
        ImapEvalError: One failed for a reason that concerns more than this sample, or for a transient one.
        SampleError: Too many failed; the first of their errors.
    """
    # All are awaited even if one fails: they are paid for, go to the cache, and must not continue in the background
    # after the run.
    results = await asyncio.gather(*work, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    # A transient failure may not occur again, or is a request waiting for its batch ("pending").
    passing = [error for error in errors if not _is_permanent(error)]
    if passing:
        # An error that ends the run takes precedence over one that fails a sample.
        raise min(passing, key=lambda error: isinstance(error, SampleError))
    if errors and (needed is None or len(results) - len(errors) < needed):
        raise errors[0]
    return [result for result in results if not isinstance(result, BaseException)]


def _is_permanent(error: BaseException) -> bool:
    return error.kind in PERMANENT_KINDS if isinstance(error, ProviderError) else isinstance(error, SampleError)
