"""Relations by a language model, which reads the facts of both answers in the light of the question."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from imapeval.errors import ExtractionError, ProviderError
from imapeval.llm.protocol import Request
from imapeval.llm.structured import faults, templates
from imapeval.llm.structured.client import OutputFormat, StructuredOutputClient
from imapeval.matching.relating import RELATIONS_SCHEMA, list_facts, parse_relations
from imapeval.redaction import get_logger
from imapeval.text.normalise import normalise
from imapeval.types import Failure, Lang, Pair, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.llm.protocol import Completion, Model
    from imapeval.matching.hybrid import HybridMatcher
    from imapeval.matching.relating import RelationReply
    from imapeval.types import Imap, Match

_TASK = "value-relation"
_VERSION = 2
"""Of the prompts."""

MAX_FACTS = 60
"""Most facts of one answer in one request; a longer list is asked about in parts. Real answers stay below it: of 200,
read by a strong model, the longest had 27 facts."""

_MAX_TOKENS = 2048
"""Of a completion. A related pair takes some 40, so that there is room for 50; where that is not enough the request is
repeated with more room."""

_log = get_logger(__name__)

_Fact = tuple[str, str]
"""Term and value."""


class LLMMatcher:
    """A `Matcher` that lets another one judge first, and a language model overrule it.

    One request per imap, in which the model sees the question, what it gives, and the facts of both answers. Only the
    same wording on both sides stays what it is whatever the model says; where nothing else is left, nothing is asked.

    Args:
        inner: Who judges first, and whose similarities stay.
        model: Who is asked.
    """

    def __init__(self, inner: HybridMatcher, model: Model) -> None:
        self._inner = inner
        self._model = model
        self._asker = StructuredOutputClient(model)

    @property
    def signature(self) -> str:
        """The inner matcher's, model and prompts."""
        return self._inner.make_signature(
            "same-wording/llm/text/graph/encoder",
            llm=self._model.identity,
            prompt=templates.prompt_identity(_TASK, _VERSION),
            retry=templates.prompt_identity(faults.RETRY_NOTE, faults.VERSION),
            facts=MAX_FACTS,
        )

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        """Judge many imaps, asking about all of them at the same time; see `Matcher.match`.

        Where the model does not answer, or nothing that can be read, the imap's outcome is a `Failure`.

        Raises:
            ServiceError: The model cannot go on for anybody.
            ValueError: `langs`, `questions` and `imaps` differ in length.
        """
        judged = await self._inner.match(imaps, langs=langs)
        asked = [""] * len(imaps) if questions is None else questions
        work = (
            self._overrule(matches, imap, lang, question)
            for matches, imap, lang, question in zip(judged, imaps, langs, asked, strict=True)
        )
        # All of them are waited for: what is under way when the model gives up has been paid for.
        settled = await asyncio.gather(*work, return_exceptions=True)
        outcomes: list[tuple[Match, ...] | Failure] = []
        for outcome in settled:
            if isinstance(outcome, BaseException):
                raise outcome
            outcomes.append(outcome)
        return outcomes

    async def _overrule(
        self, judged: tuple[Match, ...] | Failure, imap: Imap, lang: Lang, question: str
    ) -> tuple[Match, ...] | Failure:
        """Return the matches with what the model says of them."""
        if isinstance(judged, Failure) or imap.relations is not None:
            return judged
        references, responses = _list_facts_to_ask(judged)
        settled = {(*_reference(match), *_response(match)): match for match in judged}
        for ours, theirs in product(_split_into_parts(references), _split_into_parts(responses)):
            try:
                answer = await self._ask_model(ours, theirs, imap, lang, question)
            except ExtractionError as error:
                return Failure("matching", error.kind, f"relations of values: {error}", error.raw)
            except ProviderError as error:
                return Failure(error.stage, error.kind, str(error), error.raw)
            for (i, reference), (j, response) in product(enumerate(ours, 1), enumerate(theirs, 1)):
                key = (*reference, *response)
                settled[key] = _apply_verdict(settled[key], (i, j), answer, lang)
        return tuple(settled.values())

    async def _ask_model(
        self, references: Sequence[_Fact], responses: Sequence[_Fact], imap: Imap, lang: Lang, question: str
    ) -> RelationReply:
        messages = _load_prompt(lang).render(
            question=question,
            given="; ".join(f"{pair.term}: {pair.value}" for pair in imap.constraint),
            reference=list_facts([Pair(*fact) for fact in references]),
            response=list_facts([Pair(*fact) for fact in responses]),
        )

        def make(form: OutputFormat) -> Request:
            return Request(
                # The prompt itself asks for JSON, in free text too.
                messages,
                schema=RELATIONS_SCHEMA if form is OutputFormat.SCHEMA else None,
                schema_name=_TASK,
                json=form is OutputFormat.JSON,
                max_tokens=_MAX_TOKENS,
            )

        def understand(completion: Completion) -> RelationReply:
            try:
                answer = parse_relations(completion.text, references=len(references), responses=len(responses))
            except ExtractionError as error:
                raise faults.refine_error(error) from None
            for entry in answer.dropped:
                _log.info("left out of a completion: %s (no listed facts)", entry)
            return answer

        return await self._asker.complete(make, understand, lang=lang)


def _reference(match: Match) -> _Fact:
    return match.term, match.reference


def _response(match: Match) -> _Fact:
    return match.response_term, match.response


def _has_same_wording(match: Match) -> bool:
    """Tell whether two values have the same normal form, which no model need be asked about."""
    return match.decided_by == "text" and normalise(match.reference) == normalise(match.response)


def _list_facts_to_ask(matches: Sequence[Match]) -> tuple[list[_Fact], list[_Fact]]:
    """Return the facts of reference and response, all of them; none where each has the same wording on both sides."""
    references = dict.fromkeys(map(_reference, matches))
    responses = dict.fromkeys(map(_response, matches))
    same = [match for match in matches if _has_same_wording(match)]
    if len({*map(_reference, same)}) == len(references) and len({*map(_response, same)}) == len(responses):
        return [], []
    return [*references], [*responses]


def _split_into_parts(facts: Sequence[_Fact]) -> list[Sequence[_Fact]]:
    return [facts[start : start + MAX_FACTS] for start in range(0, len(facts), MAX_FACTS)]


def _apply_verdict(match: Match, numbers: tuple[int, int], answer: RelationReply, lang: Lang) -> Match:
    """Return the match as the model's answer about the facts of these numbers has it."""
    if _has_same_wording(match):
        return match
    prompt = {"prompt": _load_prompt(lang).name}
    if said := answer.unclear.get(numbers):
        why = f"the language model says {' and '.join(map(repr, said))}, which is no relation"
        return replace(match, evidence={"why": why, **prompt})
    verdict = answer.verdicts.get(numbers)
    relation = Relation.UNMATCHED if verdict is None else verdict.relation
    evidence: dict[str, Any] = {"why": "the language model sees no relation", **prompt}
    if verdict is not None:
        evidence |= {"why": verdict.why or "the language model says so", "said": relation.value}
    if match.decided_by != "encoder" and match.relation is not relation:
        evidence["overruled"] = {"decided_by": match.decided_by, "relation": match.relation.value}
    return replace(match, relation=relation, decided_by="llm", evidence=evidence)


def _load_prompt(lang: Lang) -> templates.PromptTemplate:
    return templates.load(_TASK, lang=lang, version=_VERSION)
