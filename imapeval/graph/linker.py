"""Ties values to concepts: by name, by what is left without empty words, by the nearest names, by the head."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from imapeval.graph import wordings
from imapeval.graph.index import fold_case
from imapeval.graph.model import Link
from imapeval.graph.nearness import is_near, may_mean, rate
from imapeval.graph.normalise import normalise
from imapeval.polarity import negated, restrains

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from imapeval.graph.encoder import Encoder
    from imapeval.graph.index import NameIndex
    from imapeval.graph.model import ConceptType, LinkKind
    from imapeval.graph.store import Graph
    from imapeval.types import Lang

_NEAREST = 20
"""Names taken from the index for re-ranking. The stored vectors are compressed, and the right one may come late."""

HEAD_SHARE = 0.3
"""Least share of a value's characters that the name of its head must cover: less is a mention, not the subject."""

_CORE_SCORE = 0.95
_INSIDE_SCORE = 0.9
_TREATMENT_SCORE = 0.9

_HEAD_TYPES: tuple[ConceptType, ...] = ("disease", "symptom", "drug", "procedure", "test", "lifestyle")
"""What a value can be a kind of. A left knee is a kind of knee as well, but nobody asks for that."""


class _IndexedName(NamedTuple):
    text: str
    norm: str
    concept: str
    lang: Lang


class _Vocabulary(NamedTuple):
    """The names of the graph, read when they are first needed.

    Attributes:
        names: Row id minus one gives the name (see `Graph.all_names`).
        words: All words of the names, in normal form.
        modifiers: Words that usually stand before the last one.
    """

    names: list[_IndexedName]
    words: frozenset[str]
    modifiers: frozenset[str]


