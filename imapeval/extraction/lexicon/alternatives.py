"""What a sentence names only to reject or except it: "ice instead of heat", "all fruit except grapes", 用A代替B."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import split_items, trim_piece
from imapeval.extraction.lexicon.coordination import is_bare_name
from imapeval.text.negation.stance import is_negated
from imapeval.text.phrases import is_condition, split_condition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from imapeval.extraction.lexicon.clauses import Piece
    from imapeval.types import Lang

_INSTEAD = re.compile(
    r"\b(?:(?:instead of|in place of|rather than|in preference to|as opposed to)"
    r"|(?P<exception>except(?:ing)?(?: for)?|other than|with the exception of|save for"
    r"|(?P<besides>(?:apart|aside) from)))\s++"
    r"(?!(?:just|later|merely|only|simply|the rule)\b)",
    re.IGNORECASE,
)
# What an exception is made from, and findings whose exceptions are findings as well.
_ALL = re.compile(r"\b(?:all|any|anyone|anything|both|each|every\w*|most(?! common))\b", re.IGNORECASE)
_NORMAL = re.compile(
    r"\b(?:is|are|was|were|looks?|looked|remains?|remained|everything|exam\w*) (?:\w+ ){0,2}?"
    r"(?:clear|fine|healthy|negative|normal|unremarkable|well|within)\b|正常|阴性|好",
    re.IGNORECASE,
)
# What has no limits but one: "no restrictions except heavy lifting".
_LIMIT = re.compile(r"\b(?:limit|restrict)\w*", re.IGNORECASE)
_UNDECIDED = re.compile(r"\b(?:ask|if|nothing|report|something|tell|whether|why)\b|是否|能否|为什么", re.IGNORECASE)
# Before what follows as a name: "all vaccines but MMR", which "but" separates into items.
_ALL_BUT = re.compile(
    r"\b(?:all(?: (?!days?\b|\w+ly\b)[\w'’-]+){1,3}|every(?:body|one|thing))\s+but\s+$", re.IGNORECASE
)
_MAX_ALL_CHARACTERS = 60
"""Characters before an exception that are searched for what it is made from."""
_MANNER = re.compile(r"\w+ly\b", re.IGNORECASE)  # "do it every day but slowly"
# An exception that is no thing: "no pain except at night".
_CIRCUMSTANCE = re.compile(r"(?:as|at|by|during|for|from|in|on|that|to|with|you|your)\b", re.IGNORECASE)
_REPLACED = re.compile(
    r"(?<=[\w）)])(?:来|去)?(?:代替|替代|取代)了?(?=\w)(?![并和或及]|治疗|疗法|方案|品|药|物|医|者|性)"
    r"|(?<![然反因从进故])(?:而(?=不[是用要能宜应可会需必])|而非(?!常))|(?<![然反因从进故])而(?=[是用改应选宜吃喝采要])"
)
_CHOSEN = re.compile("(?:[还倒])?不如|宁[可愿]")
_USE = re.compile("[用以选换吃喝服]")
_ABLE = re.compile("(?:可以?|能够?)$")  # 豆浆可以代替牛奶 advises nothing
_CAUSE = re.compile("因|由于|为")
_EXCEPT = re.compile(
    r"除(?![草颤臭湿虫皱疤非])(?:了|开)?(?P<excepted>[^，,。；;]{1,30}?)(?:(?:以|之)?外(?![伤用科敷部地阴])|(?=[，,]))[，,]?(?P<rest>.*)",
    re.DOTALL,
)
_OUTSIDE = re.compile("[以之]?外")
_OTHERS = re.compile("其[他它余]|别的|所有|一切|任何|[都均]")
_BESIDES = re.compile("[还也又另]|同时|更|再|需要?|应")
_PERMITTED = re.compile("可以?(?!引起|导致|造成|出现)|能[吃喝用做]|允许|适合|没问题|都行|正常|阴性|好")


_REJECTING: Mapping[Lang, tuple[re.Pattern[str], ...]] = {
    "en": (_INSTEAD, re.compile(r"\bbut\b", re.IGNORECASE)),
    "zh": (_REPLACED, re.compile("与其")),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an item, and how it is named.

    Attributes:
        piece: The part.
        before: Words before it that reject it; "" for none.
        behind: Words behind it that except it.
        opens: Whether it is rejected at the start of its sentence, before what is chosen.
        chosen: Whether it is what is chosen, so that nothing before it rejects it.
        excepted: Whether it is an English exception, whose list goes on to an "and" or "or".
    """

    piece: Piece
    before: str = ""
    behind: str = ""
    opens: bool = False
    chosen: bool = False
    excepted: bool = False

    @property
    def rejected(self) -> bool:
        """Whether it is rejected or excepted."""
        return bool(self.before or self.behind)

    def name(self, lang: Lang) -> str:
        """Return the part with the words that reject it."""
        return f"{self.before}{'' if lang == 'zh' or not self.before else ' '}{self.piece.text}{self.behind}"


def split_alternatives(sentence: Piece, lang: Lang) -> Iterator[Part]:
    """Yield the items of a sentence that is no question, and apart from each what it names only to reject it."""
    exception = _Exclusion.find(sentence) if lang == "zh" else None
    if exception is None and not any(pattern.search(sentence.text) for pattern in _REJECTING[lang]):
        yield from map(Part, split_items(sentence))
        return
    previous = ""
    for item in split_items(sentence):
        parts: list[Part | None] = []
        if exception and item.start < exception.end:
            parts = exception.split(item)
        elif not is_condition(item.text):
            parts = _split_chinese(item, sentence) if lang == "zh" else _split_english(item, sentence, previous)
        yield from filter(None, parts or [Part(item)])
        previous = item.text


