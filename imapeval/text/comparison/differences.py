"""How two phrases differ: in a word and its opposite, in an amount, or in whom and which case they are about."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from imapeval.text.amounts.compare import AmountRelation, compare_amounts
from imapeval.text.comparison.gist import find_gist
from imapeval.text.comparison.similarity import SAME_SUBJECT, measure_overlap
from imapeval.text.dimensions.opposites import (
    are_opposed,
    are_twice_opposed,
    find_opposites,
    list_antonyms,
    list_opposed,
)
from imapeval.text.dimensions.table import LEVEL, QUANTITY
from imapeval.text.language import has_chinese
from imapeval.text.negation.stance import read_denied_part, read_stance
from imapeval.text.phrases import find_content_words, parse_phrase

if TYPE_CHECKING:
    from imapeval.text.phrases import Phrase


# A phrase that begins so asks for a change.
_CHANGE = re.compile(
    r"^(?:(?:please|to|you|should|try|aim) )*(?:lower|reduce|decrease|lessen|cut|raise|elevate|increase|restore|boost|control|keep|maintain|get|ensure|bring"
    r"|restrict|limit|double|halve|step|titrate)\b"
    r"|^(?:应该?|需要?|要|可以?|注意|尽量|积极|适当)?(?:降|升高|增加|增大|加大|减|保持|提高|增强|控制|限制|补充|保证|维持|上调|下调)",
    re.IGNORECASE,
)


# Relatives who are said to have a finding, which is then not the patient's.
_RELATIVE = re.compile(
    r"\b(father|mother|brothers?|sisters?|siblings?|grand(?:mother|father|parents?)|uncles?|aunts?|cousins?|relatives?"
    r"|husband|wife|son|daughter)\b"
    r"(?= (?:does not |\w+ )?(?:has|have|had|died|suffer\w*|developed|with|was diagnosed|were diagnosed)\b)"
    r"|(父亲|母亲|父母|爸爸|妈妈|兄弟|姐妹|[哥弟姐妹]|爷爷|奶奶|外公|外婆|祖父|祖母|叔叔?|舅舅?|姑姑?|姨妈?|丈夫|妻子|儿子|女儿|亲属|家族中)"
    r"(?=[均都也曾]?(?:没?有|无|患|得过|死于|确诊))",
    re.IGNORECASE,
)
# Words for one of two cases or degrees, and what a phrase without them says if it is about the same one.
_CASES = tuple(
    (re.compile(case, re.IGNORECASE), re.compile(same, re.IGNORECASE))
    for case, same in (
        # Caution is neither permission nor a ban.
        (r"慎用|谨慎|慎重|小心使?用", r"慎|小心|放心|随意|滥用|安全|首选"),
        (
            r"\bnot (?:extremely|excessively|dangerously|markedly)\b",
            r"\b(?:extremely|excessively|dangerously|markedly)\b",
        ),
        # What happens with treatment, and anything but what happens without.
        (
            r"\b(?:with|after|once|when|if|by|under) (?:(?!out|not)\w+ ){0,2}?(?:treatment|therapy|treated)\b"
            r"|(?:^|[，,])(?:经过?|及时|积极|规范)*治疗(?=后|可以?|能|死|病|预)",
            r"^(?!.*(?:without (?:\w+ ){0,2}(?:treatment|therapy)|untreated|not treated|[不未]\w{0,4}治疗|没有?治疗))",
        ),
    )
)


# As many as there are parsed phrases.
@lru_cache(maxsize=1 << 13)
def _find_cases(text: str) -> tuple[frozenset[tuple[str, ...]], tuple[tuple[bool, bool], ...]]:
    """Return the relatives that a text is about, and of each case whether it names it, or else is about the same."""
    cases = ((case.search(text) is not None, same.search(text) is not None) for case, same in _CASES)
    return frozenset(_RELATIVE.findall(text)), tuple(cases)


def concern_other_cases(a: Phrase, b: Phrase) -> bool:
    """Return whether two phrases are about other people, cases or degrees, so that neither bears on the other."""
    (ours, cases), (theirs, other_cases) = (_find_cases(f"{phrase.text} {phrase.condition}") for phrase in (a, b))
    return ours != theirs or any(
        named != other_named and not (other_same if named else same)
        for (named, same), (other_named, other_same) in zip(cases, other_cases, strict=True)
    )


def are_change_and_state(a: Phrase, b: Phrase) -> bool:
    """Return whether one of two phrases asks for more or less of what the other finds: "lower" and "high blood pressure"."""
    opposed = list_opposed(find_opposites(a.text), find_opposites(b.text))
    asks = [_CHANGE.match(phrase.text) is not None for phrase in (a, b)]
    return asks[0] != asks[1] and bool(opposed) and {*opposed} <= {QUANTITY, LEVEL}


def denies_side(a: Phrase, b: Phrase) -> bool:
    """Return whether the one phrase of two that denies does so before its sides: 不危险, but not 肾功能正常者不减量."""
    text = (a if a.stance.denies else b).text
    ends = [end for spans in find_opposites(text).spans.values() for _, end in spans]
    return not any(read_stance(text[end:]).denies for end in ends)


def denies_another_point(denied: Phrase, affirmed: Phrase) -> bool:
    """Return whether what a phrase denies is not what the other affirms.

    "A raised count is not a cause for concern" does not deny "the count is raised", nor "metformin does not cause it"
    "insulin causes it".
    """
    if denied.roles and affirmed.roles and denied.roles.kind == affirmed.roles.kind == "cause":
        # "It does not cause" names no cause.
        cause, other = denied.role_words[0] & denied.words, affirmed.role_words[0]
        if cause and other and cause.isdisjoint(other) and not any(map(has_chinese, cause | other)):
            return True
    point = find_content_words(read_denied_part(denied.text))
    # Chinese characters are not words: other characters may name what is denied.
    return len(point) > 1 and point.isdisjoint(affirmed.words) and not any(map(has_chinese, point))


def differ_by_opposite(a: Phrase, b: Phrase) -> bool:
    """Return whether two phrases name different sides of a dimension and otherwise differ little."""
    first, second = find_opposites(a.text), find_opposites(b.text)
    if not are_opposed(first, second) or are_twice_opposed(first, second):
        return False
    # Without the amounts, which may name a side too: "every morning".
    ours, theirs = (parse_phrase(find_opposites(phrase.amounts.rest).rest).words for phrase in (a, b))
    if not (ours or theirs):
        # "Itching at night" is not about "swelling in the morning".
        return first.sides.keys() <= second.sides.keys() or second.sides.keys() <= first.sides.keys()
    return measure_overlap(ours, theirs) >= SAME_SUBJECT and not name_other_codes(ours, theirs)


def name_other_codes(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether two Chinese phrases, as characters, name different things in Latin letters: 维生素B12 and 维生素D."""
    is_chinese = any(has_chinese(word) for word in a & b)
    return is_chinese and all(any(map(str.isascii, words)) for words in (a - b, b - a))


