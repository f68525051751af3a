"""Parses scores in the replies of judges, only from replies in the form that the prompt asks for. Pure.

Reasoning blocks, a special token at the end and a code fence around the reply are ignored. The reply must end with

- a JSON object with one field for each score, and no other fields than those that the prompt names; or,
- if one score is requested, a line "LABEL: NUMBER" ("**Score:** 4/5", "评分：4分"), a tag (`<score>4</score>`) or the
  number alone. The number may be followed by the scale's own "/5" or "out of 5", "分" and closing punctuation only.

If the prompt leaves room for reasons, they may come first: sentences that end in a full stop, before "[RESULT]", or
before an object, tag or line with the score that begins on a line of its own. Reasons are not interpreted: a model that
declines in its reasons and still ends with a score in the form has given that score. If the prompt asks for the score
alone, nothing may precede it, so that a refusal is never read as a score.

Any other content, such as a correction, a condition or a second scale after the score, makes the reply an error of kind
"no-score". A number in the form that is not on the scale ("6", "4.5" among whole numbers, "8/10", `4e2`) is
"off-scale"; scores that differ are "different-scores".
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from imapeval.errors import ExtractionError
from imapeval.llm.structured import faults, json_objects
from imapeval.metrics.judges.parsing.scale import ONE_TO_FIVE, Scale

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


LABELS = ("score", "rating", "评分", "得分", "分数", "打分", "总分")
"""Labels of a score without the name of a criterion."""

_MARKS = r"[ \t*_`|()（）【】\[\]]*+"
"""Markdown and brackets. Not quotation marks, because a quoted score may be someone else's."""
_BULLET = r"(?:[-*•>#]++[ \t]++)?+"
_NUMBER = (
    r"(?P<number>[-−]?\d{1,9}(?:\.\d{1,9})?)(?:[ \t]*+(?:/|／|out[ ]of)[ \t]*+(?P<of>\d{1,9}))?+"
    rf"(?:[ \t]*+分)?+{_MARKS}[.。!！]?+{_MARKS}"
)
"""A number and what may follow it: "4", "4/5", "4 out of 5", "4分", "4**."."""
_BARE = re.compile(rf"\s*+{_BULLET}{_MARKS}[\"']?+{_NUMBER}[\"']?+\s*+", re.IGNORECASE)
_RESULT = re.compile(rf"\[RESULT\]\s*+[:：]?\s*+{_MARKS}{_NUMBER}", re.IGNORECASE)

_WRAPPING = re.compile(r"```[A-Za-z]*+|(?:<\|\w{1,40}\|>|</s>)(?=\s*+\Z)")
"""The marks of a code fence, and a special token at the end."""
_AFTER_SENTENCE = " \t\r\n*_`|\"'”’)）]】-"
"""Closing marks, and a Markdown rule."""

_OFF_SCALE = math.inf
"""A number that is not on the scale."""

_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """The form of a reply that a prompt asks for.

    Attributes:
        labels: The labels of each score, by its name: keys of a field, or beginnings of a line.
        scale: Scale of the scores.
        fields: Other fields that the object may have; in lower case.
        texts: Other fields that must contain a text, such as a reason; in lower case.
        reasons_first: Whether reasons may precede the score, outside of an object.
    """

    labels: Mapping[str, Sequence[str]]
    scale: Scale = ONE_TO_FIVE
    fields: Collection[str] = ()
    texts: Collection[str] = ()
    reasons_first: bool = False


@dataclass(frozen=True, slots=True)
class StatedScore:
    """A score that a reply states.

    Attributes:
        score: The score.
        at: Start of its number in the reply without reasoning (`strip_reasoning`).
    """

    score: float
    at: int


@dataclass(frozen=True, slots=True)
class _Statement:
    """A part of a reply, from `start` to `end`, that states scores in the form."""

    start: int
    end: int
    scores: Mapping[str, StatedScore]


