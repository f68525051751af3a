"""Relate values with a language model, which reads the facts of both answers together with the question.

The facts of each answer are numbered from 1, and the model writes `{"relations": [{"reference": 1, "response": 2,
"why": "...", "relation": "exact"}]}`; pairs that it does not list are unmatched. The wrapping may vary (see
`imapeval.llm.structured.json_objects`), the content may not: entries that do not name listed facts are dropped and
reported, and a pair with no relation, or several, keeps the one it had. If no entry names listed facts and a relation,
the completion is unreadable, because "nothing is related" would be a judgement; a completion with another field beside
the list, such as "refusal" or "error", is unreadable too. Further fields of an entry change nothing about the relation
it states.
"""

from __future__ import annotations

import json
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict

from imapeval.errors import ExtractionError, ProviderError
from imapeval.extraction.repeated import TEMPERATURE
from imapeval.llm.gathering import gather_results
from imapeval.llm.protocol import Request
from imapeval.llm.structured import faults, templates
from imapeval.llm.structured.client import OutputFormat, StructuredOutputClient
from imapeval.llm.structured.json_objects import find_json_object, parse_whole, unreadable_error
from imapeval.redaction import get_logger
from imapeval.text.normalise import normalise
from imapeval.threads import run_in_thread
from imapeval.types import Failure, Lang, Pair, Relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.llm.protocol import Completion, Model
    from imapeval.matching.hybrid import HybridMatcher
    from imapeval.types import Imap, Match

TASK = "value-relation"
"""Name of its prompt and of its requests."""

_VERSION = 2
"""Version of its prompts."""

MAX_FACTS = 60
"""Maximum facts of one answer in a request; a longer list is split over several. Real answers stay below it: of 200,
read by a strong model, the longest had 27 facts."""

_MAX_TOKENS = 2048
"""Maximum tokens of a completion. A related pair takes some 40, so there is room for 50; if that is not enough, the
request is repeated with more room."""

_RELATIONS_KEY = "relations"
_RELATIONS = {relation.value: relation for relation in Relation}

_MAX_CHARACTERS = 300
"""Characters of an explanation, or of a word in place of a relation, that are kept."""

_log = get_logger(__name__)

_Fact = tuple[str, str]
"""Term and value."""


class RelationRecord(BaseModel):
    """How two facts relate as the model writes it: the reason first, so that the relation follows from it."""

    model_config = ConfigDict(extra="forbid")

    reference: int
    response: int
    why: str
    relation: Literal["exact", "belonging", "containment", "contradiction"]


class RelationsRecord(BaseModel):
    """What the model writes of two lists of facts."""

    model_config = ConfigDict(extra="forbid")

    relations: list[RelationRecord]


RELATIONS_SCHEMA: Mapping[str, Any] = RelationsRecord.model_json_schema()


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """The model's verdict on one pair of facts: the relation, and its explanation, which may be empty."""

    relation: Relation
    why: str


@dataclass(frozen=True, slots=True)
class RelationReply:
    """The content of a completion, by the numbers of the reference's and the response's fact.

    Attributes:
        verdicts: The pairs with a relation; all others are unmatched.
        unclear: Pairs without a single valid relation, and the words that the model wrote instead.
        dropped: Entries that do not name listed facts, as JSON.
    """

    verdicts: Mapping[tuple[int, int], ModelVerdict]
    unclear: Mapping[tuple[int, int], tuple[str, ...]]
    dropped: tuple[str, ...]


