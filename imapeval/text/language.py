"""The language of a text, by its script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from imapeval.types import Lang

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""The Chinese characters, for the inside of a character class: unified and compatibility ideographs with their
extensions (Unicode 16, blocks CJK Unified Ideographs to Extension H)."""

_CHINESE = re.compile(f"[{HAN}]")

_CHINESE_SHARE = 0.2
"""Share of Chinese characters among the letters from which a question is Chinese: Chinese medical questions quote
Latin abbreviations ("HBsAg"), English ones hold no Chinese characters (0 of 200 in the imapScore data)."""


def has_chinese(text: str) -> bool:
    """Tell whether a Chinese character stands in a text."""
    return _CHINESE.search(text) is not None


def detect_lang(text: str) -> Lang:
    """Return the language of a text by its script: Chinese from a fifth of Chinese characters among the letters."""
    letters = sum(map(str.isalpha, text))
    return "zh" if letters and len(_CHINESE.findall(text)) / letters >= _CHINESE_SHARE else "en"
