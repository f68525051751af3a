"""Compare two phrases by their wording alone: the same, narrower, broader, or contradictory.

Four things decide: the normal forms (an abbreviation in brackets is a name too), the stance ("no surgery needed" is
not "surgery needed"), the amounts ("5 days" is not "2 weeks", "14 days" is) and words with opposites (acute is not
chronic).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TYPE_CHECKING

from imapeval.text.amounts.compare import AmountRelation, compare_amounts
from imapeval.text.opposites import are_antonyms, are_opposed, find_opposites
from imapeval.text.phrases import parse_phrase

if TYPE_CHECKING:
    from imapeval.text.phrases import Phrase

SAME_SUBJECT = 0.6
"""Two phrases have the same subject if they share at least this part of the longer one's words, so that a different
polarity, amount or side contradicts. A lower threshold would find more contradictions, but would take "do not have iron
deficiency anemia" for the opposite of "anemia"."""


SAME_FRAME = 0.4
"""Two phrases, each with words that the other lacks, are the same frame with a different filling if they share at least
this part of their words."""


class WordingVerdict(Enum):
    """The relation of two wordings. The values are shown to users as reasons."""

    SAME = "same wording"
    NARROWER = "the response says the same and more precisely"
    BROADER = "the response says the same and less precisely"
    OPPOSITE = "one affirms what the other denies or advises against"
    OTHER_AMOUNT = "the amounts differ"
    OTHER_SIDE = "they take different sides, such as acute and chronic"


CONTRADICTIONS = frozenset({WordingVerdict.OPPOSITE, WordingVerdict.OTHER_AMOUNT, WordingVerdict.OTHER_SIDE})


def compare_wordings(reference: str, response: str) -> WordingVerdict | None:
    """Compare two values by their wording; None if the wording does not determine a relation.

    >>> compare_wordings("computed tomography (CT)", "CT")
    <WordingVerdict.SAME: 'same wording'>
    >>> compare_wordings("stop warfarin", "continue warfarin")
    <WordingVerdict.OPPOSITE: 'one affirms what the other denies or advises against'>
    >>> compare_wordings("rest for two weeks", "rest for 14 days")
    <WordingVerdict.SAME: 'same wording'>
    >>> compare_wordings("ibuprofen 400 mg", "ibuprofen 200 mg")
    <WordingVerdict.OTHER_AMOUNT: 'the amounts differ'>
    >>> compare_wordings("acute pancreatitis", "chronic pancreatitis")
    <WordingVerdict.OTHER_SIDE: 'they take different sides, such as acute and chronic'>
    >>> compare_wordings("penicillin", "antibiotic therapy") is None
    True
    """
    a, b = parse_phrase(reference), parse_phrase(response)
    same_stance = a.stance.denies == b.stance.denies
    amounts = compare_amounts(a.amounts, b.amounts)
    agree = amounts in (None, AmountRelation.SAME)
    # Under different conditions, advice and its opposite may both be right.
    unconditional = not (a.condition and b.condition) or a.condition == b.condition
    if _same_name(a, b) and same_stance and agree and a.condition == b.condition:
        return WordingVerdict.SAME
    common = _overlap(a.words, b.words)
    if (
        not same_stance
        and unconditional
        and not (a.stance.asks_for_less or b.stance.asks_for_less)
        and (common >= SAME_SUBJECT or a.subject == b.subject != "")
    ):
        return WordingVerdict.OPPOSITE
    if not same_stance:
        return None
    if unconditional and (_differ_by_opposite(a.core, b.core) or _differ_by_antonym(a.words, b.words)):
        return WordingVerdict.OTHER_SIDE
    if not unconditional:
        return None
    if amounts is AmountRelation.DIFFERENT:
        return WordingVerdict.OTHER_AMOUNT if common >= SAME_SUBJECT else None
    return _compare_by_amounts(a, b, amounts) if a.words == b.words else None


def _compare_by_amounts(a: Phrase, b: Phrase, amounts: AmountRelation | None) -> WordingVerdict | None:
    """Compare the amounts of two phrases with the same subject and stance."""
    if amounts in (None, AmountRelation.SAME):
        # The same Chinese characters in another order may be other words.
        same_order = 2 * len(a.tokens & b.tokens) >= len(a.tokens | b.tokens) and _rank_amounts(a) == _rank_amounts(b)
        return WordingVerdict.SAME if same_order and a.condition == b.condition else None
    if amounts is AmountRelation.ONE_SIDED:
        ours, theirs = ({amount.dimension for amount in phrase.amounts.items} for phrase in (a, b))
        if {*(ours - theirs), *(theirs - ours)} == {"mass", "volume"}:
            # "5 mg" and "5 ml" of the same drug are different doses.
            return WordingVerdict.OTHER_AMOUNT
        # The phrase with an additional amount is more specific.
        return WordingVerdict.NARROWER if theirs > ours else WordingVerdict.BROADER if ours > theirs else None
    if _limits_differ(a, b):
        return WordingVerdict.OTHER_AMOUNT
    return {AmountRelation.NARROWER_B: WordingVerdict.NARROWER, AmountRelation.NARROWER_A: WordingVerdict.BROADER}.get(
        amounts
    )


