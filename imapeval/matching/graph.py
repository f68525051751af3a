"""What the graph knows of two values: the same concept, or one a kind of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.graph.model import Link
    from imapeval.graph.store import Graph

MAX_STEPS = 6
"""Is-a steps that still count; what lies further above says too little of what was meant."""

_ORDER = (Relation.EXACT, Relation.BELONGING, Relation.CONTAINMENT)


def relate_links(
    graph: Graph, reference: Sequence[Link], response: Sequence[Link]
) -> tuple[Relation, dict[str, Any]] | None:
    """Relate a reference value to a response value by their concepts; the best relation over all links counts.

    A link of the kind "kind" stands for an unnamed concept right below its own: a "duodenal lymphoma" is a lymphoma,
    and two kinds of lymphoma need not be the same. A link of the kind "treatment" stands for its drug, so that
    penicillin belongs to antibiotic therapy. Concepts that are general (`Graph.is_general`) are nobody's kind here.

    Returns:
        The relation, never "unmatched", and the evidence: concept ids and labels, how the values were linked, and the
        is-a path in words. None where the graph does not relate the two, which does not mean that nothing does.
    """
    best: tuple[Relation, dict[str, Any]] | None = None
    for a in reference:
        for b in response:
            found = _relate_pair(graph, a, b)
            if found and (best is None or _rank(found) < _rank(best)):
                best = found
    return best


def _rank(found: tuple[Relation, dict[str, Any]]) -> tuple[int, int]:
    return _ORDER.index(found[0]), len(found[1]["path"])


def _relate_pair(graph: Graph, a: Link, b: Link) -> tuple[Relation, dict[str, Any]] | None:
    if a.concept == b.concept and a.how != "kind" and b.how != "kind":
        return Relation.EXACT, _show(graph, a, b, (a.concept,), ())
    if path := _climb(graph, a, b):
        return Relation.BELONGING, _show(graph, a, b, path, _name_kind(a))
    if path := _climb(graph, b, a):
        return Relation.CONTAINMENT, _show(graph, a, b, path, _name_kind(b))
    return None


def _climb(graph: Graph, below: Link, above: Link) -> tuple[str, ...]:
    """Return the is-a path from one link's concept to the other's, or nothing."""
    if above.how == "kind" or graph.is_general(above.concept):
        return ()
    if below.concept == above.concept:
        return (below.concept,) if below.how == "kind" else ()
    path = graph.is_a(below.concept, above.concept) or ()
    return path if len(path) - 1 + (below.how == "kind") <= MAX_STEPS else ()


def _name_kind(link: Link) -> tuple[str, ...]:
    return (f"a kind of {link.name}",) if link.how == "kind" else ()


def _show(graph: Graph, a: Link, b: Link, path: tuple[str, ...], before: tuple[str, ...]) -> dict[str, Any]:
    return {
        "reference": _show_link(graph, a),
        "response": _show_link(graph, b),
        "path": [*before, *(graph.concept(concept).label for concept in path)],
    }


def _show_link(graph: Graph, link: Link) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "concept": link.concept,
        "label": graph.concept(link.concept).label,
        "name": link.name,
        "how": link.how,
        "score": link.score,
    }
    if link.runner_up:
        shown["runner_up"] = list(link.runner_up)
    return shown
