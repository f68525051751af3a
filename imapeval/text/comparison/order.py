"""Whether two phrases put the same things in the same order: "T4 becomes T3" is not "T3 becomes T4".

A bag of words is the same for both. So phrases with nearly the same words are also compared by the sequence of these,
and phrases in which something comes first, is chosen, or acts on the other (`imapeval.text.roles`) by what does.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from imapeval.text.comparison.differences import find_antonyms
from imapeval.text.comparison.similarity import SAME_SUBJECT, measure_overlap
from imapeval.text.dimensions.opposites import list_antonyms
from imapeval.text.language import HAN
from imapeval.text.normalise import normalise, stem
from imapeval.text.phrases import FUNCTION_CHARACTERS, FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.text.phrases import Phrase

_LISTED = re.compile(r"[,，、;；/]")
_WORD = re.compile(rf"[a-z0-9.%+]+|[{HAN},]")
# Adverbs of manner may stand anywhere: "slowly increase the dose" and "the dose increases slowly".
_MANNER = re.compile(r"\b(?!(?:ear|fami|on)ly\b)[a-z]+ly\b|明显|显著|迅速|缓慢|较快")
_PREPOSITIONS = frozenset(re.findall(r"\w+", "to by with and or of for in on at than then from as"))
# How a circumstance begins, which may stand anywhere: "in the morning take it with food".
_CIRCUMSTANCES = (_PREPOSITIONS - {"and", "or", "than"}) | {
    *map(stem, ("after", "before", "during", "every", "within", "without"))
}
# What joins two things that may change places, and what never does, even where they are listed.
_SYMMETRIC = frozenset(
    (
        *",和与及或跟同伴并合间似",
        *map(
            stem,
            re.findall(
                r"\w+",
                "and or nor with plus versus vs between both together combine similar same equal equivalent comparable "
                "different differ associated related linked interact alternate close next adjacent near as",
            ),
        ),
    )
)
_DIRECTED = frozenset((*map(stem, ("then", "before", "after", "than", "rather", "instead", "not")), "再", "比"))
_COMPARING = frozenset((stem("than"), "比"))
_LIGHT = (frozenset(map(stem, FUNCTION_WORDS - _PREPOSITIONS)) | FUNCTION_CHARACTERS) - _SYMMETRIC
_NEGATORS = frozenset(("no", "not", "non", *"不非未无没"))
_MOST_WORDS = 60
"""Longer phrases are not searched, which takes quadratic time."""


class Order(Enum):
    """How two phrases order the same two things."""

    SAME = auto()
    EXCHANGED = auto()
    OPEN = auto()  # Undecided; but words that seem opposed ("before", "after") are no contradiction.


def compare_order(a: Phrase, b: Phrase) -> Order | None:
    """Return how two phrases order the same things; None if they have no order in common.

    >>> from imapeval.text.phrases import parse_phrase
    >>> def compare(*texts):
    ...     return compare_order(*map(parse_phrase, texts))
    >>> compare("T4 is converted to T3", "T3 is converted to T4"), compare("biopsy after MRI", "MRI before biopsy")
    (<Order.EXCHANGED: 2>, <Order.SAME: 1>)
    >>> compare("use calcium with vitamin D", "use vitamin D with calcium")
    """
    if measure_overlap(a.words, b.words) < SAME_SUBJECT:
        return _compare_roles(a, b)
    found = _find_exchange(_list_words(a.text), _list_words(b.text))
    if found is None:
        return _compare_roles(a, b)
    joint, other, named = found
    if joint != other:
        return _compare_roles(a, b) or Order.SAME
    # "L4-L5 disc herniation" and "herniated disc L4-L5" are one thing: what changes places keeps its form.
    reworded = _list_forms(a.text, named) != _list_forms(b.text, named)
    # "More common in men than in women" is "less common in women than in men".
    turned = not _COMPARING.isdisjoint(joint) and find_antonyms(a.words, b.words)
    return _compare_roles(a, b) if reworded or turned else Order.EXCHANGED


def have_same_roles(a: Phrase, b: Phrase) -> bool:
    """Return whether two phrases with the same words put the same thing second, if any."""
    if any(one.roles is None and other.roles and not other.roles.needs_words for one, other in ((a, b), (b, a))):
        return True
    if a.roles and b.roles and a.roles.kind == b.roles.kind and not a.roles.needs_words:
        # "Exercise lowers blood pressure in adults" is "in adults, exercise lowers blood pressure".
        (first, second), (other_first, other_second) = a.role_words, b.role_words
        return not (first & other_second and second & other_first)
    seconds = {phrase.roles and (phrase.roles.kind, phrase.role_words[1]) for phrase in (a, b)}
    return len(seconds) == 1


def _compare_roles(a: Phrase, b: Phrase) -> Order | None:
    """Compare what two phrases put in an order by the words that join it."""
    if a.roles is None or b.roles is None or a.roles.kind != b.roles.kind:
        return None
    (first, second), (other_first, other_second) = a.role_words, b.role_words
    if not (second and other_second):
        return None
    # "For the spinal cord" of "CT is better than MRI for the spinal cord" is neither.
    ours, theirs = second - other_second, other_second - second
    if ours and theirs and ours <= other_first and theirs <= first:
        antonyms = find_antonyms(a.words, b.words) if a.roles.kind == "choice" else frozenset[str]()
        if not antonyms:
            return Order.EXCHANGED
        # "More often in boys than in girls" is "less often in girls than in boys".
        same = (first | second) - antonyms == (other_first | other_second) - antonyms
        return Order.SAME if same else Order.OPEN
    if (first, second) == (other_first, other_second):
        return Order.SAME
    if (
        a.roles.kind != "sequence"
        or a.stance.denies != b.stance.denies
        or not first & other_first
        or first & other_second
    ):
        return None
    # "Before" and "after" then only say which of the two is named first.
    return (
        Order.OPEN
        if len({phrase.roles.is_turned(phrase.amounts.rest) for phrase in (a, b) if phrase.roles}) > 1
        else None
    )


@lru_cache(maxsize=1 << 13)
def _list_words(text: str) -> tuple[str, ...]:
    """Return the words of a text without light ones, but with prepositions, and its separators as commas."""
    norm = _MANNER.sub(" ", ",".join(map(normalise, _LISTED.split(text))))
    return tuple(word for word in map(stem, _WORD.findall(norm)) if word not in _LIGHT)


def _list_forms(text: str, stems: frozenset[str]) -> frozenset[str]:
    """Return the words of a text with these stems."""
    return frozenset(word for word in _WORD.findall(normalise(text)) if stem(word) in stems)


def _find_exchange(
    ours: Sequence[str], theirs: Sequence[str]
) -> tuple[Sequence[str], Sequence[str], frozenset[str]] | None:
    """Return what joins two things that change places, in each of two sequences, and these: "X joint Y", "Y joint X".

    The joints are the same or differ in one antonym. None if there are no such things, or if they are merely listed.
    """
    shared = {*ours} & {*theirs}
    ours, theirs = (_strip(words, shared) for words in (ours, theirs))
    size = len(ours)
    if size != len(theirs) or ours == theirs or size > _MOST_WORDS:
        return None
    start = next(place for place in range(size) if ours[place] != theirs[place])
    end = next(place for place in range(size) if ours[-1 - place] != theirs[-1 - place])
    before, after = ours[:start], ours[size - end :]
    ours, theirs = ours[start : size - end], theirs[start : size - end]
    size = len(ours)
    firsts = [number for number in range(1, size) if ours[:number] == theirs[size - number :]]
    lasts = [number for number in range(1, size) if theirs[:number] == ours[size - number :]]
    found = [(first, last) for first in firsts for last in lasts if first + last <= size]
    if not found:
        return None
    first, last = max(found, key=sum)
    joint, other = ours[first : size - last], theirs[last : size - first]
    named = (ours[:first], ours[size - last :])
    if not joint:
        # "Smokers have ten times the risk of non-smokers", and the reverse: of one thing named twice, the other is denied.
        moved = any(_NEGATORS.issuperset(one) and other[:1] == after[:1] for one, other in (named, named[::-1]))
        return ((), (), frozenset()) if moved else None
    directed = _DIRECTED.intersection(joint)
    if any(map(_PREPOSITIONS.issuperset, named)) or (not directed and any(one[0] in _CIRCUMSTANCES for one in named)):
        return None
    if (_SYMMETRIC.intersection(joint) and not directed) or joint in (
        before[-len(joint) :],
        after[: len(joint)],
    ):
        return None
    changed = [pair for pair in zip(joint, other, strict=True) if pair[0] != pair[1]]
    if len(changed) > 1 or any(two not in list_antonyms(one) and one not in list_antonyms(two) for one, two in changed):
        return None
    return joint, other, frozenset(chain.from_iterable(named))


def _strip(words: Sequence[str], kept: set[str]) -> Sequence[str]:
    """Return words without those at either end that are not to be kept."""
    places = [place for place, word in enumerate(words) if word in kept]
    return words[places[0] : places[-1] + 1] if places else ()
