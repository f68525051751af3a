from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.arrays import Floats
from imapeval.study.closed.choices import Choice
from imapeval.study.closed.comparison import compare_models, compare_runs, gather_models
from imapeval.study.closed.drbenchmark.runs import TaskRun
from imapeval.study.closed.drbenchmark.tasks import load_tasks
from imapeval.study.closed.findings import analyse_closed_answers
from imapeval.study.closed.logs import ClosedAnswer
from imapeval.study.closed.models import measure_order_effects, summarise_models
from imapeval.study.systems.ranking import rank_systems

OPTIONS = ("aspirin", "rest", "tea", "none")


def answer(
    model: str, item: str, label: str | None, *, gold: str = "A", run: str = "", task: str = "t", group: str = "",
    options: Sequence[str] = OPTIONS, reading: str = "read", **scores: float,
) -> ClosedAnswer:  # fmt: skip
    choice = Choice(label, "read" if label else reading)  # pyright: ignore[reportArgumentType]
    return ClosedAnswer(
        *(task, model, item, run, f"question {item}", tuple("ABCD"), tuple(options), frozenset(gold), label or "?"),
        choice,
        scores,
        group,
    )


def answer_all(model: str, right: Sequence[bool] | np.ndarray, **fields: str) -> list[ClosedAnswer]:
    return [answer(model, str(n), "A" if yes else "B", **fields) for n, yes in enumerate(right)]


def test_what_is_not_read_stands_apart():
    rows = [
        answer("m", "1", "A", acc=1),
        answer("m", "2", "B", acc=0),
        answer("m", "3", None, reading="refused", acc=0),
        answer("m", "4", None, reading="unread", acc=0),
        answer("m", "5", "B", gold="B", acc=1),
    ]
    (found,) = summarise_models(rows)
    assert (found.items, found.runs, found.accuracy, found.accuracy_of_read) == (5, 1, 2 / 5, 2 / 3)
    assert found.readings == {"read": 3, "refused": 1, "unread": 1}
    assert found.by_log == {"acc": 2 / 5}
    # A is right in four of five; of four options one is right.
    assert (found.always_one, found.guessing) == (4 / 5, 1 / 4)
    wilson = stats.binomtest(2, 5).proportion_ci(method="wilson")
    assert (found.low, found.high) == (pytest.approx(wilson.low), pytest.approx(wilson.high))


def test_one_question_has_no_interval():
    (found,) = summarise_models([answer("m", "1", "A")])
    assert (found.accuracy, found.low, found.high) == (1, None, None)


def test_runs_and_groups_count_together():
    """Two runs that say the same are no more information than one."""
    right = [True, True, False, True, True, False, True, True, True, False] * 4
    (once,) = summarise_models(answer_all("m", right))
    (twice,) = summarise_models(answer_all("m", right, run="1") + answer_all("m", right, run="2"))
    assert (twice.runs, twice.items, twice.accuracy) == (2, 40, once.accuracy)
    assert once.low is not None
    assert once.high is not None
    assert twice.low == pytest.approx(once.low, abs=0.01)
    assert twice.high == pytest.approx(once.high, abs=0.01)


def test_the_place_of_an_option():
    turned = ("none", "tea", "rest", "aspirin")
    rows = [
        # The same option in another place.
        *(answer("m", "1/1", "A"), answer("m", "1/2", "D", gold="D", options=turned)),
        # The same place, and so another option.
        *(answer("m", "2/1", "A"), answer("m", "2/2", "A", gold="D", options=turned)),
        # Neither.
        *(answer("m", "3/1", "A"), answer("m", "3/2", "B", gold="D", options=turned)),
        # Not read, and in one order only.
        *(answer("m", "4/1", None), answer("m", "4/2", "D", gold="D", options=turned), answer("m", "5", "A")),
    ]
    rows = [replace(row, question=row.item[0]) for row in rows]
    (found,) = measure_order_effects(rows)
    assert (found.items, found.pairs) == (4, 3)
    assert (found.same_option, found.same_place) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert found.by_place == {1: 3 / 4, 4: 2 / 4}
    assert found.by_order == {"1 2 3 4": 3 / 4, "4 3 2 1": 2 / 4}
    assert measure_order_effects([answer("m", "5", "A")]) == []


