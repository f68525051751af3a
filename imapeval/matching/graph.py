"""Relate two values by the graph: the same concept, or one is a kind or a part of the other.

A value may have several links (an ambiguous name), so several findings may compete. The first of these criteria that
differs decides:

1. the same concept, before any path;
2. links by name, before links by the head of the value alone (composition);
3. typed concepts, before those of type "other", whose type no source gives;
4. is-a, before part-of;
5. fewer steps, before more;
6. meanings listed first in the links.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Literal

from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.graph.model import ConceptType, Link
    from imapeval.graph.store.graph import Graph

MAX_STEPS = 6
"""Longest is-a path that counts; concepts further above are too general."""

MAX_PART_STEPS = 4
"""Longest path with part-of steps that counts: a glomerulus is part of the kidney by way of nephron and cortex, and
anything further out (trunk, body) hardly locates it."""

DRUG_THERAPY = "MESH:D004358"
"""Every drug belongs to drug therapy: an answer that names a drug states, more specifically, that drugs are given."""

UnrelatedReason = Literal["no link", "two kinds", "general", "far", "types", "siblings", "unrelated"]
"""Reasons why two values are unrelated; see `explain_unrelated`."""

_COMPATIBLE_TYPES: frozenset[tuple[ConceptType, ConceptType]] = frozenset(
    {
        ("disease", "symptom"),  # pulmonary edema is an edema, a bunion is a musculoskeletal symptom
        ("symptom", "disease"),  # a finding in one source is a disorder in another: vasculitis, premature beat
        # Esophagoscopy is an endoscopy; but endoscopy is not surgery, although MeSH has it there.
        ("procedure", "test"),
        ("lifestyle", "procedure"),  # diets and exercise as treatment
        ("procedure", "lifestyle"),
        ("disease", "factor"),  # pregnancy and malnutrition are risk factors
        ("lifestyle", "factor"),
    }
)
"""Pairs of different types: type, and type of what it may be a kind of. A path from a symptom to its disease, or from a
drug to what it treats, would be an error of a source."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """A relation of two links; of several findings, that with the lowest rank is used."""

    relation: Relation
    reference: Link
    response: Link
    path: tuple[str, ...]
    rank: tuple[int, ...]


def relate_links(
    graph: Graph, reference: Sequence[Link], response: Sequence[Link]
) -> tuple[Relation, dict[str, Any]] | None:
    """Relate a reference value to a response value by their concepts.

    A link with `how` "kind" means an unnamed concept directly below its own: a "duodenal lymphoma" is a lymphoma, and
    two kinds of lymphoma need not be the same. A link with `how` "treatment" means its drug, so penicillin belongs to
    antibiotic therapy, and any drug to `DRUG_THERAPY`. Other general concepts (`Graph.is_general`) have no kinds here.

    A path may change the type of its concepts only between types that may name one thing. Part-of counts only between
    body parts: "a step of a procedure" and "a symptom of a disease" are not parts in this sense. A part is reported
    like a kind: "heart" as the answer for "left ventricle" is right but less specific.

    Returns:
        The relation, never "unmatched", and the evidence: `reference` and `response` (concept, label, Chinese label
        `zh` where there is one, name that was hit, how and with what score), `path` (concepts from the narrower one to
        the broader one), `steps` ("is a" or "part of" for each pair of neighbours of the path) and `confidence`: "low"
        if a link is a guess (the nearest name, or a head), if the path changes its type (a syndrome below its main
        finding), or if fewer than half of the meanings of the two values are related; else "high".
        None if the graph does not relate the two, which does not mean that they are unrelated.
    """
    findings = [
        finding
        for (i, a), (j, b) in product(enumerate(reference), enumerate(response))
        if (finding := _relate_pair(graph, a, b, place=i + j))
    ]
    if not findings:
        return None
    best = min(findings, key=lambda finding: finding.rank)
    ambiguous = len(findings) * 2 < len(reference) * len(response)
    guessed = any(link.how == "index" or _is_composed(link) for link in (best.reference, best.response))
    mixed = len({graph.concept(concept).type for concept in best.path}) > 1
    evidence: dict[str, Any] = {
        "reference": _link_to_dict(graph, best.reference),
        "response": _link_to_dict(graph, best.response),
        "path": [_concept_to_dict(graph, concept) for concept in best.path],
        "steps": _name_steps(graph, best.path),
        "confidence": "low" if guessed or ambiguous or mixed else "high",
    }
    return best.relation, evidence


def explain_unrelated(graph: Graph, reference: Sequence[Link], response: Sequence[Link]) -> dict[str, Any]:
    """Return why the graph does not relate two values, by their first links.

    Returns:
        `reference` and `response`, if they are linked, and `reason`:
        "no link": one of them is linked to no concept;
        "two kinds": both are unnamed kinds of one concept, or one is an unnamed kind of a concept above the other;
        "general": one is below the other, which is too general;
        "far": one is below the other, by too many steps;
        "types": one is below the other, by a path between incompatible types; or they have different types and only
        general concepts in common;
        "siblings": both are kinds of the concept `under`, the nearest that is not general;
        "unrelated": none of these.
    """
    evidence: dict[str, Any] = {}
    for side, links in (("reference", reference), ("response", response)):
        if links:
            evidence[side] = _link_to_dict(graph, links[0])
    if not (reference and response):
        return {**evidence, "reason": "no link"}
    a, b = reference[0], response[0]
    reason, under = _find_reason(graph, a, b)
    if under is not None:
        evidence["under"] = _concept_to_dict(graph, under)
    return {**evidence, "reason": reason}


def _relate_pair(graph: Graph, a: Link, b: Link, *, place: int) -> _Finding | None:
    if a.concept == b.concept and a.how != "kind" and b.how != "kind":
        return _Finding(Relation.EXACT, a, b, (a.concept,), (0,))
    if path := _find_is_a_path(graph, a, b):
        return _Finding(Relation.BELONGING, a, b, path, _rank(graph, a, path, place))
    if path := _find_is_a_path(graph, b, a):
        return _Finding(Relation.CONTAINMENT, a, b, path, _rank(graph, b, path, place))
    return None


def _rank(graph: Graph, below: Link, path: Sequence[str], place: int) -> tuple[int, ...]:
    untyped = any(graph.concept(concept).type == "other" for concept in path)
    return (1, int(_is_composed(below)), int(untyped), int("part of" in _name_steps(graph, path)), len(path), place)


def _is_composed(link: Link) -> bool:
    """Return whether a link is by the head of the value alone; a narrower name from a source is certain."""
    return link.how == "kind" and link.score < 1


def _find_is_a_path(graph: Graph, below: Link, above: Link) -> tuple[str, ...]:
    """Return the path from one link's concept up to the other's; empty if there is none."""
    if above.how == "kind":
        return ()
    if above.concept == DRUG_THERAPY and _is_drug(graph, below.concept):
        return (below.concept, above.concept)
    if below.concept == above.concept:
        path = (below.concept,) if below.how == "kind" else ()
    else:
        path = graph.is_a(below.concept, above.concept) or ()
        if not (path and len(path) - 1 + (below.how == "kind") <= MAX_STEPS and _is_compatible_path(graph, path)):
            path = _find_part_path(graph, below, above)
    # Looked up last: most pairs have no path.
    return () if path and graph.is_general(above.concept) else path


def _is_drug(graph: Graph, concept: str) -> bool:
    return graph.concept(concept).type == "drug" and not graph.is_general(concept)


def _find_part_path(graph: Graph, below: Link, above: Link) -> tuple[str, ...]:
    if {graph.concept(link.concept).type for link in (below, above)} != {"body_part"}:
        return ()
    path = graph.part_path(below.concept, above.concept) or ()
    short = len(path) - 1 + (below.how == "kind") <= MAX_PART_STEPS
    return path if short and all(graph.concept(concept).type == "body_part" for concept in path) else ()


def _is_compatible_path(graph: Graph, path: Sequence[str]) -> bool:
    """Return whether the ends and all steps of an is-a path have the same type, or compatible ones."""
    types = [kind for concept in path if (kind := graph.concept(concept).type) != "other"]
    ends = (types[0], types[-1]) if types else ("other", "other")
    return all(low == high or (low, high) in _COMPATIBLE_TYPES for low, high in (ends, *pairwise(types)))


def _name_steps(graph: Graph, path: Sequence[str]) -> list[str]:
    return [
        "is a" if above == DRUG_THERAPY or above in graph.concept(below).parents else "part of"
        for below, above in pairwise(path)
    ]


def _find_reason(graph: Graph, a: Link, b: Link) -> tuple[UnrelatedReason, str | None]:
    above_a, above_b = ({link.concept: 0, **graph.ancestors(link.concept)} for link in (a, b))
    for above, below, concepts in ((a, b, above_b), (b, a, above_a)):
        if above.concept in concepts:
            if above.how == "kind" and (below.how == "kind" or above.concept != below.concept):
                return "two kinds", None
            if graph.is_general(above.concept):
                return "general", None
            steps = concepts[above.concept] + (below.how == "kind")
            return ("far" if steps > MAX_STEPS else "types"), None
    shared = sorted(above_a.keys() & above_b.keys(), key=lambda concept: (above_a[concept] + above_b[concept], concept))
    for concept in shared:
        if not graph.is_general(concept):
            return "siblings", concept
    different = graph.concept(a.concept).type != graph.concept(b.concept).type
    return ("types" if different else "unrelated"), None


def _link_to_dict(graph: Graph, link: Link) -> dict[str, Any]:
    fields: dict[str, Any] = {
        **_concept_to_dict(graph, link.concept),
        "type": graph.concept(link.concept).type,
        "name": link.name,
        "how": link.how,
        "score": link.score,
    }
    if link.runner_up:
        fields["runner_up"] = list(link.runner_up)
    return fields


def _concept_to_dict(graph: Graph, concept: str) -> dict[str, str]:
    fields = {"concept": concept, "label": graph.concept(concept).label}
    if chinese := graph.names(concept, lang="zh"):
        fields["zh"] = chinese[0].text
    return fields
