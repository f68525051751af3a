import numpy as np
import pytest
from scipy import stats

from imapeval.study.intervals.quantiles import small_sample_quantile, student_quantile


@pytest.mark.parametrize("share", [0.9, 0.975, 0.995])
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 24, 99, 998, 999, 1000, 50_000])
def test_student_s_quantile_is_scipy_s(share: float, freedom: int):
    assert student_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-5)


def test_few_clusters_widen():
    # Student's .975 quantile with 24 degrees of freedom is 2.0639 in printed tables; the root of 25/24 is 1.0206.
    assert small_sample_quantile(25, confidence=0.95) == pytest.approx(2.0639 * 1.0206, abs=2e-4)
    assert np.isnan(small_sample_quantile(1, confidence=0.95))
