import json
from pathlib import Path

import numpy as np
import pytest

from imapeval.study.agreement.krippendorff import Measurement, measure_alpha
from imapeval.study.arrays import Floats

KQA = Path(__file__).parents[3].parent / "shared/benchmark/kqa-nli-dev.jsonl"

pytestmark = pytest.mark.skipif(not KQA.exists(), reason="needs ../shared/benchmark/kqa-nli-dev.jsonl")


@pytest.fixture(scope="module")
def labels() -> Floats:
    """What three physicians said of 399 claims (K-QA): entailed 1, neutral 0, contradicted -1."""
    rows = [json.loads(line)["human"] for line in KQA.read_text("utf-8").splitlines()]
    return np.array([[row["r0"], row["r1"], row["r2"]] for row in rows], dtype=np.float64)


# krippendorff 0.9.0 on the same labels.
@pytest.mark.parametrize(
    ("level", "value"),
    [("nominal", 0.719103307525349), ("ordinal", 0.700423187702182), ("interval", 0.692463792288661)],
)
def test_alpha_of_physicians(labels: Floats, level: Measurement, value: float):
    found = measure_alpha(labels, level=level)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert (found.n, found.raters) == (399, 3)
