"""Scores in completions, and how likely each of them was. Pure.

Strict with the content: a score is a whole number of the scale and the completion gives one only. What is off the
scale ("6", "4.5", "8/10", "3 to 4"), missing, or said in two ways is an error with that name, never a guess.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import ExtractionError
from imapeval.extraction import faults, parsing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.llm.client import Completion, Token

LOWEST, HIGHEST = 1, 5
"""Of the scale of G-Eval's forms (Liu et al. 2023) and of Prometheus's rubrics (Kim et al. 2024)."""

_NUMBER = (
    r"(?P<number>(?<![\d.])-?\d++(?:\.\d+)?)"
    r"(?:\s*(?:/|／|out\s+of)\s*(?P<of>\d+)|\s*(?:[-–—~～至到或]|to\b|or\b)\s*(?P<to>\d+))?"
)
"""A number, as it may be said: "4", "4/5", "3 to 4"."""
_ANY = re.compile(_NUMBER, re.IGNORECASE)
_RESULT = re.compile(
    rf"\[RESULT\]\s*[:：]?\s*[(\[（]?\s*(?:{_NUMBER}(?P<more>[ \t)\]）,;，；、]*+\d)?)?", re.IGNORECASE
)
_SCALE = re.compile(rf"[(（\[]\s*{LOWEST}\s*(?:[-–—~～至到]|to)\s*{HIGHEST}\s*[)）\]]", re.IGNORECASE)
"""The scale, as forms name it: "Score (1-5):"."""

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


def read_score(completion: str) -> int:
    """Return the score of a form: the number after "score", or the only number that there is.

    >>> read_score('{"score": 4}'), read_score("Accuracy: 3/5")
    (4, 3)

    Raises:
        ExtractionError: Kind "off-scale", "different-scores", "no-score" or one of `imapeval.extraction.faults`.
    """
    return _settle(_find(_body(completion), "score"), completion)


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
        return {key: _settle(_after(body, key), completion) for key in keys}
    return {key: _settle(list(_ANY.finditer(str(record.get(key, "")))), completion) for key in keys}


def read_result(completion: str) -> int:
    """Return the score after "[RESULT]", the form of Prometheus.

    Raises:
        ExtractionError: As of `read_score`.
    """
    found = list(_RESULT.finditer(parsing.strip_thoughts(completion)))
    if any(match["more"] for match in found):
        raise faults.faulty("different-scores", completion)
    return _settle([match for match in found if match["number"]], completion)


def weigh(completion: Completion) -> Weighed | None:
    """Return the score of a form, weighted by the probabilities of all scores at its place.

    That is G-Eval's sum of p(s) s. The server tells only the likeliest tokens, so that the probabilities of the scores
    among them are made to add up to 1.

    Args:
        completion: One whose score can be read.

    Returns:
        None where the probabilities at that place are not known.
    """
    body = _body(completion.text)
    text = "".join(token.text for token in completion.tokens)
    start = text.rfind(body)
    if start < 0:
        return None
    # The places agree on the score; the last one is what thinking models settle on.
    at = start + _find(body, "score")[-1].start("number")
    for token in completion.tokens:
        if at < len(token.text):
            return _sum_up(token, at)
        at -= len(token.text)
    return None


def _sum_up(token: Token, at: int) -> Weighed | None:
    """Return the weighted score where it stands at that place of the token."""
    before, after = token.text[:at].strip(), token.text[at + 1 :].strip()
    # Tokens differ in what else they hold: "4", " 4", "4}". What may lead to another number is none: "4.", "4/".
    alike = re.compile(rf"\s*{re.escape(before)}\s*(\d)(?:{re.escape(after)}|[^\w.,/／~～–—-]*)\s*")
    mass = value = 0.0
    for text, logprob in token.top:
        found = alike.fullmatch(text)
        if found and LOWEST <= (score := int(found[1])) <= HIGHEST:
            if math.isnan(logprob) or logprob > 0:
                return None
            # Minus infinity, of what the server rules out, is a probability of 0.
            mass += math.exp(logprob)
            value += math.exp(logprob) * score
    # Rounding may bring it over 1.
    return Weighed(value / mass, min(1.0, mass)) if mass else None


def _find(body: str, key: str) -> list[re.Match[str]]:
    return _after(body, key) or list(_ANY.finditer(_blank_scale(body)))


def _after(body: str, key: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"(?<!\w){key}[\s\"'”’*]*[:：=][\s\"'“‘*]*{_NUMBER}", _blank_scale(body), re.I))


def _blank_scale(body: str) -> str:
    """Return the text without the scale, character for character as long."""
    return _SCALE.sub(lambda scale: " " * len(scale[0]), body)


def _body(completion: str) -> str:
    return parsing.strip_thoughts(completion).strip()


def _settle(found: Sequence[re.Match[str]], completion: str) -> int:
    """Return the one score that was found."""
    said = {_read(match) for match in found}
    if len(said) > 1:
        raise faults.faulty("different-scores", completion)
    for score in said:
        if score is None:
            raise faults.faulty("off-scale", completion)
        return score
    fault = faults.diagnose(completion)
    raise faults.faulty("no-score" if fault in ("unreadable-completion", "empty-object") else fault, completion)


def _read(match: re.Match[str]) -> int | None:
    """Return the score, None where it is none of the scale."""
    groups: Mapping[str, str | None] = match.groupdict()
    number, of = groups["number"] or "", groups["of"]
    if len(number) > _LONGEST_DIGITS or of not in (None, str(HIGHEST)) or groups["to"] is not None:
        return None
    score = float(number)
    return int(score) if score.is_integer() and LOWEST <= score <= HIGHEST else None
