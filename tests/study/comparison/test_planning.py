from dataclasses import replace
from math import atanh, sqrt, tanh

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.comparison.compare import compare
from imapeval.study.comparison.planning import CEILING, SizePlan, plan_width
from imapeval.study.comparison.power import plan_sample_size_from_pilot
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.rated import Rated
from tests.study.answers import make_rated


def make_pilot(answers: int = 200, *, raters: int = 3, systems: int = 1, noise: float = 0.9) -> Rated:
    rng = np.random.default_rng(4)
    worth = rng.normal(size=answers)
    ratings = worth[:, None] + noise * rng.normal(size=(answers, raters))
    return make_rated(
        worth + rng.normal(size=answers), systems=np.arange(answers) % systems, by_rater={"quality": ratings}
    )


def add_metric(pilot: Rated) -> Rated:
    """Add a metric that sees the worth, as `m` does, with more noise."""
    rng = np.random.default_rng(5)
    other = pilot.scores + 1.5 * rng.normal(size=pilot.scores.shape)
    return replace(pilot, metrics=("m", "o"), scores=np.hstack([pilot.scores, other]))


def test_the_pilots_difference_again():
    """As many raters and the width that the pilot's difference has: the pilot's number of answers."""
    pilot = add_metric(make_pilot(400))
    (row,) = compare(pilot, against="o", level="global", coefficient="pearson", resamples=1)
    plans = plan_width(pilot, row.high - row.low, against="o", level="global", coefficient="pearson")
    (plan,) = [plan for plan in plans if (plan.second, plan.raters) == ("o", 3)]
    assert (plan.metric, plan.value) == ("m", pytest.approx(-row.difference))
    assert plan.answers == pytest.approx(400, abs=8)


def test_reliability_within_systems_is_planned_with_within_systems():
    """What systems differ by makes ratings reliable over all answers, and does not within a system."""
    pilot = make_pilot(3000, systems=2)
    by_system = np.where(np.arange(3000) % 2, 3.0, 0.0)[:, None]
    pilot = replace(
        pilot, ratings=pilot.ratings + by_system, by_rater={"quality": pilot.by_rater["quality"] + by_system}
    )
    plans = plan_width(pilot, 0.1, coefficient="pearson", raters=3)
    one, three = (find(plans, "m", count).value for count in (1, 3))
    # Worth 1, noise .81 / k.
    assert one / three == pytest.approx(sqrt((1 + 0.81 / 3) / 1.81), abs=0.02)


def find(plans: list[SizePlan], metric: str, raters: int | None) -> SizePlan:
    (plan,) = [plan for plan in plans if (plan.metric, plan.raters) == (metric, raters)]
    return plan


def test_the_pilot_again():
    """As many raters and the width that the pilot has: the pilot's number of answers."""
    pilot = make_pilot()
    (row,) = correlate(pilot, coefficients=["pearson"], levels=["global"])
    plan = find(plan_width(pilot, row.high - row.low, level="global", coefficient="pearson"), "m", 3)
    assert plan.value == pytest.approx(row.value)
    assert plan.answers == pytest.approx(200, abs=4)
    assert plan.ratings == 3 * plan.answers


def test_a_pilot_of_few_questions_does_not_make_a_large_study_larger():
    """The pilot's interval is widened by Student's quantile and sqrt(n / (n - 1)) (Hesterberg 2015); by scipy."""
    pilot = make_pilot(20)
    (row,) = correlate(pilot, coefficients=["pearson"], levels=["global"])
    plan = find(plan_width(pilot, 0.1, level="global", coefficient="pearson"), "m", 3)

    def widen(n: int) -> float:
        return float(stats.t.ppf(0.975, n - 1)) * sqrt(n / (n - 1))

    error = (atanh(row.high) - atanh(row.low)) / 2 / widen(row.n) * sqrt((row.n - 3) / (plan.answers - 3))
    reach = widen(plan.answers) * error
    assert tanh(atanh(plan.value) + reach) - tanh(atanh(plan.value) - reach) == pytest.approx(0.1, rel=0.01)


def test_a_pilot_of_few_systems_does_not_make_a_large_study_larger():
    """Intervals about other systems have Student's quantile of systems - 1; by scipy."""
    pilot = make_pilot(240, systems=8)
    (row,) = correlate(pilot, coefficients=["pearson"], levels=["system"], units="systems")
    plan = find(plan_width(pilot, 0.2, coefficient="pearson"), "m", None)
    before, after = (float(stats.t.ppf(0.975, n - 1)) for n in (8, plan.answers))
    reach = after * (atanh(row.high) - atanh(row.low)) / 2 / before * sqrt((8 - 3) / (plan.answers - 3))
    assert tanh(atanh(plan.value) + reach) - tanh(atanh(plan.value) - reach) == pytest.approx(0.2, rel=0.02)


def test_a_difference_in_few_answers_is_planned_with_students_quantile():
    """The interval of `compare` is the difference and Student's quantile times its standard error; by scipy."""
    pilot = add_metric(make_pilot(200))
    (row,) = compare(pilot, against="o", level="global", coefficient="pearson", resamples=1)
    plans = plan_width(pilot, 0.6, against="o", level="global", coefficient="pearson")
    (plan,) = [plan for plan in plans if (plan.second, plan.raters) == ("o", 3)]
    before, after = (float(stats.t.ppf(0.975, n - 1)) for n in (200, plan.answers))
    width = (row.high - row.low) * after / before * sqrt((200 - 3) / (plan.answers - 3))
    assert width == pytest.approx(0.6, rel=0.03)


