"""imapScore: Eq. 1 of Wang et al. (Findings of ACL 2024), its mean, and the graded soft default.

Pure functions from imaps and the relations of their values, which `imapeval.matching` decides, to a score with parts.

Empty cases, the same for all three:

- nothing is asked (no query pair): `Failure("no-query")`;
- the reference states no fact: `Failure("no-reference-facts")`;
- the response states no fact: 0;
- the response lacks a term of the reference: `paper` skips the term, `mean` counts 0 for it, the default counts 0 for
  the reference's facts under it;
- the response has terms that the reference lacks: `paper` and `mean` skip them; the default counts their facts as facts
  that the reference lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING

from imapeval.metrics.base import Example, Metric, fixed, range_parts
from imapeval.types import Failure, Imap, Match, Pair, Relation, Score, values_by_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.metrics.base import Case
    from imapeval.types import Outcome

CREDITS: Mapping[Relation, float] = {
    Relation.EXACT: 1.0,
    Relation.BELONGING: 0.3,
    Relation.CONTAINMENT: 0.6,
    Relation.UNMATCHED: 0.0,
    Relation.CONTRADICTION: 0.0,
}
"""Credit of a relation in the graded score: the initial values of the design. With them the score's mean Spearman
correlation with clinicians was .51 on 200 answers, against .27 for Eq. 1 as printed (same imaps)."""

RELATED = frozenset({Relation.EXACT, Relation.BELONGING, Relation.CONTAINMENT})
"""Relations that count as a match in Eq. 1."""

JUDGED_SIMILARITY_WEIGHT = 0.5
"""Weight of the similarity of two values that a language model has compared. Of 0, .25, .5, .75 and 1 it agreed best
with clinicians (mean Spearman .435, .447, .471, .463 and .455 on 200 answers), and a wrong answer in the reference's
words earned .32 in place of .64 (docs/prompts.md)."""

MAX_ALTERNATIVES = 10
"""Maximum number of facts that a response may call possible at full credit; more of them share this many credits, so
that a list of all possibilities earns little. 99% of 400 answers by language models call at most 10 facts possible
(docs/agreement.md)."""


def compute_credit(match: Match) -> float:
    """Return the credit of a pair of values, 0..1: that of its relation or of its similarity, whichever is higher.

    Similarity counts by its square root: a free rewording shares few words with the reference, and on a linear scale it
    would earn hardly more than a contradiction, which is worth nothing (docs/agreement.md). Where a language model has
    compared the two, or the relation is recorded, it counts by `JUDGED_SIMILARITY_WEIGHT`: values that were read and
    found unrelated are hardly similar, whatever their words.
    """
    if match.relation is Relation.CONTRADICTION:
        return 0.0
    judged = match.decided_by in ("llm", "recorded")
    return max(
        CREDITS[match.relation], JUDGED_SIMILARITY_WEIGHT * match.similarity if judged else sqrt(match.similarity)
    )


def score_paper(imap: Imap, matches: Sequence[Match]) -> Outcome:
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
    return check_scorable(imap) or _score_equation_1(imap, matches, divide=False)


def score_mean(imap: Imap, matches: Sequence[Match]) -> Outcome:
    """`paper` divided by the number of the reference's terms; a term that the response lacks counts 0.

    Returns:
        A score greater than -1 and at most 2, with the parts of `paper` divided likewise and `terms`, the number
        of the reference's terms.
    """
    return check_scorable(imap) or _score_equation_1(imap, matches, divide=True)


def score_graded(imap: Imap, matches: Sequence[Match]) -> Outcome:
    """The default imapScore: graded by relation, soft by similarity, 0..1.

    Every pair of values earns a credit (`compute_credit`). `recall` is the mean over the reference's facts of the best
    credit that a fact of the response earns with them (completeness), `precision` the same for the facts of the
    response (accuracy). Both are weighted by `Pair.importance`. A fact is a value under its term. A fact of the
    reference that the response contradicts earns nothing, for either side, whatever else the response says about it. A
    fact of the response that contradicts one earns nothing by similarity to others. If the response calls more than
    `MAX_ALTERNATIVES` facts possible, they share that many credits. The score is the mean of recall and precision,
    which Eq. 1 adds.

    Returns:
        A score in 0..1. Parts: `recall`, `precision`, `f1` (harmonic mean of the two, 0 if both are 0) and
        `specificity`, all in 0..1: the share of the recall credit that did not come from more general response
        values (relation belonging), 0 where there is no credit; and `contradictions`: how many facts of the response
        contradict one of the reference.
    """
    if failure := check_scorable(imap):
        return failure
    # A fact that is given twice has the larger importance, in whatever order they come.
    weights = [
        {(pair.term, pair.value): pair.importance for pair in sorted(pairs, key=lambda pair: pair.importance)}
        for pairs in (imap.reference, imap.response)
    ]
    reference, response = (dict.fromkeys(facts, 0.0) for facts in weights)
    general = dict.fromkeys(reference, 0.0)
    possible = {(pair.term, pair.value) for pair in imap.response if pair.certainty == "possible"}
    share = min(1.0, MAX_ALTERNATIVES / len(possible)) if possible else 1.0
    # Contradicting facts are alike in everything but the point that matters, so their similarity earns nothing.
    contradicted = {(match.term, match.reference) for match in matches if match.relation is Relation.CONTRADICTION}
    contradicting = find_contradicting_facts(matches)
    for match in matches:
        reference_fact, response_fact = (match.term, match.reference), (match.response_term, match.response)
        if reference_fact in contradicted:
            continue
        credit = compute_credit(match) * (share if response_fact in possible else 1.0)
        if credit > reference[reference_fact]:
            reference[reference_fact] = credit
            general[reference_fact] = credit if match.relation is Relation.BELONGING else 0.0
        if match.relation in RELATED or response_fact not in contradicting:
            response[response_fact] = max(response[response_fact], credit)
    recall = fmean(reference.values(), weights[0].values())
    precision = fmean(response.values(), weights[1].values()) if response else 0.0
    total = recall + precision
    parts = {
        "recall": recall,
        "precision": precision,
        "specificity": 1 - fmean(general.values(), weights[0].values()) / recall if recall else 0.0,
        "f1": 2 * recall * precision / total if total else 0.0,
        "contradictions": float(len(contradicting)),
    }
    return Score(total / 2, parts)


def find_contradicting_facts(matches: Iterable[Match]) -> set[tuple[str, str]]:
    """Return the response's facts, as (term, value), that contradict a fact of the reference."""
    return {(match.response_term, match.response) for match in matches if match.relation is Relation.CONTRADICTION}


