"""A knowledge source: passages out of a user's file, found by the words of a fact.

The file is text, whose passages are divided by empty lines, or JSON lines with "text" and, if there is one, "title".
Passages are ranked by BM25 (Robertson and Zaragoza 2009), as FActScore has it beside its neural retriever. English
words are folded in case, Chinese is taken by pairs of characters.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError
from imapeval.text.language import HAN, has_chinese

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_PASSAGES = 5
"""Passages that a fact is held against: k = 5 of Min et al. 2023."""

_K1, _B = 1.5, 0.75
"""Parameters of BM25: the defaults of rank_bm25, with which FActScore ranks."""

_WORD = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """Passages, ready to be searched.

    Attributes:
        name: File name and short hash of its content, for signatures.
        passages: In the file's order.
        postings: For each word the passages that hold it, with how often they do.
        lengths: Words of each passage.
    """

    name: str
    passages: tuple[str, ...]
    postings: Mapping[str, tuple[tuple[int, int], ...]]
    lengths: tuple[int, ...]

    def search(self, text: str, *, most: int = MAX_PASSAGES) -> list[str]:
        """Return the passages that have most to do with a text, the best first; none that shares no word with it."""
        mean = sum(self.lengths) / len(self.lengths)
        scores: dict[int, float] = {}
        for word in _split(text):
            held = self.postings.get(word, ())
            # Never negative: a word of more than half the passages says little, but nothing against them.
            weight = math.log(1 + (len(self.passages) - len(held) + 0.5) / (len(held) + 0.5))
            for place, count in held:
                length = 1 - _B + _B * self.lengths[place] / mean
                gain = weight * count * (_K1 + 1) / (count + _K1 * length)
                scores[place] = scores.get(place, 0.0) + gain
        best = heapq.nsmallest(most, scores.items(), key=lambda found: (-found[1], found[0]))
        return [self.passages[place] for place, _ in best]


def load(path: str) -> KnowledgeSource:
    """Return the knowledge in a file; read once.

    Raises:
        InputError: It cannot be read, is not UTF-8, or holds no passage; names the line.
    """
    return _load(str(Path(path).expanduser().resolve()))


@lru_cache(maxsize=4)
def _load(path: str) -> KnowledgeSource:
    file = Path(path)
    try:
        content = file.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(
            f"the knowledge source cannot be read ({error.strerror})", fix="Check the path.", path=file
        ) from error
    except UnicodeDecodeError as error:
        raise InputError("the knowledge source is not UTF-8", fix="Save it as UTF-8.", path=file) from error
    lines = file.suffix in (".jsonl", ".ndjson")
    passages = _read_lines(text, file) if lines else [part.strip() for part in re.split(r"\n\s*\n", text)]
    passages = [passage for passage in passages if _split(passage)]
    if not passages:
        raise InputError(
            "the knowledge source holds no passage",
            fix='Write passages divided by empty lines, or JSON lines with "text".',
            path=file,
        )
    postings: dict[str, list[tuple[int, int]]] = {}
    lengths: list[int] = []
    for place, passage in enumerate(passages):
        words = _split(passage)
        lengths.append(len(words))
        for word, count in Counter(words).items():
            postings.setdefault(word, []).append((place, count))
    name = f"{file.name}#{hashlib.sha256(content).hexdigest()[:12]}"
    return KnowledgeSource(
        name, tuple(passages), {word: tuple(places) for word, places in postings.items()}, tuple(lengths)
    )


def _read_lines(text: str, file: Path) -> list[str]:
    passages: list[str] = []
    # JSON may hold a line separator such as U+2028 as it is.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        fields = cast("dict[str, Any]", record) if isinstance(record, dict) else {}
        title, body = fields.get("title", ""), fields.get("text")
        if not isinstance(body, str) or not isinstance(title, str):
            raise InputError(
                "the line is not a passage",
                fix='Write {"title": "...", "text": "..."} on each line.',
                path=file,
                line=number,
            )
        passages.append(f"{title}\n{body}".strip())
    return passages


def _split(text: str) -> list[str]:
    words: list[str] = []
    for found in _WORD.findall(text.casefold()):
        if has_chinese(found[:1]):
            words += [found[at : at + 2] for at in range(max(1, len(found) - 1))]
        else:
            words.append(found)
    return words
