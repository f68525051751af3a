"""The final outcomes that a resumed run already has."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from imapeval.evaluation.runs.reading import Result, read_result

if TYPE_CHECKING:
    from pathlib import Path

    from imapeval.evaluation.ids import IdIndex


class FinalResults(Mapping[tuple[str, str, str], Result]):
    """Outcomes by `Result.key`, of which only the places in `results.jsonl` are in memory: 8 bytes for each.

    Args:
        path: The file.
        index: Places of the samples by id.
    """

    def __init__(self, path: Path, index: IdIndex) -> None:
        self.path = path
        self._index = index
        self._end = self._count = 0
        # By metric and signature, and by sample: the offset of the line plus 1.
        self._begins: dict[tuple[str, str], array[int]] = {}

    def keep(self, result: Result, line: bytes) -> bytes:
        """Note that the outcome stands next in the file, and return its line."""
        key = result.metric, result.signature
        if key not in self._begins:
            self._begins[key] = array("Q", bytes(8 * len(self._index)))
        place = cast("int", self._index.get(result.id))  # `Run.stream_results` refuses other ids
        self._begins[key][place] = self._end + 1
        self._end += len(line)
        self._count += 1
        return line

    def _find(self, key: object) -> int:
        """Return the offset of the line plus 1; 0 if there is none."""
        id_, metric, signature = cast("tuple[str, str, str]", key)
        begins = self._begins.get((metric, signature))
        place = None if begins is None else self._index.get(id_)
        return 0 if begins is None or place is None else begins[place]

    def __contains__(self, key: object) -> bool:
        return self._find(key) > 0

    def __getitem__(self, key: tuple[str, str, str]) -> Result:
        if not (found := self._find(key)):
            raise KeyError(key)
        return read_result(self.path, found - 1)

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        for begin in sorted(begin for begins in self._begins.values() for begin in begins if begin):
            yield read_result(self.path, begin - 1).key

    def __len__(self) -> int:
        return self._count
