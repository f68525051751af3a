"""The facts behind a score as the page shows them: where each value stands, and what matched it best."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from imapeval.explain.evidence import concept_path, explain_match
from imapeval.metrics.imapscore import CREDITS, compute_credit
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.types import Match, Pair, Sample

SOFT_MATCH = "soft"
"""Not a relation: no one relates the two values, but both their similarity and what it earns reach a belonging's
credit. The root alone, by which similarity earns, would make a find of nearly every pair."""


def imap_to_page_data(record: ImapRecord, sample: Sample, intern: Callable[[str], int]) -> dict[str, Any]:
    """Return one imap as the page's script reads it.

    Args:
        record: Pairs and matches.
        sample: With the texts.
        intern: Puts a text into the page's table of texts and returns its number.

    Returns:
        `ref` (index of the reference), `query` and `constraint` as lists of [term, value, labels]; `reference` and
        `response` as lists of [term, value, start, end, kind, quoted, labels]: start and end are offsets in UTF-16
        units, as JavaScript counts, -1 where the value does not stand in the text; kind is the relation of the match
        that `find_best_matches` gives, or `SOFT_MATCH`; quoted says that the extractor gave the place, else it is where the words
        first stand; labels are what qualifies the value, as lists of [what it is, its text]. `matches` as lists of
        [reference pair, response pair, kind, credit, similarity, decided by, evidence, best, path], best saying that
        it is the best match of one of the two, or a contradiction; path being `concept_path`'s.
    """
    imap, matches = record.imap, record.matches or ()
    best = find_best_matches(matches)
    reference = sample.references[imap.reference_index] if imap.reference_index < len(sample.references) else ""
    positions = {
        side: {(pair.term, pair.value): number for number, pair in reversed(list(enumerate(pairs)))}
        for side, pairs in (("reference", imap.reference), ("response", imap.response))
    }

    def label(pair: Pair) -> list[list[Any]]:
        return [[kind, intern(said)] for kind, said in list_qualifiers(pair)]

    def show_given(pairs: Sequence[Pair]) -> list[list[Any]]:
        return [[intern(pair.term), intern(pair.value), label(pair)] for pair in pairs]

    def show(side: str, pairs: Sequence[Pair], text: str) -> list[list[Any]]:
        return [
            [
                intern(pair.term),
                intern(pair.value),
                *_find_span(pair, text),
                match_kind(best.get((side, pair.term, pair.value))),
                int(pair.span is not None),
                label(pair),
            ]
            for pair in pairs
        ]

    return {
        "ref": imap.reference_index,
        "query": show_given(imap.query),
        "constraint": show_given(imap.constraint),
        "reference": show("reference", imap.reference, reference),
        "response": show("response", imap.response, sample.response),
        "matches": [
            [
                positions["reference"][match.term, match.reference],
                positions["response"][match.response_term, match.response],
                match_kind(match),
                round(compute_credit(match), 3),
                round(match.similarity, 3),
                match.decided_by,
                intern("; ".join(explain_match(match))),
                int(
                    match.relation is Relation.CONTRADICTION
                    or best["reference", match.term, match.reference] is match
                    or best["response", match.response_term, match.response] is match
                ),
                [[intern(part) for part in step] for step in concept_path(match)],
            ]
            for match in matches
        ],
    }


def find_best_matches(matches: Sequence[Match]) -> dict[tuple[str, str, str], Match]:
    """Return the match that says most of each fact, by side ("reference" or "response"), term and value.

    A contradiction, whatever else the fact earns; else the match of most credit, of equal ones the better relation.
    """
    order = list(Relation)
    best: dict[tuple[str, str, str], Match] = {}
    for match in sorted(
        matches,
        key=lambda match: (
            match.relation is not Relation.CONTRADICTION,
            -compute_credit(match),
            order.index(match.relation),
            -match.similarity,
        ),
    ):
        best.setdefault(("reference", match.term, match.reference), match)
        best.setdefault(("response", match.response_term, match.response), match)
    return best


def match_kind(match: Match | None) -> str:
    """Return the relation of a match, or `SOFT_MATCH`; of no match "unmatched"."""
    if match is None:
        return Relation.UNMATCHED.value
    if (
        match.relation is Relation.UNMATCHED
        and min(match.similarity, compute_credit(match)) >= CREDITS[Relation.BELONGING]
    ):
        return SOFT_MATCH
    return match.relation.value


def list_qualifiers(pair: Pair) -> list[tuple[str, str]]:
    """Return what qualifies a value, each with what it is.

    That is "denied", "possible", "unlikely", "condition" or "amount".
    """
    labels = [("denied", "denied")] if pair.polarity == "denied" else []
    if pair.certainty != "certain":
        labels.append((pair.certainty, pair.certainty))
    if pair.condition:
        labels.append(("condition", pair.condition))
    return labels + [("amount", amount) for amount in pair.amounts]


def _find_span(pair: Pair, text: str) -> tuple[int, int]:
    """Return where the value stands, in UTF-16 units; (-1, -1) where it does not."""
    span = pair.span
    if span is None and pair.value.strip():
        found = re.search(re.escape(pair.value), text, flags=re.IGNORECASE)
        span = found.span() if found else None
    if span is None or not 0 <= span[0] < span[1] <= len(text):
        return (-1, -1)
    start = _utf16_length(text[: span[0]])
    return (start, start + _utf16_length(text[span[0] : span[1]]))


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2
