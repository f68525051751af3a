from typing import get_args

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.correlation.coefficients import all_coefficients
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL, CoefficientName, Correlation, Level
from imapeval.study.data.rated import Rated
from tests.study.answers import make_rated

NAN = float("nan")


def pick(rows: list[Correlation], **wanted: object) -> Correlation:
    (row,) = [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]
    return row


SCORES = [0.1, 0.3, 0.2, 0.2, 0.9, NAN, 0.7]
RATINGS = [1.0, 2.0, 2.0, 4.0, 5.0, 3.0, NAN]
ONE = make_rated({"m": SCORES}, {"accuracy": RATINGS})


def test_failures_and_unrated_answers_are_left_out_and_counted():
    rows = correlate(ONE)
    assert [row.coefficient for row in rows] == ["spearman", "kendall_tau_b"]  # one cell: a mean would repeat it
    rho, tau = rows
    x, y = [0.1, 0.3, 0.2, 0.2, 0.9], [1, 2, 2, 4, 5]
    assert (rho.n, rho.n_missing, rho.questions, rho.reason, rho.level) == (5, 1, 5, None, "within-system")
    assert rho.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert tau.value == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert -1 <= rho.low < rho.value < rho.high <= 1
    assert (rho.interval, rho.groups) == ("bca", 1)


def test_a_low_score_that_is_good_is_turned_round():
    turned = make_rated({"m": SCORES}, {"accuracy": RATINGS}, lower_is_better=frozenset({"m"}))
    assert correlate(turned)[0].value == pytest.approx(-correlate(ONE)[0].value)
    flat = make_rated({"m": [2.0] * len(SCORES)}, {"accuracy": RATINGS}, lower_is_better=frozenset({"m"}))
    assert correlate(flat)[0].reason == "the score is constant (2)"


def test_the_mean_of_systems_and_what_it_leaves_out():
    systems = ["s"] * 7 + ["t"] * 4 + ["u"] * 4
    scores = [*SCORES, 0.0, 0.1, 0.2, 0.3, 0.0, -0.1, -0.2, -0.3]
    ratings = [*RATINGS, 3.0, 3.0, 3.0, 3.0, 0.0, 1.0, 2.0, 3.0]
    rows = correlate(make_rated({"m": scores}, {"accuracy": ratings}, systems=systems), coefficients=["spearman"])
    assert [row.system for row in rows] == ["s", "t", "u", ALL]
    flat = pick(rows, system="t")
    assert (flat.value, flat.low, flat.high, flat.interval) == (None, None, None, None)
    assert flat.reason == "the rating is constant (3)"
    mean = pick(rows, system=ALL)
    assert mean.value == pytest.approx((pick(rows, system="s").value - 1) / 2)
    assert (mean.dimension, mean.n, mean.n_missing, mean.groups) == (ALL, 13, 1, 2)
    assert mean.reason == "1 of 3 coefficients are undefined and left out: the rating is constant (3)"


