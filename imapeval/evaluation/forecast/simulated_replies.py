"""Simulated replies of a well-behaved model, so that a dry run reaches the next request.

The replies to the prompts of this package are made here; other judges state theirs (`Judge.simulate_reply`). Replies
have the expected length of real ones, because they and the requests that follow from them are counted. The
assumptions about their content are in `ASSUMPTIONS`, and are shown beside the figures.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from imapeval.errors import ProviderError
from imapeval.extraction.lexicon.clauses import split_items, split_sentences
from imapeval.llm import tokens
from imapeval.llm.protocol import Completion, Token, Usage
from imapeval.llm.structured.templates import find_texts
from imapeval.metrics import registry
from imapeval.metrics.judges import custom
from imapeval.metrics.judges.base import Judge
from imapeval.metrics.judges.geval import DIMENSIONS
from imapeval.metrics.judges.parsing.lists import MAX_CHARACTERS, MAX_FACTS, MAX_QUESTIONS
from imapeval.text.language import has_chinese

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.llm.protocol import Request

UNKNOWN_REQUEST = "unforeseen"
"""Kind of the error that is returned for requests of unknown form."""

GIVEN_TEXT = "given-text"
"""The task name of requests about given texts, which have no prompt."""

TYPICAL_TOKENS: Mapping[str, int] = {"question-imap": 66}
"""Measured tokens of a completion, which are more accurate than the length of the simulated replies: compact JSON,
counted by `tokens.estimate`. Mean over the questions of 100 imaps that a strong model made
(../shared/benchmark/imaps-recorded-dev.jsonl). A model that indents its JSON takes more."""

_VALUE_DENSITY = {"en": (110, 34), "zh": (28, 9)}
"""Characters of an answer per value in it, and characters of a value: means over 175 of the answers there (75 English,
100 Chinese), read by a strong model with version 2 of the prompt. Their readings took 80 tokens on average;
`estimate_reading` returns 79 for the mean length of the English answers in that file, and 76 for that of the Chinese
ones."""

_FEEDBACK = (
    "The response covers the main point of the instruction and agrees with the reference answer in most of what it "
    "says. It leaves out one of the measures that the reference names, and it is less specific about dose and duration "
    "than a clinician would be. Nothing in it is dangerous. By the rubric this is an answer of average quality."
)
"""Our assumption: the prompt of Prometheus asks for "a detailed feedback" without a length."""

ASSUMPTIONS: Mapping[str, str] = {
    "answer-inform": "what is read in an answer: a value of 34 characters for every 110 of an English answer, of 9 for "
    "every 28 of a Chinese one",
    "value-relation": "one fact of the reference and one of the response are related",
    "atomic-facts": "a fact for every clause of the answer",
    "text-questions": f"a question for every clause of the text, at most {MAX_QUESTIONS}, each with an answer",
    custom.TASK: "a score and nothing else as the reply to a prompt of your own",
    "prometheus": f"feedback of {tokens.estimate(_FEEDBACK)} tokens",
    GIVEN_TEXT: "a token for every four Latin characters of a given text, or one Chinese",
}
"""The assumptions about requests that are not cached, by task name."""

_OWN_PROMPT = re.compile(rf"{custom.TASK}-(?P<low>-?\d+)-(?P<high>-?\d+)")
_PIECE = re.compile("[\x00-\u024f]{1,4}|.", re.DOTALL)
_NUMBERED = re.compile(r"^\d+\. ", re.MULTILINE)


def task_name(request: Request) -> str:
    """Return the task name of a request: that of its prompt. Both Prometheus prompts share one, as do custom ones."""
    if request.given:
        return GIVEN_TEXT
    return custom.TASK if _OWN_PROMPT.fullmatch(request.schema_name) else request.schema_name.removesuffix("-noref")


def simulate_reply(request: Request) -> Completion | ProviderError:
    """Return a reply that a model might give.

    Returns:
        The reply; or an error of kind "unforeseen" if the prompt belongs to no judge in the registry, as when a metric
        of another package asks the model without being a `Judge`.
    """
    if request.given:
        pieces = tuple(Token(piece, -1.0) for piece in _PIECE.findall(request.given))
        return Completion("", "stop", "", Usage(0, 0), tokens=pieces)
    name = task_name(request)
    if name == "geval":
        return _rating_reply('{"score": 3}', request)
    if name == "judge":
        why = "The main point agrees with the reference, but one of its measures is missing."
        # Requests in plain JSON have no schema.
        scores = request.schema["properties"][DIMENSIONS[0]]["enum"] if request.schema else [3]
        score = 3 if 3 in scores else scores[len(scores) // 2]
        fields = {
            f"{dimension}{end}": value for dimension in DIMENSIONS for end, value in (("_reason", why), ("", score))
        }
        return _rating_reply(json.dumps(fields), request)
    if found := _OWN_PROMPT.fullmatch(request.schema_name):
        return _rating_reply(json.dumps({"score": (int(found["low"]) + int(found["high"])) // 2}), request)
    if name == "prometheus":
        return Completion(f"{_FEEDBACK} [RESULT] 3", "stop", "", Usage(0, 0))
    if reply := _reply_json(name, request):
        return Completion(json.dumps(reply, ensure_ascii=False), "stop", "", Usage(0, 0))
    task = request.schema_name
    for judge in registry.all_metrics():
        if isinstance(judge, Judge) and task in (*judge.prompt_names, judge.template and judge.template.name):
            return _rating_reply(judge.simulate_reply(task), request)
    return ProviderError(f"no judge has the prompt {task!r}, so its reply is unknown", kind=UNKNOWN_REQUEST)


def estimate_reading(request: Request) -> int:
    """Return the expected tokens of what is read in an answer.

    Simulated values would make it too small, because each ends with its clause.
    """
    answer = _find_tagged_text("answer", request)
    chinese = has_chinese(answer)
    every, size = _VALUE_DENSITY["zh" if chinese else "en"]
    term, letter = ("治疗", "治") if chinese else ("treatment", "t")
    reply = {"inform": [{"term": term, "values": [letter * size] * max(1, round(len(answer) / every))}]}
    return tokens.estimate(json.dumps(reply, ensure_ascii=False))


def _rating_reply(text: str, request: Request) -> Completion:
    parts = re.findall(r"-?\d+|[^-\d]+", text) if request.logprobs else ()
    return Completion(text, "stop", "", Usage(0, 0), tokens=tuple(Token(part, 0.0, ((part, 0.0),)) for part in parts))


def _reply_json(name: str, request: Request) -> dict[str, Any] | None:
    """Return the JSON of a reply; None for a request of unknown form."""
    match name:
        case "question-imap":
            chinese = has_chinese(request.messages[0].content)
            return {"query": ["治疗方法", "病因"] if chinese else ["treatment", "cause"], "constraint": []}
        case "answer-inform":
            asked = json.loads(_find_tagged_text("asked", request))
            values = _simulate_values(_find_tagged_text("answer", request), reading=request.seed or 1)
            return {"inform": [{"term": asked[0], "values": values}] if values else []}
        case "value-relation":
            why = "The treatment of the response is a kind of that of the reference."
            return {"relations": [{"reference": 1, "response": 1, "why": why, "relation": "containment"}]}
        case "atomic-facts":
            return {"facts": _split_clauses(_find_tagged_text("answer", request))[:MAX_FACTS]}
        case "fact-support":
            return {"supported": True}
        case "text-questions":
            # All answers are equal, so that every question is answered as expected.
            asked = _split_clauses(_find_tagged_text("text", request))[:MAX_QUESTIONS]
            return {"questions": [{"question": f"{clause}?", "answer": _SIMULATED_ANSWER} for clause in asked]}
        case "text-answers":
            return {
                "answers": [
                    {"number": number, "answer": _SIMULATED_ANSWER} for number in _numbered_items("questions", request)
                ]
            }
        case "answer-overlap":
            return {"scores": [{"number": number, "score": 3} for number in _numbered_items("pairs", request)]}
        case _:
            return None


_SIMULATED_ANSWER = "as the text has it"


def _find_tagged_text(tag: str, request: Request) -> str:
    """Return the text between markers at the end of a prompt, which a note on a previous completion may follow."""
    found = (find_texts(message.content) for message in reversed(request.messages))
    return next(texts[tag] for texts in found if tag in texts)


def _split_clauses(text: str) -> list[str]:
    clauses = [item.text[:MAX_CHARACTERS] for sentence in split_sentences(text) for item in split_items(sentence)]
    return list(dict.fromkeys(clauses)) or [text.strip()[:MAX_CHARACTERS]]


def _simulate_values(answer: str, *, reading: int) -> list[str]:
    """Return as many pieces of an answer as it is expected to have values; each reading starts at a different one.

    If the readings were equal, requests about their imaps would be one request, not one per reading.
    """
    every, size = _VALUE_DENSITY["zh" if has_chinese(answer) else "en"]
    clauses = _split_clauses(answer)
    start = (reading - 1) % len(clauses)
    clauses = [*clauses[start:], *clauses[:start]][: max(1, round(len(answer) / every))]
    return [clause[: size + 1].rsplit(" ", 1)[0][:size] if len(clause) > size else clause for clause in clauses]


def _numbered_items(tag: str, request: Request) -> range:
    return range(1, len(_NUMBERED.findall(_find_tagged_text(tag, request))) + 1)
