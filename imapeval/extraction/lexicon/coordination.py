"""Which items of a sentence belong together, because one of them says nothing without the other.

"Fever and pain" are two things, but "A and B are common", 由A、B引起 and "its size and location" are one statement.
Pure; uses no dictionary.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.text.language import has_chinese
from imapeval.text.negation.governors import find_denied_verb, find_denying_predicate, find_governor
from imapeval.text.negation.stance import NEGATING_CHARACTERS, is_negated
from imapeval.text.phrases import is_condition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COORDINATOR = re.compile(r"(?<!\s)\s++(?:and/or|and|or)\s+|(?<!\s)\s*+(?:和|及|以及|或者?|、)\s*", re.IGNORECASE)
# Words that name no finding, test or treatment of their own.
_GENERIC = re.compile(
    r"(?:(?:the|its|their|your|any|all|common|possible|potential|main|general|immediate|initial|further"
    r"|appropriate|proper|professional|other|medical|timely|some|these|following) )*"
    r"(?:diagnos[ie]s|treatments?|management|evaluation|assessment|examination|guidance|advice|size|location|severity|conditions?|types?|causes?"
    r"|symptoms?|recommendations?|options?|others?|more|measures|relief|information|questions?|prevention)"
    r"|(?:进一步的?|具体的?|专业的?|相应的?|其[他它]的?|常见的?|主要的?|可能的?|一般的?|临床|辅助|相关的?|详细的?|后续的?|患者的?|医生的?|个体|个人|具体)*"
    r"(?:诊断|治疗|诊治|评估|处理|检查|体检|管理|指导|建议|意见|讨论|护理|随访|确诊|大小|位置|部位|形状|程度|严重程度|类型|分期|性质|情况|症状"
    r"|表现|体征|病因|信息|原因|方法|方式|药物|问题|项目|措施|因素|方案|危险因素|注意事项|预防措施|(?:诊断|治疗)(?:建议|意见)|治疗(?:方法|方案|措施|药物|方式|手段|原则)|检查项目|诊断方法|之[前后])",
    re.IGNORECASE,
)
# What is said of several things together.
_RECIPROCAL = re.compile(
    r"之间|[不相]同|相似|类似|区别|差[异别]|异同|鉴别|相关|关[联系]|有关|重叠|交叉|联合|合用|一起"
    r"|\b(?:both|different|similar|together|are two)\b"
)
# A name that only its noun makes one: the B of "hepatitis A and B", the 7 of "on days 0 and 7".
_INITIAL = re.compile(r"\s*[A-Za-z\d]")
# The opening of a frame and, at the end of its list, what closes it: 由A、B引起, 在A、B期间.
_OPENING = re.compile(
    r"(?P<cause>由|受|被|因(?![此而为素子])|通过|将|把|根据|对(?![症照比策]))|(?P<circumstance>在(?!于)|当(?![地归]))|(?P<origin>从(?![未而来小]))"
)
_CLOSING = {
    "cause": re.compile(
        r"引起|导致|所致|造成|引发|[诱触]发|感染(?![源者性])|传[播染]|影响|[组构]成|形成|产生|进行|完成|[决确制]定|考虑|选择|调整|释放|分泌|损[伤害]|压迫|消毒|监测|评估|处理|控制"
    ),
    "circumstance": re.compile("[时后前中内间期](?![期部脏科])"),
    "origin": re.compile("[出入来到]"),
}
# Opens what stays whole up to its end: a purpose, or what a statement is based on or excludes.
_WHOLE = re.compile(
    r"(?:以(?![上下前后往内外])|为了|根据|针对|基于|鉴于|对于|关于|至于)"
    r"|(?:based on|according to|in terms of|regarding|with regards? to|as for|given|considering)\b"
    r"|.*(?:不包[括含]|\bnot including\b)",
    re.IGNORECASE,
)
_MAX_FRAME_CHARACTERS = 40
"""Characters before a list that are searched for the opening of a frame."""
_LITOTES = re.compile(r"\bnot (?:ab|un)\w", re.IGNORECASE)  # "not uncommon" denies nothing
_MIN_OBJECT_CHARACTERS = 4
"""Characters after a Chinese negation that are more than its verb: 不接触体液, but not 不集中."""
_PREDICATE = re.compile(
    r"(?<=\w )(?:is|are|was|were|can|could|may|might|must|should|will|would|has|have|had|does|causes|requires"
    r"|occurs|increases|contains|seems?|appears?|remains?)\b"
    r"|(?:[也都均则就才常]|通常|一般|往往){0,3}+(?:是(?!否)|会|更[高大多]|可能|(?<![反效适供])应(?!激)|需(?!氧)|(?<!功)能(?![量力])|可(?![乐卡待疑逆])"
    r"|引起|导致|表现为|出现|存在|有助|属于|取决)",
    re.IGNORECASE,
)
# A part that may lack its noun, or the end of a phrase that the parts share: "a viral", "trauma to the jaw".
_INCOMPLETE = re.compile(
    r"(?:\w(?:al|ic|ous|ive|ular|ary|ed|able|ible)|\b(?:acute|air|deep|dry|early|high|hot|large|late|left|long|low|lower|mild|minor"
    r"|moderate|old|open|red|right|severe|short|small|soft|upper|young))$"
    r"|\b(?:about|against|at|between|by|for|from|in|into|of|on|over|to|under|with|without)\b"
    r"|^(?:\w+ing (?=\w)|(?:after|before|during|either|such)\b)",
    re.IGNORECASE,
)
_MAX_CHINESE_NAME, _MAX_WORDS = 8, 5
"""Characters of the longest Chinese name, and words of the longest English one, that may be subjects in a list."""
_SUBORDINATE = re.compile(r"\b(?:as|because|how|if|until|when|while)\b", re.IGNORECASE)
_PRECONDITION = re.compile(r"(?:after|as|assuming|because|before|given|now that|once|since|until)\b", re.IGNORECASE)
_DEFINITION = re.compile("^.{0,4}是?指")
# What opens a clause of its own: a pronoun, an imperative, or a Chinese verb.
_CLAUSE_START = re.compile(
    r"(?:it|they|this|that|these|those|you|we|i|he|she|there|which|who|what|if|when|then|also|to|your|do|take|use|try|eat|drink|keep|get|see"
    r"|consult|apply|go|make|start|begin|continue|increase|stay|call|ask|contact|seek|monitor|add|switch|choose|wash|elevate|wear|sip|maintain|replace|rest"
    r"|avoid|stop|check|visit|give|consider|follow|reduce|limit|exercise|sleep|wait|let|have|be|please|remove|clean)\b"
    r"|避免|减少|控制|增[加强]|改善|提高|降低|保持|[使服应]用|进行|注意|促进|给予|[多少不无未没有可应会能需要是由导]|引起|出现|预防|防止|缓解|减轻|建议",
    re.IGNORECASE,
)
_PLACES = ("科", "院", "门诊", "中心")
_ATTRIBUTE = re.compile("[^的]{1,12}的.")
_POSSESSED = re.compile(r"\bof (?:the|your|his|her|its|their) \w+(?: \w+)?$", re.IGNORECASE)
_BARE = re.compile(r"(?:(?:the|your|his|her|its|their) )?(?!\w+ing\b)\w+(?: \w+)?", re.IGNORECASE)


def names_nothing(text: str) -> bool:
    """Return whether a text is a mere word for a kind of statement: "the treatment", 其他检查.

    >>> names_nothing("further treatment"), names_nothing("治疗方案"), names_nothing("激光治疗")
    (True, True, False)
    """
    return all(_GENERIC.fullmatch(part) for part in _COORDINATOR.split(text.strip()))


def join_coordinated(text: str, boundaries: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the boundaries of the items of a sentence, except those in a list that is part of one statement."""
    ends = [*boundaries, (len(text), len(text))]
    first = 0  # the boundary before the run
    while first < len(ends) - 1:
        last = first
        while last < len(ends) - 1 and _COORDINATOR.fullmatch(text, *ends[last]):
            last += 1
        if last == first:
            yield ends[first]
            first += 1
            continue
        start = ends[first - 1][1] if first else 0
        parts = [
            text[begin:end].strip()
            for begin, end in zip(
                [start, *(end for _, end in ends[first:last])],
                [begin for begin, _ in ends[first : last + 1]],
                strict=True,
            )
        ]
        opens = not first or _opens_clause(text[:start][-_MAX_FRAME_CHARACTERS:])
        joined = _find_joined(parts, opens=opens)
        # Alternatives that are denied by a verb not known to govern lists: 不接触体液或痰.
        alternative = text[slice(*ends[first])].strip().lower() in ("or", "或", "或者")
        if alternative and _denies_object(parts[0]) and not _CLAUSE_START.match(parts[1]):
            joined.add(1)
        yield from (end for place, end in enumerate(ends[first:last], 1) if place not in joined)
        first = last


