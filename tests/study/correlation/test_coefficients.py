"""Oracle: scipy 1.13 or newer, `spearmanr`, `pearsonr` and `kendalltau` (variants b and c)."""

import math
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from imapeval.errors import ResourceError, UsageError
from imapeval.study.arrays import Floats
from imapeval.study.comparison.compare import compare
from imapeval.study.correlation.base import Coefficient
from imapeval.study.correlation.coefficients import (
    GROUP,
    Undefined,
    all_coefficients,
    comparable_coefficients,
    explain_undefined,
    find_coefficient,
)
from imapeval.study.correlation.estimates import Columns, Estimates
from imapeval.study.correlation.levels import correlate
from tests.study.answers import make_rated


def stuart(x, y):
    return stats.kendalltau(x, y, variant="c")


def compute(name: str, x, y) -> float:
    return find_coefficient(name).with_influences(np.asarray(x, float), np.asarray(y, float)).value


def mean_of_three(x, y):
    found = [one(x, y).statistic for one in (stats.kendalltau, stats.pearsonr, stats.spearmanr)]
    return SimpleNamespace(statistic=np.mean(found))


ORACLES = {
    "spearman": stats.spearmanr,
    "kendall_tau_b": stats.kendalltau,
    "kendall_tau_c": stuart,
    "pearson": stats.pearsonr,
    "mediqa_eval": mean_of_three,
}
NAMES = [*ORACLES, "pairwise_accuracy"]


def split_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pair_coefficients", "product_moment"):
        monkeypatch.setattr(f"imapeval.study.correlation.{module}.MAX_CELLS", 200)


def draw_columns(rows: int, levels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng([rows, levels, seed])
    x = random.integers(levels, size=rows).astype(float)
    y = np.round(x / levels + random.normal(size=rows), 1)
    x[0], x[1] = 0, levels  # never constant
    y[0], y[1] = -9, 9
    return x, y


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("rows", [3, 10, 100, 2500])
@pytest.mark.parametrize("levels", [2, 11, 10**9])
def test_equal_to_scipy(name: str, rows: int, levels: int):
    for seed in range(3):
        x, y = draw_columns(rows, levels, seed)
        expected = ORACLES[name](x, y).statistic
        assert compute(name, x, y) == pytest.approx(expected, abs=1e-12)
        assert compute(name, y, x) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([], [], "0 rows are fewer than 3"),
        ([1.0], [1.0], "1 row is fewer than 3"),
        ([1.0, 2.0], [1.0, 2.0], "2 rows are fewer than 3"),
        ([0.1] * 3, [1.0, 2.0, 3.0], "x is constant (0.1)"),
        ([1.0, 2.0, 3.0], [4.0] * 3, "y is constant (4)"),
    ],
)
def test_undefined_with_a_reason(x: list[float], y: list[float], reason: str):
    assert explain_undefined(np.array(x), np.array(y)) == Undefined(reason)


NUMBERS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=30)


@pytest.mark.parametrize("name", ["spearman", "kendall_tau_b", "kendall_tau_c", "pearson"])
@given(rows=NUMBERS)
def test_bounds_symmetry_and_monotone_maps(name: str, rows: list[tuple[int, int]]):
    x, y = [float(row[0]) for row in rows], [float(row[1]) for row in rows]
    found = compute(name, x, y)
    if math.isnan(found):
        assert len(set(x)) == 1 or len(set(y)) == 1
        return
    assert -1 <= found <= 1
    assert compute(name, y, x) == pytest.approx(found, abs=1e-12)
    mapped = [2 * value + 1 if name == "pearson" else math.exp(value) for value in x]
    assert compute(name, mapped, y) == pytest.approx(found, abs=1e-12)
    assert compute(name, [-value for value in x], y) == pytest.approx(-found, abs=1e-12)


