"""Relate two values by the names in them, after names of one thing are made the same.

"Fracture of the left wrist" and "right wrist fractured" need no graph, but "Lasix in the morning" and "furosemide at
night" name one drug, and "impetigo on the face" is a skin infection on the face.
"""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from imapeval.graph.linking.mentions import MentionScanner
from imapeval.graph.model import Link
from imapeval.matching.graph import relate_links
from imapeval.matching.wording import names_finding
from imapeval.text.comparison.differences import find_antonyms
from imapeval.text.comparison.gist import find_gist
from imapeval.text.comparison.wordings import CONTRADICTIONS, WordingVerdict, compare_wordings
from imapeval.text.normalise import normalise
from imapeval.text.phrases import find_content_words, parse_phrase
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.graph.linking.mentions import Mention
    from imapeval.graph.store.graph import Graph
    from imapeval.types import Lang

Related = tuple[Relation, dict[str, Any]]

BY_WORDING: Mapping[WordingVerdict, Relation] = {
    WordingVerdict.SAME: Relation.EXACT,
    WordingVerdict.NARROWER: Relation.CONTAINMENT,
    WordingVerdict.BROADER: Relation.BELONGING,
    WordingVerdict.OTHER_CASE: Relation.UNMATCHED,
    **dict.fromkeys(CONTRADICTIONS, Relation.CONTRADICTION),
}
_INVERSE = {Relation.CONTAINMENT: Relation.BELONGING, Relation.BELONGING: Relation.CONTAINMENT}


class NameRelater:
    """Relates values by their wordings, with names of one thing made the same."""

    def __init__(self, graph: Graph) -> None:
        self._scanner = MentionScanner(graph)
        # The same few names occur in pair after pair.
        self._relate_concepts = lru_cache(maxsize=1 << 16)(partial(_relate_concepts, graph))

    def find_names(self, values: Iterable[str], lang: Lang) -> dict[str, list[Mention]]:
        """Return the names of the graph in each value."""
        return {value: self._scanner.scan(value, lang=lang) for value in values}

    def compare(self, pairs: Iterable[tuple[str, str]], lang: Lang) -> dict[tuple[str, str], WordingVerdict | None]:
        """Compare pairs by their wording.

        None where it determines no relation, and for pairs that contradict each other but are about different things.
        """
        verdicts = {pair: compare_wordings(*pair) for pair in pairs}
        contradicting = [pair for pair, verdict in verdicts.items() if verdict in CONTRADICTIONS]
        names = self.find_names(dict.fromkeys(chain.from_iterable(contradicting)), lang)
        return verdicts | {pair: None for pair in contradicting if self._name_different_things(*pair, names)}

    def _name_different_things(self, reference: str, response: str, names: Mapping[str, Sequence[Mention]]) -> bool:
        """Return whether each value names a thing that the other does not, and that is no kind of the other's.

        "Low blood sugar causes hunger" does not contradict "high blood sugar causes thirst".
        """
        words, other_words = (find_gist(parse_phrase(value).core).words for value in (reference, response))
        shared = words & other_words | find_antonyms(words, other_words)
        ours, theirs = (
            [mention for mention in names[value] if frozenset() != find_content_words(mention.text) <= own - shared]
            for value, own in ((reference, words), (response, other_words))
        )
        return bool(ours and theirs) and not any(
            self._relate_mentions(one, other) for one, other in product(ours, theirs)
        )

    def relate(
        self, reference: str, response: str, ours: Sequence[Mention], theirs: Sequence[Mention]
    ) -> Related | None:
        """Relate two values after each name in one is replaced by the other's name of the same thing.

        A name of a narrower or wider concept is replaced too, unless other names go the other way: the value is then
        narrower or wider as a whole.

        Args:
            reference: The reference's value.
            response: The response's value.
            ours: The names in the reference's value.
            theirs: Those in the response's value.

        Returns:
            The relation, and as evidence that of a pair of names that was replaced, with low `confidence`. None if no
            names are replaced, or if the wordings then determine no relation.
        """
        if not (ours and theirs):
            return None
        names, others = ({normalise(mention.text) for mention in mentions} for mentions in (ours, theirs))
        pairs = [
            (one, other, decision)
            for one in ours
            if normalise(one.text) not in others
            for other in theirs
            if normalise(other.text) not in names
            and (decision := drop_mere_part(self._relate_mentions(one, other), reference))
        ]
        if not pairs:
            return None
        # "Whooping cough" is the "pertussis" of "pertussis infection", not a kind of its "infection".
        same = {mention for *both, (relation, _) in pairs if relation is Relation.EXACT for mention in both}
        pairs = [pair for pair in pairs if pair[2][0] is Relation.EXACT or same.isdisjoint(pair[:2])]
        # The same names first, then those with the shortest path.
        pairs.sort(key=lambda pair: (pair[2][0] is not Relation.EXACT, len(pair[2][1]["path"])))
        forward = _relate_renamed(
            reference, response, {other: (one.text, found) for one, other, found in reversed(pairs)}
        )
        inverse = {
            one: (other.text, (_INVERSE.get(found[0], found[0]), found[1])) for one, other, found in reversed(pairs)
        }
        backward = _relate_renamed(response, reference, inverse)
        if backward is not None:
            backward = _INVERSE.get(backward, backward)
        relation = forward or backward
        if relation is None or (forward and backward and forward is not backward):
            return None
        # The names that give the relation; the wording alone gives it if none do.
        _, evidence = next((found for *_, found in pairs if found[0] is relation), pairs[0][2])
        return relation, {**evidence, "confidence": "low"}

    def _relate_mentions(self, one: Mention, other: Mention) -> Related | None:
        return self._relate_concepts((one.text, one.concepts), (other.text, other.concepts))


