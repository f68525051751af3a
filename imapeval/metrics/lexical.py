"""ROUGE, BLEU and chrF: the libraries' numbers, with the right tokens for Chinese.

`rouge1`, `rouge2`, `rougeL` are F-measures of the package `rouge-score` (0..1), `bleu` and `chrf` sentence scores of
`sacrebleu` (0..100, as the library gives them).

Empty cases:

- an empty response scores 0;
- a reference without a single token (only punctuation or emoji) is `Failure("no-reference-tokens")` for ROUGE, whose
  recall has nothing to divide by; BLEU and chrF count such characters;
- ROUGE-L on texts whose product of token counts exceeds `MAX_LCS_CELLS` is `Failure("too-long")`: its table grows
  with that product.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal

from imapeval.signature import signature
from imapeval.types import Failure, Lang, Outcome, Score

if TYPE_CHECKING:
    from imapeval.metrics.base import Case, Need

MAX_LCS_CELLS = 10_000_000
"""Most cells of ROUGE-L's table, about 3 s and 80 MB in rouge-score 0.1.2: 3,000 by 3,000 tokens."""

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_ZH_TOKEN = re.compile(f"[{_CJK}]|(?:(?![{_CJK}_])\\w)+")

Measure = Callable[[str, str, Lang], Outcome]
"""A reference, a response and their language in, an outcome out."""


@dataclass(frozen=True, slots=True)
class Rouge:
    """A ROUGE F-measure; parts `precision`, `recall`, `fmeasure`.

    English: the package's own tokens with the Porter stemmer. Chinese: single CJK characters, and words of any other
    script or digits, in lower case.
    """

    type: Literal["rouge1", "rouge2", "rougeL"]
    stem_en: bool = True
    tokens_zh: str = "char"
    rouge_score: str = field(default_factory=lambda: metadata.version("rouge-score"))

    def __call__(self, reference: str, response: str, lang: Lang) -> Outcome:
        """Score one response against one reference."""
        tokenizer = _rouge_tokenizer(lang, self.stem_en)
        expected, given = tokenizer.tokenize(reference), tokenizer.tokenize(response)
        if not expected:
            return Failure("metric", "no-reference-tokens", "the reference holds no word or number to compare with")
        if self.type == "rougeL" and len(expected) * len(given) > MAX_LCS_CELLS:
            return Failure(
                "metric",
                "too-long",
                f"{len(expected)} by {len(given)} tokens pass ROUGE-L's limit of {MAX_LCS_CELLS}; shorten the texts",
            )
        result = _rouge_scorer(self.type, lang, self.stem_en).score(reference, response)[self.type]
        parts = {"precision": result.precision, "recall": result.recall, "fmeasure": result.fmeasure}
        return Score(float(result.fmeasure), {name: float(value) for name, value in parts.items()})


@dataclass(frozen=True, slots=True)
class Bleu:
    """Sentence BLEU (0..100); parts `bp` (brevity penalty) and the n-gram precisions `p1`..`p4` (0..100)."""

    tokens_en: str = "13a"
    tokens_zh: str = "zh"
    smooth: str = "exp"
    effective_order: bool = True
    sacrebleu: str = field(default_factory=lambda: metadata.version("sacrebleu"))

    def __call__(self, reference: str, response: str, lang: Lang) -> Outcome:
        """Score one response against one reference."""
        tokens = self.tokens_zh if lang == "zh" else self.tokens_en
        result = _bleu(tokens, self.smooth, self.effective_order).sentence_score(response, [reference])
        precisions = {f"p{order}": float(value) for order, value in enumerate(result.precisions, 1)}
        return Score(float(result.score), {"bp": float(result.bp), **precisions})


@dataclass(frozen=True, slots=True)
class Chrf:
    """Sentence chrF2 (0..100): character n-grams, the same for both languages."""

    char_order: int = 6
    word_order: int = 0
    beta: int = 2
    sacrebleu: str = field(default_factory=lambda: metadata.version("sacrebleu"))

    def __call__(self, reference: str, response: str, lang: Lang) -> Outcome:
        """Score one response against one reference."""
        scorer = _chrf(self.char_order, self.word_order, self.beta)
        return Score(float(scorer.sentence_score(response, [reference]).score))


@dataclass(frozen=True, slots=True)
class Lexical:
    """A measure as a metric, on texts or on imap values."""

    name: str
    summary: str
    citation: str
    measure: Measure
    range: tuple[float | None, float | None]
    signature: str
    requires: frozenset[Need] = frozenset({"reference"})
    languages: frozenset[Lang] = frozenset({"en", "zh"})
    higher_is_better: bool = True
    lacks: str = ""

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch; see `Metric.score`."""
        return [self.measure(case.reference, case.response, case.lang) for case in cases]


def build() -> list[Lexical]:
    """Return the metrics of this module, for the registry."""
    lin = "Lin 2004, ROUGE; package rouge-score"
    return [
        _on_texts("rouge1", "ROUGE-1 F-measure: shared words", lin, Rouge("rouge1"), 1.0),
        _on_texts("rouge2", "ROUGE-2 F-measure: shared word pairs", lin, Rouge("rouge2"), 1.0),
        _on_texts("rougeL", "ROUGE-L F-measure: longest common subsequence", lin, Rouge("rougeL"), 1.0),
        _on_texts("bleu", "sentence BLEU, 0..100", "Papineni et al. 2002, BLEU; package sacrebleu", Bleu(), 100.0),
        _on_texts("chrf", "chrF2, 0..100: character n-grams", "Popović 2015, chrF; package sacrebleu", Chrf(), 100.0),
    ]


def _on_texts(name: str, summary: str, citation: str, measure: Rouge | Bleu | Chrf, highest: float) -> Lexical:
    return Lexical(name, summary, citation, measure, (0.0, highest), signature(name, measure))


class _RememberingTokenizer:
    """Tokenises each text once for all ROUGE metrics; stemming is most of the work for short texts."""

    def __init__(self, tokenize: Callable[[str], list[str]]) -> None:
        # 1024 texts: more than a chunk of `evaluate` holds.
        self.tokenize: Callable[[str], list[str]] = lru_cache(maxsize=1024)(tokenize)


@lru_cache
def _rouge_tokenizer(lang: Lang, stem_en: bool) -> _RememberingTokenizer:
    if lang == "zh":
        return _RememberingTokenizer(lambda text: _ZH_TOKEN.findall(text.lower()))
    from rouge_score.tokenizers import DefaultTokenizer  # pyright: ignore[reportMissingTypeStubs]

    tokenizer: Any = DefaultTokenizer(use_stemmer=stem_en)
    return _RememberingTokenizer(tokenizer.tokenize)


@lru_cache
def _rouge_scorer(rouge_type: str, lang: Lang, stem_en: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # pyright: ignore[reportMissingTypeStubs]

    return RougeScorer([rouge_type], tokenizer=_rouge_tokenizer(lang, stem_en))


@lru_cache
def _bleu(tokens: str, smooth: str, effective_order: bool) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokens, smooth_method=smooth, effective_order=effective_order)


@lru_cache
def _chrf(char_order: int, word_order: int, beta: int) -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(char_order=char_order, word_order=word_order, beta=beta)
