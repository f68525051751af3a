"""Graceful Ctrl-C, SIGTERM and SIGHUP: the first finishes current work, the second stops at once."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

from imapeval.cli.output import echo
from imapeval.errors import ServiceError

if TYPE_CHECKING:
    from imapeval.llm.protocol import Model

T = TypeVar("T")


class Interrupted(KeyboardInterrupt):
    """A signal ended the work.

    Attributes:
        code: Exit code of the process: 128 plus the number of the signal, as in shells.
    """

    def __init__(self, number: int) -> None:
        self.code = 128 + number
        super().__init__(f"signal {number}")


def run_until_interrupted(work: Callable[[asyncio.Event], Awaitable[T]], *, llm: "Model | None" = None) -> T:
    """Run the work and return its result. The work must start nothing new once the event is set.

    Args:
        work: The work.
        llm: The language model that it asks, which sends nothing more once the event is set.

    Raises:
        Interrupted: A signal arrived: raised when current work is finished, or at once on a second signal.
    """
    from imapeval.llm.middleware import ModelWrapper
    from imapeval.llm.protocol import STOPPED

    caught: list[int] = []

    async def main() -> T:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        # The handler of the event loop, which cancels the work; Python's if there is none, as when Ctrl-C was ignored.
        drop = signal.getsignal(signal.SIGINT)
        before = {number: signal.getsignal(number) for number in _list_signals()}

        def begin_stop() -> None:
            stop.set()
            if isinstance(llm, ModelWrapper):
                llm.stop()

        def interrupt(number: int, _frame: FrameType | None) -> None:
            # First, because the second signal may come at any moment.
            for each in before:
                signal.signal(each, drop if callable(drop) else signal.default_int_handler)
            caught.append(number)
            loop.call_soon_threadsafe(begin_stop)
            _print_notice("\nFinishing current work; press Ctrl-C again to stop at once.")

        try:
            for number in before:
                signal.signal(number, interrupt)
            return await work(stop)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    try:
        made = asyncio.run(main())
    except KeyboardInterrupt as error:
        raise Interrupted(caught[0] if caught else signal.SIGINT) from error
    except ServiceError as error:
        if error.kind != STOPPED:
            raise
        raise Interrupted(caught[0]) from error
    if caught:
        raise Interrupted(caught[0])
    return made


def _list_signals() -> list[signal.Signals]:
    """Return the signals that end the work; not SIGHUP if `nohup` ignores it, nor on Windows, which has none."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


def _print_notice(text: str) -> None:
    try:
        echo(text, err=True)
    except RuntimeError:
        # The signal arrived in the middle of a write to stderr, within which no other can begin.
        return
    except OSError:
        # SIGHUP: the terminal was closed. Whatever is printed from now on is discarded.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for standard in (1, 2):
            with contextlib.suppress(OSError):
                os.dup2(nowhere, standard)
        os.close(nowhere)
