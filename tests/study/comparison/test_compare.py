from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.comparison.compare import PERMUTATIONS_PER_COMPARISON, compare, write_sentence
from imapeval.study.comparison.holm import holm_adjust
from imapeval.study.comparison.monte_carlo import is_unsettled
from imapeval.study.data.findings import ALL, CoefficientName, Level
from imapeval.study.data.rated import Rated
from imapeval.study.number_format import format_number
from tests.study.answers import make_rated


def make(n: int = 120, *, per_question: int = 2, systems: int = 2) -> Rated:
    generator = np.random.default_rng(4)
    true = generator.normal(size=n)
    ratings = np.column_stack([np.clip(np.round((true + generator.normal(size=n) * 0.3 + 2.5) * 2) / 2, 0, 5)] * 2)
    ratings[:10, 1] = np.nan
    scores = np.column_stack([weight * true + generator.normal(size=n) for weight in (3.0, 0.3, 0.2)])
    scores[5:9, 2] = np.nan
    return make_rated(
        scores,
        ratings,
        questions=np.arange(n) // per_question + 10,
        systems=np.arange(n) % systems,
        metrics=("good", "poor", "poorer"),
        dimensions=("accuracy", "completeness"),
    )


def test_rows_are_by_dimension_with_the_mean_last():
    rows = compare(make(), seed=1)
    assert [(row.dimension, row.first, row.second) for row in rows] == [
        (dimension, first, second)
        for dimension in ("accuracy", "completeness", ALL)
        for first, second in (("good", "poor"), ("good", "poorer"), ("poor", "poorer"))
    ]
    assert [row.n for row in rows[:6]] == [120, 116, 116, 110, 110, 110]
    assert {row.interval for row in rows} == {"jackknife"}
    for row in rows:
        assert (row.low or 0) < (row.difference or 0) < (row.high or 0)
        assert row.difference == pytest.approx((row.first_value or 0) - (row.second_value or 0))
    for start in (0, 3, 6):
        table = rows[start : start + 3]
        assert [row.p_adjusted for row in table] == holm_adjust([row.p for row in table])


@pytest.mark.parametrize("level", ["global", "within-system", "within-question", "system"])
def test_of_other_systems(level: str):
    given = {"against": "good", "metrics": ["good", "poor"], "dimensions": ["accuracy"], "test": "perm-systems"}
    (few,) = compare(make(per_question=5, systems=5), level=level, **given)
    assert (few.p, few.low, few.high) == (None, None, None)
    assert "5 systems are fewer than 6" in str(few.reason)
    (row,) = compare(make(per_question=8, systems=8), level=level, **given)
    assert row.interval == "jackknife"
    assert row.p is not None
    assert (row.low or 0) < (row.difference or 0) < (row.high or 0)


def test_between_few_systems_there_is_no_interval():
    (row,) = compare(make(systems=4), metrics=["good", "poor"], dimensions=["accuracy"], level="system")
    assert row.p is not None
    assert (row.low, row.high) == (None, None)
    assert "4 systems are fewer than 6" in str(row.reason)
    assert "interval 0" not in row.sentence


def test_values_are_means_of_scipys_over_systems_on_the_answers_of_both():
    rated = make()
    row = compare(rated, metrics=["good", "poorer"], dimensions=["accuracy"])[0]
    both = ~np.isnan(rated.scores[:, 2])
    systems = np.array(rated.systems)
    expected = [
        np.mean(
            [
                stats.spearmanr(
                    rated.scores[both & (systems == s), m], rated.ratings[both & (systems == s), 0]
                ).statistic
                for s in ("s0", "s1")
            ]
        )
        for m in (0, 2)
    ]
    assert [row.first_value, row.second_value] == pytest.approx(expected, abs=1e-12)


def test_against_one_and_sentences():
    rows = compare(make(), against="poor", dimensions=["accuracy"], seed=1)
    assert [(row.first, row.second) for row in rows] == [("poor", "good"), ("poor", "poorer")]
    better, equal = rows
    assert better.sentence.startswith(f"good ({format_number(better.second_value or 0)}) agrees better with the raters")
    assert better.sentence.endswith("after Holm, n = 120.")
    assert (
        f"95% interval {format_number(-(better.high or 0))} to {format_number(-(better.low or 0))}" in better.sentence
    )
    assert equal.sentence.startswith("At n = 116, ")
    assert "cannot be told apart (p = ." in equal.sentence