def read_score(
    completion: str, *, scale: Scale = ONE_TO_FIVE, labels: Sequence[str] = LABELS, reasons_first: bool = False
) -> float:
    r"""Return the score of a reply: in a field or after a label, or the number alone.

    >>> read_score('{"score": 4}'), read_score("Accuracy: 3/5", labels=("accuracy",)), read_score("**4**")
    (4.0, 3.0, 4.0)
    >>> read_score("It lacks the dose.\nScore: 3", reasons_first=True)
    3.0

    Args:
        completion: The reply.
        scale: Scale of the score.
        labels: Labels of the score.
        reasons_first: Whether the prompt leaves room for reasons before the score.

    Raises:
        ExtractionError: Kind "off-scale", "different-scores", "no-score" or one of `imapeval.llm.structured.faults`.
    """
    return read_scores(completion, ReplyForm({"": labels}, scale, reasons_first=reasons_first))[""]


def read_scores(completion: str, form: ReplyForm) -> dict[str, float]:
    """Return the scores of a reply by name.

    Raises:
        ExtractionError: See `read_score`.
    """
    return {name: stated.score for name, stated in find_scores(completion, form).items()}


def find_scores(completion: str, form: ReplyForm) -> dict[str, StatedScore]:
    """Return the scores of a reply by name, with their positions; all are on the scale.

    Raises:
        ExtractionError: See `read_score`.
    """
    text = blank_wrapping(completion)
    try:
        found = [*_find_objects(text, form, completion), *_find_lines(text, form)]
    except ExtractionError as error:
        kind = "different-scores" if error.kind == "different-objects" else "no-score"
        raise faults.fault_error(kind, completion) from None
    return _choose_last(text, found, completion, reasons_first=form.reasons_first)


def read_result(completion: str) -> float:
    """Return the score after "[RESULT]" at the end of a reply, the form of Prometheus.

    Raises:
        ExtractionError: See `read_score`.
    """
    text = blank_wrapping(completion)
    found = [_make_statement(match, "", ONE_TO_FIVE) for match in _RESULT.finditer(text)]
    return _choose_last(text, found, completion, reasons_first=True)[""].score


def read_value(value: Any, completion: str) -> float:
    """Return the score in a field of the completion's JSON.

    Raises:
        ExtractionError: See `read_score`.
    """
    stated = _read_field(value, 0, ONE_TO_FIVE)
    if stated is None or stated.score == _OFF_SCALE:
        raise _make_error(completion, "no-score" if stated is None else "off-scale")
    return stated.score


def strip_reasoning(completion: str) -> str:
    """Return a completion without its reasoning blocks."""
    return json_objects.strip_reasoning(completion).strip()


def blank_wrapping(completion: str) -> str:
    """Return `strip_reasoning` with spaces in place of a code fence and of a special token at the end."""
    return _WRAPPING.sub(lambda found: " " * len(found[0]), strip_reasoning(completion))


def _find_objects(text: str, form: ReplyForm, completion: str) -> Iterator[_Statement]:
    """Yield the objects in the form that begin on a line of their own."""
    before = "\n"
    done = 0
    for start, end, _ in json_objects.find_json_objects(text, completion):
        before = (before + text[done:start]).rstrip(" \t")
        if before.endswith("\n") and (scores := _read_object(text, start, form)):
            yield _Statement(start, end, scores)
        before, done = "}", end


def _read_object(text: str, start: int, form: ReplyForm) -> dict[str, StatedScore] | None:
    """Return the scores of an object; None unless it has each of them once, and no field that is not allowed."""
    found: dict[str, StatedScore] = {}
    for key, value, at in _list_members(text, start):
        folded = key.strip().casefold()
        name = next((name for name, known in form.labels.items() if compile_key(tuple(known)).fullmatch(folded)), None)
        stated = None if name is None else _read_field(value, at, form.scale)
        if name is not None and stated is not None and name not in found:
            found[name] = stated
        elif stated is not None or not (folded in form.fields or (folded in form.texts and isinstance(value, str))):
            return None
    return found if found.keys() == form.labels.keys() else None


