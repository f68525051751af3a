"""What two phrases tell of each other by themselves: the same, more specific, or a contradiction.

Four things decide: the normal forms (abbreviations in brackets are names of their own), the stance ("no surgery needed"
is not "surgery needed"), the amounts ("5 days" is not "2 weeks", "14 days" is) and the sides (acute is not chronic).
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
"""Share of common words, of the longer of two phrases, from which both speak of the same thing, so that another
polarity, amount or side makes a contradiction. Less would find more of them, and take "do not have iron deficiency
anemia" for the opposite of "anemia"."""


SAME_FRAME = 0.4
"""Share of common words from which two phrases that differ on both sides are one frame with something else in it."""


class WordingVerdict(Enum):
    """What two wordings say of each other."""

    SAME = "same wording"
    NARROWER = "the response says the same and more precisely"
    BROADER = "the response says the same and less precisely"
    OPPOSITE = "one affirms what the other denies or advises against"
    OTHER_AMOUNT = "the amounts differ"
    OTHER_SIDE = "they take different sides, such as acute and chronic"


CONTRADICTIONS = frozenset({WordingVerdict.OPPOSITE, WordingVerdict.OTHER_AMOUNT, WordingVerdict.OTHER_SIDE})


def compare_wordings(reference: str, response: str) -> WordingVerdict | None:
    """Say what two wordings alone tell of each other; None where they leave it open.

    >>> compare("computed tomography (CT)", "CT")
    <Verdict.SAME: 'same wording'>
    >>> compare("stop warfarin", "continue warfarin")
    <Verdict.OPPOSITE: 'one affirms what the other denies or advises against'>
    >>> compare("rest for two weeks", "rest for 14 days")
    <Verdict.SAME: 'same wording'>
    >>> compare("ibuprofen 400 mg", "ibuprofen 200 mg")
    <Verdict.OTHER_AMOUNT: 'the amounts differ'>
    >>> compare("acute pancreatitis", "chronic pancreatitis")
    <Verdict.OTHER_SIDE: 'they take different sides, such as acute and chronic'>
    >>> compare("penicillin", "antibiotic therapy") is None
    True
    """
    a, b = parse_phrase(reference), parse_phrase(response)
    alike = a.stance.denies == b.stance.denies
    amounts = compare_amounts(a.amounts, b.amounts)
    agree = amounts in (None, AmountRelation.SAME)
    # Under two conditions the same advice may be right and wrong.
    unconditional = not (a.condition and b.condition) or a.condition == b.condition
    if _same_name(a, b) and alike and agree and a.condition == b.condition:
        return WordingVerdict.SAME
    common = _overlap(a.words, b.words)
    if (
        not alike
        and unconditional
        and not (a.stance.asks_for_less or b.stance.asks_for_less)
        and common >= SAME_SUBJECT
    ):
        return WordingVerdict.OPPOSITE
    if not alike:
        return None
    if unconditional and (_differ_by_opposite(a.core, b.core) or _differ_by_antonym(a.words, b.words)):
        return WordingVerdict.OTHER_SIDE
    if not unconditional:
        return None
    if amounts is AmountRelation.DIFFERENT:
        return WordingVerdict.OTHER_AMOUNT if common >= SAME_SUBJECT else None
    return _compare_by_amounts(a, b, amounts) if a.words == b.words else None


def _compare_by_amounts(a: Phrase, b: Phrase, amounts: AmountRelation | None) -> WordingVerdict | None:
    """Compare two phrases about the same with the same stance by what they say in numbers."""
    if amounts in (None, AmountRelation.SAME):
        # The same Chinese characters may make other words.
        same_order = 2 * len(a.tokens & b.tokens) >= len(a.tokens | b.tokens) and _rank_amounts(a) == _rank_amounts(b)
        return WordingVerdict.SAME if same_order and a.condition == b.condition else None
    if amounts is AmountRelation.ONE_SIDED:
        ours, theirs = ({amount.dimension for amount in phrase.amounts.items} for phrase in (a, b))
        if {*(ours - theirs), *(theirs - ours)} == {"mass", "volume"}:
            # "5 mg" and "5 ml" of one thing cannot both be meant.
            return WordingVerdict.OTHER_AMOUNT
        # Who names an amount besides says more.
        return WordingVerdict.NARROWER if theirs > ours else WordingVerdict.BROADER if ours > theirs else None
    if _limits_differ(a, b):
        return WordingVerdict.OTHER_AMOUNT
    return {AmountRelation.NARROWER_B: WordingVerdict.NARROWER, AmountRelation.NARROWER_A: WordingVerdict.BROADER}.get(
        amounts
    )