@pytest.mark.parametrize(("label", "same"), [("A", 0), ("B", 1)])
def test_a_place_is_no_label(label: str, same: float):
    """Two options that keep their labels, shown in both orders."""
    row = answer("m", "1", "A", options=("x", "y"))
    first = replace(row, labels=("A", "B"))
    second = replace(row, item="2", labels=("B", "A"), options=("y", "x"), choice=Choice(label, "read"))
    (found,) = measure_order_effects([replace(one, question="q") for one in (first, second)])
    assert (found.same_place, found.same_option) == (same, 1 - same)


def test_a_paired_comparison_finds_what_an_unpaired_one_misses():
    # github.com/EleutherAI/lm-evaluation-harness/pull/3868: 220 questions, p = .080 unpaired and .008 paired. Both
    # right on 110, one on 30, the other on 12.
    one, other = np.zeros(220, dtype=bool), np.zeros(220, dtype=bool)
    one[:140] = True
    other[30:152] = True
    unpaired = (one.mean() - other.mean()) / np.hypot(stats.sem(one), stats.sem(other))
    assert 2 * stats.norm.sf(unpaired) == pytest.approx(0.080, abs=5e-4)
    (row,), tests = compare_models(answer_all("one", one) + answer_all("other", other))
    assert row.p == pytest.approx(0.008, abs=5e-4)
    assert row.p == pytest.approx(stats.binomtest(30, 42).pvalue, rel=1e-12)
    assert (row.wins, row.ties, row.losses, row.better, tests) == (30, 178, 12, "one", [])


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 5), (3, 14), (900, 1000)])
def test_mcnemar(wins: int, losses: int):
    one = np.array([True] * wins + [False] * (losses + 3))
    other = np.array([False] * wins + [True] * losses + [False] * 3)
    (row,), _ = compare_models(answer_all("one", one) + answer_all("other", other))
    expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert row.p == pytest.approx(expected, rel=1e-9)


