"""Tokenizers, with caches that metrics with the same tokens share."""

from __future__ import annotations

import re
import string
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args

import regex

from imapeval.metrics.nltk_parts import load_stemmer
from imapeval.text.language import HAN
from imapeval.text.normalise import normalise_unicode
from imapeval.types import Failure, Lang

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Tokens = tuple[str, ...]

LANGUAGES: frozenset[Lang] = frozenset(get_args(Lang))
"""Languages with a tokenizer: all."""

NO_REFERENCE_TOKENS = Failure("metric", "no-reference-tokens", "the reference holds no word or number to compare with")

TOKENIZERS: dict[Lang, str] = {"en": "13a", "zh": "zh"}
"""sacrebleu's defaults; French and other languages use that of English."""

EXAMPLE_TEXTS = ("take the tablets with food", "after food take the tablets")
"""Reference and response of the examples."""

_CACHED_TEXTS = 512
"""Number of texts whose tokens are cached: a batch of 64 samples with one reference each, raw and on imaps (384)."""

_CACHED_STEMS = 50_000
"""Number of words whose stems are cached, some 10 MB: more than the answers of a study use."""

_ZH_TOKEN = re.compile(f"[{HAN}]|(?:(?![{HAN}_])\\w)+")

_WORD = regex.compile(r"\d++(?:[.,]\d++)++|(?:\p{L}[\p{M}\u200c\u200d]*+|[\p{N}_])++")
"""A number is one token; "2,5" becomes "2.5". Letters with their marks, such as the vowels of Hindi and pointed Arabic,
which are not in the `\\w` of `re`."""

_GROUPING_SPACE = re.compile("(?<=\\d)[\u00a0\u2009\u202f](?=\\d{3}(?!\\d))")
"""Thousands separators; not a plain space, which may separate two numbers, as in "2 500 mg" for two tablets."""

_LIGATURES = str.maketrans({"œ": "oe", "æ": "ae"})

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_FR_ARTICLES = re.compile(r"\b(?:(?:le|la|les|un|une|des)\b|l['’])")
"""The articles that LightEval removes (`Language.FRENCH`)."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_PUNCTUATION_BUT_SIGNS = str.maketrans("", "", string.punctuation.replace("+", "").replace("-", ""))


@lru_cache(maxsize=_CACHED_TEXTS)
def split_for_rouge(text: str, lang: Lang) -> Tokens:
    """Return ROUGE's tokens.

    English: those of the package rouge-score, which knows ASCII letters and digits only, with the Porter stemmer for
    words of more than 3 letters. Chinese: as `split_chinese`. French: as `split_words`, with the Snowball stemmer for
    words of more than 3 letters. Others: as `split_words`.
    """
    if lang == "zh":
        return split_chinese(text)
    if lang == "other":
        return split_words(text)
    if lang == "fr":
        stemmer = open_stemmer(lang)
        return tuple(stemmer.stem(word) if len(word) > 3 else word for word in split_words(text))
    from rouge_score import tokenize  # pyright: ignore[reportMissingTypeStubs]

    library: Any = tokenize
    return tuple(library.tokenize(text, open_stemmer(lang)))


def choose_tokenizer(lang: Lang) -> str:
    """Return the name of sacrebleu's tokenizer for a language."""
    return TOKENIZERS.get(lang, TOKENIZERS["en"])


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

    English: in lower case, without ASCII punctuation and articles, split at white space. Chinese: as `split_chinese`.
    French: as `split_words`, without articles. Others: as `split_words`.

    A text of articles alone keeps them, and a sign after one: it is an answer such as the option "A" or the blood group
    A+.
    """
    if lang == "zh":
        return split_chinese(text)
    if lang == "other":
        return split_words(text)
    if lang == "fr":
        return split_words(_FR_ARTICLES.sub(" ", text.lower())) or split_words(text)
    plain = text.lower().translate(_NO_PUNCTUATION)
    if words := _ARTICLES.sub(" ", plain).split():
        return tuple(words)
    signed = text.lower().translate(_NO_PUNCTUATION_BUT_SIGNS).split()
    return tuple(article for word in signed if (article := word.lstrip("+-")))


def split_chinese(text: str) -> Tokens:
    """Return single CJK characters, and runs of other letters and digits, in lower case: "2.5mg" is "2", "5mg"."""
    return tuple(_ZH_TOKEN.findall(text.lower()))


def split_words(text: str) -> Tokens:
    """Return words and numbers in lower case, with accents; elided words ("l'") are separate, "œ" is "oe"."""
    text = normalise_unicode(text, "NFC").lower().translate(_LIGATURES)
    tokens = _WORD.findall(_GROUPING_SPACE.sub("", text))
    return tuple(token.replace(",", ".") for token in tokens)


def make_ngrams(tokens: Tokens, order: int) -> Iterator[tuple[str, ...]]:
    """Yield each run of `order` tokens, from the first to the last."""
    return zip(*(tokens[start:] for start in range(order)), strict=False)


@lru_cache
def open_stemmer(lang: Lang) -> Any:
    """Return the stemmer of a language: `stem` caches, because stemming is most of the work for short texts."""
    return SimpleNamespace(stem=lru_cache(maxsize=_CACHED_STEMS)(load_stemmer(lang)().stem))


@lru_cache
def _sacrebleu_tokenizer(name: str) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=name).tokenizer


@lru_cache
def _find_sacrebleu_caches(name: str) -> tuple[Callable[[], None], ...]:
    """Return functions that clear the caches of a tokenizer and of its last step."""
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    kinds: list[Any] = [type(_sacrebleu_tokenizer(name)), TokenizerRegexp]
    return tuple(kind.__call__.cache_clear for kind in kinds)
