"""An event loop in a thread of its own, so that work may be asked for from any thread and any other loop."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

_T = TypeVar("_T")


class Background:
    """The loop, started when it is needed; in a process forked since, another one."""

    def __init__(self) -> None:
        self._running: tuple[int, asyncio.AbstractEventLoop] | None = None
        self._starting = threading.Lock()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do the work there and wait for it; Ctrl-C gives it up."""
        future = asyncio.run_coroutine_threadsafe(work, self._get())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do the work there, and wait for it in this loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._get()))

    def close(self) -> None:
        """End it; what is under way is cancelled."""
        with self._starting:
            running, self._running = self._running, None
        if running is not None and running[0] == os.getpid():
            running[1].call_soon_threadsafe(running[1].stop)

    def _get(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            # The threads of a process are not in the one that is forked from it.
            if self._running is None or self._running[0] != os.getpid():
                loop = asyncio.new_event_loop()
                # Nobody should have to close it for the process to end.
                threading.Thread(target=_serve, args=(loop,), name="imapeval", daemon=True).start()
                self._running = os.getpid(), loop
            return self._running[1]


def _serve(loop: asyncio.AbstractEventLoop) -> None:
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
