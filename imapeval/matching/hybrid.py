"""Relate values by wording, graph and encoder, in a fixed order, and measure their similarity.

1. recorded: relations that came with the imap are used unchanged;
2. text: the same wording is exact; another polarity, amount or side of the same thing is a contradiction;
3. graph: both values are linked to concepts, and is-a or part-of decides, or contradicts if the polarity differs;
4. text again: one value is the other preceded by words that only narrow it (`wording`, with low confidence);
5. graph again: the values differ in one place, and the graph relates what stands there (with low confidence);
6. text with names of the graph: names of one thing, or of something narrower, are made the same (with low confidence);
7. fact-model: the small model (`imapeval.fact_model`), corrected by rules, relates two facts, each the only one of its
   answer, unless the graph knows them as siblings, and finds contradictions in answers that contradict much
   (`imapeval.matching.learned`);
8. encoder: nothing decided, so the pair is unmatched and only its similarity earns credit.

A fact that the reference states as well contradicts none of its other facts.

The similarity of two values is the mean of two numbers in 0..1: the encoder's cosine after removing what all names have
in common (see `NameIndex.centre`), 0 where negative, which sees paraphrases; and the Dice coefficient of their tokens,
which sees the rare names that an encoder blurs. It is 0 where one affirms and the other denies, and less where one
frame of words holds two different things (`imapeval.text.comparison.similarity.measure_wording_similarity`). Its four
digits depend on the two values only: where vectors of a batch leave the last one open, both values are encoded alone.

Where nothing decided, it is then combined with the agreement that the small model expects: the model knows what values
mean, but relates too many pairs, so neither alone agrees with clinicians as well as both (docs/graph-relations.md).
Values that people or a language model have related keep the first similarity.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from imapeval.graph.linking.linker import Linker
from imapeval.matching.graph import explain_unrelated
from imapeval.matching.learned import combine_agreement, decide_relations
from imapeval.matching.linked import UNLINKED, LinkedValue, mark_mentions, relate_linked, relate_replaced
from imapeval.matching.names import BY_WORDING, NameRelater
from imapeval.matching.wording import relate_by_head
from imapeval.signature import signature
from imapeval.text.comparison.similarity import measure_wording_similarity
from imapeval.text.comparison.wordings import WordingVerdict
from imapeval.text.normalise import normalise
from imapeval.text.phrases import parse_phrase
from imapeval.threads import run_in_thread
from imapeval.types import Failure, Imap, Lang, Match, Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from imapeval.fact_model import FactModel
    from imapeval.graph.encoder import Encoder
    from imapeval.graph.index.names import NameIndex
    from imapeval.graph.linking.mentions import Mention
    from imapeval.graph.model import LinkKind
    from imapeval.graph.store.graph import Graph
    from imapeval.types import Decider, KnownRelation

    Vectors = npt.NDArray[np.float32]

_COSINE_ERROR = 1e-6
"""How far a cosine may be from that of the two values encoded alone.

