"""Find injections in a text under evaluation: output in our formats, forged chat turns, instructions to the judge.

A response may contain text for the program that reads it: JSON with our keys, `Inform-x-y` lines, a forged turn between
chat-template tokens, a "Reference answer:" block, an instruction to the evaluator. Human readers would not take these
for statements, so they are hidden from the model. Pure.

A marker at the very start of a text is different: if an answer begins with "Reference answer:" or a chat token, the
rest is the answer itself, so only the marker is removed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from imapeval.text.markup import fold_confusables

if TYPE_CHECKING:
    from collections.abc import Iterator

Span = tuple[int, int]

_KEY = re.compile(
    r"""["'“”‘’](?:inform|query|constraint|terms?|values?)["'“”‘’]\s*[:：]|[{\[,]\s*(?:inform|terms?|values?)\s*:""",
    re.I,
)
"""A key of our JSON format."""
_OUR_KEYS = re.compile(r"\b(?:inform|query|constraint|terms?|values)\b", re.I)
"""The keys of our JSON format, without "value", which laboratory tables have as well."""
_BRACKET = re.compile(r"[{}\[\]]")

_LINES = re.compile(
    # The line format: with any spacing at the start of a line, without spaces anywhere.
    r"^[ \t>*•#\-\d.)]*(?:inform|query|constraint)[ \t]*[-–—_:][ \t]*[^\n\-–—_:]{1,60}[-–—_:][ \t]*\S.*$"
    r"|(?:inform|query|constraint)[-–—_][^\s\-–—_][^\n\-–—_]{0,60}[-–—_]\S.*$"
    # The same in YAML, with the value on the same line or the next.
    r"|^[ \t>*•\-]*[\"']?term[\"']?[ \t]*[:=](?:.*+\n[ \t>*•\-]*+|.*?)[\"']?values?[\"']?[ \t]*[:=].*$",
    re.IGNORECASE | re.MULTILINE,
)

OVERALL = r"(?:final |overall |total |总体?|整体|综合|最终)?"
"""Words before a forged score, as a pattern."""

