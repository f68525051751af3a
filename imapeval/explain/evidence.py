"""Why two values are related or not: in sentences, and as a path of concepts. Uses the evidence of the match only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.types import Match

_LINK_PHRASES = {
    "exact": "is a name of",
    "brackets": "names, in or beside its brackets,",
    "core": "names, apart from words that change nothing,",
    "mention": "contains a name of",
    "index": "is nearest to a name of",
    "treatment": "is a treatment with",
    "kind": "is read as a kind of",
}
"""Phrases for how a value is linked to a concept."""

_LOW_CONFIDENCE = "low confidence"

_DECIDER_NAMES = {"text": "the wording", "graph": "the graph"}
"""Names of what a language model may overrule."""

_BOTH_HOLD = "one is denied or advised against and the other is not, but both can hold"
""""Do not take ibuprofen" and "take an NSAID": there is a path, but no relation."""

_UNRELATED_REASONS = {
    "two kinds": "two kinds of one thing need not be the same",
    "general": "one lies below the other, which is too general to say much",
    "far": "one lies below the other, but by too many steps",
    "types": "they are different sorts of things ({types})",
    "siblings": "both are kinds of {under}, and neither of the other",
    "unrelated": "no concept is above both, or only very general ones are",
}

_OTHER_TYPE_BETWEEN = "one lies below the other, but only by way of another sort of thing"
"""In place of "types" where both ends have the same type."""

_UP_PHRASES = {"is a": "is a kind of", "part of": "is part of"}
_DOWN_PHRASES = {"is a": "has the kind", "part of": "has the part"}


def explain_match(match: Match) -> tuple[str, ...]:
    """Return the evidence of a match as sentences without full stops; evidence of unknown form is shown as it is.

    First the concept of each value, then the path between them or why there is none, then why they contradict each
    other, then whether confidence is low. For a decision of a language model, its reason and what it overrules.
    Concepts are named by their English and Chinese labels, and by their ids where they are first mentioned.
    """
    try:
        return _explain_evidence(match)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        # Evidence may come from a file of another version, or written by hand.
        return _show_raw(match.evidence)


def _explain_evidence(match: Match) -> tuple[str, ...]:
    match match.evidence:
        case {"reference": dict(), "response": dict(), "path": [*_], "steps": [*_], "confidence": _}:
            return _explain_path(match, match.evidence)
        case {"reason": str()}:
            return _explain_unrelated(match, match.evidence)
        case {"head": head, "modifier": modifier}:
            return _explain_composition(match, head, modifier)
        case {} if not match.evidence:
            alone = "; the similarity alone counts" if match.relation is Relation.UNMATCHED else ""
            return (f"came with the imap{alone}",)
        case {"why": str(why), "prompt": str(prompt)}:
            return (why, *_explain_overruled(match.evidence), f"prompt: {prompt}")
        case evidence:
            return _show_raw(evidence)


def _show_raw(evidence: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(value) if key == "why" else f"{key}: {value}" for key, value in evidence.items())


def _explain_overruled(evidence: Mapping[str, Any]) -> tuple[str, ...]:
    match evidence.get("overruled"):
        case {"decided_by": str(decider), "relation": str(relation)}:
            return (f"overrules {_DECIDER_NAMES.get(decider, decider)}, which said {relation}",)
        case _:
            return ()


def _explain_path(match: Match, evidence: Mapping[str, Any]) -> tuple[str, ...]:
    path = [_name_concept(concept) for concept in evidence["path"]]
    sentences = [
        _explain_link(match.reference, evidence["reference"]),
        _explain_link(match.response, evidence["response"]),
    ]
    steps: list[str] = evidence["steps"]
    if steps:
        verbs = [f"is a {'kind' if step == 'is a' else 'part'} of" for step in steps]
        sentences.append(f"{path[0]} {verbs[0]} {path[1]}")
        sentences[-1] += "".join(f", which {verb} {above}" for verb, above in zip(verbs[1:], path[2:], strict=True))
    if match.relation is Relation.CONTRADICTION:
        sentences.append(str(evidence.get("why", match.relation.value)))
    elif match.relation is Relation.UNMATCHED:
        sentences.append(str(evidence.get("why", _BOTH_HOLD)))
    if evidence["confidence"] == "low":
        sentences.append(_LOW_CONFIDENCE)
    return tuple(sentences)


def _explain_unrelated(match: Match, evidence: Mapping[str, Any]) -> tuple[str, ...]:
    if not {"reference", "response"} & evidence.keys():
        return ("the graph knows neither value",)
    sentences = [
        _explain_link(value, evidence[side]) if side in evidence else f"the graph does not know “{value}”"
        for side, value in (("reference", match.reference), ("response", match.response))
    ]
    if reason := _UNRELATED_REASONS.get(evidence["reason"]):
        under = _name_concept(evidence["under"]) if "under" in evidence else ""
        types = [str(evidence[side].get("type")).replace("_", " ") for side in ("reference", "response")]
        if evidence["reason"] == "types" and types[0] == types[1]:
            reason = _OTHER_TYPE_BETWEEN
        sentences.append(reason.format(under=under, types=" and ".join(types)))
    return tuple(sentences)


def _explain_composition(match: Match, head: str, modifier: str) -> tuple[str, ...]:
    longer = match.reference if match.relation is Relation.BELONGING else match.response
    return (
        f"“{longer}” is read as a kind of “{head}”, its last words: “{modifier}” only narrows it",
        _LOW_CONFIDENCE,
    )


def _explain_link(value: str, link: Mapping[str, Any]) -> str:
    sentence = f"“{value}” {_LINK_PHRASES[link['how']]} {_name_concept(link)} ({link['concept']})"
    if link["how"] == "kind" and link["score"] < 1:
        sentence += f", by its head “{link['name']}”"
    elif link["how"] == "mention" and link["name"].lower() in value.lower():
        # The name is that of the unified text: "painkiller" for "analgesic".
        sentence += f", “{link['name']}”"
    elif link["how"] == "index":
        sentence += f", “{link['name']}” (rated {link['score']:.2f})"
    return sentence


def _name_concept(concept: Mapping[str, Any]) -> str:
    chinese = concept.get("zh")
    return f"{concept['label']} / {chinese}" if chinese else str(concept["label"])


def find_concept_path(match: Match) -> list[list[str]]:
    """Return the path of concepts from the reference's to the response's, for drawing.

    Returns:
        Lists of [id, label, Chinese label, owner, phrase that leads to the next concept]: owner is "reference",
        "response", both with a space between, or "" for a concept in between; the phrase is "" for the last one. Empty
        if there is no path: a value has no concept, or no concept is above both.
    """
    try:
        steps = _read_path(match)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return []
    # Evidence may come from a file of another version, or written by hand.
    return steps if all(isinstance(part, str) for step in steps for part in step) else []


def _read_path(match: Match) -> list[list[Any]]:
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
    """Return whether the narrower concept, with which a path begins, is the response's."""
    match evidence:
        case {"reference": {"concept": ours}} if match.relation in (Relation.CONTRADICTION, Relation.UNMATCHED):
            # The relation was decided by polarity, so it does not show the direction.
            return ours != first["concept"]
        case _:
            return match.relation is Relation.CONTAINMENT


def _annotate_steps(concepts: Sequence[Mapping[str, Any]], phrases: Sequence[str]) -> list[list[Any]]:
    last = len(concepts) - 1
    return [
        [
            concept["concept"],
            concept["label"],
            concept.get("zh", ""),
            " ".join(["reference"] * (index == 0) + ["response"] * (index == last)),
            phrases[index] if index < last else "",
        ]
        for index, concept in enumerate(concepts)
    ]
