"""Sequences of which only the beginning is in memory, and the rest in a temporary file."""

from __future__ import annotations

import dataclasses
import pickle
import tempfile
import threading
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice, pairwise
from operator import attrgetter
from tempfile import TemporaryFile
from typing import Any, Generic, TypeVar, overload

from imapeval.errors import UsageError

IN_MEMORY = 10_000
"""Items that are kept in memory: some 10 MB of short answers, and no cost for data of ordinary size."""

_AT_ONCE = 1 << 16
"""Bytes of items that are read from the file together, or a single longer one: enough to save time."""

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


def spool(items: Iterable[_Item]) -> Sequence[_Item]:
    """Return the items: fewer than 10,000 as a list; of more, the first 10,000 are in memory, and the others in a file.

    Items must be picklable, and dataclasses in them are made again by a call with their fields in order.

    Raises:
        UsageError: The file cannot be written.
    """
    rest = iter(items)
    first = list(islice(rest, IN_MEMORY))
    return _Spool(first, rest) if len(first) == IN_MEMORY else first


class Mapped(Sequence[_Made], Generic[_Item, _Made]):
    """A sequence whose items are made of those of another one whenever they are asked for.

    Args:
        items: The other sequence.
        make: Makes an item.
    """

    def __init__(self, items: Sequence[_Item], make: Callable[[_Item], _Made]) -> None:
        self._items, self._make = items, make

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> _Made: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Made]: ...
    def __getitem__(self, index: int | slice) -> _Made | list[_Made]:
        if isinstance(index, slice):
            return list(map(self._make, self._items[index]))
        return self._make(self._items[index])

    def __iter__(self) -> Iterator[_Made]:
        return map(self._make, self._items)


class _Spool(Sequence[_Item]):
    """Items in memory and others in a file, of which 8 bytes each are in memory; every access makes a new copy.

    The file has no name, so that no other process can change it, and goes with the object.
    """

    def __init__(self, first: list[_Item], rest: Iterable[_Item]) -> None:
        self._first = first
        self._begins = array("Q", [0])
        # Threads share the position in the file.
        self._lock = threading.Lock()
        with report_temporary_file_errors():
            self._file = TemporaryFile(prefix="imapeval-")  # noqa: SIM115
        try:
            pickler = _Pickler(self._file, pickle.HIGHEST_PROTOCOL)
            for item in rest:
                with report_temporary_file_errors():
                    pickler.dump(item)
                    self._begins.append(self._file.tell())
                pickler.clear_memo()
            with report_temporary_file_errors():
                self._file.flush()
        except BaseException:
            # What is not written yet cannot be written now either.
            with suppress(OSError):
                self._file.close()
            raise
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return len(self._first) + len(self._begins) - 1

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Item]: ...
    def __getitem__(self, index: int | slice) -> _Item | list[_Item]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index] - len(self._first)
        return self._first[number] if number < 0 else self._load(number, number + 1)[0]

    def __iter__(self) -> Iterator[_Item]:
        yield from self._first
        start, count = 0, len(self._begins) - 1
        while start < count:
            end = max(start + 1, bisect_right(self._begins, self._begins[start] + _AT_ONCE) - 1)
            yield from self._load(start, end)
            start = end

    def _load(self, start: int, end: int) -> list[_Item]:
        """Return the items of the file from one place up to another one."""
        begins = self._begins[start : end + 1]
        with self._lock:
            self._file.seek(begins[0])
            content = self._file.read(begins[-1] - begins[0])
        return [pickle.loads(content[begin - begins[0] : end - begins[0]]) for begin, end in pairwise(begins)]


class _Pickler(pickle.Pickler):
    """Pickles dataclasses as calls of their classes: their own method takes twice as long to write and to read."""

    def reducer_override(self, obj: object) -> Any:
        get_values = _find_values(type(obj))
        return NotImplemented if get_values is None else (type(obj), get_values(obj))


@cache
def _find_values(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return what gets the values of a dataclass; None for other classes."""
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    # For a single name, `attrgetter` returns no tuple.
    return attrgetter(*names) if len(names) > 1 else None


@contextmanager
def report_temporary_file_errors() -> Generator[None]:
    """Raise a `UsageError` for an `OSError`."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"cannot keep the data in a temporary file in {tempfile.tempdir or 'any folder'} ({error.strerror}). Free "
            "some space, or choose another folder with the environment variable TMPDIR."
        ) from error