@pytest.mark.parametrize("name", ORACLES)
@given(rows=NUMBERS, seed=st.integers(0, 10**6))
def test_a_weight_is_a_repeated_row(name, rows: list[tuple[int, int]], seed: int):
    x, y = (np.array([float(row[side]) for row in rows]) for side in (0, 1))
    drawn = np.random.default_rng(seed).multinomial(len(rows), [1 / len(rows)] * len(rows), size=4)
    found = find_coefficient(name).resample(x[None], y[None], drawn, codes=np.arange(len(rows)))[:, 0, 0]
    for value, weight in zip(found, drawn, strict=True):
        repeated = np.repeat(x, weight).tolist(), np.repeat(y, weight).tolist()
        if len(set(repeated[0])) == 1 or len(set(repeated[1])) == 1:
            assert math.isnan(value)
        else:
            assert value == pytest.approx(compute(name, *repeated), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_many_columns_and_clusters_at_once(name: str, monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(1)
    x, y = random.integers(6, size=(4, 40)).astype(float), random.integers(4, size=(3, 40)).astype(float)
    codes = random.permutation(np.repeat(np.arange(17), 3)[:40])
    drawn = random.multinomial(17, [1 / 17] * 17, size=30)
    epsilon = random.integers(3, size=(4, 3)).astype(float)
    together = find_coefficient(name).resample(x, y, drawn, codes=codes, epsilon=epsilon)
    split_into_blocks(monkeypatch)
    assert find_coefficient(name).resample(x, y, drawn, codes=codes, epsilon=epsilon) == pytest.approx(
        together, abs=1e-12
    )
    rows = np.arange(40)
    for p in range(4):
        for q in range(3):
            alone = find_coefficient(name).resample(
                x[[p]], y[[q]], drawn[:, codes], codes=rows, epsilon=epsilon[[p]][:, [q]]
            )
            assert together[:, p, q] == pytest.approx(alone[:, 0, 0], abs=1e-12)


def test_the_accuracy_of_a_resample_leaves_out_a_row_s_own_copies():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0])
    found = find_coefficient("pairwise_accuracy").resample(x[None], y[None], np.array([[1, 2, 1]]), codes=np.arange(3))
    # Pairs: (1, 2) twice, tied only in y: wrong; (1, 3) right; (2, 3) twice, right.
    assert found[0, 0, 0] == pytest.approx(3 / 5)


def test_one_column_of_each():
    x, y = draw_columns(20, 5)
    drawn = np.random.default_rng(0).multinomial(20, [1 / 20] * 20, size=5).astype(float)
    expected = [compute("spearman", *(np.repeat(side, w.astype(int)) for side in (x, y))) for w in drawn]
    assert find_coefficient("spearman").weighted(x, y, drawn) == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("levels", [3, 10**9])
def test_an_influence_is_the_derivative_by_the_weight(name: str, levels: int):
    """Central differences: one copy of a row more and less, of 500 copies of each."""
    x, y = draw_columns(7, levels)
    epsilon = 1.0 if name == "pairwise_accuracy" and levels == 3 else 0.0
    value, rows = find_coefficient(name).with_influences(x, y, epsilon=epsilon)
    copies = 500
    more = np.full((7, 7), copies) + np.eye(7, dtype=int)
    less = np.full((7, 7), copies) - np.eye(7, dtype=int)
    thresholds = np.array([[epsilon]])
    up, down, level = (
        find_coefficient(name).resample(x[None], y[None], drawn, codes=np.arange(7), epsilon=thresholds)[:, 0, 0]
        for drawn in (more, less, np.full((1, 7), copies))
    )
    assert value == pytest.approx(level[0], abs=1e-12)
    assert rows == pytest.approx((up - down) / 2 * copies, abs=1e-4)
    assert rows.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", ORACLES)
def test_groups_at_once_are_equal_to_scipy(name: str, monkeypatch: pytest.MonkeyPatch):
    split_into_blocks(monkeypatch)
    random = np.random.default_rng(4)
    x, y = random.integers(3, size=(50, 5)).astype(float), np.round(random.normal(size=(50, 5)), 1)
    x[random.random((50, 5)) < 0.1] = np.nan
    y[random.random((50, 5)) < 0.1] = np.nan
    x[0], y[1] = 0.1, np.nan
    found = find_coefficient(name).in_groups(x, y)
    defined = 0
    for value, a, b in zip(found, x, y, strict=True):
        there = ~(np.isnan(a) | np.isnan(b))
        if len(set(a[there])) < 2 or len(set(b[there])) < 2:
            assert math.isnan(value)
        else:
            defined += 1
            assert value == pytest.approx(ORACLES[name](a[there], b[there]).statistic, abs=1e-12)
    assert defined > 40


class MeanProduct(Coefficient):
    """Pearson's r as another package might write it, without anything that makes it fast."""

    name = "mean_product"
    title = "Mean product"

    def weighted(self, x: Floats, y: Floats, weights: Floats) -> Floats:
        size = weights.sum(axis=1, keepdims=True)
        a, b = (side - weights @ side[:, None] / size for side in (x, y))
        spread = np.sqrt((weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1))
        return np.divide((weights * a * b).sum(axis=1), spread, out=np.full(len(weights), np.nan), where=spread > 1e-9)


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[type[Coefficient]], None]]:
    """Install a package that has a coefficient."""

    class Entry:
        name = "theirs"
        value = "their_package:Theirs"
        dist = None

        def __init__(self, coefficient: type[Coefficient]) -> None:
            self.load = lambda: coefficient

    def install(coefficient: type[Coefficient]) -> None:
        monkeypatch.setattr(metadata, "entry_points", lambda *, group: [Entry(coefficient)] if group == GROUP else [])
        all_coefficients.cache_clear()

    yield install
    all_coefficients.cache_clear()


