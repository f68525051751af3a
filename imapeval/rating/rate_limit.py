"""At most so many requests a minute by whoever asks."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from imapeval.serve.http_error import HttpError

_MOST_CLIENTS = 10_000
"""Whose counts are kept; those who asked longest ago are forgotten."""


class RateLimit:
    """A token bucket for each client, filled evenly and holding a minute's worth.

    Args:
        per_minute: Requests of one client.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, client: str) -> None:
        """Count a request.

        Raises:
            HttpError: 429, with the seconds to wait: the client has asked too often.
        """
        now = time.monotonic()
        with self._lock:
            left, before = self._left.pop(client, (float(self._per_minute), now))
            left = min(self._per_minute, left + (now - before) * self._per_minute / 60)
            self._left[client] = (left - 1 if left >= 1 else left), now
            if len(self._left) > _MOST_CLIENTS:
                self._left.popitem(last=False)
        if left < 1:
            wait = str(max(1, round((1 - left) * 60 / self._per_minute)))
            raise HttpError(429, "too-often", "Too many requests. Wait a moment.", {"Retry-After": wait})
