"""Compare two phrases by their wording alone: the same, narrower, broader, or contradictory.

Four things decide: the normal forms (an abbreviation in brackets is a name too), the stance ("no surgery needed" is
not "surgery needed"), the amounts ("5 days" is not "2 weeks", "14 days" is) and words with opposites (acute is not
chronic). Under different conditions, phrases are neither the same nor contradictory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TYPE_CHECKING

from imapeval.text.amounts.compare import AmountRelation, compare_amounts
from imapeval.text.language import HAN
from imapeval.text.normalise import is_short_name, stem
from imapeval.text.opposites import RESULT, TIME_OF_DAY, are_antonyms, are_complements, are_opposed, find_opposites
from imapeval.text.phrases import find_content_words, parse_condition, parse_phrase, split_list

if TYPE_CHECKING:
    from imapeval.text.phrases import Phrase

_WORD = re.compile(rf"[a-z]+|[{HAN}]")

SAME_SUBJECT = 0.6
"""Two phrases have the same subject if they share at least this part of the longer one's words, so that a different
polarity, amount or side contradicts. A lower threshold would find more contradictions, but would take "do not have iron
deficiency anemia" for the opposite of "anemia"."""


SAME_FRAME = 0.4
"""Two phrases, each with words that the other lacks, are the same frame with a different filling if they share at least
this part of their words."""


_RESULT_WORDS = frozenset({*map(stem, ("test", "testing", "tested", "result", "screen", "screening")), *"检测查化验"})
"""Words that only say that something is a result: "HIV positive" and "negative HIV test" are about HIV."""


class WordingVerdict(Enum):
    """The relation of two wordings. The values are shown to users as reasons."""

    SAME = "same wording"
    NARROWER = "the response says the same and more precisely"
    BROADER = "the response says the same and less precisely"
    OPPOSITE = "one affirms what the other denies or advises against"
    OTHER_AMOUNT = "the amounts differ"
    OTHER_SIDE = "they take different sides, such as acute and chronic"
    OTHER_ORDER = "the same two things change places"


CONTRADICTIONS = frozenset(
    {WordingVerdict.OPPOSITE, WordingVerdict.OTHER_AMOUNT, WordingVerdict.OTHER_SIDE, WordingVerdict.OTHER_ORDER}
)


class ConditionRelation(Enum):
    """How the conditions of two phrases relate. The values are shown to users as reasons."""

    SAME = "the same condition, or none"
    NARROWER = "only the response states a condition"
    BROADER = "only the reference states a condition"
    OTHER_AMOUNT = "the conditions name different amounts"
    OTHER = "they hold under different conditions"


_BY_CONDITIONS = {
    ConditionRelation.NARROWER: WordingVerdict.NARROWER,
    ConditionRelation.BROADER: WordingVerdict.BROADER,
}


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
    conditions = compare_conditions(a, b)
    if conditions is ConditionRelation.OTHER:
        return None
    verdict = _compare_cores(a, b)
    if conditions is ConditionRelation.OTHER_AMOUNT:
        return WordingVerdict.OTHER_AMOUNT if verdict is WordingVerdict.SAME else None
    return _combine(verdict, _BY_CONDITIONS.get(conditions, WordingVerdict.SAME))


def compare_conditions(a: Phrase, b: Phrase) -> ConditionRelation:
    """Return how the conditions of two phrases relate."""
    if not (a.condition and b.condition):
        if a.condition == b.condition:
            return ConditionRelation.SAME
        return ConditionRelation.NARROWER if b.condition else ConditionRelation.BROADER
    first, second = parse_condition(a.condition), parse_condition(b.condition)
    if first.whole == second.whole:
        return ConditionRelation.SAME
    verdict = _compare_cores(first, second)
    if verdict is WordingVerdict.SAME:
        return ConditionRelation.SAME
    # A dose or action "above 38.5" and "below 38.5".
    return ConditionRelation.OTHER_AMOUNT if verdict is WordingVerdict.OTHER_AMOUNT else ConditionRelation.OTHER


def _combine(verdict: WordingVerdict | None, other: WordingVerdict | None) -> WordingVerdict | None:
    """Combine a verdict with whether the response is also narrower or broader in another respect."""
    if verdict is WordingVerdict.SAME:
        return other
    if verdict in CONTRADICTIONS or other in (verdict, WordingVerdict.SAME):
        return verdict
    return None


