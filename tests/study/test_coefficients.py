"""Oracle: scipy 1.13 or newer, `spearmanr` and `kendalltau(variant="b")`."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from imapeval.study.coefficients import (
    Undefined,
    kendall_tau_b,
    spearman,
    weigh_kendall_tau_b,
    weigh_spearman,
)

BOTH = [(spearman, stats.spearmanr), (kendall_tau_b, stats.kendalltau)]
WEIGHED = [(weigh_spearman, spearman), (weigh_kendall_tau_b, kendall_tau_b)]


@pytest.mark.parametrize(("ours", "oracle"), BOTH)
@pytest.mark.parametrize("rows", [3, 10, 100, 2500])  # 2500: more than one block of the sign matrix
@pytest.mark.parametrize("levels", [2, 11, 10**9])
def test_equal_to_scipy(ours, oracle, rows: int, levels: int):
    random = np.random.default_rng(rows + levels)
    for _ in range(3):
        x = random.integers(levels, size=rows).astype(float)
        y = np.round(x / levels + random.normal(size=rows), 1)
        x[0], x[1] = 0, levels  # never constant
        y[0], y[1] = -9, 9
        assert ours(x.tolist(), y.tolist()) == pytest.approx(oracle(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("ours", [spearman, kendall_tau_b])
@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([], [], "0 rows are fewer than 3"),
        ([1.0, 2.0], [1.0, 2.0], "2 rows are fewer than 3"),
        ([0.1] * 3, [1.0, 2.0, 3.0], "x is constant (0.1)"),
        ([1.0, 2.0, 3.0], [4.0] * 3, "y is constant (4)"),
    ],
)
def test_undefined_with_a_reason(ours, x: list[float], y: list[float], reason: str):
    assert ours(x, y) == Undefined(reason)


@pytest.mark.parametrize("ours", [spearman, kendall_tau_b])
@pytest.mark.parametrize(("x", "y"), [([1.0] * 3, [1.0] * 4), ([1.0, 2.0, math.nan], [1.0, 2.0, 3.0])])
def test_what_cannot_be_correlated_is_refused(ours, x: list[float], y: list[float]):
    with pytest.raises(ValueError, match=r"rows|finite"):
        ours(x, y)


NUMBERS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=30)


@pytest.mark.parametrize("ours", [spearman, kendall_tau_b])
@given(rows=NUMBERS)
def test_bounds_symmetry_and_monotone_maps(ours, rows: list[tuple[int, int]]):
    x, y = [float(row[0]) for row in rows], [float(row[1]) for row in rows]
    found = ours(x, y)
    if isinstance(found, Undefined):
        assert len(set(x)) == 1 or len(set(y)) == 1
        return
    assert -1 <= found <= 1
    assert ours(y, x) == pytest.approx(found, abs=1e-12)
    assert ours([math.exp(value) for value in x], y) == pytest.approx(found, abs=1e-12)
    assert ours([-value for value in x], y) == pytest.approx(-found, abs=1e-12)


@pytest.mark.parametrize(("weigh", "plain"), WEIGHED)
@given(rows=NUMBERS, seed=st.integers(0, 10**6))
def test_a_weight_is_a_repeated_row(weigh, plain, rows: list[tuple[int, int]], seed: int):
    x, y = (np.array([float(row[side]) for row in rows]) for side in (0, 1))
    weights = np.random.default_rng(seed).multinomial(len(rows), [1 / len(rows)] * len(rows), size=4)
    for found, weight in zip(weigh(x, y, weights.astype(float)), weights, strict=True):
        expected = plain(np.repeat(x, weight).tolist(), np.repeat(y, weight).tolist())
        if isinstance(expected, Undefined):
            assert math.isnan(found)
        else:
            assert found == pytest.approx(expected, abs=1e-12)
