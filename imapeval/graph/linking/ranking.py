"""Ranks the candidates of a text by their probability: a conditional logit over their features.

The probability of a candidate is exp(w.x) divided by the sum of this over all candidates and "none of them", whose
logit is `NONE_LOGIT` (McFadden 1974, "Conditional logit analysis of qualitative choice behavior"). The weights were
learned on synonyms held out of DOID and Mondo, each once with and once without its concept among the candidates, so
probabilities are calibrated for texts of which half mean no concept in the graph.
`python benchmarks/linking.py --work DIR --fit` prints them; it does not use the 2,000 concepts of the benchmark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.graph.linking.features import FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.graph.arrays import Floats
    from imapeval.graph.linking.features import CandidateSet


RELATIVE_FEATURES = ("n-grams", "encoder", "n-grams of all names", "words of all names")
"""Features whose difference from the best candidate is a feature as well."""

WEIGHTS: dict[str, float] = {
    "same": 0.944,
    "n-grams": -6.125,
    "n-grams squared": 7.636,
    "n-grams of text": -3.113,
    "n-grams of name": 1.076,
    "words": 1.297,
    "words of text": -2.939,
    "words of name": 0.598,
    "encoder": -3.22,
    "encoder squared": 5.049,
    "n-grams and encoder": -5.554,
    "first word": 0.306,
    "last word": 0.012,
    "initials": 3.212,
    "series": 9.285,
    "marks differ": -2.273,
    "n-grams of all names": 7.245,
    "words of all names": 2.31,
    "names found": -0.237,
    "n-grams behind": -4.145,
    "encoder behind": -2.12,
    "n-grams of all names behind": -0.728,
    "words of all names behind": 0.284,
}
"""Weight of each feature. The features are correlated, so that the sign of a single weight means little."""

NONE_LOGIT = 2.614
"""Logit of "none of them"."""

LINK_THRESHOLD = 0.8
"""Minimum probability of a link (docs/graph-linking.md has the precision)."""

MODEL_FEATURES = (*FEATURES, *(f"{feature} behind" for feature in RELATIVE_FEATURES))
"""The weighted features: the columns that `add_relative_features` returns."""

_WEIGHT_VECTOR = np.array([WEIGHTS[feature] for feature in MODEL_FEATURES])
_RELATIVE_COLUMNS = [FEATURES.index(feature) for feature in RELATIVE_FEATURES]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A concept that a text may mean, with the evidence.

    Attributes:
        concept: Id of the concept.
        name: The nearest of its names, as the graph writes it.
        score: Estimated probability that the text means it, in 0..1; those of all candidates of a text and of "none of
            them" add up to 1.
        evidence: Its features, each in 0..1 (see `imapeval.graph.linking.features.FEATURES`).
    """

    concept: str
    name: str
    score: float
    evidence: Mapping[str, float]


def add_relative_features(features: Floats) -> Floats:
    """Return the features of a text's candidates and their differences from the best; see `MODEL_FEATURES`."""
    compared = features[:, _RELATIVE_COLUMNS]
    return np.hstack([features, compared.max(axis=0, initial=0.0) - compared])


def rank_candidates(found: CandidateSet, *, k: int | None = None) -> list[Candidate]:
    """Return the candidates of a text, likeliest first; at most `k`, if given."""
    logits = add_relative_features(found.features) @ _WEIGHT_VECTOR
    # Subtracted to keep the exponentials finite; it cancels out.
    top = max(float(logits.max(initial=NONE_LOGIT)), NONE_LOGIT)
    masses = np.exp(logits - top)
    scores = masses / (masses.sum() + math.exp(NONE_LOGIT - top))
    order: list[int] = np.argsort(-scores, kind="stable")[:k].tolist()
    return [
        Candidate(
            found.concepts[place],
            found.names[place].text,
            float(scores[place]),
            dict(zip(FEATURES, found.features[place].tolist(), strict=True)),
        )
        for place in order
    ]
