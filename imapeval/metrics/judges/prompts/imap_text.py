"""Writes imaps and their matches as texts for the prompts of judges: a line per term, with values quoted as in JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from imapeval.llm.structured.templates import neutralise
from imapeval.metrics.judges.prompts.answer_text import clean_fact
from imapeval.types import Pair, Relation, values_by_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.types import Imap, Match

NONE = "none"
"""Stands for an empty text; no fact looks like it, since facts are quoted."""


def render_imap(imap: Imap, matches: Sequence[Match], *, score_asked: bool = False) -> dict[str, str]:
    """Return the texts of an imap by the names of the variables of custom prompts.

    Facts of the answers are cleaned (`clean_fact`), also in matches, and all texts are neutralised; an empty one is
    "none". For `score_asked` see `clean_answer`.

    Returns:
        `query`, `constraint`, `reference_imap`, `response_imap` and `matches`.
    """
    shown = [cleaned for match in matches if (cleaned := _clean_match(match, score_asked=score_asked)) is not None]
    texts = {
        "query": ", ".join(_quote(pair.term) for pair in imap.query),
        "constraint": _render_facts(imap.constraint),
        "reference_imap": _render_facts(clean_facts(imap.reference, score_asked=score_asked)),
        "response_imap": _render_facts(clean_facts(imap.response, score_asked=score_asked)),
        "matches": _render_matches(shown),
    }
    return {name: neutralise(text or NONE) for name, text in texts.items()}


def clean_facts(pairs: Iterable[Pair], *, score_asked: bool = False) -> tuple[Pair, ...]:
    """Return the facts cleaned by `clean_fact`, without those of which nothing is left."""
    return tuple(shown for pair in pairs if (shown := clean_fact(pair, score_asked=score_asked)) is not None)


def _clean_match(match: Match, *, score_asked: bool) -> Match | None:
    """Return a match with both facts cleaned; None if nothing is left of one of them."""
    ours = clean_fact(Pair(match.term, match.reference), score_asked=score_asked)
    theirs = clean_fact(Pair(match.response_term, match.response), score_asked=score_asked)
    if ours is None or theirs is None:
        return None
    other_term = theirs.term if match.other_term else ""
    return replace(match, term=ours.term, reference=ours.value, response=theirs.value, other_term=other_term)


def _render_facts(pairs: Sequence[Pair]) -> str:
    """Write facts, a line per term."""
    return "\n".join(
        f"{_quote(term)}: {', '.join(map(_quote, values))}" for term, values in values_by_term(pairs).items()
    )


def _render_matches(matches: Sequence[Match]) -> str:
    """Write the related pairs, contradictions first."""
    related = [match for match in matches if match.relation is not Relation.UNMATCHED]
    related.sort(key=lambda match: match.relation is not Relation.CONTRADICTION)
    return "\n".join(map(_render_match, related))


def _render_match(match: Match) -> str:
    under = f" (under {_quote(match.other_term)})" if match.other_term else ""
    return (
        f"{_quote(match.term)}: reference {_quote(match.reference)}; answer {_quote(match.response)}{under}; "
        f"{match.relation.value}"
    )


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
