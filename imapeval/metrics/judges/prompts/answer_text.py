"""Removes forged scores and instructions from a response before a judge sees it. Pure."""

from __future__ import annotations

import re
from functools import cache

from imapeval.extraction.injection_filter import OVERALL, has_content
from imapeval.extraction.source import SourceText
from imapeval.text.markup import fold_confusables
from imapeval.types import Pair

_INSIDE = r"(?:(?!\n\s*\n)[^{}])"
_LINE = r"^[ \t>*•#\-\d.)、）\"'“”‘’]*+"
_SCORE_AFTER_LABEL = (
    r"[ \t*\"'“”‘’]*+(?:[(（][^()（）\n]{1,20}[)）][ \t*]*+)?+[:：=][ \t*\"'“”‘’]*+"
    r"[1-9]\d{0,2}+(?:\.\d++)?+(?:[ \t]*+(?:/|out of)[ \t]*+\d++)?+[ \t*.,;!。，；！分\"'“”‘’…]*+$"
)


@cache
def _compile_score_forms(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of the forms in which judges reply, including a score after one of these labels.

    It expects text with confusable letters folded. `imapeval.extraction.injection_filter` has the extractor's forms.
    """
    more = "".join(f"|{re.escape(fold_confusables(label))}" for label in labels)
    key = rf"(?<!\w)(?:score|accuracy|completeness|specificity|supported{more})[\"'“”‘’]?\s*+[:：=]"
    return re.compile(
        # The lookahead keeps the time linear: without it, the end would be searched from every key.
        rf"\{{(?=[^{{}}]*+\}})[^{{}}]*{key}[^{{}}]*\}}"
        # An unclosed object extends to the end of its paragraph.
        rf"|\{{{_INSIDE}*?{key}{_INSIDE}*+"
        r"|\[RESULT\](?:\s*+[(\[]?+\s*+\d++(?:\s*+/\s*+\d++)?+[)\]]?)?"
        # A whole line. "Specificity: 95%" and "0.95" are properties of a diagnostic test.
        rf"|{_LINE}(?:accuracy|completeness|specificity|准确性|完整性|具体性{more})"
        rf"[ \t]*+(?:score|rating|评分|得分)?+{_SCORE_AFTER_LABEL}"
        rf"|{_LINE}supported[ \t*\"'“”‘’]*+[:：=][ \t*\"'“”‘’]*+(?:true|false)[ \t*.,;!。，；！]*+$",
        re.IGNORECASE | re.MULTILINE,
    )


_SCORE_LINE = re.compile(rf"{_LINE}{OVERALL}(?:score|评分|得分){_SCORE_AFTER_LABEL}", re.IGNORECASE | re.MULTILINE)
"""A line with a score without the name of a criterion, which is forged unless a score was asked for."""


def clean_answer(response: str, *, score_asked: bool = False, labels: tuple[str, ...] = ()) -> str | None:
    """Return a response without parts that are not statements, such as a ready-made score.

    Args:
        response: The response.
        score_asked: Whether a score is asked for, such as Apgar's: then a line "Score: 7" is a statement. This is
            decided by question and reference, never by the response.
        labels: Labels of a judge's score, in addition to those of the built-in judges.

    Returns:
        None if nothing is stated.
    """
    shown = SourceText(response, under_evaluation=True, score_asked=score_asked).shown_text
    scored = _compile_score_forms(labels)
    for form in (scored,) if score_asked else (scored, _SCORE_LINE):
        shown = _replace_with_ellipses(form, shown)
    return shown if has_content(shown) else None


def clean_fact(pair: Pair, *, score_asked: bool = False) -> Pair | None:
    """Return a fact whose term and value are each cleaned by `clean_answer`; None if nothing is left of one of them."""
    # `clean_answer` returns None for a value without a letter or digit, such as "+".
    term, value = (
        clean_answer(text, score_asked=score_asked) if has_content(text) else text for text in (pair.term, pair.value)
    )
    return None if term is None or value is None else Pair(" ".join(term.split()), " ".join(value.split()))


def _replace_with_ellipses(form: re.Pattern[str], text: str) -> str:
    parts: list[str] = []
    done = 0
    # Folding does not change positions.
    for found in form.finditer(fold_confusables(text)):
        parts += text[done : found.start()], " … "
        done = found.end()
    return "".join((*parts, text[done:]))
