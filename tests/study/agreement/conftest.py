import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imapeval.study.arrays import Floats


@pytest.fixture(scope="session")
def expected() -> dict[str, Any]:
    """What other packages say; the file tells which, and how it was made."""
    return json.loads((Path(__file__).parent.parent / "expected/agreement.json").read_text("utf-8"))


@pytest.fixture
def complete(expected: dict[str, Any]) -> Floats:
    return np.array(expected["complete"], dtype=np.float64)


@pytest.fixture
def missing(expected: dict[str, Any]) -> Floats:
    return np.array(expected["missing"], dtype=np.float64)


@pytest.fixture
def four_raters() -> Floats:
    """Krippendorff 2011, section C: four observers, twelve units; Gwet 2014 has the same as cac.raw4raters."""
    nan = np.nan
    by_rater = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
    return np.array(by_rater, dtype=np.float64).T
