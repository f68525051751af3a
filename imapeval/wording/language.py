"""The language of a text, by its script."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from imapeval.types import Lang

_CHINESE_SHARE = 0.2
"""Share of CJK characters among the letters from which a question is Chinese: Chinese medical questions quote
Latin abbreviations ("HBsAg"), English ones hold no CJK characters (0 of 200 in the imapScore data)."""


def detect_lang(text: str) -> Lang:
    """Return the language of a text by its script: Chinese from a fifth of CJK characters among the letters."""
    letters = [character for character in text if character.isalpha()]
    chinese = sum("\u4e00" <= character <= "\u9fff" or "\u3400" <= character <= "\u4dbf" for character in letters)
    return "zh" if letters and chinese / len(letters) >= _CHINESE_SHARE else "en"
