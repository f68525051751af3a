"""Who decides how two values relate, in which order; and how similar they are.

1. recorded: relations that came with the imap are used as they are;
2. text: the same wording is exact; a contradiction in polarity or quantity is unmatched, and earns no soft credit;
3. graph: both values are linked to concepts, and is-a or part-of decides;
4. text again: one value is the other with words before it that only narrow it (composition, of low confidence);
5. encoder: nobody knew, so the pair is unmatched and only its similarity earns credit.

The similarity of two values is the mean of two numbers in 0..1: the encoder's cosine after removing what all names
have in common (see `NameIndex.centred`), 0 where negative, which sees paraphrases; and the Dice coefficient of their
tokens, which sees the rare names that an encoder blurs.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from imapeval.graph.linker import Linker
from imapeval.matching.composition import compose
from imapeval.matching.graph import relate_links, tell_apart
from imapeval.signature import signature
from imapeval.types import Failure, Imap, Lang, Match, Relation, values_by_term
from imapeval.wording.text import Verdict, compare, overlap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from imapeval.graph.encoder import Encoder
    from imapeval.graph.index import NameIndex
    from imapeval.graph.model import Link
    from imapeval.graph.store import Graph

    Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ValueMatcher:
    """The `Matcher` that ships.

    Attributes:
        graph: Decides exact, belonging and containment of linked values.
        encoder: Its cosine is one half of the similarity.
        index: Names of the graph in the encoder's space; links values that no name equals, and knows the centre.
    """

    graph: Graph
    encoder: Encoder
    index: NameIndex
    _linker: Linker = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_linker", Linker(self.graph, self.encoder, self.index))

    @property
    def signature(self) -> str:
        return self.sign("text/graph/encoder")

    def sign(self, order: str, **others: str | int) -> str:
        """Return the signature of a matcher that asks others besides, in that order."""
        return signature(
            "matcher",
            order=order,
            graph=self.graph.hash[:12],
            encoder=self.encoder.identity,
            similarity="mean(centred-cosine,token-dice)",
            **others,
            v="4",
        )

    async def match(self, imaps: Sequence[Imap], *, langs: Sequence[Lang]) -> list[tuple[Match, ...] | Failure]:
        """Judge many imaps, in a thread of its own; see `Matcher.match`.

        Raises:
            ValueError: `langs` and `imaps` differ in length.
        """
        return [*await asyncio.to_thread(self._match, imaps, langs)]

    def _match(self, imaps: Sequence[Imap], langs: Sequence[Lang]) -> list[tuple[Match, ...]]:
        cases = [_find_shared(imap) for imap in imaps]
        by_lang: dict[Lang, list[_Case]] = {}
        for case, lang in zip(cases, langs, strict=True):
            by_lang.setdefault(lang, []).append(case)
        known = {lang: self._read(some, lang) for lang, some in by_lang.items()}
        return [tuple(_judge_case(case, known[lang], self.graph)) for case, lang in zip(cases, langs, strict=True)]

    def _read(self, cases: Sequence[_Case], lang: Lang) -> _Values:
        values: dict[str, None] = {}
        verdicts: dict[tuple[str, str], Verdict | None] = {}
        for case in cases:
            for _, reference, response in case.shared:
                values.update(dict.fromkeys((*reference, *response)))
                if case.recorded is None:
                    verdicts.update(
                        (pair, compare(*pair)) for pair in product(reference, response) if pair not in verdicts
                    )
        # Only what the wording leaves open is looked for in the graph.
        link = list(dict.fromkeys(value for pair, verdict in verdicts.items() if verdict is None for value in pair))
        links = dict(zip(link, self._linker.link_many(link, lang=lang), strict=True))
        vectors = self.index.centred(self.encoder.encode(list(values)), lang)
        return _Values(list(values), vectors, verdicts, links)


@dataclass(frozen=True)
class _Case:
    """What is to be judged of an imap.

    Attributes:
        shared: Term, and the values of the reference and of the response, of the terms that both have.
        recorded: The relations that came with it; None where none did.
    """

    shared: Sequence[tuple[str, Sequence[str], Sequence[str]]]
    recorded: Mapping[tuple[str, str, str], Relation] | None


def _find_shared(imap: Imap) -> _Case:
    recorded = None
    if imap.relations is not None:
        recorded = {(known.term, known.reference, known.response): known.relation for known in imap.relations}
    responses = values_by_term(imap.response)
    return _Case(
        [
            (term, values, responses[term])
            for term, values in values_by_term(imap.reference).items()
            if term in responses
        ],
        recorded,
    )


class _Values:
    """What is known of all values of one language in a batch.

    Their vectors; and of those that are to be judged what the wording of each pair says, and the links of the values
    where it says nothing.
    """

    def __init__(
        self,
        values: Sequence[str],
        vectors: Vectors,
        verdicts: Mapping[tuple[str, str], Verdict | None],
        links: Mapping[str, tuple[Link, ...]],
    ) -> None:
        self._rows = {value: row for row, value in enumerate(values)}
        self._vectors = vectors
        self.verdicts = verdicts
        self.links = links

    def similarities(self, reference: Sequence[str], response: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the similarity of every reference value to every response value, shape (reference, response).

        Rounded to 4 digits, so that the last bits of a matrix product, which depend on what else was in the
        batch, do not show.
        """
        rows, columns = ([self._rows[value] for value in values] for values in (reference, response))
        cosines = np.clip(self._vectors[rows] @ self._vectors[columns].T, 0.0, 1.0)
        overlaps = np.array([[overlap(v, w) for w in response] for v in reference])
        return np.round((cosines.astype(np.float64) + overlaps) / 2, 4)


def _judge_case(case: _Case, values: _Values, graph: Graph) -> list[Match]:
    matches: list[Match] = []
    for term, reference, response in case.shared:
        similarities = values.similarities(reference, response)
        for v, row in zip(reference, similarities, strict=True):
            for w, similarity in zip(response, row, strict=True):
                if case.recorded is not None:
                    relation = case.recorded.get((term, v, w), Relation.UNMATCHED)
                    matches.append(Match(term, v, w, relation, float(similarity), "recorded"))
                else:
                    matches.append(_judge(term, v, w, values, graph, float(similarity)))
    return matches


def _judge(term: str, reference: str, response: str, values: _Values, graph: Graph, similarity: float) -> Match:
    verdict = values.verdicts[reference, response]
    if verdict is Verdict.SAME:
        return Match(term, reference, response, Relation.EXACT, similarity, "text", {"why": verdict.value})
    if verdict is not None:
        return Match(term, reference, response, Relation.UNMATCHED, 0.0, "text", {"why": verdict.value})
    links = values.links[reference], values.links[response]
    if decision := relate_links(graph, *links):
        return Match(term, reference, response, decision[0], similarity, "graph", decision[1])
    if decision := compose(graph, reference, response):
        return Match(term, reference, response, decision[0], similarity, "text", decision[1])
    return Match(term, reference, response, Relation.UNMATCHED, similarity, "encoder", tell_apart(graph, *links))
