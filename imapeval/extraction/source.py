"""A text to be read: what of it the model is shown, and where what it writes stands in the original. Pure."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cached_property

from imapeval.extraction.grounding import GroundingText, fold_case
from imapeval.extraction.injection_filter import find_injections
from imapeval.llm.structured.templates import neutralise
from imapeval.text.language import has_chinese
from imapeval.text.markup import INVISIBLE, EditedText, fold_confusables
from imapeval.types import Pair

_OMISSION = " … "
"""Stands for what is no statement of the text."""

_SHORT = 4
"""Characters of the shortest value of which one may be another than in the text."""
_MAX_CUT_CHARACTERS = 2
"""Characters that a value may lack at an end."""
_LONG = 6
"""Characters of a value from which one letter or digit may be another than in the text."""

_CHUNK = 3
"""Characters. With one in eight damaged, at most three pieces in eight are."""

_MIN_SIMILARITY = 0.88
"""Likeness of a value and a stretch of the text from which one is the other, damaged: one character in eight. A
denial that the text has not ("no withdrawal bleeding") is no damage."""

_SPACES = re.compile(r"\s\s+|[^\S ]")


class SourceText:
    """A text as the model sees it.

    Zero-width characters are gone, odd forms of letters are ordinary ones, and forged formats (`forgery`) are left out,
    with an ellipsis in their place; what could end the text's place in a prompt is neutralised. Places found in it are
    those of the original.

    Args:
        text: The original.
        under_evaluation: Whether what is no statement of it is left out; a question is nobody's answer.
        score_asked: See `find_injections`.
    """

    def __init__(self, text: str, *, under_evaluation: bool, score_asked: bool = False) -> None:
        text = fold_confusables(text)
        visible = EditedText(text, ((found.start(), found.end(), "") for found in INVISIBLE.finditer(text)))
        forgeries = find_injections(visible.text, score_asked=score_asked) if under_evaluation else ()
        self._visible = visible
        self._stated = EditedText(visible.text, ((start, end, _OMISSION) for start, end in forgeries))
        self.shown_text = neutralise(self._stated.text)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stated."""
        return not any(map(str.isalnum, self.shown_text))

    @cached_property
    def grounding(self) -> GroundingText:
        """What stands in it."""
        return GroundingText(self.shown_text)

    def locate(self, pair: Pair) -> Pair:
        """Return the pair with its place and the text's own wording, where the value is a quotation."""
        value = fold_case(neutralise(" ".join(INVISIBLE.sub("", pair.value).split())))
        found = self._find(value) or self._find_slipped(value) or self._find_cut(value)
        # What goes over something left out is no quotation.
        if found is None or _OMISSION.strip() in value:
            return pair
        first, last = (self._plain.to_original(place) for place in (found[0], found[1] - 1))
        start, end = (self._visible.to_original(self._stated.to_original(place)) for place in (first, last))
        return Pair(pair.term, " ".join(self._stated.text[first : last + 1].split()), (start, end + 1))

    def nearly_contains(self, value: str) -> bool:
        """Say whether a value that is no quotation was one before it was damaged: a few characters cut or changed."""
        folded, text = fold_case(value), self._plain.text
        if len(folded) < _LONG:
            return False
        # Most of its pieces are in the text then; the comparison takes long.
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

    def _find_slipped(self, value: str) -> tuple[int, int] | None:
        """Find a value of which one character is another than in the text: a slip of the model or of its server."""
        half = len(value) // 2
        if half < _SHORT // 2:
            return None
        for part, offset in ((value[:half], 0), (value[half:], half)):
            at = self._plain.text.find(part, offset)
            while at >= 0:
                start, end = at - offset, at - offset + len(value)
                if _differ_by_slip(value, self._plain.text[start:end]) and self._stands_alone(start, end):
                    return start, end
                at = self._plain.text.find(part, at + 1)
        return None

    def _find_cut(self, value: str) -> tuple[int, int] | None:
        """Find a value that lacks a character or two of its first or last word."""
        text = self._plain.text
        start = text.find(value) if len(value) >= _LONG else -1
        if start < 0:
            return None
        end = start + len(value)
        for _ in range(_MAX_CUT_CHARACTERS):
            start -= start > 0 and _are_one_word(text[start - 1], text[start])
            end += end < len(text) and _are_one_word(text[end - 1], text[end])
        return (start, end) if self._stands_alone(start, end) else None

    def _stands_alone(self, start: int, end: int) -> bool:
        """Say whether a stretch of the plain text is no part of longer words: "no" does not stand in "nose"."""
        text = self._plain.text
        # Chinese is written without spaces.
        before = start > 0 and _are_one_word(text[start - 1], text[start])
        return not before and not (end < len(text) and _are_one_word(text[end - 1], text[end]))


def _are_one_word(before: str, after: str) -> bool:
    return before.isascii() and after.isascii() and before.isalnum() and after.isalnum()


def _differ_by_slip(value: str, window: str) -> bool:
    """Say whether one character alone differs, and not so that another word may be meant."""
    if len(value) != len(window):
        return False
    place = next((at for at, (ours, theirs) in enumerate(zip(value, window, strict=True)) if ours != theirs), None)
    if place is None or value[place + 1 :] != window[place + 1 :]:
        return False
    if value[place].isalnum() and not window[place].isalnum():
        # No slip makes a letter of a comma: 不要手术 does not stand in "，要手术".
        return False
    ours, theirs = _character_class(value[place]), _character_class(window[place])
    # 乙型肝炎 is not 丙型肝炎, nor "cat" "rat"; but no word has a bracket or, inside, a digit.
    return ours != theirs or (ours != "han" and len(value) >= _LONG)


def _character_class(char: str) -> str:
    if char.isascii():
        return "letter" if char.isalpha() else "digit" if char.isdigit() else char
    return "han" if has_chinese(char) else "other"
