"""Scores in completions. Pure.

A score is what the completion states as one: in the field of a JSON object, behind a label ("Score: 4", "评分：4分",
"<score>4</score>") that begins a sentence, behind "[RESULT]", or as a number that is the whole reply or its first line.
A number that merely occurs in it is none, nor is one that a condition or a refusal leads up to. It has to be a score of
the scale, and the only one that is stated. What is off the scale ("6", "4.5" among whole numbers, "8/10", "3 to 4",
`4e2`), missing, or said in two ways is an error with that name, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from imapeval.errors import ExtractionError
from imapeval.llm.structured import faults, json_objects
from imapeval.metrics.judges.parsing.scale import ONE_TO_FIVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.metrics.judges.parsing.scale import Scale


LABELS = ("score", "rating", "评分", "得分", "分数", "打分", "总分")
"""What stands before a score of nothing in particular."""


_MAXIMUM = r"(?:max(?:imum)?\b\.?|满分为?|(?:on\s++)?(?:a\s++)?scale\s++of\b)"

_NUMBER = (
    rf"(?P<number>(?<![\d.])[-−]?\d++(?:[.,]\d++)?+)(?:\s*+(?:/|／|(?:out\s+)?of\b|(?:points?\s++|分)?[,，(（\[]\s*+(?:/|out\s+of\b|{_MAXIMUM})|{_MAXIMUM})\s*+(?P<of>\d++))?+"
    r"(?:\s*+(?:[-–—~～至到或]|to\b|or\b)\s*+(?P<to>\d++))?+(?:[ \t]*+(?:分|颗?星|points?\b|stars?\b))?+(?![0-9A-Za-z])"
)
"""A number, as it may be said: "4", "4/5", "3 to 4", "4.5", "4,5" or "4分"."""

_MARKS = " \t\"'“”‘’`*_|"
_OPENING = rf"[{_MARKS}({{（【\[]"
_CLOSING = rf"[{_MARKS})}}）】\]]"

_END = (
    rf"(?={_CLOSING}*+(?:\Z|[\r\n。！]|<(?=[/|a-z])|[.!](?=[\s\"'*)<]|\Z)|(?:[,，;；、(（–—-]|(?<=\s)(?:because|as|since)\b|因为|由于)"
    r"(?!\s*+(?:\d|(?:or|and|maybe|perhaps|possibly|if|unless|which)\b|或|也许|可能|如果|若))))"
)
"""What may follow a score: the end of its sentence or line, or a reason; nothing that takes it back."""

_BARE = re.compile(
    rf"\s*+(?:[-•#>]++\s++)?+{_OPENING}*+(?:我?[给打评得])?+{_NUMBER}{_CLOSING}*+[.。!！]?{_CLOSING}*+(?:<[^<>\n]*+>\s*+)*+(?=\n|\Z)",
    re.IGNORECASE,
)
"""A line that is nothing but a number, perhaps with a special token of the model behind it."""
_VALUE = re.compile(rf"\s*+{_OPENING}*+{_NUMBER}{_END}", re.IGNORECASE)
"""The text in a field of a JSON object, whose reason may follow."""
_RESULT = re.compile(rf"\[RESULT\]\s*+[:：]?\s*+{_OPENING}*+{_NUMBER}", re.IGNORECASE)
_STATED = re.compile(_END, re.IGNORECASE)

_ITEM = re.compile(r"^[ \t]*+\d++[.)、）][ \t]++(?=\w)", re.MULTILINE)
"""The number of a list's item, as in "1. The answer is complete": it may be meant as a score, but need not."""
_FENCE = re.compile(r"```\w*")

