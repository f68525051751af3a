"""Latent-truth models: estimate the true category of each answer and the error rates of each rater.

- nominal: every rater has a matrix of errors, the probability of each category given the true one (Dawid and Skene
  1979, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm", Applied Statistics 28). Fitted
  by that algorithm, which begins with the shares of the raters' votes, so that categories keep their meaning.
- ordinal: the categories 0, 1, 2 ... are ordered; a rater perceives the true one with logistic noise and draws
  boundaries between them: the probability of k or lower, given the truth t, is logistic(detection x (boundary_k - t)).
  This is latent class signal detection (DeCarlo 2002, "A Latent Class Extension of Signal Detection Theory",
  Multivariate Behavioral Research 37; 2005, "A Model of Rater Behavior in Essay Grading", Journal of Educational
  Measurement 42). A rater has as many parameters as there are categories, in place of their square. The data alone do
  not say where on the scale a latent category lies, so parameters have weak priors, centred on a rater whose boundaries
  are halfway between the categories, and the mode of the posterior is taken (as DeCarlo does, with other priors).

Raters are taken to err independently of each other, given the truth: where they share a misconception, it is taken for
the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from imapeval._optional import require
from imapeval.errors import UsageError
from imapeval.study.agreement.constant_raters import find_constant

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats

Model = Literal["nominal", "ordinal"]
MODELS: tuple[Model, ...] = get_args(Model)

MIN_RATERS = 3
"""With three or more raters, their errors can be told from the truth: Kruskal 1977; Allman, Matias and Rhodes 2009."""

MAX_CATEGORIES = 20
"""More different ratings are numbers rather than categories."""

_TOLERANCE = 1e-8
"""The EM algorithm has converged if a step adds less to the log likelihood per answer."""

_MAX_STEPS = 1000

_LEAST_CHANCE = 1e-10
"""Replaces a probability of 0, whose logarithm is infinite."""

_USUAL_DETECTION = 3.0
"""Median of the prior of a detection: such a rater gives a true category that is neither the lowest nor the highest to
64% of its answers."""

_DETECTION_SPREAD = 1.0
"""Standard deviation of the logarithm of a detection: 95% lie between .4 and 21, so 10% to nearly all right."""

_BOUNDARY_SPREAD = 0.5
"""Standard deviation of a boundary, in categories: 95% of raters are at most one category too strict or lenient."""


@dataclass(frozen=True, slots=True)
class RaterErrors:
    """How a rater errs.

    Attributes:
        matrix: Probability of each rating (column) given the true category (row), in the order of the categories;
            every row sums to 1.
        right: Probability of the true category, for an answer drawn at random.
        n: Answers that the rater rated.
    """

    rater: str
    matrix: tuple[tuple[float, ...], ...]
    right: float
    n: int


@dataclass(frozen=True, slots=True)
class LatentTruth:
    """What the raters' errors and the true categories of the answers are estimated to be, in one dimension.

    Attributes:
        model: The model that was fitted.
        categories: The ratings that occur and, in the ordinal model, those that the scale has; lowest first.
        shares: How often each is true; they sum to 1.
        raters: Errors by rater.
        left_out: Raters who gave every answer the same rating.
        ids: Ids of the rated answers.
        posteriors: Probability of each category by answer, in the order of `ids` and of `categories`.
        gold: Estimated truth of each answer: the posterior mean for an ordinal model or two categories, otherwise the
            most probable category.
        converged: Whether the algorithm converged.
    """

    dimension: str
    model: Model
    categories: tuple[float, ...]
    shares: tuple[float, ...]
    raters: tuple[RaterErrors, ...]
    ids: tuple[str, ...]
    posteriors: tuple[tuple[float, ...], ...]
    gold: tuple[float, ...]
    converged: bool
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model; k categories.

    Attributes:
        shares: Probability of each category, shape (k,).
        errors: Error matrices of the raters, shape (raters, k true, k given).
        posteriors: Shape (answers, k).
        converged: Whether the algorithm converged.
    """

    shares: Floats
    errors: Floats
    posteriors: Floats
    converged: bool