def _rank_amounts(phrase: Phrase) -> dict[str, list[int]]:
    """Return per dimension the rank of each amount by size: "3 in the morning and 1 at night" is not "1 and 3"."""
    sizes: dict[str, list[tuple[float, float]]] = {}
    for amount in phrase.amounts.items:
        size = (-inf if amount.low is None else amount.low, inf if amount.high is None else amount.high)
        sizes.setdefault(amount.dimension, []).append(size)
    return {dimension: [sorted(some).index(size) for size in some] for dimension, some in sizes.items()}


_LIMIT_RATIO = 1.5
"""Two limits on the same side differ if one is at least this many times the other: "within one hour", "within one
week"."""


def _limits_differ(a: Phrase, b: Phrase) -> bool:
    """Return whether both phrases set an upper limit, or both a lower limit, and the limits differ."""
    for ours in a.amounts.items:
        for theirs in b.amounts.items:
            if ours.dimension == theirs.dimension:
                for side, other in (("low", "high"), ("high", "low")):
                    limits = getattr(ours, side), getattr(theirs, side)
                    one_sided = getattr(ours, other) is None and getattr(theirs, other) is None
                    if one_sided and None not in limits and max(limits) >= _LIMIT_RATIO * min(limits) > 0:
                        return True
    return False


@dataclass(frozen=True, slots=True)
class WordingSimilarity:
    """How similar two wordings are.

    Attributes:
        overlap: Dice coefficient of their tokens, 0..1: English content words, Chinese bigrams.
        weight: Factor for any measure of similarity, 0..1: 0 if one phrase affirms and the other denies, below 1 if the
            same frame has a different filling ("hold the tooth by the crown" and "by the root").
    """

    overlap: float
    weight: float


def measure_wording_similarity(reference: str, response: str) -> WordingSimilarity:
    """Measure how similar two wordings are.

    >>> measure_wording_similarity("steam inhalation", "some steam inhalation for ten minutes")
    WordingSimilarity(overlap=1.0, weight=1.0)
    >>> measure_wording_similarity("rest the knee", "do not rest the knee").weight
    0.0
    """
    a, b = parse_phrase(reference), parse_phrase(response)
    overlap = 2 * len(a.tokens & b.tokens) / (len(a.tokens) + len(b.tokens)) if a.tokens and b.tokens else 0.0
    # Advice to have less of something contradicts neither allowing it nor advising against it.
    if a.stance.denies != b.stance.denies and not (a.stance.asks_for_less or b.stance.asks_for_less):
        return WordingSimilarity(overlap, 0.0)
    frame = _overlap(a.words, b.words)
    replaced = frame >= SAME_FRAME and a.words - b.words and b.words - a.words
    return WordingSimilarity(overlap, 1 - frame / 2 if replaced else 1.0)


def _differ_by_opposite(reference: str, response: str) -> bool:
    """Return whether two values name different sides of a dimension and otherwise differ little."""
    a, b = find_opposites(reference), find_opposites(response)
    return are_opposed(a, b) and _overlap(parse_phrase(a.rest).words, parse_phrase(b.rest).words) >= SAME_SUBJECT


def _differ_by_antonym(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether two phrases differ in a word and its antonym, and otherwise little."""
    ours, theirs = a - b, b - a
    if ours | theirs == frozenset({"non"}):
        # "small cell" and "non-small cell lung cancer".
        return True
    if not any(are_antonyms(word, other) for word in ours for other in theirs):
        return False
    rest = max(len(a), len(b)) - 1
    return rest == 0 or len(a & b) / rest >= SAME_SUBJECT


def _same_name(a: Phrase, b: Phrase) -> bool:
    """Return whether two values are the same name.

    A text in the brackets of both, such as "(oral)" or "(if needed)", names neither. "Diabetes (type 1)" is not the
    same as "diabetes", but "computed tomography (CT)" is the same as "computed tomography".
    """
    if a.whole == b.whole:
        return a.whole != ""
    if a.subject == b.subject != "" and _rank_amounts(a) == _rank_amounts(b):
        # "Avoid alcohol" and "no alcohol", "gout" and "it is possibly gout": the words around a subject may differ.
        return True
    if a.inside and b.inside and a.outside == b.outside:
        return not a.inside.isdisjoint(b.inside)
    if a.outside == b.outside != "" and not a.qualified and not b.qualified:
        return True
    return a.outside in b.inside or b.outside in a.inside


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of the larger set that is in the other; 1 if both are empty."""
    return len(a & b) / max(len(a), len(b)) if a or b else 1.0
