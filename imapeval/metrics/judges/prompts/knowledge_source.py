"""A knowledge source: passages from a user's file, which are searched for the words of a fact.

The file is text with passages separated by empty lines, or JSON Lines with "text" and optionally "title". Passages are
ranked by BM25 (Robertson and Zaragoza 2009), which FActScore also offers besides its neural retriever. Words are
case-folded English words and pairs of adjacent Chinese characters.
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
from imapeval.files import expand_user
from imapeval.text.language import HAN, has_chinese

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_PASSAGES = 5
"""Maximum number of passages that a fact is compared with: k = 5 of Min et al. 2023."""

_K1, _B = 1.5, 0.75
"""Parameters of BM25: the defaults of rank_bm25, which FActScore uses."""

_WORD = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """An index of passages.

    Attributes:
        name: File name and short hash of its content, for signatures.
        passages: In the file's order.
        postings: For each word, (index of a passage that contains it, number of occurrences).
        lengths: Number of words of each passage.
    """

    name: str
    passages: tuple[str, ...]
    postings: Mapping[str, tuple[tuple[int, int], ...]]
    lengths: tuple[int, ...]

    def search(self, text: str) -> list[str]:
        """Return the `MAX_PASSAGES` passages most relevant to a text, the best first; each shares a word with it."""
        mean = sum(self.lengths) / len(self.lengths)
        scores: dict[int, float] = {}
        for word in _split(text):
            matching = self.postings.get(word, ())
            # Never negative, not even for a word that occurs in more than half of the passages.
            weight = math.log(1 + (len(self.passages) - len(matching) + 0.5) / (len(matching) + 0.5))
            for index, count in matching:
                length = 1 - _B + _B * self.lengths[index] / mean
                gain = weight * count * (_K1 + 1) / (count + _K1 * length)
                scores[index] = scores.get(index, 0.0) + gain
        best = heapq.nsmallest(MAX_PASSAGES, scores.items(), key=lambda found: (-found[1], found[0]))
        return [self.passages[index] for index, _ in best]


def load(path: str) -> KnowledgeSource:
    """Return the knowledge source in a file, which is read only once.

    Raises:
        InputError: The file cannot be read, is not UTF-8, or has no passage; names the line.
    """
    return _load(str(expand_user(path).resolve()))


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
    lines = file.suffix.lower() in (".jsonl", ".ndjson")
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
    for index, passage in enumerate(passages):
        words = _split(passage)
        lengths.append(len(words))
        for word, count in Counter(words).items():
            postings.setdefault(word, []).append((index, count))
    name = f"{file.name}#{hashlib.sha256(content).hexdigest()[:12]}"
    return KnowledgeSource(
        name, tuple(passages), {word: tuple(entries) for word, entries in postings.items()}, tuple(lengths)
    )


def _read_lines(text: str, file: Path) -> list[str]:
    passages: list[str] = []
    # JSON may contain unescaped line separators such as U+2028.
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