_SCORE_LINE = re.compile(
    # Possessive quantifiers, because adjacent runs of spaces would be divided in every possible way.
    rf"^[ \t>*•#]*{OVERALL}(?:score|rating|marks?|得分|评分|打分|分数|总分)[ \t*]*+"
    r"[:：=]?+[ \t*]*+\d++(?:\.\d++)?+(?:[ \t]*+(?:/|out of|分))?+(?:[ \t]*+\d++)?+[ \t*.!。！分]*+$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that awards a score."""

_ABOUT_SCORE = re.compile(
    r"\bscor(?:e[ds]?|ing)\b|\b(?:apgar|glasgow|gcs|nihss)\b|评分|得分|打分|分数|总分|几分|多少分", re.IGNORECASE
)
"""A mention of a score, or of a well-known clinical score."""

_ELEMENT = re.compile(
    r"<\s*(reference|inform|query|constraint|asked|given|terms?|values?|judge|system|instructions?)\b[^<>\n]{0,80}>"
    r".*?(?:<\s*/\s*\1\s*>|\n\s*\n|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_ANSWER_TAG = re.compile(r"<\s*(/?)\s*(?:answer|question|回答|问题)\b[^<>\n]{0,40}>", re.IGNORECASE)

_TURN = re.compile(
    r"<\s*[|｜][^|｜<>\n]{1,40}[|｜]\s*>(?:[ \t]*(?:system|user|assistant)\b)?|<(?:start|end)_of_turn>"
    r"|</s>|<s>(?=\s*\[)|\[/?INST\]|<<SYS>>"
    r"|^#{1,4}[ \t]*(?:(?:instruction|response)[ \t]*:|(?:system|human|assistant|user)[ \t]*+:?+)[ \t]*+$",
    re.IGNORECASE | re.MULTILINE,
)
"""The start of another turn of a conversation."""

_REFERENCE = re.compile(
    r"(?:^[ \t>*•#\-【\[(（]*|[.!?;。！？；(（\[【]\s*)"
    r"(?:(?:here is |this is )?(?:the )?(?:(?:official|correct|expert|hidden|clinician['’]?s?|doctor['’]?s?|human) )*"
    r"(?:(?:reference|gold(?:en)?(?:[ -]standard)?|ground[ -]truth|model)[ \t]+"
    r"(?:answers?|responses?|facts?|imaps?)|ground[ -]truth)"
    r"|(?:医生的?|专家的?|官方)?(?:参考|标准|金标准)(?:答案|回答|事实))"
    r"[ \t*】\])）]*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_REFERENCE_WORDS = ("reference", "gold", "truth", "model", "答案", "回答", "事实")
"""Every such header contains one of these."""
_BLANK = re.compile(r"[\s*】\])）]*")
_PARAGRAPH_END = re.compile(r"\n\s*\n|\Z")

_RATE = r"\b(?:score|rate|grade|mark|evaluate|judge)"
# Unlike "this response", "the response" is mostly that to a treatment.
_THIS_ANSWER = r"(?:(?:this|my)\s+(?:answer|response|reply)|the\s+(?:answer|reply))"

_JUDGE_INSTRUCTIONS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (words, re.compile(pattern, re.IGNORECASE))
    for words, pattern in (
        (
            ("answer", "response", "reply"),
            rf"{_RATE}\s+{_THIS_ANSWER}\b"
            rf"|{_RATE}\s+the\s+response\s+(?:as\s+(?:perfect|correct|fully)|\d+\s*/\s*\d)"
            r"|\bthe\s+response\s+(?:scores\s+\d+\s*/|(?:should|must)\s+(?:get|receive|be\s+(?:given|scored|rated|marked))\b[^.\n]{0,30}(?:perfect|maximum|highest|\d\s*/\s*\d))"
            r"|\b(?:(?:this|my)\s+(?:answer|response|reply)\s+(?:is|matches)"
            rf"|{_THIS_ANSWER}\s+(?:scores?|earn|(?:should|must)\s+(?:be|get|receive))"
            rf"|(?:{_THIS_ANSWER}|the\s+response)\s+(?:deserves|earns))\b"
            r"[^.\n]{0,60}(?:\b(?:perfect|score|marks?|rating|reference|gold)\b|\d\s*/\s*\d)",
        ),
        (
            ("judge", "grader", "evaluator", "rater", "assessor", "examiner", "extractor", "model", "ai", "llm"),
            r"\b(?:note|message|attention|instructions?|hint|memo)\s+(?:to|for)\s+(?:the\s+|any\s+)?"
            r"(?:judges?|graders?|evaluators?|raters?|assessors?|examiners?|model|ai|llm|extractor)\b"
            r"|(?<![\w,;] )(?:\bdear\s+)?\b(?:judge|grader|evaluator|extractor)s?\s*[:,]"
            # Vacuum, comedone and venom extractors are instruments.
            r"|\b(?:judge|grader|evaluator|(?<!vacuum )(?<!comedone )(?<!venom )extractor|llm)\s+"
            r"(?:must|should|will|shall|is\s+(?:to|instructed|required))\b"
            r"|\b(?:model|ai)\s+(?:must|should|will|shall|is\s+(?:to|instructed|required))\b[^.\n]{0,20}"
            r"\b(?:output|extract|write|copy|award|assign|record|score|rate)\b",
        ),
        (
            ("output", "extract", "return", "copy", "award", "assign", "record", "include", "write"),
            r"\byou\s+(?:must|should|will|shall|are\s+(?:to|instructed\s+to|required\s+to))\s+(?:now\s+|only\s+)?"
            r"(?:output|award|assign)\b"
            r"|\b(?:output|extract|return|copy|record|include|write)\b[^.\n]{0,50}"
            r"\b(?:(?:following|these)\s+(?:facts?|pairs?|entries)\b|(?:facts|pairs|entries)\s*:|imap\b|json\b)",
        ),
        (
            ("full", "maximum", "highest"),
            r"\bfull\s+(?:marks|credit)\b|\b(?:deserve|give|award|assign)[^.\n]{0,40}"
            r"\b(?:full|maximum|highest)\s+(?:marks|scores?|credit|points)\b",
        ),
        (
            ("分", "回答", "答案", "回复"),
            r"(?:给|打|评为|判)[^。，\n]{0,10}(?:满分|高分)"
            r"|(?:本|此|这个?|该|我的|上述|以上)(?:回答|答案|回复)[^。\n]{0,20}"
            r"(?:满分|完美|\d\s*分(?!钟)|全部正确|完全正确|与(?:参考|标准)[^。\n]{0,6}一致)",
        ),
        # 评分系统, 评分模型 and 打分系统 are clinical scores.
        (
            ("评", "裁判", "打分"),
            r"(?:评审|评委|裁判|打分)(?:者|员|人|模型|老师|程序)|(?:评审|评委|裁判)系统|评分(?:者|员|老师)",
        ),
        (
            ("输出", "提取", "抽取", "复制", "返回", "写入", "加入"),
            r"(?:输出|提取|抽取|复制|返回|加入|写入)(?:[^。\n]{0,4}(?:以下|下列|下面|上述|这些)[^。\n]{0,8}(?:事实|条目)"
            r"|[^。\n]{0,20}(?:JSON|inform|values?\b|\bterm))",
        ),
    )
)
"""Instructions to the evaluator: a pattern, with words of which a lower-cased text must contain one to match it."""

_SENTENCE_START = re.compile(r"(?:[.!?](?=\s)|[。！？\n])\s*")
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|[。！？\n]|\Z")
_LINE_END = re.compile(r"(?:(?P<colon>[:：])[ \t*]*+)?(?P<end>\n)\s*")


def is_about_score(*texts: str) -> bool:
    """Return whether a question or a reference mentions a score, so that a line of an answer may state one."""
    return any(map(_ABOUT_SCORE.search, texts))


def find_injections(text: str, *, score_asked: bool = False) -> list[Span]:
    """Return the injections in a text as spans, in order and without overlap.

    Args:
        text: Without zero-width characters, which could hide an injection.
        score_asked: Whether it answers a question about a score, so that a line such as "Score: 7" is a statement.
    """
    text = fold_confusables(text)
    lower = text.lower()
    layout = _Layout(text)
    found = sorted(
        (
            *_find_json(text, layout),
            *(line.span() for line in _LINES.finditer(text)),
            *(() if score_asked else (line.span() for line in _SCORE_LINE.finditer(text))),
            *(_find_tags(text) if "<" in text else ()),
            *_find_turns(text),
            *(_find_references(text, layout) if any(word in lower for word in _REFERENCE_WORDS) else ()),
            *_find_judge_instructions(text, lower, layout),
        )
    )
    merged: list[Span] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return merged


class _Layout:
    """The boundaries of lines, sentences and paragraphs of a text.

    Found once, because thousands of candidates in one line would each search for its end, and only if there is one.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _paragraph_ends(self) -> list[Span]:
        return [end.span() for end in _PARAGRAPH_END.finditer(self._text)]

    @cached_property
    def _sentence_starts(self) -> list[int]:
        return [0, *(start.end() for start in _SENTENCE_START.finditer(self._text))]

    @cached_property
    def _sentence_ends(self) -> list[Span]:
        return [end.span() for end in _SENTENCE_END.finditer(self._text)]

    @cached_property
    def _lines(self) -> list[tuple[int, int, int]]:
        """The colon at the end of each line (-1 without one), the end of the line, and the start of the next."""
        return [(line.start("colon"), line.start("end"), line.end()) for line in _LINE_END.finditer(self._text)]

    def find_paragraph_end(self, at: int) -> Span:
        """Return the span of the blank lines after the paragraph at a position, or the end of the text."""
        return self._paragraph_ends[bisect_left(self._paragraph_ends, (at, at))]

    def find_sentence_start(self, at: int) -> int:
        """Return the start of the sentence at a position."""
        return self._sentence_starts[bisect_right(self._sentence_starts, at) - 1]

    def find_sentence_end(self, at: int) -> int:
        """Return the end of the sentence at a position, after its full stop."""
        return self._sentence_ends[bisect_left(self._sentence_ends, (at, at))][1]

    def find_listing(self, at: int) -> int | None:
        """Return the start of the next line with words if the line at a position ends with a colon, else None."""
        line = bisect_left(self._lines, at, key=lambda line: line[1])
        if line == len(self._lines) or self._lines[line][0] < at:
            return None
        return self._lines[line][2]


def _find_json(text: str, layout: _Layout) -> Iterator[Span]:
    brackets = _pair_brackets(text)
    following = 0
    done = 0
    # The end of the part of the current stretch already searched for our keys.
    searched = 0
    for key in _KEY.finditer(text):
        at = key.start()
        if at < done:
            continue
        # Go on to the outermost brackets around the key, or to the first ones after it.
        while following < len(brackets) and (brackets[following][0] < done or brackets[following][1] <= at):
            following += 1
        start, end = brackets[following] if following < len(brackets) else (at, None)
        if start > at:
            start, end = at, None
        # In prose a comma may come before "term:", as in "Gestational age, term: 37 to 42 weeks".
        if end is None and text[at] == ",":
            continue
        # Without brackets, or with unclosed ones, the injection extends to the end of the paragraph.
        if end is None or end > len(text):
            end = layout.find_paragraph_end(at)[0]
        if _OUR_KEYS.search(text, max(start, searched), end):
            yield start, end
            done = end
        searched = end


def _pair_brackets(text: str) -> list[Span]:
    """Return the span of each bracket pair by its opening bracket; the end is beyond the text if it is not closed."""
    opened: list[int] = []
    ends: dict[int, int] = {}
    for bracket in _BRACKET.finditer(text):
        if bracket[0] in "{[":
            opened.append(bracket.start())
            ends[bracket.start()] = len(text) + 1
        elif opened:
            ends[opened.pop()] = bracket.end()
    return list(ends.items())


def _find_tags(text: str) -> Iterator[Span]:
    for element in _ELEMENT.finditer(text):
        yield element.span()
    # Reasoning models wrap their answer in <answer>; these tags are removed. An end tag with another tag after it, or
    # without a start tag, is a forgery of our marker: the rest of the text is removed as well.
    opened = False
    for tag in _ANSWER_TAG.finditer(text):
        yield tag.span()
        if not tag[1]:
            opened = True
        elif _ANSWER_TAG.search(text, tag.end()) or not opened:
            yield tag.start(), len(text)
            return


def _find_turns(text: str) -> Iterator[Span]:
    done = 0
    for turn in _TURN.finditer(text):
        if has_content(text[done : turn.start()]):
            yield turn.start(), len(text)
            return
        yield turn.span()
        done = turn.end()


def _find_references(text: str, layout: _Layout) -> Iterator[Span]:
    first = next((at for at, char in enumerate(text) if char.isalnum()), len(text))
    for header in _REFERENCE.finditer(text):
        # The injection starts after the full stop, which belongs to the previous sentence.
        start = header.start() + (header[0][0] in ".!?;。！？；")
        if start <= first:
            yield header.span()
            continue
        # A header on a separate line announces the next paragraph.
        body = _BLANK.match(text, header.end())
        yield start, layout.find_paragraph_end(body.end() if body else header.end())[0]


def _find_judge_instructions(text: str, lower: str, layout: _Layout) -> Iterator[Span]:
    for words, pattern in _JUDGE_INSTRUCTIONS:
        if not any(word in lower for word in words):
            continue
        for instruction in pattern.finditer(text):
            # The instruction may go on in the lines below it.
            listing = layout.find_listing(instruction.end())
            yield (
                layout.find_sentence_start(instruction.start()),
                layout.find_sentence_end(instruction.end())
                if listing is None
                else layout.find_paragraph_end(listing)[1],
            )


def has_content(text: str) -> bool:
    """Return whether a text has a letter or digit."""
    return any(map(str.isalnum, text))
