"""The known languages, and the detection of a text's language by its script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from imapeval.types import Lang

FACT_LANGS: tuple[Lang, ...] = ("en", "zh")
"""Languages that facts are read in: those of the graph, of the lexicon and of the prompts. Texts in the others are
compared by the metrics that count words, tokens or characters."""

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""The Chinese characters, for use inside a regular expression's character class: unified and compatibility ideographs
with their extensions (Unicode 16, blocks CJK Unified Ideographs to Extension H)."""

_CHINESE = re.compile(f"[{HAN}]")

_CHINESE_SHARE = 0.2
"""A text counts as Chinese if at least this share of its letters is Chinese. Chinese medical questions quote Latin
abbreviations ("HBsAg"); English ones contain no Chinese characters (0 of 200 in the imapScore data)."""


def has_chinese(text: str) -> bool:
    """Return whether a text contains a Chinese character."""
    return _CHINESE.search(text) is not None


def find_name_lang(name: str) -> Lang:
    """Return the language of a concept's name: Chinese if it contains a Chinese character, else English."""
    return "zh" if has_chinese(name) else "en"


def detect_lang(text: str) -> Lang:
    """Return the language of a text: Chinese if at least a fifth of its letters are Chinese characters, else English.

    French and others have the script of English; they have to be given (column `lang`).
    """
    letters = sum(map(str.isalpha, text))
    return "zh" if letters and len(_CHINESE.findall(text)) / letters >= _CHINESE_SHARE else "en"
