"""Perplexities: from the log-probabilities of tokens to numbers.

Everything here is pure. Log-probabilities are natural logarithms, at most 0. Word and byte perplexity and bits per
byte are those of lm-evaluation-harness 0.4.13: the likelihood is that of the tokens, but what it is divided by does
not depend on the tokenizer, so that models with different ones can be compared.

A perplexity that no float holds (over 1.8e308) is infinite.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPACE = re.compile(r"\s+")


def count_words(text: str) -> int:
    """Return how many words white space separates, at least 1."""
    return len(_SPACE.split(text.strip()))


def count_bytes(text: str) -> int:
    """Return how many bytes a text has in UTF-8."""
    return len(text.encode())


def compute_perplexity(logprobs: Sequence[float]) -> float:
    """Return the perplexity by token: exp(-mean), at least 1.

    Raises:
        ValueError: There is no token.
    """
    return _exp(_mean(logprobs, len(logprobs)))


def compute_word_perplexity(logprobs: Sequence[float], text: str) -> float:
    """Return exp(-sum / number of words), at least 1.

    Args:
        logprobs: Log-probabilities of the text's tokens.
        text: With at least one character that is no white space.
    """
    return _exp(_mean(logprobs, count_words(text)))


def compute_byte_perplexity(logprobs: Sequence[float], text: str) -> float:
    """Return exp(-sum / number of bytes in UTF-8), at least 1.

    Args:
        logprobs: Log-probabilities of the text's tokens.
        text: Not empty.

    Raises:
        ValueError: The text is empty.
    """
    return _exp(_mean(logprobs, count_bytes(text)))


def compute_bits_per_byte(logprobs: Sequence[float], text: str) -> float:
    """Return -sum / number of bytes / ln 2, at least 0: the binary logarithm of the byte perplexity.

    Args:
        logprobs: Log-probabilities of the text's tokens.
        text: Not empty.

    Raises:
        ValueError: The text is empty.
    """
    return _mean(logprobs, count_bytes(text)) / math.log(2)


def compute_relaxed_cross_entropy(logprobs: Sequence[float], *, completion: int, target: int) -> float:
    """Return the relaxed cross-entropy of a target in a completion, in nats, at least 0.

    -1/(n + len(target)) * sum_i log P(A_i|B_i), where A_i is the target appearing at step i of the completion and B_i
    what precedes it (Arias-Duart et al. 2025, Automatic Evaluation of Healthcare LLMs Beyond Question-Answering).

    Args:
        logprobs: log P(A_i|B_i) of every step, each the sum over the target's tokens.
        completion: n, the completion's tokens.
        target: len(target), the target's tokens.

    Raises:
        ValueError: There is no step, or completion and target have no token.
    """
    if not logprobs:
        raise ValueError("there is no step at which the target could appear")
    return _mean(logprobs, completion + target)


def compute_relaxed_perplexity(logprobs: Sequence[float], *, completion: int, target: int) -> float:
    """Return the exponential of the relaxed cross-entropy, at least 1; see `compute_relaxed_cross_entropy`."""
    return _exp(compute_relaxed_cross_entropy(logprobs, completion=completion, target=target))


def _mean(logprobs: Sequence[float], count: int) -> float:
    if count < 1:
        raise ValueError("a mean over nothing")
    # Not -0.0 where all is certain.
    return -math.fsum(logprobs) / count + 0.0


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
