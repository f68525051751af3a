from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.slices import UNKNOWN, Slice, divide_answers, slice_answers
from tests.study.answers import make_rated

N = 60


def make(seed: int = 0, **changes: object) -> Rated:
    """One system with 40 answers and one with 20, ratings with ties in two dimensions."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=(N, 2))
    ratings = np.round(2 * (scores[:, :1] + generator.normal(size=(N, 2)))) / 2
    rated = make_rated(
        scores,
        ratings,
        systems=("a",) * 40 + ("b",) * 20,
        metrics=("m", "other"),
        dimensions=("accuracy", "depth"),
        facets={"task": tuple("dose" if n % 3 else "cause" for n in range(N))},
        covariates={"response characters": np.arange(N, dtype=np.float64)},
    )
    return replace(rated, **changes)


def pick(rows: list[Slice], **wanted: str) -> Slice:
    (row,) = [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]
    return row


def test_a_group_of_one_system_has_its_coefficient():
    rated = make()
    row = pick(slice_answers(rated), facet="system", group="b", metric="m", dimension="depth")
    expected = stats.spearmanr(rated.scores[40:, 0], rated.ratings[40:, 1]).statistic
    assert row.value == pytest.approx(expected, abs=1e-12)
    assert (row.n, row.reason) == (20, None)


def test_within_a_group_systems_count_as_often_as_they_have_answers():
    # b has better scores and better ratings throughout: pooled, that would look like agreement.
    rated = make()
    lifted = replace(
        rated,
        scores=rated.scores + 10 * (np.arange(N) >= 40)[:, None],
        ratings=rated.ratings + 10 * (np.arange(N) >= 40)[:, None],
    )
    in_task = [n for n in range(N) if n % 3]
    parts = [[n for n in in_task if n < 40], [n for n in in_task if n >= 40]]
    rhos = [stats.spearmanr(rated.scores[part, 1], rated.ratings[part, 0]).statistic for part in parts]
    row = pick(slice_answers(lifted), facet="task", group="dose", metric="other", dimension="accuracy")
    assert row.value == pytest.approx(np.average(rhos, weights=[len(part) for part in parts]), abs=1e-12)
    assert row.n == len(in_task)


def test_the_mean_over_dimensions():
    rows = slice_answers(make(), metrics=["m"], facets=["task"])
    for group in ("dose", "cause"):
        parts = [pick(rows, group=group, dimension=d).value for d in ("accuracy", "depth")]
        assert pick(rows, group=group, dimension=ALL).value == pytest.approx(np.mean(parts), abs=1e-12)
    assert {row.metric for row in rows} == {"m"}


def test_dimensions_are_a_facet_with_all_answers():
    rows = [row for row in slice_answers(make(), metrics=["m"]) if row.facet == "dimension"]
    assert [(row.group, row.dimension, row.n) for row in rows] == [("accuracy", "accuracy", N), ("depth", "depth", N)]


def test_intervals_are_those_of_fisher_for_normal_data():
    """arctanh(r) +- 1.96 / sqrt(n - 3): Fisher 1921."""
    generator = np.random.default_rng(1)
    n = 2000
    x, y = generator.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=n).T
    rated = make_rated(x, y, dimensions=("d",))
    (row,) = slice_answers(rated, coefficient="pearson", facets=["system"])
    r = stats.pearsonr(x, y).statistic
    assert row.value == pytest.approx(r, abs=1e-12)
    expected = np.tanh(np.arctanh(r) + np.array([-1, 1]) * 1.96 / np.sqrt(n - 3))
    assert (row.low, row.high) == pytest.approx(tuple(expected), abs=0.005)


def test_answers_that_nobody_rated_are_left_out_first():
    rated = make()
    more = replace(
        rated,
        ratings=np.where((np.arange(N) < 3)[:, None], np.nan, rated.ratings),
        facets={"task": ("rare",) * 3 + rated.facets["task"][3:]},
    )
    rows = slice_answers(more, facets=["task"])
    assert {row.group for row in rows} == {"dose", "cause"}


def test_a_metric_that_is_better_low_is_turned_round():
    rated = make()
    turned = replace(rated, scores=-rated.scores, lower_is_better=frozenset({"m", "other"}))
    assert slice_answers(turned) == slice_answers(rated)


def test_what_has_no_coefficient_is_said():
    rated = make(facets={"task": ("x",) * 3 + ("constant",) * 20 + ("y",) * 37})
    scores = rated.scores.copy()
    scores[3:23, 0] = 0.5
    scores[:, 1] = np.nan
    rows = slice_answers(replace(rated, scores=scores), facets=["task"])
    few = pick(rows, metric="m", group="x", dimension="depth")
    assert (few.value, few.low, few.high, few.n) == (None, None, None, 0)
    assert "fewer than 4 questions" in str(few.reason)
    constant = pick(rows, metric="m", group="constant", dimension="depth")
    assert constant.value is None
    assert "1 of 1 coefficients are left out" in str(constant.reason)
    assert {row.reason for row in rows if row.metric == "other"} == {"no answer has both a score and a rating"}


def test_covariates_are_cut_into_equal_groups_with_their_ranges():
    numbers = np.array([120.0, 30, 700, 64, 64, 64, 90, np.nan])
    rated = make().take(range(8))
    groups = divide_answers(replace(rated, covariates={"length": numbers}, facets={}), bins=3)["length"]
    assert {name: rows.tolist() for name, rows in groups.items()} == {
        "30 to 64": [1, 3, 4, 5],
        "90": [6],
        "120 to 700": [0, 2],
        UNKNOWN: [7],
    }


def test_ranges_have_as_many_decimals_as_tell_them_apart():
    numbers = np.array([0.1231, 0.1232, 0.1233, 0.9])
    groups = divide_answers(replace(make().take(range(4)), covariates={"compression": numbers}), bins=2)["compression"]
    assert list(groups) == ["0.1231 to 0.1232", "0.1233 to 0.9000"]


def test_a_facet_that_divides_nothing_is_no_facet():
    rated = make(systems=("a",) * N, covariates={"length": np.ones(N), "none": np.full(N, np.nan)})
    assert list(divide_answers(rated)) == ["dimension", "task"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["nope"]}, "'nope'"),
        ({"facets": ["nope"]}, "'nope'"),
        ({"coefficient": "pairwise_accuracy"}, "'pairwise_accuracy'"),
    ],
)
def test_unknown_names(options, message):
    with pytest.raises(UsageError, match=message):
        slice_answers(make(), **options)


def test_nothing_rated():
    with pytest.raises(UsageError, match="no answer has a rating"):
        slice_answers(make(ratings=np.full((N, 2), np.nan)))