def test_sentence_word_for_word():
    row = compare(make(), against="poor", metrics=["good"], dimensions=["accuracy"])[0]
    row = replace(
        row,
        first="imapscore",
        second="rouge1",
        first_value=0.57,
        second_value=0.39,
        difference=0.18,
        low=0.09,
        high=0.27,
    )
    assert write_sentence(replace(row, p_adjusted=0.001, n=400), several=False) == (
        "imapscore (.57) agrees better with the raters than rouge1 (.39): difference .18, 95% interval .09 to .27, "
        "p = .001 after Holm, n = 400."
    )
    row = replace(row, second_value=0.60, difference=-0.03, p_adjusted=0.31, n=200)
    assert write_sentence(row, several=False) == (
        "At n = 200, .57 (imapscore) and .60 (rouge1) cannot be told apart (p = .31 after Holm)."
    )
    assert write_sentence(row, several=True).startswith("On accuracy, at n = 200, ")
    assert write_sentence(replace(row, dimension=ALL), several=True).startswith("Over all dimensions, at n = 200, ")


def test_a_p_value_that_another_seed_may_put_across_the_level_is_unsettled():
    row = replace(compare(make(), against="poor", metrics=["good"], dimensions=["accuracy"])[0], p_adjusted=0.31)
    # Of 2,000 permutations 32 are as extreme: with three comparisons .05 -+ 1.96 x 3 x sqrt(.0165 x .9835 / 2000).
    near = replace(row, p=33 / 2001, p_adjusted=99 / 2001)
    assert is_unsettled(near, 2000)
    assert is_unsettled(replace(near, p=40 / 2001, p_adjusted=120 / 2001), 2000)
    assert not is_unsettled(replace(near, p=48 / 2001, p_adjusted=144 / 2001), 2000)
    assert not is_unsettled(replace(near, p=400 / 20_001, p_adjusted=1200 / 20_001), 20_000)
    # These have no random part: a closed form, and with thousands of questions the normal distribution.
    assert not is_unsettled(replace(near, test="williams"), 2000)
    assert not is_unsettled(replace(near, p=0.0165, p_adjusted=0.0495), 2000)
    assert not row.unsettled
    sentence = write_sentence(replace(near, unsettled=True), several=False)
    assert "after Holm, which another seed may put across .05" in sentence


def test_permutations_are_enough_for_holm():
    generator = np.random.default_rng(0)
    true = generator.normal(size=60)
    scores = np.column_stack([true * 9 + generator.normal(size=60), *(generator.normal(size=60) for _ in range(9))])
    rated = make_rated(scores, true, metrics=tuple("abcdefghij"), dimensions=("d",))
    rows = compare(rated, resamples=10)
    assert min(row.p for row in rows if row.p is not None) == pytest.approx(1 / (PERMUTATIONS_PER_COMPARISON * 45 + 1))
    assert all((row.p_adjusted or 1) < 0.05 for row in rows if row.first == "a")


@pytest.mark.parametrize("test", ["williams", "steiger"])
def test_closed_forms_ask_for_independent_answers(test: str):
    given = {"test": test, "metrics": ["good", "poor"], "dimensions": ["accuracy"]}
    (clustered,) = compare(make(), level="global", **given)
    assert clustered.p is None
    assert "share 60 questions" in (clustered.reason or "")
    assert clustered.sentence.startswith("good and poor were not compared: ")
    (averaged,) = compare(make(per_question=1), **given)
    assert "of one coefficient" in (averaged.reason or "")
    (fine,) = compare(make(per_question=1), level="global", **given)
    assert fine.interval == "zou"
    assert (fine.p or 1) < 0.01
    permuted = compare(make(per_question=1), level="global", **{**given, "test": "perm-inputs"})[0]
    assert [fine.low, fine.high] == pytest.approx([permuted.low, permuted.high], abs=0.05)
    (few,) = compare(make(per_question=1), level="system", **given)
    assert few.reason == "2 systems are fewer than 5"
    assert len(compare(make(per_question=1), level="global", test="williams")) == 6  # no mean over dimensions


@pytest.mark.parametrize("test", ["williams", "steiger"])
def test_closed_forms_of_no_answers(test: str):
    rated = bare([[np.nan] * 4, [1, 2, 3, 4]], [1, 2, 3, 4])
    (row,) = compare(rated, level="system", test=test)
    assert (row.n, row.p) == (0, None)
    assert "0 systems are fewer than 5" in row.sentence


