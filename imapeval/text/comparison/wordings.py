"""Compare two phrases by their wording alone: the same, narrower, broader, or contradictory.

What decides: the normal forms (an abbreviation in brackets is a name too), the stance ("no surgery needed" is not
"surgery needed"), the amounts ("5 days" is not "2 weeks", "14 days" is), words with opposites (acute is not chronic),
the order ("MRI before biopsy"), and else the gists. Under other conditions, phrases neither agree nor contradict.
"""

from __future__ import annotations

import re
from enum import Enum
from math import inf
from typing import TYPE_CHECKING

from imapeval.text.amounts.compare import AmountRelation, begins_where_ends, compare_amounts
from imapeval.text.comparison.differences import (
    are_change_and_state,
    concern_other_cases,
    denies_another_point,
    denies_side,
    differ_by_antonym,
    differ_by_opposite,
    name_other_codes,
)
from imapeval.text.comparison.gist import find_gist, says_where, word_rarity_alike
from imapeval.text.comparison.lists import divide_by_stance, index_parts, is_list, split_list, split_parts
from imapeval.text.comparison.order import Order, compare_order, have_same_roles
from imapeval.text.comparison.similarity import SAME_SUBJECT, measure_overlap
from imapeval.text.dimensions.opposites import (
    are_complements,
    are_opposed,
    are_twice_opposed,
    find_opposites,
)
from imapeval.text.dimensions.table import DIMENSION_COUNT, EQUIVALENT, SAFETY, START, TIME_OF_DAY
from imapeval.text.language import HAN
from imapeval.text.normalise import is_short_name
from imapeval.text.phrases import find_content_words, is_untreated, join_condition, parse_condition, parse_phrase

if TYPE_CHECKING:
    from imapeval.text.comparison.gist import Gist
    from imapeval.text.phrases import Phrase

_WORD = re.compile(rf"[a-z]+|[{HAN}]")
_CLAUSES = re.compile(r"[,，;；、]|\b(?:and|or|but)\b|但", re.IGNORECASE)
# Words for a value that is to be reached, and for what is allowed or goes on.
_TARGET = re.compile(r"\b(?:targets?|goals?|aim)\b|目标|控制|降[到至]|维持|保持", re.IGNORECASE)
_PERMISSION = re.compile(
    r"\b(?:safe(?:ly)?|fine|ok(?:ay)?|can|may|allowed|permitted|acceptable|suitable|compatible|continu\w+|start\w*|recommended)\b"
    r"|可|能|继续|照常|没关系|没事|放心|建议|应",
    re.IGNORECASE,
)
_STARTS = re.compile(r"\b(?:after|from|once|until|wait)\b|[后起才再]", re.IGNORECASE)
# "Only if it lasts" and "not unless it lasts".
_ONLY = re.compile(r"\b(?:only|unless)\b|除非|只有|仅", re.IGNORECASE)


class WordingVerdict(Enum):
    """The relation of two wordings. The values are shown to users as reasons."""

    SAME = "same wording"
    NARROWER = "the response says the same and more precisely"
    BROADER = "the response says the same and less precisely"
    OPPOSITE = "one affirms what the other denies or advises against"
    OTHER_AMOUNT = "the amounts differ"
    OTHER_SIDE = "they take different sides, such as acute and chronic"
    OTHER_ORDER = "the same two things change places"
    OTHER_CASE = "they say the same of cases that exclude each other"


CONTRADICTIONS = frozenset(
    {WordingVerdict.OPPOSITE, WordingVerdict.OTHER_AMOUNT, WordingVerdict.OTHER_SIDE, WordingVerdict.OTHER_ORDER}
)


class ConditionRelation(Enum):
    """How the conditions of two phrases relate. The values are shown to users as reasons."""

    SAME = "the same condition, or none"
    NARROWER = "only the response states a condition"
    BROADER = "only the reference states a condition"
    OTHER_AMOUNT = "the conditions name different amounts"
    OPPOSED = "their conditions exclude each other"
    OTHER = "they hold under different conditions"


