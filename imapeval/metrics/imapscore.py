"""imapScore: Eq. 1 of Wang et al. (Findings of ACL 2024), its mean, and the graded soft default.

Everything here is pure: judged value pairs in, a score with its parts out. Who judged the pairs, and how, is the
business of `imapeval.matching`.

Empty cases, the same for all three:

- nothing is asked (no query pair): `Failure("no-query")`;
- the reference states no fact: `Failure("no-reference-facts")`: there is nothing to agree with;
- the response states no fact: 0. That is an answer's fault, not the program's;
- the response lacks one term of the reference: `paper` skips the term, `mean` and the default count 0 for it;
- the response has terms that the reference lacks: they count nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from imapeval.signature import signature
from imapeval.types import Failure, Imap, Lang, Match, Outcome, Relation, Score, values_by_term

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.metrics.base import Case, Need

CREDITS: Mapping[Relation, float] = {
    Relation.EXACT: 1.0,
    Relation.BELONGING: 0.3,
    Relation.CONTAINMENT: 0.6,
    Relation.UNMATCHED: 0.0,
}
"""What a relation is worth in the graded score. Starting values of the project's design; with them the score correlated
.51 with clinicians on 200 answers, against .27 for Eq. 1 as printed (mean Spearman, same imaps)."""

_CITATION = "Wang et al. 2024, imapScore: Medical Fact Evaluation Made Easy, Findings of ACL 2024"


@dataclass(frozen=True, slots=True)
class _Term:
    """One term that both answers speak of: its values and the judged pairs between them."""

    reference: tuple[str, ...]
    response: tuple[str, ...]
    matches: Mapping[tuple[str, str], Match]

    def best(self, credit: Callable[[Match], float]) -> tuple[list[Match], list[Match]]:
        """Return the best match of each reference value and of each response value, first one on ties."""
        return (
            [max((self.matches[v, w] for w in self.response), key=credit) for v in self.reference],
            [max((self.matches[v, w] for v in self.reference), key=credit) for w in self.response],
        )


def credit(match: Match) -> float:
    """Return what a judged pair is worth, 0..1: the credit of its relation or its similarity, whichever is more."""
    return max(CREDITS[match.relation], match.similarity)


def paper(imap: Imap, matches: Sequence[Match]) -> Outcome:
    """Eq. 1 of the paper, verbatim.

        imapScore = sum over shared terms t of (recall_t + precision_t - lambda_t)

    `recall_t` is the share of reference values of t whose best relation to a response value is not unmatched,
    `precision_t` the same for response values, `lambda_t` the share of containment among the related pairs of t,
    0 where no pair is related. A term that the response lacks costs nothing and two terms count double; that is
    so in the paper and is kept for comparison with the literature.

    Args:
        imap: The pairs.
        matches: A match for every (reference value, response value) of every shared term.

    Returns:
        A score greater than -T and at most 2T for T shared terms; 0 where no term is shared.
        Parts: `recall`, `precision`, `lambda` (each summed over the shared terms) and `terms`, their number.
    """
    return undefined(imap) or _paper(imap, matches, divide=False)


def mean(imap: Imap, matches: Sequence[Match]) -> Outcome:
    """`paper` divided by the number of the reference's terms; a term that the response lacks counts 0.

    Returns:
        A score greater than -1 and at most 2, with the parts of `paper` divided likewise and `terms`, the number
        of the reference's terms.
    """
    return undefined(imap) or _paper(imap, matches, divide=True)


def graded(imap: Imap, matches: Sequence[Match]) -> Outcome:
    """The default imapScore: graded by relation, soft by similarity, 0..1.

    Every value pair earns max(credit of its relation, similarity). `recall` is the mean over the reference's
    terms of the mean best credit of their reference values (completeness); `precision` the same for the response
    values (accuracy); a term that the response lacks counts 0 in both. The score is the mean of the two, as
    Eq. 1 adds them.

    Returns:
        A score in 0..1. Parts, all in 0..1: `recall`, `precision`, `f1` (harmonic mean of the two, 0 where both
        are 0) and `specificity`: the share of the recall credit that did not come from more general response
        values (relation belonging), 0 where there is no credit.
    """
    if failure := undefined(imap):
        return failure
    reference_terms = values_by_term(imap.reference)
    shared = _shared_terms(imap, matches)
    recalls: list[float] = []
    precisions: list[float] = []
    earned = general = 0.0
    for term in shared.values():
        best_reference, best_response = term.best(credit)
        recalls.append(fmean(map(credit, best_reference)))
        precisions.append(fmean(map(credit, best_response)))
        earned += sum(map(credit, best_reference))
        general += sum(credit(m) for m in best_reference if m.relation is Relation.BELONGING)
    recall = sum(recalls) / len(reference_terms)
    precision = sum(precisions) / len(reference_terms)
    both = recall + precision
    parts = {
        "recall": recall,
        "precision": precision,
        "specificity": 1 - general / earned if earned else 0.0,
        "f1": 2 * recall * precision / both if both else 0.0,
    }
    return Score(both / 2, parts)


def _paper(imap: Imap, matches: Sequence[Match], *, divide: bool) -> Score:
    shared = _shared_terms(imap, matches)
    recall = precision = penalty = 0.0
    for term in shared.values():
        related = [m for m in term.matches.values() if m.relation is not Relation.UNMATCHED]
        recall += len({m.reference for m in related}) / len(term.reference)
        precision += len({m.response for m in related}) / len(term.response)
        if related:
            penalty += sum(m.relation is Relation.CONTAINMENT for m in related) / len(related)
    terms = len(values_by_term(imap.reference)) if divide else len(shared)
    by = terms if divide else 1
    parts = {"recall": recall / by, "precision": precision / by, "lambda": penalty / by, "terms": float(terms)}
    return Score((recall + precision - penalty) / by, parts)


def undefined(imap: Imap) -> Failure | None:
    """Return why an imap cannot be scored by any metric, or None where it can."""
    if not imap.query:
        return Failure("metric", "no-query", "nothing is asked in the question, so no answer can be scored")
    if not imap.reference:
        return Failure(
            "metric", "no-reference-facts", "the reference states no fact for what is asked: nothing to agree with"
        )
    return None


def _shared_terms(imap: Imap, matches: Sequence[Match]) -> dict[str, _Term]:
    reference, response = values_by_term(imap.reference), values_by_term(imap.response)
    judged: dict[str, dict[tuple[str, str], Match]] = {}
    for match in matches:
        judged.setdefault(match.term, {})[match.reference, match.response] = match
    return {
        term: _Term(values, response[term], judged.get(term, {}))
        for term, values in reference.items()
        if term in response
    }


@dataclass(frozen=True, slots=True)
class ImapScore:
    """One of the three scores as a metric."""

    name: str
    summary: str
    compute: Callable[[Imap, Sequence[Match]], Outcome] = field(metadata={"signature": False})
    range: tuple[float | None, float | None]
    signature: str
    citation: str = _CITATION
    requires: frozenset[Need] = frozenset({"imap", "reference"})
    languages: frozenset[Lang] = frozenset({"en", "zh"})
    higher_is_better: bool = True
    lacks: str = ""

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        return [self._score(case) for case in cases]

    def _score(self, case: Case) -> Outcome:
        if case.imap is None or case.matches is None:
            raise TypeError(f"{self.name} needs imap and matches; case {case.id!r} has none")
        return self.compute(case.imap, case.matches)


def build() -> list[ImapScore]:
    """Return the metrics of this module, for the registry."""
    credits_signature = "/".join(format(CREDITS[r], "g") for r in Relation)
    return [
        ImapScore(
            "imapscore",
            "graded and soft imapScore, 0..1 (the default)",
            graded,
            (0.0, 1.0),
            signature("imapscore", credits=credits_signature, soft="max", mean="terms", v="1"),
        ),
        ImapScore(
            "imapscore:paper", "Eq. 1 of the paper, verbatim", paper, (None, None), signature("imapscore:paper", v="1")
        ),
        ImapScore(
            "imapscore:mean",
            "Eq. 1 divided by the number of reference terms",
            mean,
            (-1.0, 2.0),
            signature("imapscore:mean", v="1"),
        ),
    ]