def differ_by_antonym(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether two phrases differ in a word and its antonym, and otherwise little."""
    ours, theirs = a - b, b - a
    if ours | theirs == frozenset({"non"}):
        # "small cell" and "non-small cell lung cancer".
        return True
    antonyms = find_antonyms(a, b) & ours
    if {"les", "mor"} & (ours | theirs) == {"les"}:  # stems of less and more: "less risky" is safer
        return False
    # "Mild effects are common" and "severe effects are rare" may both be true; 加重 and 减轻 are one word each.
    if not antonyms or sum(map(str.isascii, antonyms)) > 1:
        return False
    rest = max(len(a), len(b)) - 1
    return rest == 0 or len(a & b) / rest >= SAME_SUBJECT


def find_antonyms(a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
    """Return the words of only one of two phrases that have an antonym in the other."""
    ours, theirs = a - b, b - a
    found = frozenset[str]()
    for words, others in ((ours, theirs), (theirs, ours)):
        for word in words:
            if named := list_antonyms(word) & others:
                found |= named | {word}
    return found


_FRACTION = re.compile(
    r"\b(?:half|halves|quarters?|thirds?|double|both|each)\b|[半倍各]|双[侧份]|\d ?[/x×]|[x×] ?\d", re.IGNORECASE
)
"""What makes one amount of another, as in "half of a 20 mg tablet"."""
_CAUSES = re.compile(r"\b(?:caus(?:es?|ed|ing)|leads? to|risk factors? for)\b|引起|导致|造成|引发|诱发", re.IGNORECASE)
# "It prevents what causes it", and "a lack of it causes it".
_SPARES = re.compile(
    r"\b(?:prevents?|protects?|lack\w*|low|deficien\w+|too little|without)\b|预防|防止|缺|不足|过少|偏?低|没有",
    re.IGNORECASE,
)
_PREVENTS = re.compile(r"\b(?:prevents?|protects?)\b|预防|防止", re.IGNORECASE)


def name_other_sides(a: Phrase, b: Phrase) -> bool:
    """Return whether two phrases that both affirm or both deny name different amounts or sides, whatever else they say.

    >>> [name_other_sides(parse_phrase("a yearly check of the eyes"), parse_phrase(text))
    ...  for text in ("an eye test once every ten years", "have your eyes examined")]
    [True, False]
    """
    if a.stance.denies != b.stance.denies or a.stance.negated_twice or b.stance.negated_twice:
        return False
    if compare_amounts(a.amounts, b.amounts) is AmountRelation.DIFFERENT:
        # "10 mg" may be "5 mg twice daily".
        often = {any(amount.dimension == "frequency" for amount in phrase.amounts.items) for phrase in (a, b)}
        return len(often) == 1 and not (_FRACTION.search(a.text) or _FRACTION.search(b.text))
    if a.roles and b.roles:
        # "Before" and "after", "more" and "less" may say the same of things that change places.
        return False
    ours, theirs = find_opposites(a.text), find_opposites(b.text)
    if are_opposed(ours, theirs):
        return not are_twice_opposed(ours, theirs) and not are_change_and_state(a, b)
    if any(
        _CAUSES.search(one.text) and _PREVENTS.search(other.text) and not _SPARES.search(one.text)
        for one, other in ((a, b), (b, a))
    ):
        return True
    words, other_words = (phrase.words | find_gist(phrase.core).words for phrase in (a, b))
    # A Chinese character may be a part of any word; what causes and prevents is decided above.
    return any(map(str.isascii, find_antonyms(words, other_words) - {"caus", "prevent"}))