class Linker:
    """Ties values to the concepts of a graph.

    The ways are tried in this order, and the first that finds something ends the search: the value is a name; a name
    stands outside or inside its brackets; a name is left when words that change nothing go; it is a treatment with a
    drug; a name in the index is near enough; a name is its head. Only the last, and a name before brackets that narrow
    it, give a broader concept (`Link.how`). May be shared between threads.

    Args:
        graph: Where the concepts are.
        encoder: Encodes the values.
        index: The index over the graph's names, made with the same encoder.
    """

    def __init__(self, graph: Graph, encoder: Encoder, index: NameIndex) -> None:
        self._graph = graph
        self._encoder = encoder
        self._index = index
        self._look = lru_cache(maxsize=1 << 16)(graph.lookup)
        self._stopped = lru_cache(maxsize=1 << 14)(graph.stopped)
        self._lock = Lock()
        self._read: _Vocabulary | None = None

    def link_many(
        self, values: Sequence[str], *, lang: Lang, types: Sequence[ConceptType] | None = None
    ) -> list[tuple[Link, ...]]:
        """Return the links of each value, most trusted first; a value that means nothing known has none.

        Args:
            values: Short phrases; clauses get links only where they are names as they stand.
            lang: Language of the values. Names of the other language are found too.
            types: Only concepts of these types; None allows all.
        """
        allowed = None if types is None else tuple(types)
        unique = list(dict.fromkeys(values))
        links = {value: self._link_by_name(value, allowed) for value in unique}
        open_values = [value for value in unique if not links[value] and wordings.is_short(normalise(value))]
        links.update(zip(open_values, self._link_by_index(open_values, lang, allowed), strict=True))
        for value in open_values:
            if not links[value] and not wordings.enumerates(value):
                links[value] = self._link_by_head(normalise(value), allowed)
        return [links[value] for value in values]

    def _link_by_name(self, value: str, types: tuple[ConceptType, ...] | None) -> tuple[Link, ...]:
        norm = normalise(value)
        if found := self._name_links(norm, "exact", 1.0, types):
            return found + self._link_remedies(norm, types)
        outside, *inside = wordings.split_brackets(value) or ("",)
        # What stands in brackets and is no name narrows what stands outside: "diabetes (type 1)".
        narrowed = not all(map(self._look, inside))
        if narrowed and (found := self._name_links(normalise(f"{inside[0]} {outside}"), "brackets", 1.0, types)):
            return found
        if found := self._name_links(outside, "kind" if narrowed else "brackets", 1.0, types):
            return () if any(map(restrains, inside)) or any(map(negated, inside)) else found
        for part in inside:
            if found := self._name_links(part, "brackets", _INSIDE_SCORE, types):
                return found
        for form in filter(wordings.is_short, (norm, outside)):
            for rest, kind in wordings.strip_light(form):
                how = "kind" if narrowed and form == outside else "core"
                if found := self._name_links(rest, how, _CORE_SCORE, _meet(types, kind)):
                    return found
            if found := self._link_remedies(form, types):
                return found
        return self._name_links(wordings.turn_genitive(norm), "core", _CORE_SCORE, types)

    def _link_remedies(self, norm: str, types: tuple[ConceptType, ...] | None) -> tuple[Link, ...]:
        for remedy in wordings.find_remedies(norm):
            if found := self._name_links(remedy, "treatment", _TREATMENT_SCORE, _meet(types, "drug")):
                return found
        return ()

    def _name_links(
        self, norm: str, how: LinkKind, score: float, types: tuple[ConceptType, ...] | None
    ) -> tuple[Link, ...]:
        return _make_links([(concept, norm, score) for concept in self._look(norm, types=types)], how)

    def _link_by_index(
        self, values: Sequence[str], lang: Lang, types: tuple[ConceptType, ...] | None
    ) -> Iterator[tuple[Link, ...]]:
        if not values:
            return
        vocabulary = self._vocabulary()
        vectors = self._encode(values, lang)
        nearest: list[list[int]] = self._index.search(vectors, _NEAREST)[0].tolist()
        norms = [normalise(value) for value in values]
        near = [
            (row, vocabulary.names[number - 1])
            for row, numbers in enumerate(nearest)
            for number in numbers
            if number and may_mean(norms[row], vocabulary.names[number - 1].norm, known=vocabulary.words)
        ]
        # The index keeps the names' vectors compressed; the few that are left are encoded anew.
        rated: list[dict[str, tuple[float, str]]] = [{} for _ in values]
        for spoken in ("en", "zh"):
            hits = [(row, name) for row, name in near if name.lang == spoken]
            found = self._encode([name.text for _, name in hits], spoken)
            for (row, name), vector in zip(hits, found, strict=True):
                if types is None or self._graph.concept(name.concept).type in types:
                    rating = rate(norms[row], name.norm, float(vectors[row] @ vector))
                    rated[row][name.concept] = max(rated[row].get(name.concept, (0.0, "")), (rating, name.text))
        for norm, ratings in zip(norms, rated, strict=True):
            ranked = sorted(((c, name, rating) for c, (rating, name) in ratings.items()), key=lambda hit: -hit[2])
            # Concepts that share the nearest name are all meant; the others only tell how close the choice was.
            best = sum(rating == ranked[0][2] for *_, rating in ranked)
            yield _make_links(ranked, "index")[:best] if ranked and is_near(norm, ranked[0][2]) else ()

    def _encode(self, texts: Sequence[str], lang: Lang) -> npt.NDArray[np.float32]:
        return self._index.centred(self._encoder.encode([fold_case(text) for text in texts]), lang)

    def _link_by_head(self, norm: str, types: tuple[ConceptType, ...] | None) -> tuple[Link, ...]:
        allowed = _HEAD_TYPES if types is None else tuple(kind for kind in _HEAD_TYPES if kind in types)
        for head, modifier in wordings.find_heads(norm):
            share = len(head) / len(norm)
            if share < HEAD_SHARE:
                continue
            concepts = [c for c in self._look(head, types=allowed) if not self._graph.is_general(c)]
            if concepts and not self._stopped(head) and self._narrows(modifier):
                return _make_links([(concept, head, share) for concept in concepts], "kind")
        return ()

    def _narrows(self, modifier: str) -> bool:
        """Tell whether words before a head narrow it, as in "duodenal lymphoma", and do not act on it."""
        if wordings.turns_away(modifier):
            return False
        if not wordings.is_chinese(modifier):
            return all(word in self._vocabulary().modifiers for word in modifier.split())
        # Chinese has no spaces: 慢 + 性病 must not pass for a kind of 性病, so the modifier has to be known itself.
        rest = wordings.strip_qualifier(modifier)
        return not rest or bool(self._look(rest) or self._look(rest.rstrip("性的型")))

    def _vocabulary(self) -> _Vocabulary:
        with self._lock:
            if self._read is None:
                self._read = _read_vocabulary(self._graph)
            return self._read


_USUAL = 3
"""Times that a word must stand before the last word of a name to count as a modifier."""


def _read_vocabulary(graph: Graph) -> _Vocabulary:
    names: list[_IndexedName] = []
    words: set[str] = set()
    counts: Counter[str] = Counter()
    for _, text, concept, lang in graph.all_names():
        norm = normalise(text)
        names.append(_IndexedName(text, norm, concept, lang))
        *before, last = norm.split() or [""]
        words.update(before, [last])
        counts.update(before)
    modifiers = frozenset(word for word, count in counts.items() if count >= _USUAL)
    return _Vocabulary(names, frozenset(words), modifiers)


def _meet(types: tuple[ConceptType, ...] | None, kind: ConceptType | None) -> tuple[ConceptType, ...] | None:
    """Return the types that both allow; None allows all."""
    if kind is None:
        return types
    return (kind,) if types is None or kind in types else ()


def _make_links(hits: Sequence[tuple[str, str, float]], how: LinkKind) -> tuple[Link, ...]:
    """Make links out of (concept, name, score), best first; each knows the next best other concept."""
    scored = [(concept, round(score, 3)) for concept, _, score in hits]
    return tuple(
        Link(concept, name, how, round(score, 3), next((other for other in scored if other[0] != concept), None))
        for concept, name, score in hits
    )
