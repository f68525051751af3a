"""Finding ids by their hashes."""

from collections.abc import Sequence

import pytest

from imapeval.evaluation.ids import IdIndex


class Colliding(str):
    """A text whose hash is that of every other one."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 1

    __eq__ = str.__eq__


@pytest.mark.parametrize("kind", [str, Colliding])
@pytest.mark.parametrize(
    ("texts", "repeated"),
    [("", None), ("a", None), ("cab", None), ("cabab", (1, 3)), ("abcba", (1, 3)), ("aaa", (0, 1))],
)
def test_places_and_repetitions(kind: type[str], texts: Sequence[str], repeated: tuple[int, int] | None):
    ids = list(map(kind, texts))
    index = IdIndex(ids)
    assert index.repeated == repeated
    assert len(index) == len(ids)
    assert [index.get(id_) for id_ in ids] == [texts.index(text) for text in texts]
    assert kind is Colliding or index.get("z") is None