_SENTENCE = 200
"""Characters before a label within which its sentence begins."""
_SENTENCE_END = re.compile(r".*(?:[\n。！？；!?;]|\.(?=\s))", re.DOTALL)
_LEADING = re.compile(rf"(?:{_OPENING}|[-–—•#>0-9.)、）])*+")
_MEMBER_END = re.compile(rf"[\s{_MARKS}]*+[,}}]")
"""After a field of an object."""
_HEDGE = re.compile(
    r"\b(?:if|unless|would|could|might|were|cannot|unable|refuse|decline)\b|\bcan['’]?t\b"
    r"|如果|若|假如|假设|除非|要是|无法|不能|难以|拒绝",
    re.IGNORECASE,
)
"""Before a label: the score is not given, or only under a condition."""
_REPORT = re.compile(
    r"\b(?:says?|said|saying|wr[io]tes?|written|reads?|states?|claims?|asks?|asked|tells?|told|orders?|demands?|contains?"
    r"|instructs?|instructions?|commands?|tries|tricks?|quotes?|examples?|e\.g\.)(?!\w)"
    r"|写|说|声称|要求|指示|指令|命令|引用|例如|比如|譬如|示例",
    re.IGNORECASE,
)
"""Before a colon and a label: someone else says the score, such as an answer with an instruction to the judge."""
_CORRECTION = re.compile(
    rf"(?:\b(?:no|rather|actually|instead|wait|correct(?:ed|ion)|sorry|on (?:reflection|second thoughts?)"
    rf"|(?:revised|lowered|raised|reduced|changed|corrected)(?: (?:down|up))?(?: to)?)\b|[-=]>|[→⇒]"
    rf"|更正|修正|纠正|改为|应为|应该?是|不对)"
    rf"[\s{_MARKS},:：，。.–—-]*+{_NUMBER}(?:{_END}|(?=\s(?:is|seems)\s(?:right|correct|better|fair)))",
    re.IGNORECASE,
)
"""After a score: another one takes its place, as in "Score: 4. Wait, actually 3."."""
_CLAUSE_END = re.compile(r"[,，;；]")
_DECLINED = re.compile(
    r"\bI(?:['’]?m| am| must)? (?:can ?not|can['’]?t|unable to|not able to|won['’]?t|will not|refuse to|decline to)\s"
    r"(?:\w+\s){0,2}(?:rate|score|evaluate|judge|assess|grade)\b(?!.{0,40}\b(?:high\w*|low\w*|above|below|more)\b)"
    r"|(?:无法|不能|不便|拒绝|不予)(?:对[^，。\n]{0,10})?(?:进行)?(?:评分|打分|评价|评估|给分)",
    re.IGNORECASE,
)
"""Beside a score: the model declines, and the score is one of its examples or of the answer's."""
_DENIED = re.compile(
    r"\A\W*+(?:if|unless|were|suppos\w+)\b|\A\W*+(?:如果|若|假如|假设|除非|要是)"
    r"|(?:\b(?:not|never)|n['’]t)\s(?:\w+\s){0,2}\Z|(?:不要|不得|别)\w{0,4}\Z",
    re.IGNORECASE,
)
"""Before "[RESULT]", in its sentence: it is not given, or only under a condition."""

_MAX_DIGITS = 9
"""Most digits of a number: no scale has more, and Python refuses thousands."""


@dataclass(frozen=True, slots=True)
class StatedScore:
    """A score that a completion states.

    Attributes:
        score: None where it is not on the scale.
        at: Where its number begins in the body; -1 where that is not known.
    """

    score: float | None
    at: int = -1


def read_score(completion: str, *, scale: Scale = ONE_TO_FIVE, labels: Sequence[str] = LABELS) -> float:
    """Return the one score that a completion states, in a field or behind a label of these, or alone.

    >>> read_score('{"score": 4}'), read_score("Accuracy: 3/5", labels=("accuracy",)), read_score("**4**")
    (4.0, 3.0, 4.0)

    Raises:
        ExtractionError: Kind "off-scale", "different-scores", "no-score" or one of `imapeval.llm.structured.faults`.
    """
    return read_scores(completion, {"": labels}, scale=scale, alone=True)[""]


def read_scores(
    completion: str, labels: Mapping[str, Sequence[str]], *, scale: Scale = ONE_TO_FIVE, alone: bool = False
) -> dict[str, float]:
    """Return a score for each name, each behind labels of its own: in a JSON object, or on lines.

    Args:
        completion: The completion.
        labels: The labels of each name.
        scale: Scale of the form.
        alone: Whether a number that is all there is may be one.

    Raises:
        ExtractionError: As of `read_score`.
    """
    body = strip_reasoning(completion)
    return {
        name: _require_one_score(find_scores(body, tuple(known), scale, completion, alone=alone), completion)
        for name, known in labels.items()
    }


