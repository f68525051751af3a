"""Relations by a language model, for the pairs of values that neither wording nor graph decides."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from imapeval.errors import ExtractionError, ProviderError
from imapeval.extraction import faults, prompting
from imapeval.extraction.asking import Asker
from imapeval.extraction.forms import Form
from imapeval.llm.client import Request
from imapeval.matching.relating import RELATIONS_SCHEMA, list_pairs, parse_relations
from imapeval.types import Failure, Lang

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.llm.client import Completion, Model
    from imapeval.matching.order import ValueMatcher
    from imapeval.matching.relating import Answer
    from imapeval.types import Imap, Match

_TASK = "value-relation"
_VERSION = 1
"""Of the prompts."""

MAX_PAIRS = 40
"""Most pairs in one request, the most similar ones. Answers with ten values each, of which few are alike, stay below
it; in a longer list models lose count."""

_MAX_TOKENS = 1024
"""Of a completion. A pair that is listed takes some 40, so that there is room for 25; where that is not enough the
request is repeated with more room."""

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
        self._asker = Asker(model)

    @property
    def signature(self) -> str:
        """The inner matcher's, model and prompts."""
        return self._inner.sign(
            "text/graph/llm/encoder",
            llm=self._model.identity,
            prompt=prompting.identify(_TASK, _VERSION),
            retry=prompting.identify(faults.RETRY_NOTE, faults.VERSION),
            pairs=MAX_PAIRS,
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
        undecided.sort(key=lambda place: -judged[place].similarity)
        asked, left = sorted(undecided[:MAX_PAIRS]), undecided[MAX_PAIRS:]
        if not asked:
            return judged
        try:
            answer = await self._ask([judged[place] for place in asked], lang)
        except ExtractionError as error:
            return Failure("matching", error.kind, f"relations of values: {error}", error.raw)
        except ProviderError as error:
            return Failure(error.stage, error.kind, str(error), error.raw)
        settled = list(judged)
        for number, place in enumerate(asked, 1):
            settled[place] = _judge(judged[place], number, answer, lang)
        for place in left:
            settled[place] = replace(judged[place], evidence=_NOT_ASKED)
        return tuple(settled)

    async def _ask(self, pairs: Sequence[Match], lang: Lang) -> Answer:
        # The prompt itself asks for JSON, in free text too.
        messages = _load(lang).render(pairs=list_pairs(pairs))

        def make(form: Form) -> Request:
            return Request(
                messages,
                schema=RELATIONS_SCHEMA if form is Form.SCHEMA else None,
                schema_name=_TASK,
                json=form is Form.JSON,
                max_tokens=_MAX_TOKENS,
            )

        def understand(completion: Completion) -> Answer:
            try:
                answer = parse_relations(completion.text, pairs=len(pairs))
            except ExtractionError as error:
                raise faults.explain(error) from None
            for entry in answer.dropped:
                _log.info("left out of a completion: %s (no listed pair)", entry)
            return answer

        return await self._asker.ask(make, understand, lang=lang)


def _judge(match: Match, number: int, answer: Answer, lang: Lang) -> Match:
    """Return the match as the model's answer about the pair of that number has it."""
    prompt = {"prompt": _load(lang).name}
    if said := answer.unclear.get(number):
        why = f"the language model says {' and '.join(map(repr, said))}, which is no relation"
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
