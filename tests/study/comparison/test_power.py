from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.comparison.closed_form import steiger_test
from imapeval.study.comparison.power import plan_detection, plan_sample_size, plan_sample_size_from_pilot
from imapeval.study.comparison.sample_size import answers_to_detect, required_answers, smallest_difference
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated
from tests.study.answers import make_rated


def test_simulated_power_is_the_one_asked_for():
    # No published table has this case: the test itself on simulated data is the other implementation.
    r1, r2, between = 0.6, 0.4, 0.5
    n = required_answers(r1, r2, between=between, power=0.8)
    root = np.linalg.cholesky(np.array([[1, r1, r2], [r1, 1, between], [r2, between, 1]]))
    generator = np.random.default_rng(0)
    repetitions, found = 2000, 0
    for _ in range(repetitions):
        c = np.corrcoef(generator.normal(size=(n, 3)) @ root.T, rowvar=False)
        found += steiger_test(c[0, 1], c[0, 2], r23=c[1, 2], n=n).p < 0.05
    assert found / repetitions == pytest.approx(0.8, abs=0.03)  # 3 standard errors


def test_independent_metrics_need_what_cohen_says():
    # Two uncorrelated ones near 0 vary by 2 / (n - 3), as in Cohen 1988, section 4.4: n = 3 + 2 (2.8016 / q)^2.
    assert required_answers(0.05, -0.05, between=0.0) == pytest.approx(3 + 2 * (2.8016 / 0.1001) ** 2, rel=0.005)


def test_needed_answers_and_smallest_difference_agree():
    n = required_answers(0.57, 0.60, between=0.8, spearman=True)
    smallest = smallest_difference(0.60, n, between=0.8, spearman=True)
    assert smallest == pytest.approx(0.03, abs=1e-4)
    assert smallest_difference(0.1, 5, between=0.9) is None
    # Metrics that hardly correlate cannot both agree nearly perfectly: r2 <= .95 x .1 + sqrt((1 - .95^2) (1 - .1^2)).
    assert smallest_difference(0.95, 400, between=0.1) == pytest.approx(0.95 - 0.405684, abs=1e-5)
    assert required_answers(0.5, 0.5, between=0.8) is None
    # Other numbers, but the same on Fisher's scale.
    assert required_answers(0.5, 0.49999999999999994, between=0.9) is None
    twice = required_answers(0.57, 0.60, between=0.8, spearman=True, design_effect=2.0)
    assert twice == pytest.approx(2 * n, abs=5)


@pytest.mark.parametrize(
    ("name", "value"), [("r1", 1.2), ("between", -1.0), ("power", 1.0), ("alpha", 0.0), ("design_effect", 0.0)]
)
def test_the_smallest_difference_of_what_cannot_be(name: str, value: float):
    with pytest.raises(ValueError, match=f"{value:g}"):
        smallest_difference(**{"r1": 0.5, "n": 100, "between": 0.5, name: value})


def test_sentences():
    # By hand: 3 + 1.06 x 2 (1 - c) (2.8016 / (z(.60) - z(.57)))^2 = 2,307, rounded up to two digits. The correlation c
    # of the two z is .7118 (Steiger 1980, equations 3 and 11, at the mean .585); 1.06 is Fieller's, for ranks.
    assert plan_sample_size(0.57, 0.60, between=0.8).sentence == (
        "To tell .57 from .60 with 80% power about 2,400 rated answers are needed."
    )


@pytest.mark.parametrize(
    ("r1", "r2", "between", "power", "message"),
    [
        (1.0, 0.5, 0.5, 0.8, "-1.*1"),
        (0.9, -0.9, 0.9, 0.8, "no data have"),
        (0.5, 0.4, 0.5, 0.01, "0.*1"),
        (float("nan"), 0.4, 0.5, 0.8, "-1.*1"),
        (0.9999999, 0.9999998, 0.999999, 0.8, "same"),
    ],
)
def test_numbers_out_of_range(r1: float, r2: float, between: float, power: float, message: str):
    with pytest.raises(UsageError, match=message):
        plan_sample_size(r1, r2, between=between, power=power)


@pytest.mark.parametrize(
    "numbers",
    [
        {"r": 1e-200},
        {"r": 1e-320},
        {"r": -1e-20},
        {"r": 0.3, "design_effect": 1e308},
    ],
)
def test_no_sample_size_shows_a_correlation_that_is_as_good_as_0(numbers: dict[str, Any]):
    assert plan_detection(**numbers).needed is None


@pytest.mark.parametrize(
    "numbers",
    [
        {"r1": 1e-200, "r2": 0.0, "between": 0.5},
        {"r1": 0.0, "r2": 1e-320, "between": 0.5},
        {"r1": 0.5, "r2": 0.5000000000000002, "between": 0.9},
        {"r1": 0.5, "r2": 0.4, "between": 0.9, "design_effect": 1e308},
    ],
)
def test_no_sample_size_tells_apart_what_is_as_good_as_equal(numbers: dict[str, Any]):
    assert plan_sample_size(**numbers).needed is None


