"""QuestEval and QAFactEval: questions about one text are answered from the other, here by a language model.

`questeval:llm` and `qafacteval:llm` are ports of the two methods to a language model; their scores are not those of the
original models. Both differ from their papers in the same way. One prompt generates at most `MAX_QUESTIONS` questions
with answers from a text; the papers select noun phrases and names with spaCy and use a trained generator. One prompt
answers all questions from a text, each with an answer or none; the papers use trained readers, whose confidence
measures answerability.

QuestEval (Scialom et al. 2021), with reference: questions about the reference are answered from the response (recall),
and questions about the response from the reference (precision). Each of the two is the mean of answerability and of the
token F1 of expected and given answers (`measure_f1`) over all questions; the score is the mean of the two. As in the
package, BERTScore, question weighting and consistency filters are off.

QAFactEval (Fabbri et al. 2022): questions about the response only. Those that the response itself does not answer as
expected (token F1 above .60) are dropped. The others are answered from the reference, and a prompt rates each answer
against the expected one from 1 to 5, in place of the trained LERC-QuIP. Ratings are scaled to 0..1, and a question
without an answer counts 0. The score is the mean: precision only.

Empty cases: an empty response scores 0, as in both packages. If no question can be generated from the reference, the
outcome is `Failure("no-questions")` for QuestEval; if none can be generated from the response, precision is 0 for
QuestEval, and the outcome is `Failure("no-questions")` for QAFactEval.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from imapeval.llm.gathering import gather_results
from imapeval.metrics.base import range_parts
from imapeval.metrics.judges.base import Judge, MultiStepJudge
from imapeval.metrics.judges.client import MAX_LIST_TOKENS, JudgeRequest
from imapeval.metrics.judges.parsing.lists import (
    ANSWERS_SCHEMA,
    QUESTIONS_SCHEMA,
    SCORES_SCHEMA,
    read_answers,
    read_overlaps,
    read_questions,
)
from imapeval.metrics.judges.parsing.scale import HIGHEST, LOWEST
from imapeval.text.language import HAN
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.metrics.base import Case
    from imapeval.metrics.judges.client import JudgeClient
    from imapeval.types import Lang, Outcome

_QUESTIONS, _ANSWERS, _OVERLAP = "text-questions", "text-answers", "answer-overlap"

_CONSISTENT = 0.60
"""Token F1 above which a response answers a question about itself as expected: QAFactEval's `get_filter`."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MARKS = re.escape(string.punctuation + "，。、；：？！“”‘’（）《》")
_SIGN = (
    rf"(?:(?<=[a-z{HAN}])|(?<=[a-z]\d)|(?<=[a-z]\d\d)|(?<=[a-z]\d\d\d))"
    r"(?:\+|-(?!\s+(?:and|or|to|et|ou)\b))(?![\w+-])"
)
"""The sign of a result at the end of a word: "O+", "CD4-". The hyphen of "pre- and postoperative" is none."""

_PUNCTUATION = re.compile(rf"(?!\.\d|{_SIGN})(?:(?<!\d)[{_MARKS}]|[{_MARKS}](?!\d))|,(?=\d{{3}}(?!\d))")
"""What is removed. Between digits, only the comma of thousands: "2.5", "2-3" and "120/80" stay. So do a point before a
digit (".5 mg") and the sign of a result."""

_BRACKETED_SIGN = re.compile(r"(?<!\s)\s*[(（]([+-])[)）]")
"""The sign of "HIV (+)"."""

_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d{1,2}(?!\d))")
"""The comma of "2,5" in French; the one of "1,000" has three digits after it."""

_HAN = re.compile(f"([{HAN}])")

