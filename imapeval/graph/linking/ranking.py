"""How likely a text means each of its candidates: a conditional logit over their features.

The probability of a candidate is exp(w.x) over the sum of this over all candidates and over "none of them", whose
weight is `NONE_LOGIT` (McFadden 1974, "Conditional logit analysis of qualitative choice behavior"). The weights were
learned on synonyms held out of DOID and Mondo, each once as it is and once with its concept taken from the candidates,
so a probability holds where every other text means nothing in the graph:
`python benchmarks/linking.py --fit` prints them. The benchmark's own 2,000 concepts were not used for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.graph.linking.features import FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from imapeval.graph.linking.features import CandidateSet

    Floats = npt.NDArray[np.float64]

RELATIVE_FEATURES = ("letters", "encoder", "letters of all names", "words of all names")
"""Features whose distance to the best candidate is a feature as well."""

WEIGHTS: dict[str, float] = {
    "same": 0.944,
    "letters": -6.125,
    "letters squared": 7.636,
    "letters of text": -3.113,
    "letters of name": 1.076,
    "words": 1.297,
    "words of text": -2.939,
    "words of name": 0.598,
    "encoder": -3.22,
    "encoder squared": 5.049,
    "letters and encoder": -5.554,
    "first word": 0.306,
    "last word": 0.012,
    "initials": 3.212,
    "series": 9.285,
    "marks differ": -2.273,
    "letters of all names": 7.245,
    "words of all names": 2.31,
    "names found": -0.237,
    "letters behind": -4.145,
    "encoder behind": -2.12,
    "letters of all names behind": -0.728,
    "words of all names behind": 0.284,
}
"""Weight of each feature. Correlated features share their weight, so a single sign means little."""

NONE_LOGIT = 2.614
"""Weight of "none of them"."""

LINK_THRESHOLD = 0.8
"""Probability from which a value is linked to its likeliest concept (docs/graph.md has the precision)."""

_PREFERRED_TYPE_LOGIT = math.log(4)
"""Logit added for a preferred type, as if its concepts were four times as frequent. Chosen, not measured."""

MODEL_FEATURES = (*FEATURES, *(f"{feature} behind" for feature in RELATIVE_FEATURES))
"""The weighted features: the columns that `add_relative_features` returns."""

_WEIGHT_VECTOR = np.array([WEIGHTS[sign] for sign in MODEL_FEATURES])
_RELATIVE_COLUMNS = [FEATURES.index(feature) for feature in RELATIVE_FEATURES]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A concept that a text may mean, with the evidence.

    Attributes:
        concept: Id of the concept.
        name: The nearest of its names, as the graph writes it.
        score: Estimated probability that it is the one that is meant, in 0..1; those of all candidates of a text and of
            "none of them" add up to 1.
        evidence: What speaks for it, each in 0..1 (see `imapeval.graph.linking.features.FEATURES`).
    """

    concept: str
    name: str
    score: float
    evidence: Mapping[str, float]


def add_relative_features(features: Floats) -> Floats:
    """Return the features of a text's candidates, and how far each is behind the best; see `MODEL_FEATURES`."""
    compared = features[:, _RELATIVE_COLUMNS]
    return np.hstack([features, compared.max(axis=0, initial=0.0) - compared])


def rank_candidates(
    found: CandidateSet, preferred: Sequence[bool] | None = None, *, k: int | None = None
) -> list[Candidate]:
    """Return the candidates of a text, likeliest first.

    Args:
        found: The candidates and their features.
        preferred: Whether each is of an expected type; None where no type is expected.
        k: How many at most; None returns all.
    """
    logits = add_relative_features(found.features) @ _WEIGHT_VECTOR
    if preferred is not None:
        logits = logits + _PREFERRED_TYPE_LOGIT * np.array(preferred, dtype=float)
    # Subtracted from all, which keeps the exponentials finite and changes nothing.
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
