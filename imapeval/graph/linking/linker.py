"""Links values to concepts: by name, by core, by likelihood, by head."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.linking import phrases
from imapeval.graph.linking.candidates import CandidateFinder
from imapeval.graph.linking.ranking import LINK_THRESHOLD, Candidate, rank_candidates
from imapeval.graph.linking.series import is_series_code
from imapeval.graph.linking.spelling import (
    find_distinctive_parts,
    is_similar_enough,
    may_be_misspelling,
    rate_similarity,
    spelling_variants,
)
from imapeval.graph.model import Link
from imapeval.text.language import has_chinese
from imapeval.text.negation.stance import is_negated
from imapeval.text.normalise import is_short_name, normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.graph.encoder import Encoder
    from imapeval.graph.index.names import NameIndex
    from imapeval.graph.model import ConceptType, LinkKind
    from imapeval.graph.store.graph import Graph
    from imapeval.types import Lang

HEAD_SHARE = 0.3
"""Minimum share of the characters of a head and the words before it in the head; with less the value only mentions the
concept."""

_CORE_SCORE = 0.95
_INSIDE_SCORE = 0.9
_TREATMENT_SCORE = 0.9

_HEAD_TYPES: tuple[ConceptType, ...] = ("disease", "symptom", "drug", "procedure", "test", "lifestyle")
"""Types that a value can be a kind of. That a left knee is a kind of knee is not relevant."""

_RANKED = 10
"""Number of candidates that are ranked: those with the name of the likeliest one are linked as well."""

_CACHED_LINKS = 20_000
"""Number of values whose links are cached: about 20 MB. Samples of a study share many."""

_MIN_SYNONYM_COSINE = 0.6
"""Cosine of n-grams below which a value is not ranked as a synonym of a name (docs/graph-linking.md has the links
that this loses)."""

_MIN_MODIFIER_COUNT = 3
"""Minimum number of names with a word before their last one for it to be a modifier."""


class Linker:
    """Links values to the concepts of a graph.

    These are tried in order until one succeeds: the value is a name, perhaps in another spelling; a name is outside or
    inside its brackets; a name remains after removing words that do not change the meaning or expanding an
    abbreviation; it is a treatment with a drug; it most likely means a concept (`search`); its head is a name. Only the
    last, a name before narrowing brackets, and a narrower synonym give a broader concept (`Link.how`). Safe to share
    between threads.

    Args:
        graph: Where the concepts are.
        encoder: Encodes the values.
        index: The index over the graph's names, made with the same encoder.
        ngrams: The n-gram index over the names; None opens or builds one when first needed.
    """

    def __init__(self, graph: Graph, encoder: Encoder, index: NameIndex, ngrams: NgramIndex | None = None) -> None:
        self.graph = graph
        self._encoder = encoder
        self._index = index
        self._ngrams = ngrams
        self._lookup = lru_cache(maxsize=1 << 16)(graph.lookup)
        self._is_stopped = lru_cache(maxsize=1 << 14)(graph.is_stopped)
        self._words = _Vocabulary(graph)
        self._lock = Lock()
        self._finder: CandidateFinder | None = None
        self._links: dict[tuple[Lang, str], tuple[Link, ...]] = {}

    def search(
        self,
        text: str,
        *,
        lang: Lang,
        k: int = 10,
        types: Sequence[ConceptType] | None = None,
    ) -> list[Candidate]:
        """Return the concepts that a text most likely means, likeliest first.

        Args:
            text: A short phrase; only the beginning of longer texts counts.
            lang: Its language. Names of the other language are found too.
            k: Maximum number of concepts.
            types: Only concepts of these types; None allows all.
        """
        return self.search_many([text], lang=lang, k=k, types=types)[0]

    def search_many(
        self, texts: Sequence[str], *, lang: Lang, k: int = 10, types: Sequence[ConceptType] | None = None
    ) -> list[list[Candidate]]:
        """Return the result of `search` for each text, in less time than separate calls."""
        if not texts:
            return []
        found = self._get_finder().find_many(texts, lang=lang)
        if types is not None:
            found = [one.filter([self.graph.concept(c).type in types for c in one.concepts]) for one in found]
        return [rank_candidates(one, k=k) for one in found]

    def link_many(self, values: Sequence[str], *, lang: Lang) -> list[tuple[Link, ...]]:
        """Return the links of each value, most trusted first; empty where no concept is found.

        Args:
            values: Short phrases; clauses are linked only where they are names exactly as written.
            lang: Language of the values. Names of the other language are found too.
        """
        with self._lock:
            links = {value: self._links[lang, value] for value in values if (lang, value) in self._links}
        links |= self._link_new([value for value in dict.fromkeys(values) if value not in links], lang)
        return [links[value] for value in values]

    def _link_new(self, values: Sequence[str], lang: Lang) -> dict[str, tuple[Link, ...]]:
        """Return the links of distinct values, and cache them."""
        links = {value: self.link_by_name(value) for value in values}
        unknown = [value for value in values if not links[value] and phrases.is_phrase(normalise(value))]
        promising = self._prefilter(unknown)
        ranked = dict(zip(promising, self.search_many(promising, lang=lang, k=_RANKED), strict=True))
        for value in unknown:
            links[value] = self._link_likely(normalise(value), ranked.get(value, ()))
            if not links[value] and not phrases.is_enumeration(value):
                links[value] = self._link_by_head(normalise(value))
        with self._lock:
            self._links.update(((lang, value), found) for value, found in links.items())
            for key in list(islice(self._links, max(0, len(self._links) - _CACHED_LINKS))):
                del self._links[key]
        return links

    def link_by_name(self, value: str) -> tuple[Link, ...]:
        """Return the links of a value that is a name, perhaps spelled differently or with words around it."""
        norm = normalise(value)
        for spelling in (norm, *spelling_variants(norm)):
            if found := self._name_links(spelling, "exact", 1.0):
                return found + self._link_treatments(norm)
        if found := _make_links(self.graph.lookup_narrower(norm), norm, _CORE_SCORE, "kind"):
            return found
        outside, *inside = phrases.split_brackets(value) or ("",)
        # Text in brackets that is not a name narrows the text outside: "diabetes (type 1)".
        narrowed = not all(map(self._lookup, inside))
        if narrowed and (found := self._name_links(normalise(f"{inside[0]} {outside}"), "brackets", 1.0)):
            return found
        if found := self._name_links(outside, "kind" if narrowed else "brackets", 1.0):
            return () if any(map(is_negated, inside)) else found
        for part in inside if is_short_name(outside) else ():
            if found := self._name_links(part, "brackets", _INSIDE_SCORE):
                return found
        for form in filter(phrases.is_phrase, (norm, outside)):
            for rest, kind in phrases.strip_light_words(form):
                how = "kind" if narrowed and form == outside else "core"
                if found := self._name_links(rest, how, _CORE_SCORE, kind):
                    return found
            if found := self._link_treatments(form):
                return found
        for spelling in (phrases.invert_genitive(norm), *self._expand_abbreviation(norm)):
            if found := self._name_links(spelling, "core", _CORE_SCORE):
                return found
        return ()

    def _link_treatments(self, norm: str) -> tuple[Link, ...]:
        for agent in phrases.find_treatment_agents(norm):
            if found := self._name_links(agent, "treatment", _TREATMENT_SCORE, "drug"):
                return found
        return ()

    def _expand_abbreviation(self, norm: str) -> Iterator[str]:
        """Yield a Chinese value with its Latin abbreviation replaced by the Chinese names of its expansion."""
        if abbreviation := phrases.find_latin_abbreviation(norm):
            for concept in self._lookup(abbreviation):
                for name in self.graph.names(concept, lang="zh"):
                    yield norm.replace(abbreviation, normalise(name.text))

    def _name_links(self, norm: str, how: LinkKind, score: float, kind: ConceptType | None = None) -> tuple[Link, ...]:
        """Return the links to the concepts with a name, of the given type if any."""
        concepts = self._lookup(norm, types=None if kind is None else (kind,))
        return _make_links(concepts, norm, score, how)

    def _get_finder(self) -> CandidateFinder:
        with self._lock:
            if self._finder is None:
                ngrams = self._ngrams or NgramIndex.open_or_build(self.graph)
                self._finder = CandidateFinder(self.graph, self._encoder, self._index, ngrams)
            return self._finder

    def _prefilter(self, values: Sequence[str]) -> list[str]:
        """Return the values worth ranking, by n-grams alone: ranking takes several times as long."""
        if not values:
            return []
        norms = [normalise(value) for value in values]

        def may_link(norm: str, name: str, cosine: float) -> bool:
            alike = cosine >= _MIN_SYNONYM_COSINE and _may_be_synonyms(norm, name)
            return alike or may_be_misspelling(norm, name, known=self._words)

        return [
            value
            for value, norm, near in zip(values, norms, self._get_finder().find_by_ngrams(norms), strict=True)
            if is_series_code(norm) or any(may_link(norm, name.norm, cosine) for name, cosine in near)
        ]

    def _link_likely(self, norm: str, candidates: Sequence[Candidate]) -> tuple[Link, ...]:
        """Link a value to all concepts with the nearest name, if it is misspelt or the likelihood is high enough."""
        if not candidates:
            return ()
        near = normalise(candidates[0].name)
        meant = [candidate for candidate in candidates if normalise(candidate.name) == near]
        rating = rate_similarity(norm, near, candidates[0].evidence["encoder"])
        likely = min(1.0, sum(candidate.score for candidate in meant))
        is_misspelt = (
            not _is_abbreviation(candidates[0].name)
            and may_be_misspelling(norm, near, known=self._words)
            and is_similar_enough(norm, rating)
        )
        if not is_misspelt and (likely < LINK_THRESHOLD or not _may_be_synonyms(norm, near)):
            return ()
        score = rating if is_misspelt else likely
        exact = self._lookup(near)
        narrower = self.graph.lookup_narrower(near)
        links: list[Link] = []
        for candidate in meant:
            other = next(((c.concept, round(c.score, 3)) for c in candidates if c is not candidate), None)
            if candidate.concept in exact or candidate.concept in narrower:
                how = "index" if candidate.concept in exact else "kind"
                links.append(Link(candidate.concept, candidate.name, how, round(score, 3), other))
        return tuple(links)

    def _link_by_head(self, norm: str) -> tuple[Link, ...]:
        for head, modifier in phrases.find_heads(norm):
            # A stage, a dose and what follows a preposition may be longer than the head: "CT of head and neck".
            if len(head) < HEAD_SHARE * (len(head) + len(modifier)):
                continue
            concepts = [c for c in self._lookup(head, types=_HEAD_TYPES) if not self.graph.is_general(c)]
            if concepts and not self._is_stopped(head) and self._is_modifier(modifier):
                return _make_links(concepts, head, len(head) / len(norm), "kind")
        return ()

    def _is_modifier(self, modifier: str) -> bool:
        """Return whether words before a head only narrow it, as in "duodenal lymphoma"."""
        if phrases.blocks_head(modifier):
            return False
        if not has_chinese(modifier):
            return all((self._words.modifier_count(word) or 0) >= _MIN_MODIFIER_COUNT for word in modifier.split())
        # Chinese has no spaces: 慢性病 is not a kind of 性病, so the modifier must itself be a name.
        rest = phrases.strip_qualifier(modifier)
        return not rest or bool(self._lookup(rest) or self._lookup(rest.rstrip("性的型")))


def _may_be_synonyms(value: str, name: str) -> bool:
    """Return whether two normal forms may be synonyms: neither only adds words to the other.

    False for Chinese: the weights of the likelihood were learned on English names.
    """
    ours, theirs = set(value.split()), set(name.split())
    is_extended = ours < theirs or theirs < ours
    return not is_extended and not has_chinese(value) and find_distinctive_parts(value) == find_distinctive_parts(name)


def _is_abbreviation(name: str) -> bool:
    """Return whether a name is an abbreviation, where one letter more is another name: "CDGIId" and "CDGIIdi"."""
    return " " not in name and sum(map(str.isupper, name)) > 1


class _Vocabulary:
    """The words of the graph's names."""

    def __init__(self, graph: Graph) -> None:
        self.modifier_count = lru_cache(maxsize=1 << 16)(graph.modifier_count)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.modifier_count(word) is not None


def _make_links(concepts: Sequence[str], name: str, score: float, how: LinkKind) -> tuple[Link, ...]:
    """Make the links of a value to the concepts with a name, best first; the runner-up is the best other one."""
    score = round(score, 3)
    return tuple(
        Link(concept, name, how, score, next(((other, score) for other in concepts if other != concept), None))
        for concept in concepts
    )