_BY_CONDITIONS = {
    ConditionRelation.NARROWER: WordingVerdict.NARROWER,
    ConditionRelation.BROADER: WordingVerdict.BROADER,
}
_BY_ORDER = {Order.SAME: WordingVerdict.SAME, Order.EXCHANGED: WordingVerdict.OTHER_ORDER}


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
    a, b = map(parse_phrase, word_rarity_alike(reference, response))
    conditions = compare_conditions(a, b)
    if conditions is ConditionRelation.OTHER:
        return None
    verdict = _compare_cores(a, b) or _compare_gists(a, b)
    denied, affirmed = (a, b) if a.stance.denies else (b, a)
    opposite = verdict is WordingVerdict.OPPOSITE and _STARTS.search(affirmed.core)
    if opposite and begins_where_ends(denied.amounts, affirmed.amounts):
        # "Not within a week" and "after at least a week".
        verdict = WordingVerdict.SAME if measure_overlap(a.words, b.words) >= SAME_SUBJECT else None
    if verdict is WordingVerdict.OTHER_SIDE and (a.stance.negated_twice or b.stance.negated_twice):
        # "Not dangerous to fly" and "safe to fly": what two negations make of a side is left open.
        return None
    if conditions is ConditionRelation.OPPOSED:
        # Both may be true, but one does not say the other, unless what holds in one case only is denied in the other.
        if verdict is WordingVerdict.OPPOSITE and any(_ONLY.search(phrase.condition) for phrase in (a, b)):
            return WordingVerdict.SAME
        return WordingVerdict.OTHER_CASE if verdict is WordingVerdict.SAME else None
    if conditions is ConditionRelation.OTHER_AMOUNT:
        return WordingVerdict.OTHER_AMOUNT if verdict is WordingVerdict.SAME else None
    if verdict is None and conditions in _BY_CONDITIONS:
        # What only one puts as a condition: "do not vape while pregnant", "vaping is safe in pregnancy".
        verdict = _compare_gists(join_condition(a), join_condition(b))
        if verdict is None and _compare_gists(join_condition(a, b), join_condition(b, a)) is WordingVerdict.OPPOSITE:
            verdict = WordingVerdict.OPPOSITE
        if verdict is WordingVerdict.OPPOSITE and not _PERMISSION.search(b.text if a.stance.denies else a.text):
            # "Stop the drug if you get a rash" does not deny "the drug causes a rash".
            return None
        return verdict if verdict in (WordingVerdict.SAME, *CONTRADICTIONS) else None
    if verdict is WordingVerdict.OTHER_SIDE and is_untreated(a) != is_untreated(b):
        # "Poor without treatment" does not contradict "good".
        return None
    return _combine(verdict, _BY_CONDITIONS.get(conditions, WordingVerdict.SAME))


def compare_conditions(a: Phrase, b: Phrase) -> ConditionRelation:
    """Return how the conditions of two phrases relate."""
    if concern_other_cases(a, b):
        return ConditionRelation.OTHER
    if not (a.condition and b.condition):
        if a.condition == b.condition:
            return ConditionRelation.SAME
        return ConditionRelation.NARROWER if b.condition else ConditionRelation.BROADER
    first, second = parse_condition(a.condition), parse_condition(b.condition)
    if first.whole == second.whole:
        return ConditionRelation.SAME
    verdict = _compare_cores(first, second) or _compare_gists(first, second)
    if verdict is WordingVerdict.SAME:
        return ConditionRelation.SAME
    # A dose or action "above 38.5" and "below 38.5".
    if verdict is WordingVerdict.OTHER_AMOUNT:
        return ConditionRelation.OTHER_AMOUNT
    return ConditionRelation.OPPOSED if verdict in CONTRADICTIONS else ConditionRelation.OTHER


def _combine(verdict: WordingVerdict | None, other: WordingVerdict | None) -> WordingVerdict | None:
    """Combine a verdict with whether the response is also narrower or broader in another respect."""
    if verdict is WordingVerdict.SAME:
        return other
    if verdict in CONTRADICTIONS or other in (verdict, WordingVerdict.SAME):
        return verdict
    return None


