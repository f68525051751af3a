"""Metrics computed from the probabilities that a language model gives to texts.

| metric | text that counts | after | languages | range | good |
|---|---|---|---|---|---|
| perplexity | reference | question | English | 1 and up | low |
| byte-perplexity, bits-per-byte | reference | question | both | 1 and up, 0 and up | low |
| relaxed-perplexity, -cross-entropy | reference | question, beginnings of the response | both | 1, 0 and up | low |
| gptscore | response, or reference, or both | the other one | both | up to 0 | high |

The model is loaded here (option `model`) or is behind a server (--llm).

GPTScore compares two texts and is therefore available on imaps too. The others measure how well a model knows the
reference's wording, which an imap does not keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from imapeval.metrics.likelihood import gptscore, perplexity
from imapeval.metrics.on_imaps import ImapForm, MetricOnImaps

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric


def build() -> list[Metric]:
    """Return the metrics of this package, for the registry."""
    scores = gptscore.build()
    on_imaps = [MetricOnImaps(score, form) for score in scores for form in get_args(ImapForm)]
    return [*perplexity.build(), *scores, *on_imaps]
