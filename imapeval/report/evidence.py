"""Why two values are related, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.types import Match

_HOW = {
    "exact": "is a name of",
    "brackets": "names, in or beside its brackets,",
    "core": "names, apart from words that change nothing,",
    "index": "is nearest to a name of",
    "treatment": "is a treatment with",
    "kind": "is a kind of",
}
"""How a value is tied to a concept (`imapeval.graph.model.LinkKind`), to be read between the two."""


def explain(match: Match) -> str:
    """Return the evidence of a match as a sentence or two; what is not known here is shown as it is."""
    evidence = match.evidence
    if {"reference", "response", "path"} <= evidence.keys():
        return _explain_graph(match, evidence)
    if match.decided_by == "recorded" and not evidence:
        return "came with the imap" + ("; the similarity alone counts" if match.relation is Relation.UNMATCHED else "")
    return "; ".join(str(value) if key == "why" else f"{key}: {value}" for key, value in evidence.items())


def _explain_graph(match: Match, evidence: Mapping[str, Any]) -> str:
    links = [(match.reference, evidence["reference"]), (match.response, evidence["response"])]
    said = [_explain_link(value, link) for value, link in links]
    path = [str(step) for step in evidence["path"]]
    if len(path) > 1:
        said.append(" → ".join(path))
    return "; ".join(dict.fromkeys(said))


def _explain_link(value: str, link: Any) -> str:
    if not isinstance(link, dict):
        return f"“{value}”: {link}"
    fields = cast("dict[str, Any]", link)
    how = _HOW.get(fields["how"], f"is tied ({fields['how']}) to")
    return f"“{value}” {how} {fields['label']} ({fields['concept']})"
