"""Ctrl-C, SIGTERM and SIGHUP that lose nothing: the first finishes what is under way, the second stops at once."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TypeVar

from imapeval.cli.output import echo

T = TypeVar("T")


class Interrupted(KeyboardInterrupt):
    """A signal ended the work.

    Attributes:
        code: What the process is to exit with: 128 and the number of the signal, as of shells.
    """

    def __init__(self, number: int) -> None:
        self.code = 128 + number
        super().__init__(f"signal {number}")


def run_until_interrupted(work: Callable[[asyncio.Event], Awaitable[T]]) -> T:
    """Run the work, which begins nothing new once the event is set, and return what it returns.

    Raises:
        Interrupted: By a signal, after what was under way is finished; by a second one, at once.
    """
    caught: list[int] = []

    async def main() -> T:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        # The event loop's own handler, which cancels the work; without it, as where Ctrl-C was ignored, Python's.
        drop = signal.getsignal(signal.SIGINT)

        def interrupt(number: int, _frame: FrameType | None) -> None:
            # First of all, because the second may come any moment.
            for each in before:
                signal.signal(each, drop if callable(drop) else signal.default_int_handler)
            caught.append(number)
            loop.call_soon_threadsafe(stop.set)
            _print_notice("\nFinishing what is under way; Ctrl-C again drops it.")

        before = {number: signal.signal(number, interrupt) for number in _list_signals()}
        try:
            return await work(stop)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    try:
        made = asyncio.run(main())
    except KeyboardInterrupt as error:
        raise Interrupted(caught[0] if caught else signal.SIGINT) from error
    if caught:
        raise Interrupted(caught[0])
    return made


def _list_signals() -> list[signal.Signals]:
    """Return the signals that end the work; not SIGHUP where `nohup` has it ignored, nor on Windows, which has none."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


def _print_notice(text: str) -> None:
    try:
        echo(text, err=True)
    except OSError:
        # The terminal was closed, which is what SIGHUP says: whatever is written there from now on goes nowhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for standard in (1, 2):
            with contextlib.suppress(OSError):
                os.dup2(nowhere, standard)
        os.close(nowhere)
