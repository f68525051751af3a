"""A `Reader` that asks a language model, in the two steps of Wang et al. 2024: the question first, then each answer."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from typing import TYPE_CHECKING, Any, get_args

from imapeval.errors import ExtractionError
from imapeval.extraction import parsing, prompting
from imapeval.llm.client import Request
from imapeval.signature import signature
from imapeval.types import Lang, Pair, QuestionImap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from imapeval.extraction.parsing import Parsed
    from imapeval.llm.client import Model

_QUESTION = "question-imap"
_ANSWER = "answer-inform"
_VERSION = 1
"""Of the prompts."""

_log = logging.getLogger(__name__)


class PromptedReader:
    """Reads texts by asking a model, one request per text.

    Args:
        model: Who is asked.
        temperature: Of sampling. 0, so that the same text gives the same pairs where the server can hold to that.
        max_tokens: Most tokens of a completion. A pair takes some 25, so the default is room for 80 facts.
    """

    def __init__(self, model: Model, *, temperature: float = 0.0, max_tokens: int = 2048) -> None:
        self._model = model
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def signature(self) -> str:
        """Model, sampling and the prompts of both languages."""
        return signature(
            "prompted",
            model=self._model.identity,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            question=_identify(_QUESTION),
            answer=_identify(_ANSWER),
            v="1",
        )

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        """Ask what is asked and what is given; see `Reader.read_question`.

        Raises:
            ExtractionError: Nothing is asked (kind "no-query"), or the completion cannot be read.
            ProviderError: The model did not answer.
        """
        if question.strip():
            completion = await self._ask(_QUESTION, lang, parsing.QUESTION_SCHEMA, question=question)
            imap = _report(parsing.parse_question(completion))
            if imap.query:
                return imap
        raise ExtractionError(f"nothing is asked in the question {question[:80]!r}", kind="no-query")

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> tuple[Pair, ...]:
        """Ask for the facts of an answer; see `Reader.read_answer`. An empty answer has none and is not sent.

        Raises:
            ExtractionError: The completion cannot be read.
            ProviderError: The model did not answer.
        """
        if not answer.strip():
            return ()
        completion = await self._ask(
            _ANSWER,
            lang,
            parsing.INFORM_SCHEMA,
            question=question,
            asked=_to_json([pair.term for pair in imap.query]),
            given=_to_json([{"term": pair.term, "value": pair.value} for pair in imap.constraint]),
            answer=answer,
        )
        pairs = _align(_report(parsing.parse_inform(completion)), imap.query)
        located = [_locate(pair, answer) for pair in pairs]
        return tuple(dict.fromkeys(pair for pair in located if not _is_copied(pair, imap)))

    async def _ask(self, task: str, lang: Lang, schema: Mapping[str, Any], **texts: str) -> str:
        request = Request(
            prompting.load(task, lang=lang, version=_VERSION).render(**texts),
            schema=schema,
            schema_name=task,
            max_tokens=self._max_tokens,
            temperature=self._temperature,
        )
        return (await self._model.complete(request)).text


def _identify(task: str) -> str:
    """Return name and short hash of a task's prompts, all languages together."""
    digests = "".join(prompting.load(task, lang=lang, version=_VERSION).digest for lang in get_args(Lang))
    return f"{task}.v{_VERSION}#{hashlib.sha256(digests.encode()).hexdigest()[:8]}"


def _report(parsed: Parsed[parsing.T]) -> parsing.T:
    for dropped in parsed.dropped:
        _log.info("left out of a completion: %s (%s)", dropped.item, dropped.reason)
    return parsed.found


def _align(pairs: Iterable[Pair], query: Iterable[Pair]) -> list[Pair]:
    """Give the terms the query's spelling where they differ by case and space only."""
    spelling = {_fold(pair.term): pair.term for pair in query}
    return [Pair(spelling.get(_fold(pair.term), pair.term), pair.value) for pair in pairs]


def _fold(text: str) -> str:
    return "".join(text.casefold().split())


def _is_copied(pair: Pair, imap: QuestionImap) -> bool:
    """Say whether the value comes from what the question gives and not from the answer: weak models repeat it."""
    copied = pair.span is None and _fold(pair.value) in {_fold(given.value) for given in imap.constraint}
    if copied:
        _log.info("left out of a completion: %s (copied from the question)", _to_json([pair.term, pair.value]))
    return copied


def _locate(pair: Pair, answer: str) -> Pair:
    """Return the pair with its place in the answer and the answer's own wording, where the value is a quotation."""
    words = r"\s+".join(map(re.escape, prompting.neutralise(pair.value).split()))
    # "no" does not stand in "nose"; Chinese is written without spaces.
    before = r"(?<![A-Za-z0-9])" if pair.value[0].isascii() else ""
    after = r"(?![A-Za-z0-9])" if pair.value[-1].isascii() else ""
    # In the text as the model saw it, which is as long as the original.
    found = re.search(before + words + after, prompting.neutralise(answer), re.IGNORECASE)
    if found is None:
        return pair
    start, end = found.span()
    return Pair(pair.term, " ".join(answer[start:end].split()), (start, end))


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