def _compare_cores(a: Phrase, b: Phrase) -> WordingVerdict | None:
    """Compare two phrases without their conditions."""
    if a.whole == b.whole != "":
        return WordingVerdict.SAME
    same_stance = a.stance.denies == b.stance.denies
    amounts = compare_amounts(a.amounts, b.amounts)
    agree = amounts in (None, AmountRelation.SAME)
    turned = a.roles is not None and a.roles.kind == "choice" and _change_places(a, b)
    if turned and (antonyms := _find_antonyms(a.words, b.words)):
        # "More often in boys than in girls" is "less often in girls than in boys".
        same = same_stance and agree and a.words - antonyms == b.words - antonyms
        return WordingVerdict.SAME if same else None
    if same_stance and agree and (verdict := _compare_roles(a, b)):
        return verdict
    if not same_stance:
        return _compare_opposite_stances(a, b)
    if _differ_by_opposite(a, b) or _differ_by_antonym(a.words, b.words):
        return WordingVerdict.OTHER_SIDE
    if agree and _same_name(a, b):
        return _compare_times_of_day(a, b)
    if amounts is AmountRelation.DIFFERENT:
        return WordingVerdict.OTHER_AMOUNT if _overlap(a.words, b.words) >= SAME_SUBJECT else None
    if a.words != b.words:
        return None
    return _combine(_compare_by_amounts(a, b, amounts), _compare_times_of_day(a, b))


def _compare_opposite_stances(a: Phrase, b: Phrase) -> WordingVerdict | None:
    """Compare two phrases of which only one denies its subject."""
    if a.stance.asks_for_less or b.stance.asks_for_less:
        return None
    ours, theirs = (find_opposites(phrase.stance.subject) for phrase in (a, b))
    if are_opposed(ours, theirs) or _differ_by_antonym(a.words, b.words):
        # "Not harmful" is "safe", but "not on the left" is not "on the right".
        same = find_content_words(ours.rest) == find_content_words(theirs.rest)
        return WordingVerdict.SAME if same and are_complements(ours, theirs) else None
    denied, affirmed = (a, b) if a.stance.denies else (b, a)
    about_the_same = (
        (_overlap(a.words, b.words) >= SAME_SUBJECT and (bool(a.words) or _may_be_about_the_same(a, b)))
        or a.subject == b.subject != ""
        # 阴性 and 阳性: the denial itself is a side.
        or _differ_by_opposite(a, b)
        # "Hereditary" and "not inherited" name one side.
        or (
            bool(ours.sides)
            and ours.sides == theirs.sides
            and _overlap(find_content_words(ours.rest), find_content_words(theirs.rest)) >= SAME_SUBJECT
        )
        # "Neither X-ray nor CT" denies both.
        or any(find_content_words(part) == affirmed.words != frozenset() for part in split_list(denied.stance.subject))
    )
    return WordingVerdict.OPPOSITE if about_the_same else None


def _may_be_about_the_same(a: Phrase, b: Phrase) -> bool:
    """Return whether two phrases without content words may be about the same.

    "Not needed" denies "needed for 3 days", but "most do not need treatment" is not about "in 50%".
    """
    ours, theirs = (frozenset(_WORD.findall(phrase.stance.subject.lower())) for phrase in (a, b))
    return bool(a.amounts.items) == bool(b.amounts.items) or not ours.isdisjoint(theirs)


def _compare_times_of_day(a: Phrase, b: Phrase) -> WordingVerdict | None:
    """Compare the times of day of two phrases, which do not exclude each other.

    "Every morning" is narrower than "once a day", but "morning, noon and night" is three times a day.
    """
    ours, theirs = (find_opposites(phrase.text).sides.get(TIME_OF_DAY, frozenset()) for phrase in (a, b))
    if ours == theirs or (len(ours) != 1 and len(theirs) != 1):
        return WordingVerdict.SAME
    return WordingVerdict.BROADER if len(ours) == 1 else WordingVerdict.NARROWER


