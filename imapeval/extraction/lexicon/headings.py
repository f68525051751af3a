"""Headings that advise against, or deny, all that is listed behind or below them: "Avoid:", "What not to do"."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import split_items, split_sentences
from imapeval.text.negation import advises_against, find_governor, find_negator, read_stance
from imapeval.text.phrases import is_condition
from imapeval.text.yes_no import asks_yes_no, strip_yes_no

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.extraction.lexicon.clauses import Piece
    from imapeval.types import Lang

_CATEGORY = (
    r"(?:activity|activities|actions?|behaviou?rs?|beverages?|drinks?|drugs?|exercises?|foods?|habits?|items?|medications?|medicines?"
    r"|practices?|products?|substances?|things?|食物|食品|食材|饮品|饮料|药物|药品)"
)
_GENERIC = re.compile(
    rf"(?>\s|\b(?:{_CATEGORY}|all of|also|any|be|certain|common|do|done|eat|eaten|eating|else|example"
    r"|following|include|includes|including|like|must|other|patients?|please|recommended|advised|advisable|allowed|should|some"
    r"|such as|take|taken|taking|that|the|these|those|to|try|use|used|using|what|which|you|your)\b"
    rf"|{_CATEGORY}|以下|下列|这些|这类|如下|几[点种类个项]|患者|病人|您|你|饮食|事[项情]?|行为|习惯|情况|活动|运动|项目|东西|请|应[该当]?"
    r"|需要?|要|做|去|的|吃|喝|服|用|尽量|注意|使用|食用|服用|进食|进行|接触|例?如|比如|包括|口|能|[是有等])*+",
    re.IGNORECASE,
)
"""What a heading may say besides its negation: nothing of its own, unlike "avoid dehydration"."""
_DONTS = re.compile(r"(?:the )?don['’]?ts", re.IGNORECASE)
_CONTRAINDICATIONS = re.compile(
    r"(?:(?:the|absolute|relative|main) )*contra-?indications?|(?:绝对|相对|主要)?禁忌[症证]", re.IGNORECASE
)
_AVOID: Mapping[Lang, str] = {"en": "avoid", "zh": "避免"}
# "Do not smoke" lacks no object, and "you do not need drugs" introduces an explanation.
_COMPLETE = re.compile(r"\b(?:smoke|stopping|avoiding|quitting)$", re.IGNORECASE)
_TOPIC = re.compile(r".*\bneed$|stop|discontinue|停", re.IGNORECASE)
_POINTER = re.compile(r"\b(?:following|these|those)\b|以下|下列|这些", re.IGNORECASE)
_EXPLANATION = re.compile(r"\s*[:：]\s*(?:it|this|that|they|there|the|you|we|I)\b", re.IGNORECASE)
# In Chinese, what precedes a heading: "during the treatment, avoid the following".
_TIME = re.compile("[中时后前内间]$")
_FINAL_DO = re.compile(r"\sdo$|做$", re.IGNORECASE)
_LISTING_VERB = re.compile(r"\s(?:are|include)\s|包括|[是有]")
_MAX_HEADING_CHARACTERS = 60
"""Longest heading, in characters."""

# The beginning of a line, with the marker of a list item.
_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?P<kind>[-*•·●▪–—]|(?P<circled>[①-⑳])"
    r"|(?P<open>[(（]?)(?:(?P<digits>\d{1,2})|(?P<chinese>[一二三四五六七八九十]{1,2}))(?P<close>[.、)）．])|)"
)
_NUMBERS = ("digits", "chinese", "circled")
_COLON = re.compile(r"[:：]")
_LINE_END = re.compile(r"[ \t]*+(?P<colon>[:：])?+[ \t]*+\n(?:\s*\n)?+(?P<next>[ \t]*\S{1,5})")
_SEMICOLON = re.compile(r"\s*[;；]\s*")


@dataclass(frozen=True, slots=True)
class _Line:
    """How a line begins: its indentation, in characters, and the marker of a list item without its number, if any."""

    indent: int
    kind: str

    @classmethod
    def read(cls, text: str) -> _Line:
        if (found := _LINE.match(text)) is None:
            return cls(0, "")
        numbers = (f"{found['open'] or ''}{name}{found['close'] or ''}" for name in _NUMBERS if found[name])
        return cls(len(found["indent"]), next(numbers, found["kind"]))

    def is_below(self, heading: _Line) -> bool:
        """Return whether an item belongs to the list of a heading, which may be an item itself."""
        return self.kind != heading.kind or self.indent > heading.indent


@dataclass(slots=True)
class _List:
    """The list that a heading introduces.

    Attributes:
        governor: Words of the heading that apply to each item.
        heading: The line of the heading, if the list is below it.
        first: The line of the first item.
    """

    governor: str
    heading: _Line | None = None
    first: _Line | None = None

    def goes_on(self, between: str, line: _Line | None) -> bool:
        """Return whether a sentence belongs to the list, given the text before it, and its line if it begins one."""
        if line is None:
            return self.heading is None and _SEMICOLON.fullmatch(between) is not None
        if self.heading is None or not line.kind:
            return False
        self.first = self.first or line
        return line.is_below(self.heading) and (line.kind == self.first.kind or line.indent > self.first.indent)


@dataclass(frozen=True, slots=True)
class GovernedSentence:
    """A sentence, and the words of a heading that apply to it.

    Attributes:
        sentence: The sentence.
        governor: Words that deny, or advise against, the item at its beginning; "" for none.
    """

    sentence: Piece
    governor: str = ""


def find_list_governor(text: str, lang: Lang) -> str:
    """Return the words that apply to each item of the list that a heading introduces; "" if it denies none of them.

    >>> find_list_governor("Things to avoid", "en"), find_list_governor("Do not take these", "en")
    ('avoid', 'Do not take')
    >>> find_list_governor("Avoid dehydration", "en"), find_list_governor("以下食物不能吃", "zh")
    ('', '避免')
    """
    # A mere "no" answers a question.
    if len(text) > _MAX_HEADING_CHARACTERS or not strip_yes_no(text):
        return ""
    if _DONTS.fullmatch(text):
        return "do not"
    if _CONTRAINDICATIONS.fullmatch(text):
        return "禁用于" if lang == "zh" else "contraindicated in"
    governor = find_governor(text)
    if _COMPLETE.search(governor):
        return ""
    names_nothing = _GENERIC.fullmatch(text, len(governor))
    if governor == text or (names_nothing and (advises_against(governor) or find_negator(governor, lang))):
        if governor != text and _TOPIC.match(governor) and not _POINTER.search(text):
            return ""
        # "Do not do the following" says "do not", "do not take these" "do not take".
        return _FINAL_DO.sub("", governor)
    stance = read_stance(text)
    # "Avoidance" has no subject, 忌口 and 禁忌 are what such lists are called.
    denies = stance.polarity == "denied" and (stance.subject or (lang == "zh" and advises_against(text)))
    return _AVOID[lang] if denies and _GENERIC.fullmatch(stance.subject) and not asks_yes_no(text.lower()) else ""


def find_listing_verb(text: str, lang: Lang) -> str:
    """Return a heading and its verb at the start of a clause; "" if there are none.

    >>> find_listing_verb("foods to avoid include coffee", "en"), find_listing_verb("symptoms include fever", "en")
    ('foods to avoid include', '')
    """
    found = _LISTING_VERB.search(text, 0, _MAX_HEADING_CHARACTERS)
    return text[: found.end()].rstrip() if found and find_list_governor(text[: found.start()], lang) else ""


def is_category(text: str) -> bool:
    """Return whether a text is the name of a category that needs examples: "foods", 药物."""
    return re.fullmatch(_CATEGORY, text, re.IGNORECASE) is not None


def govern_sentences(text: str, lang: Lang) -> Iterator[GovernedSentence]:
    """Yield the sentences of a text without markup, but not its headings, each with the words that apply to it."""
    scope: _List | None = None
    line = _Line(0, "")
    end = 0
    for sentence in split_sentences(text):
        between = text[end : sentence.start]
        opens_line = end == 0 or "\n" in between
        if opens_line and sentence.text.isdigit():
            continue  # the number of an item that is indented
        end = sentence.end
        if opens_line:
            line = _Line.read(between.rpartition("\n")[2])
        governed = scope is not None and scope.goes_on(between, line if opens_line else None)
        if governed and not opens_line and _COLON.search(sentence.text):
            governed = False  # "Avoid: alcohol; eat: rice"
        if scope is not None and not governed and (opens_line or scope.heading is None):
            scope = None  # within an item, what follows its first sentence does not end the list
        governor = scope.governor if scope is not None and governed else ""
        introduced, rest = _find_heading(sentence, line, text, lang)
        scope = introduced or scope
        if rest is not None:
            yield GovernedSentence(rest, governor)


def _find_heading(sentence: Piece, line: _Line, text: str, lang: Lang) -> tuple[_List | None, Piece | None]:
    """Look for a heading in a sentence, given the line that it is in.

    Returns:
        The list that it introduces, None for none; and the sentence, without a heading that ends it, or None if there
        is nothing else.
    """
    if ending := _LINE_END.match(text, sentence.end):
        below = _Line.read(ending["next"])
        if below.kind and (ending["colon"] or below.is_below(line)):
            *before, last = split_items(sentence)
            governor = find_list_governor(last.text, lang)
            # "What to do and what to avoid" introduces both.
            if governor and all(is_condition(one.text) or _TIME.search(one.text) for one in before[-1:]):
                end = before[-1].end if before else sentence.start
                rest = replace(sentence, text=text[sentence.start : end], end=end)
                return _List(governor, line), rest if before else None
    heading = None
    if _COLON.search(sentence.text):
        heading = find_heading_before_colon(list(split_items(sentence)), text, lang)
    return _List(heading[1]) if heading else None, sentence


def find_heading_before_colon(items: Sequence[Piece], text: str, lang: Lang) -> tuple[Piece, str] | None:
    """Return the heading in a sentence whose list is in the same sentence, and its governor; None if there is none."""
    for place, item in enumerate(items[:-1]):
        if not _COLON.match(text, item.end) or not (governor := find_list_governor(item.text, lang)):
            continue
        if find_governor(item.text) == item.text:
            return item, governor
        if not _EXPLANATION.match(text, item.end) and (place == 0 or is_condition(items[place - 1].text)):
            return item, governor
    return None