def read_result(completion: str) -> float:
    """Return the score after "[RESULT]", the form of Prometheus.

    Raises:
        ExtractionError: As of `read_score`.
    """
    body = strip_reasoning(completion)
    found = list(_RESULT.finditer(body))
    stated = not _DECLINED.search(body) and any(
        _STATED.match(body, match.end()) and not _DENIED.search(_find_lead(body, match.start()) or "")
        for match in found
    )
    return _require_one_score([StatedScore(_parse_number(match, ONE_TO_FIVE)) for match in found if stated], completion)


def read_value(value: Any, completion: str) -> float:
    """Return the score that stands in a field of the completion's JSON.

    Raises:
        ExtractionError: As of `read_score`.
    """
    return _require_one_score([StatedScore(score) for score in _parse_field(value, ONE_TO_FIVE)], completion)


@dataclass(frozen=True, slots=True)
class _LabelPatterns:
    """What finds the labels of a score.

    Attributes:
        key: As the key of a field.
        before: Before a number; the group `sign` is there where a sign or verb divides them.
    """

    key: re.Pattern[str]
    before: re.Pattern[str]


@cache
def _compile_labels(labels: tuple[str, ...]) -> _LabelPatterns:
    names = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    label = (
        rf"(?:(?:the|my|final|overall|total|revised|corrected|new|最终|最后|总体|综合)[ _]*+){{0,3}}(?:{names})s?"
        r"(?:[ _]*+(?:score|rating|评分|得分|分数))?(?: (?:for|of) (?:the|this) (?:answer|response))?"
    )
    divider = rf"[\s{_MARKS}]*+(?P<sign>[:：=]|is\b|为|是)?+[\s{_MARKS}({{（【\[]*+"
    before = rf"(?P<tag><[ \t]*+)?(?<![0-9A-Za-z]){label}(?![A-Za-z])(?(tag)[ \t]*+>\s*+|{divider}){_NUMBER}"
    return _LabelPatterns(re.compile(label, re.IGNORECASE), re.compile(before, re.IGNORECASE))


def find_scores(
    body: str, labels: tuple[str, ...], scale: Scale, completion: str, *, alone: bool = True
) -> list[StatedScore]:
    """Return the scores that are stated, in their order.

    Args:
        body: The completion without thoughts.
        labels: What they may stand behind.
        scale: Scale of the form.
        completion: For errors.
        alone: Whether a number that is all there is may be one.

    Raises:
        ExtractionError: An object in it says something in two ways, or too many begin that do not end.
    """
    known = _compile_labels(labels)
    fields: list[StatedScore] = []
    # Of an object only its fields count: what other texts in it say is of no interest.
    prose: list[str] = []
    done = 0
    try:
        for start, end, record in json_objects.find_json_objects(body, completion):
            prose += body[done:start], " " * (end - start)
            done = end
            lead = _find_lead(body, start) or ""
            if _HEDGE.search(lead) or _REPORT.search(lead):
                continue
            for key, value in record.items():
                if known.key.fullmatch(key.strip()):
                    scores = _parse_field(value, scale)
                    fields += [
                        StatedScore(score, _locate_field_number(body, start, end, score, known, scale))
                        for score in scores
                    ]
    except ExtractionError as error:
        kind = "different-scores" if error.kind == "different-objects" else "no-score"
        raise faults.fault_error(kind, completion) from None
    text = "".join((*prose, body[done:]))
    if _DECLINED.search(text):
        return []
    for form in (_compile_scale(scale), _FENCE, _ITEM):
        text = form.sub(_blank_out, text)
    labelled = list(known.before.finditer(text))
    cut = text.rfind("{") if text.rfind("{") > text.rfind("}") else len(text)
    stated = [match for match in labelled if _is_stated(text, match, cut=cut)]
    if alone and not prose:
        stated += _find_bare_number(text)
    if stated and not fields:
        # One that is said of something else, or under a condition, leaves open which of them is meant.
        stated += [match for match in labelled if match["sign"] or match["tag"]]
    if stated or fields:
        stated += _CORRECTION.finditer(text, stated[0].end("number") if stated else done)
    said = [*fields, *(StatedScore(_parse_number(match, scale), match.start("number")) for match in stated)]
    return sorted(said, key=lambda found: found.at)


