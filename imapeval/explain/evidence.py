"""Why two values are related, or not, in sentences. Pure: everything is in the match's evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.types import Match

_LINK_PHRASES = {
    "exact": "is a name of",
    "brackets": "names, in or beside its brackets,",
    "core": "names, apart from words that change nothing,",
    "index": "is nearest to a name of",
    "treatment": "is a treatment with",
    "kind": "is read as a kind of",
}
"""How a value is tied to a concept (`imapeval.graph.model.LinkKind`), to be read between the two."""

_LOW_CONFIDENCE = "low confidence"

_DECIDER_NAMES = {"text": "the wording", "graph": "the graph"}
"""Whom a language model may overrule, in words."""

_BOTH_HOLD = "one is denied or advised against and the other is not, but both can hold"
""""Do not take ibuprofen" and "take an NSAID": a path, and yet no relation."""

_UNRELATED_REASONS = {
    "two kinds": "two kinds of one thing need not be the same",
    "general": "one lies below the other, but that is so general that it says too little",
    "far": "one lies below the other, but by too many steps",
    "types": "they are different sorts of things ({types})",
    "siblings": "both are kinds of {under}, and neither of the other",
    "unrelated": "nothing that is not general is above both",
}


def explain_match(match: Match) -> tuple[str, ...]:
    """Return the evidence of a match as sentences without full stops; what is not known here is shown as it is.

    First what each value was tied to, then the path between the two or why there is none, then why they contradict each
    other, then whether it is a guess. Of a language model's decision what it says, and then whom it overrules.
    Concepts are written with their English and Chinese labels and, where they are first named, their ids.
    """
    try:
        return _explain_evidence(match)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        # Evidence may come out of a file: of another version, or written by hand.
        return _show_raw(match.evidence)


def _explain_evidence(match: Match) -> tuple[str, ...]:
    match match.evidence:
        case {"reference": dict(), "response": dict(), "path": [*_], "steps": [*_], "confidence": _}:
            return _explain_path(match, match.evidence)
        case {"reason": str()}:
            return _explain_unrelated(match, match.evidence)
        case {"head": head, "modifier": modifier}:
            return _explain_composition(match, head, modifier)
        case {} if match.decided_by == "recorded" and not match.evidence:
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
    said = [
        _explain_link(match.reference, evidence["reference"]),
        _explain_link(match.response, evidence["response"]),
    ]
    steps: list[str] = evidence["steps"]
    if steps:
        verbs = [f"is a {'kind' if step == 'is a' else 'part'} of" for step in steps]
        said.append(f"{path[0]} {verbs[0]} {path[1]}")
        said[-1] += "".join(f", which {verb} {above}" for verb, above in zip(verbs[1:], path[2:], strict=True))
    if match.relation is Relation.CONTRADICTION:
        said.append(str(evidence.get("why", match.relation.value)))
    elif match.relation is Relation.UNMATCHED:
        said.append(_BOTH_HOLD)
    if evidence["confidence"] == "low":
        said.append(_LOW_CONFIDENCE)
    return tuple(said)


def _explain_unrelated(match: Match, evidence: Mapping[str, Any]) -> tuple[str, ...]:
    if not {"reference", "response"} & evidence.keys():
        return ("the graph knows neither value",)
    said = [
        _explain_link(value, evidence[side]) if side in evidence else f"the graph does not know “{value}”"
        for side, value in (("reference", match.reference), ("response", match.response))
    ]
    if reason := _UNRELATED_REASONS.get(evidence["reason"]):
        under = _name_concept(evidence["under"]) if "under" in evidence else ""
        types = " and ".join(str(evidence[side].get("type")).replace("_", " ") for side in ("reference", "response"))
        said.append(reason.format(under=under, types=types))
    return tuple(said)


def _explain_composition(match: Match, head: str, modifier: str) -> tuple[str, ...]:
    longer = match.reference if match.relation is Relation.BELONGING else match.response
    return (
        f"“{longer}” is read as a kind of “{head}”, its last words: “{modifier}” only narrows it",
        _LOW_CONFIDENCE,
    )


def _explain_link(value: str, link: Mapping[str, Any]) -> str:
    said = f"“{value}” {_LINK_PHRASES[link['how']]} {_name_concept(link)} ({link['concept']})"
    if link["how"] == "kind" and link["score"] < 1:
        said += f", by its head “{link['name']}”"
    elif link["how"] == "index":
        said += f", “{link['name']}” (rated {link['score']:.2f})"
    return said


def _name_concept(concept: Mapping[str, Any]) -> str:
    chinese = concept.get("zh")
    return f"{concept['label']} / {chinese}" if chinese else str(concept["label"])
