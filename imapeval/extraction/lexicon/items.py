"""The items of a sentence, and how each is connected with the one before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import split_items
from imapeval.extraction.lexicon.cues import is_courtesy
from imapeval.extraction.lexicon.headings import find_list_governor, is_generic
from imapeval.text.negation import find_negator, is_negated, strip_final_verb
from imapeval.text.phrases import is_condition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from imapeval.extraction.lexicon.clauses import Piece
    from imapeval.extraction.lexicon.headings import GovernedSentence
    from imapeval.types import Lang

# Separators of list items.
_LISTING: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(r",|/|\b(?:and|or|nor)\b", re.IGNORECASE),
    "zh": re.compile(r"[、和或及与]|以及|,|，"),
}
_OR = re.compile(r"\bn?or\b|[或]", re.IGNORECASE)
_COMMA = re.compile("[,，]")
_COLONS = (":", "：")
_CONTRAST = re.compile(r"\b(?:but|however|instead|while|whereas)\b|但是?|然而|而是", re.IGNORECASE)
_REASON = re.compile(r"\bbecause\b|因为|由于", re.IGNORECASE)
# Before an example, and at its beginning behind a comma or bracket.
_EXAMPLE = re.compile(r"\b(?:such as|including|for example|e\.g)\b|包括|例如|比如", re.IGNORECASE)
_EXAMPLE_LEAD = re.compile(
    r"(?:e\.?g\.?|such as|for example|for instance|including|like|namely)[,:]?\s+"
    r"|(?:例如|比如|诸如|譬如|如(?![果何此])|像|包括)[,，:：]?",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"[^()（）\n]*")
_MAX_CONNECTIVE_CHARACTERS: Mapping[Lang, int] = {"en": 12, "zh": 4}
"""Longest piece without a statement that is a connective, such as "therefore", rather than a clause; in characters."""
# An item with its own verb, which does not need the governor's.
_OWN_VERB: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(r"\w+ing\b", re.IGNORECASE),
    "zh": re.compile(
        r"[吸抽饮吃喝熬服吞嚼泡敷按揉捏搓挤抓挠碰摸跑跳坐站提搬弯扭憋画打晒游骑受]|使用|接触|进行|进食|剧烈|过[度量]|[久长]时?间?[坐站卧走]|运动|劳累"
    ),
}


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a sentence, and the kind of separator before it.

    Attributes:
        piece: The item.
        listed: Whether the separator is one of list items.
        after_contrast: Whether it is a contrast, such as "but", or introduces the reason for what a colon introduced.
        joined_by_or: Whether it is an "or".
        comma: Whether it is, or contains, a comma.
        conjoined: Whether it is more than a comma: an "and" or "or", or the Chinese enumeration comma.
        introduced: Whether a colon separates the item from its negation: "Do not: take aspirin, drink alcohol".
        example: Whether it is an example of the item before it: "foods such as coffee", "NSAIDs (ibuprofen, naproxen)".
        aside: Whether it is a remark in brackets, after which the list goes on: "aspirin (a tablet) and alcohol".
    """

    piece: Piece
    listed: bool
    after_contrast: bool
    joined_by_or: bool = False
    comma: bool = False
    conjoined: bool = False
    introduced: bool = False
    example: bool = False
    aside: bool = False


def split_into_items(governed: GovernedSentence, text: str, lang: Lang, *, courtesies: bool = False) -> Iterator[Item]:
    """Yield the items of a sentence; `courtesies` says whether polite phrases are among them."""
    last = governed.sentence.start
    # The governor that a colon or a heading separates from what it governs.
    dangling, wholly = governed.governor, governed.wholly
    introduced = bare = False
    # Whether a clause was skipped before the item.
    broken = False
    remark_end = 0
    for item in split_items(governed.sentence):
        between = text[last : item.start]
        last = item.end
        if text[last : last + 1] in _COLONS:
            if heading := find_list_governor(item.text, lang):
                dangling, wholly, bare = heading, True, heading == item.text
                continue
            if dangling and is_generic(item.text):
                continue  # "Avoid:", and below it "Drinks: coffee, alcohol"
        if not courtesies and is_courtesy(item.text, lang=lang):
            broken = broken or len(item.text) > _MAX_CONNECTIVE_CHARACTERS[lang]
            continue
        example = bool(_EXAMPLE.search(between))
        if (lead := _EXAMPLE_LEAD.match(item.text)) and not is_condition(item.text):
            example, item = True, replace(item, text=item.text[lead.end() :], start=item.start + lead.end())
        if between.rstrip().endswith(("(", "（")) and (inside := _IN_BRACKETS.match(text, item.start)) and not example:
            example = _LISTING[lang].search(inside[0], item.end - item.start) is not None
            remark_end = 0 if example else inside.end()
        listed = (example or bool(_LISTING[lang].search(between))) and not broken
        is_contrast = bool(_CONTRAST.search(between)) or (introduced and bool(_REASON.search(between)))
        broken = False
        # "Things to avoid: do not smoke" is no double negation, "Do not: go without sleep" is one.
        if dangling and (bare or not is_negated(item.text)):
            introduced = wholly
            governed_item = prepend_governor(item, dangling, lang)
            yield Item(governed_item, listed=False, after_contrast=is_contrast, introduced=wholly)
        else:
            yield Item(
                item,
                listed,
                is_contrast,
                joined_by_or=bool(_OR.search(between)),
                comma=bool(_COMMA.search(between)),
                conjoined=listed and bool(_LISTING[lang].search(_COMMA.sub(" ", between))),
                example=example,
                aside=item.start < remark_end,
            )
        dangling = ""


def prepend_governor(piece: Piece, governing: str, lang: Lang) -> Piece:
    """Return an item behind the words that govern its list."""
    # "Avoid eating nuts and smoking" warns against smoking, not eating; "do not use heat or massaging" has one verb for
    # both.
    if _OWN_VERB[lang].match(piece.text) and (lang == "zh" or not find_negator(governing, lang)):
        governing = strip_final_verb(governing)
    return replace(piece, text=f"{governing}{'' if lang == 'zh' else ' '}{piece.text}")