def draw_rated(n: int = 60, systems: int = 3, seed: int = 0) -> Rated:
    """Every system answers every question; two metrics, two dimensions, some numbers missing."""
    random = np.random.default_rng(seed)
    questions = np.tile(np.arange(n // systems), systems)
    latent = random.normal(size=n) + 0.7 * random.normal(size=n)[questions]
    scores = latent[:, None] + random.normal(size=(n, 2))
    ratings = np.round(latent[:, None] + random.normal(size=(n, 2)))
    scores[random.random((n, 2)) < 0.1] = NAN
    ratings[random.random((n, 2)) < 0.1] = NAN
    names = tuple(f"s{number}" for number in np.repeat(np.arange(systems), n // systems))
    return make_rated(scores, ratings, questions=questions, systems=names, metrics=("a", "b"), dimensions=("x", "y"))


@pytest.mark.parametrize("name", ["spearman", "kendall_tau_b", "pearson"])
def test_several_dimensions_have_means_of_their_own(name: str):
    rows = correlate(draw_rated(), coefficients=[name], resamples=200)
    for metric in ("a", "b"):
        ours = [row for row in rows if row.metric == metric]
        shown = [(row.system, row.dimension) for row in ours]
        cells = [(f"s{number}", dimension) for number in range(3) for dimension in "xy"]
        assert shown == [*cells, (ALL, "x"), (ALL, "y"), (ALL, ALL)]
        for dimension in "xy":
            values = [row.value for row in ours if row.dimension == dimension and row.system != ALL]
            assert pick(ours, system=ALL, dimension=dimension).value == pytest.approx(np.mean(values))
        assert pick(ours, system=ALL, dimension=ALL).value == pytest.approx(np.mean([row.value for row in ours[:6]]))
        assert ours[-1].groups == 6


def test_global_takes_all_answers_together():
    rated = draw_rated()
    row = pick(correlate(rated, levels=["global"], resamples=100), metric="a", dimension="x", coefficient="spearman")
    there = ~np.isnan(rated.scores[:, 0] + rated.ratings[:, 0])
    expected = stats.spearmanr(rated.scores[there, 0], rated.ratings[there, 0]).statistic
    assert row.value == pytest.approx(expected, abs=1e-12)
    assert (row.system, row.n, row.questions, row.level) == (ALL, there.sum(), 20, "global")


# 5 systems x 12 questions, drawn once at random.
MATRIX = np.array(
    [
        [3.5, 2.5, 2.5, 3.5, 2.0, NAN, 3.0, NAN, 0.0, 1.0, 1.0, 3.0],
        [3.5, 0.0, 1.5, 3.0, 0.5, 3.0, 0.0, 1.5, 3.0, 1.0, 1.0, NAN],
        [2.5, 1.0, 3.5, 1.5, 1.5, NAN, 2.0, 2.0, 2.0, 3.5, 3.0, 3.0],
        [2.5, 2.0, 1.0, 3.5, 1.5, 0.5, 3.0, 0.5, 3.0, 2.0, 0.0, 0.0],
        [1.5, 0.0, 0.5, 2.0, 3.5, 1.5, 3.0, NAN, 3.0, 2.5, 1.5, 2.0],
    ]
)
PEOPLE = np.array(
    [
        [0.5, 1.5, 0.5, 2.0, 4.0, NAN, 3.0, NAN, -1.0, 1.0, 1.0, 3.0],
        [1.0, 0.0, 4.0, 2.0, 2.0, 3.0, -1.5, 5.5, 4.5, -1.5, 1.0, NAN],
        [2.0, 2.5, 3.5, 2.0, 4.5, NAN, 2.5, 1.0, 2.5, 1.0, 2.0, 2.5],
        [4.5, 4.5, -1.5, 2.0, 3.0, -3.5, 2.0, 0.5, 5.5, 3.5, -0.5, -0.5],
        [1.0, 3.0, -0.5, 2.0, 4.0, 1.5, 2.5, NAN, 3.0, 1.5, 4.0, 3.5],
    ]
)


@pytest.mark.parametrize(
    ("level", "name", "expected"),
    [
        ("system", "spearman", 0.39999999999999997),
        ("system", "kendall_tau_b", 0.39999999999999997),
        ("system", "pearson", 0.3763497980451356),
        ("within-question", "spearman", 0.49038665075633153),
        ("within-question", "kendall_tau_b", 0.40480186232468635),
        ("within-question", "pearson", 0.5607614463104941),
        ("global", "spearman", 0.4104107706614159),
        ("global", "kendall_tau_b", 0.2968888785226605),
        ("global", "pearson", 0.4759867192342953),
    ],
)
def test_levels_are_those_of_nlpstats(level: str, name: str, expected: float):
    """nlpstats 0.0.1 `system_level`, `input_level`, `global_level` on these matrices (scipy 1.17.1, numpy 2.4.6)."""
    rated = make_rated(
        {"m": MATRIX.ravel().tolist()},
        {"x": PEOPLE.ravel().tolist()},
        systems=[f"s{number}" for number in range(5) for _ in range(12)],
        questions=[*range(12)] * 5,
    )
    (row,) = correlate(rated, levels=[level], coefficients=[name])
    assert row.value == pytest.approx(expected, abs=1e-12)
    if level == "system":
        # Five systems are too few for an interval over questions.
        assert (row.n, row.low, row.high) == (5, None, None)
    else:
        assert row.low <= row.value <= row.high
    if level == "within-question":
        # In question 3 all ratings are equal; questions 5 and 7 have 3 answers each.
        assert row.groups == 11
        assert row.reason.startswith("1 of 12 questions are left out: fewer than 3 answers by different systems")


def test_a_question_needs_different_systems():
    rated = make_rated(
        {"m": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]},
        {"x": [1.0, 2.0, 4.0, 3.0, 2.0, 1.0]},
        systems=["s", "t", "u", "s", "s", "t"],
        questions=[0, 0, 0, 1, 1, 1],
    )
    row = pick(correlate(rated, levels=["within-question"]), coefficient="spearman")
    assert (row.value, row.groups) == (pytest.approx(1.0), 1)
    accuracy = correlate(rated, levels=["within-question"], coefficients=["pairwise_accuracy"])[0]
    assert (accuracy.value, accuracy.groups, accuracy.epsilon) == (pytest.approx(0.5), 2, 0.0)


def test_a_level_needs_systems():
    (row,) = correlate(ONE, levels=["system"], coefficients=["spearman"])
    assert (row.value, row.low) == (None, None)
    assert row.reason == "1 system has scores and ratings; at least 3 are needed"
    (row,) = correlate(ONE, levels=["within-question"], coefficients=["spearman"])
    assert (row.value, row.groups) == (None, 0)
    assert row.reason.startswith("6 of 6 questions are left out")


def test_equal_systems_have_no_coefficient():
    rated = make_rated({"m": [1.0, 2.0] * 3}, {"x": [1.0, 2.0] * 3}, systems=["s", "s", "t", "t", "u", "u"])
    (row,) = correlate(rated, levels=["system"], coefficients=["spearman"])
    assert (row.value, row.reason) == (None, "the systems' mean scores or mean ratings are all equal")


def test_pairwise_accuracy_names_its_threshold():
    rated = make_rated({"m": [0.0, 2.0, 6.0, 8.0]}, {"x": [1.0, 1.0, 1.0, 4.0]})  # mt-metrics-eval, see test_pairs
    (row,) = correlate(rated, coefficients=["pairwise_accuracy"])
    assert (row.value, row.epsilon) == (pytest.approx(4 / 6), 4.0)
    assert 0 <= row.low <= row.value <= row.high <= 1


def test_one_question_has_no_interval():
    rated = make_rated({"m": [0.0, 1, 2, 3, 4]}, {"x": [0.0, 1, 2, 3, 4]}, questions=[7] * 5)
    row = correlate(rated)[0]
    assert (row.value, row.low, row.high, row.interval) == (pytest.approx(1.0), None, None, None)


def test_questions_are_drawn_whole():
    """A second, equal answer to each question adds rows but no knowledge: the interval stays as it is."""
    ratings = [float(n % 7) for n in range(30)]
    scores = [((7 * n) % 11) / 11 + n % 7 / 5 for n in range(30)]
    single = correlate(make_rated({"m": scores}, {"x": ratings}))
    double = correlate(make_rated({"m": scores * 2}, {"x": ratings * 2}, questions=[*range(30)] * 2))
    for one, two in zip(single, double, strict=True):
        assert (one.n, two.n, two.questions) == (30, 60, 30)
        assert (two.value, two.low, two.high) == pytest.approx((one.value, one.low, one.high), abs=1e-12)


def test_undefined_resamples_widen_the_interval():
    """With four rows every third resample or so has one score only: the coefficient could be anything there."""
    row = correlate(make_rated({"m": [1.0, 2, 2, 2]}, {"x": [1.0, 2, 3, 4]}), coefficients=["spearman"])[0]
    assert (row.low, row.high) == (-1.0, 1.0)
    # All four draws miss the first row, or all are it.
    assert row.undefined == pytest.approx((3 / 4) ** 4 + (1 / 4) ** 4, abs=0.03)


def test_the_seed_decides():
    rated = draw_rated()
    assert correlate(rated, resamples=50, seed=1) == correlate(rated, resamples=50, seed=1)
    assert correlate(rated, resamples=50, seed=1) != correlate(rated, resamples=50, seed=2)


def test_metrics_do_not_depend_on_each_other():
    """Blocks of columns with the same answers are computed together; the numbers must not show it."""
    rated = draw_rated()
    for level in ("within-system", "global", "within-question", "system"):
        together = correlate(rated, levels=[level], resamples=50)
        apart = [row for metric in "ab" for row in correlate(rated, levels=[level], metrics=[metric], resamples=50)]
        assert [(row.metric, row.n, row.reason) for row in together] == [(r.metric, r.n, r.reason) for r in apart]
        for one, other in zip(together, apart, strict=True):
            assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-9)


def test_many_answers_have_linear_intervals(monkeypatch: pytest.MonkeyPatch):
    rated = draw_rated(n=600)
    drawn = correlate(rated, resamples=1000)
    monkeypatch.setattr("imapeval.study.correlation.levels.MAX_RESAMPLED", 100)
    linear = correlate(rated)
    assert {row.interval for row in drawn} == {"bca"}
    assert {row.interval for row in linear} == {"jackknife"}
    for one, other in zip(drawn, linear, strict=True):
        assert one.value == other.value
        length = one.high - one.low
        # A standard error is a fourth of the length. Of it, skewness moves an end of a cell of 200 answers by about
        # 1 / sqrt(200), and 1,000 resamples by .08.
        assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=length / 15)


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (level, name)
        for level in get_args(Level)
        for name, coefficient in all_coefficients().items()
        if level == "system" or not coefficient.system_level_only
    ],
)
@pytest.mark.parametrize(
    ("scores", "ratings"),
    [
        ([NAN] * 12, [1.0, 2.0, 3.0] * 4),
        ([1.0, 2.0, 3.0] * 4, [3.0] * 12),
        ([0.1] * 12, [3.0] * 12),
        ([1.0] + [NAN] * 11, [1.0, 2.0, 3.0] * 4),
    ],
    ids=["no score", "ratings equal", "all ties", "one score"],
)
def test_what_has_no_coefficient_says_why(level: Level, name: CoefficientName, scores: list, ratings: list):
    systems = [system for system in "stuv" for _ in range(3)]
    rated = make_rated({"m": scores}, {"x": ratings}, systems=systems, questions=[0, 1, 2] * 4)
    rows = correlate(rated, levels=[level], coefficients=[name], resamples=20)
    assert rows
    for row in rows:
        assert (row.value, row.low, row.high) == (None, None, None)
        assert row.reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["rouge9"]}, "'rouge9'"),
        ({"coefficients": ["gamma"]}, "'gamma'"),
        ({"levels": ["answer"]}, "'answer'"),
        ({"coefficients": ["soft_pairwise_accuracy"]}, "compares systems"),
        ({"confidence": 95}, "0.*1"),
    ],
)
def test_bad_usage(arguments: dict, message: str):
    with pytest.raises(UsageError, match=message):
        correlate(ONE, **arguments)


