"""imapScore: Eq. 1 by hand-computed cases, and what must hold for any imap."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.metrics.base import Case
from imapeval.metrics.imapscore import (
    CREDITS,
    GradedImapScore,
    build,
    compute_credit,
    find_contradicting_facts,
    score_graded,
    score_mean,
    score_paper,
)
from imapeval.types import Decider, Failure, Imap, Match, Pair, Relation, Score, values_by_term

QUERY = (Pair("treatment", "?"),)


def imap_of(reference: list[tuple[str, str]], response: list[tuple[str, str]]) -> Imap:
    return Imap(QUERY, (), tuple(Pair(*p) for p in reference), tuple(Pair(*p) for p in response))


def compare(imap: Imap) -> list[tuple[str, str, str, str]]:
    """Return every fact of the reference beside every fact of the response: term, values, and another term."""
    reference, response = (dict.fromkeys((p.term, p.value) for p in pairs) for pairs in (imap.reference, imap.response))
    return [(t, v, w, "" if t == u else u) for t, v in reference for u, w in response]


def judge(
    imap: Imap, related: dict[tuple[str, str], Relation], similarity: float = 0.0, decided_by: Decider = "encoder"
) -> list[Match]:
    """Judge values of one term as `related` says; those of two terms are unmatched."""
    return [
        Match(
            term,
            v,
            w,
            Relation.UNMATCHED if other else related.get((v, w), Relation.UNMATCHED),
            similarity,
            decided_by,
            other_term=other,
        )
        for term, v, w, other in compare(imap)
    ]


# One term with 3 reference and 2 response values. a-x exact, b-y containment, b-x belonging, c alone.
# recall 2/3, precision 2/2, lambda 1/3: 2/3 + 1 - 1/3 = 4/3 (Eq. 1 by hand).
ONE_TERM = imap_of([("t", "a"), ("t", "b"), ("t", "c")], [("t", "x"), ("t", "y")])
RELATED = {("a", "x"): Relation.EXACT, ("b", "y"): Relation.CONTAINMENT, ("b", "x"): Relation.BELONGING}


def score(outcome: Score | Failure) -> Score:
    assert isinstance(outcome, Score)
    return outcome


def test_equation_1_by_hand() -> None:
    result = score(score_paper(ONE_TERM, judge(ONE_TERM, RELATED)))
    assert result.value == pytest.approx(4 / 3)
    assert result.parts == pytest.approx({"recall": 2 / 3, "precision": 1.0, "lambda": 1 / 3, "terms": 1.0})


def test_a_missed_term_costs_nothing_in_the_paper_and_halves_the_mean() -> None:
    imap = imap_of([("t", "a"), ("u", "b")], [("t", "x"), ("z", "b")])
    matches = judge(imap, {("a", "x"): Relation.EXACT})
    assert score(score_paper(imap, matches)).value == 2.0
    assert score(score_mean(imap, matches)).value == 1.0
    assert score(score_graded(imap, matches)).value == 0.5


def test_two_terms_count_double_in_the_paper() -> None:
    imap = imap_of([("t", "a"), ("u", "b")], [("t", "a"), ("u", "b")])
    matches = judge(imap, {("a", "a"): Relation.EXACT, ("b", "b"): Relation.EXACT})
    assert score(score_paper(imap, matches)).value == 4.0
    assert score(score_mean(imap, matches)).value == 2.0


def test_credits_by_hand() -> None:
    # Best credits of a, b, c: 1, .6, 0; of x, y: 1, .6. Recall 1.6/3, precision .8.
    result = score(score_graded(ONE_TERM, judge(ONE_TERM, RELATED)))
    assert result.parts["recall"] == pytest.approx(1.6 / 3)
    assert result.parts["precision"] == pytest.approx(0.8)
    assert result.value == pytest.approx((1.6 / 3 + 0.8) / 2)
    assert result.parts["f1"] == pytest.approx(2 * (1.6 / 3) * 0.8 / (1.6 / 3 + 0.8))
    assert result.parts["specificity"] == 1.0


def test_similarity_lifts_a_poorer_relation() -> None:
    result = score(score_graded(ONE_TERM, judge(ONE_TERM, RELATED, similarity=0.49)))
    assert result.parts["recall"] == pytest.approx((1 + 0.7 + 0.7) / 3)


@pytest.mark.parametrize(
    ("decided_by", "worth"), [("encoder", 0.7), ("text", 0.7), ("graph", 0.7), ("llm", 0.245), ("recorded", 0.245)]
)
def test_similarity_counts_by_its_root_and_half_where_the_two_have_been_read(decided_by: Decider, worth: float) -> None:
    def earn(relation: Relation) -> float:
        return compute_credit(Match("t", "a", "x", relation, 0.49, decided_by))

    assert earn(Relation.UNMATCHED) == pytest.approx(worth)
    assert earn(Relation.BELONGING) == pytest.approx(max(0.3, worth))
    assert earn(Relation.CONTAINMENT) == pytest.approx(max(0.6, worth))
    assert earn(Relation.EXACT) == 1
    assert earn(Relation.CONTRADICTION) == 0
    (alone,) = judge(imap_of([("t", "a")], [("t", "x")]), {}, 0.49, decided_by)
    assert score(score_graded(imap_of([("t", "a")], [("t", "x")]), [alone])).value == pytest.approx(worth)


def test_facts_count_alike_whatever_their_terms() -> None:
    # Three facts under t, one under u; found are a of t and b of u.
    imap = imap_of([("t", "a"), ("t", "b"), ("t", "c"), ("u", "b")], [("t", "a"), ("u", "b"), ("z", "d")])
    result = score(score_graded(imap, judge(imap, {("a", "a"): Relation.EXACT, ("b", "b"): Relation.EXACT})))
    # The response's b stands under u: the reference's b under t has not been found.
    assert (result.parts["recall"], result.parts["precision"]) == (pytest.approx(2 / 4), pytest.approx(2 / 3))
    assert result.value == pytest.approx((2 / 4 + 2 / 3) / 2)


def test_facts_count_by_their_importance_in_the_default_alone() -> None:
    imap = imap_of([("t", "a"), ("t", "b")], [("t", "a"), ("t", "c")])
    weights = {"a": 1.0, "b": 0.25, "c": 0.6}
    weighted = replace(
        imap,
        reference=tuple(replace(pair, importance=weights[pair.value]) for pair in imap.reference),
        response=tuple(replace(pair, importance=weights[pair.value]) for pair in imap.response),
    )
    matches = judge(weighted, {("a", "a"): Relation.EXACT, ("b", "c"): Relation.BELONGING})
    parts = score(score_graded(weighted, matches)).parts
    # (1 x 1 + .25 x .3) / 1.25, (1 x 1 + .6 x .3) / 1.6, and (.25 x .3) / (1 + .25 x .3) of the recall is general.
    assert parts["recall"] == pytest.approx(0.86)
    assert parts["precision"] == pytest.approx(0.7375)
    assert parts["specificity"] == pytest.approx(1 - 0.075 / 1.075)
    assert score_paper(weighted, matches) == score_paper(imap, matches)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1)])
def test_a_fact_given_twice_has_the_larger_importance(order: tuple[int, ...]) -> None:
    given = (Pair("t", "a"), Pair("t", "b"), Pair("t", "b", importance=0.2))
    imap = replace(imap_of([], [("t", "b")]), reference=tuple(given[place] for place in order))
    found = score(score_graded(imap, judge(imap, {("b", "b"): Relation.EXACT})))
    assert found.parts["recall"] == pytest.approx(1 / 2)


def test_a_fact_under_another_term_counts_in_the_default_alone() -> None:
    imap = imap_of([("advice", "a")], [("treatment", "x")])
    matches = [Match("advice", "a", "x", Relation.CONTAINMENT, 0.0, "llm", other_term="treatment")]
    result = score(score_graded(imap, matches))
    assert (result.parts["recall"], result.parts["precision"], result.value) == pytest.approx((0.6, 0.6, 0.6))
    assert score(score_paper(imap, matches)).value == score(score_mean(imap, matches)).value == 0


def test_one_value_under_two_terms_is_two_facts() -> None:
    imap = imap_of([("t", "a")], [("t", "x"), ("u", "x")])
    matches = [
        Match("t", "a", "x", Relation.UNMATCHED, 0.0, "llm"),
        Match("t", "a", "x", Relation.EXACT, 0.0, "llm", other_term="u"),
    ]
    result = score(score_graded(imap, matches))
    assert (result.parts["recall"], result.parts["precision"]) == (1.0, 0.5)


def test_a_contradiction_earns_nothing_and_voids_the_likeness_of_its_two_facts() -> None:
    # a contradicts x; all are alike, so that likeness alone would earn .8, the root of .64, everywhere.
    imap = imap_of([("t", "a"), ("t", "b")], [("t", "x"), ("t", "y")])
    related = {("a", "x"): Relation.CONTRADICTION}
    result = score(score_graded(imap, judge(imap, related, 0.64)))
    # a and x earn nothing, not even beside y and b; b and y earn .8 by each other.
    assert (result.parts["recall"], result.parts["precision"]) == pytest.approx((0.4, 0.4))
    assert result.parts["contradictions"] == 1
    without = score(score_graded(imap, judge(imap, {}, 0.64)))
    assert (without.value, without.parts["contradictions"]) == (pytest.approx(0.8), 0)


@pytest.mark.parametrize("order", [1, -1])
def test_a_fact_that_contradicts_keeps_what_a_relation_earns_it(order: int) -> None:
    # "Take it at night" contradicts one fact and is exact to another: only likeness is void.
    imap = imap_of([("t", "a"), ("t", "b")], [("t", "x")])
    related = {("a", "x"): Relation.CONTRADICTION, ("b", "x"): Relation.BELONGING}
    result = score(score_graded(imap, judge(imap, related, 0.01)[::order]))
    assert (result.parts["recall"], result.parts["precision"]) == pytest.approx((0.15, 0.3))
    assert result.parts["contradictions"] == 1


def test_a_fact_that_is_said_and_contradicted_is_said_by_neither() -> None:
    # "Take aspirin. Do not take aspirin." beside "take aspirin" and "rest": only the rest earns something.
    imap = imap_of([("t", "a"), ("t", "rest")], [("t", "a"), ("t", "not a"), ("t", "rest")])
    related = {("a", "a"): Relation.EXACT, ("a", "not a"): Relation.CONTRADICTION, ("rest", "rest"): Relation.EXACT}
    parts = score(score_graded(imap, judge(imap, related))).parts
    assert (parts["recall"], parts["precision"]) == pytest.approx((1 / 2, 1 / 3))


@pytest.mark.parametrize(("alternatives", "worth"), [(1, 1.0), (10, 1.0), (20, 0.5)])
def test_more_than_ten_possible_facts_share_ten_credits(alternatives: int, worth: float) -> None:
    values = [f"v{place}" for place in range(alternatives)]
    response = tuple(Pair("t", value, certainty="possible") for value in values)
    imap = Imap(QUERY, (), (Pair("t", "v0"),), response)
    parts = score(score_graded(imap, judge(imap, {("v0", "v0"): Relation.EXACT}))).parts
    assert (parts["recall"], parts["precision"]) == pytest.approx((worth, worth / alternatives))


def test_contradictions_are_counted_by_the_facts_of_the_response() -> None:
    imap = imap_of([("t", "a"), ("t", "b"), ("u", "c")], [("t", "x"), ("u", "x"), ("t", "y")])
    said = {("t", "a", "x", ""), ("t", "b", "x", ""), ("u", "c", "x", "")}
    relations = {True: Relation.CONTRADICTION, False: Relation.UNMATCHED}
    matches = [Match(*fact[:3], relations[fact in said], 0, "llm", other_term=fact[3]) for fact in compare(imap)]
    # Two facts of the reference against x under t, one against x under u.
    assert find_contradicting_facts(matches) == {("t", "x"), ("u", "x")}
    assert score(score_graded(imap, matches)).parts["contradictions"] == 2


def test_a_contradiction_is_no_match_in_the_papers_equation() -> None:
    imap = imap_of([("t", "a")], [("t", "x")])
    matches = judge(imap, {("a", "x"): Relation.CONTRADICTION}, 0.9)
    assert score(score_paper(imap, matches)).value == score(score_mean(imap, matches)).value == 0


def test_specificity_is_the_share_not_earned_by_more_general_values() -> None:
    imap = imap_of([("t", "a"), ("t", "b")], [("t", "x"), ("t", "y")])
    matches = judge(imap, {("a", "x"): Relation.EXACT, ("b", "y"): Relation.BELONGING})
    assert score(score_graded(imap, matches)).parts["specificity"] == pytest.approx(1 - 0.3 / 1.3)


def test_a_duplicate_counts_once() -> None:
    once, twice = imap_of([("t", "a")], [("t", "x")]), imap_of([("t", "a")] * 2, [("t", "x")] * 3)
    for compute in (score_paper, score_mean, score_graded):
        assert compute(once, judge(once, RELATED)) == compute(twice, judge(twice, RELATED))


@pytest.mark.parametrize("compute", [score_paper, score_mean, score_graded])
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
    relations, deciders = (
        st.sampled_from(list(Relation)),
        st.sampled_from(["text", "graph", "llm", "encoder", "recorded"]),
    )
    matches = [
        Match(term, v, w, draw(relations), draw(st.floats(0, 1)), draw(deciders), other_term=other)
        for term, v, w, other in compare(imap)
    ]
    return imap, matches


@given(judged())
def test_bounds(case: tuple[Imap, list[Match]]) -> None:
    imap, matches = case
    terms = len(values_by_term(imap.reference))
    shared = len(values_by_term(imap.reference).keys() & values_by_term(imap.response).keys())
    assert -shared <= score(score_paper(imap, matches)).value <= 2 * shared
    assert -1 <= score(score_mean(imap, matches)).value <= 2 * shared / terms
    result = score(score_graded(imap, matches))
    assert 0 <= result.value <= 1
    contradictions = result.parts["contradictions"]
    assert all(0 <= part <= 1 for name, part in result.parts.items() if name != "contradictions")
    assert contradictions in range(len({(p.term, p.value) for p in imap.response}) + 1)


@given(judged(), st.randoms())
def test_order_does_not_matter(case: tuple[Imap, list[Match]], rng: random.Random) -> None:
    imap, matches = case
    reference, response = list(imap.reference), list(imap.response)
    rng.shuffle(reference)
    rng.shuffle(response)
    shuffled = Imap(imap.query, (), tuple(reference), tuple(response))
    mixed = rng.sample(matches, len(matches))
    for compute in (score_paper, score_mean, score_graded):
        assert score(compute(shuffled, mixed)).value == pytest.approx(score(compute(imap, matches)).value)


@given(judged(), st.randoms())
def test_a_contradiction_in_place_of_anything_never_raises_the_default(
    case: tuple[Imap, list[Match]], rng: random.Random
) -> None:
    imap, matches = case
    worse = [replace(m, relation=Relation.CONTRADICTION) if rng.random() < 0.3 else m for m in matches]
    assert score(score_graded(imap, worse)).value <= score(score_graded(imap, matches)).value + 1e-12


@given(pairs)
def test_identical_answers_are_perfect(facts: list[tuple[str, str]]) -> None:
    imap = imap_of(facts, facts)
    matches = judge(imap, {(value, value): Relation.EXACT for _, value in facts})
    assert score(score_graded(imap, matches)).value == pytest.approx(1.0)
    assert score(score_mean(imap, matches)).value == pytest.approx(2.0)
    assert score(score_paper(imap, matches)).value == pytest.approx(2.0 * len(values_by_term(imap.reference)))


@given(judged())
def test_a_better_similarity_never_lowers_the_default(case: tuple[Imap, list[Match]]) -> None:
    imap, matches = case
    better = [replace(match, similarity=min(1, match.similarity + 0.1)) for match in matches]
    assert score(score_graded(imap, better)).value >= score(score_graded(imap, matches)).value - 1e-12


def test_credits_are_those_of_the_design() -> None:
    assert dict(CREDITS) == {
        "exact": 1.0,
        "belonging": 0.3,
        "containment": 0.6,
        "unmatched": 0.0,
        "contradiction": 0.0,
    }


def test_metrics_have_distinct_names_and_signatures() -> None:
    metrics = build()
    assert [m.name for m in metrics] == ["imapscore", "imapscore:paper", "imapscore:mean"]
    assert len({m.signature for m in metrics}) == 3
    assert "credits:1/0.3/0.6/0/0|soft:max-root|judged:0.5|alternatives:10|mean:facts" in metrics[0].signature
    case = Case("x", "q", "r", "p", "en", ONE_TERM, tuple(judge(ONE_TERM, RELATED)))
    assert [score(m.score_batch([case])[0]).value for m in metrics] == pytest.approx([2 / 3, 4 / 3, 4 / 3])


@pytest.mark.parametrize("name", ["credits", "soft", "judged", "alternatives", "mean"])
def test_what_the_signature_tells_of_the_code_cannot_be_set(name: str) -> None:
    with pytest.raises(TypeError):
        GradedImapScore(**{name: 0})
