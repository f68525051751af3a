"""An event loop in a background thread, which runs work for any thread and any other event loop."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _RunningLoop:
    pid: int
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    end: Callable[[], object]
    """Stops the loop, once; also called when the `BackgroundLoop` is garbage-collected."""


class BackgroundLoop:
    """The loop, started when it is first needed, and anew in a forked process."""

    def __init__(self) -> None:
        self._running: _RunningLoop | None = None
        self._locks: dict[int, threading.Lock] = {}

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run the work on the loop and wait for it; Ctrl-C cancels it.

        Raises:
            UsageError: It is called from the loop itself, and would wait for itself.
        """
        running = self._running
        if running is not None and threading.current_thread() is running.thread:
            work.close()
            raise UsageError("a scorer was called from within its own work, which would wait for itself. Use another.")
        future = self._submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run the work on the background loop, and await it in this loop."""
        return await asyncio.wrap_future(self._submit(work))

    def close(self) -> None:
        """Stop the loop and cancel unfinished work."""
        with self._lock():
            running, self._running = self._running, None
            if running is not None:
                running.end()
        if running is not None and running.pid == os.getpid() and threading.current_thread() is not running.thread:
            running.thread.join()

    def _submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        # Under the lock, so that a loop that is closed meanwhile has the work already, and cancels it: work that is
        # submitted to a stopped loop would never finish.
        with self._lock():
            return asyncio.run_coroutine_threadsafe(work, self._start().loop)

    def _start(self) -> _RunningLoop:
        # The threads of a process are not in the one that is forked from it.
        if self._running is None or self._running.pid != os.getpid():
            loop = asyncio.new_event_loop()
            # A daemon, so that the process can end without closing it.
            thread = threading.Thread(target=_run_loop, args=(loop,), name="imapeval", daemon=True)
            thread.start()
            end = weakref.finalize(self, _stop_loop, os.getpid(), loop)
            end.atexit = False
            self._running = _RunningLoop(os.getpid(), loop, thread, end)
        return self._running

    def _lock(self) -> threading.Lock:
        # One for each process: a lock that another thread holds at the moment of forking is held for ever in the child.
        return self._locks.setdefault(os.getpid(), threading.Lock())


def _stop_loop(pid: int, loop: asyncio.AbstractEventLoop) -> None:
    if pid == os.getpid():
        loop.call_soon_threadsafe(loop.stop)


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
