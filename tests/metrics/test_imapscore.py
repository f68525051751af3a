"""imapScore: Eq. 1 by hand-computed cases, and what must hold for any imap."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.metrics.base import Case
from imapeval.metrics.imapscore import CREDITS, build, graded, mean, paper
from imapeval.types import Failure, Imap, Match, Pair, Relation, Score, values_by_term

QUERY = (Pair("treatment", "?"),)


def imap_of(reference: list[tuple[str, str]], response: list[tuple[str, str]]) -> Imap:
    return Imap(QUERY, (), tuple(Pair(*p) for p in reference), tuple(Pair(*p) for p in response))


def judge(imap: Imap, related: dict[tuple[str, str], Relation], similarity: float = 0.0) -> list[Match]:
    response = values_by_term(imap.response)
    return [
        Match(term, v, w, related.get((v, w), Relation.UNMATCHED), similarity, "recorded")
        for term, values in values_by_term(imap.reference).items()
        for v in values
        for w in response.get(term, ())
    ]


# One term with 3 reference and 2 response values. a-x exact, b-y containment, b-x belonging, c alone.
# recall 2/3, precision 2/2, lambda 1/3: 2/3 + 1 - 1/3 = 4/3 (Eq. 1 by hand).
ONE_TERM = imap_of([("t", "a"), ("t", "b"), ("t", "c")], [("t", "x"), ("t", "y")])
RELATED = {("a", "x"): Relation.EXACT, ("b", "y"): Relation.CONTAINMENT, ("b", "x"): Relation.BELONGING}


def score(outcome: Score | Failure) -> Score:
    assert isinstance(outcome, Score)
    return outcome


def test_equation_1_by_hand() -> None:
    result = score(paper(ONE_TERM, judge(ONE_TERM, RELATED)))
    assert result.value == pytest.approx(4 / 3)
    assert result.parts == pytest.approx({"recall": 2 / 3, "precision": 1.0, "lambda": 1 / 3, "terms": 1.0})


def test_a_missed_term_costs_nothing_in_the_paper_and_halves_the_mean() -> None:
    imap = imap_of([("t", "a"), ("u", "b")], [("t", "x"), ("z", "b")])
    matches = judge(imap, {("a", "x"): Relation.EXACT})
    assert score(paper(imap, matches)).value == 2.0
    assert score(mean(imap, matches)).value == 1.0
    assert score(graded(imap, matches)).value == 0.5


def test_two_terms_count_double_in_the_paper() -> None:
    imap = imap_of([("t", "a"), ("u", "b")], [("t", "a"), ("u", "b")])
    matches = judge(imap, {("a", "a"): Relation.EXACT, ("b", "b"): Relation.EXACT})
    assert score(paper(imap, matches)).value == 4.0
    assert score(mean(imap, matches)).value == 2.0


def test_credits_by_hand() -> None:
    # Best credits of a, b, c: 1, .6, 0; of x, y: 1, .6. Recall 1.6/3, precision .8.
    result = score(graded(ONE_TERM, judge(ONE_TERM, RELATED)))
    assert result.parts["recall"] == pytest.approx(1.6 / 3)
    assert result.parts["precision"] == pytest.approx(0.8)
    assert result.value == pytest.approx((1.6 / 3 + 0.8) / 2)
    assert result.parts["f1"] == pytest.approx(2 * (1.6 / 3) * 0.8 / (1.6 / 3 + 0.8))
    assert result.parts["specificity"] == 1.0


def test_similarity_lifts_a_poorer_relation() -> None:
    result = score(graded(ONE_TERM, judge(ONE_TERM, RELATED, similarity=0.7)))
    assert result.parts["recall"] == pytest.approx((1 + 0.7 + 0.7) / 3)


def test_specificity_is_the_share_not_earned_by_more_general_values() -> None:
    imap = imap_of([("t", "a"), ("t", "b")], [("t", "x"), ("t", "y")])
    matches = judge(imap, {("a", "x"): Relation.EXACT, ("b", "y"): Relation.BELONGING})
    assert score(graded(imap, matches)).parts["specificity"] == pytest.approx(1 - 0.3 / 1.3)


def test_a_duplicate_counts_once() -> None:
    once, twice = imap_of([("t", "a")], [("t", "x")]), imap_of([("t", "a")] * 2, [("t", "x")] * 3)
    for compute in (paper, mean, graded):
        assert compute(once, judge(once, RELATED)) == compute(twice, judge(twice, RELATED))


@pytest.mark.parametrize("compute", [paper, mean, graded])
def test_empty_cases(compute: object) -> None:
    assert callable(compute)
    asked_nothing = Imap((), (), ONE_TERM.reference, ONE_TERM.response)
    outcome = compute(asked_nothing, [])
    assert isinstance(outcome, Failure)
    assert outcome.kind == "no-query"
    outcome = compute(imap_of([], [("t", "x")]), [])
    assert isinstance(outcome, Failure)
    assert outcome.kind == "no-reference-facts"
    assert score(compute(imap_of([("t", "a")], []), [])).value == 0.0
    assert score(compute(imap_of([("t", "a")], [("u", "a")]), [])).value == 0.0


pairs = st.lists(st.tuples(st.sampled_from("tuv"), st.sampled_from("abcdef")), min_size=1, max_size=12)


@st.composite
def judged(draw: st.DrawFn) -> tuple[Imap, list[Match]]:
    imap = imap_of(draw(pairs), draw(st.one_of(st.just([]), pairs)))
    response = values_by_term(imap.response)
    matches = [
        Match(term, v, w, draw(st.sampled_from(list(Relation))), draw(st.floats(0, 1)), "graph")
        for term, values in values_by_term(imap.reference).items()
        for v in values
        for w in response.get(term, ())
    ]
    return imap, matches


@given(judged())
def test_bounds(case: tuple[Imap, list[Match]]) -> None:
    imap, matches = case
    terms = len(values_by_term(imap.reference))
    shared = len(values_by_term(imap.reference).keys() & values_by_term(imap.response).keys())
    assert -shared <= score(paper(imap, matches)).value <= 2 * shared
    assert -1 <= score(mean(imap, matches)).value <= 2 * shared / terms
    result = score(graded(imap, matches))
    assert 0 <= result.value <= 1
    assert all(0 <= part <= 1 for part in result.parts.values())


@given(judged(), st.randoms())
def test_order_does_not_matter(case: tuple[Imap, list[Match]], rng: random.Random) -> None:
    imap, matches = case
    reference, response = list(imap.reference), list(imap.response)
    rng.shuffle(reference)
    rng.shuffle(response)
    shuffled = Imap(imap.query, (), tuple(reference), tuple(response))
    mixed = rng.sample(matches, len(matches))
    for compute in (paper, mean, graded):
        assert score(compute(shuffled, mixed)).value == pytest.approx(score(compute(imap, matches)).value)


@given(pairs)
def test_identical_answers_are_perfect(facts: list[tuple[str, str]]) -> None:
    imap = imap_of(facts, facts)
    matches = judge(imap, {(value, value): Relation.EXACT for _, value in facts})
    assert score(graded(imap, matches)).value == pytest.approx(1.0)
    assert score(mean(imap, matches)).value == pytest.approx(2.0)
    assert score(paper(imap, matches)).value == pytest.approx(2.0 * len(values_by_term(imap.reference)))


@given(judged())
def test_a_better_similarity_never_lowers_the_default(case: tuple[Imap, list[Match]]) -> None:
    imap, matches = case
    better = [Match(m.term, m.reference, m.response, m.relation, min(1, m.similarity + 0.1), "graph") for m in matches]
    assert score(graded(imap, better)).value >= score(graded(imap, matches)).value - 1e-12


def test_credits_are_those_of_the_design() -> None:
    assert dict(CREDITS) == {"exact": 1.0, "belonging": 0.3, "containment": 0.6, "unmatched": 0.0}


def test_metrics_have_distinct_names_and_signatures() -> None:
    metrics = build()
    assert [m.name for m in metrics] == ["imapscore", "imapscore:paper", "imapscore:mean"]
    assert len({m.signature for m in metrics}) == 3
    assert "credits:1/0.3/0.6/0" in metrics[0].signature
    case = Case("x", "q", "r", "p", "en", ONE_TERM, tuple(judge(ONE_TERM, RELATED)))
    assert [score(m.score([case])[0]).value for m in metrics] == pytest.approx([2 / 3, 4 / 3, 4 / 3])