class LLMMatcher:
    """A `Matcher` whose language model overrules the relations of another matcher.

    One request per imap shows the model the question, its constraints, and the facts of both answers. Pairs with the
    same wording stay exact whatever the model says; if every fact has such a pair, no request is made.

    Args:
        inner: Relates the values first; its similarities are kept.
        model: The language model.
    """

    def __init__(self, inner: HybridMatcher, model: Model) -> None:
        self._inner = inner
        self._model = model
        self._client = StructuredOutputClient(model)
        self._seed: int | None = None

    def sample(self, seed: int) -> LLMMatcher:
        """Return a matcher whose completions are sampled with this seed, to relate the same imaps several times."""
        matcher = copy(self)
        matcher._seed = seed
        return matcher

    @property
    def signature(self) -> str:
        """The signature of the inner matcher, with the model and the prompts."""
        sampling: dict[str, str | int] = {}
        if self._seed is not None:
            sampling = {"temperature": f"{TEMPERATURE}", "seed": self._seed}
        return self._inner.make_signature(
            "same-wording/llm/text/graph/encoder",
            llm=self._model.identity,
            prompt=templates.prompt_identity(TASK, _VERSION),
            retry=templates.prompt_identity(faults.RETRY_NOTE, faults.VERSION),
            facts=MAX_FACTS,
            **sampling,
        )

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        """Relate the values of many imaps, with concurrent requests; see `Matcher.match`.

        If the model does not answer, or its completion cannot be parsed, the imap's outcome is a `Failure`.

        Raises:
            ServiceError: The model is unavailable for all imaps.
            ValueError: `langs`, `questions` and `imaps` differ in length.
        """
        judged = await self._inner.match(imaps, langs=langs)
        asked = [""] * len(imaps) if questions is None else questions
        work = (
            self._overrule(matches, imap, lang, question)
            for matches, imap, lang, question in zip(judged, imaps, langs, asked, strict=True)
        )
        return await gather_results(work)

    async def _overrule(
        self, judged: tuple[Match, ...] | Failure, imap: Imap, lang: Lang, question: str
    ) -> tuple[Match, ...] | Failure:
        """Return the matches with the relations that the model sees."""
        if isinstance(judged, Failure) or imap.relations is not None:
            return judged
        references, responses = await run_in_thread(lambda: _list_facts_to_ask(judged), size=len(judged))
        settled = {(*_reference(match), *_response(match)): match for match in judged}
        for ours, theirs in product(_split_into_parts(references), _split_into_parts(responses)):
            try:
                reply = await self._ask_model(ours, theirs, imap, lang, question)
            except ExtractionError as error:
                return Failure("matching", error.kind, f"relations of values: {error}", error.raw)
            except ProviderError as error:
                return Failure(error.stage, error.kind, str(error), error.raw)
            apply = partial(_apply_verdicts, settled, ours, theirs, reply, lang)
            await run_in_thread(apply, size=len(judged))
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
                schema_name=TASK,
                json=form is OutputFormat.JSON,
                max_tokens=_MAX_TOKENS,
                temperature=0.0 if self._seed is None else TEMPERATURE,
                seed=self._seed,
            )

        def parse(completion: Completion) -> RelationReply:
            try:
                reply = parse_relations(completion.text, references=len(references), responses=len(responses))
            except ExtractionError as error:
                raise faults.refine_error(error) from None
            for entry in reply.dropped:
                _log.info("left out of a completion: %s (no listed facts)", entry)
            return reply

        return await self._client.complete(make, parse, lang=lang)


def _reference(match: Match) -> _Fact:
    return match.term, match.reference


def _response(match: Match) -> _Fact:
    return match.response_term, match.response


def _has_same_wording(match: Match) -> bool:
    """Return whether two values have the same normal form, so that no model need decide."""
    return match.decided_by == "text" and normalise(match.reference) == normalise(match.response)


def _list_facts_to_ask(matches: Sequence[Match]) -> tuple[list[_Fact], list[_Fact]]:
    """Return all facts of reference and response; none if each has the same wording as a fact of the other side."""
    references = dict.fromkeys(map(_reference, matches))
    responses = dict.fromkeys(map(_response, matches))
    same = [match for match in matches if _has_same_wording(match)]
    if len({*map(_reference, same)}) == len(references) and len({*map(_response, same)}) == len(responses):
        return [], []
    return [*references], [*responses]


def _split_into_parts(facts: Sequence[_Fact]) -> list[Sequence[_Fact]]:
    return [facts[start : start + MAX_FACTS] for start in range(0, len(facts), MAX_FACTS)]


def _apply_verdicts(
    settled: dict[tuple[str, str, str, str], Match],
    references: Sequence[_Fact],
    responses: Sequence[_Fact],
    reply: RelationReply,
    lang: Lang,
) -> None:
    for (i, reference), (j, response) in product(enumerate(references, 1), enumerate(responses, 1)):
        key = (*reference, *response)
        settled[key] = _apply_verdict(settled[key], (i, j), reply, lang)


