from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from imapeval.study.agreement.noise_ceiling import Ceiling, correct_for_attenuation, find_ceilings, find_ratio_interval
from imapeval.study.arrays import Floats
from imapeval.study.data.findings import ALL, Correlation
from tests.study.answers import make_rated

Ends = tuple[float, float, float]


def simulate(n: int, noise: float, *, leniency: Floats, seed: int = 0) -> tuple[Floats, Floats]:
    """Return what answers are worth, variance 1, and what raters say, who differ in strictness and err alike."""
    generator = np.random.default_rng(seed)
    truth = generator.normal(size=n)
    return truth, truth[:, None] + leniency + noise * generator.normal(size=(n, len(leniency)))


def test_cronbachs_alpha(expected: dict[str, Any], complete: Floats):
    # Cronbach's alpha: k / (k - 1) (1 - sum of the raters' variances / variance of the sums).
    alpha = 3 / 2 * (1 - complete.var(axis=0, ddof=1).sum() / complete.sum(axis=1).var(ddof=1))
    ceiling = find_ceilings(make_rated(by_rater={"a": complete}))[0]
    assert ceiling.reliability == pytest.approx(alpha)
    assert ceiling.reliability == pytest.approx(expected["pingouin"]["ICC(3,k)"][0])
    assert ceiling.value == pytest.approx(alpha**0.5)
    assert (ceiling.n, ceiling.raters) == (60, 3)


def test_the_truth_reaches_it_and_no_more():
    truth, ratings = simulate(20_000, 1.0, leniency=np.array([-0.5, 0.0, 0.7]))
    mean = ratings.mean(axis=1)
    reached = {
        "pearson": stats.pearsonr(truth, mean).statistic,
        "spearman": stats.spearmanr(truth, mean).statistic,
        "kendall_tau_b": stats.kendalltau(truth, mean).statistic,
    }
    ceilings = {row.coefficient: row for row in find_ceilings(make_rated(by_rater={"a": ratings}))}
    assert {name: row.value for name, row in ceilings.items()} == pytest.approx(reached, abs=0.01)
    # Three raters whose error varies as answers do: 3 / (3 + 1).
    assert ceilings["pearson"].reliability == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("prevalence", [0.5, 0.9])
@pytest.mark.parametrize("some", [False, True])
def test_in_ranks_the_truth_reaches_it_against_yes_and_no(prevalence: float, some: bool):
    truth, ratings = simulate(40_000, 0.7, leniency=np.array([-0.4, 0.0, 0.4]))
    answers = (ratings > np.quantile(ratings, 1 - prevalence)).astype(np.float64)
    if some:
        answers[np.random.default_rng(1).random(answers.shape) < 1 / 3] = np.nan
    rated = np.flatnonzero(np.isfinite(answers).any(axis=1))
    means = np.nanmean(answers[rated], axis=1)
    ceilings = {row.coefficient: row for row in find_ceilings(make_rated(by_rater={"a": answers[rated]}))}
    assert ceilings["spearman"].value == pytest.approx(stats.spearmanr(truth[rated], means).statistic, abs=0.01)
    assert ceilings["kendall_tau_b"].value == pytest.approx(stats.kendalltau(truth[rated], means).statistic, abs=0.01)


def test_in_ranks_raters_who_differ_in_strictness_and_miss_answers():
    """Of five raters 31 sets rate an answer; their strictness varies less than that of raters drawn anew."""
    truth, ratings = simulate(1500, 0.5, leniency=np.array([-1.0, -0.5, 0.0, 0.5, 1.0]))
    answers = np.clip(np.round((2.5 + 1.2 * ratings) * 2) / 2, 0, 5)
    answers[np.random.default_rng(1).random(answers.shape) < 1 / 3] = np.nan
    rated = np.flatnonzero(np.isfinite(answers).any(axis=1))
    means = np.nanmean(answers[rated], axis=1)
    ceilings = {row.coefficient: row for row in find_ceilings(make_rated(by_rater={"a": answers[rated]}))}
    assert ceilings["spearman"].value == pytest.approx(stats.spearmanr(truth[rated], means).statistic, abs=0.02)
    assert ceilings["kendall_tau_b"].value == pytest.approx(stats.kendalltau(truth[rated], means).statistic, abs=0.02)


