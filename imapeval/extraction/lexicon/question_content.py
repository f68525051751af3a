"""What an answer takes from its question: repetitions, which state nothing, and answers to a yes-no question."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import Piece, split_sentences
from imapeval.extraction.lexicon.statements import MAX_STATEMENT_CHARACTERS, read_statements
from imapeval.text.negation.yes_no import answer_question, find_polar_question, find_verdict, strip_question
from imapeval.text.normalise import normalise
from imapeval.text.phrases import parse_phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.types import Lang

MAX_QUESTION_CHARACTERS = 5000
"""Characters of a question that are compared with an answer to find repetitions; a dialogue may be long."""

_RESTATED_SHARE = 0.5
"""A statement answers a yes-no question if it has at least this share of its content words."""

# The start of a statement such as "is it contagious", but not of advice such as "do exercises".
_REPEATED_QUESTION = re.compile(
    r"^(?:is|are|can|could|should|do|does|may|will|would|has|have) (?:i|we|you|he|she|it|they|this|that|there|my|the)\b"
    "|是否|是不是|能否|能不能|可否|可不可以|吗$",
    re.IGNORECASE,
)
_QUESTION_END = re.compile(r"\s*[?？]")
# The turns of a dialogue, as `imapeval.evaluation.samples` writes them.
_PATIENT = re.compile(r"^[^\S\n]*(?:Patient: |患者：)", re.MULTILINE)
_DOCTOR = re.compile(r"^[^\S\n]*(?:Doctor: |医生：).*$", re.MULTILINE)


def drop_doctor_turns(question: str) -> str:
    """Return a dialogue without the doctor's turns: the doctor's questions are not the patient's."""
    return _DOCTOR.sub("", question) if _PATIENT.search(question) else question


class QuestionContent:
    """The content of a question in plain text, and the answers to it that an answer gives.

    Repeating words of a question states no fact, except where it asks for a yes or no: "you can breastfeed" answers
    "can I breastfeed with mastitis?".
    """

    def __init__(self, question: str, lang: Lang) -> None:
        self._question = question[:MAX_QUESTION_CHARACTERS]
        self._lang: Lang = lang
        self._tokens = parse_phrase(self._question).tokens

    def read_statements(self, answer: str) -> Iterator[Piece]:
        """Yield the statements of an answer in plain text, without repetitions of the question.

        A yes or no at the start of the answer to a single yes-no question is the statement that it stands for, unless
        the answer goes on to make that statement.
        """
        statements = [piece for piece in read_statements(answer, self._lang) if not self._repeats(piece.text)]
        if (verdict := self._read_verdict(answer)) is not None:
            statements = [piece for piece in statements if piece.end > verdict.end]
            phrase = parse_phrase(verdict.text)
            others = (parse_phrase(piece.text) for piece in statements)
            if all(one.tokens != phrase.tokens or one.stance.denies != phrase.stance.denies for one in others):
                yield verdict
        yield from statements

    def _read_verdict(self, answer: str) -> Piece | None:
        """Return what a yes or no at the start of an answer states; None if there is none, or several questions."""
        found = find_verdict(answer)
        if found is None or len(self._polar_questions) != 1:
            return None
        question = self._polar_questions[0]
        # "Should I not drive?" may be answered by yes or no in the same sense.
        if len(question) > MAX_STATEMENT_CHARACTERS or parse_phrase(strip_question(question)).stance.denies:
            return None
        statement = answer_question(question, found, lang=self._lang)
        return Piece(statement, *found.span("no" if found["no"] else "yes"))

    def _repeats(self, statement: str) -> bool:
        """Return whether a statement has only words of the question, and no answer, negation or amount."""
        phrase = parse_phrase(statement)
        if not phrase.tokens <= self._tokens:
            return False
        if normalise(statement) in self._statements or _REPEATED_QUESTION.search(statement):
            return True
        if phrase.stance.denies or phrase.amounts.items:
            return False
        asked = (parse_phrase(question).tokens for question in self._polar_questions)
        return not any(len(phrase.tokens & tokens) >= _RESTATED_SHARE * len(tokens) > 0 for tokens in asked)

    @cached_property
    def _polar_questions(self) -> list[str]:
        """The clauses that ask for a yes or no."""
        text = drop_doctor_turns(self._question)
        found = (
            find_polar_question(piece.text)
            for piece in split_sentences(text)
            if self._lang == "zh" or _QUESTION_END.match(text, piece.end)
        )
        return [question for question in found if question]

    @cached_property
    def _statements(self) -> frozenset[str]:
        return frozenset(normalise(piece.text) for piece in read_statements(self._question, self._lang))