def test_independent_answers_need_fishers_number():
    """Fisher's interval by hand: of independent answers the design effect is about 1."""
    pilot = make_pilot(2000)
    plan = find(plan_width(pilot, 0.1, level="global", coefficient="pearson"), "m", 3)
    reach = 1.959963984540054 / sqrt(plan.answers - 3)
    assert tanh(atanh(plan.value) + reach) - tanh(atanh(plan.value) - reach) == pytest.approx(0.1, rel=0.05)


def test_more_raters_see_more():
    pilot = make_pilot(3000)
    plans = plan_width(pilot, 0.1, level="global", coefficient="pearson", raters=4)
    values = [find(plans, "m", count).value for count in (1, 2, 3, 4)]
    # Worth 1, noise .81 / k; the metric is worth and as much noise: r = sqrt(.5) sqrt(1 / (1 + .81 / k)).
    assert values == pytest.approx([sqrt(0.5 / (1 + 0.81 / k)) for k in (1, 2, 3, 4)], abs=0.02)
    ceilings = [find(plans, CEILING, count).value for count in (2, 3, 4)]
    assert ceilings == pytest.approx([sqrt(1 / (1 + 0.81 / k)) for k in (2, 3, 4)], abs=0.02)


def test_the_ceiling_by_feldts_interval():
    """The planned number is the smallest with that width, by scipy's F and the pilot's reliability."""
    plan = find(plan_width(make_pilot(2000), 0.1, level="global", raters=3), CEILING, 3)
    widths = []
    for n in (plan.answers - 1, plan.answers):
        ends = [1 - (1 - plan.value**2) * stats.f.ppf(p, n - 1, 2 * (n - 1)) for p in (0.025, 0.975)]
        widths.append(sqrt(ends[0]) - sqrt(ends[1]))
    assert widths[0] > 0.1 >= widths[1]


def test_averages_alone_and_systems():
    pilot = make_pilot(240, systems=8)
    bare = replace(pilot, raters=(), by_rater={})
    plans = plan_width(bare, 0.2, coefficient="pearson")
    assert [(plan.level, plan.raters, plan.ratings) for plan in plans] == [
        ("within-system", None, None),
        ("system", None, None),
    ]
    assert plans[1].pilot == 8
    # Systems have no raters, so nothing is missing there.
    assert [plan.reason is not None for plan in plans] == [True, False]


def test_a_system_whose_raters_do_not_agree_is_named():
    pilot = make_pilot(120, systems=2)
    noise = np.random.default_rng(1).normal(size=(60, 3))
    ratings = pilot.by_rater["quality"].copy()
    ratings[np.array(pilot.systems) == pilot.systems[0]] = noise - noise.mean(axis=1, keepdims=True)
    plans = plan_width(replace(pilot, by_rater={"quality": ratings}), 0.2, coefficient="pearson")
    (plan,) = [plan for plan in plans if plan.metric == "m"]
    assert (plan.raters, plan.ratings) == (None, None)
    assert plan.answers
    assert plan.reason
    assert plan.reason.startswith(f"{pilot.systems[0]}: ")


def test_raters_who_always_agree_say_nothing_about_other_numbers_of_raters():
    pilot = make_pilot(60)
    alike = np.repeat(pilot.ratings, 2, axis=1)
    pilot = replace(pilot, raters=("p", "q"), by_rater={"quality": alike})
    (plan,) = [plan for plan in plan_width(pilot, 0.2, coefficient="pearson") if plan.metric == "m"]
    assert plan.raters is None
    assert plan.reason
    with pytest.raises(UsageError, match="quality"):
        plan_sample_size_from_pilot(pilot, raters=3)


def test_correlations_that_cannot_occur_together_are_not_planned():
    """Two metrics with little noise, and raters with much: corrected for it, the metrics would have to be one."""
    rng = np.random.default_rng(10)
    worth = rng.normal(size=30)
    ratings = np.stack([worth + rng.normal(size=30) * 1.3 for _ in range(2)], axis=1)
    pilot = replace(
        make_pilot(30, raters=2),
        metrics=("a", "b"),
        scores=np.stack([worth + rng.normal(size=30) * 0.35 for _ in range(2)], axis=1),
        ratings=ratings.mean(axis=1)[:, None],
        by_rater={"quality": ratings},
    )
    *possible, impossible = [plan for plan in plan_width(pilot, 0.2, against="a") if plan.second]
    assert (impossible.raters, impossible.value, impossible.answers) == (5, None, None)
    assert impossible.reason
    assert all(plan.reason is None for plan in possible if plan.answers)


@pytest.mark.parametrize("width", [0.0, -0.1, 2.0, float("nan")])
def test_a_width_is_possible(width: float):
    with pytest.raises(UsageError, match="width"):
        plan_width(make_pilot(), width)


def test_too_small_a_pilot_says_so():
    plans = plan_width(make_pilot(3), 0.2, level="global")
    assert all(plan.answers is None and plan.reason for plan in plans if plan.metric == "m")


def test_a_system_without_ratings_leaves_the_plan_of_the_other():
    pilot = make_pilot(200, systems=2)
    first = np.array(pilot.systems) == "s0"
    bare = replace(pilot, ratings=np.where(first[:, None], pilot.ratings, np.nan), raters=(), by_rater={})
    (plan,) = plan_width(bare, 0.3)
    (alone,) = plan_width(bare.take(np.flatnonzero(first)), 0.3)
    assert plan == alone
    assert plan.answers is not None
