"""How many tokens a tokenizer makes of a word, and how many words it keeps whole, by language and task.

"Fertility" and the share of words that are not continued, of Rust et al. 2021, How Good is Your Tokenizer?, ACL 2021;
and "sub-words per word" as DrBenchmark's script has it (Labrak et al. 2024, `SubwordAnalysis.py`): the mean over texts,
the marks at their ends included.

Words stand between white space, or are those of the data. Chinese has no words without a segmenter: its unit is a
character, other scripts' words are whole, and no share of whole words is given.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

from imapeval._optional import require
from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import is_missing
from imapeval.study.closed.drbenchmark.data import read_data
from imapeval.study.closed.drbenchmark.tasks import load_tasks
from imapeval.study.data.columns import refuse_missing_column
from imapeval.text.language import HAN, detect_lang

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Text = str | list[str]
"""A text, or the words of one."""

_TIKTOKEN = "tiktoken:"

_COLUMNS = ("text", "tokens", "question", "reference", "references", "response")
"""Columns with texts, where none is named."""

_CHINESE_WORD = re.compile(rf"[{HAN}]|[^\s{HAN}]+")


@dataclass(frozen=True, slots=True)
class WordTokens:
    """One tokenizer on the texts of one language and task.

    Attributes:
        tokenizer, task, lang: The tokenizer, the task and the language.
        texts: Number of texts.
        words: Number of words; of characters in Chinese.
        tokens_per_word: Tokens of all texts by words of all texts.
        whole: Share of words that are one token, which is of no other word; None in Chinese.
        by_text: Mean over texts of tokens per word, with the marks that the tokenizer puts at the ends of a text.
    """

    tokenizer: str
    task: str
    lang: str
    texts: int
    words: int
    tokens_per_word: float
    whole: float | None
    by_text: float


Tokenizer = Callable[[str], tuple[list[tuple[int, int]], int]]
"""Cuts a text into tokens: the first character of each and the one after its last, and how many marks are added."""


def open_tokenizer(name: str) -> Tokenizer:
    """Open a `tokenizer.json` of the package tokenizers, a folder with one, or "tiktoken:ENCODING".

    Raises:
        UsageError: It cannot be opened.
        MissingExtraError: tokenizers or tiktoken is not installed.
    """
    if name.startswith(_TIKTOKEN):
        tiktoken = require("tiktoken", distribution="tiktoken", extra="tokens", needed_for=f"The tokenizer {name}")
        encoding = name.removeprefix(_TIKTOKEN)
        try:
            return _use_tiktoken(tiktoken.get_encoding(encoding))
        except ValueError as error:
            known = ", ".join(tiktoken.list_encoding_names())
            raise UsageError(f"tiktoken has no encoding {encoding!r}. It has: {known}.") from error
        except OSError as error:
            raise UsageError(
                f"tiktoken cannot download the encoding {encoding!r} ({error}). Without a network, name a folder that "
                "has it in TIKTOKEN_CACHE_DIR."
            ) from error
    path = Path(name) / "tokenizer.json" if Path(name).is_dir() else Path(name)
    if not path.is_file():
        raise UsageError(f"{name!r} is not a tokenizer file. Give a tokenizer.json, or tiktoken:ENCODING.")
    needed_for = f"The tokenizer {name}"
    tokenizers: Any = require("tokenizers", distribution="tokenizers", extra="tokens", needed_for=needed_for)
    try:
        tokenizer = tokenizers.Tokenizer.from_buffer(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"{path} is not a file of the package tokenizers ({error}).") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _use_tokenizers(tokenizer)


def _use_tokenizers(tokenizer: Any) -> Tokenizer:
    def split(text: str) -> tuple[list[tuple[int, int]], int]:
        encoding = tokenizer.encode(text)
        marks: list[int] = encoding.special_tokens_mask
        spans: list[tuple[int, int]] = [span for span, mark in zip(encoding.offsets, marks, strict=True) if not mark]
        return spans, sum(marks)

    return split


def _use_tiktoken(encoding: Any) -> Tokenizer:
    def split(text: str) -> tuple[list[tuple[int, int]], int]:
        sizes = [len(encoding.decode_single_token_bytes(token)) for token in encoding.encode_ordinary(text)]
        ends = [*accumulate(sizes)]
        # A character may be several tokens: each of them has all of it.
        starts_of_characters = [0, *accumulate(len(character.encode()) for character in text)]
        return [
            (
                bisect_right(starts_of_characters, end - size) - 1,
                bisect_right(starts_of_characters, end - 1),
            )
            for size, end in zip(sizes, ends, strict=True)
        ], 0

    return split


def count_word_tokens(name: str, tokenizer: Tokenizer, texts: Sequence[Text], *, task: str, lang: str) -> WordTokens:
    """Count the tokens of texts (or of their words) of one language; the name is that of the tokenizer in the result.

    Raises:
        ValueError: No text has a word.
    """
    tokens = words = whole = 0
    by_text: list[float] = []
    for given in texts:
        text, places = _find_words(given, lang)
        if not places:
            continue
        spans, marks = tokenizer(text)
        tokens += len(spans)
        words += len(places)
        whole += _count_whole(spans, places)
        by_text.append((len(spans) + marks) / len(places))
    if not by_text:
        raise ValueError("no text has a word")
    share = None if lang == "zh" else whole / words
    return WordTokens(name, task, lang, len(by_text), words, tokens / words, share, fmean(by_text))


def _find_words(given: Text, lang: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text with single spaces, and where its words are."""
    if lang == "zh":
        text = given if isinstance(given, str) else "".join(given)
        return text, [found.span() for found in _CHINESE_WORD.finditer(text)]
    words = given.split() if isinstance(given, str) else [word for word in given if word.strip()]
    ends = [*accumulate(len(word) + 1 for word in words)]
    return " ".join(words), [(end - len(word) - 1, end - 1) for word, end in zip(words, ends, strict=True)]