def test_a_level_below_the_precision_of_numbers_near_1():
    # z(1 - 1e-20 / 2) is 9.3364 (scipy.stats.norm.isf(5e-21)), z(.8) .8416.
    assert answers_to_detect(0.3, alpha=1e-20) == pytest.approx(3 + ((9.3364 + 0.8416) / np.arctanh(0.3)) ** 2, abs=1)
    assert smallest_difference(0.5, 100, between=0.5, alpha=1e-300, design_effect=1e308) is None
    with pytest.raises(UsageError):  # Half of it is 0.
        plan_detection(0.3, alpha=5e-324)


def pilot(n: int, *, copies: int) -> Rated:
    """Return n answers, each of them `copies` times, as answers to one question."""
    generator = np.random.default_rng(3)
    ratings = generator.normal(size=n)
    scores = np.column_stack([weight * ratings + generator.normal(size=n) for weight in (1.0, 0.5)])
    rows = np.repeat(np.arange(n), copies)
    return make_rated(scores[rows], ratings[rows, None], questions=rows, metrics=("a", "b"), dimensions=("d",))


def test_a_pilot_whose_correlation_is_0_but_for_rounding():
    generator = np.random.default_rng(0)
    scores, ratings = generator.normal(size=(2, 200))
    scores, ratings = scores - scores.mean(), ratings - ratings.mean()
    ratings -= scores * (scores @ ratings) / (scores @ scores)
    rated = replace(pilot(200, copies=1), metrics=("a",), scores=scores[:, None], ratings=ratings[:, None])
    (plan,) = plan_sample_size_from_pilot(rated, coefficient="pearson", level="global")
    assert plan.first_value == pytest.approx(0, abs=1e-15)
    assert plan.first_value != 0
    assert (plan.needed, plan.reason) == (None, None)


def test_metrics_that_are_equal_but_for_rounding_have_a_smallest_difference():
    generator = np.random.default_rng(0)
    ratings, errors = generator.normal(size=(2, 200))
    ratings, errors = ratings - ratings.mean(), errors - errors.mean()
    errors -= ratings * (ratings @ errors) / (ratings @ ratings)
    rated = replace(pilot(200, copies=1), ratings=ratings[:, None])
    last_digit = np.array([0, 1e-15])
    scores = np.column_stack([ratings + errors, ratings - errors]) + last_digit * ratings[:, None]
    (plan,) = plan_sample_size_from_pilot(replace(rated, scores=scores), coefficient="pearson", level="global")
    assert plan.first_value != plan.second_value
    assert plan.first_value == pytest.approx(plan.second_value, abs=1e-14)
    assert (plan.needed, plan.reason) == (None, None)
    assert plan.smallest is not None


def test_a_pilot_with_copies_has_that_design_effect():
    single, triple = (plan_sample_size_from_pilot(pilot(200, copies=copies))[0] for copies in (1, 3))
    assert single.design_effect == pytest.approx(1.0, abs=0.2)
    assert single.first_value == pytest.approx(triple.first_value, abs=1e-12)
    assert triple.design_effect == pytest.approx(3 * (single.design_effect or 0), rel=0.02)
    assert (single.n, triple.n, single.dimension) == (200, 600, "d")
    assert single.sentence.startswith("To tell .")
    assert "The 200 answers at hand" in single.sentence


def test_few_questions_are_no_design_effect_of_a_single_metric():
    """Its interval is widened by Student's quantile and the root of n / (n - 1); by scipy."""
    few = pilot(12, copies=1)
    (row,) = correlate(few, metrics=["a"], coefficients=["pearson"], levels=["global"])
    (plan,) = plan_sample_size_from_pilot(few, metrics=["a"], coefficient="pearson", level="global")
    errors = (np.arctanh(row.high) - np.arctanh(row.low)) / 2 / (stats.t.ppf(0.975, 11) * np.sqrt(12 / 11))
    assert plan.design_effect == pytest.approx(errors**2 * (12 - 3))


def test_a_pilot_without_a_result_says_why():
    rated = pilot(200, copies=1)
    (row,) = plan_sample_size_from_pilot(replace(rated, scores=rated.scores * 0))
    assert row.needed is None
    assert "constant" in (row.reason or "")
    assert ALL not in row.sentence
    with pytest.raises(UsageError, match=r"global, within-system .*system"):
        plan_sample_size_from_pilot(rated, level="within-question")
    with pytest.raises(UsageError, match="kendall_tau_b"):
        plan_sample_size_from_pilot(rated, coefficient="kendall_tau_b")


def test_one_metric_needs_what_cohen_says():
    # Cohen 1992, "A power primer", table 2, alpha .05, power .80: r = .10, .30 and .50 need 783, 85 and 28, by the t
    # test; Fisher's z needs two more for the last one.
    assert [answers_to_detect(r) for r in (0.1, 0.3, 0.5)] == [783, 85, 30]
    assert answers_to_detect(0.0) is None
    assert (plan_detection(0.3, spearman=False).needed, plan_detection(0.3, spearman=False).second_value) == (
        answers_to_detect(0.3),
        0.0,
    )


