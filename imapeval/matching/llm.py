"""Relations by a language model, for the pairs of values that neither wording nor graph decides."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from imapeval.errors import ExtractionError, ProviderError
from imapeval.extraction import prompting
from imapeval.llm.client import Message, Request
from imapeval.matching.relating import RELATIONS_SCHEMA, list_pairs, parse_relations
from imapeval.types import Failure, Lang

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.llm.client import Model
    from imapeval.matching.order import ValueMatcher
    from imapeval.matching.relating import Answer
    from imapeval.types import Imap, Match

_TASK = "value-relation"
_VERSION = 1
"""Of the prompts."""

MAX_PAIRS = 40
"""Most pairs in one request, the most similar ones. Answers with ten values each, of which few are alike, stay below
it; in a longer list models lose count."""

_MAX_TOKENS = 2048
"""Of a completion. A related pair takes some 30, so that all pairs of a request have room."""

_AGAIN: dict[Lang, str] = {
    "en": 'Reply with nothing but the JSON object {"relations": [...]}, with the numbers of the pairs above.',
    "zh": '只回复 JSON 对象 {"relations": [...]}，用上面值对的编号，不写别的。',
}
"""What a request that got an unreadable completion says when it is asked once more."""

_FORMS: tuple[Callable[[tuple[Message, ...]], Request], ...] = (
    lambda messages: Request(messages, schema=RELATIONS_SCHEMA, schema_name=_TASK, max_tokens=_MAX_TOKENS),
    lambda messages: Request(messages, json=True, max_tokens=_MAX_TOKENS),
    lambda messages: Request(messages, max_tokens=_MAX_TOKENS),
)
"""How JSON is asked for: by schema, in JSON mode, by the prompt alone."""

_NOT_ASKED = {
    "why": f"neither wording nor graph relates them; the language model was asked about the {MAX_PAIRS} most "
    "similar pairs only"
}

_log = logging.getLogger(__name__)


class LLMMatcher:
    """A `Matcher` that lets another one judge first, and asks a model about the pairs that it leaves to the encoder.

    One request per imap. A pair that is exact or a contradiction by wording, or related by the graph, is never asked.

    Args:
        inner: Who judges first, and whose similarities stay.
        model: Who is asked.
    """

    def __init__(self, inner: ValueMatcher, model: Model) -> None:
        self._inner = inner
        self._model = model
        self._form = 0

    @property
    def signature(self) -> str:
        """The inner matcher's, model and prompts."""
        return self._inner.sign(
            "text/graph/llm/encoder", llm=self._model.identity, prompt=_identify_prompts(), pairs=MAX_PAIRS
        )

    async def match(self, imaps: Sequence[Imap], *, langs: Sequence[Lang]) -> list[tuple[Match, ...] | Failure]:
        """Judge many imaps, asking about all of them at the same time; see `Matcher.match`.

        Where the model does not answer, or nothing that can be read, the imap's outcome is a `Failure`.

        Raises:
            ServiceError: The model cannot go on for anybody.
            ValueError: `langs` and `imaps` differ in length.
        """
        judged = await self._inner.match(imaps, langs=langs)
        # All of them are waited for: what is under way when the model gives up has been paid for.
        settled = await asyncio.gather(*map(self._settle, judged, langs), return_exceptions=True)
        outcomes: list[tuple[Match, ...] | Failure] = []
        for outcome in settled:
            if isinstance(outcome, BaseException):
                raise outcome
            outcomes.append(outcome)
        return outcomes

    async def _settle(self, judged: tuple[Match, ...] | Failure, lang: Lang) -> tuple[Match, ...] | Failure:
        """Return the matches with what the model says of the open ones."""
        if isinstance(judged, Failure):
            return judged
        undecided = [place for place, match in enumerate(judged) if match.decided_by == "encoder"]
        nearest = sorted(undecided, key=lambda place: -judged[place].similarity)[:MAX_PAIRS]
        asked = sorted(nearest)
        if not asked:
            return judged
        try:
            answer = await self._ask([judged[place] for place in asked], lang)
        except ExtractionError as error:
            return Failure("matching", error.kind, f"relations of values: {error}", error.raw)
        except ProviderError as error:
            return Failure(error.stage, error.kind, str(error), error.raw)
        settled = dict(enumerate(judged))
        for place in undecided:
            settled[place] = replace(judged[place], evidence=_NOT_ASKED)
        for number, place in enumerate(asked, 1):
            settled[place] = _judge(judged[place], number, answer, lang)
        return tuple(settled.values())

    async def _ask(self, pairs: Sequence[Match], lang: Lang) -> Answer:
        messages = _load(lang).render(pairs=list_pairs(pairs))
        try:
            return await self._read(messages, len(pairs))
        except ExtractionError as error:
            _log.info("asking once more: %s", error)
        *before, last = messages
        again = Message(last.role, f"{last.content}\n\n{_AGAIN[lang]}")
        return await self._read((*before, again), len(pairs))

    async def _read(self, messages: tuple[Message, ...], pairs: int) -> Answer:
        answer = parse_relations(await self._complete(messages), pairs=pairs)
        for entry in answer.dropped:
            _log.info("left out of a completion: %s (no listed pair, or no relation)", entry)
        return answer

    async def _complete(self, messages: tuple[Message, ...]) -> str:
        """Ask in the strictest form that the server knows."""
        while True:
            form = self._form
            try:
                return (await self._model.complete(_FORMS[form](messages))).text
            except ProviderError as error:
                if error.kind != "unsupported" or form + 1 == len(_FORMS):
                    raise
                self._form = max(self._form, form + 1)


def _judge(match: Match, number: int, answer: Answer, lang: Lang) -> Match:
    """Return the match as the model's answer about the pair of that number has it."""
    prompt = {"prompt": _load(lang).name}
    if said := answer.disputed.get(number):
        why = f"the language model says both {' and '.join(said)}, which counts as neither"
        return replace(match, evidence={"why": why, **prompt})
    verdict = answer.verdicts.get(number)
    if verdict is None:
        return replace(match, decided_by="llm", evidence={"why": "the language model sees no relation", **prompt})
    return replace(
        match,
        relation=verdict.relation,
        decided_by="llm",
        evidence={"why": verdict.why or "the language model says so", "said": verdict.relation.value, **prompt},
    )


def _load(lang: Lang) -> prompting.Template:
    return prompting.load(_TASK, lang=lang, version=_VERSION)


def _identify_prompts() -> str:
    """Return name and short hash of the prompts, all languages together."""
    digests = "".join(_load(lang).digest for lang in get_args(Lang))
    return f"{_TASK}.v{_VERSION}#{hashlib.sha256(digests.encode()).hexdigest()[:8]}"