def _list_members(text: str, start: int) -> Iterator[tuple[str, Any, int]]:
    """Yield the key, the value and the position of the value of each member of the valid JSON object at `start`."""
    at = _skip_gap(text, start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip_gap(text, at)
        value, end = _DECODER.raw_decode(text, at)
        yield key, value, at
        at = _skip_gap(text, end)


def _skip_gap(text: str, at: int) -> int:
    while text[at] in " \t\r\n:,":
        at += 1
    return at


def _read_field(value: Any, at: int, scale: Scale) -> StatedScore | None:
    """Return the score in a field; None if its value is not a number alone."""
    if isinstance(value, str):
        found = _BARE.fullmatch(value)
        # The quotation mark comes before it.
        return found and StatedScore(_parse_number(found, scale), at + 1 + found.start("number"))
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return StatedScore(float(value) + 0.0 if value in scale else _OFF_SCALE, at)  # -0.0 is 0


def _find_lines(text: str, form: ReplyForm) -> Iterator[_Statement]:
    """Yield the number if it is the whole reply, otherwise the lines and tags with a label and a number."""
    if len(form.labels) > 1:
        return
    ((name, known),) = form.labels.items()
    if whole := _BARE.fullmatch(text):
        yield _make_statement(whole, name, form.scale)
        return
    for pattern in _compile_lines(tuple(known), form.scale):
        for match in pattern.finditer(text):
            yield _make_statement(match, name, form.scale)


@cache
def compile_key(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for the name of the score's field: one of these labels, perhaps with words that models add."""
    return re.compile(_name_labels(labels), re.IGNORECASE)


@cache
def _compile_lines(labels: tuple[str, ...], scale: Scale) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of lines and of tags with one of these labels and a number."""
    named = rf"[(（\[][ ]?{scale.low}[ ]?(?:[-–—~～至到]|to|\.\.)[ ]?{scale.high}[ ]?[)）\]]"
    label = rf"{_BULLET}{_MARKS}{_name_labels(labels)}[ \t*_]*+(?:{named})?+{_MARKS}(?:[:：=]|is\b|为|是)"
    tag = "|".join(map(re.escape, labels))
    return (
        re.compile(rf"^[ \t]*+{label}{_MARKS}{_NUMBER}[ \t\r]*+$", re.IGNORECASE | re.MULTILINE),
        re.compile(rf"^[ \t]*+<(?P<tag>{tag})>\s*+{_NUMBER}\s*+</(?P=tag)>", re.IGNORECASE | re.MULTILINE),
    )


def _name_labels(labels: tuple[str, ...]) -> str:
    """Return a pattern of labels and of words that models add: "Final score", "Accuracy rating", "准确性评分"."""
    names, general = ("|".join(map(re.escape, sorted(group, key=len, reverse=True))) for group in (labels, LABELS))
    return rf"(?:(?:the|final|overall|最终|总体|综合)[ _]?){{0,2}}(?:{names})(?:[ _]?(?:{general}))?"


def _make_statement(match: re.Match[str], name: str, scale: Scale) -> _Statement:
    stated = StatedScore(_parse_number(match, scale), match.start("number"))
    return _Statement(match.start(), match.end(), {name: stated})


def _parse_number(match: re.Match[str], scale: Scale) -> float:
    score = float(match["number"].replace("−", "-")) + 0.0
    return score if score in scale and (match["of"] is None or int(match["of"]) == scale.high) else _OFF_SCALE


def _choose_last(
    text: str, found: Sequence[_Statement], completion: str, *, reasons_first: bool
) -> dict[str, StatedScore]:
    """Return the scores of the last statement, which must end the reply; all statements must agree."""
    if not found:
        raise _make_error(completion)
    last = max(found, key=lambda statement: statement.end)
    values = {tuple(statement.scores[name].score for name in last.scores) for statement in found}
    if len(values) > 1:
        raise _make_error(completion, "different-scores")
    lead = text[: last.start].rstrip(_AFTER_SENTENCE)
    led = not lead or (reasons_first and lead.endswith((".", "。", "!", "！")))
    if text[last.end :].strip() or not led:
        raise _make_error(completion)
    if any(stated.score == _OFF_SCALE for stated in last.scores.values()):
        raise _make_error(completion, "off-scale")
    return dict(last.scores)


def _make_error(completion: str, fault: faults.CompletionFault = "no-score") -> ExtractionError:
    """Return the error; if there is no score, of the kind that explains why, such as a refusal."""
    diagnosis = faults.diagnose(completion) if fault == "no-score" else fault
    return faults.fault_error(
        fault if diagnosis in ("unreadable-completion", "empty-object") else diagnosis, completion
    )