_NO_REFERENCE_QUESTIONS = Failure(
    "metric", "no-questions", "no question can be made of the reference: it states no fact"
)
_NO_RESPONSE_QUESTIONS = Failure(
    "metric", "no-questions", "no question can be made of the response that the response itself answers"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestEval(MultiStepJudge):
    """QuestEval by a language model, 0..1; parts `precision`, `recall` and `questions` (number, of both texts)."""

    name = "questeval:llm"
    revision = "3"
    summary = "QuestEval, 0..1: questions on both texts"
    formula = (
        "(recall + precision) / 2; recall is the mean, over questions that a language model makes of the reference and "
        "answers from the response, of 'answered' (0 or 1) and token F1 of the answer; precision the other way round"
    )
    citation = "after Scialom et al. 2021, QuestEval, EMNLP 2021; questions and answers by the language model"
    range = (0.0, 1.0)
    part_ranges = range_parts(shares=("precision", "recall"), counts=("questions",))
    prompt_names = (_QUESTIONS, _ANSWERS)

    async def judge_once(self, case: Case, answer: str, client: JudgeClient) -> Outcome:
        of_reference, of_response = await gather_results(
            _make_questions(text, case.lang, client) for text in (case.reference, answer)
        )
        if not of_reference:
            return _NO_REFERENCE_QUESTIONS
        recall, precision = await gather_results(
            _score_answers(questions, text, case.lang, client)
            for questions, text in ((of_reference, answer), (of_response, case.reference))
        )
        questions = float(len(of_reference) + len(of_response))
        return Score((precision + recall) / 2, {"precision": precision, "recall": recall, "questions": questions})


@dataclass(frozen=True, slots=True, kw_only=True)
class QAFactEval(MultiStepJudge):
    """QAFactEval by a language model, 0..1.

    Parts: `questions`, the number of those kept; `answered`, the share of them that the reference answers; `f1`, the
    mean token F1 of the answers, 0 for a question without one.
    """

    name = "qafacteval:llm"
    revision = "3"
    summary = "QAFactEval, 0..1: questions on the response"
    formula = (
        "mean of (rating - 1) / 4 over questions that a language model makes of the response and answers from the "
        "reference; it rates each answer from 1 to 5, no answer counts 0"
    )
    citation = "after Fabbri et al. 2022, QAFactEval, NAACL 2022; questions, answers and overlap by the language model"
    range = (0.0, 1.0)
    part_ranges = range_parts(shares=("answered", "f1"), counts=("questions",))
    prompt_names = (_QUESTIONS, _ANSWERS, _OVERLAP)

    async def judge_once(self, case: Case, answer: str, client: JudgeClient) -> Outcome:
        generated = await _make_questions(answer, case.lang, client)
        repeated = await _answer_questions(list(generated), answer, case.lang, client)
        kept = {
            question: expected
            for (question, expected), given in zip(generated.items(), repeated, strict=True)
            if measure_f1(expected, given) > _CONSISTENT
        }
        if not kept:
            return _NO_RESPONSE_QUESTIONS
        given = await _answer_questions(list(kept), case.reference, case.lang, client)
        answered = [
            (question, expected, found)
            for (question, expected), found in zip(kept.items(), given, strict=True)
            if found
        ]
        overlaps = await _rate_answers(answered, case.lang, client)
        f1 = sum(measure_f1(expected, found) for _, expected, found in answered) / len(kept)
        parts = {"questions": float(len(kept)), "answered": len(answered) / len(kept), "f1": f1}
        return Score(sum((score - LOWEST) / (HIGHEST - LOWEST) for score in overlaps) / len(kept), parts)


def build() -> list[Judge]:
    """Return both metrics."""
    return [QuestEval(), QAFactEval()]


def measure_f1(expected: str, given: str) -> float:
    """Return the token F1 of two answers, 0..1, as in SQuAD (Rajpurkar et al. 2016); Chinese by character.

    >>> measure_f1("The aspirin tablet", "an aspirin")
    0.6666666666666666

    Unlike there, punctuation that makes another value is kept: "2.5 mg" is not "25 mg", and "O+" is not "O-". If both
    answers consist of articles and punctuation only, they are compared as texts; no answer ("") scores 0.
    """
    a, b = _split(expected), _split(given)
    if not a and not b:
        # For SQuAD, the blood group "A" is an article.
        return float(given != "" and expected.lower() == given.lower())
    shared = (Counter(a) & Counter(b)).total()
    return 2 * shared / (len(a) + len(b))


def _split(text: str) -> list[str]:
    written = _BRACKETED_SIGN.sub(r"\1", _DECIMAL_COMMA.sub(".", text.lower()))
    plain = _ARTICLES.sub(" ", _PUNCTUATION.sub("", written))
    return _HAN.sub(r" \1 ", plain).split()


async def _score_answers(questions: Mapping[str, str], text: str, lang: Lang, client: JudgeClient) -> float:
    """Answer questions from a text, and return the mean of answerability and token F1."""
    if not questions:
        return 0.0
    given = await _answer_questions(list(questions), text, lang, client)
    f1 = [measure_f1(expected, found) for expected, found in zip(questions.values(), given, strict=True)]
    return fmean([*f1, *(float(bool(found)) for found in given)])


async def _make_questions(text: str, lang: Lang, client: JudgeClient) -> dict[str, str]:
    request = JudgeRequest(_QUESTIONS, lang, {"text": text}, schema=QUESTIONS_SCHEMA, max_tokens=MAX_LIST_TOKENS)
    return await client.ask(request, lambda completion: read_questions(completion.text, text=text))


async def _answer_questions(questions: Sequence[str], text: str, lang: Lang, client: JudgeClient) -> list[str]:
    if not questions:
        return []
    numbered = "\n".join(f"{number}. {asked}" for number, asked in enumerate(questions, 1))
    texts = {"text": text, "questions": numbered}
    request = JudgeRequest(_ANSWERS, lang, texts, schema=ANSWERS_SCHEMA, max_tokens=MAX_LIST_TOKENS)
    return await client.ask(
        request, lambda completion: read_answers(completion.text, questions=len(questions), text=text)
    )


async def _rate_answers(answered: Sequence[tuple[str, str, str]], lang: Lang, client: JudgeClient) -> list[float]:
    if not answered:
        return []
    pairs = "\n".join(
        f"{number}. question {_quote(asked)}; A {_quote(expected)}; B {_quote(found)}"
        for number, (asked, expected, found) in enumerate(answered, 1)
    )
    request = JudgeRequest(_OVERLAP, lang, {"pairs": pairs}, schema=SCORES_SCHEMA)
    return await client.ask(request, lambda completion: read_overlaps(completion.text, pairs=len(answered)))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