def _compare_roles(a: Phrase, b: Phrase) -> WordingVerdict | None:
    """Compare what two phrases put in an order: "MRI before biopsy" is "biopsy after MRI"; None if the rest decides."""
    if a.roles is None or b.roles is None or a.roles.kind != b.roles.kind:
        return None
    if _change_places(a, b):
        return WordingVerdict.OTHER_ORDER
    first, second, other_first, other_second = map(
        find_content_words, (a.roles.first, a.roles.second, b.roles.first, b.roles.second)
    )
    return WordingVerdict.SAME if first == other_first and second == other_second != frozenset() else None


def _change_places(a: Phrase, b: Phrase) -> bool:
    """Return whether what one phrase puts second is in what the other one puts first, and the reverse."""
    if a.roles is None or b.roles is None or a.roles.kind != b.roles.kind:
        return False
    first, second, other_first, other_second = map(
        find_content_words, (a.roles.first, a.roles.second, b.roles.first, b.roles.second)
    )
    return bool(second and other_second) and second != other_second and second <= other_first and other_second <= first


def _have_same_roles(a: Phrase, b: Phrase) -> bool:
    """Return whether two phrases with the same words put the same thing second, if any."""
    seconds = {phrase.roles and (phrase.roles.kind, find_content_words(phrase.roles.second)) for phrase in (a, b)}
    return len(seconds) == 1


def _compare_by_amounts(a: Phrase, b: Phrase, amounts: AmountRelation | None) -> WordingVerdict | None:
    """Compare the amounts of two phrases with the same subject and stance."""
    if amounts in (None, AmountRelation.SAME):
        # The same Chinese characters in another order may be other words.
        same_order = 2 * len(a.tokens & b.tokens) >= len(a.tokens | b.tokens) and _rank_amounts(a) == _rank_amounts(b)
        return WordingVerdict.SAME if same_order and _have_same_roles(a, b) else None
    if amounts is AmountRelation.ONE_SIDED:
        ours, theirs = ({amount.dimension for amount in phrase.amounts.items} for phrase in (a, b))
        if {*(ours - theirs), *(theirs - ours)} == {"mass", "volume"}:
            # "5 mg" and "5 ml" of the same drug are different doses.
            return WordingVerdict.OTHER_AMOUNT
        # The phrase with an additional amount is more specific.
        return WordingVerdict.NARROWER if theirs > ours else WordingVerdict.BROADER if ours > theirs else None
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


def _differ_by_opposite(a: Phrase, b: Phrase) -> bool:
    """Return whether two phrases name different sides of a dimension and otherwise differ little."""
    first, second = find_opposites(a.text), find_opposites(b.text)
    if not are_opposed(first, second):
        return False
    light = _RESULT_WORDS if RESULT in first.sides and RESULT in second.sides else frozenset[str]()
    # Without the amounts, which may name a side too: "every morning".
    ours, theirs = (parse_phrase(find_opposites(phrase.amounts.rest).rest).words - light for phrase in (a, b))
    return _overlap(ours, theirs) >= SAME_SUBJECT


def _differ_by_antonym(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether two phrases differ in a word and its antonym, and otherwise little."""
    ours, theirs = a - b, b - a
    if ours | theirs == frozenset({"non"}):
        # "small cell" and "non-small cell lung cancer".
        return True
    if not _find_antonyms(a, b):
        return False
    rest = max(len(a), len(b)) - 1
    return rest == 0 or len(a & b) / rest >= SAME_SUBJECT


def _find_antonyms(a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
    """Return the words of only one of two phrases that have an antonym in the other."""
    pairs = ((word, other) for word in a - b for other in b - a if are_antonyms(word, other))
    return frozenset(word for pair in pairs for word in pair)


def _same_name(a: Phrase, b: Phrase) -> bool:
    """Return whether two values are the same name.

    A text in the brackets of both, such as "(oral)" or "(if needed)", names neither. "Diabetes (type 1)" is not the
    same as "diabetes", but "computed tomography (CT)" is the same as "computed tomography". Brackets after more than a
    short name explain its end only: "cervicitis with bacterial vaginosis (infection)" is more than an infection.
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
    return any(
        one.outside in other.inside and (not other.qualified or is_short_name(other.outside))
        for one, other in ((a, b), (b, a))
    )


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of the larger set that is in the other; 1 if both are empty."""
    return len(a & b) / max(len(a), len(b)) if a or b else 1.0
