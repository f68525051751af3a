"""Texts to tokens, each text once for all metrics that count the same tokens."""

from __future__ import annotations

import re
import string
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from imapeval.metrics.nltk_data import load_porter_stemmer
from imapeval.text.language import HAN
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.types import Lang

Tokens = tuple[str, ...]

NO_REFERENCE_TOKENS = Failure("metric", "no-reference-tokens", "the reference holds no word or number to compare with")

EXAMPLE_TEXTS = ("take the tablets with food", "after food take the tablets")
"""Reference and response of the examples."""

_CACHED_TEXTS = 512
"""Texts whose tokens are kept: what a batch of 64 samples holds with one reference each, raw and on imaps (384)."""

_CACHED_STEMS = 50_000
"""Words whose stems are kept, some 10 MB; more than the answers of a study use."""

_ZH_TOKEN = re.compile(f"[{HAN}]|(?:(?![{HAN}_])\\w)+")

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@lru_cache(maxsize=_CACHED_TEXTS)
def split_for_rouge(text: str, lang: Lang, *, stem_en: bool) -> Tokens:
    """Return ROUGE's tokens.

    English: those of the package rouge-score, which knows ASCII letters and digits only, with the Porter stemmer for
    words of more than 3 letters. Chinese: as `split_chinese`.
    """
    if lang == "zh":
        return split_chinese(text)
    from rouge_score import tokenize  # pyright: ignore[reportMissingTypeStubs]

    library: Any = tokenize
    return tuple(library.tokenize(text, _stemmer() if stem_en else None))


@lru_cache(maxsize=_CACHED_TEXTS)
def split_for_bleu(text: str, tokenizer: str) -> Tokens:
    """Return the tokens of one of sacrebleu's tokenizers: "13a" or "zh"."""
    split = _sacrebleu_tokenizer(tokenizer)
    tokens = tuple(split(text.rstrip()).split())
    # sacrebleu keeps 65,536 texts in each of both, 400 MB of long answers. What is soon needed again is kept here.
    for forget in _find_sacrebleu_caches(tokenizer):
        forget()
    return tokens


@lru_cache(maxsize=_CACHED_TEXTS)
def split_for_squad(text: str, lang: Lang) -> Tokens:
    """Return the words that SQuAD's evaluation compares (Rajpurkar et al. 2016).

    English: in lower case, without ASCII punctuation and articles, cut at white space. Chinese: as `split_chinese`.
    """
    if lang == "zh":
        return split_chinese(text)
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def split_chinese(text: str) -> Tokens:
    """Return single CJK characters, and words of any other script and numbers whole, in lower case."""
    return tuple(_ZH_TOKEN.findall(text.lower()))


class _CachingStemmer:
    """The Porter stemmer that rouge-score takes; stemming is most of the work for short texts."""

    def __init__(self) -> None:
        stemmer = load_porter_stemmer()()
        self.stem: Callable[[str], str] = lru_cache(maxsize=_CACHED_STEMS)(stemmer.stem)


@lru_cache
def _stemmer() -> _CachingStemmer:
    return _CachingStemmer()


@lru_cache
def _sacrebleu_tokenizer(name: str) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=name).tokenizer


@lru_cache
def _find_sacrebleu_caches(name: str) -> tuple[Callable[[], None], ...]:
    """Return what empties the caches of a tokenizer, and of the one that ends its work."""
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    kinds: list[Any] = [type(_sacrebleu_tokenizer(name)), TokenizerRegexp]
    return tuple(kind.__call__.cache_clear for kind in kinds)