@pytest.mark.parametrize("level", ["system", "within-question"])
def test_other_systems_on_one_question(level: str):
    rated = make(n=12, systems=12, per_question=12)
    (row,) = compare(rated, metrics=["good", "poor"], dimensions=["accuracy"], level=level, test="perm-systems")
    assert row.questions == 1
    assert row.p is not None
    assert (row.low or 0) < (row.difference or 0) < (row.high or 0)


def bare(scores: list[list[float]], ratings: list[float], *, questions: list[int] | None = None) -> Rated:
    n = len(ratings)
    codes = np.arange(n) if questions is None else np.array(questions)
    table = np.array(scores, dtype=np.float64).T.reshape(n, 2)
    return make_rated(table, np.array(ratings), questions=codes, metrics=("a", "b"), dimensions=("d",))


@pytest.mark.parametrize(
    ("rated", "level", "reason"),
    [
        (bare([[1, 1, 1, 1], [1, 2, 3, 4]], [1, 2, 3, 4]), "global", "constant"),
        (bare([[1, 2, 3, 4], [1, 2, 4, 3]], [2, 2, 2, 2]), "within-system", "in every system"),
        (bare([[1, 2], [2, 1]], [1, 2]), "global", "2 answers with a rating and both scores are fewer than 3"),
        (bare([[np.nan, np.nan, 1], [1, 2, np.nan]], [1, 2, 3]), "global", "0 answers with a rating and both scores"),
        (bare([[1, 2, 3, 4], [1, 2, 4, 3]], [1, 2, 3, 4]), "system", "1 systems are fewer than 3"),
        (bare([[1, 2, 3, 4], [1, 2, 4, 3]], [1, 2, 3, 4]), "within-question", "in every question"),
        (
            bare([[1, 2, 3, 4], [1, 2, 4, 3]], [1, 2, 3, 4], questions=[7] * 4),
            "global",
            "all answers share one question",
        ),
    ],
)
def test_why_there_is_no_result(rated: Rated, level: str, reason: str):
    (row,) = compare(rated, level=level)
    assert (row.p, row.low, row.high, row.p_adjusted) == (None,) * 4
    assert reason in (row.reason or "")
    assert reason in row.sentence


@pytest.mark.parametrize(
    ("coefficient", "level"),
    [("spearman", "global"), ("spearman", "within-system"), ("pairwise_accuracy", "within-question")],
)
def test_metrics_that_never_differ_have_no_interval_of_zero_width(coefficient: CoefficientName, level: Level):
    rated = make(per_question=3, systems=3)
    twice = replace(rated, scores=np.column_stack([rated.scores[:, 0], 2 * rated.scores[:, 0], rated.scores[:, 1]]))
    row, other, *_ = compare(twice, coefficient=coefficient, level=level, dimensions=["accuracy"])
    assert (row.difference, row.low, row.high, row.p) == (0, None, None, 1)
    assert row.reason == "no interval: no question tells the metrics apart"
    assert (other.low or 0) < (other.high or 0)


def test_one_question_with_a_coefficient_has_no_interval():
    rated = bare([[1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 5, 6]], [1, 2, 3, 4, 5, 6], questions=[0, 0, 0, 0, 1, 2])
    (row,) = compare(replace(rated, systems=("a", "b", "c", "d", "a", "a")), level="within-question")
    assert row.difference is not None
    assert (row.low, row.high) == (None, None)
    assert "fewer than two questions" in (row.reason or "")


def test_a_constant_system_is_counted():
    rated = make()
    scores = rated.scores.copy()
    scores[np.array(rated.systems) == "s0", 0] = 1.0
    row = compare(replace(rated, scores=scores), metrics=["good", "poor"], dimensions=["accuracy"])[0]
    assert row.reason == "1 of 2 coefficients are undefined and left out"
    assert row.p is not None


def test_lower_is_better_is_turned_round():
    rated = make()
    turned = replace(rated, scores=rated.scores * [-1, 1, 1], lower_is_better=frozenset({"good"}))
    assert compare(turned, seed=3) == compare(rated, seed=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["none"]}, "'none'"),
        ({"against": "none"}, "'none'"),
        ({"dimensions": ["none"]}, "'none'"),
        ({"metrics": ["good"]}, "two metrics"),
        ({"coefficient": "soft_pairwise_accuracy"}, "soft_pairwise_accuracy"),
        ({"test": "t"}, "'t'"),
        ({"test": "williams", "coefficient": "kendall_tau_b"}, "williams is a test of spearman or pearson"),
    ],
)
def test_bad_options(options: dict[str, object], message: str):
    with pytest.raises(UsageError, match=message):
        compare(make(), **options)