def estimate_truth(
    dimension: str,
    ratings: Floats,
    *,
    model: Model,
    ids: tuple[str, ...],
    raters: tuple[str, ...],
    possible: tuple[float, ...] = (),
) -> LatentTruth:
    """Estimate true categories and errors of raters from ratings of shape (answers, raters), NaN if missing.

    Answers without a rating are left out, and raters who gave every answer the same rating: the model may take such a
    rater for one who is always right, and all answers for equally good. Categories are the ratings that occur and, in
    the ordinal model, the `possible` ones.

    Raises:
        UsageError: There are fewer than three raters, fewer than two or too many categories, or no answer with three
            ratings.
        MissingExtraError: scipy is not installed, which the ordinal model needs.
    """
    constant = find_constant(ratings)
    left_out = tuple(raters[place] for place in np.flatnonzero(constant).tolist())
    ratings = np.where(constant, np.nan, ratings)
    given = np.isfinite(ratings)
    active = np.flatnonzero(given.any(axis=0))
    if len(active) < MIN_RATERS:
        without = f" without {', '.join(left_out)}, who gave every answer the same rating" if left_out else ""
        raise UsageError(
            f"{dimension} has {len(active)} rater{'' if len(active) == 1 else 's'}{without}; errors can be told from "
            f"the truth with {MIN_RATERS} raters or more."
        )
    if not (given.sum(axis=1) >= MIN_RATERS).any():
        raise UsageError(f"no answer has {MIN_RATERS} ratings in {dimension}. Have some rated by {MIN_RATERS} raters.")
    used = np.flatnonzero(given.any(axis=1))
    occurring = np.unique(ratings[given])
    # Categories that nobody gave have no errors to estimate in the nominal model.
    categories = occurring if model == "nominal" or not possible else np.union1d(occurring, np.array(possible))
    categories = categories + 0.0  # which makes the -0 of a scale such as -1:1:1 a 0
    if not 2 <= len(categories) <= MAX_CATEGORIES:
        found = "1 category" if len(categories) == 1 else f"{len(categories)} categories"
        raise UsageError(f"{dimension} has {found}; a latent truth is for 2 to {MAX_CATEGORIES}.")
    table = ratings[np.ix_(used, active)]
    codes = np.where(np.isfinite(table), np.searchsorted(categories, table), -1).astype(np.int64)
    fit = fit_model(codes, len(categories), model=model)
    right = np.einsum("c,rcc->r", fit.shares, fit.errors)
    means = fit.posteriors @ categories
    gold = means if model == "ordinal" or len(categories) == 2 else categories[fit.posteriors.argmax(axis=1)]
    return LatentTruth(
        dimension,
        model,
        tuple(categories.tolist()),
        tuple(fit.shares.tolist()),
        tuple(
            RaterErrors(
                raters[rater],
                tuple(tuple(row) for row in fit.errors[place].tolist()),
                float(right[place]),
                int((codes[:, place] >= 0).sum()),
            )
            for place, rater in enumerate(active.tolist())
        ),
        tuple(ids[row] for row in used.tolist()),
        tuple(tuple(row) for row in fit.posteriors.tolist()),
        tuple(gold.tolist()),
        fit.converged,
        left_out,
    )


def fit_model(codes: np.ndarray, size: int, *, model: Model) -> Fit:
    """Fit a model.

    `codes` are the categories that each rater gave, 0..size - 1, shape (answers, raters); -1 if missing. Every answer
    has a rating.

    Raises:
        MissingExtraError: scipy is not installed, which the ordinal model needs.
    """
    votes = (codes[..., None] == np.arange(size)).astype(np.float64)
    return _fit_nominal(votes) if model == "nominal" else _fit_ordinal(votes)


def _fit_nominal(votes: Floats) -> Fit:
    """Fit Dawid and Skene's model to votes of shape (answers, raters, categories)."""
    posteriors = votes.sum(axis=1) / votes.sum(axis=(1, 2))[:, None]
    shares, errors = _maximise(posteriors, votes)
    before, converged = -np.inf, False
    for _ in range(_MAX_STEPS):
        posteriors, likelihood = _compute_posteriors(shares, errors, votes)
        if converged := likelihood - before < _TOLERANCE * len(votes):
            break
        before = likelihood
        shares, errors = _maximise(posteriors, votes)
    return Fit(shares, errors, posteriors, converged)


def _maximise(posteriors: Floats, votes: Floats) -> tuple[Floats, Floats]:
    """Return the shares and errors that maximise the likelihood, given the posteriors of the categories (M step)."""
    counts = _count(posteriors, votes)
    totals = counts.sum(axis=2, keepdims=True)
    errors = np.divide(counts, totals, out=np.full_like(counts, 1 / votes.shape[2]), where=totals > 0)
    return posteriors.mean(axis=0), errors


def _count(posteriors: Floats, votes: Floats) -> Floats:
    """Return how often each rater is expected to have given a category for a true one, shape (raters, true, given)."""
    return np.einsum("ac,ark->rck", posteriors, votes)