def test_in_ranks_ties_on_a_fine_scale_are_refused():
    _, ratings = simulate(300, 0.7, leniency=np.zeros(2))
    fine = np.minimum(np.round(20 * ratings + 70), 80.0)
    pearson, *ranks = find_ceilings(make_rated(by_rater={"a": fine}))
    assert pearson.value is not None
    assert all(row.value is None and "% of the mean ratings are equal" in (row.reason or "") for row in ranks)
    assert all(row.value is not None for row in find_ceilings(make_rated(by_rater={"a": np.round(20 * ratings + 70)})))


def test_each_level_has_its_own_ceiling():
    truth, ratings = simulate(6000, 1.0, leniency=np.zeros(3))
    # Three systems 3 points apart: all answers together are easy to rank, those of one system are not.
    system = np.arange(6000) % 3
    ratings += 3 * system[:, None]
    rated = replace(make_rated(by_rater={"a": ratings}), systems=tuple("xyz"[number] for number in system))
    rows = {(row.level, row.coefficient): row for row in find_ceilings(rated)}
    assert {level for level, _ in rows} == {"global", "within-system"}
    for name, compute in (
        ("pearson", stats.pearsonr),
        ("spearman", stats.spearmanr),
        ("kendall_tau_b", stats.kendalltau),
    ):
        means = ratings.mean(axis=1)
        pooled = compute(truth + 3 * system, means).statistic
        within = np.mean([compute(truth[system == one], means[system == one]).statistic for one in range(3)])
        assert rows["within-system", name].value == pytest.approx(within, abs=0.01)
        if name == "pearson":
            assert rows["global", name].value == pytest.approx(pooled, abs=0.01)
        assert rows["within-system", name].low < within < rows["within-system", name].high < pooled


def test_a_system_whose_raters_disagree_leaves_no_ceiling_within_systems():
    _, ratings = simulate(80, 0.5, leniency=np.zeros(2))
    ratings[40:] = np.array([[1.0, 3.0], [3.0, 1.0]] * 20)
    ratings[41:45] += 0.1
    rated = replace(make_rated(by_rater={"a": ratings}), systems=("x",) * 40 + ("y",) * 40)
    rows = [row for row in find_ceilings(rated) if row.level == "within-system"]
    assert len(rows) == 3
    assert all(row.value is None and (row.reason or "").startswith("y: raters agree no better") for row in rows)


def test_strictness_is_noise_where_raters_differ_from_answer_to_answer():
    truth, ratings = simulate(20_000, 0.7, leniency=np.array([-1.0, 0.0, 1.0, 2.0]))
    generator = np.random.default_rng(1)
    # One to four of the raters, drawn anew for each answer.
    drawn = generator.permuted(np.tile(np.arange(4), (20_000, 1)), axis=1)
    ratings[drawn >= generator.integers(1, 5, size=20_000)[:, None]] = np.nan
    rated = make_rated(by_rater={"a": ratings})
    ceiling = find_ceilings(rated)[0]
    reached = stats.pearsonr(truth, rated.ratings_of("a")).statistic
    assert ceiling.value == pytest.approx(reached, abs=0.01)
    assert ceiling.raters == pytest.approx(2.5, abs=0.05)


def test_the_interval_is_of_questions():
    _, ratings = simulate(120, 1.0, leniency=np.zeros(3))
    twice = np.repeat(ratings, 2, axis=0)
    alone = find_ceilings(make_rated(by_rater={"a": ratings}))[0]
    doubled = make_rated(by_rater={"a": twice}, questions=np.repeat(np.arange(120), 2).tolist())
    together = find_ceilings(doubled)[0]
    # Answers that stand there twice add nothing that is new.
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=0.005)
    assert alone.low < alone.value < alone.high < 1


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[1.0, np.nan], [2.0, np.nan]], "1 rater;"),
        ([[1.0, 3.0], [3.0, 1.0], [2.0, 3.0]], "no better than chance (reliability of their mean -"),
        ([[5.0, 5.0]] * 10 + [[5.0, 4.0], [4.0, 5.0]], "22 of 24 ratings are 5"),
        ([[1.0, 3.0], [3.0, 1.0], [2.0, 2.0]], "undefined: mean ratings do not differ"),
        ([[2.0, 2.0], [2.0, 2.0]], "all ratings are 2"),
    ],
)
def test_refused(table: list[list[float]], reason: str):
    rows = find_ceilings(make_rated(by_rater={"a": np.array(table)}))
    assert len(rows) == 3
    for row in rows:
        assert row.value is None
        assert row.low is None
        assert reason in row.reason