Measured with the built-in encoder: of 490,000 pairs 99.9% were within 3.2e-7, and the farthest was 6.4e-7.
"""

_Fact = tuple[str, str]
"""Term and value."""


@dataclass(frozen=True)
class HybridMatcher:
    """The default `Matcher`, which needs no language model.

    Attributes:
        graph: Decides exact, belonging and containment of linked values.
        encoder: The sentence encoder, whose cosine is half of the similarity of words.
        index: Names of the graph as vectors of the encoder; links values that equal no name, and centres vectors.
        facts: The small model; None for similarities without it.
    """

    graph: Graph
    encoder: Encoder
    index: NameIndex
    facts: FactModel | None = None
    _linker: Linker = field(init=False, repr=False)
    _names: NameRelater = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_linker", Linker(self.graph, self.encoder, self.index))
        object.__setattr__(self, "_names", NameRelater(self.graph))

    @property
    def signature(self) -> str:
        return self.make_signature("text/graph/encoder" if self.facts is None else "text/graph/fact-model/encoder")

    def make_signature(self, order: str, **others: str | int) -> str:
        """Return the signature of a matcher with this order of deciders and these further settings."""
        return signature(
            "matcher",
            order=order,
            graph=self.graph.hash[:12],
            encoder=self.encoder.identity,
            similarity="centred-cosine+token-dice,by-stance",
            **({} if self.facts is None else {"agreement": self.facts.identity}),
            **others,
            v="32",
        )

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        """Relate the facts of many imaps in a separate thread; see `Matcher.match`. The questions are not used.

        Raises:
            ValueError: `langs` and `imaps` differ in length.
        """
        most = max((len(imap.reference) * len(imap.response) for imap in imaps), default=0)
        return [*await run_in_thread(lambda: self._match(imaps, langs), size=most)]

    def _match(self, imaps: Sequence[Imap], langs: Sequence[Lang]) -> list[tuple[Match, ...]]:
        cases = [_collect_facts(imap) for imap in imaps]
        by_lang: dict[Lang, list[_FactSets]] = {}
        for case, lang in zip(cases, langs, strict=True):
            by_lang.setdefault(lang, []).append(case)
        known = {lang: self._prepare_values(some, lang) for lang, some in by_lang.items()}
        return [tuple(self._match_facts(case, known[lang])) for case, lang in zip(cases, langs, strict=True)]

    def _prepare_values(self, cases: Sequence[_FactSets], lang: Lang) -> _BatchValues:
        values: dict[str, None] = {}
        pairs: dict[tuple[str, str], None] = {}
        for case in cases:
            reference, response = ([value for _, value in facts] for facts in (case.reference, case.response))
            if not (reference and response):
                continue
            values.update(dict.fromkeys((*reference, *response)))
            if case.recorded is None:
                pairs.update(dict.fromkeys(product(reference, response)))
        verdicts = self._names.compare(pairs, lang)
        # Only values that the wording does not decide are linked to the graph.
        undecided = list(
            dict.fromkeys(value for pair, verdict in verdicts.items() if verdict is None for value in pair)
        )
        links = self._link(undecided, lang)
        # In lower case, because the encoder is sensitive to capitals.
        vectors = self.index.centre(self.encoder.encode([value.lower() for value in values]), lang)
        names = self._names.find_names(undecided, lang)
        return _BatchValues(list(values), vectors, partial(self._encode_alone, lang), verdicts, links, names)

    def _encode_alone(self, lang: Lang, values: Sequence[str]) -> Vectors:
        return self.index.centre(self.encoder.encode_alone([value.lower() for value in values]), lang)

    def _match_facts(self, case: _FactSets, values: _BatchValues) -> list[Match]:
        if not (case.reference and case.response):
            return []
        sides = [v for _, v in case.reference], [w for _, w in case.response]
        similarities = values.measure_similarities(*sides)
        probabilities = None
        if self.facts is not None and not case.judged:
            probabilities = self.facts.relate(*sides, similarities)
        matches: list[Match] = []
        for reference, row in zip(case.reference, similarities.tolist(), strict=True):
            for response, similarity in zip(case.response, row, strict=True):
                if case.recorded is None:
                    match = self._match_pair(*reference, response[1], values, similarity)
                else:
                    known = case.recorded.get((reference, response))
                    match = _restore_match(*reference, response[1], known, similarity, unlisted=case.unlisted)
                matches.append(match if reference[0] == response[0] else replace(match, other_term=response[0]))
        if case.recorded is None:
            matches = _drop_shared_contradictions(matches)
            if probabilities is not None:
                matches = decide_relations(matches, probabilities)
        if probabilities is None:
            return matches
        means: list[float] = combine_agreement(probabilities, similarities).ravel().tolist()
        return [
            replace(match, similarity=mean) if match.decided_by == "encoder" else match
            for match, mean in zip(matches, means, strict=True)
        ]

    def _match_pair(self, term: str, reference: str, response: str, values: _BatchValues, similarity: float) -> Match:
        verdict = values.verdicts[reference, response]
        if verdict is not None:
            evidence = {"why": verdict.value}
            if verdict is WordingVerdict.OTHER_CASE:
                similarity = 0.0
            return Match(term, reference, response, BY_WORDING[verdict], similarity, "text", evidence)
        ours, theirs = values.links[reference], values.links[response]
        if decision := relate_linked(self.graph, ours, theirs):
            return Match(term, reference, response, decision[0], similarity, "graph", decision[1])
        if decision := relate_by_head(self.graph, reference, response):
            return Match(term, reference, response, decision[0], similarity, "text", decision[1])
        if decision := relate_replaced(self._linker, reference, response):
            return Match(term, reference, response, decision[0], similarity, "graph", decision[1])
        if decision := self._names.relate(reference, response, values.names[reference], values.names[response]):
            return Match(term, reference, response, decision[0], similarity, "graph", decision[1])
        evidence = explain_unrelated(self.graph, ours.links, theirs.links)
        return Match(term, reference, response, Relation.UNMATCHED, similarity, "encoder", evidence)

    def _link(self, values: Sequence[str], lang: Lang) -> dict[str, LinkedValue]:
        """Link values to concepts by their wording, else by what they are about: "aspirin" in "avoid aspirin"."""
        phrases = {value: parse_phrase(value) for value in values}
        linked: dict[str, LinkedValue] = {}
        # A whole value first: 睡不着觉 is a name, so its 不 denies nothing.
        for place, form in enumerate(_FORMS):
            unlinked = {value: phrase for value, phrase in phrases.items() if value not in linked}
            found = self._linker.link_many([form(phrase) for phrase in unlinked.values()], lang=lang)
            for (value, phrase), links in zip(unlinked.items(), found, strict=True):
                guess = bool(links) and links[0].how in _GUESSED
                if links and not (guess and (form is _FORMS[-1] or phrase.amounts.items)):
                    is_whole = normalise(form(phrase)) == normalise(value)
                    tied = links if is_whole else mark_mentions(links)
                    linked[value] = LinkedValue(tied, place > 0 and phrase.stance.denies, phrase)
        return {value: linked.get(value, UNLINKED) for value in values}


_FORMS = (attrgetter("core"), attrgetter("stance.subject"), attrgetter("subject"))
"""What is linked to a concept: the first of these that can be."""

_GUESSED: frozenset[LinkKind] = frozenset({"index", "kind"})
"""Links that do not count for the subject of a statement or beside amounts: the rest might mean something else."""


@dataclass(frozen=True)
class _FactSets:
    """The facts of an imap that are to be related.

    Attributes:
        reference, response: Their facts, as term and value.
        recorded: The relations that came with the imap, by the two facts; None if there are none.
        unlisted: Who decided that pairs without a recorded relation are unmatched.
    """

    reference: Sequence[_Fact]
    response: Sequence[_Fact]
    recorded: Mapping[tuple[_Fact, _Fact], KnownRelation] | None
    unlisted: Decider = "recorded"

    @property
    def judged(self) -> bool:
        """Whether people or a language model have related the facts."""
        return self.recorded is not None and self.unlisted != "encoder"


def _collect_facts(imap: Imap) -> _FactSets:
    reference, response = (
        list(dict.fromkeys((pair.term, pair.value) for pair in pairs)) for pairs in (imap.reference, imap.response)
    )
    if imap.relations is None:
        return _FactSets(reference, response, None)
    recorded = {
        ((known.term, known.reference), (known.other_term or known.term, known.response)): known
        for known in imap.relations
    }
    return _FactSets(reference, response, recorded, _find_unlisted_decider(imap.relations))


def _find_unlisted_decider(relations: Sequence[KnownRelation]) -> Decider:
    """Return who left the pairs without a recorded relation unmatched: a model that read all, or the encoder."""
    deciders = {known.decided_by for known in relations} - {"recorded"}
    return "llm" if "llm" in deciders else "encoder" if deciders else "recorded"


class _BatchValues:
    """All values of one language in a batch: their vectors, the verdict of each pair's wording, and concept links.

    Values have links only if some pair is not decided by its wording.
    """

    def __init__(
        self,
        values: Sequence[str],
        vectors: Vectors,
        encode_alone: Callable[[Sequence[str]], Vectors],
        verdicts: Mapping[tuple[str, str], WordingVerdict | None],
        links: Mapping[str, LinkedValue],
        names: Mapping[str, Sequence[Mention]],
    ) -> None:
        self._rows = {value: row for row, value in enumerate(values)}
        self._vectors = vectors
        self._encode_alone = encode_alone
        self.verdicts = verdicts
        self.links = links
        self.names = names

    def measure_similarities(self, reference: Sequence[str], response: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the similarity of every reference value to every response value, shape (reference, response).

        Rounded to 4 digits. Where a digit may depend on the rest of the batch, the cosine is computed anew.
        """
        rows, columns = ([self._rows[value] for value in values] for values in (reference, response))
        cosines = (self._vectors[rows] @ self._vectors[columns].T).astype(np.float64)
        wordings = [[measure_wording_similarity(v, w) for w in response] for v in reference]
        overlaps = np.array([[one.overlap for one in row] for row in wordings])
        weights = np.array([[one.weight for one in row] for row in wordings])
        low, high = (_combine(cosines + error, overlaps, weights) for error in (-_COSINE_ERROR, _COSINE_ERROR))
        for place in map(tuple, np.argwhere(low != high).tolist()):
            one, other = self._encode_alone([reference[place[0]], response[place[1]]]).astype(np.float64)
            cosines[place] = one @ other
        return _combine(cosines, overlaps, weights)