def test_no_metrics():
    assert correlate(ONE, metrics=[]) == []
    assert correlate(make_rated(None, {"x": [1.0, 2.0]})) == []


def test_no_ratings_at_all():
    with pytest.raises(UsageError, match="--ratings"):
        correlate(make_rated({"m": [1.0, 2.0]}, {"x": [NAN, NAN]}))


def test_intervals_between_systems_hold():
    # benchmarks/level_coverage.py: BCa held Pearson's r in 77% of these studies.
    systems, questions, times = 6, 15, 60
    number, question = np.divmod(np.arange(systems * questions), questions)
    ends, values = np.empty((times, 2)), np.empty(times)
    for seed in range(times):
        generator = np.random.default_rng(seed)
        quality = 0.2 * number + 0.5 * generator.normal(size=questions)[question] + generator.normal(size=len(number))
        rated = make_rated(
            quality[:, None] + generator.normal(size=(len(number), 1)),
            quality[:, None] + 0.5 * generator.normal(size=(len(number), 1)),
            questions=question,
            systems=number,
            dimensions=("d",),
        )
        (row,) = correlate(rated, coefficients=("pearson",), levels=("system",), resamples=399, seed=seed)
        assert row.interval == "bootstrap"
        values[seed], ends[seed] = row.value, (row.low, row.high)
    held = (ends[:, 0] <= values.mean()) & (values.mean() <= ends[:, 1])
    assert held.mean() >= 0.93
