"""One object for all who use it, however many threads ask at once."""

import gc
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from imapeval.metrics.neural.models.sharing import SharedObjects


class Model:
    pass


def make() -> Model:
    time.sleep(0.05)
    return Model()


def test_threads_get_one_object() -> None:
    models = SharedObjects[str, Model]()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: models.get("a", make), range(4)))
    assert len(set(map(id, found))) == 1
    assert models.get("b", make) is not found[0]


def test_nothing_is_kept_that_nobody_uses() -> None:
    models = SharedObjects[str, Model]()
    model = weakref.ref(models.get("a", make))
    gc.collect()
    assert model() is None


def test_what_could_not_be_made_is_made_again() -> None:
    models = SharedObjects[str, Model]()
    with pytest.raises(ZeroDivisionError):
        models.get("a", lambda: 1 // 0)  # pyright: ignore[reportArgumentType]
    assert isinstance(models.get("a", make), Model)