def _combine(
    cosines: npt.NDArray[np.float64], overlaps: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    return np.round((np.clip(cosines, 0.0, 1.0) + overlaps) / 2 * weights, 4)


def _restore_match(
    term: str, reference: str, response: str, known: KnownRelation | None, similarity: float, *, unlisted: Decider
) -> Match:
    if known is None:
        return Match(term, reference, response, Relation.UNMATCHED, similarity, unlisted)
    # Where the wording leaves a pair unmatched, nothing earns credit: see `_drop_shared_contradictions`.
    is_shared = known.relation is Relation.UNMATCHED and known.decided_by == "text"
    return Match(term, reference, response, known.relation, 0.0 if is_shared else similarity, known.decided_by)


def _drop_shared_contradictions(matches: list[Match]) -> list[Match]:
    """Return the matches without contradictions by facts that the reference states as well: it says both."""
    agree = (match for match in matches if match.relation is Relation.EXACT and not match.other_term)
    stated = {(match.term, match.response) for match in agree}
    why = {"why": "the reference states both"}
    return [
        replace(match, relation=Relation.UNMATCHED, similarity=0.0, decided_by="text", evidence=why)
        if match.relation is Relation.CONTRADICTION and (match.response_term, match.response) in stated
        else match
        for match in matches
    ]