def _split_at_rejection(item: Piece, pattern: re.Pattern[str]) -> tuple[re.Match[str], Piece | None, Piece] | None:
    """Return the words in an item that reject something, what is before and what is behind them; None for none."""
    found = pattern.search(item.text)
    if found is None or _UNDECIDED.search(item.text, 0, found.start()):
        return None
    other = _trim_part(item, found.end(), len(item.text))
    return other and (found, _trim_part(item, 0, found.start()), other)


def _split_english(item: Piece, sentence: Piece, previous: str) -> list[Part | None]:
    divided = _split_at_rejection(item, _INSTEAD)
    if divided is None:
        start = item.start - sentence.start
        before = sentence.text[max(0, start - _MAX_ALL_CHARACTERS) : start]
        excepts = _ALL_BUT.search(before) and is_bare_name(item.text) and not _MANNER.match(item.text)
        return [_except(item, previous, opens=False)] if excepts else []
    found, chosen, other = divided
    opens = item.start == sentence.start and chosen is None
    context = chosen.text if chosen else previous
    if not found["exception"]:
        if is_negated(context):
            return []
        _, condition = split_condition(other.text)
        both = chosen and replace(chosen, text=f"{chosen.text} {condition}".rstrip())
        return [both and Part(both, chosen=True), Part(other, "not", opens=opens)]
    # "All NSAIDs except aspirin are contraindicated": the predicate is that of the whole.
    if is_condition(other.text) or _CIRCUMSTANCE.match(other.text) or is_negated(other.text):
        return []
    # The clause that it is an exception from follows or precedes it.
    clause = sentence.text[item.end - sentence.start :] if opens else context
    # "Apart from the diet, all patients need exercise" excepts nothing.
    if not is_negated(clause) and (not _ALL.search(clause) or (opens and found["besides"])):
        return []
    return [chosen and Part(chosen), _except(other, clause, opens=opens)]


def _except(other: Piece, clause: str, *, opens: bool) -> Part:
    """Return an exception from what a clause says."""
    affirmed = (is_negated(clause) and not _LIMIT.search(clause)) or _NORMAL.search(clause)
    return Part(other, "" if affirmed else "not", opens=opens, excepted=True)


def _split_chinese(item: Piece, sentence: Piece) -> list[Part | None]:
    chosen = _CHOSEN.search(item.text)
    if item.text.startswith("与其") and _CHOSEN.search(sentence.text, item.start - sentence.start):
        # 与其吃药，不如休息 rejects the drugs.
        end = chosen.start() if chosen else len(item.text)
        other, rest = _trim_part(item, len("与其"), end), chosen and _trim_part(item, chosen.end(), len(item.text))
        return [other and Part(other, "不", opens=chosen is None), rest and Part(rest, chosen=True)]
    if chosen and not chosen.start() and "与其" in sentence.text[: item.start - sentence.start]:
        rest = _trim_part(item, chosen.end(), len(item.text))
        return [rest and Part(rest, chosen=True)]
    divided = _split_at_rejection(item, _REPLACED)
    if divided is None:
        return []
    found, chosen, other = divided
    if found[0] == "而非":
        return [chosen and Part(chosen), Part(other, "不是")]
    if chosen is None:
        return []
    denied = is_negated(chosen.text)
    if found[0] != "而":
        is_advice = _USE.search(chosen.text) and not _ABLE.search(chosen.text)
        return [Part(chosen), Part(other, "不用")] if is_advice and not denied else []
    # 不能因感冒而用抗生素 denies both.
    is_contrast = (denied or is_negated(other.text)) and not (denied and _CAUSE.search(chosen.text))
    return [Part(chosen), Part(other)] if is_contrast else []


@dataclass(frozen=True, slots=True)
class _Exclusion:
    """An exception at the start of a Chinese sentence: its position, and the words behind it that except it.

    `behind` is None where the sentence does not say whether it is excepted: 除了荔枝，苹果可以吃.
    """

    start: int
    end: int
    behind: str | None

    @classmethod
    def find(cls, sentence: Piece) -> _Exclusion | None:
        found = _EXCEPT.match(sentence.text)
        if found is None:
            return None
        denied, others = is_negated(found["rest"]), _OTHERS.search(found["rest"])
        # 除了吃药，所有患者都要运动 excepts nothing.
        permitted = not denied and _PERMITTED.search(found["rest"]) and not _BESIDES.search(found["rest"])
        if not permitted and not (denied and others):
            return None
        start, end = found.span("excepted")
        affirmed = denied or _NORMAL.search(found["rest"])
        behind = ("" if affirmed else "除外") if others else None
        return cls(sentence.start + start, sentence.start + end, behind)

    def split(self, item: Piece) -> list[Part | None]:
        """Return what an item excepts, and the rest of it."""
        start, end = max(self.start - item.start, 0), min(self.end - item.start, len(item.text))
        excepted = _trim_part(item, start, end)
        outside = _OUTSIDE.match(item.text, end)
        rest = _trim_part(item, outside.end() if outside else end, len(item.text))
        named = None if self.behind is None or excepted is None else Part(excepted, behind=self.behind)
        return [named, rest and Part(rest)]


def _trim_part(piece: Piece, start: int, end: int) -> Piece | None:
    return trim_piece(piece.text, start, end, offset=piece.start)
