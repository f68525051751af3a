"""Metrics that count what two texts share: n-grams, subsequences, words, characters.

| metric | tokens, English | Chinese | French | other languages | range |
|---|---|---|---|---|---|
| rouge1, rouge2, rougeL, rougeS | rouge-score's, stemmed | characters, foreign words | words, stemmed | words | 0..1 |
| bleu, bleu1, bleu2, bleu3 | sacrebleu's 13a | sacrebleu's zh | sacrebleu's 13a | 13a | 0..100 |
| nist, length-ratio | sacrebleu's 13a | sacrebleu's zh | sacrebleu's 13a | 13a | 0 and up |
| chrf | characters | characters | characters | characters | 0..100 |
| meteor | sacrebleu's 13a, lower case | not defined | words, without synonyms | not defined | 0..1 |
| exact-match, token-f1 | SQuAD's | characters, foreign words | words without articles | words | 0..1 |

An empty response scores 0. If the reference has nothing to count (no word for ROUGE, exact match and token F1; no
character at all for NIST, METEOR and the length ratio), the result is the failure "no-reference-tokens"; BLEU and chrF
give 0, as their library does. No text is too long; the longest that a run accepts (100,000 characters) take some
seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.metrics.lexical.bleu import Bleu
from imapeval.metrics.lexical.chrf import Chrf
from imapeval.metrics.lexical.meteor import Meteor
from imapeval.metrics.lexical.nist import Nist
from imapeval.metrics.lexical.overlap import ExactMatch, LengthRatio, TokenF1
from imapeval.metrics.lexical.rouge import RougeL, RougeN, RougeS

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric


def build() -> list[Metric]:
    """Return the metrics of this module, for the registry."""
    return [
        RougeN(1),
        RougeN(2),
        RougeL(),
        RougeS(),
        Bleu(4),
        Bleu(1),
        Bleu(2),
        Bleu(3),
        Nist(),
        Chrf(),
        Meteor(),
        ExactMatch(),
        TokenF1(),
        LengthRatio(),
    ]
