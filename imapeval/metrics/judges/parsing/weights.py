"""How likely each score was where a completion states one. Pure."""

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


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """A score weighted by its probabilities.

    Attributes:
        value: Sum of each score of the scale times its probability, which add up to 1.
        mass: Probability that the model writes a score of the scale at all, 0..1, as far as the server tells.
    """

    value: float
    mass: float


def weight_by_logprobs(completion: Completion, at: int, *, scale: Scale = ONE_TO_FIVE) -> WeightedScore | None:
    """Return the score of a form, weighted by the probabilities of all scores at its place.

    That is G-Eval's sum of p(s) s. The server tells only the likeliest tokens, so that the probabilities of the scores
    among them are made to add up to 1. Where ".5" is a token of its own, how likely it is is known only behind the
    digit that the model chose; it is taken to be as likely behind the others.

    Args:
        completion: One whose score can be read.
        at: Where its number begins (`StatedScore.at`).
        scale: Scale of the form.

    Returns:
        None where the probabilities at that place are not known, or the scale has none (`Scale.has_single_digits`).
    """
    if not scale.has_single_digits:
        return None
    text = "".join(token.text for token in completion.tokens)
    start = text.rfind(strip_reasoning(completion.text))
    found = None if start < 0 else _find_token(completion.tokens, start + at)
    weighted = None if found is None else _weight_token(*found, scale)
    if weighted is None or not scale.half_points:
        return weighted
    half = _estimate_half(completion.tokens, start + at + 1)
    return None if half is None else WeightedScore(min(weighted.value + half / 2, scale.high), weighted.mass)


def _find_token(tokens: Sequence[Token], at: int) -> tuple[Token, int] | None:
    """Return the token that holds that character of the text, and the character's place in it; None past the end."""
    for token in tokens:
        if at < len(token.text):
            return token, at
        at -= len(token.text)
    return None


def _weight_token(token: Token, at: int, scale: Scale) -> WeightedScore | None:
    """Return the weighted score where it stands at that place of the token."""
    number = re.compile(r"\d(?:\.[05])?" if scale.half_points else r"\d")
    chosen = number.match(token.text, at)
    if chosen is None:
        return None
    before, after = token.text[:at].strip(), token.text[chosen.end() :].strip()
    # Tokens differ in what else they hold: "4", " 4", "4}". What may lead to another number is none: "4.", "4/".
    alike = re.compile(rf"\s*{re.escape(before)}\s*({number.pattern})(?:{re.escape(after)}|[^\w.,/／~～–—-]*)\s*")
    mass = value = 0.0
    for text, logprob in token.top:
        found = alike.fullmatch(text)
        if found and (score := float(found[1])) in scale:
            if (probability := _read_probability(logprob)) is None:
                return None
            mass += probability
            value += probability * score
    # Rounding may bring it over 1.
    return WeightedScore(value / mass, min(1.0, mass)) if mass else None


def _estimate_half(tokens: Sequence[Token], at: int) -> float | None:
    """Return the probability that ".5" follows a digit.

    Args:
        tokens: Tokens of the completion.
        at: The place behind the digit.

    Returns:
        0 where what follows is in the digit's token, whose weights take account of it, or nothing follows; None where
        the probabilities are not known.
    """
    found = _find_token(tokens, at)
    if found is None or found[1]:
        return 0.0
    token = found[0]
    joined = token.text.startswith(".") and token.text != "."
    follows = _conditional_probability(token, (".5" if joined else ".",), ("",))
    if follows is None or token.text != ".":
        return follows
    behind = _find_token(tokens, at + 1)
    digit = None if behind is None else _conditional_probability(behind[0], ("5",), ("5", "0"))
    return None if digit is None else follows * digit


def _conditional_probability(token: Token, wanted: tuple[str, ...], among: tuple[str, ...]) -> float | None:
    """Return how likely tokens that begin in a wanted way are, of those that begin in one of several ways."""
    shares = [0.0, 0.0]
    for text, logprob in token.top:
        if (probability := _read_probability(logprob)) is None:
            return None
        shares[0] += probability * text.startswith(wanted)
        shares[1] += probability * text.startswith(among)
    return shares[0] / shares[1] if shares[1] else None


def _read_probability(logprob: float) -> float | None:
    # Minus infinity, of what the server rules out, is a probability of 0.
    return None if math.isnan(logprob) or logprob > 0 else math.exp(logprob)