def _apply_verdict(match: Match, numbers: tuple[int, int], reply: RelationReply, lang: Lang) -> Match:
    """Return the match with the relation that the model gave for the facts of these numbers."""
    if _has_same_wording(match):
        return match
    prompt = {"prompt": _load_prompt(lang).name}
    if said := reply.unclear.get(numbers):
        why = f"the language model says {' and '.join(map(repr, said))}, which is not a relation"
        return replace(match, evidence={"why": why, **prompt})
    verdict = reply.verdicts.get(numbers)
    relation = Relation.UNMATCHED if verdict is None else verdict.relation
    evidence: dict[str, Any] = {"why": "the language model sees no relation", **prompt}
    if verdict is not None:
        evidence |= {"why": verdict.why or "the language model says so", "said": relation.value}
    if match.decided_by != "encoder" and match.relation is not relation:
        evidence["overruled"] = {"decided_by": match.decided_by, "relation": match.relation.value}
    return replace(match, relation=relation, decided_by="llm", evidence=evidence)


def _load_prompt(lang: Lang) -> templates.PromptTemplate:
    return templates.load(TASK, lang=lang, version=_VERSION)


def list_facts(pairs: Sequence[Pair]) -> str:
    """Format facts for the prompt: numbered from 1, one line each, after their term."""
    return "\n".join(
        f"{number}. {_join_lines(pair.term)}: {_join_lines(pair.value)}" for number, pair in enumerate(pairs, 1)
    )


def parse_relations(completion: str, *, references: int, responses: int) -> RelationReply:
    """Parse the relations between the given numbers of facts of a reference and a response.

    Raises:
        ExtractionError: The completion cannot be parsed (kinds of `find_json_object`).
    """
    record = find_json_object(completion, _RELATIONS_KEY)
    entries = record[_RELATIONS_KEY]
    if len(record) > 1:
        raise unreadable_error(completion, f"beside {_RELATIONS_KEY!r} it has other fields")
    if not isinstance(entries, (list, dict)):
        raise unreadable_error(completion, f"{_RELATIONS_KEY!r} is not a list")
    if not entries and parse_whole(completion) != {_RELATIONS_KEY: []}:
        # Beside a sentence, an empty list may belong to a refusal.
        raise unreadable_error(completion, "it has no relation, and is not the requested form without relations either")
    said: dict[tuple[int, int], dict[str, str]] = {}
    dropped: list[str] = []
    items = cast("list[Any]", entries if isinstance(entries, list) else [entries])
    for entry in items:
        fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        reference, response = (_read_number(fields.get(side)) for side in ("reference", "response"))
        if reference is None or response is None or not (1 <= reference <= references and 1 <= response <= responses):
            dropped.append(json.dumps(entry))
        else:
            word = _clean_words(fields.get("relation")).casefold()
            said.setdefault((reference, response), {}).setdefault(word, _clean_words(fields.get("why")))
    if items and not any(word in _RELATIONS for words in said.values() for word in words):
        raise unreadable_error(completion, f"none of its {len(items)} entries names listed facts and a relation")
    verdicts: dict[tuple[int, int], ModelVerdict] = {}
    unclear: dict[tuple[int, int], tuple[str, ...]] = {}
    for pair, words in said.items():
        word, *others = words
        if others or word not in _RELATIONS:
            unclear[pair] = tuple(words)
        else:
            verdicts[pair] = ModelVerdict(_RELATIONS[word], words[word])
    return RelationReply(verdicts, unclear, tuple(dropped))


def _join_lines(text: str) -> str:
    """Return a text on one line: a line break in a fact must not look like another fact."""
    return " ".join(text.split())


def _read_number(value: Any) -> int | None:
    if isinstance(value, str):
        # Long runs of digits are not fact numbers, and int() rejects them.
        return int(value) if value.isascii() and value.isdigit() and len(value) < 5 else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _clean_words(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    # JSON can express lone surrogates, which files cannot hold.
    return " ".join(value.encode("utf-8", "replace").decode().split())[:_MAX_CHARACTERS]