def _opens_clause(before: str) -> bool:
    """Return whether what follows an English text opens a clause; after a comma, it may continue a list instead."""
    return not before.rstrip().endswith(",") or _PREDICATE.search(before) is not None


def _find_joined(parts: Sequence[str], *, opens: bool) -> set[int]:
    """Return which of the coordinated parts of a sentence belong to the part before them."""
    if not all(any(map(str.isalnum, part)) for part in parts):
        return set()
    joined = {place for place in range(1, len(parts)) if _completes(parts[place - 1], parts[place])}
    joined |= _find_initials(parts)
    whole = 0
    if opening := _find_open_frame(parts[0]):
        closing = _CLOSING[opening]
        whole = next((place for place, part in enumerate(parts) if place and closing.search(part, 1)), 0)
    if not whole and (_WHOLE.match(parts[0]) or _RECIPROCAL.search(parts[-1])):
        whole = len(parts) - 1
    if not whole and opens:
        whole = _find_completing_part(parts)
    return joined.union(range(1, whole + 1))


def _find_initials(parts: Sequence[str]) -> set[int]:
    """Return which parts are no more than a letter or digit that needs the noun before it: "hepatitis A and B".

    There is none in 不要A、B, which denies either.
    """
    denying = find_governor(parts[0]) or find_denied_verb(parts[0])
    if _INITIAL.fullmatch(parts[0]) or (denying and _INITIAL.fullmatch(parts[0], len(denying))):
        return set()
    return {place for place, part in enumerate(parts) if place and _INITIAL.fullmatch(part)}


