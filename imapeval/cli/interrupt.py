"""Ctrl-C that loses nothing: the first finishes what is under way, the second stops at once."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TypeVar

import typer

T = TypeVar("T")


def run_until_interrupted(work: Callable[[asyncio.Event], Awaitable[T]]) -> tuple[T, bool]:
    """Run the work, which begins nothing new once the event is set.

    Returns:
        What the work returned, and whether it was interrupted.

    Raises:
        KeyboardInterrupt: Interrupted twice.
    """

    async def main() -> tuple[T, bool]:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def interrupt(_signal: int, _frame: FrameType | None) -> None:
            # The second time Python's own way: KeyboardInterrupt. First of all, because that may come any moment.
            signal.signal(signal.SIGINT, before)
            loop.call_soon_threadsafe(stop.set)
            typer.echo("\nFinishing what is under way; Ctrl-C again drops it.", err=True)

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            return await work(stop), stop.is_set()
        finally:
            signal.signal(signal.SIGINT, before)

    return asyncio.run(main())