def test_a_system_with_answers_to_one_question_only():
    """No warning either, which is an error here: without that question, the system has no answers."""
    ratings = np.array([[1, 1, 2], [2, 2, 2], [4, 3, 4], [5, 5, 4], [1, 1, 1], [3, 3, 4], [5, 5, 5]], dtype=np.float64)
    rated = make_rated(by_rater={"a": ratings}, questions=[0, 1, 2, 3, 4, 4, 4])
    rows = find_ceilings(replace(rated, systems=tuple("xxxxyyy")))
    assert {row.level for row in rows if row.value is not None} == {"global", "within-system"}


def test_averages_are_refused():
    rows = find_ceilings(make_rated(ratings={"accuracy": np.array([1.0, 2.0, 5.0])}))
    assert [row.coefficient for row in rows] == ["pearson", "spearman", "kendall_tau_b"]
    assert all(row.value is None and row.reason and "what each rater gave" in row.reason for row in rows)


def correlation(value: float | None, low: float | None, high: float | None) -> Correlation:
    return Correlation("m", "*", "a", "pearson", value, low, high, n=200, n_missing=0, level="global")


def ceiling(value: float | None, low: float | None, high: float | None) -> Ceiling:
    return Ceiling("a", "pearson", None if value is None else value**2, value, low, high, n=200, raters=3.0)


def test_attenuation():
    (row,) = correct_for_attenuation([correlation(0.6, 0.5, 0.7)], [ceiling(0.8, 0.75, 0.85)])
    assert row.corrected == pytest.approx(0.75)
    # The interval is wider than that of the value by a ceiling that is known, .625 to .875.
    assert row.low < 0.5 / 0.8
    assert row.high > 0.7 / 0.8
    assert row.reason is None


def test_the_ratio_of_normals():
    # Donner and Zou's interval keeps close to Fieller's for normal estimates with symmetric intervals.
    z, x, y, se_x, se_y = 1.96, 0.6, 0.8, 0.05, 0.02
    a, b, c = y**2 - z**2 * se_y**2, -2 * x * y, x**2 - z**2 * se_x**2
    root = (b**2 - 4 * a * c) ** 0.5
    ends = find_ratio_interval((x, x - z * se_x, x + z * se_x), (y, y - z * se_y, y + z * se_y))
    assert ends == pytest.approx(((-b - root) / (2 * a), (-b + root) / (2 * a)))


@pytest.mark.parametrize("above", [(0.6, 0.5, 0.7), (0.5, 0.5, 0.5), (0.1, -0.1, 0.3)])
@pytest.mark.parametrize("below", [(0.8, 0.75, 0.85), (0.8, 0.6, 0.9)])
def test_the_interval_of_the_opposite_is_its_mirror_image(above: Ends, below: Ends):
    value, low, high = above
    ends = find_ratio_interval((-value, -high, -low), below)
    mirrored = find_ratio_interval(above, below)
    assert ends == pytest.approx((-mirrored[1], -mirrored[0]))


def test_the_ratio_of_a_known_value():
    assert find_ratio_interval((-0.5, -0.5, -0.5), (0.8, 0.6, 0.9)) == pytest.approx((-0.5 / 0.6, -0.5 / 0.9))


def test_above_1_is_shown_with_a_note():
    (row,) = correct_for_attenuation([correlation(0.85, 0.8, 0.9)], [ceiling(0.8, 0.75, 0.85)])
    assert row.corrected == pytest.approx(1.0625)
    assert row.reason.startswith("above 1")


def test_a_ceiling_too_uncertain():
    (row,) = correct_for_attenuation([correlation(0.3, 0.2, 0.4)], [ceiling(0.4, 0.0, 0.7)])
    assert row.corrected == pytest.approx(0.75)
    assert (row.low, row.high) == (None, None)
    assert row.reason == "the ceiling is too uncertain for an interval"


def test_what_is_not_corrected():
    good, top = correlation(0.6, 0.5, 0.7), ceiling(0.8, 0.75, 0.85)
    cases = [
        (replace(good, coefficient="kendall_tau_b"), top, "for pearson and spearman"),
        (replace(good, level="within-system"), top, "the coefficient is within-system"),
        (replace(good, value=None, low=None, high=None, reason="scores are constant (1)"), top, "scores are constant"),
        (good, replace(top, dimension="b"), "no ceiling is known for a"),
        (replace(good, dimension=ALL), top, "a mean over dimensions has no ceiling of its own"),
        (good, replace(top, value=None, reason="only averages"), "only averages"),
    ]
    for row, known, reason in cases:
        (found,) = correct_for_attenuation([row], [known])
        assert found.corrected is None
        assert reason in found.reason
