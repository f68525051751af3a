"""The concepts that two values were tied to and the way between them, as the page draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.types import Match

_UP_PHRASES = {"is a": "is a kind of", "part of": "is part of"}
_DOWN_PHRASES = {"is a": "has the kind", "part of": "has the part"}


def concept_path(match: Match) -> list[list[str]]:
    """Return the concepts from the reference's to the response's.

    Returns:
        Lists of [id, label, Chinese label, whose concept it is, what leads to the next one]: whose is "reference",
        "response", both of them with a space between, or "" for a concept on the way; what leads on is "" for the last.
        Empty where nothing links the two: one of the values is tied to no concept, or no concept is above both.
    """
    try:
        steps = _find_path(match)
    except (KeyError, TypeError, ValueError, AttributeError):
        return []
    # Evidence may come out of a file: of another version, or written by hand.
    return steps if all(isinstance(part, str) for step in steps for part in step) else []


def _find_path(match: Match) -> list[list[Any]]:
    match match.evidence:
        case {"path": [{"concept": str()}, *_] as path, "steps": [*steps], **rest}:
            if _starts_at_response(match, path[0], rest):
                return _annotate_steps(path[::-1], [_DOWN_PHRASES[step] for step in steps[::-1]])
            return _annotate_steps(path, [_UP_PHRASES[step] for step in steps])
        case {"reference": reference, "response": response, "reason": "siblings", "under": under}:
            return _annotate_steps([reference, under, response], [_UP_PHRASES["is a"], _DOWN_PHRASES["is a"]])
        case _:
            return []


def _starts_at_response(match: Match, first: Mapping[str, Any], evidence: Mapping[str, Any]) -> bool:
    """Tell whether the narrower concept, with which a path begins, is the response's."""
    match evidence:
        case {"reference": {"concept": ours}} if match.relation in (Relation.CONTRADICTION, Relation.UNMATCHED):
            # Polarity decided, so that the relation does not tell.
            return ours != first["concept"]
        case _:
            return match.relation is Relation.CONTAINMENT


def _annotate_steps(concepts: Sequence[Mapping[str, Any]], joints: Sequence[str]) -> list[list[Any]]:
    last = len(concepts) - 1
    return [
        [
            concept["concept"],
            concept["label"],
            concept.get("zh", ""),
            " ".join(["reference"] * (place == 0) + ["response"] * (place == last)),
            joints[place] if place < last else "",
        ]
        for place, concept in enumerate(concepts)
    ]