def _compare_cores(a: Phrase, b: Phrase) -> WordingVerdict | None:
    """Compare two phrases without their conditions."""
    amounts = compare_amounts(a.amounts, b.amounts)
    agree = amounts in (None, AmountRelation.SAME)
    where = amounts is not AmountRelation.DIFFERENT and (says_where(a.whole, b.whole) or says_where(b.whole, a.whole))
    # Normal forms lack the signs of "> 7%" and "< 7%".
    if where or (agree and a.whole == b.whole != ""):
        return WordingVerdict.SAME
    if verdict := _compare_parts(a, b):
        return verdict
    same_stance = a.stance.denies == b.stance.denies
    order = compare_order(a, b)
    if same_stance and agree and order in _BY_ORDER:
        return _BY_ORDER[order]
    if order is Order.OPEN:
        return None
    if not same_stance:
        return _compare_opposite_stances(a, b)
    if differ_by_opposite(a, b) or differ_by_antonym(a.words, b.words):
        return None if are_change_and_state(a, b) else WordingVerdict.OTHER_SIDE
    if agree and _same_name(a, b):
        return _compare_times_of_day(a, b)
    if amounts is AmountRelation.DIFFERENT:
        return WordingVerdict.OTHER_AMOUNT if measure_overlap(a.words, b.words) >= SAME_SUBJECT else None
    if a.words != b.words:
        return None
    return _combine(_compare_by_amounts(a, b, amounts), _compare_times_of_day(a, b))


def _compare_parts(a: Phrase, b: Phrase) -> WordingVerdict | None:
    """Compare two lists part by part: "TSH raised, T4 normal" is not "TSH normal, T4 raised"; None if the rest decides."""
    if not (is_list(a) and is_list(b)):
        return None
    parts, other_parts = map(split_parts, (a, b))
    if a.words == b.words:
        (affirmed, denied), (other_affirmed, other_denied) = map(divide_by_stance, (parts, other_parts))
        if affirmed & other_denied and denied & other_affirmed:
            # "Eat fish, avoid meat" and "eat meat, avoid fish".
            return WordingVerdict.OPPOSITE
    ours, theirs = map(index_parts, (parts, other_parts))
    if len(ours) < 2 or ours.keys() != theirs.keys():
        return None
    verdicts = [_compare_cores(part, theirs[about]) for about, part in ours.items()]
    return next((verdict for verdict in verdicts if verdict in CONTRADICTIONS), None) or (
        WordingVerdict.SAME if set(verdicts) == {WordingVerdict.SAME} else None
    )


def _compare_opposite_stances(a: Phrase, b: Phrase) -> WordingVerdict | None:
    """Compare two phrases of which only one denies its subject."""
    if a.stance.asks_for_less or b.stance.asks_for_less:
        # "Do not limit salt" denies "limit salt", but "avoid salt" does not.
        agree = compare_amounts(a.amounts, b.amounts) in (None, AmountRelation.SAME)
        return WordingVerdict.OPPOSITE if agree and a.words == b.words != frozenset() else None
    ours, theirs = (find_opposites(phrase.stance.subject) for phrase in (a, b))
    if are_opposed(ours, theirs) or differ_by_antonym(a.words, b.words):
        # "Not harmful" is "safe", but "not on the left" is not "on the right".
        same = find_content_words(ours.rest) == find_content_words(theirs.rest)
        return WordingVerdict.SAME if same and are_complements(ours, theirs) and denies_side(a, b) else None
    denied, affirmed = (a, b) if a.stance.denies else (b, a)
    about_the_same = (
        (
            measure_overlap(a.words, b.words) >= SAME_SUBJECT
            and (bool(a.words) or _may_be_about_the_same(a, b))
            and not denies_another_point(denied, affirmed)
        )
        or a.subject == b.subject != ""
        # "Hereditary" and "not inherited" name one side.
        or (
            bool(ours.sides)
            and all(number in EQUIVALENT for number in ours.sides)
            and ours.sides == theirs.sides
            and measure_overlap(find_content_words(ours.rest), find_content_words(theirs.rest)) >= SAME_SUBJECT
        )
        # "Neither X-ray nor CT" denies both.
        or any(find_content_words(part) == affirmed.words != frozenset() for part in split_list(denied.stance.subject))
    )
    return WordingVerdict.OPPOSITE if about_the_same else None


