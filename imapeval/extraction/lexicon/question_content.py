"""What an answer takes from its question: repetitions, which state nothing, and answers to a yes-no question."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from itertools import pairwise, zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import Piece, split_sentences
from imapeval.extraction.lexicon.statements import MAX_STATEMENT_CHARACTERS, read_statements
from imapeval.text.negation.yes_no import (
    answer_question,
    count_polar_questions,
    find_polar_question,
    find_verdict,
    is_ambiguous,
    mentions_assent,
    strip_question,
)
from imapeval.text.normalise import normalise
from imapeval.text.phrases import is_condition, parse_condition, parse_phrase, split_condition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.types import Lang

_POSSIBLY = re.compile(r"\b(?:could|might|(?:it|that|there|they|this) may)$", re.IGNORECASE)
_MAX_QUESTION_CHARACTERS = 5000
"""Characters of a question that are compared with an answer to find repetitions; a dialogue may be long."""

_RESTATED_SHARE = 0.5
"""A statement answers a yes-no question if it has at least this share of its content words."""

# What a statement says of things that it need not name: a verdict, or what to do with them.
_VERDICT = re.compile(
    r"^(?:begin|continue|keep|start|take)\b"
    r"|\b(?:advised|allowed|fine|indicated|necessary|needed|ok(?:ay)?|permitted|recommended|required|safe)\b"
    r"|可以|能|安全|必须|需要|应该?",
    re.IGNORECASE,
)
# The start of a statement such as "is it contagious", but not of advice such as "do exercises".
_REPEATED_QUESTION = re.compile(
    r"^(?:(?:so|well|and|but|then)\b[, ]*)?(?:is|are|can|could|should|do|does|may|will|would|has|have)"
    r" (?:i|we|you|he|she|it|they|this|that|there|my|the)\b|是否|是不是|能否|能不能|可否|可不可以|吗$",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(
    r"\b(?:when|how long)\b|\bin (?:what|which) cases?\b|(?:什么|啥)(?:时候|情况)|何时|多久|多长时间|哪[些种]情况",
    re.IGNORECASE,
)
# "When to see a doctor", "when should I worry".
_NO_CONDITION = re.compile(
    r"when (?:to|is|are|was|were|do|does|did|can|could|may|might|must|shall|should|will|would)\b|什么时候|何时",
    re.IGNORECASE,
)
_LINE_END = re.compile(r"[ \t]*\n")
_QUESTION_END = re.compile(r"\s*[?？]")
_HEADING_END = re.compile(r"\s*[?？:：]")
_TOPIC_END = re.compile(r"\s*[,，]")
# Between the alternatives of a question; 还是 also means "still".
_OR: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(r",? or (?:else |rather )?", re.IGNORECASE),
    "zh": re.compile(r"，?还是(?!.{0,20}(?:怎|什么|为何|如何|吗))|[和与跟](?=[^，,]{1,20}(?:哪[一个种项样类科]|谁))"),
}
# "Can I swim and fly", "does he have fever, a cough or a rash", "which of heat, ice and massage helps".
_LIST_QUESTION = re.compile(
    r"(?:^|(?<=, ))(?:which (?:one )?of|can|could|may|should|is|are|do|does|will|has|have) "
    r"(?!.*, (?:can|should|is|are|do|does|will) ).*"
)
_LISTED = re.compile(r",? (?:and|or) |, ")
_CIRCUMSTANCE = re.compile(r"\s(?:after|before|during|for|if|on|until|when|while|with)\s", re.IGNORECASE)
_PREDICATE = re.compile(r"^.*(?:可以|能够?|会|应该?|必须|需要?|要)(?=.)", re.DOTALL)
"""What precedes the predicate of a Chinese statement, up to the last word that affirms it."""
_COMMA = re.compile("[,，]")
_CHOICE_REPEATED = re.compile(
    r"\s*(?:[?？]|[:：](?!\s*(?:yes|ok(?:ay)?|fine|safe|needed|是|可以|能|行|好))"
    r"|,? ?or\b[^.!;?\n]{0,60}[?:]|，?(?:还是|或)[^。！；？\n]{0,30}[？?：:])",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_FUNCTION_WORD = re.compile(
    r"(?:an?|the|any|some|of|in|on|at|by|with|for|from|to|is|are|be|it|i|my|his|her|your|take|use|get|have|do)"
)
"""A word that cannot tell two alternatives apart."""
# What limits a yes or no in the same sentence, as in "no, unless it swells".
_LIMIT = re.compile(
    r"[\s,，;；:：]*(?:but )?(?:(?:only |not )?(?:if|unless|when|except|provided|as long as|until)\b"
    r"|(?:但|不过)?(?:除非|除了|如果?|只有|只要|要是|当|若))",
    re.IGNORECASE,
)
_LIMIT_LEAD = re.compile(r"^[\s,，;；:：]*(?:but |但|不过)?")
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
        self._question = question[:_MAX_QUESTION_CHARACTERS]
        self._lang: Lang = lang
        self._tokens = parse_phrase(self._question).tokens

    def read_statements(self, answer: str) -> Iterator[Piece]:
        """Yield the statements of an answer in plain text, without repetitions of the question.

        A condition alone is a statement if the question asks when, or for a yes or no that the condition begins with.

        A yes or no at the start of the answer is the statement that it stands for, unless the answer goes on to make
        that statement.
        """
        # What something serves, as in 为了防止出血, is a statement only where the answer makes no other one.
        statements = self._read_new(answer) or self._read_new(answer, purposes=True)
        verdict = self._read_verdict(answer)
        conditions = list(_find_conditions(answer, statements))
        if not _ASKS_WHEN.search(self._question):
            # "Only if it bleeds."
            opens = verdict is None and self._single_question is not None
            conditions = [piece for piece in conditions[:opens] if not _WORD.search(answer[: piece.start])]
        statements = sorted([*statements, *conditions], key=attrgetter("start"))
        if verdict is not None:
            statements = [piece for piece in statements if piece.end > verdict.end]
            phrase = parse_phrase(verdict.text)
            others = (parse_phrase(piece.text) for piece in statements)
            if all(other.tokens != phrase.tokens or other.stance.denies != phrase.stance.denies for other in others):
                yield verdict
        yield from statements

    def _read_new(self, answer: str, *, purposes: bool = False) -> list[Piece]:
        statements = read_statements(answer, self._lang, purposes=purposes)
        return [piece for piece in statements if not self._repeats(piece, answer)]

    def _read_verdict(self, answer: str) -> Piece | None:
        """Return what a yes or no at the start of an answer states; None if there is none or it is not certain."""
        found = find_verdict(answer)
        if found is None or self._single_question is None:
            return None
        limit = _read_limit(answer, found.end()) if _LIMIT.match(answer, found.end()) else ""
        # "No, only if it bleeds" means yes in that case.
        if limit is None or (limit and found["no"]):
            return None
        question, condition = split_condition(self._single_question)
        statement = answer_question(question, found, lang=self._lang)
        if statement is None:
            return None
        for part in filter(None, (condition, limit)):
            statement += f"（{part}）" if self._lang == "zh" else f" ({part})"
        if parse_phrase(statement).stance.denies != (found["no"] is not None):
            return None
        possible = _POSSIBLY.search(found[0].rstrip()) is not None
        return Piece(statement, *found.span("no" if found["no"] else "yes"), possible=possible)

    def _repeats(self, piece: Piece, answer: str) -> bool:
        """Return whether a statement has only words of the question, and no answer, verdict, negation or amount."""
        phrase = parse_phrase(piece.text)
        # Tokens are pairs of Chinese characters.
        known = piece.text in self._question if len(piece.text) < 2 else phrase.tokens <= self._tokens
        if not known:
            return False
        if self._chooses(piece.text):
            # Not "heat: no" or "paracetamol: 1 g", where what is said of the alternative stands behind it.
            own = answer[piece.start : piece.end] == piece.text
            return own and _CHOICE_REPEATED.match(answer, piece.end) is not None
        if not _find_condition_tokens(piece.text) <= self._tokens | self._condition_tokens:
            return False
        if normalise(piece.text) in self._statements or _REPEATED_QUESTION.search(piece.text):
            return True
        if phrase.stance.denies or phrase.stance.negated or phrase.amounts.items:
            return False
        if _HEADING_END.match(answer, piece.end):
            return True
        if phrase.tokens and any(
            verdict.lower() not in self._question.lower() for verdict in _VERDICT.findall(piece.text)
        ):
            return False
        # 孕妇吃螃蟹，容易流产 states only the second half; what the piece lost at its start may be 可以.
        is_topic = self._lang == "zh" and _TOPIC_END.match(answer, piece.end)
        if is_topic and not mentions_assent(answer[max(0, piece.start - 4) : piece.end]):
            return True
        # 会遗传 answers 糖尿病会遗传吗, and 头孢可以吃 in part 阿莫西林和头孢能不能吃.
        predicate = _PREDICATE.sub("", piece.text)
        if any(asked.endswith(predicate) for asked in self._asked):
            return False
        # "You can swim" answers "can I swim after surgery on my left eye".
        asked = (parse_phrase(_CIRCUMSTANCE.split(question)[0]).tokens for _, question in self._polar_questions)
        return not any(len(phrase.tokens & tokens) >= _RESTATED_SHARE * len(tokens) > 0 for tokens in asked)

    @cached_property
    def _condition_tokens(self) -> frozenset[str]:
        """The tokens of the question's conditions."""
        found = (_find_condition_tokens(piece.text) for piece in split_sentences(self._question))
        return frozenset(token for tokens in found for token in tokens)

    def _chooses(self, statement: str) -> bool:
        """Return whether a statement names one of two things between which the question offers a choice."""
        words = _split_words(statement.lower(), self._lang)
        return any((first in words) != (second in words) for first, second in self._choices)

    @cached_property
    def _choices(self) -> list[tuple[str, str]]:
        """For each choice that the question offers, a word of either alternative that the other one lacks."""
        parts = [_OR[self._lang].split(piece.text.lower()) for piece in self._questions]
        if self._lang == "en":
            found = (_LIST_QUESTION.search(piece.text.lower()) for piece in self._questions)
            parts += [_LISTED.split(question[0]) for question in found if question]
        pairs = (_tell_apart(*both, self._lang) for part in parts for both in pairwise(part))
        return [pair for pair in pairs if pair]

    @cached_property
    def _single_question(self) -> str | None:
        """The clause that a yes or no answers.

        None if there are several, or if yes and no may mean the same: in a question that denies something ("should I
        not drive?"), has its condition in another clause ("if I rest, will it heal?"), or offers a choice.
        """
        count = sum(count_polar_questions(piece.text, lang=self._lang) for piece in self._questions)
        if count != 1 or len(self._polar_questions) != 1:
            return None
        ((before, question),) = self._polar_questions
        last = re.split("[,，]", before.rstrip(" ,，"))[-1].strip()
        if len(question) > MAX_STATEMENT_CHARACTERS or is_condition(last) or is_ambiguous(question, before=last):
            return None
        phrase = parse_phrase(strip_question(question))
        if phrase.stance.denies or not phrase.words:
            return None
        return question

    @cached_property
    def _polar_questions(self) -> list[tuple[str, str]]:
        """The clauses that ask for a yes or no, each behind what comes before it in its sentence."""
        found = ((piece.text, find_polar_question(piece.text)) for piece in self._questions)
        return [(sentence.removesuffix(clause), clause) for sentence, clause in found if clause]

    @cached_property
    def _asked(self) -> list[str]:
        """What the Chinese yes-no questions ask, as statements."""
        questions = self._polar_questions if self._lang == "zh" else ()
        return [strip_question(question).rstrip("的") for _, question in questions]

    @cached_property
    def _questions(self) -> list[Piece]:
        """The sentences that may be questions: in Chinese all, as a question mark is often omitted."""
        text = drop_doctor_turns(self._question)
        return [piece for piece in split_sentences(text) if self._lang == "zh" or _QUESTION_END.match(text, piece.end)]

    @cached_property
    def _statements(self) -> frozenset[str]:
        return frozenset(normalise(piece.text) for piece in read_statements(self._question, self._lang))