def _compute_posteriors(shares: Floats, errors: Floats, votes: Floats) -> tuple[Floats, float]:
    """Return the posterior of each category, shape (answers, categories), and the log likelihood (E step)."""
    joint = np.log(np.maximum(shares, _LEAST_CHANCE)) + np.einsum(
        "ark,rck->ac", votes, np.log(np.maximum(errors, _LEAST_CHANCE))
    )
    highest = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - highest)
    sums = weights.sum(axis=1, keepdims=True)
    return weights / sums, float((highest + np.log(sums)).sum())


def _fit_ordinal(votes: Floats) -> Fit:
    """Fit the signal detection model to votes of shape (answers, raters, categories)."""
    optimize = require("scipy.optimize", distribution="scipy", extra="study", needed_for="the ordinal model")
    _, raters, size = votes.shape
    given = votes.sum(axis=(0, 1))
    rater = np.concatenate([[0.5], np.zeros(size - 2), [np.log(_USUAL_DETECTION)]])
    start = np.concatenate([np.log((given + 1) / (given + 1).sum()), *[rater] * raters])

    def cost(parameters: Floats) -> tuple[float, Floats]:
        return ordinal_cost(parameters, votes)

    found = optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    shares, errors, *_ = _read_ordinal(found.x, raters, size)
    posteriors, _ = _compute_posteriors(shares, errors, votes)
    return Fit(shares, errors, posteriors, converged=bool(found.success))


def _read_ordinal(parameters: Floats, raters: int, size: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return shares, errors, boundaries (raters, size - 1), detections (raters,), and P(given <= k | true)."""
    logits, own = parameters[:size], parameters[size:].reshape(raters, size)
    shares = np.exp(logits - logits.max())
    steps = np.exp(own[:, 1:-1])
    boundaries = own[:, :1] + np.hstack([np.zeros((raters, 1)), np.cumsum(steps, axis=1)])
    detections = np.exp(own[:, -1])
    places = detections[:, None, None] * (boundaries[:, None, :] - np.arange(size)[None, :, None])
    below = 1 / (1 + np.exp(-np.clip(places, -500, 500)))
    ends = np.zeros((raters, size, 1))
    errors = np.maximum(np.diff(np.concatenate([ends, below, ends + 1], axis=2), axis=2), _LEAST_CHANCE)
    return shares / shares.sum(), errors, boundaries, detections, below


def ordinal_cost(parameters: Floats, votes: Floats) -> tuple[float, Floats]:
    """Return the negative log posterior of the ordinal model's parameters, and its gradient.

    The parameters are the logarithms of the shares up to a constant (categories), then for each rater the first
    boundary, the logarithms of the distances to the next ones, and that of the detection. Votes have the shape
    (answers, raters, categories).
    """
    _, raters, size = votes.shape
    shares, errors, boundaries, detections, below = _read_ordinal(parameters, raters, size)
    own = parameters[size:].reshape(raters, size)
    posteriors, likelihood = _compute_posteriors(shares, errors, votes)
    # By Fisher's identity the gradient is that of the expected complete-data log likelihood.
    ratio = _count(posteriors, votes) / errors
    moved = (ratio[..., :-1] - ratio[..., 1:]) * below * (1 - below)
    places: Floats = boundaries[:, None, :] - np.arange(size, dtype=np.float64)[None, :, None]
    by_boundary = detections[:, None] * moved.sum(axis=1)
    by_detection: Floats = detections * (moved * places).sum(axis=(1, 2))
    by_share = posteriors.sum(axis=0) - len(votes) * shares
    # Gradients of the normal priors.
    off: Floats = (boundaries - np.arange(0.5, size - 1)) / _BOUNDARY_SPREAD
    usual = (own[:, -1] - np.log(_USUAL_DETECTION)) / _DETECTION_SPREAD
    likelihood += float(np.log(np.maximum(shares, _LEAST_CHANCE)).mean()) - float((off**2).sum() + (usual**2).sum()) / 2
    by_boundary -= off / _BOUNDARY_SPREAD
    by_detection -= usual / _DETECTION_SPREAD
    by_share += 1 / size - shares
    later = np.cumsum(by_boundary[:, ::-1], axis=1)[:, ::-1]
    gradient = np.column_stack([later[:, 0], np.exp(own[:, 1:-1]) * later[:, 1:], by_detection])
    return -likelihood / len(votes), -np.concatenate([by_share, gradient.ravel()]) / len(votes)
