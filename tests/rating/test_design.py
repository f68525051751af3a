import random
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from imapeval.errors import UsageError
from imapeval.rating import Dimension, StudySettings
from imapeval.rating.design import assign_blocks, choose_repeats, insert_spread, order_items
from imapeval.rating.setup import order_for_rater


@st.composite
def designs(draw: st.DrawFn) -> tuple[int, int, int, int, int]:
    panel = draw(st.integers(1, 9))
    return (
        draw(st.integers(1, 40)),
        panel,
        draw(st.integers(1, panel)),
        draw(st.integers(1, 4)),
        draw(st.integers(0, 9)),
    )


@given(designs())
def test_every_answer_has_its_raters_and_loads_differ_by_one_at_most(design: tuple[int, int, int, int, int]):
    answers, panel, raters, systems, seed = design
    blocks = assign_blocks(
        [number % systems for number in range(answers)], panel=panel, raters_per_answer=raters, seed=seed
    )
    assert len(blocks) == answers
    assert all(len(set(block)) == raters and set(block) <= set(range(panel)) for block in blocks)
    loads = Counter(rater for block in blocks for rater in block)
    assert max(loads[rater] for rater in range(panel)) - min(loads[rater] for rater in range(panel)) <= 1


@pytest.mark.parametrize(
    ("answers", "panel", "raters", "systems", "apart"),
    [
        # Balanced incomplete block designs exist: the Fano plane, three times the Fano plane, the projective plane of
        # order 3 (Cochran and Cox 1957, chapter 11), and all pairs of four.
        (7, 7, 3, 1, 0),
        (21, 7, 3, 3, 0),
        (13, 13, 4, 1, 0),
        (12, 4, 2, 3, 0),
        # None exists: the number of pairs is not a multiple.
        (100, 10, 3, 2, 1),
        (400, 20, 3, 4, 1),
    ],
)
def test_pairs_of_raters_meet_equally_often(answers: int, panel: int, raters: int, systems: int, apart: int):
    blocks = assign_blocks(
        [number % systems for number in range(answers)], panel=panel, raters_per_answer=raters, seed=1
    )
    met = Counter(pair for block in blocks for pair in combinations(block, 2))
    counts = [met[pair] for pair in combinations(range(panel), 2)]
    assert max(counts) - min(counts) <= apart
    by_system = Counter((number % systems, rater) for number, block in enumerate(blocks) for rater in block)
    seen = [by_system[system, rater] for system in range(systems) for rater in range(panel)]
    assert max(seen) - min(seen) <= 1


def test_a_panel_that_is_too_small():
    with pytest.raises(UsageError, match="--panel 2"):
        assign_blocks([0], panel=2, raters_per_answer=3, seed=0)


def test_the_seed_decides():
    first, again, other = (assign_blocks([0] * 30, panel=6, raters_per_answer=2, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


questions = st.lists(st.integers(0, 6), max_size=40)


@given(questions, st.integers(0, 99))
def test_no_neighbours_of_one_question_unless_it_has_more_than_half(of: list[int], seed: int):
    question = dict(enumerate(of))
    ordered = order_items(list(question), question, rng=random.Random(seed), together=False)
    assert sorted(ordered) == list(question)
    beside = sum(question[one] == question[other] for one, other in pairwise(ordered))
    most = max(Counter(of).values(), default=0)
    assert beside == max(0, 2 * most - len(of) - 1)


@given(questions, st.integers(0, 99))
def test_side_by_side(of: list[int], seed: int):
    question = dict(enumerate(of))
    ordered = order_items(list(question), question, rng=random.Random(seed), together=True)
    assert sorted(ordered) == list(question)
    changes = sum(question[one] != question[other] for one, other in pairwise(ordered))
    assert changes == max(0, len(set(of)) - 1)


@given(st.integers(1, 60), st.integers(0, 20), st.integers(0, 99))
def test_extra_items_are_spread(count: int, extra: int, seed: int):
    ordered, more = list(range(count)), list(range(count, count + extra))
    question = {item: item for item in (*ordered, *more)}
    merged = insert_spread(ordered, more, question, rng=random.Random(seed), start=2 / 3)
    assert sorted(merged) == [*ordered, *more]
    assert [item for item in merged if item < count] == ordered
    assert all(merged.index(item) >= round(count * 2 / 3) for item in more)


def test_repeats_come_from_the_first_half():
    assert set(choose_repeats(range(10), 5, rng=random.Random(0))) == set(range(5))
    with pytest.raises(UsageError, match="5"):
        choose_repeats(range(10), 6, rng=random.Random(0))


def test_no_place_in_the_order_tells_a_system():
    """Over many raters, each system is at each place, and after each system, equally often (chi-square tests)."""
    systems = {answer: answer % 3 for answer in range(24)}
    question = {answer: answer // 3 for answer in systems}
    settings = StudySettings(title="", dimensions=(Dimension(name="a", low=0, high=1),), raters_per_answer=1, panel=1)
    places, following = np.zeros((24, 3)), np.zeros((3, 3))
    for rater in range(1500):
        order = order_for_rater([*systems], [], question, settings=settings, rater=rater, repeats=0)
        shown = [systems[answer] for _, answer in order]
        places[range(24), shown] += 1
        for one, other in pairwise(shown):
            following[one, other] += 1
    assert stats.chi2_contingency(places).pvalue > 0.01
    # Of 21 answers to other questions, 7 are of each system.
    assert stats.chisquare(following, axis=1).pvalue.min() > 0.01