def _find_condition_tokens(text: str) -> frozenset[str]:
    condition = text if is_condition(text) else split_condition(text)[1]
    return parse_condition(condition).tokens


def _read_limit(answer: str, start: int) -> str | None:
    """Return the condition of a yes or no that is all that its sentence adds to it; None if it adds anything else."""
    sentence = next((piece for piece in split_sentences(answer) if piece.start <= start < piece.end), None)
    limit = _LIMIT_LEAD.sub("", answer[start : sentence.end]) if sentence else ""
    return limit if is_condition(limit) and not _COMMA.search(limit) else None


def _find_conditions(answer: str, statements: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the sentences that consist of a condition alone: "if it bleeds" answers when to see a doctor."""
    starts = [piece.start for piece in statements]
    sentences = list(split_sentences(answer))
    for sentence, following in zip_longest(sentences, sentences[1:]):
        if not is_condition(sentence.text) or _NO_CONDITION.match(sentence.text):
            continue
        if any(sentence.start <= start < sentence.end for start in starts) or _HEADING_END.match(answer, sentence.end):
            continue
        # "If you have a fever", and below it what to do then.
        if following is None or is_condition(following.text) or not _heads(sentence, answer):
            yield replace(sentence, text=sentence.text[:MAX_STATEMENT_CHARACTERS])


def _heads(sentence: Piece, answer: str) -> bool:
    """Return whether a sentence is a whole line without a mark of its own at either end."""
    begin = answer.rfind("\n", 0, sentence.start) + 1
    return not answer[begin : sentence.start].strip() and _LINE_END.match(answer, sentence.end) is not None


def _split_words(text: str, lang: Lang) -> list[str]:
    """Return the words of an English text, the characters of a Chinese one."""
    return list(text) if lang == "zh" else _WORD.findall(text)


def _tell_apart(first: str, second: str, lang: Lang) -> tuple[str, str] | None:
    """Return the word of either alternative that is nearest to the "or" and not in the other one; None if it has none.

    >>> _tell_apart("does it come from a virus", "bacteria", "en"), _tell_apart("应该饭前吃", "饭后吃", "zh")
    (('virus', 'bacteria'), ('前', '后'))
    """
    before, behind = _split_words(first, lang), _split_words(_COMMA.split(second)[0], lang)
    ours = [word for word in before if word not in behind and not _FUNCTION_WORD.fullmatch(word)]
    theirs = [word for word in behind if word not in before and not _FUNCTION_WORD.fullmatch(word)]
    return (ours[-1], theirs[0]) if ours and theirs else None