def test_groups_of_questions_count_together():
    rng = np.random.default_rng(0)
    by_group = rng.random(12) < 0.75
    one = np.repeat(by_group, 10)
    other = np.repeat(~by_group & (rng.random(12) < 0.5), 10)
    groups = [str(n // 10) for n in range(120)]
    rows = [
        answer(model, str(n), "A" if right[n] else "B", group=groups[n])
        for model, right in (("one", one), ("other", other))
        for n in range(120)
    ]
    (row,), _ = compare_models(rows)
    assert row.questions == 12
    assert row.difference == pytest.approx(one.mean() - other.mean())
    differ = by_group.astype(int) - other[::10].astype(int)
    assert row.p == pytest.approx(stats.binomtest(int((differ > 0).sum()), int((differ != 0).sum())).pvalue)


def test_groups_of_other_sizes_leave_the_means_those_over_questions():
    rows = [
        answer(model, f"{group}{n}", "A" if (n + group) % (2 if model == "one" else 3) else "B", group=str(group))
        for model in ("one", "two")
        for group in range(6)
        for n in range(group + 1)
    ]
    differences, _ = compare_models(rows)
    means = {row.model: row.accuracy for row in summarise_models(rows)}
    assert differences[0].first_mean == pytest.approx(means["one"])
    assert differences[0].second_mean == pytest.approx(means["two"])
    standings = rank_systems(gather_models(rows), differences)
    assert {row.system: row.mean for row in standings} == pytest.approx(means)


def test_groups_are_weighed_among_the_questions_compared():
    """Means within a task, and over the questions that both answered, are those over these questions."""
    grouped = [
        answer(model, f"{group}{n}", "A" if model == "one" or n < 2 else "B", group=str(group))
        for model in ("one", "two")
        for group in range(6)
        for n in range(4)
    ]
    single = [row for model in ("one", "two") for row in answer_all(model, [model == "one"] * 24, task="u")]
    overall, *within = compare_models([*grouped, *single])[0]
    assert [(row.first_mean, row.second_mean) for row in within] == [(1, pytest.approx(1 / 2)), (1, 0)]
    assert (overall.first_mean, overall.second_mean) == (pytest.approx(1), pytest.approx(1 / 4))
    more = [answer("one", f"more {n}", "A") for n in range(24)]
    (row,), _ = compare_models([*grouped, *more])
    assert (row.first_mean, row.second_mean, row.left_out) == (1, pytest.approx(1 / 2), 24)
    assert {row.mean for row in rank_systems(gather_models([*grouped, *more]), [row])} == {1, 0.5}


def test_several_runs():
    rng = np.random.default_rng(3)
    hard = rng.random(200)
    runs = {
        model: [hard < ability + rng.normal(0, 0.03) for _ in range(4)]
        for model, ability in (("one", 0.7), ("two", 0.5))
    }
    rows = [
        row for model in runs for k, right in enumerate(runs[model]) for row in answer_all(model, right, run=str(k))
    ]
    (row,), (test,) = compare_models(rows)
    means = {model: [float(right.mean()) for right in runs[model]] for model in runs}
    assert test.difference == pytest.approx(np.mean(means["one"]) - np.mean(means["two"]))
    assert (test.items, test.runs) == (200, (4, 4))
    assert test.p_over_runs == pytest.approx(stats.ttest_ind(means["one"], means["two"]).pvalue)
    assert (row.low, row.high, row.p) == (test.low, test.high, test.p)
    assert test.low < test.difference < test.high
    # Over questions alone: the interval is narrower, as if there were no other runs.
    items = np.mean(runs["one"], axis=0) - np.mean(runs["two"], axis=0)
    assert test.high - test.low > 2 * 1.97 * stats.sem(items)


def test_the_difference_of_several_runs_is_on_the_questions_of_all_of_them():
    rows = [
        *answer_all("one", [n % 7 != 0 for n in range(20)], run="1"),
        *answer_all("one", [n % 7 != 0 for n in range(10)], run="2"),
        *answer_all("two", [n < 10 for n in range(20)]),
    ]
    (row,), (test,) = compare_models(rows)
    assert (row.questions, row.difference) == (10, pytest.approx(test.difference))
    assert (row.first_mean, row.second_mean, row.left_out) == (pytest.approx(0.8), 1, 10)
    # Runs that share no question, as parts of one log, have no test.
    parts = [replace(one, run="12"[n % 2]) for n, one in enumerate(answer_all("one", [True] * 20))]
    (row,), tests = compare_models([*parts, *answer_all("two", [n < 10 for n in range(20)])])
    assert (row.questions, row.difference, tests) == (20, pytest.approx(0.5), [])


def test_the_order_of_models_in_a_task_does_not_matter():
    rng = np.random.default_rng(2)
    rows = {
        (task, model): [one for run in "12" for one in answer_all(model, rng.random(20) < p, task=task, run=run)]
        for task, model, p in (("a", "one", 0.6), ("a", "two", 0.6), ("b", "one", 0.4), ("b", "two", 0.8))
    }
    first = compare_models([one for part in rows.values() for one in part])
    keys = ("a", "one"), ("a", "two"), ("b", "two"), ("b", "one")
    assert compare_models([one for key in keys for one in rows[key]]) == first
    assert {(test.first, test.second) for test in first[1]} == {("one", "two")}


def test_the_interval_of_a_metric_of_the_log_is_not_cut_at_1():
    rng = np.random.default_rng(0)
    rows = [
        answer(model, str(n), "A", run=run, rouge=mean + float(rng.normal(0, 5)))
        for model, mean in (("one", 60), ("two", 20))
        for run in "12"
        for n in range(20)
    ]
    (row,), _ = compare_models(rows, metric="rouge")
    assert row.low is not None
    assert row.high is not None
    assert row.low < 40 < row.high < 50


def test_equal_runs_give_what_a_single_one_gives():
    rng = np.random.default_rng(5)
    one, two = rng.random((2, 60)) < 0.6
    rows = [
        row
        for model, right in (("one", one), ("two", two))
        for run in "12"
        for row in answer_all(model, right, run=run)
    ]
    _, (test,) = compare_models(rows)
    paired = stats.ttest_rel(one.astype(float), two.astype(float))
    assert test.p == pytest.approx(paired.pvalue)
    assert test.p_over_runs is None


def test_runs_count_over_several_tasks_as_well():
    """Runs that differ by far more than their questions say little of the models, however many tasks there are."""
    rng = np.random.default_rng(0)
    found: list[float] = []
    for _ in range(40):
        rows: list[ClosedAnswer] = []
        for model in ("one", "two"):
            for run in "12":
                chance = 1 / (1 + np.exp(-rng.normal()))
                for task in ("a", "b"):
                    rows += answer_all(model, rng.random(60) < chance, run=run, task=task)
        overall, _, _ = compare_models(rows)[0]
        assert overall.p is not None
        found.append(overall.p)
    # 2 of 40 are expected; 7 or more have a chance of .001 (binomial).
    assert sum(p < 0.05 for p in found) < 7


def test_the_order_of_tasks_does_not_depend_on_their_hashes():
    tasks = [*"fbgadhce"]  # an order by hashes would be this one in 1 of 40,320 runs
    rows = [
        row
        for model, right in (("one", [True, True, False]), ("two", [True, False, False]))
        for task in tasks
        for run in "12"
        for row in answer_all(model, right, task=task, run=run)
    ]
    assert [test.task for test in compare_models(rows)[1]] == ["", *tasks]


def test_other_runs_in_other_tasks_are_not_compared_over_all():
    rows = [
        row
        for model in ("one", "two")
        for task, runs in (("a", "12"), ("b", "3"))
        for run in runs
        for row in answer_all(model, [True, model == "one", False], run=run, task=task)
    ]
    overall, *within = compare_models(rows)[0]
    assert (overall.p, overall.better) == (None, None)
    assert all(row.p is not None for row in within)


def test_runs_and_groups_of_questions_together():
    """Items of a group that are all alike count as one item each."""
    rng = np.random.default_rng(1)
    one, two = rng.integers(0, 2, (2, 12, 2)).astype(float)
    repeated = compare_runs(
        "", "one", "two", one.repeat(5, axis=0), two.repeat(5, axis=0), groups=[n // 5 for n in range(60)]
    )
    single = compare_runs("", "one", "two", one, two)
    assert (repeated.p, repeated.low) == (pytest.approx(single.p), pytest.approx(single.low))


def test_equal_answers_are_no_certainty():
    same = np.ones((20, 2))
    found = compare_runs("", "one", "two", same, same)
    high = stats.binomtest(0, 20).proportion_ci(method="wilson").high
    assert (found.low, found.high, found.p) == (pytest.approx(-high), pytest.approx(high), 1)
    found = compare_runs("", "one", "two", same, 0 * same)
    assert found.p == pytest.approx(stats.binomtest(0, 20).pvalue)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.full((10, 2), 0.7), np.full((10, 2), 0.1)),
        # Each of three runs has another third right.
        (np.eye(3)[np.arange(21) % 3], np.zeros((21, 3))),
    ],
)
def test_equal_differences_are_recognised_in_spite_of_rounding(one: Floats, other: Floats):
    found = compare_runs("", "one", "two", one, other)
    assert found.p == pytest.approx(stats.binomtest(0, len(one)).pvalue)
    assert found.high - found.low > 0.1


