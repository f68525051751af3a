"""Learns the weights of `imapeval.graph.linking.ranking`: a conditional logit, by Newton's method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.graph.linking.ranking import MODEL_FEATURES, add_relative_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_PENALTY = 1.0
"""Penalty on the squared weights, for all texts together: keeps the weights of correlated features finite."""

_ROUNDS = 30
_ENOUGH = 1e-3
"""Gain in the logarithm of the likelihood below which the search ends."""


def fit(found: Sequence[tuple[Floats, int]]) -> tuple[dict[str, float], float]:
    """Return the weights and the weight of "none of them".

    Args:
        found: Per text the features of its candidates, and the index of the correct one or -1. Each text counts twice:
            as it is, and without the correct candidate, where "none of them" is the answer.
    """
    tables: list[tuple[Floats, int]] = []
    for features, right in found:
        tables.append((_with_nothing(features), right if right >= 0 else len(features)))
        rest = np.delete(features, right, axis=0) if right >= 0 else features
        tables.append((_with_nothing(rest), len(rest)))
    weights = np.zeros(len(MODEL_FEATURES) + 1)
    loss, gradient, hessian = _measure(tables, weights)
    for _ in range(_ROUNDS):
        step = np.linalg.solve(hessian, -gradient)
        # Newton's steps may overshoot where the probabilities are near 0 or 1.
        while (there := _measure(tables, weights + step))[0] > loss:
            step /= 2
        weights += step
        gained, (loss, gradient, hessian) = loss - there[0], there
        if gained < _ENOUGH:
            break
    return dict(zip(MODEL_FEATURES, np.round(weights[:-1], 3).tolist(), strict=True)), round(float(weights[-1]), 3)


def _measure(tables: Sequence[tuple[Floats, int]], weights: Floats) -> tuple[float, Floats, Floats]:
    """Return the negative logarithm of the penalised likelihood, its gradient and its matrix of second derivatives."""
    loss = _PENALTY * float(weights @ weights) / 2
    gradient, hessian = _PENALTY * weights, np.eye(len(weights)) * _PENALTY
    for table, right in tables:
        logits = table @ weights
        logits -= logits.max()
        chances = np.exp(logits)
        total = chances.sum()
        chances /= total
        loss += np.log(total) - logits[right]
        mean = chances @ table
        gradient += mean - table[right]
        hessian += (table * chances[:, None]).T @ table - np.outer(mean, mean)
    return loss, gradient, hessian


def _with_nothing(features: Floats) -> Floats:
    """Return the features with a row for "none of them", which has a feature of its own and no other."""
    table = np.zeros((len(features) + 1, len(MODEL_FEATURES) + 1))
    table[:-1, :-1] = add_relative_features(features)
    table[-1, -1] = 1.0
    return table
