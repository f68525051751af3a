"""Scores in completions, and how likely each of them was. Pure.

Strict with the content: a score is a whole number of the scale and the completion gives one only. What is off the
scale ("6", "4.5", "8/10", "3 to 4"), missing, or said in two ways is an error with that name, never a guess.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from imapeval.errors import ExtractionError
from imapeval.extraction import faults, parsing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.llm.client import Completion, Token

LOWEST, HIGHEST = 1, 5
"""Of the scale of G-Eval's forms (Liu et al. 2023) and of Prometheus's rubrics (Kim et al. 2024)."""


@dataclass(frozen=True, slots=True)
class Scale:
    """All whole numbers from the lowest to the highest score."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"

    @property
    def has_weights(self) -> bool:
        """Whether the probability of each score can be told, which takes scores of one digit.

        "10" is several tokens to many models, and the first of them another score.
        """
        return self.low >= 0 and self.high <= 9


ONE_TO_FIVE = Scale(LOWEST, HIGHEST)

_NUMBER = (
    r"(?P<number>(?<![\d.])[-−]?\d++(?:[.,]\d+)?)"
    r"(?:\s*(?:/|／|out\s+of)\s*(?P<of>\d+)|\s*(?:[-–—~～至到或]|to\b|or\b)\s*(?P<to>\d+))?"
)
"""A number, as it may be said: "4", "4/5", "3 to 4", "4.5" or "4,5"."""
_ANY = re.compile(_NUMBER, re.IGNORECASE)
_ITEM = re.compile(r"^[ \t]*\d+[.)、）][ \t]+(?=\w)", re.MULTILINE)
"""The number of a list's item, as in "1. The answer is complete": it may be meant as a score, but need not."""
_RESULT = re.compile(
    rf"\[RESULT\]\s*[:：]?\s*[(\[（]?\s*(?:{_NUMBER}(?P<more>[ \t)\]）,;，；、]*+\d)?)?", re.IGNORECASE
)
_LONGEST_DIGITS = 9
"""Of a number that is read; more are none of a scale, and thousands are refused by Python."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A score weighted by its probabilities.

    Attributes:
        value: Sum of each score of the scale times its probability, which add up to 1.
        mass: Probability that the model writes a score of the scale at all, 0..1, as far as the server tells.
    """

    value: float
    mass: float


def read_score(completion: str, *, scale: Scale = ONE_TO_FIVE, labels: Sequence[str] = ("score",)) -> int:
    """Return the score of a form: the number after the first label that there is, or the only number that there is.

    >>> read_score('{"score": 4}'), read_score("Accuracy: 3/5")
    (4, 3)

    Raises:
        ExtractionError: Kind "off-scale", "different-scores", "no-score" or one of `imapeval.extraction.faults`.
    """
    return _settle(_find(_body(completion), labels, scale), completion, scale)


def read_scores(completion: str, keys: Sequence[str]) -> dict[str, int]:
    """Return the scores of a JSON object with those keys, or of lines that begin with them.

    Raises:
        ExtractionError: As of `read_score`.
    """
    try:
        record = parsing.find_object(completion, keys[0])
    except ExtractionError as error:
        if error.kind == "different-objects":
            raise faults.faulty("different-scores", completion) from None
        body = _body(completion)
        return {key: _settle(_after(body, key, ONE_TO_FIVE), completion, ONE_TO_FIVE) for key in keys}
    return {key: _settle(list(_ANY.finditer(str(record.get(key, "")))), completion, ONE_TO_FIVE) for key in keys}


def read_result(completion: str) -> int:
    """Return the score after "[RESULT]", the form of Prometheus.

    Raises:
        ExtractionError: As of `read_score`.
    """
    found = list(_RESULT.finditer(parsing.strip_thoughts(completion)))
    if any(match["more"] for match in found):
        raise faults.faulty("different-scores", completion)
    return _settle([match for match in found if match["number"]], completion, ONE_TO_FIVE)


