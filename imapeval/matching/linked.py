"""Relate two values by the concepts that they are linked to, and by their stances, amounts and conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from imapeval.matching.graph import relate_links
from imapeval.matching.names import Related, drop_mere_part, is_denied
from imapeval.matching.wording import find_replacement
from imapeval.text.amounts.compare import AmountRelation, compare_amounts
from imapeval.text.comparison.wordings import ConditionRelation, WordingVerdict, compare_conditions
from imapeval.text.phrases import parse_phrase
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.graph.linking.linker import Linker
    from imapeval.graph.model import Link, LinkKind
    from imapeval.graph.store.graph import Graph
    from imapeval.text.phrases import Phrase


@dataclass(frozen=True, slots=True)
class LinkedValue:
    """The concepts of a value, whether it denies or advises against them, and the phrase."""

    links: tuple[Link, ...]
    denies: bool
    phrase: Phrase


UNLINKED = LinkedValue((), denies=False, phrase=parse_phrase(""))

_NAMED: frozenset[LinkKind] = frozenset({"exact", "brackets", "core"})
"""Links of what is a name, perhaps with words that change nothing."""

_NEITHER_SAYS_ALL = "neither says all that the other says"


def relate_linked(graph: Graph, reference: LinkedValue, response: LinkedValue) -> Related | None:
    """Return the relation of two linked values and its evidence; None if the graph does not relate their concepts."""
    decision = relate_links(graph, reference.links, response.links)
    if decision is None:
        return None
    for apply in (_apply_stance, _apply_amounts, _apply_conditions):
        decision = apply(*decision, reference, response)
    return decision


def relate_replaced(linker: Linker, reference: str, response: str) -> Related | None:
    """Relate two values that differ in one place by the concepts that are named there."""
    replacement = find_replacement(reference, response)
    if replacement is None:
        return None
    phrases = map(parse_phrase, (reference, response))
    ours, theirs = (
        LinkedValue(mark_mentions(linker.link_by_name(name)), phrase.stance.denies, phrase)
        for name, phrase in zip(replacement, phrases, strict=True)
    )
    decision = drop_mere_part(relate_linked(linker.graph, ours, theirs), reference)
    return None if decision is None else (decision[0], {**decision[1], "confidence": "low"})


def mark_mentions(links: Sequence[Link]) -> tuple[Link, ...]:
    """Return the links of a part of a value as those of the value, which is no name itself."""
    return tuple(replace(link, how="mention") if link.how in _NAMED else link for link in links)


def _apply_stance(
    relation: Relation, evidence: dict[str, Any], reference: LinkedValue, response: LinkedValue
) -> Related:
    """Combine the relation of concepts with their stances: "avoid NSAIDs" contradicts "take ibuprofen"."""
    if reference.denies == response.denies:
        return relation, evidence
    if is_denied(relation, by_reference=reference.denies):
        return Relation.CONTRADICTION, {**evidence, "why": WordingVerdict.OPPOSITE.value}
    return Relation.UNMATCHED, evidence


def _apply_amounts(
    relation: Relation, evidence: dict[str, Any], reference: LinkedValue, response: LinkedValue
) -> Related:
    """Combine the relation of concepts with their amounts: "Advil 200 mg" contradicts "ibuprofen 400 mg"."""
    amounts = compare_amounts(reference.phrase.amounts, response.phrase.amounts)
    if relation in (Relation.CONTRADICTION, Relation.UNMATCHED) or amounts in (None, AmountRelation.SAME):
        return relation, evidence
    if amounts is AmountRelation.DIFFERENT:
        evidence = {**evidence, "why": WordingVerdict.OTHER_AMOUNT.value}
        return (Relation.CONTRADICTION if relation is Relation.EXACT else Relation.UNMATCHED), evidence
    ours, theirs = ({amount.dimension for amount in one.phrase.amounts.items} for one in (reference, response))
    if amounts is AmountRelation.NARROWER_B or (amounts is AmountRelation.ONE_SIDED and ours < theirs):
        by_amounts = Relation.CONTAINMENT
    elif amounts is AmountRelation.NARROWER_A or (amounts is AmountRelation.ONE_SIDED and theirs < ours):
        by_amounts = Relation.BELONGING
    else:
        by_amounts = Relation.UNMATCHED
    # "ibuprofen" is the narrower of "ibuprofen" and "NSAID 400 mg" by its kind, and the wider one by its amount.
    if by_amounts is not Relation.UNMATCHED and relation in (Relation.EXACT, by_amounts):
        return by_amounts, evidence
    return Relation.UNMATCHED, {**evidence, "why": _NEITHER_SAYS_ALL}


def _apply_conditions(
    relation: Relation, evidence: dict[str, Any], reference: LinkedValue, response: LinkedValue
) -> Related:
    """Combine the relation of concepts with their conditions.

    Advice under one condition says nothing about another, except that the same thing at another amount contradicts:
    "paracetamol above 38 °C" and "paracetamol above 39 °C". A condition on one side narrows it, as an amount does.
    """
    conditions = compare_conditions(reference.phrase, response.phrase)
    if conditions is ConditionRelation.SAME or relation is Relation.UNMATCHED:
        return relation, evidence
    one_sided = conditions in (ConditionRelation.NARROWER, ConditionRelation.BROADER)
    if relation is Relation.CONTRADICTION and one_sided:
        return relation, evidence
    evidence = {**evidence, "why": conditions.value}
    if conditions in (ConditionRelation.OPPOSED, ConditionRelation.OTHER):
        return Relation.UNMATCHED, evidence
    if conditions is ConditionRelation.OTHER_AMOUNT:
        return (Relation.CONTRADICTION if relation is Relation.EXACT else Relation.UNMATCHED), evidence
    narrowed = Relation.CONTAINMENT if conditions is ConditionRelation.NARROWER else Relation.BELONGING
    return narrowed if relation in (Relation.EXACT, narrowed) else Relation.UNMATCHED, evidence
