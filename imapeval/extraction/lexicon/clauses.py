"""Split text into sentences, clauses and list items, with their positions.

Pure; uses only punctuation, list markers and conjunctions. Both languages share the code, because answers mix them
("建议做CT, MRI and 心电图").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.coordination import is_bare_name, join_coordinated
from imapeval.text.language import HAN
from imapeval.text.negation.governors import find_governor
from imapeval.text.negation.yes_no import asks_yes_no, read_verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A sentence ends at a line break, at full-width or unambiguous ASCII punctuation, or at a full stop that is followed by
# white space and does not belong to a list marker ("1.") or a common abbreviation.
_SENTENCE_END = re.compile(
    # The stop, which is rare, comes first: looking back at every character is slow.
    r"\n+|[。！？；;!?…]+|\*\*+|\.(?:(?=\s+[A-Z])(?:(?<=\b[ap]\.m\.)(?!\s+[A-Z]\w*day\b)|(?<=[/°][A-Za-z]\.)|(?<=\d[A-Za-z]\.)|(?<=\d\s[A-Za-z]\.))"
    r"|(?<!(?<!['’])(?<!\b[Hh]epatitis )(?<!\b[Vv]itamin )(?<!\b[Ii]nfluenza )\b[A-Za-z]\.)(?<!\bDr\.)(?<!\b[Aa]pprox\.(?=\s?\d))(?<!\b[Mm]ax\.(?=\s?(?:\d|dos|per\b|daily\b)))(?<!\bSt\.)(?<!\bProf\.)(?<!\bFig\.)"
    r"(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bvs\.)(?<!\betc\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bNo\.(?=\s?\d))(?<!^\d\.)(?<!^\d\d\.)(?=\s|$|[A-Z]))",
    re.MULTILINE,
)

# Between items: commas, the Chinese enumeration comma, colons before text, dashes with spaces, conjunctions, and words
# that introduce examples. Common words that contain 和, 及 or 与 are not split.
_ITEM_END = re.compile(
    r",(?!\d{3}\b)(?!\s+even (?:if|when)\b)(?!\s(?:especially|particularly) (?:after|at|before|during|in|on|with)\b)|，(?!(?:尤其|特别)是?在[^，。；]{1,12}(?<!时)(?:[，。；]|$))|[、：?？]|:(?=\s|$)|(?<!\s)\s++[-–—]+\s+|[(（\[【](?![A-Za-z0-9αβγ+./ -]{1,12}[)）\]】])|[)）\]】]"
    r"|(?<!\s)\s++(?:and/or|and(?! so on)|(?<!\bwhether )or(?! (?:two|three|more|less|so|later)\b)(?!(?<=\d or)(?<!, \d or)(?<!, \d\d or)(?<!, \d\d\d or) \d)|nor(?! (?:is|are|was|were|has|have|had|do|does|did|can|could|may|might|must|should|will|would)\b)|as well as|along with|such as"
    r"|including,? but not limited to,?|(?<!\bnot )including|for example|e\.g\.?,?|i\.e\.?,?|(?<!\bnothing )(?<!\banything )but"
    r"|(?<!\bnot )(?<!\bis )(?<!\bare )(?<!\bwas )because(?! of\b)|while|whereas|followed by)\s+"
    r"|以及|或者|(?<=\w)(?<![需不重主])要么(?=\w)|还有|并且|而且|(?<![宜能要议可])同时|此外|另外|其次|包括但不仅?限于|(?<!不)包括|例如|比如|(?<![是非])因为|(?<!\w)由于|但是|然而|(?<!\w)但|(?<!\w)[而且](?=如[果有]|若|一旦|当)"
    r"|(?<![饱温缓平中总柔暖祥随谐])和(?![缓谐平解睦蔼气])|(?<![以涉普波累顾殃危触提推闻扪])及(?![时早其格至]|以[上下])"
    r"|(?<![即倘假设])或(?!许|多|少|以[上下])|(?<=[\w)）])等(?:等|的?(?:药物?|检查|措施|治疗|方[法式案]|症状|项目|指标)(?:方[法式案]|措施)?)?(?=[，,、。；;：:]|$)",
    re.IGNORECASE,
)

# A word that makes a short text a question, apart from its mark.
_ASKING = re.compile(r"(?:where|why)\b|.*[吗么呢]$", re.IGNORECASE)
_COMMA = re.compile("[,，]")
_MAX_ANSWERED_CHARACTERS = 30
"""Longest name before a question mark and a yes or no, in characters."""
# Behind the conjunction of a limit: "65 and over", "5 mg or higher".
_LIMITED = re.compile(r"(?<![^\s,;])[^\s\d,;]*\d[^\s,;]*(?: [a-z]+)?(?: of age)?$", re.IGNORECASE)
_LIMITING = re.compile(
    r"(?:above|below|beyond|higher|lower|older|over|under|up|upwards?|younger)"
    r"(?=\W*$|[,.;:)]| \(| (?:and|are|at|can|for|has|have|if|in|is|may|must|needs?|on|or|should|who|with|without)\b)",
    re.IGNORECASE,
)
_LIMIT_CONJUNCTIONS = ("and", "or", "and/or")
_MAX_LIMIT_CHARACTERS = 24
"""Characters before a conjunction that are searched for the number of a limit."""
# Not behind a comma, where each part is a fact of its own.
_SEQUENCE = re.compile(r"(?<!,)\s+followed by\s+", re.IGNORECASE)
_MAX_SEQUENCE_CHARACTERS = 160
"""Longest item that names what follows each other, in characters; no order is compared in a longer one."""

_MARKER = re.compile(
    # Not the sign of a limit: "> 102 cm".
    r"^(?:\s|>(?!\s?(?:=|(?!\d{1,2}[.)]\s)\d))|[-*•·●▪#✅✓✔☑❌✗✘✖🚫⛔]\ufe0f?|\*\*|[(（]?\d{1,2}(?:[.、)）](?!\d)|．)|[①-⑳]|[(（]?[一二三四五六七八九十]{1,2}[、)）．])+"
)
# A number within a line that may begin an item: "1) rest 2) ice", （1）休息（2）冷敷, ①休息②冷敷, 1、休息 2、冷敷.
_NUMBER = re.compile(
    rf"(?P<circled>[①-⑳])\s*|(?P<open>[(（])(?:(?P<in_brackets>\d{{1,2}})|(?P<letter>[a-h]))[)）]\s*"
    r"|(?<![\w.,/(（-])(?P<before_bracket>\d{1,2})[)）](?!\d)\s*|(?<![\w.,/(（-])(?P<before_stop>\d{1,2})[.、．](?=\s*[^\s\d])\s*"
    rf"|(?<=[{HAN}])(?:(?P<han_bracket>\d{{1,2}})[)）]|(?P<han_stop>\d{{1,2}})[.、．])(?=\s*[{HAN}])\s*"
)
_STYLES = {"in_brackets": "()", "before_bracket": ")", "han_bracket": ")", "before_stop": ".", "han_stop": "."}
_SECOND = ("2)", "2）", "2.", "2、", "2．", "②", "b)", "b）")
_CONJUNCTION = re.compile(
    r"(?<![ \t,，;；、])[ \t,，;；、]*+(?:(?:(?<![a-z])(?:and|or)|以及|和|及|或)\s*)?\Z", re.IGNORECASE
)
_BRACKETS = {")": "(", "）": "（", "]": "[", "】": "【"}
_OPENING_BRACKETS = frozenset(_BRACKETS.values())
_PLAIN_BEFORE = re.compile("[A-Za-z0-9+]")
# A remark between a subject and its verb: "a high count (over 10) is rare".
_WITHIN_CLAUSE = re.compile(
    r"[(（](?!(?:if|when|unless)\b|如果?)[^()（）\n]{1,60}[)）](?:\s+(?:is|are|was|were|can|could|may|might|must|should|will|would|has|have|had|does|do)\b"
    r"|(?:通常|一般|也|常|多)?(?:是(?!否)|[会应需都]|均(?!衡)|可(?!乐)|能|引起|导致))",
    re.IGNORECASE,
)
_MAX_CONJUNCTION_CHARACTERS = 8
"""Characters before the number of an item that are searched for a conjunction."""
_CLAUSE_END = re.compile(r"[,，;；。]|\b(?:and|but)\b", re.IGNORECASE)
_MAX_GOVERNOR_CHARACTERS = 24
"""Characters before the number of an item that are searched for a negation of it."""
_TRIM = " \t\r\n\u3000*_#`\"'“”‘’·•.,;:!?，。；：！？、-–—…"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text. For pieces made by this module, `text == source[start:end]`.

    Attributes:
        text: The wording of the stretch.
        start, end: Its position, as character offsets.
        possible: Whether the words before it call it possible: every name in "it could be gout or an infection".
    """

    text: str
    start: int
    end: int
    possible: bool = False