def weigh(completion: Completion, *, scale: Scale = ONE_TO_FIVE, labels: Sequence[str] = ("score",)) -> Weighed | None:
    """Return the score of a form, weighted by the probabilities of all scores at its place.

    That is G-Eval's sum of p(s) s. The server tells only the likeliest tokens, so that the probabilities of the scores
    among them are made to add up to 1.

    Args:
        completion: One whose score can be read.
        scale: Of the form.
        labels: What the score may stand behind.

    Returns:
        None where the probabilities at that place are not known, or the scale has none (`Scale.has_weights`).
    """
    if not scale.has_weights:
        return None
    body = _body(completion.text)
    text = "".join(token.text for token in completion.tokens)
    start = text.rfind(body)
    if start < 0:
        return None
    # The places agree on the score; the last one is what thinking models settle on.
    at = start + _find(body, labels, scale)[-1].start("number")
    for token in completion.tokens:
        if at < len(token.text):
            return _sum_up(token, at, scale)
        at -= len(token.text)
    return None


def _sum_up(token: Token, at: int, scale: Scale) -> Weighed | None:
    """Return the weighted score where it stands at that place of the token."""
    before, after = token.text[:at].strip(), token.text[at + 1 :].strip()
    # Tokens differ in what else they hold: "4", " 4", "4}". What may lead to another number is none: "4.", "4/".
    alike = re.compile(rf"\s*{re.escape(before)}\s*(\d)(?:{re.escape(after)}|[^\w.,/／~～–—-]*)\s*")
    mass = value = 0.0
    for text, logprob in token.top:
        found = alike.fullmatch(text)
        if found and scale.low <= (score := int(found[1])) <= scale.high:
            if math.isnan(logprob) or logprob > 0:
                return None
            # Minus infinity, of what the server rules out, is a probability of 0.
            mass += math.exp(logprob)
            value += math.exp(logprob) * score
    # Rounding may bring it over 1.
    return Weighed(value / mass, min(1.0, mass)) if mass else None


def _find(body: str, labels: Sequence[str], scale: Scale) -> list[re.Match[str]]:
    for label in labels:
        if found := _after(body, label, scale):
            return found
    return list(_ANY.finditer(_ITEM.sub(_blank, _blank_scale(body, scale))))


def _after(body: str, key: str, scale: Scale) -> list[re.Match[str]]:
    number = rf"(?<!\w){re.escape(key)}[\s\"'”’*]*[:：=][\s\"'“‘*]*{_NUMBER}"
    return list(re.finditer(number, _blank_scale(body, scale), re.I))


def _blank_scale(body: str, scale: Scale) -> str:
    """Return the text without the scale, character for character as long."""
    return _name_scale(scale).sub(_blank, body)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


@cache
def _name_scale(scale: Scale) -> re.Pattern[str]:
    """Return what finds the scale, as forms name it: "Score (1-5):"."""
    low, high = re.escape(str(scale.low)), re.escape(str(scale.high))
    return re.compile(rf"[(（\[]\s*{low}\s*(?:[-–—~～至到]|to|\.\.)\s*{high}\s*[)）\]]", re.IGNORECASE)


def _body(completion: str) -> str:
    return parsing.strip_thoughts(completion).strip()


def _settle(found: Sequence[re.Match[str]], completion: str, scale: Scale) -> int:
    """Return the one score that was found."""
    said = {_read(match, scale) for match in found}
    if len(said) > 1:
        raise faults.faulty("different-scores", completion)
    for score in said:
        if score is None:
            raise faults.faulty("off-scale", completion)
        return score
    fault = faults.diagnose(completion)
    raise faults.faulty("no-score" if fault in ("unreadable-completion", "empty-object") else fault, completion)


def _read(match: re.Match[str], scale: Scale) -> int | None:
    """Return the score, None where it is none of the scale."""
    groups: Mapping[str, str | None] = match.groupdict()
    number, of = groups["number"] or "", groups["of"]
    # A comma divides decimals or thousands.
    if "," in number or len(number) > _LONGEST_DIGITS or of not in (None, str(scale.high)) or groups["to"] is not None:
        return None
    score = float(number.replace("−", "-"))
    return int(score) if score.is_integer() and scale.low <= score <= scale.high else None
