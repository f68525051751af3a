"""Select the pairs of a completion that were asked for and are grounded in the text. Pure.

A term that was not asked for is dropped. Scores compare terms that reference and response share with all terms of the
reference: an additional term of a response would have no effect, one of a reference would lower the score of every
response that keeps to the question.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from imapeval.extraction.entries import Dropped, DropReason, Parsed, make_dropped
from imapeval.llm.structured.faults import are_refusals, fault_error
from imapeval.text.language import HAN
from imapeval.types import Pair, QuestionImap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.extraction.source import SourceText

_DAMAGE = re.compile(
    rf"""
      [\x00-\x1f\x7f\ufffd{{}}\[\]"\\]     # control characters, undecodable ones, and marks of JSON
    | (?<=[{HAN}])[a-z]++(?![A-Z])       # Latin letters after a Chinese character
    | (?<![A-Za-z])[a-z]++(?=[{HAN}])    # Latin letters before one
    | [a-z]{{2}}\d[a-z]                  # a digit within a word
    | [a-z]\d[a-z]{{2}}
    """,
    re.VERBOSE,
)
"""Signs of damage, unless the text has them as well: "wa5er", but not "q8h"."""

_BRACKET_FOLDS = str.maketrans("“”„″「」『』（(）)【】", '""""""""[[]][]')
"""Folds quotation marks and brackets, of which models write variants."""

_UNITS = frozenset(
    ("mg", "g", "kg", "ml", "l", "mcg", "ug", "mm", "cm", "mmol", "mmhg", "iu", "u", "h", "min", "d", "bid", "tid")
)
"""Units that may adjoin a Chinese character even if the text writes them in Chinese."""

_GLUED = re.compile(r"[^\W\d_]\d+|(?<!\d)\d++[^\W\d_]")
"""A digit next to a letter: a sign of damage in a term, unless the text has it as well ("B12")."""

_TERM_SIMILARITY = 0.8
"""A term means an asked term if their similarity is at least this: one wrong letter in five."""

_ABBREVIATION = re.compile(r"[A-Z][A-Za-z\d-]{0,7}")
"""An abbreviation, which may replace a Chinese word: MRI, HbA1c."""

EXAMPLE_QUERIES = frozenset({"can eat spinach", "can exercise", "能否吃菠菜", "能否运动"})
"""Queries from the prompt's examples that are too specific to be asked by chance. Weak models copy them."""

EXAMPLE_VALUES = frozenset({"尿常规", "膀胱炎", "风湿科就诊（三天后不见好时）"})
"""Values from the prompt's examples that share most characters with other facts: 血常规, 膀胱."""


def select_question(imap: QuestionImap, source: SourceText, completion: str) -> Parsed[QuestionImap]:
    """Return the imap without pairs that are not in the question.

    Raises:
        ExtractionError: All queries are copied from an example (kind "not-in-text"), are refusals or are in the wrong
            language, or a pair is damaged (kind "garbled").
    """
    dropped: list[Dropped] = []
    query: list[Pair] = []
    for pair in imap.query:
        if pair.term.casefold() in EXAMPLE_QUERIES and not source.grounding.supports(pair.term):
            dropped.append(make_dropped(pair.term, "not in the text"))
        else:
            query.append(pair)
    if imap.query and not query:
        raise fault_error("not-in-text", completion)
    for pair in query:
        _raise_if_term_is_garbled(pair.term, source, completion)
    if are_refusals((pair.term for pair in query), source=source.shown_text):
        raise fault_error("refusal", completion)
    if query and all(_is_foreign(pair.term, source) for pair in query):
        raise fault_error("wrong-language", completion)
    constraint: dict[Pair, None] = {}
    for pair in imap.constraint:
        located = source.locate(pair)
        if located.span is not None or source.grounding.supports(pair.value, term=pair.term):
            constraint[located] = None
        else:
            dropped.append(_drop_pair(pair, "not in the text"))
        _raise_if_term_is_garbled(pair.term, source, completion)
        _raise_if_value_is_garbled(located, source, completion)
    return Parsed(QuestionImap(tuple(query), tuple(constraint)), tuple(dropped))


def select_inform(
    pairs: Sequence[Pair], source: SourceText, imap: QuestionImap, completion: str
) -> Parsed[tuple[Pair, ...]]:
    """Return the pairs that the answer states for asked terms, each with its position.

    Raises:
        ExtractionError: A value not in the text is in the wrong language or damaged, or no pair is left (kinds
            "wrong-language", "garbled", "not-in-text", "not-asked").
    """
    asked = {_fold(pair.term): pair.term for pair in imap.query}
    constraints = {_fold(pair.value) for pair in imap.constraint}
    kept: dict[Pair, None] = {}
    dropped: list[Dropped] = []
    for extracted in pairs:
        term = _match_asked_term(extracted.term, asked)
        if term is None:
            _raise_if_term_is_garbled(extracted.term, source, completion)
            dropped.append(_drop_pair(extracted, "not asked"))
            continue
        pair = source.locate(Pair(term, extracted.value))
        reason = _find_drop_reason(pair, source, constraints)
        if reason is None:
            kept[pair] = None
        elif reason == "not in the text" and _is_foreign_value(extracted.value, source):
            raise fault_error("wrong-language", completion)
        elif (
            reason == "not in the text"
            and source.nearly_contains(extracted.value)
            and not source.grounding.denies_without_support(extracted.value)
        ):
            # Nearly a quotation: it is shortened, or damaged if it contains another number.
            if not source.grounding.contains_digits_of(extracted.value):
                raise fault_error("garbled", completion)
            kept[pair] = None
        else:
            dropped.append(_drop_pair(pair, reason))
        _raise_if_value_is_garbled(pair, source, completion)
    if pairs and not kept:
        raise fault_error(
            "not-asked" if all(note.reason == "not asked" for note in dropped) else "not-in-text", completion
        )
    return Parsed(tuple(kept), tuple(dropped))


def _find_drop_reason(pair: Pair, source: SourceText, constraints: set[str]) -> DropReason | None:
    """Return why a located pair is dropped, or None."""
    if pair.span is not None:
        return None
    # Weak models repeat the question. The answer shares words with it, so support alone is not enough.
    if _fold(pair.value) in constraints:
        return "copied from the question"
    supported = pair.value not in EXAMPLE_VALUES and source.grounding.supports(pair.value, term=pair.term)
    return None if supported else "not in the text"


def _match_asked_term(term: str, asked: dict[str, str]) -> str | None:
    """Return the asked term that is meant: equal but for case, spaces or a typo, or one contains the other."""
    folded = _fold(term)
    if not asked or folded in asked:
        return asked.get(folded, term)
    near = [other for other in asked if other in folded or folded in other] or [
        other for other in asked if SequenceMatcher(None, folded, other, autojunk=False).ratio() >= _TERM_SIMILARITY
    ]
    return asked[near[0]] if len(near) == 1 else None


def _is_foreign_value(value: str, source: SourceText) -> bool:
    return source.grounding.is_other_script(value) and not _ABBREVIATION.fullmatch(value)


def _is_foreign(text: str, source: SourceText) -> bool:
    return source.grounding.is_other_script(text) and source.locate(Pair("", text)).span is None


def _raise_if_term_is_garbled(term: str, source: SourceText, completion: str) -> None:
    """Reject a damaged term, under which a fact would be lost.

    Raises:
        ExtractionError: Kind "garbled".
    """
    _raise_if_absent([*_DAMAGE.findall(term), *_GLUED.findall(term)], source, completion)


def _raise_if_value_is_garbled(pair: Pair, source: SourceText, completion: str) -> None:
    """Reject a pair whose value is not in the text and is damaged.

    Raises:
        ExtractionError: Kind "garbled".
    """
    if pair.span is None:
        _raise_if_absent(_DAMAGE.findall(pair.value), source, completion)


def _raise_if_absent(signs: Sequence[str], source: SourceText, completion: str) -> None:
    """Raise "garbled" if the text lacks one of the signs of damage."""
    if not signs:
        return
    text = f"{source.shown_text}{source.shown_text.translate(_BRACKET_FOLDS)}".casefold()
    if any(sign not in _UNITS and not _contains_part(text, sign.casefold()) for sign in signs):
        raise fault_error("garbled", completion)


def _contains_part(text: str, part: str) -> bool:
    """Return whether a text contains a sign, or a word as a whole."""
    return re.search(rf"(?<![a-z]){re.escape(part)}(?![a-z])" if part.isalpha() else re.escape(part), text) is not None


def _drop_pair(pair: Pair, reason: DropReason) -> Dropped:
    return make_dropped([pair.term, pair.value], reason)


def _fold(text: str) -> str:
    return "".join(text.casefold().split())
