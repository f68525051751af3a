"""What the small model says of pairs that wording and graph leave open: how similar they are, and how they relate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.fact_model import AGREEMENT, RELATIONS
from imapeval.text.amounts.compare import AmountRelation, compare_amounts
from imapeval.text.comparison.differences import name_other_sides
from imapeval.text.comparison.gist import find_gist
from imapeval.text.comparison.order import Order, compare_order
from imapeval.text.comparison.similarity import differ_by_code
from imapeval.text.dimensions.table import TIME_OF_DAY
from imapeval.text.phrases import parse_phrase
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from imapeval.text.phrases import Phrase
    from imapeval.types import Match

_MIN_PROBABILITY = 0.6
"""Minimum probability of any relation of two facts that stand alone. At .5, the model is right about as many, but also
wrong about more."""

_MIN_RELATED = 0.3
"""Minimum probability that two single facts with different amounts or sides, or the same amounts, are related at all.

Of the pairs with different amounts or sides among 6,000 that language models wrote in all fields of medicine, 42 of 47
with a probability between .2 and .6 are contradictions, and 30 of 47 with a lower one.
"""

_MIN_POSSIBLE = 0.1
"""The same where one of them is nothing but an amount: the model cannot tell what it is an amount of."""

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
    """Return the similarities of undecided pairs: the agreement that the small model expects, and that of their words.

    The geometric mean of the two, in which what the model expects counts twice: words show what is worded alike, the
    model what is meant alike, and a pair needs both (docs/graph-relations.md).

    Args:
        probabilities: Of each of `RELATIONS` for every pair, shape (..., 5).
        similarities: Of their words, shape (...).
    """
    expected = probabilities.astype(np.float64) @ np.array(AGREEMENT)
    return np.cbrt(expected**2 * similarities).round(4)


def decide_relations(matches: Sequence[Match], probabilities: npt.NDArray[np.floating]) -> list[Match]:
    """Return the matches with the relations that the model decides.

    It decides any relation of two facts that stand alone, as they were surely meant to be compared, and in longer
    answers contradictions, if there are several. A fact of the response that agrees with one of the reference
    contradicts no other.

    Args:
        matches: Those of every fact of the reference with every fact of the response, in this order.
        probabilities: Of each of `RELATIONS` for every pair, shape (reference, response, 5).
    """
    if len(matches) == 1:
        return [_decide_alone(matches[0], probabilities[0, 0].tolist())]
    relations = np.array([match.relation.value for match in matches]).reshape(probabilities.shape[:2])
    is_open = np.array([_is_open(match) for match in matches]).reshape(relations.shape)
    contradicted = relations == Relation.CONTRADICTION.value
    agree = ~contradicted & (relations != Relation.UNMATCHED.value)
    number = len(relations)
    least = _MIN_LONE_CONTRADICTION if number == 1 else _MIN_CONTRADICTION
    sure = is_open & ~agree.any(axis=0) & (probabilities[..., _CONTRADICTION] >= least)
    enough = max(min(_MIN_CONTRADICTED, number), _MIN_SHARE_CONTRADICTED * number)
    if np.count_nonzero((contradicted | sure).any(axis=1)) < enough:
        return list(matches)
    chances: list[float] = probabilities[..., _CONTRADICTION].ravel().tolist()
    return [
        _decide(match, Relation.CONTRADICTION, _explain(Relation.CONTRADICTION, chance)) if decided else match
        for match, decided, chance in zip(matches, sure.ravel().tolist(), chances, strict=True)
    ]


def _decide_alone(match: Match, probabilities: Sequence[float]) -> Match:
    """Return the match of two single facts as the model decides it, corrected by what the model hardly sees.

    In this order: facts that name different amounts or sides contradict each other, if the model holds it possible that
    they are about the same thing, if their words say so, or if one of them is nothing but an amount and has the same
    term; siblings in the graph only if they share a word. A fact that is nothing but an amount says all of another with
    the same amount. The model then decides any relation that it is sure of, except that names which differ by a code do
    not agree, and facts do not contradict each other that differ in nothing but the order of their words, or of which
    one says no more.
    """
    if match.decided_by != "encoder":
        return match
    a, b = parse_phrase(match.reference), parse_phrase(match.response)
    other_sides = name_other_sides(a, b) and (_is_open(match) or not a.words.isdisjoint(b.words))
    related = 1 - probabilities[0]
    chance = f"that they are related at all has, to the small model, a probability of {related:.2f}"
    has_only_amounts = not match.other_term and (_has_only_amounts(a) or _has_only_amounts(b))
    same_subject = find_gist(a.core).words == find_gist(b.core).words != frozenset()
    possible = same_subject or (has_only_amounts and related >= _MIN_POSSIBLE) or related >= _MIN_RELATED
    if other_sides and possible:
        return _decide(match, Relation.CONTRADICTION, f"they name different amounts or sides of one thing ({chance})")
    place = max(range(len(RELATIONS)), key=probabilities.__getitem__)
    same_amounts = compare_amounts(a.amounts, b.amounts) is AmountRelation.SAME and a.stance.denies == b.stance.denies
    sure = probabilities[place] >= _MIN_PROBABILITY
    narrows = a.condition != b.condition or RELATIONS[place] in (Relation.CONTAINMENT.value, Relation.BELONGING.value)
    if (
        has_only_amounts
        and same_amounts
        and related >= _MIN_RELATED
        and not (narrows or (sure and place == _CONTRADICTION))
    ):
        return _decide(match, Relation.EXACT, f"they name the same amounts ({chance})")
    if not place or not _is_open(match) or not sure:
        return match
    if place != _CONTRADICTION:
        if differ_by_code(a, b):
            return match
    elif compare_order(a, b) is Order.OPEN or (
        a.stance.denies == b.stance.denies and (a.words <= b.words or b.words <= a.words) and not other_sides
    ):
        return match
    relation = Relation(RELATIONS[place])
    return _decide(match, relation, _explain(relation, probabilities[place]))


def _has_only_amounts(phrase: Phrase) -> bool:
    gist = find_gist(phrase.core)
    return bool(phrase.amounts.items) and not gist.words and gist.opposites.sides.keys() <= {TIME_OF_DAY}


def _is_open(match: Match) -> bool:
    """Return whether nothing has decided: the graph neither relates the values nor knows them as siblings."""
    return match.decided_by == "encoder" and match.evidence.get("reason") != "siblings"


def _decide(match: Match, relation: Relation, why: str) -> Match:
    return replace(match, relation=relation, decided_by="fact-model", evidence={"why": why})


def _explain(relation: Relation, probability: float) -> str:
    return f"the small model gives {relation.value} a probability of {probability:.2f}"