def _rank_amounts(phrase: Phrase) -> dict[str, list[int]]:
    """Return in which order the amounts of each dimension stand, by size: 3 in the morning and 1 at night, or 1 and 3."""
    sizes: dict[str, list[tuple[float, float]]] = {}
    for amount in phrase.amounts.items:
        size = (-inf if amount.low is None else amount.low, inf if amount.high is None else amount.high)
        sizes.setdefault(amount.dimension, []).append(size)
    return {dimension: [sorted(some).index(size) for size in some] for dimension, some in sizes.items()}


_LIMIT_RATIO = 1.5
"""Ratio from which two limits on the same side are others: "within one hour" and "within one week"."""


def _limits_differ(a: Phrase, b: Phrase) -> bool:
    """Say whether both phrases set a limit on the same side, and not the same limit."""
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
    """How alike two wordings are.

    Attributes:
        overlap: Dice coefficient of their tokens, 0..1: English content words, Chinese bigrams.
        weight: What their likeness is worth, 0..1: nothing where one affirms and the other denies, and less where the
            same frame holds something else ("hold the tooth by the crown" and "by the root").
    """

    overlap: float
    weight: float


def measure_wording_similarity(reference: str, response: str) -> WordingSimilarity:
    """Measure how alike two wordings are, whatever they mean.

    >>> measure_likeness("steam inhalation", "some steam inhalation for ten minutes")
    Likeness(overlap=1.0, weight=1.0)
    >>> measure_likeness("rest the knee", "do not rest the knee").weight
    0.0
    """
    a, b = parse_phrase(reference), parse_phrase(response)
    overlap = 2 * len(a.tokens & b.tokens) / (len(a.tokens) + len(b.tokens)) if a.tokens and b.tokens else 0.0
    # Who asks for less of something agrees with who allows it and with who advises against it.
    if a.stance.denies != b.stance.denies and not (a.stance.asks_for_less or b.stance.asks_for_less):
        return WordingSimilarity(overlap, 0.0)
    frame = _overlap(a.words, b.words)
    replaced = frame >= SAME_FRAME and a.words - b.words and b.words - a.words
    return WordingSimilarity(overlap, 1 - frame / 2 if replaced else 1.0)


def _differ_by_opposite(reference: str, response: str) -> bool:
    """Say whether two values differ in a side and in hardly anything else."""
    a, b = find_opposites(reference), find_opposites(response)
    return are_opposed(a, b) and _overlap(parse_phrase(a.rest).words, parse_phrase(b.rest).words) >= SAME_SUBJECT


def _differ_by_antonym(a: frozenset[str], b: frozenset[str]) -> bool:
    """Say whether two phrases differ in a word and its opposite, and in hardly anything else."""
    ours, theirs = a - b, b - a
    if ours | theirs == frozenset({"non"}):
        # "small cell" and "non-small cell lung cancer".
        return True
    if not any(are_antonyms(word, other) for word in ours for other in theirs):
        return False
    rest = max(len(a), len(b)) - 1
    return rest == 0 or len(a & b) / rest >= SAME_SUBJECT


def _same_name(a: Phrase, b: Phrase) -> bool:
    """Say whether two values have one name.

    What only stands in both's brackets names neither: "(oral)", "(if needed)". Nor is "diabetes (type 1)" the same as
    "diabetes", but "computed tomography (CT)" is the same as "computed tomography".
    """
    if a.whole == b.whole:
        return a.whole != ""
    if a.subject == b.subject != "" and _rank_amounts(a) == _rank_amounts(b):
        # "Avoid alcohol" and "no alcohol", "possibly gout" and "gout": the words of a stance may differ.
        return True
    if a.inside and b.inside and a.outside == b.outside:
        return not a.inside.isdisjoint(b.inside)
    if a.outside == b.outside != "" and not a.qualified and not b.qualified:
        return True
    return a.outside in b.inside or b.outside in a.inside


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Share of the larger set that the other has; 1 where both are empty."""
    return len(a & b) / max(len(a), len(b)) if a or b else 1.0
