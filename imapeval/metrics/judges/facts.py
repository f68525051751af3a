"""Imaps and their matches as texts that a judge reads: a line for each term, every value quoted as in JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from imapeval.extraction.prompting import neutralise
from imapeval.metrics.judges.judge import show_fact
from imapeval.types import Pair, Relation, values_by_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.types import Imap, Match

_NONE = "none"


def show_imap(imap: Imap, matches: Sequence[Match]) -> dict[str, str]:
    """Return what an imap says, under the names that prompts of one's own have for it.

    Nothing in the texts can end its place in a prompt, and of what the answers say only statements are left
    (`show_fact`). What is empty is "none".

    Returns:
        `query`, `constraint`, `reference_imap`, `response_imap` and `matches`.
    """
    related = [
        match
        for match in matches
        if all(show_fact(Pair(match.term, value)) is not None for value in (match.reference, match.response))
    ]
    texts = {
        "query": ", ".join(_quote(pair.term) for pair in imap.query),
        "constraint": list_facts(imap.constraint),
        "reference_imap": list_facts(show_facts(imap.reference)),
        "response_imap": list_facts(show_facts(imap.response)),
        "matches": list_matches(related),
    }
    return {name: neutralise(text or _NONE) for name, text in texts.items()}


def show_facts(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return what `show_fact` leaves of an imap."""
    return tuple(shown for pair in pairs if (shown := show_fact(pair)) is not None)


def list_facts(pairs: Sequence[Pair]) -> str:
    """Write an imap, a line for each term."""
    return "\n".join(
        f"{_quote(term)}: {', '.join(map(_quote, values))}" for term, values in values_by_term(pairs).items()
    )


def list_matches(matches: Sequence[Match]) -> str:
    """Write the related pairs; "none" where there are none."""
    related = [match for match in matches if match.relation is not Relation.UNMATCHED]
    return (
        "\n".join(
            f"{_quote(m.term)}: reference {_quote(m.reference)}; answer {_quote(m.response)}; {m.relation.value}"
            for m in related
        )
        or _NONE
    )


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