def drop_mere_part(decision: Related | None, reference: str) -> Related | None:
    """Return the decision; None if it is that of a part of the body, and the values name no finding.

    An infection of the bladder is one of the urinary tract, but an amputation of the finger is not one of the arm.
    """
    return decision if decision and ("part of" not in decision[1]["steps"] or names_finding(reference)) else None


def _relate_concepts(
    graph: Graph, one: tuple[str, tuple[str, ...]], other: tuple[str, tuple[str, ...]]
) -> Related | None:
    ours, theirs = (
        [Link(concept, text, "mention", 1.0, None) for concept in concepts] for text, concepts in (one, other)
    )
    return relate_links(graph, ours, theirs)


def _relate_renamed(kept: str, renamed: str, replacements: Mapping[Mention, tuple[str, Related]]) -> Relation | None:
    """Relate two values after the names in the second are replaced."""
    directions = {relation for _, (relation, _) in replacements.values()} - {Relation.EXACT}
    if len(directions) > 1:
        return None
    for mention, (text, _) in sorted(replacements.items(), key=lambda item: -item[0].start):
        renamed = f"{renamed[: mention.start]}{text}{renamed[mention.end :]}"
    return _combine(compare_wordings(kept, renamed), next(iter(directions), Relation.EXACT), kept)


def _combine(verdict: WordingVerdict | None, direction: Relation, kept: str) -> Relation | None:
    """Combine the relation of the names with that of the wordings around them."""
    if verdict in (None, WordingVerdict.OTHER_CASE):
        return None
    if direction is Relation.EXACT:
        return BY_WORDING[verdict]
    if verdict is WordingVerdict.OPPOSITE:
        denied = is_denied(direction, by_reference=parse_phrase(kept).stance.denies)
        return Relation.CONTRADICTION if denied else None
    return direction if BY_WORDING[verdict] in (Relation.EXACT, direction) else None


def is_denied(relation: Relation, *, by_reference: bool) -> bool:
    """Return whether one of two related things is denied by denying the other, the reference's or the response's.

    Advice against NSAIDs is against ibuprofen, but advice against ibuprofen may allow another NSAID.
    """
    return relation in (Relation.EXACT, Relation.CONTAINMENT if by_reference else Relation.BELONGING)