def test_a_coefficient_of_another_package_is_used_everywhere(offer):
    offer(MeanProduct)
    random = np.random.default_rng(0)
    worth = random.normal(size=(30, 4))
    rated = make_rated(
        np.column_stack([(worth + noise * random.normal(size=worth.shape)).ravel() for noise in (0.5, 1)]),
        (worth + 0.5 * random.normal(size=worth.shape)).reshape(-1, 1),
        questions=np.repeat(np.arange(30), 4),
        systems=("A", "B", "C", "D") * 30,
        metrics=("near", "far"),
    )
    for level in ("global", "within-system", "within-question", "system"):
        ours, theirs = (
            correlate(rated, coefficients=[name], levels=[level], resamples=50) for name in ("pearson", "mean_product")
        )
        assert [row.value for row in theirs] == pytest.approx([row.value for row in ours])
        # Resamples are the same; the jackknife stands in for the infinitesimal one.
        assert [row.low for row in theirs] == pytest.approx([row.low for row in ours], abs=0.05)
    (row, *_) = compare(rated, coefficient="mean_product", resamples=50)
    (expected, *_) = compare(rated, coefficient="pearson", resamples=50)
    assert row.difference == pytest.approx(expected.difference)
    assert "mean_product" in comparable_coefficients()


def test_a_coefficient_of_another_package_may_compare_systems_only(offer):
    offer(type("Theirs", (MeanProduct,), {"system_level_only": True}))
    random = np.random.default_rng(0)
    rated = make_rated(
        random.normal(size=(40, 1)),
        random.normal(size=(40, 1)),
        questions=np.repeat(np.arange(10), 4),
        systems=("A", "B", "C", "D") * 10,
    )
    ours, theirs = (
        correlate(rated, coefficients=[name], levels=["system"], resamples=20) for name in ("pearson", "mean_product")
    )
    assert [row.value for row in theirs] == pytest.approx([row.value for row in ours])
    for levels in (["within-system"], ["system", "global"]):
        with pytest.raises(UsageError, match="mean_product"):
            correlate(rated, coefficients=["pearson", "mean_product"], levels=levels, resamples=20)


class Constant(Coefficient):
    """A coefficient with an estimate of its own between systems."""

    name = "constant"
    title = "constant"
    system_level_only = True

    def estimate_between_systems(self, columns: Columns, *, seed: int, resamples: int) -> Estimates:
        one = np.ones((len(columns.metrics), len(columns.dimensions)))
        influences = np.zeros((columns.clusters, *one.shape))
        return Estimates(0.25 * one, influences, None, one.astype(np.int64), np.nan * one)


def test_a_coefficient_has_its_own_estimate_between_systems(offer):
    offer(Constant)
    rated = make_rated(
        np.arange(4.0),
        np.arange(4.0),
        questions=np.array([0, 0, 1, 1]),
        systems=("A", "B") * 2,
        ids=("a", "b", "c", "d"),
    )
    (row,) = correlate(rated, coefficients=["constant"], levels=["system"], resamples=20)
    assert row.value == 0.25


def test_influences_of_another_package_are_those_of_the_jackknife(offer):
    offer(MeanProduct)
    x, y = draw_columns(400, 11)
    ours, theirs = (find_coefficient(name).with_influences(x, y) for name in ("pearson", "mean_product"))
    assert theirs.value == pytest.approx(ours.value)
    assert theirs.rows == pytest.approx(ours.rows, abs=1e-3)
    assert (theirs.rows**2).sum() == pytest.approx((ours.rows**2).sum(), rel=0.1)


class Failing(MeanProduct):
    def __init__(self) -> None:
        raise ZeroDivisionError


class Unrelated:
    name = "mean_product"
    title = "Mean product"


class Untitled(Coefficient):
    name = "mean_product"


@pytest.mark.parametrize("theirs", [Failing, Unrelated, Untitled])
def test_what_is_no_coefficient_leaves_the_others(offer, caplog: pytest.LogCaptureFixture, theirs: type):
    offer(theirs)
    assert find_coefficient("spearman").name == "spearman"
    assert "theirs = their_package:Theirs" in caplog.text
    with pytest.raises(UsageError, match="'mean_product'"):
        find_coefficient("mean_product")


def test_the_docs_describe_every_coefficient():
    page = (Path(__file__).parents[3] / "docs" / "study.md").read_text(encoding="utf-8")
    assert [name for name in all_coefficients() if f"`{name}`" not in page] == []


def test_a_name_that_is_taken(offer):
    offer(type("Mine", (MeanProduct,), {"name": "pearson"}))
    with pytest.raises(ResourceError) as caught:
        find_coefficient("spearman")
    assert "'pearson'" in str(caught.value)
    assert "their_package:Theirs" in str(caught.value)
