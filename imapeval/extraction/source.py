"""The text shown to a model, and the positions of quoted values in the original. Pure."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cached_property

from imapeval.extraction.grounding import GroundingText, fold_case
from imapeval.extraction.injection_filter import find_injections, has_content
from imapeval.llm.structured.templates import neutralise
from imapeval.text.language import has_chinese
from imapeval.text.markup import INVISIBLE, EditedText, fold_confusables
from imapeval.types import Pair

_OMISSION = " … "
"""Replaces an injection."""

_MIN_MISSPELT = 4
"""Shortest value, in characters, of which one may differ in kind from the text, such as a digit from a letter."""
_MIN_DAMAGED = 6
"""Shortest value, in characters, of which one may be another letter or digit than in the text, or some be missing."""
_MAX_CUT_CHARACTERS = 2
"""Characters that may be missing at either end of a value."""

_CHUNK = 3
"""Length of the chunks of a value that are looked up. If one character in eight is damaged, so are at most three chunks
in eight."""

_MIN_SIMILARITY = 0.88
"""A value is a damaged quotation of a stretch of the text if their similarity is at least this: one character in eight.
A denial that is not in the text ("no withdrawal bleeding") is not damage."""

_SPACES = re.compile(r"\s\s+|[^\S ]")
_NUMBER_SIGN = re.compile(r"(?<=\d)(?:\.(?=\d)|,(?=\d{3}(?!\d)))")
"""The sign within "0.5" or "1,500"."""


class SourceText:
    """A text as the model sees it.

    Zero-width characters are removed, unusual forms of letters become ordinary ones, injections (`injection_filter`)
    are replaced by an ellipsis, and anything that could end the text in a prompt is neutralised. Positions are those in
    the original.

    Args:
        text: The original.
        under_evaluation: Whether to remove injections; False for questions.
        score_asked: See `find_injections`.
    """

    def __init__(self, text: str, *, under_evaluation: bool, score_asked: bool = False) -> None:
        text = fold_confusables(text)
        visible = EditedText(text, ((found.start(), found.end(), "") for found in INVISIBLE.finditer(text)))
        injections = find_injections(visible.text, score_asked=score_asked) if under_evaluation else ()
        self._visible = visible
        self._stated = EditedText(visible.text, ((start, end, _OMISSION) for start, end in injections))
        self.shown_text = neutralise(self._stated.text)

    @property
    def is_empty(self) -> bool:
        """Whether the text has no letter or digit."""
        return not has_content(self.shown_text)

    @cached_property
    def grounding(self) -> GroundingText:
        """The shown text, prepared for checking values against it."""
        return GroundingText(self.shown_text)

    def locate(self, pair: Pair) -> Pair:
        """Return the pair with its position and the wording of the text if the value is a quotation, else unchanged."""
        value = fold_case(neutralise(" ".join(INVISIBLE.sub("", pair.value).split())))
        found = self._find(value) or self._find_misspelt(value) or self._find_truncated(value)
        # A value across an omission is not a quotation.
        if found is None or _OMISSION.strip() in value:
            return pair
        first, last = (self._plain.to_original(index) for index in (found[0], found[1] - 1))
        start, end = (self._visible.to_original(self._stated.to_original(index)) for index in (first, last))
        return Pair(pair.term, " ".join(self._stated.text[first : last + 1].split()), (start, end + 1))

    def nearly_contains(self, value: str) -> bool:
        """Return whether a value is a damaged quotation: a few characters are missing or changed."""
        folded, text = fold_case(value), self._plain.text
        if len(folded) < _MIN_DAMAGED:
            return False
        # A cheap test first: most chunks of a damaged quotation are in the text.
        pieces = [folded[at : at + _CHUNK] for at in range(0, len(folded) - _CHUNK + 1, _CHUNK)]
        if 2 * sum(piece in text for piece in pieces) < len(pieces):
            return False
        anchor = SequenceMatcher(None, text, folded, autojunk=False).find_longest_match()
        start = max(0, anchor.a - anchor.b)
        return (
            SequenceMatcher(None, text[start : start + len(folded)], folded, autojunk=False).ratio() >= _MIN_SIMILARITY
        )

    @cached_property
    def _plain(self) -> EditedText:
        """The shown text with single spaces, folded for comparison."""
        return EditedText(
            fold_case(self.shown_text),
            ((found.start(), found.end(), " ") for found in _SPACES.finditer(self.shown_text)),
        )

    def _find(self, value: str) -> tuple[int, int] | None:
        at = self._plain.text.find(value) if value else -1
        while at >= 0:
            if self._stands_alone(at, at + len(value)):
                return at, at + len(value)
            at = self._plain.text.find(value, at + 1)
        return None

    def _find_misspelt(self, value: str) -> tuple[int, int] | None:
        """Find a value that differs from the text in one character, by an error of the model or its server."""
        if len(value) < _MIN_MISSPELT:
            return None
        half = len(value) // 2
        for part, offset in ((value[:half], 0), (value[half:], half)):
            at = self._plain.text.find(part, offset)
            while at >= 0:
                start, end = at - offset, at - offset + len(value)
                if _differ_by_misspelling(value, self._plain.text[start:end]) and self._stands_alone(start, end):
                    return start, end
                at = self._plain.text.find(part, at + 1)
        return None

    def _find_truncated(self, value: str) -> tuple[int, int] | None:
        """Find a value that lacks one or two characters of its first or last word."""
        text = self._plain.text
        start = text.find(value) if len(value) >= _MIN_DAMAGED else -1
        if start < 0:
            return None
        end = start + len(value)
        for _ in range(_MAX_CUT_CHARACTERS):
            start -= start > 0 and _are_one_word(text[start - 1], text[start])
            end += end < len(text) and _are_one_word(text[end - 1], text[end])
        return (start, end) if self._stands_alone(start, end) else None

    def _stands_alone(self, start: int, end: int) -> bool:
        """Return whether a stretch of the plain text is whole: "no" is not in "nose", "5 mg" is not in "0.5 mg"."""
        return not self._is_within_word(start) and not self._is_within_word(end)

    def _is_within_word(self, at: int) -> bool:
        """Return whether a position of the plain text is within a word or number."""
        text = self._plain.text
        if not 0 < at < len(text):
            return False
        return bool(
            _are_one_word(text[at - 1], text[at]) or _NUMBER_SIGN.match(text, at - 1) or _NUMBER_SIGN.match(text, at)
        )


def _are_one_word(before: str, after: str) -> bool:
    # Chinese is written without spaces.
    return before.isascii() and after.isascii() and before.isalnum() and after.isalnum()


def _differ_by_misspelling(value: str, window: str) -> bool:
    """Return whether exactly one character differs; in a short value, only where that cannot make it another word."""
    if len(value) != len(window):
        return False
    index = next(
        (i for i, (char, window_char) in enumerate(zip(value, window, strict=True)) if char != window_char), None
    )
    if index is None or value[index + 1 :] != window[index + 1 :]:
        return False
    if value[index].isalnum() and not window[index].isalnum():
        # A letter in place of a comma is not an error: 不要手术 is not in "，要手术".
        return False
    char, window_char = _character_class(value[index]), _character_class(window[index])
    # 乙型肝炎 is not 丙型肝炎, and "cat" is not "rat"; but a bracket, or a digit within a word, is an error.
    return char != window_char or (char != "han" and len(value) >= _MIN_DAMAGED)


def _character_class(char: str) -> str:
    if char.isascii():
        return "letter" if char.isalpha() else "digit" if char.isdigit() else char
    return "han" if has_chinese(char) else "other"
