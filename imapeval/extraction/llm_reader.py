"""Read imaps with a language model, in the two steps of Wang et al. 2024: the question first, then each answer.

Each text takes one request. The completion is parsed (`parsing`) and checked against the text (`selection`); if it has
a known fault (`llm.structured.faults`), the request is amended and repeated once.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from imapeval.errors import ExtractionError
from imapeval.extraction import line_format, parsing, selection
from imapeval.extraction.injection_filter import is_about_score
from imapeval.extraction.protocols import MAX_FACTS
from imapeval.extraction.source import SourceText
from imapeval.llm.protocol import Request
from imapeval.llm.structured import faults, templates
from imapeval.llm.structured.client import OutputFormat, StructuredOutputClient
from imapeval.redaction import get_logger
from imapeval.signature import signature
from imapeval.text.phrases import annotate_pair, drop_self_contradictions
from imapeval.threads import offload
from imapeval.types import AnswerImap, Lang, QuestionImap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from imapeval.extraction.entries import Parsed
    from imapeval.llm.protocol import Completion, Model

_QUESTION_TASK = "question-imap"
"""`Request.schema_name` of the first step."""

_ANSWER_TASK = "answer-inform"
_VERSIONS: Mapping[str, int] = {_QUESTION_TASK: 2, _ANSWER_TASK: 2}
"""Versions of the prompts."""

_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    _QUESTION_TASK: parsing.QUESTION_SCHEMA,
    _ANSWER_TASK: parsing.INFORM_SCHEMA,
}

_T = TypeVar("_T")

_log = get_logger(__name__)


class LLMReader:
    """Reads texts with a language model: one request per text, and a second one if the completion cannot be used.

    Args:
        model: The model.
        temperature: Sampling temperature. 0, so that the same text gives the same pairs if the server is deterministic.
        max_tokens: Maximum tokens of a completion. A fact takes some 15, so the default has room for 60.
        seed: Sampling seed, or None to leave it to the server.
    """

    def __init__(
        self, model: Model, *, temperature: float = 0.0, max_tokens: int = 1024, seed: int | None = None
    ) -> None:
        self._model = model
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._seed = seed
        self._client = StructuredOutputClient(model)

    @property
    def signature(self) -> str:
        """Model, sampling and all prompts that may be used, in both languages."""
        return signature(
            "prompted",
            model=self._model.identity,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            question=templates.prompt_identity(_QUESTION_TASK, _VERSIONS[_QUESTION_TASK]),
            answer=templates.prompt_identity(_ANSWER_TASK, _VERSIONS[_ANSWER_TASK]),
            lines=templates.prompt_identity(line_format.LINE_FORMAT, line_format.VERSION),
            retry=templates.prompt_identity(faults.RETRY_NOTE, faults.VERSION),
            v="15",
        )

    @property
    def concurrency(self) -> int:
        """The concurrency of the model."""
        return self._model.concurrency

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        """Read the query and constraint pairs of a question; see `ImapReader.read_question`.

        Raises:
            ExtractionError: Nothing is asked (kind "no-query"), or no completion can be used (a `CompletionFault`).
            ProviderError: The model did not answer.
        """
        source = await offload(lambda: SourceText(question, under_evaluation=False), question)

        def parse(completion: Completion) -> QuestionImap:
            parsed = _parse_complete(parsing.parse_question, completion.text)
            return _log_dropped(selection.select_question(parsed, source, completion.text))

        if not source.is_empty:
            imap = await self._request(_QUESTION_TASK, lang, parse, question=source.shown_text)
            if imap.query:
                return replace(imap, constraint=tuple(map(annotate_pair, imap.constraint)))
        raise ExtractionError(f"nothing is asked in the question {question[:80]!r}", kind="no-query")

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
        """Read the facts of an answer; see `ImapReader.read_answer`. An answer without any statement is not sent.

        Raises:
            ExtractionError: No completion can be used (a `CompletionFault`).
            ProviderError: The model did not answer.
        """
        score_asked = is_about_score(question)
        source = await offload(lambda: SourceText(answer, under_evaluation=True, score_asked=score_asked), answer)
        asked = [pair.term for pair in imap.query]

        def parse(completion: Completion) -> AnswerImap:
            parsed = _parse_complete(partial(parsing.parse_inform, asked=asked), completion.text)
            facts = _log_dropped(selection.select_inform(parsed, source, imap, completion.text))
            return AnswerImap(tuple(drop_self_contradictions(map(annotate_pair, facts[:MAX_FACTS]))))

        if source.is_empty:
            return AnswerImap(())
        texts = {"question": question, "asked": json.dumps(asked, ensure_ascii=False), "answer": source.shown_text}
        return await self._request(_ANSWER_TASK, lang, parse, **texts)

    async def _request(self, task: str, lang: Lang, parse: Callable[[Completion], _T], **texts: str) -> _T:
        def make_request(form: OutputFormat) -> Request:
            return Request(
                line_format.load_template(task, lang=lang, version=_VERSIONS[task], output_format=form).render(**texts),
                schema=_SCHEMAS[task] if form is OutputFormat.SCHEMA else None,
                schema_name=task,
                json=form is OutputFormat.JSON,
                max_tokens=self._max_tokens,
                temperature=self._temperature,
                seed=self._seed,
            )

        return await self._client.complete(make_request, parse, lang=lang)


def _parse_complete(parse: Callable[[str], Parsed[_T]], completion: str) -> _T:
    """Parse a completion.

    Raises:
        ExtractionError: It cannot be parsed, or is incomplete, so that an unknown part is missing.
    """
    try:
        parsed = parse(completion)
    except ExtractionError as error:
        raise faults.refine_error(error) from None
    if not parsed.complete:
        raise faults.fault_error(faults.diagnose(completion, cut=True), completion)
    if any(dropped.reason == "no pair" for dropped in parsed.dropped):
        raise faults.fault_error("unreadable-completion", completion)
    return _log_dropped(parsed)


def _log_dropped(parsed: Parsed[_T]) -> _T:
    for dropped in parsed.dropped:
        _log.info("left out of a completion: %s (%s)", dropped.item, dropped.reason)
    return parsed.found
