"""Large objects that are made once, and exist as long as somebody uses them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_Key = TypeVar("_Key", bound="Hashable")
_Made = TypeVar("_Made")


class SharedObjects(Generic[_Key, _Made]):
    """Objects by key; `get` returns the same one to all threads as long as one of them holds it."""

    def __init__(self) -> None:
        self._made: WeakValueDictionary[_Key, _Made] = WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: _Key, make: Callable[[], _Made]) -> _Made:
        """Return the object for a key, made if nobody has it; other threads wait meanwhile."""
        with self._lock:
            made = self._made.get(key)
            if made is None:
                made = self._made[key] = make()
            return made