def _compare_gists(a: Phrase, b: Phrase) -> WordingVerdict | None:
    """Compare two phrases by their gists; None if these, too, do not determine a relation."""
    # What two clauses say has no common gist.
    if _CLAUSES.search(a.core) or _CLAUSES.search(b.core) or compare_order(a, b) is Order.OPEN:
        return None
    ours, theirs = find_gist(a.core), find_gist(b.core)
    denies = a.stance.denies != ours.reversed
    same_stance = denies == (b.stance.denies != theirs.reversed)
    opposed = are_opposed(ours.opposites, theirs.opposites)
    if same_stance and not opposed and differ_by_antonym(ours.words, theirs.words):
        return WordingVerdict.OTHER_SIDE
    if measure_overlap(ours.words, theirs.words) < SAME_SUBJECT or name_other_codes(ours.words, theirs.words):
        return None
    named = (
        bool(ours.words)
        or ours.standalone == theirs.standalone != frozenset()
        or (
            ours.opposites.sides.keys() == theirs.opposites.sides.keys()
            and bool(ours.opposites.sides or (a.amounts.items and b.amounts.items))
        )
    )
    if not named and (opposed or same_stance):
        return None
    if same_stance:
        return _compare_gists_of_one_stance(a, b, ours, theirs)
    if a.stance.asks_for_less or b.stance.asks_for_less:
        return None
    if opposed:
        # "Not harmful" is "safe".
        same = ours.words == theirs.words and compare_amounts(a.amounts, b.amounts) in (None, AmountRelation.SAME)
        complements = are_complements(ours.opposites, theirs.opposites) and denies_side(a, b)
        return WordingVerdict.SAME if same and complements else None
    return WordingVerdict.OPPOSITE if _denies(*((ours, theirs) if denies else (theirs, ours))) else None


def _compare_gists_of_one_stance(a: Phrase, b: Phrase, ours: Gist, theirs: Gist) -> WordingVerdict | None:
    """Compare the gists of two phrases about the same, both or neither of which deny it."""
    if are_opposed(ours.opposites, theirs.opposites):
        open_ = are_twice_opposed(ours.opposites, theirs.opposites) or are_change_and_state(a, b)
        return None if open_ else WordingVerdict.OTHER_SIDE
    sides, other_sides = (
        {number: named for number, named in gist.opposites.sides.items() if number != START} for gist in (ours, theirs)
    )
    if (
        ours.said != theirs.said
        or sides != other_sides
        or not have_same_roles(a, b)
        or _rank_amounts(a) != _rank_amounts(b)
    ):
        return None
    amounts = compare_amounts(a.amounts, b.amounts)
    if amounts is AmountRelation.DIFFERENT:
        # What should be reached may differ from what is; of two limits on one side, one alone may be either.
        aims = [_TARGET.search(phrase.text) is not None for phrase in (a, b)]
        return WordingVerdict.OTHER_AMOUNT if aims[0] == aims[1] or _limit_one_side(a, b) else None
    # Stages differ in more than their numbers: IIIA and III.
    if any(number >= DIMENSION_COUNT for number in sides):
        return None
    return WordingVerdict.SAME if amounts in (None, AmountRelation.SAME) else _compare_by_amounts(a, b, amounts)


def _limit_one_side(a: Phrase, b: Phrase) -> bool:
    """Return whether all amounts of two phrases are upper limits, or all lower ones, and one phrase is nothing else."""
    amounts = (*a.amounts.items, *b.amounts.items)
    alone = any(not any(map(str.isalnum, phrase.amounts.rest)) for phrase in (a, b))
    return alone and all(amount.is_limit for amount in amounts) and len({amount.low is None for amount in amounts}) == 1


def _denies(denied: Gist, affirmed: Gist) -> bool:
    """Return whether who denies one gist denies the other: one denies the kinds of a thing with it, but not the reverse.

    "No cure" does not deny "surgery can cure it", but "no alcohol" denies "alcohol is safe".
    """
    sides = denied.opposites.sides
    broader = denied.words <= affirmed.words and sides.items() <= affirmed.opposites.sides.items()
    return broader and bool(denied.words or (sides and affirmed.standalone - {SAFETY} <= denied.standalone))


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


def _compare_by_amounts(a: Phrase, b: Phrase, amounts: AmountRelation | None) -> WordingVerdict | None:
    """Compare the amounts of two phrases with the same subject and stance."""
    if amounts in (None, AmountRelation.SAME):
        # The same Chinese characters in another order may be other words.
        same_order = 2 * len(a.tokens & b.tokens) >= len(a.tokens | b.tokens) and _rank_amounts(a) == _rank_amounts(b)
        return WordingVerdict.SAME if same_order and have_same_roles(a, b) else None
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
    return {
        dimension: [sorted(some).index(size) for size in some] for dimension, some in sizes.items() if len(some) > 1
    }


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