def make_pair(*, questions: int, difference: float, seed: int = 0) -> Rated:
    rng = np.random.default_rng(seed)
    ratings, one, other = rng.normal(size=(3, questions))
    scores = [r * ratings + (1 - r**2) ** 0.5 * noise for r, noise in ((0.6, one), (0.6 - difference, other))]
    return make_rated(np.column_stack(scores), ratings, metrics=("first", "second"), dimensions=("quality",))


def test_equally_good_within_a_margin():
    rated = make_pair(questions=4000, difference=0.0)
    (row,) = compare(rated, coefficient="pearson", level="global", margin=0.1, resamples=20)
    assert (row.first_as_good, row.second_as_good) == (True, True)
    assert "equally well within .10" in row.sentence
    # By hand: two one-sided tests at 5% hold exactly where the 90% interval lies within the margin (Schuirmann 1987).
    reach = (row.high - row.low) / 2 * 1.6448536269514722 / 1.959963984540054
    for margin in (abs(row.difference) + reach * share for share in (0.98, 1.02)):
        (again,) = compare(rated, coefficient="pearson", level="global", margin=margin, resamples=20)
        both = again.first_as_good and again.second_as_good
        assert both == (abs(row.difference) + reach < margin)


def test_as_good_in_one_direction_only():
    rated = make_pair(questions=2000, difference=0.2)
    (row,) = compare(rated, coefficient="pearson", level="global", margin=0.1, resamples=50)
    assert (row.first_as_good, row.second_as_good) == (True, False)
    few = make_pair(questions=20, difference=0.0)
    (row,) = compare(few, coefficient="pearson", level="global", margin=0.05, resamples=50)
    assert (row.first_as_good, row.second_as_good) == (False, False)
    assert "not shown" in row.sentence
    (row,) = compare(few, coefficient="pearson", level="global", resamples=50)
    assert (row.first_as_good, row.second_as_good) == (None, None)


def test_several_pairs_are_held_to_a_stricter_level():
    """Bonferroni: the more pairs, the wider the interval that has to lie within the margin."""
    rated = make_pair(questions=1000, difference=0.0)
    (row,) = compare(rated, coefficient="pearson", level="global", margin=1.0, resamples=20)
    reach, middle = (row.high - row.low) / 2 / 1.959963984540054, (row.high + row.low) / 2
    margin = abs(middle) + reach * 1.8  # between the quantiles for one pair (1.64) and for three (2.13)
    three = replace(
        rated,
        metrics=("first", "second", "third"),
        scores=np.column_stack([rated.scores, np.random.default_rng(5).normal(size=1000)]),
    )
    alone, among = (compare(data, coefficient="pearson", level="global", margin=margin, resamples=20)[0]
                    for data in (rated, three))  # fmt: skip
    assert alone.first_as_good
    assert alone.second_as_good
    assert not (among.first_as_good and among.second_as_good)


@pytest.mark.parametrize("margin", [0.0, -1.0, float("nan"), float("inf")])
def test_a_margin_is_positive(margin: float):
    with pytest.raises(UsageError, match="margin"):
        compare(make_pair(questions=20, difference=0.0), margin=margin)


@pytest.mark.parametrize("test", ["perm-inputs", "perm-systems"])
@pytest.mark.parametrize(("coefficient", "widest"), [("pairs_in_order", 1.0), ("pearson", 2.0)])
def test_no_interval_of_a_difference_ends_beyond_what_is_possible(
    test: str, coefficient: CoefficientName, widest: float
):
    """Metrics that order few answers rightly and wrongly: the coefficients lie in 0..1, and in -1..1."""
    ratings = np.random.default_rng(0).normal(size=18)
    noise = np.random.default_rng(1).normal(size=18)
    rated = make_rated(
        np.column_stack([ratings, noise - ratings]),
        ratings,
        questions=np.arange(18) // 6,
        systems=np.arange(18) % 6,
    )
    (row,) = compare(rated, coefficient=coefficient, level="global", test=test, resamples=50)
    assert row.low < row.difference < row.high <= widest
    if coefficient == "pairs_in_order" and test == "perm-inputs":
        assert row.high == widest
