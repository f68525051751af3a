"""Where the main clause begins that follows a condition without a comma: "if it swells see a doctor", 只有发烧才用药.

Pure; uses no dictionary.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.text.negation.governors import find_governor
from imapeval.text.phrases import is_condition

if TYPE_CHECKING:
    from collections.abc import Iterator

# 只有培养阳性才需要抗生素 is a condition and a statement.
_WITH_MAIN_CLAUSE = re.compile(
    "(?:只有[^才]+才|[^才就]+(?:(?<!小)时|后)才|[^就]+就)(?=[能会需要可应考用做是该得去必立])|[^则]+(?<![规守原法细])则(?=.)"
)
_ONLY_WHEN = re.compile("[^才就，]{2,}(?:(?<!小)时|情况下|的话)才(?=[能会需要可应考用])")

_FINITE = (
    r"(?:is|are|was|were|has|have|had|does|do|did|can(?:not)?|could|may|might|will|would|should|must|needs?)"
    r"(?:n['’]t)?\b"
)
_DETERMINER = r"(?:the|an?|your|his|her|its|their|this|that|these|those|no|any|most|some)"
_PRONOUN = r"(?:you|he|she|it|they|we|there)"
_PLURAL = r"(?:adult|drug|effect|level|parent|patient|problem|result|sign|symptom|tablet|test)s\b"
# What shows that the condition has its verb: "you feel", "it is", "the fever lasts", but not "the symptoms".
_HAS_VERB = re.compile(
    rf"\b(?:{_FINITE}|{_PRONOUN} (?!(?:all|also|both|or)\b)\w+)"
    rf"|(?:\b{_DETERMINER} (?:[\w'’-]+ ){{1,2}}|^\w+ [\w'’-]+ )(?!{_PLURAL})"
    r"[\w-]+(?:[^\Ws]s|ed)\b",
    re.IGNORECASE,
)
# How a clause may begin: with what only the reader is told, with another imperative, or with a subject before its verb.
_OTHER_WORD = rf"(?!{_DETERMINER}\s|{_PRONOUN}\s)[\w'’-]+\s"
_CLAUSE_START = re.compile(
    r"(?<=\w)(?=\s(?:(?:then|please)\s|(?P<clause>(?P<imperative>avoid|call|consult|contact(?! with)|see|seek|visit)\s"
    r"|(?:do not|don['’]t|never|always|apply|ask|choose|give|stop|take|try|use|wear)\s"
    rf"|{_PRONOUN}\s(?:\w+ly\s)?{_FINITE}|{_DETERMINER}\s(?:{_OTHER_WORD}){{1,3}}?(?!do){_FINITE}|{_OTHER_WORD}(?!do){_FINITE})))",
    re.IGNORECASE,
)
# What a clause continues: a conjunction, a preposition, a verb that lacks its object, or one that quotes a clause.
_CONTINUED = re.compile(
    r"\b(?:that|which|who|whom|where|what|how|whether|why|because|as|than|and|or|but|not|to|if|until|when|while|before"
    r"|after|since|unless|of|for|with|in|on|at|by|from|about|into|had|get|gets|take|takes|told"
    r"|(?:think|feel|believe|say|tell|know|notice|find|suspect|see|show|mean|hope|fear|agree)s?|said|sure"
    rf"|{_FINITE}|{_PRONOUN}|I|{_DETERMINER})$",
    re.IGNORECASE,
)
_NO_SUBJECT = re.compile(
    rf"(?!do not\s|never\s|don['’]t\s)(?:{_FINITE}|had|not|also|who|that|which|what|and|or|\w+ly)\s",
    re.IGNORECASE,
)
_MAX_CHARACTERS = 200
"""Characters of a condition that are searched for its end."""


def split_main_clause(text: str, *, comma: bool = False) -> tuple[str, str]:
    """Return a condition and the statement behind it, "" if there is none; `comma` says whether a comma follows.

    >>> split_main_clause("if you are pregnant ibuprofen is not safe")
    ('if you are pregnant', 'ibuprofen is not safe')
    >>> split_main_clause("只有发烧才需要用药"), split_main_clause("until the doctor says you can drive")
    (('只有发烧', '需要用药'), ('until the doctor says you can drive', ''))
    """
    if find_governor(text):
        return text, ""
    conditional = is_condition(text)
    if both := _WITH_MAIN_CLAUSE.match(text) if conditional else _ONLY_WHEN.match(text):
        return both[0][:-1], text[both.end() :]
    if conditional and not comma:
        for place in _find_clauses(text):
            return text[:place].rstrip(), re.sub(r"^\s*(?:(?:then|please)\s+)*", "", text[place:])
    return text, ""


def _find_clauses(text: str) -> Iterator[int]:
    """Yield where an English condition ends because another clause begins behind its verb."""
    for found in _CLAUSE_START.finditer(text, 0, _MAX_CHARACTERS):
        before = text[: found.start()]
        clause = found["clause"]
        if clause is None or (found["imperative"] and " " in before):
            begins = True
        else:
            begins = _HAS_VERB.search(before) and not _NO_SUBJECT.match(clause)
        if begins and not _CONTINUED.search(before):
            yield found.start()
