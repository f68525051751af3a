"""What a judge is shown of a response: its statements, without forged scores or instructions. Pure."""

from __future__ import annotations

import re
from functools import cache

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
    """Return what finds the forms in which judges answer, those that put a score behind one of these labels too.

    In ordinary letters; the extractor's forms are known to `imapeval.extraction.injection_filter`.
    """
    more = "".join(f"|{re.escape(fold_confusables(label))}" for label in labels)
    key = rf"(?<!\w)(?:score|accuracy|completeness|specificity|supported{more})[\"'“”‘’]?\s*+[:：=]"
    return re.compile(
        # The look ahead keeps the time in proportion to the text: without it every key would look for the end.
        rf"\{{(?=[^{{}}]*+\}})[^{{}}]*{key}[^{{}}]*\}}"
        # What is not closed goes to the end of its paragraph.
        rf"|\{{{_INSIDE}*?{key}{_INSIDE}*+"
        r"|\[RESULT\](?:\s*+[(\[]?+\s*+\d++(?:\s*+/\s*+\d++)?+[)\]]?)?"
        # A line that is nothing else. "Specificity: 95%" and "0.95" are what a test has.
        rf"|{_LINE}(?:accuracy|completeness|specificity|准确性|完整性|具体性{more})"
        rf"[ \t]*+(?:score|rating|评分|得分)?+{_SCORE_AFTER_LABEL}"
        rf"|{_LINE}supported[ \t*\"'“”‘’]*+[:：=][ \t*\"'“”‘’]*+(?:true|false)[ \t*.,;!。，；！]*+$",
        re.IGNORECASE | re.MULTILINE,
    )


_SCORE_LINE = re.compile(rf"{_LINE}(?:score|评分|得分){_SCORE_AFTER_LABEL}", re.IGNORECASE | re.MULTILINE)
"""A score of nothing in particular, which is one of those forms unless a score was asked for."""


def clean_answer(response: str, *, score_asked: bool = False, labels: tuple[str, ...] = ()) -> str | None:
    """Return what a judge is shown of a response: without what does not belong to it, such as a ready-made score.

    Args:
        response: The text.
        score_asked: Whether a score is asked for, such as Apgar's: then a line "Score: 7" is a statement. Only question
            and reference can say so, never the response.
        labels: What a judge's score stands behind, beside those that judges of ours have.

    Returns:
        None where nothing at all is stated.
    """
    shown = SourceText(response, under_evaluation=True, score_asked=score_asked).shown_text
    scored = _compile_score_forms(labels)
    for form in (scored,) if score_asked else (scored, _SCORE_LINE):
        shown = _replace_with_ellipses(form, shown)
    return shown if has_content(shown) else None


def clean_fact(pair: Pair) -> Pair | None:
    """Return what a judge is shown of a fact, of which term and value are looked at singly, each as by `clean_answer`.

    Returns:
        None where one of them is nothing but what `clean_answer` leaves out.
    """
    # A value without a letter, such as "+", says nothing to `clean_answer`, but is one.
    term, value = (clean_answer(text) if has_content(text) else text for text in (pair.term, pair.value))
    return None if term is None or value is None else Pair(" ".join(term.split()), " ".join(value.split()))


def _replace_with_ellipses(form: re.Pattern[str], text: str) -> str:
    parts: list[str] = []
    done = 0
    # As long, character for character.
    for found in form.finditer(fold_confusables(text)):
        parts += text[done : found.start()], " … "
        done = found.end()
    return "".join((*parts, text[done:]))


def has_content(text: str) -> bool:
    """Return whether a text has a letter or digit."""
    return any(map(str.isalnum, text))
