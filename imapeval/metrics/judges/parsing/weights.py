"""Weights a score by the probabilities of all scores at its position in a completion (Liu et al. 2023). Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.metrics.judges.parsing.scale import ONE_TO_FIVE
from imapeval.metrics.judges.parsing.scores import strip_reasoning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.llm.protocol import Completion, Token
    from imapeval.metrics.judges.parsing.scale import Scale

_HALF = re.compile(r"\.5")
_POINT = re.compile(r"\.\Z")
_FIVE = re.compile("5")
_HALF_OR_WHOLE = re.compile("[50]")
_ANY = re.compile("")


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """A score weighted by its probabilities.

    Attributes:
        value: Sum of the scores of the scale, each times its probability, normalised to a sum of 1.
        mass: Sum of these probabilities before normalisation, among the tokens that the server returns, 0..1.
    """

    value: float
    mass: float


def weight_by_logprobs(completion: Completion, at: int, *, scale: Scale = ONE_TO_FIVE) -> WeightedScore | None:
    """Return a score weighted by the probabilities of all scores at its position: G-Eval's sum of p(s) s.

    The server returns only the most likely tokens, so the probabilities of the scores among them are normalised to a
    sum of 1. If ".5" is a token of its own, its probability is known only after the digit that the model chose; it is
    assumed to be the same after the others.

    Args:
        completion: A completion with a valid score.
        at: Start of its number (`StatedScore.at`).
        scale: Scale of the score, which has single digits (`Scale.has_single_digits`).

    Returns:
        None if the probabilities are not known.
    """
    text = "".join(token.text for token in completion.tokens)
    start = text.rfind(strip_reasoning(completion.text))
    found = None if start < 0 else _find_token(completion.tokens, start + at)
    weighted = None if found is None else _weight_token(*found, scale)
    if weighted is None or not scale.half_points:
        return weighted
    half = _estimate_half(completion.tokens, start + at + 1)
    return None if half is None else WeightedScore(min(weighted.value + half / 2, scale.high), weighted.mass)


def _find_token(tokens: Sequence[Token], at: int) -> tuple[Token, int] | None:
    """Return the token with the character at a position of the text, and its offset in the token; None past the end."""
    for token in tokens:
        if at < len(token.text):
            return token, at
        at -= len(token.text)
    return None


def _weight_token(token: Token, at: int, scale: Scale) -> WeightedScore | None:
    """Return the weighted score whose number begins at offset `at` of the token."""
    number = re.compile(r"\d(?:\.[05])?" if scale.half_points else r"\d")
    chosen = number.match(token.text, at)
    if chosen is None:
        return None
    before, after = token.text[:at].strip(), token.text[chosen.end() :].strip()
    # Tokens contain other characters: "4", " 4", "4}". But "4." and "4/" may begin another number.
    alike = re.compile(rf"\s*{re.escape(before)}\s*({number.pattern})(?:{re.escape(after)}|[^\w.,/／~～–—-]*)\s*")
    mass = value = 0.0
    for text, logprob in token.top:
        found = alike.fullmatch(text)
        if found and (score := float(found[1])) in scale:
            if (probability := _read_probability(logprob)) is None:
                return None
            mass += probability
            value += probability * score
    # Rounding may make it exceed 1.
    return WeightedScore(value / mass, min(1.0, mass)) if mass else None


def _estimate_half(tokens: Sequence[Token], at: int) -> float | None:
    """Return the probability that ".5" follows a digit, given the position after it.

    It is 0 if nothing follows, or if what follows is in the digit's token and thus part of its weight; None if the
    probabilities are not known.
    """
    found = _find_token(tokens, at)
    if found is None or found[1]:
        return 0.0
    token = found[0]
    half, point = (_conditional_probability(token, pattern) for pattern in (_HALF, _POINT))
    if half is None or point is None:
        return None
    if token.text != ".":
        # After a point that the model did not choose, the digit is unknown, but rarely 0.
        return half + point
    behind = _find_token(tokens, at + 1)
    digit = None if behind is None else _conditional_probability(behind[0], _FIVE, among=_HALF_OR_WHOLE)
    return None if digit is None else half + point * digit


def _conditional_probability(token: Token, wanted: re.Pattern[str], *, among: re.Pattern[str] = _ANY) -> float | None:
    """Return the probability of tokens that match `wanted` at their start, given that they match `among` there."""
    shares = [0.0, 0.0]
    for text, logprob in token.top:
        if (probability := _read_probability(logprob)) is None:
            return None
        shares[0] += probability * bool(wanted.match(text))
        shares[1] += probability * bool(among.match(text))
    return shares[0] / shares[1] if shares[1] else None


def _read_probability(logprob: float) -> float | None:
    # Minus infinity, which servers return for impossible tokens, is a probability of 0.
    return None if math.isnan(logprob) or logprob > 0 else math.exp(logprob)