def draw(answers: int, *, raters: int, systems: int = 1, seed: int = 0) -> Rated:
    """Raters with noise of 1.2; metric a sees worth with noise of .8, b with noise of 1.2."""
    generator = np.random.default_rng(seed)
    system = np.arange(answers) % systems
    worth = generator.normal(size=answers) + (generator.normal(size=systems)[system] if systems > 1 else 0.0)
    given = worth[:, None] + 1.2 * generator.normal(size=(answers, raters))
    return make_rated(
        worth[:, None] + np.array([0.8, 1.2]) * generator.normal(size=(answers, 2)),
        questions=np.arange(answers) // systems,
        systems=system,
        metrics=("a", "b"),
        by_rater={"d": given},
    )


def test_more_raters_need_fewer_answers():
    rows = plan_sample_size_from_pilot(draw(20_000, raters=3), coefficient="pearson", level="global", raters=4)
    assert [(row.raters, row.first, row.second) for row in rows] == [(k, "a", "b") for k in (1, 2, 3, 4)]
    # r with the worth is 1 / root(1 + .8^2) and 1 / root(1 + 1.2^2), with the mean of k raters times the root of its
    # reliability 1 / (1 + 1.2^2 / k); answers are independent.
    for row in rows:
        rating, between = np.sqrt(1 / (1 + 1.44 / row.raters)), 1 / np.sqrt(1.64 * 2.44)
        expected = required_answers(rating / np.sqrt(1.64), rating / np.sqrt(2.44), between=between)
        assert row.needed == pytest.approx(expected, rel=0.1)
        assert row.ratings == row.raters * (row.needed or 0)
        assert f"rated by {row.raters} rater" in row.sentence
    (own,) = plan_sample_size_from_pilot(draw(20_000, raters=3), coefficient="pearson", level="global")
    assert own.needed == pytest.approx(rows[2].needed, rel=0.01)
    (single,) = plan_sample_size_from_pilot(
        draw(20_000, raters=3), metrics=["b"], coefficient="pearson", level="global"
    )
    assert single.needed == pytest.approx(answers_to_detect(np.sqrt(1 / (1 + 1.44 / 3) / 2.44)), abs=2)
    assert (single.second, single.second_value, single.between) == ("", 0.0, None)


def test_systems_take_the_place_of_answers():
    pilot = draw(2400, raters=2, systems=40)
    (row,) = plan_sample_size_from_pilot(pilot, level="system", coefficient="pearson")
    assert (row.n, row.level) == (40, "system")
    assert "systems are needed" in row.sentence
    (few,) = plan_sample_size_from_pilot(draw(300, raters=2, systems=3), level="system")
    assert few.needed is None
    assert "systems" in (few.reason or "")
    with pytest.raises(UsageError, match="level system"):
        plan_sample_size_from_pilot(pilot, level="system", raters=3)
    with pytest.raises(UsageError, match="single raters"):
        plan_sample_size_from_pilot(replace(pilot, raters=(), by_rater={}), raters=3)


def test_what_is_asked_for_is_not_rounded_to_certainty():
    assert "99.9% power" in plan_detection(0.3, power=0.999).sentence


def test_a_system_with_two_answers_does_not_say_how_metrics_correlate():
    """Two answers correlate perfectly; `compare` leaves the system out as well. By scipy."""
    rated = draw(60, raters=2, systems=2)
    few = np.array([row for row in range(60) if rated.systems[row] == "s0" or row in (5, 9)])
    part = rated.take(few)
    (plan,) = plan_sample_size_from_pilot(part, coefficient="pearson")
    a, b = part.scores[np.array(part.systems) == "s0"].T
    assert plan.between == pytest.approx(stats.pearsonr(a, b).statistic)


def test_dimensions_that_only_one_system_is_rated_in():
    rated = draw(200, raters=2, systems=2)
    first = np.array(rated.systems) == "s0"
    own = rated.ratings[:, 0]
    apart = replace(
        rated,
        dimensions=("d", "e"),
        ratings=np.column_stack([np.where(first, own, np.nan), np.where(first, np.nan, own)]),
        by_rater={},
    )
    plans = plan_sample_size_from_pilot(apart, metrics=["a"])
    for plan, system, dimension in zip(plans, ("s0", "s1"), ("d", "e"), strict=True):
        (alone,) = plan_sample_size_from_pilot(
            replace(rated, by_rater={}).take(np.flatnonzero(first == (system == "s0"))), metrics=["a"]
        )
        assert plan.dimension == dimension
        assert (plan.first_value, plan.needed) == (pytest.approx(alone.first_value), alone.needed)


def test_a_dimension_without_ratings_changes_nothing():
    rated = replace(draw(200, raters=2, systems=2), by_rater={})
    ratings = np.column_stack([rated.ratings, np.full(200, np.nan)])
    plans, expected = (
        plan_sample_size_from_pilot(given, metrics=["a"])
        for given in (replace(rated, dimensions=("d", "e"), ratings=ratings), rated)
    )
    assert plans == expected
