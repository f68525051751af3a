"""The nominal model against crowd-kit (the file says which version), the ordinal one against numerical derivatives and
against simulated raters whose errors are known.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from imapeval.errors import UsageError
from imapeval.study.agreement.latent_truth import estimate_truth, fit_model, ordinal_cost


@pytest.fixture(scope="module")
def peer() -> dict[str, Any]:
    return json.loads((Path(__file__).parent.parent / "expected/latent_truth.json").read_text("utf-8"))


def simulate(n: int, detections: list[float], *, size: int = 5, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return true categories and the ratings of raters who perceive them with logistic noise."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, size + 1) / np.arange(1, size + 1).sum()
    truth = rng.choice(size, p=shares, size=n)
    columns = [
        np.searchsorted(detection * (np.arange(size - 1) + 0.5), detection * truth + rng.logistic(size=n))
        for detection in detections
    ]
    return truth, np.column_stack(columns)


def test_dawid_and_skene_as_in_crowd_kit(peer: dict[str, Any]):
    codes = np.array([[-1 if code is None else code for code in row] for row in peer["codes"]])
    fit = fit_model(codes, 3, model="nominal")
    assert fit.converged
    # Both stop when a step adds little, at different points: errors of 0 are approached and never reached.
    np.testing.assert_allclose(fit.shares, peer["priors"], atol=2e-4)
    np.testing.assert_allclose(fit.errors, peer["errors"], atol=2e-3)
    np.testing.assert_allclose(fit.posteriors, peer["posteriors"], atol=2e-3)


def test_the_gradient_of_the_ordinal_model():
    _, codes = simulate(30, [1.0, 2.0, 3.0])
    codes[3, 1] = codes[8, 0] = -1
    votes = (codes[..., None] == np.arange(5)).astype(np.float64)
    point = np.random.default_rng(0).normal(size=20) * 0.5
    gradient = optimize.approx_fprime(point, lambda parameters: ordinal_cost(parameters, votes)[0], 1e-6)
    np.testing.assert_allclose(ordinal_cost(point, votes)[1], gradient, atol=1e-5)


def test_the_posteriors_of_the_ordinal_model_by_their_definition():
    """Bayes' theorem, with raters who err independently of each other."""
    _, codes = simulate(50, [1.0, 2.0, 3.0])
    fit = fit_model(codes, 5, model="ordinal")
    assert fit.converged
    joint = np.array(
        [
            [
                fit.shares[true] * np.prod([fit.errors[rater, true, row[rater]] for rater in range(3)])
                for true in range(5)
            ]
            for row in codes
        ]
    )
    assert fit.posteriors == pytest.approx(joint / joint.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_ordinal_model_finds_good_raters_and_the_truth(seed: int):
    truth, codes = simulate(400, [1.0, 2.5, 4.0], seed=seed)
    ratings = codes.astype(np.float64)
    found = estimate_truth(
        "accuracy", ratings, model="ordinal", ids=tuple(map(str, range(400))), raters=("poor", "fair", "good")
    )
    for place, rater in enumerate(found.raters):
        assert rater.right == pytest.approx(np.mean(codes[:, place] == truth), abs=0.12)
        np.testing.assert_allclose(np.array(rater.matrix).sum(axis=1), 1)
    poor, fair, good = (rater.right for rater in found.raters)
    assert poor < fair < good
    np.testing.assert_allclose(found.shares, np.bincount(truth) / 400, atol=0.08)
    errors = [np.sqrt(np.mean((gold - truth) ** 2)) for gold in (np.array(found.gold), ratings.mean(axis=1))]
    assert errors[0] < 0.9 * errors[1]


def test_probabilities_sum_to_one_and_missing_ratings_are_left_out():
    _, codes = simulate(120, [2.0, 2.0, 2.0, 2.0])
    ratings = codes.astype(np.float64)
    ratings[np.random.default_rng(0).random(ratings.shape) < 0.3] = np.nan
    ratings[7] = np.nan
    found = estimate_truth("accuracy", ratings, model="nominal", ids=tuple(map(str, range(120))), raters=tuple("abcd"))
    assert "7" not in found.ids
    assert len(found.ids) == int(np.isfinite(ratings).any(axis=1).sum()) == len(found.posteriors) == len(found.gold)
    np.testing.assert_allclose(np.array(found.posteriors).sum(axis=1), 1)
    assert sum(found.shares) == pytest.approx(1)
    assert [rater.n for rater in found.raters] == np.isfinite(ratings).sum(axis=0).tolist()


def test_gold_of_two_categories_is_a_probability():
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=300)
    ratings = np.where(rng.random((300, 4)) < 0.8, truth[:, None], 1 - truth[:, None]).astype(np.float64)
    found = estimate_truth("safe", ratings, model="nominal", ids=tuple(map(str, range(300))), raters=tuple("abcd"))
    assert np.mean((np.array(found.gold) > 0.5) == truth) > 0.85
    assert found.gold == tuple(row[1] for row in found.posteriors)


@pytest.mark.parametrize(
    ("ratings", "part"),
    [
        ([[1, 2, np.nan], [2, 1, np.nan]], "2 raters"),
        ([[1 + n % 2, 1 + n % 3, 2] for n in range(12)], "2 raters without c, who gave every answer the same rating"),
        ([[1, 2, np.nan], [2, np.nan, 1]], "no answer has 3 ratings"),
        ([[1, 1, 1], [1, 1, 1]], "1 category"),
        ([[n, n + 30, n + 60] for n in range(30)], "90 categories"),
    ],
)
def test_what_cannot_be_estimated(ratings: list[list[float]], part: str):
    table = np.array(ratings, dtype=np.float64)
    with pytest.raises(UsageError, match=part):
        estimate_truth("accuracy", table, model="nominal", ids=tuple(map(str, range(len(table)))), raters=tuple("abc"))


def test_a_constant_rater_is_left_out():
    _, ratings = simulate(60, [2, 3, 4])
    given = {"model": "ordinal", "ids": tuple(map(str, range(60))), "possible": tuple(range(5))}
    alone = estimate_truth("a", ratings.astype(np.float64), raters=tuple("xyz"), **given)
    # The estimate is that of the others' ratings.
    found = estimate_truth("a", np.column_stack((ratings, np.full(60, 3.0))), raters=tuple("xyzc"), **given)
    assert (found.gold, found.raters, found.left_out) == (alone.gold, alone.raters, ("c",))


def test_no_category_is_called_minus_zero():
    truth, _ = simulate(60, [2, 2, 2], size=3)
    given = {"ids": tuple(map(str, range(60))), "raters": ("a", "b", "c"), "possible": (-1.0, -0.0, 1.0)}
    ratings = np.where(truth == 1, -0.0, truth - 1.0)[:, None].repeat(3, axis=1)
    for model in ("nominal", "ordinal"):
        found = estimate_truth("accuracy", ratings, model=model, **given)
        assert [f"{category:g}" for category in found.categories] == ["-1", "0", "1"]