def _find_open_frame(part: str) -> str:
    """Return the kind of frame that a part opens and does not close; "" for none."""
    start = max(0, len(part) - _MAX_FRAME_CHARACTERS)
    for found in reversed(list(_OPENING.finditer(part, start))):
        kind = str(found.lastgroup)
        if not _CLOSING[kind].search(part, found.end()):
            return kind
    return ""


def find_predicate(part: str) -> str:
    """Return the words at the end of a clause that say something of its short subject; "" if there are none.

    A denial is no such predicate, nor is what follows one.

    >>> find_predicate("vomiting is common"), find_predicate("疼痛均可诱发"), find_predicate("take aspirin")
    ('is common', '均可诱发', '')
    """
    found = _PREDICATE.search(part)
    if not found or not is_bare_name(part[: found.start()].strip()) or found.end() == len(part) or is_negated(part):
        return ""
    return part[found.start() :]


def is_bare_name(text: str) -> bool:
    """Return whether a text is so short, and has so few signs of a clause, that it is taken for a name.

    >>> is_bare_name("a balanced diet"), is_bare_name("keep moving"), is_bare_name("the pain is gone")
    (True, False, False)
    """
    short = 0 < len(text) <= _MAX_CHINESE_NAME if has_chinese(text) else 0 < len(text.split()) <= _MAX_WORDS
    part = _INCOMPLETE.search(text) and not has_chinese(text)
    said = part or _PREDICATE.search(text) or _CLAUSE_START.match(text) or _SUBORDINATE.search(text)
    denied = is_negated(text) or any(map(text.__contains__, NEGATING_CHARACTERS))
    return short and not (said or denied or is_condition(text) or find_governor(text))


def _find_completing_part(parts: Sequence[str]) -> int:
    """Return the index of the part that completes those before it: 1 in "a viral or bacterial rash is"; 0 for none.

    Other subjects share a predicate, with which `scope` completes them.
    """
    first = _DEFINITION.sub("", parts[0])
    if _PREDICATE.search(first) or _CLAUSE_START.match(first) or is_condition(first) or is_negated(first):
        return 0
    if _PRECONDITION.match(first) and find_denying_predicate(parts[-1]) and not find_governor(parts[-1]):
        return len(parts) - 1
    place = next((place for place, part in enumerate(parts) if place and _has_predicate(part)), 0)
    shared = first == parts[0] and not names_nothing(first) and find_predicate(parts[place])
    return 0 if shared and all(map(is_bare_name, parts[:place])) else place


def _has_predicate(part: str) -> bool:
    """Return whether a part has a subject and a predicate that does not deny."""
    found = _PREDICATE.search(part)
    if not found or not found.start() or _CLAUSE_START.match(part) or _SUBORDINATE.search(part, 0, found.start()):
        return False
    return not (find_governor(part) or find_denied_verb(part) or find_denying_predicate(part))


def _denies_object(part: str) -> bool:
    """Return whether a part denies something that it names after the negation, without words that govern a list."""
    if find_governor(part) or find_denied_verb(part) or find_denying_predicate(part) or not is_negated(part):
        return False
    if _LITOTES.search(part):
        return False
    last = max(map(part.rfind, NEGATING_CHARACTERS))
    return last < 0 or len(part) - last > _MIN_OBJECT_CHARACTERS


def _completes(left: str, right: str) -> bool:
    """Return whether a part says nothing without the one before it, or completes it."""
    if names_nothing(right):
        return True
    if _CLAUSE_START.match(right) or find_governor(right):
        return False
    attributed = _ATTRIBUTE.match(right) and "的" not in left[-12:] and not left.endswith(_PLACES)
    # "No sign of the one or the other" denies each.
    governed = find_governor(left) or find_denied_verb(left)
    return not governed and bool(attributed or (_POSSESSED.search(left) and _BARE.fullmatch(right)))