def test_a_model_that_is_always_right_has_an_interval():
    found = analyse_closed_answers([*answer_all("a", [True] * 20), *answer_all("b", [True, False] * 10)])
    best, _ = found.leaderboard
    # Wilson's interval of 20 in 20: 1 / (1 + z^2 / 20), with z = 1.959964 (Wilson 1927).
    assert (best.system, best.low, best.high) == ("a", pytest.approx(0.83887, abs=1e-5), 1.0)


def test_what_only_one_model_answered_has_no_best_model():
    half = [True, False] * 10
    found = analyse_closed_answers([*answer_all("a", half), *answer_all("b", half, task="u")])
    assert [row.best for row in found.scores] == [False, False]
    both = [*answer_all("a", [True] * 20), *answer_all("b", half)]
    found = analyse_closed_answers([*both, *answer_all("b", half, task="u")])
    assert [(row.task, row.model) for row in found.scores if row.best] == [("t", "a")]


def test_there_are_no_closed_questions_to_compare_models_on():
    task = next(task for task in load_tasks() if task.name == "DEFT-2020 CLS")
    runs = [TaskRun(task, "m", "", 1.0, {str(n): ("12"[n % 2], "1") for n in range(40)})]
    assert len(analyse_closed_answers([], runs=runs).results) > 0
    with pytest.raises(UsageError, match="--against"):
        analyse_closed_answers([], runs=runs, against="m")


