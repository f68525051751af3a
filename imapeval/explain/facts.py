"""The facts behind a score: best matches and qualifiers, and their form in the data of a report page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from imapeval.explain.evidence import explain_match, find_concept_path
from imapeval.metrics.imapscore import CREDITS, compute_credit
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.types import Match, Pair, Sample

SOFT_MATCH = "soft"
"""Not a relation: the values are unrelated but so similar that they earn at least the credit of a belonging. The credit
alone, a root of the similarity, would include nearly every pair."""
_MIN_SIMILARITY = 0.3
_MIN_MODEL_SIMILARITY = 0.35
"""Minimum similarities of a soft match; the second where the small model had a say (`matching.hybrid`).

Of 1,064 undecided pairs of `benchmarks/answer_items.jsonl` that are the best match of a fact, 170 agree; at .35 or more
are 58% of these, and 79% of the pairs there agree.
"""


def imap_to_page_data(record: ImapRecord, sample: Sample, intern: Callable[[str], int]) -> dict[str, Any]:
    """Return one imap in the form that the script of a report page reads.

    Args:
        record: The pairs and their matches.
        sample: The sample with its texts.
        intern: Adds a text to the page's table of texts and returns its index.

    Returns:
        `ref` (index of the reference) and `reading`; `query` and `constraint` as lists of [term, value, labels];
        `reference` and `response` as lists of [term, value, start, end, kind, quoted, labels]: start and end are
        offsets in UTF-16 units, as JavaScript counts, or -1 if the value is not in the text; kind is the relation of
        the best match (`find_best_matches`), or `SOFT_MATCH`; quoted is 1 if the extractor gave the position, else it
        is the first occurrence; labels are the qualifiers as lists of [kind, text]. `matches` as lists of [reference
        pair, response pair, kind, credit, similarity, decided by, evidence, best, path]: best is 1 for a contradiction
        and for the best match of one of the two values; path is that of `find_concept_path`.
    """
    imap, matches = record.imap, record.matches or ()
    best = find_best_matches(matches)
    reference = sample.references[imap.reference_index] if imap.reference_index < len(sample.references) else ""
    positions = {
        side: {(pair.term, pair.value): number for number, pair in reversed(list(enumerate(pairs)))}
        for side, pairs in (("reference", imap.reference), ("response", imap.response))
    }

    def label(pair: Pair) -> list[list[Any]]:
        return [[kind, intern(text)] for kind, text in list_qualifiers(pair)]

    def show_pairs(pairs: Sequence[Pair]) -> list[list[Any]]:
        return [[intern(pair.term), intern(pair.value), label(pair)] for pair in pairs]

    def show_facts(side: str, pairs: Sequence[Pair], text: str) -> list[list[Any]]:
        return [
            [
                intern(pair.term),
                intern(pair.value),
                *_find_span(pair, text),
                find_kind(best.get((side, pair.term, pair.value))),
                int(pair.span is not None),
                label(pair),
            ]
            for pair in pairs
        ]

    return {
        "ref": imap.reference_index,
        "reading": imap.reading,
        "query": show_pairs(imap.query),
        "constraint": show_pairs(imap.constraint),
        "reference": show_facts("reference", imap.reference, reference),
        "response": show_facts("response", imap.response, sample.response),
        "matches": [
            [
                positions["reference"][match.term, match.reference],
                positions["response"][match.response_term, match.response],
                find_kind(match),
                round(compute_credit(match), 3),
                round(match.similarity, 3),
                match.decided_by,
                intern("; ".join(explain_match(match))),
                int(
                    match.relation is Relation.CONTRADICTION
                    or best["reference", match.term, match.reference] is match
                    or best["response", match.response_term, match.response] is match
                ),
                [[intern(part) for part in step] for step in find_concept_path(match)],
            ]
            for match in matches
        ],
    }


def find_best_matches(matches: Sequence[Match]) -> dict[tuple[str, str, str], Match]:
    """Return the best match of each fact, by side ("reference" or "response"), term and value.

    A contradiction comes first, then the match with the highest credit; among equal ones the better relation, then the
    higher similarity.
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


def find_kind(match: Match | None) -> str:
    """Return the relation of a match, or `SOFT_MATCH`; "unmatched" for None."""
    if match is None:
        return Relation.UNMATCHED.value
    is_soft = is_near(match) and (match.decided_by != "encoder" or match.similarity >= _MIN_MODEL_SIMILARITY)
    if match.relation is Relation.UNMATCHED and is_soft:
        return SOFT_MATCH
    return match.relation.value


def is_near(match: Match) -> bool:
    """Return whether an unmatched pair is so similar that one would not say that the fact is missing."""
    return match.similarity >= _MIN_SIMILARITY and compute_credit(match) >= CREDITS[Relation.BELONGING]


def list_qualifiers(pair: Pair) -> list[tuple[str, str]]:
    """Return the qualifiers of a value as (kind, text).

    Kinds are "denied", "possible", "unlikely", "condition", "amount" and "weight", its importance if that is not 1.
    """
    labels = [("denied", "denied")] if pair.polarity == "denied" else []
    if pair.certainty != "certain":
        labels.append((pair.certainty, pair.certainty))
    if pair.condition:
        labels.append(("condition", pair.condition))
    labels += [("amount", amount) for amount in pair.amounts]
    return labels if pair.importance == 1 else [*labels, ("weight", f"weight {pair.importance:.2g}")]


def _find_span(pair: Pair, text: str) -> tuple[int, int]:
    """Return the position of the value in UTF-16 units; (-1, -1) if it is not in the text."""
    span = pair.span
    if span is None and pair.value.strip():
        lowered, value = text.lower(), pair.value.lower()
        # A pattern finds it as well, but compiling one for each value takes more time than everything else.
        if len(lowered) == len(text) and len(value) == len(pair.value):
            start = lowered.find(value)
            span = None if start < 0 else (start, start + len(value))
        elif found := re.search(re.escape(pair.value), text, flags=re.IGNORECASE):
            span = found.span()
    if span is None or not 0 <= span[0] < span[1] <= len(text):
        return (-1, -1)
    start = _utf16_length(text[: span[0]])
    return (start, start + _utf16_length(text[span[0] : span[1]]))


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2
