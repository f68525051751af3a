"""Shifts of simulated metrics whose bias is known, and of scores whose differences scipy knows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.shifts import Shift, measure_shifts
from tests.study.answers import make_rated


def make(n: int = 200, *, seed: int = 1) -> Rated:
    generator = np.random.default_rng(seed)
    true = generator.normal(size=n)
    return make_rated(
        np.column_stack([true + generator.normal(size=n), -true]),
        true,
        questions=np.arange(n) // 2,
        systems=("a", "b") * (n // 2),
        metrics=("m", "perplexity"),
        lower_is_better=frozenset({"perplexity"}),
    )


def alter(
    rated: Rated, shift: float, *, noise: float = 0.5, seed: int = 2, metric: str = "m"
) -> dict[str, dict[str, float]]:
    """Return the scores of a metric that likes the alteration by `shift`, and is noisy where it is asked again."""
    moved = rated.scores[:, rated.metrics.index(metric)] + shift
    noisy = moved + noise * np.random.default_rng(seed).normal(size=len(moved))
    return {metric: dict(zip(rated.ids, noisy.tolist(), strict=True))}


def find(rated: Rated, altered: dict[str, dict[str, float]]) -> Shift:
    (row,) = measure_shifts(rated, {"suggestion": altered})
    return row


@pytest.mark.parametrize("shift", [-0.3, 0.3])
def test_a_biased_metric_is_found(shift: float):
    rated = make()
    row = find(rated, alter(rated, shift))
    assert row.shown
    assert row.difference == pytest.approx(shift, abs=0.1)
    assert row.standardised == pytest.approx(shift / 2**0.5, abs=0.1)
    assert ((row.raised or 0) > (row.lowered or 0)) == (shift > 0)
    assert ("higher" if shift > 0 else "lower") in row.sentence


def test_an_unbiased_metric_is_shown_as_biased_in_one_of_twenty_cases():
    rated = make(60)
    rows = [find(rated, alter(rated, 0.0, seed=seed)) for seed in range(300)]
    assert np.mean([row.shown for row in rows]) == pytest.approx(0.05, abs=0.035)


def test_the_interval_is_students_where_answers_are_independent():
    rated = make()
    row = find(rated, alter(rated, 0.3))
    changes = [alter(rated, 0.3)["m"][name] - score for name, score in zip(rated.ids, rated.scores[:, 0], strict=True)]
    expected = stats.ttest_1samp(changes, 0).confidence_interval()
    assert (row.low, row.high) == pytest.approx((expected.low, expected.high), abs=0.02)
    assert row.difference == pytest.approx(np.mean(changes))


def test_where_low_scores_are_good_a_lower_score_is_a_rise():
    rated = make()
    row = find(rated, alter(rated, -0.3, metric="perplexity"))
    assert row.difference == pytest.approx(0.3, abs=0.1)
    assert "higher" in row.sentence


def test_a_metric_that_does_not_look_at_what_was_altered():
    rated = make()
    row = find(rated, alter(rated, 0.0, noise=0.0))
    assert (row.difference, row.low, row.high, row.shown) == (0.0, None, None, False)
    assert "same score" in row.sentence


def test_rounding_is_no_shift():
    rated = make_rated(np.arange(40) / 40, np.ones(40))
    scores = rated.scores[:, 0]
    # As in a metric of two texts that are exchanged, whose terms are added up in another order.
    again = scores + 0.3 - 0.3
    assert (again != scores).any()
    row = find(rated, {"m": dict(zip(rated.ids, again.tolist(), strict=True))})
    assert (row.difference, row.raised, row.lowered, row.low, row.shown) == (0.0, 0.0, 0.0, None, False)


@pytest.mark.parametrize("direction", [-1, 1])
def test_one_changed_answer_of_thirty_is_no_shift(direction: int):
    rated = make(30)
    right = np.arange(30) % 2 == (direction < 0)
    rated = replace(rated, scores=np.column_stack([right, rated.scores[:, 1]]).astype(float), questions=np.arange(30))
    row = find(rated, {"m": dict(zip(rated.ids, (rated.scores[:, 0] + direction * (np.arange(30) == 0)), strict=True))})
    assert row.difference == pytest.approx(direction / 30)
    assert not row.shown
    assert 0 in (row.low, row.high)


def test_equal_scores_have_no_standardised_shift():
    rated = make(12)
    rated = replace(rated, scores=np.column_stack([np.full(12, 0.7), rated.scores[:, 1]]), questions=np.arange(12))
    row = find(rated, {"m": {name: 0.8 if name != "0" else 0.7 for name in rated.ids}})
    assert row.difference == pytest.approx(0.1 * 11 / 12)
    assert row.standardised is None


def test_pairs_are_made_by_id_and_few_of_them_are_refused():
    rated = make()
    some = {"m": {name: score for name, score in alter(rated, 0.3)["m"].items() if int(name) < 18}}
    row = find(rated, some | {"other": {"0": 1.0}})
    assert (row.n, row.difference) == (18, None)
    assert "9 questions" in str(row.reason)
    with pytest.raises(UsageError, match="same metrics"):
        find(rated, {"other": {"0": 1.0}})


def test_equal_changes_up_and_down_within_each_question_are_no_shift():
    scores = np.random.default_rng(0).uniform(0.3, 0.7, 40).round(2)
    rated = make_rated(scores, np.ones(40), questions=np.repeat(np.arange(20), 2), systems=("a", "b") * 20)
    altered = scores + np.tile([0.1, -0.1], 20)
    row = find(rated, {"m": dict(zip(rated.ids, altered.tolist(), strict=True))})
    assert row.difference == pytest.approx(0, abs=1e-12)
    assert (row.raised, row.lowered, row.low, row.shown) == (0.5, 0.5, None, False)
