"""Metrics made of the probabilities that a language model gives to texts.

| metric | what is read | after what | defined for | range | good |
|---|---|---|---|---|---|
| perplexity | reference | question | English | 1 and up | low |
| byte-perplexity, bits-per-byte | reference | question | both | 1 and up, 0 and up | low |
| relaxed-perplexity, -cross-entropy | reference | question, beginnings of the response | both | 1, 0 and up | low |
| gptscore | response, or reference, or both | the other one | both | up to 0 | high |

The model is loaded here (option `model`), or asked behind a server (--llm).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.metrics.likelihood import gptscore, perplexity

if TYPE_CHECKING:
    from imapeval.metrics.likelihood.likelihood import Likelihood


def build() -> list[Likelihood]:
    """Return the metrics of this package, for the registry."""
    return [*perplexity.build(), *gptscore.build()]
