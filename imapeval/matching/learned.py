"""What the small model says of pairs that wording and graph leave open: how similar they are, and how they relate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.fact_model import AGREEMENT, RELATIONS
from imapeval.text.comparison.differences import name_other_sides
from imapeval.text.comparison.order import Order, compare_order
from imapeval.text.comparison.similarity import differ_by_code
from imapeval.text.phrases import parse_phrase
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from imapeval.types import Match

_MIN_PROBABILITY = 0.6
"""Minimum probability of any relation of two facts that stand alone. At .5, the model is right about as many, but also
wrong about more."""

_MIN_CONTRADICTION = 0.7
"""Minimum probability of a contradiction in a longer answer, where most pairs are unrelated.

At .6, the model finds three to four times as many in right and in real answers, but hardly more in wrong ones.
"""

_MIN_LONE_CONTRADICTION = 0.9
"""That of a contradiction of a reference that states one fact: no other can then confirm it."""

_MIN_CONTRADICTED = 2
_MIN_SHARE_CONTRADICTED = 1 / 3
"""Number and share of the reference's facts that an answer must contradict before the model decides any of them.

Answers are long lists, in which hardly any pair is a contradiction: of those that the model sees in the answers of real
systems, only about one in six is one, but they are scattered, whereas those of a wrong answer come together
(docs/graph-relations.md). If the reference has fewer facts, all of them must be contradicted.
"""

_CONTRADICTION = RELATIONS.index(Relation.CONTRADICTION.value)


def combine_agreement(
    probabilities: npt.NDArray[np.floating], similarities: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the similarities of undecided pairs from the agreement that the small model expects and from their words.

    The twelfth root raises low values most: the model expects little of a rewording that it is not sure of, and many
    such facts should count for more than a few copied ones (docs/graph-relations.md). What it makes of next to nothing
    is subtracted. So an undecided pair often earns more than one that is known to be belonging.

    Args:
        probabilities: Of each of `RELATIONS` for every pair, shape (..., 5).
        similarities: Of their words, shape (...).
    """
    expected = probabilities.astype(np.float64) @ np.array(AGREEMENT)
    credit = ((expected**2 * similarities) ** (1 / 12) - 0.2) / 0.8
    return np.round(np.clip(credit, 0.0, 1.0) ** 2, 4)


def decide_relations(matches: Sequence[Match], probabilities: npt.NDArray[np.floating]) -> list[Match]:
    """Return the matches with the relations that the model decides.

    It decides any relation of two facts that stand alone, as they were surely meant to be compared, and in longer
    answers contradictions, if there are several. A fact of the response that agrees with one of the reference
    contradicts no other.

    Args:
        matches: Those of every fact of the reference with every fact of the response, in this order.
        probabilities: Of each of `RELATIONS` for every pair, shape (reference, response, 5).
    """
    relations = np.array([match.relation.value for match in matches]).reshape(probabilities.shape[:2])
    is_open = np.array([_is_open(match) for match in matches]).reshape(relations.shape)
    if len(matches) == 1:
        found = np.where(is_open & (probabilities.max(axis=-1) >= _MIN_PROBABILITY), probabilities.argmax(axis=-1), 0)
        if found.any():
            return [_check_wording(matches[0], int(found[0, 0]), float(probabilities.max()))]
    else:
        contradicted = relations == Relation.CONTRADICTION.value
        agree = ~contradicted & (relations != Relation.UNMATCHED.value)
        number = len(relations)
        least = _MIN_LONE_CONTRADICTION if number == 1 else _MIN_CONTRADICTION
        sure = is_open & ~agree.any(axis=0) & (probabilities[..., _CONTRADICTION] >= least)
        enough = max(min(_MIN_CONTRADICTED, number), _MIN_SHARE_CONTRADICTED * number)
        if np.count_nonzero((contradicted | sure).any(axis=1)) < enough:
            return list(matches)
        found = np.where(sure, _CONTRADICTION, 0)
    places: list[int] = found.ravel().tolist()
    rows: list[list[float]] = probabilities.reshape(-1, len(RELATIONS)).tolist()
    return [
        _decide(match, RELATIONS[place], row[place]) if place else match
        for match, place, row in zip(matches, places, rows, strict=True)
    ]


def _check_wording(match: Match, place: int, probability: float) -> Match:
    """Return the match of two single facts with the model's relation, corrected by what the model hardly sees.

    Where it relates two facts that name different amounts or sides, they are about the same thing and contradict each
    other. Those that differ in nothing but the order of their words, or of which one says no more, do not.
    """
    a, b = parse_phrase(match.reference), parse_phrase(match.response)
    if place != _CONTRADICTION:
        if name_other_sides(a, b):
            why = f"the small model relates them ({probability:.2f}), and they name different amounts or sides"
            return replace(match, relation=Relation.CONTRADICTION, decided_by="fact-model", evidence={"why": why})
        if differ_by_code(a, b):
            return match
    elif compare_order(a, b) is Order.OPEN or (
        a.stance.denies == b.stance.denies and (a.words <= b.words or b.words <= a.words) and not name_other_sides(a, b)
    ):
        return match
    return _decide(match, RELATIONS[place], probability)


def _is_open(match: Match) -> bool:
    """Return whether nothing has decided: the graph neither relates the values nor knows them as siblings."""
    return match.decided_by == "encoder" and match.evidence.get("reason") != "siblings"


def _decide(match: Match, relation: str, probability: float) -> Match:
    why = f"the small model gives {relation} a probability of {probability:.2f}"
    return replace(match, relation=Relation(relation), decided_by="fact-model", evidence={"why": why})