def _score_equation_1(imap: Imap, matches: Sequence[Match], *, divide: bool) -> Score:
    reference, response = values_by_term(imap.reference), values_by_term(imap.response)
    shared: dict[str, dict[tuple[str, str], Match]] = {term: {} for term in reference if term in response}
    for match in matches:
        if not match.other_term and match.term in shared:
            shared[match.term][match.reference, match.response] = match
    recall = precision = penalty = 0.0
    for term, judged in shared.items():
        related = [m for m in judged.values() if m.relation in RELATED]
        recall += len({m.reference for m in related}) / len(reference[term])
        precision += len({m.response for m in related}) / len(response[term])
        if related:
            penalty += sum(m.relation is Relation.CONTAINMENT for m in related) / len(related)
    terms = len(reference) if divide else len(shared)
    by = terms if divide else 1
    parts = {"recall": recall / by, "precision": precision / by, "lambda": penalty / by, "terms": float(terms)}
    return Score((recall + precision - penalty) / by, parts)


def check_scorable(imap: Imap) -> Failure | None:
    """Return why no metric can score an imap, or None if it can be scored."""
    if not imap.query:
        return Failure("metric", "no-query", "nothing is asked in the question, so no answer can be scored")
    if not imap.reference:
        return Failure(
            "metric", "no-reference-facts", "the reference states no fact for what is asked: nothing to agree with"
        )
    return None


