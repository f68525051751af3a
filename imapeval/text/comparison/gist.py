"""The gist of a phrase: the sides that it takes and its content words, without words that only state that something is so.

"Diabetes confirmed" and "diabetes ruled out" are about diabetes, 孕妇可安全使用 and 孕期禁用 about pregnancy. What such words
add is lost, so gists are compared only where the wordings themselves determine no relation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.text.dimensions.opposites import find_opposites
from imapeval.text.dimensions.table import EQUIVALENT, LEVEL, RESULT, STANDALONE
from imapeval.text.normalise import stem
from imapeval.text.phrases import find_content_words, parse_phrase
from imapeval.text.synonyms import join_alternatives, read_synonyms

if TYPE_CHECKING:
    from imapeval.text.dimensions.opposites import Opposites

_PREDICATES = re.compile(
    r"\b(?:confirm\w*|shows?|showed|shown|reveal\w*|noted|exists?|evident|remains?|becomes?|turns? out"
    r"|absolutely|physically|purely|solely|straight(?= (?:away|to))|now|here|(?<!not )always|from|origin|suitable|appropriate|acceptable|permitted|available|(?<=[a-z] )(?:found|seen|identified|present)(?! in\b)|findings?|(?<=[a-z] )indicat(?:es?|ing)|points? to|means?|expected|^(?:apply|wear)|applied|wearing|only|just|readily|again|already|currently|still|even|ever|obvious(?:ly)?"
    r"|readings|values?|(?<=waiting )period|(?<=incubation )period|(?<=recovery )period|schedule|results?|condition|to be|aim|target|goal|store|stored|storage|immediate(?:ly)?"
    r"|perform\w*|done|made|make|makes|doing|let|going|want|others|someone|anyone|everyone|somebody|courses? of|course|(?:see|consult)(?= (?:an?|the|your) )|carr(?:y|ies)|(?:(?<=\bthe )|(?<=\bthis ))(?:disease|illness))\b"
    # Left of "can't".
    r"|^ca(?=$| (?:be|cause|catch|drink|drive|eat|get|give|infect|pass|spread|take|transmit|use)\b)"
    r"|目前|现在|已经?|明显|显示|提示|具有|鼓励|绝对|给药|使用|服药|用药|只能|建议|能够|安全|情况|方式|属于"
    r"|(?:引起|导致|造成|所致)的?$|再次|一次性|结果|水平|数值|计数|期间|时候|其他|大概|大约|这个|进行|平时|疗程|连用|连续|吃药|就诊|就医|就行"
    r"|保持|保存|存放|特殊|专门|特别|^\s*(?:由|去|到|看|挂|来)|(?<!\w)法(?!\w)|会(?=传染|遗传|复发|恢复|好)|(?<=[该这此])病(?=\s|$|会|传|遗)|[该这此本]"
    r"|一直|始终|仍然?|依然|依旧|至今|推荐|主张|目标|控制(?:在|到|于)|维持在|(?:降低?|升高?)[到至](?=\s*(?:[,，]|$))|即?达标|之间|多(?:见于|发[生于]?在?|在)(?=\s*[,，])|好发于|常见于|处于|进入|从而|即可|便可|就好|方可|方能|才能|才可以?|仅(?:供|限|能|可)"
    r"|十分|非常|相当|极其|格外|严格|这段时间|这阵子|这期间|没关系|没事|没问题|无妨|不碍事|较前|较(?:上次|以前|之前)|比(?:上次|以前|之前|原来)|[与和](?:上次|以前|之前)相?比"
    r"|改[成为用]|照(?=[吃喝服用做])|照[常样旧]|直接(?=[吃喝服用进])|^\s*[得许准]|治疗(?=即可|就[行可好]|便可)|放[在于入进]|去(?=就医|看|医院|急诊)|(?<=[盐脂糖质白维钾磷呤碘钙铁])(?:(?:饮食)+|的?食物|食品|膳食|摄入量?)|(?<=[a-z])试验"
    r"|(?<![特区差鉴类级分性个辨识告离派各送])别(?=\s|$)|把(?![关脉握手])|(?:持续|不断)(?=\s|$)",
    re.IGNORECASE,
)

_REVERSING = frozenset({"non", "非"})
_RESULT_WORDS = frozenset({*map(stem, ("test", "testing", "tested", "result", "screen", "screening")), *"检测查化验"})
"""Words that only say that something is a result: "HIV positive" and "negative HIV test" are about HIV."""
_LEVEL_WORDS = frozenset({stem("levels")})


@cache
def _read_same() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return the unified form of each expression of the tables in `data`, and a pattern for the expressions."""
    english, chinese = (
        read_synonyms((Path(__file__).parents[1] / "data" / f"same_{lang}.txt").read_text(encoding="utf-8"))
        for lang in ("en", "zh")
    )
    pattern = rf"(?<![a-z0-9])(?:{join_alternatives(english)})(?![a-z0-9])|{join_alternatives(chinese)}"
    return english | chinese, re.compile(pattern, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Gist:
    """The gist of a phrase.

    Attributes:
        opposites: The sides that it takes.
        words: Its content words without those of the sides, as stems; Chinese characters.
        said: The same, with the words of the sides that do not mean the same as others on that side.
        standalone: The dimensions of its sides that say by themselves what the phrase is about.
        reversed: Whether "non" denies it: "non-contagious".
    """

    opposites: Opposites
    words: frozenset[str]
    said: frozenset[str]
    standalone: frozenset[int]
    reversed: bool


# As many as there are parsed phrases.
@lru_cache(maxsize=1 << 13)
def find_gist(value: str) -> Gist:
    """Return the gist of a phrase.

    >>> find_gist("diabetes confirmed").words, find_gist("does not spread to others").words
    (frozenset({'diabet'}), frozenset())
    """
    unified, pattern = _read_same()
    # Ignoring case, i is equal to ı and İ, and s to ſ: such a word is found but is not in the table.
    text = pattern.sub(lambda found: unified.get(found[0].lower(), found[0]), parse_phrase(value).amounts.rest)
    opposites = find_opposites(text)
    unsaid = list(text)
    for start, end in chain.from_iterable(opposites.spans.get(number, ()) for number in (*EQUIVALENT, RESULT)):
        unsaid[start:end] = " " * (end - start)
    words, said = map(_find_subject_words, (opposites.remainder, "".join(unsaid)))
    standalone = frozenset(number for number in opposites.sides if number in STANDALONE)
    # "Low iron level" is about iron, but "iron level" is not iron.
    light = (
        _RESULT_WORDS if RESULT in opposites.sides else _LEVEL_WORDS if LEVEL in opposites.sides else frozenset[str]()
    )
    words, said = words - light, said - light
    reversing = words & _REVERSING
    return Gist(opposites, words - reversing, said - reversing, standalone, bool(reversing))


# Twice for a phrase without sides.
@lru_cache(maxsize=1 << 13)
def _find_subject_words(text: str) -> frozenset[str]:
    return find_content_words(_PREDICATES.sub(" ", parse_phrase(text).stance.subject))


# An answer to "where?" or "when?", and what may precede it in a sentence.
_PLACE = re.compile(
    r"(?:above|after|around|at|before|behind|below|between|beneath|during|in|inside|near|on|under|within)\s"
)
_SUBJECT = re.compile(r"(?:[\w'’-]+ ){1,5}(?:is|are|was|were) ")


def says_where(whole: str, end: str) -> bool:
    """Return whether a sentence says where or when its subject is in just these words: "it is on the left"."""
    return bool(_PLACE.match(end) and whole.endswith(end) and _SUBJECT.fullmatch(whole.removesuffix(end)))


_RARELY = re.compile(r"\b(?:rarely|seldom)\b", re.IGNORECASE)
_IS_RARE = re.compile(
    r"(?P<what>(?:(?!\b(?:is|are|was|were|no|not|never)\b)[^,;:]){3,60}?) (?:is|are|was|were)"
    r" (?:(?:very|extremely|quite|also|fairly|relatively) )?(?:rare|uncommon|infrequent)"
    r"(?=\.?$| (?:at|during|if|in|when|with)\b)",
    re.IGNORECASE,
)


def word_rarity_alike(value: str, other: str) -> tuple[str, str]:
    """Return two values with "rarely" in place of "is rare" if the other one says it so.

    "Rarely" alone is nearly a denial: "rarely fatal" contradicts "fatal".

    >>> word_rarity_alike("Relapse is rare in adults", "it rarely relapses")
    ('rarely Relapse in adults', 'it rarely relapses')
    >>> word_rarity_alike("relapse is rare", "relapse")
    ('relapse is rare', 'relapse')
    """
    return _use_rarely(value, other), _use_rarely(other, value)


def _use_rarely(value: str, other: str) -> str:
    found = _IS_RARE.match(value) if _RARELY.search(other) and not _RARELY.search(value) else None
    return f"rarely {found['what']}{value[found.end() :]}" if found else value
