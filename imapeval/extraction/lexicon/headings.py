"""Headings that advise against, or deny, all that is listed behind or below them: "Avoid:", "What not to do"."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import split_items, split_sentences
from imapeval.text.negation import advises_against, find_governor, find_negator, read_stance
from imapeval.text.yes_no import strip_yes_no

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from imapeval.extraction.lexicon.clauses import Piece
    from imapeval.types import Lang

_GENERIC = re.compile(
    r"(?>\s|\b(?:a|all of|also|an|and|any|as|be|certain|common|do|done|eat|eaten|eating|else|example|following|for"
    r"|i|in|include|includes|including|is|are"
    r"|it|like|must|need|needed|necessary|of|or|other|patients?|please|recommended|advised|advisable|allowed|safe|should|some|such|take"
    r"|taken|taking|that|the|these|this|those|to|try|use|used|using|what|which|you|your|activity|activities|actions?|behaviou?rs?|beverages?|drinks?"
    r"|drugs?|exercises?|foods?|habits?|items?|medications?|medicines?|practices?|products?|substances?|things?)\b"
    r"|以下|下列|这些|这类|如下|哪些|几[点种类个项]|患者|病人|您|你|饮食|食物|食品|食材|饮品|事[项情]?|行为|习惯|情况|活动|运动|药物|药品|项目"
    r"|方面|东西|请|应[该当]?|需要?|要|做|去|的|吃|喝|服|用|建议|推荐|尽量|注意|使用|食用|服用|进食|进行|接触|例?如|比如|包括|口|可以?|能|宜|[是有等])*+",
    re.IGNORECASE,
)
"""What a heading may say besides its negation: nothing of its own, unlike "avoid dehydration"."""
_DONTS = re.compile(r"(?:the )?don['’]?ts", re.IGNORECASE)
_CONTRAINDICATIONS = re.compile(
    r"(?:(?:the|absolute|relative|main) )*contra-?indications?|(?:绝对|相对|主要)?禁忌[症证]", re.IGNORECASE
)
_AVOID: Mapping[Lang, str] = {"en": "avoid", "zh": "避免"}
# "Do not take" wants an object, "do not smoke" has none.
_COMPLETE = re.compile(r"\bsmoke$", re.IGNORECASE)
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
_LINE_END = re.compile(r"[ \t]*+(?P<colon>[:：])?+[ \t?？]*+\n(?:\s*\n)?+(?P<next>[ \t]*\S{1,5})")
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
            return _SEMICOLON.fullmatch(between) is not None
        if self.heading is None:
            return False
        if self.first is None:
            self.first = line
            return line.is_below(self.heading) if line.kind else between.count("\n") == 1
        if line.kind and self.first.kind:
            return line.is_below(self.heading) and (line.kind == self.first.kind or line.indent > self.first.indent)
        return line.kind == self.first.kind and between.count("\n") == 1


@dataclass(frozen=True, slots=True)
class GovernedSentence:
    """A sentence, and the words of a heading that apply to it.

    Attributes:
        sentence: The sentence.
        governor: Words that deny, or advise against, the item at its beginning; "" for none.
        wholly: Whether they apply to all of it, as behind a colon.
    """

    sentence: Piece
    governor: str = ""
    wholly: bool = False


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
        # "Do not do the following" says "do not", "do not take these" "do not take".
        return _FINAL_DO.sub("", governor)
    stance = read_stance(text)
    denies = stance.polarity == "denied" and (stance.subject or advises_against(text))
    return _AVOID[lang] if denies and _GENERIC.fullmatch(stance.subject) else ""


def find_listing_verb(text: str, lang: Lang) -> str:
    """Return a heading and its verb at the start of a clause; "" if there are none.

    >>> find_listing_verb("foods to avoid include coffee", "en"), find_listing_verb("symptoms include fever", "en")
    ('foods to avoid include', '')
    """
    found = _LISTING_VERB.search(text, 0, _MAX_HEADING_CHARACTERS)
    return text[: found.end()].rstrip() if found and find_list_governor(text[: found.start()], lang) else ""


def is_generic(text: str) -> bool:
    """Return whether a text names nothing in particular: "foods", 以下药物."""
    return _GENERIC.fullmatch(text) is not None


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
        if scope is not None and not governed and (opens_line or scope.heading is None):
            scope = None  # within an item, what follows its first sentence does not end the list
        governor = scope.governor if scope is not None and governed else ""
        wholly = scope is not None and scope.heading is None
        introduced, below, rest = _find_heading(sentence, line, text, lang)
        if introduced:
            scope = _List(introduced, line if below else None)
        if rest is not None:
            yield GovernedSentence(rest, governor, wholly=wholly)


def _find_heading(sentence: Piece, line: _Line, text: str, lang: Lang) -> tuple[str, bool, Piece | None]:
    """Look for a heading in a sentence, given the line that it is in.

    Returns:
        Its governor, "" if there is none; whether its list is below it; and the sentence, without a heading that ends
        it, or None if there is nothing else.
    """
    if ending := _LINE_END.match(text, sentence.end):
        below = _Line.read(ending["next"])
        if ending["colon"] or (below.kind and below.is_below(line)):
            *before, last = split_items(sentence)
            if governor := find_list_governor(last.text, lang):
                end = before[-1].end if before else sentence.start
                rest = replace(sentence, text=text[sentence.start : end], end=end)
                return governor, True, rest if before else None
    for item in split_items(sentence) if _COLON.search(sentence.text) else ():
        if _COLON.match(text, item.end) and (governor := find_list_governor(item.text, lang)):
            return governor, False, sentence
    return "", False, sentence