def test_a_metric_of_the_log():
    rows = [answer(model, str(n), "A", f1=value) for model, value in (("one", 0.5), ("two", 0.7)) for n in range(20)]
    (row,), _ = compare_models(rows, metric="f1")
    assert (row.metric, row.difference, row.better) == ("f1", pytest.approx(-0.2), "two")
    with pytest.raises(UsageError, match="'f2'"):
        compare_models(rows, metric="f2")
    with pytest.raises(UsageError, match="one"):
        compare_models(rows[:20])
    with pytest.raises(UsageError, match="'three'"):
        compare_models(rows, against="three")


def test_tasks_are_compared_each_and_together():
    rng = np.random.default_rng(1)
    rows = [
        row for task in "st" for model in ("one", "two") for row in answer_all(model, rng.random(30) < 0.5, task=task)
    ]
    differences, _ = compare_models(rows)
    assert [(row.column, row.group, row.questions) for row in differences] == [
        ("", "", 60),
        ("task", "s", 30),
        ("task", "t", 30),
    ]


def test_models_that_share_no_question_are_not_compared():
    """A perfect one on other questions than a hopeless one is not better: nothing tells the questions apart."""
    one = answer_all("one", [True] * 40)
    other = [replace(a, item=f"other-{a.item}") for a in answer_all("other", [False] * 40)]
    (row,), _ = compare_models([*one, *other])
    assert (row.better, row.p, row.low, row.reason) == (None, None, None, "they share no question")
    third = answer_all("third", [False] * 40)
    rows = {(row.first, row.second): row.better for row in compare_models([*one, *other, *third])[0]}
    assert rows == {("one", "other"): None, ("one", "third"): "one", ("other", "third"): None}


@pytest.mark.parametrize(("against", "marks"), [(None, "*==."), ("two", "....")])
def test_nothing_is_marked_unless_all_models_were_compared_with_the_best(against: str | None, marks: str):
    """As the page says of both marks. One and two are equally good; with one, the first, only two was compared."""
    models = {"one": 30, "two": 30, "three": 29, "four": 12}
    rows = [row for name, right in models.items() for row in answer_all(name, [n < right for n in range(40)])]
    cells = analyse_closed_answers(rows, against=against).scores
    assert "".join("*" if row.best else "=" if row.as_best else "." for row in cells) == marks