def _is_stated(text: str, found: re.Match[str], *, cut: int) -> bool:
    """Say whether a number behind a label is a score by itself, not part of a sentence about one.

    Args:
        text: What the match is of.
        found: The label and the number.
        cut: Where an object begins that does not end.
    """
    if not _STATED.match(text, found.end()):
        return False
    # Where an object has been cut off, the number may have been.
    if found.start() > cut and not _MEMBER_END.match(text, found.end()):
        return False
    head = _find_lead(text, found.start())
    if head is None:
        return False
    if _LEADING.fullmatch(head):
        return True
    lead = head.rstrip(_MARKS)
    if not lead.endswith((",", "，", ":", "：")) or _HEDGE.search(head):
        return False
    return lead.endswith((",", "，")) or not _REPORT.search(_CLAUSE_END.split(lead)[-1])


def _find_lead(text: str, at: int) -> str | None:
    """Return what stands before a place in its sentence, None where the sentence is too long to tell."""
    start = max(0, at - _SENTENCE)
    head = text[start:at]
    if ended := _SENTENCE_END.match(head):
        return head[ended.end() :]
    return None if start else head


def _find_bare_number(text: str) -> list[re.Match[str]]:
    """Return the number that is the whole text, or its first line with the reasons below it."""
    found = _BARE.match(text)
    if found is None:
        return []
    below = text[found.end() :]
    if any(map(_BARE.match, below.split("\n"))) or (below.strip() and faults.diagnose(below) == "refusal"):
        return []
    return [found]


def _locate_field_number(
    body: str, start: int, end: int, score: float | None, known: _LabelPatterns, scale: Scale
) -> int:
    """Return where the number of a field stands in its object, -1 where that cannot be told."""
    for found in known.before.finditer(body, start, end):
        quoted = body[found.start() - 1] == '"' and body[found.start() - 2] != "\\"
        if quoted and _parse_number(found, scale) == score:
            return found.start("number")
    return -1


def _blank_out(found: re.Match[str]) -> str:
    return " " * len(found[0])


@cache
def _compile_scale(scale: Scale) -> re.Pattern[str]:
    """Return what finds the scale, as forms name it: "Score (1-5):", "4分（满分5分）"."""
    low, high = re.escape(str(scale.low)), re.escape(str(scale.high))
    named = rf"{low}\s*(?:[-–—~～至到]|to|\.\.)\s*{high}|(?:out of|max\.?|满分)\s*{high}"
    return re.compile(rf"[(（\[]\s*(?:{named})\s*分?\s*[)）\]]", re.IGNORECASE)


def strip_reasoning(completion: str) -> str:
    """Return what a completion says, without a model's reasoning."""
    return json_objects.strip_reasoning(completion).strip()


def _require_one_score(said: Sequence[StatedScore], completion: str) -> float:
    """Return the one score that is stated."""
    scores = {found.score for found in said}
    if len(scores) > 1:
        raise faults.fault_error("different-scores", completion)
    for score in scores:
        if score is None:
            raise faults.fault_error("off-scale", completion)
        return score
    fault = faults.diagnose(completion)
    raise faults.fault_error("no-score" if fault in ("unreadable-completion", "empty-object") else fault, completion)


def _parse_field(value: Any, scale: Scale) -> list[float | None]:
    """Return the score in a field, None where it is not on the scale; nothing where it holds no number."""
    if isinstance(value, str):
        found = _VALUE.match(_compile_scale(scale).sub(_blank_out, value))
        return [] if found is None else [_parse_number(found, scale)]
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return []
    # Infinity and NaN are on no scale.
    return [float(value) if value in scale else None]


def _parse_number(match: re.Match[str], scale: Scale) -> float | None:
    """Return the score, None where it is not on the scale."""
    groups: Mapping[str, str | None] = match.groupdict()
    number, of = groups["number"] or "", groups["of"]
    # A comma divides decimals or thousands.
    if "," in number or len(number) > _MAX_DIGITS or of not in (None, str(scale.high)) or groups["to"] is not None:
        return None
    score = float(number.replace("−", "-"))
    return score if score in scale else None