def _count_whole(spans: Sequence[tuple[int, int]], places: Sequence[tuple[int, int]]) -> int:
    """Return how many words have one token, which is of no other word."""
    starts = [start for start, _ in places]
    tokens_of = [0] * len(places)
    shared: set[int] = set()
    for start, end in spans:
        first = max(0, bisect_right(starts, start) - 1)
        touched = [
            place
            for place in range(first, bisect_right(starts, end - 1))
            if places[place][0] < end and start < places[place][1]
        ]
        for place in touched:
            tokens_of[place] += 1
        if len(touched) > 1:
            shared.update(touched)
    return sum(count == 1 and place not in shared for place, count in enumerate(tokens_of))


def read_texts(path: Path, *, columns: Sequence[str] = ()) -> dict[tuple[str, str], list[Text]]:
    """Read the texts of a table, or of the copies of DrBenchmark's data sets below a folder, by task and language.

    A table may have the columns `task` (else the file's name) and `lang` (else it follows from the script; any
    language whose words stand between white space will do).

    Args:
        path: The table or folder.
        columns: Columns with texts, or lists of words; by default those of `text`, `tokens`, `question`, `reference`,
            `references` and `response` that are there.

    Raises:
        InputError: It cannot be read, or holds no texts.
        MissingExtraError: pyarrow is not installed.
    """
    found: dict[tuple[str, str], list[Text]] = {}
    if path.is_dir():
        for task in load_tasks():
            try:
                data = read_data(path, task)
            except InputError as error:
                if error.path != path:
                    raise
                continue  # Not there: restricted data sets are often not.
            words = task.kind == "sequence"
            found[task.name, "fr"] = [[*texts] if words else " ".join(texts) for texts in data.texts.values()]
        if not found:
            raise InputError("holds no data set of DrBenchmark", path=path, fix="Give a table, or save one there.")
        return found
    for row in read_file(str(path)):
        own = [name for name in columns or _COLUMNS if not is_missing(row.fields.get(name))]
        if unknown := [name for name in columns if name not in row.fields]:
            raise refuse_missing_column(row, path, unknown[0], fix="Name one of")
        task, said = (
            "" if is_missing(given) else str(given).strip() for given in map(row.fields.get, ("task", "lang"))
        )
        for name in own:
            for text in _list_texts(row.fields[name], words=name != "references"):
                if not "".join(text).strip():
                    continue
                # "zh-CN" and "ZH" are Chinese.
                lang = re.split("[-_]", said.lower())[0] or detect_lang(
                    text if isinstance(text, str) else "".join(text)
                )
                found.setdefault((task or path.stem, lang), []).append(text)
    if not found:
        raise InputError("holds no texts", path=path, fix="Name the columns with --text.")
    return found


def _list_texts(value: Any, *, words: bool) -> Iterable[Text]:
    if not isinstance(value, list):
        return [_make_text(value)]
    given = [_make_text(one) for one in cast("list[Any]", value) if one is not None]
    return [given] if words else given


def _make_text(value: Any) -> str:
    # Tokenizers refuse lone surrogates, halves of characters.
    return str(value).encode("utf-8", "replace").decode()