@dataclass(frozen=True, slots=True)
class _Number:
    """The number of an item: its value, how it is written, and its place."""

    value: int
    style: str
    start: int
    end: int


def split_sentences(text: str) -> Iterator[Piece]:
    """Yield the sentences and lines of a text, and the items numbered within a line, without markers and punctuation."""
    ends = list(_join_answers(text, [(m.start(), m.end()) for m in _SENTENCE_END.finditer(text)]))
    numbers = [(number.start, number.end) for number in _find_numbers(text)]
    yield from _split(text, 0, sorted([*ends, *numbers]) if numbers else ends)


def _join_answers(text: str, ends: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield what ends a sentence, except between a name and the yes or no to it: "Beer? No"."""
    begin = 0
    for place, (start, end) in enumerate(ends):
        behind = ends[place + 1][0] if place + 1 < len(ends) else len(text)
        answered = text[start:end] in ("?", "？") and _names_answered(text, begin, start)
        if not answered or read_verdict(_COMMA.split(text[end:behind])[0].strip()) is None:
            yield start, end
        begin = end


def _names_answered(text: str, start: int, end: int) -> bool:
    """Return whether a question is no more than a name, as in "Beer?"."""
    if end - start > _MAX_ANSWERED_CHARACTERS or (name := trim_piece(text, start, end)) is None:
        return False
    return is_bare_name(name.text) and not (_ASKING.match(name.text) or asks_yes_no(name.text.lower()))


def split_items(sentence: Piece) -> Iterator[Piece]:
    """Yield the items of a sentence, as separated by commas, conjunctions and brackets."""
    ends = list(_join_sequences(sentence.text, list(_find_item_ends(sentence.text))))
    yield from _split(sentence.text, sentence.start, join_coordinated(sentence.text, ends))


def _find_item_ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield what may separate items, except brackets within a clause and closing brackets that none opened."""
    within = 0  # the end of the last bracket within a clause
    opened = 0
    for found in _ITEM_END.finditer(text):
        if found.start() < within or _states_limit(found):
            continue
        if found[0] in _OPENING_BRACKETS:
            if inside := _WITHIN_CLAUSE.match(text, found.start()):
                within = inside.end()
                continue
            opened += 1
        elif found[0] in _BRACKETS:
            # It may follow an abbreviation or a number, as in "(ALT)" or "2)", and then separates nothing.
            if not opened and _PLAIN_BEFORE.match(text, found.start() - 1):
                continue
            opened = max(0, opened - 1)
        yield found.span()


def _states_limit(found: re.Match[str]) -> bool:
    """Return whether what may separate items is the conjunction of a limit: "65 and over"."""
    if found[0].strip().lower() not in _LIMIT_CONJUNCTIONS or not _LIMITING.match(found.string, found.end()):
        return False
    before = found.string[max(0, found.start() - _MAX_LIMIT_CHARACTERS) : found.start()]
    return _LIMITED.search(before) is not None


def _join_sequences(text: str, ends: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield what separates items, except within "surgery followed by radiotherapy", whose parts have an order."""
    begin = 0
    for place, (start, end) in enumerate(ends):
        behind = ends[place + 1][0] if place + 1 < len(ends) else len(text)
        if behind - begin > _MAX_SEQUENCE_CHARACTERS or not _SEQUENCE.fullmatch(text, start, end):
            begin = end
            yield start, end


def _split(text: str, offset: int, boundaries: Iterable[tuple[int, int]]) -> Iterator[Piece]:
    start = 0
    for end, following in [*boundaries, (len(text), len(text))]:
        if piece := trim_piece(text, start, end, offset=offset):
            yield piece
        start = max(start, following)


def _find_numbers(text: str) -> list[_Number]:
    """Return the numbers of items that follow each other within a line, with the conjunctions before them.

    >>> [number.value for number in _find_numbers("Avoid 1) beer, 2) wine and 3) coffee for 2) weeks")]
    [1, 2, 3]
    """
    numbers: list[_Number] = []
    if not any(second in text for second in _SECOND):
        return numbers
    run: list[_Number] = []
    for found in [*_NUMBER.finditer(text), None]:
        number = found and _read_number(found, text)
        goes_on = number and run and number.value == len(run) + 1 and number.style == run[0].style
        if number and goes_on and not _is_cut_off(text, run[-1].end, number.start):
            run.append(number)
            continue
        numbers += run if len(run) > 1 else []
        run = [number] if number and number.value == 1 else []
    return numbers


def _is_cut_off(text: str, start: int, end: int) -> bool:
    """Return whether what is between two numbers ends a list: a line break, or words that deny what follows them."""
    last = _CLAUSE_END.split(text[max(start, end - _MAX_GOVERNOR_CHARACTERS) : end])[-1].strip(_TRIM)
    return "\n" in text[start:end] or (last != "" and find_governor(last) == last)


def _read_number(found: re.Match[str], text: str) -> _Number:
    name = str(found.lastgroup)
    if name == "circled":
        value = ord(found[name]) - ord("①") + 1
    elif name == "letter":
        value = ord(found[name]) - ord("a") + 1
    else:
        value = int(found[name])
    before = _CONJUNCTION.search(text, max(0, found.start() - _MAX_CONJUNCTION_CHARACTERS), found.start())
    return _Number(value, _STYLES.get(name, name), before.start() if before else found.start(), found.end())


def trim_piece(text: str, start: int, end: int, *, offset: int = 0) -> Piece | None:
    """Return `text[start:end]` without list markers and outer punctuation, or None if nothing is left.

    The position of `text` in its source, `offset`, is added to those of the piece.
    """
    if marker := _MARKER.match(text[start:end]):
        start += marker.end()
    while start < end and text[start] in _TRIM:
        start += 1
    # Opening brackets are never trimmed, so a bracket without an opening one stays without it.
    unopened = [closing for closing, opening in _BRACKETS.items() if text.find(opening, start, end) < 0]
    while start < end and (text[end - 1] in _TRIM or text[end - 1] in unopened):
        end -= 1
    if start == end or not any(char.isalnum() for char in text[start:end]):
        return None
    return Piece(text[start:end], offset + start, offset + end)
