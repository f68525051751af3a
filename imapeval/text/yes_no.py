"""Yes and no: whether a question asks for a yes or no, and the words that express it at the start of an answer."""

from __future__ import annotations

import re

# A yes or no to the question, before the statement itself.
_LEADING_ANSWER = re.compile(
    r"^(?:yes|no|不|不会|不能|不是|不可以|是的?|会|能|可以)[,，。.;；:：!！]\s*(?=\w)", re.IGNORECASE
)
_LEADING_YES_NO = re.compile(
    r"^(?:yes|no)\b[,.;:!\s]*|^(?:是的?|能|可以|不能|不可以|不是|会|不会|不)(?:[,，。;；]|$)", re.IGNORECASE
)
_ASKS = re.compile(
    r"^(?:can|could|may|should|is|are|do|does|will|need|whether|safe|possible)\b"
    r"|能否|是否|可否|能不能|是不是|可不可以|要不要|需不需要|会不会|有没有|可以.{0,200}吗|能.{0,200}吗"
)
_ANSWER_WORDS = re.compile(
    r"^(?:(?:yes|no|not|can(?:not)?|can't|may|should|must|is|are|it|do|does|don't|be|best|better|allowed|safe"
    r"|unsafe|ok|okay|fine|possible|impossible|recommended|advisable|likely|unlikely|avoid(?:ed)?|needed?|necessary"
    r"|unnecessary|normal)\b[ ,;:.]*)+"
    r"|^(?:不能|不可以?|不行|不宜|不是|不会|不需要?|不用|不必|不建议|不推荐|最好|没有?|无需|否|不|能够?|可以?|是的?|会|需要?|要"
    r"|应该?|应当|建议|推荐|有|避免|禁止|勿)+[，,、。 ]*"
)
_ASSENT = re.compile(
    r"\b(?:yes|can|may|could|should|safe(?:ly)?|fine|ok(?:ay)?|allowed|possible|possibly|recommend\w*|advis\w*|normal|need\w*"
    r"|necessary|likely|probably|must|sure|definitely|certainly)\b|能|可|是|会|需|应|要|建议|推荐|必"
)


def strip_answer(text: str) -> str:
    """Return a text without a yes or no before its statement; a lone "no" stays.

    >>> strip_answer("No, rest is enough"), strip_answer("no surgery")
    ('rest is enough', 'no surgery')
    """
    return _LEADING_ANSWER.sub("", text)


def strip_yes_no(text: str) -> str:
    """Return a text without "yes" or "no", or a Chinese equivalent that is a separate clause, at its start.

    >>> strip_yes_no("no. rest"), strip_yes_no("不能，要休息"), strip_yes_no("不能吃")
    ('rest', '要休息', '不能吃')
    """
    return _LEADING_YES_NO.sub("", text)


def asks_yes_no(folded: str) -> bool:
    """Return whether a term in lower case asks for a yes or no.

    >>> asks_yes_no("can i swim"), asks_yes_no("能否手术"), asks_yes_no("treatment")
    (True, True, False)
    """
    return _ASKS.search(folded) is not None


def strip_answer_words(folded: str) -> str:
    """Return the rest of a value in lower case, without all words at its start that mean yes or no.

    >>> strip_answer_words("not recommended, after 20 weeks"), strip_answer_words("不建议手术")
    ('after 20 weeks', '手术')
    """
    return _ANSWER_WORDS.sub("", folded)


def mentions_assent(folded: str) -> bool:
    """Return whether a text in lower case has any word that may mean yes."""
    return _ASSENT.search(folded) is not None