def _make_example(steps: tuple[str, ...], score: float) -> Example:
    reference = (Pair("treatment", "drainage"), Pair("treatment", "antibiotic"), Pair("follow-up", "in two days"))
    response = (Pair("treatment", "drainage"), Pair("treatment", "penicillin"), Pair("treatment", "rest"))
    related = {
        ("drainage", "drainage"): (Relation.EXACT, 1.0),
        ("antibiotic", "penicillin"): (Relation.CONTAINMENT, 0.2),
    }
    matches = tuple(
        Match("treatment", expected, stated, *related.get((expected, stated), (Relation.UNMATCHED, 0.0)), "graph")
        for expected in ("drainage", "antibiotic")
        for stated in ("drainage", "penicillin", "rest")
    )
    return Example(
        "Drain it and give an antibiotic. Review it in two days.",
        "Drain it and give penicillin. Rest.",
        (
            "the reference's facts: treatment: drainage, antibiotic; follow-up: in two days",
            "the response's: treatment: drainage, penicillin, rest",
            "drainage: exact; penicillin, an antibiotic: containment",
            *steps,
        ),
        score,
        Imap((Pair("treatment", "?"),), (), reference, response),
        matches,
    )


class ImapScore(Metric):
    """One of the three variants of imapScore."""

    __slots__ = ()

    citation = "Wang et al. 2024, imapScore: Medical Fact Evaluation Made Easy, Findings of ACL 2024"
    requires = frozenset({"imap", "reference"})


@dataclass(frozen=True, slots=True)
class GradedImapScore(ImapScore):
    """The default; see `score_graded`."""

    name = "imapscore"
    summary = "graded and soft imapScore, 0..1 (the default)"
    formula = (
        "(recall + precision) / 2; recall is the mean over the reference's facts of the best credit, precision over "
        "the response's. The offline extractor weighs facts by their importance. Credit of two facts: the larger of "
        "the relation's (exact 1, containment 0.6, belonging 0.3, unmatched 0) and the square root of their "
        "similarity. Of facts that a language model has compared half the similarity counts. What the response "
        "contradicts earns nothing; facts that it calls possible share 10 credits"
    )
    example = _make_example(
        (
            "recall = (1 + 0.6 + 0) / 3 = 0.5333",
            "precision = (1 + 0.6 + 0) / 3 = 0.5333",
            "(0.5333 + 0.5333) / 2 = 0.5333",
        ),
        1.6 / 3,
    )
    range = (0.0, 1.0)
    part_ranges = range_parts(shares=("recall", "precision", "specificity", "f1"), counts=("contradictions",))
    revision = "5"

    credits: str = fixed("/".join(format(CREDITS[relation], "g") for relation in Relation))
    soft: str = fixed("max-root")
    judged: float = fixed(JUDGED_SIMILARITY_WEIGHT)
    alternatives: int = fixed(MAX_ALTERNATIVES)
    mean: str = fixed("facts")

    def score(self, case: Case) -> Outcome:
        return score_graded(*case.get_imap())


@dataclass(frozen=True, slots=True)
class PaperImapScore(ImapScore):
    """Eq. 1 of the paper; see `score_paper`."""

    name = "imapscore:paper"
    summary = "Eq. 1 of the paper, verbatim"
    formula = (
        "sum over the terms of both texts of recall + precision - lambda; recall is the share of the reference's "
        "values with any relation but unmatched and contradiction, precision that of the response's, lambda the share "
        "of containment among the related pairs"
    )
    example = _make_example(
        (
            "treatment: recall 2/2, precision 2/3, lambda 1/2",
            "follow-up: not in the response",
            "1 + 2/3 - 1/2 = 1.167",
        ),
        7 / 6,
    )
    part_ranges = range_parts(counts=("recall", "precision", "lambda", "terms"))

    def score(self, case: Case) -> Outcome:
        return score_paper(*case.get_imap())


@dataclass(frozen=True, slots=True)
class MeanImapScore(ImapScore):
    """The mean over terms; see `score_mean`."""

    name = "imapscore:mean"
    summary = "Eq. 1 divided by the number of reference terms"
    formula = "imapscore:paper / number of the reference's terms"
    example = _make_example(
        (
            "treatment: 2/2 + 2/3 - 1/2 = 1.167",
            "follow-up: not in the response, 0",
            "(1.167 + 0) / 2 = 0.5833",
        ),
        7 / 12,
    )
    range = (-1.0, 2.0)
    part_ranges = range_parts(shares=("recall", "precision", "lambda"), counts=("terms",))

    def score(self, case: Case) -> Outcome:
        return score_mean(*case.get_imap())


def build() -> list[ImapScore]:
    """Return the metrics of this module, for the registry."""
    return [GradedImapScore(), PaperImapScore(), MeanImapScore()]
