import numpy as np
import pytest
from scipy import stats

from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.intervals.bootstrap import draw_resamples
from imapeval.study.intervals.coefficients import bca_intervals, jackknife_intervals
from imapeval.study.intervals.quantiles import small_sample_quantile

COUNT = np.array([[40]])


def draw_skewed(rows: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.normal(size=rows)
    return np.exp(x), np.exp(0.8 * x + 0.6 * random.normal(size=rows))


def bootstrap(name: str, x: np.ndarray, y: np.ndarray, codes: np.ndarray, resamples: int, confidence: float = 0.95):
    clusters = int(codes.max()) + 1
    value, rows = find_coefficient(name).with_influences(x, y)
    replicates = find_coefficient(name).resample(
        x[None], y[None], draw_resamples(clusters, seed=1, resamples=resamples), codes=codes
    )
    influences = np.bincount(codes, rows)[:, None, None]
    ends = bca_intervals(
        np.array([[value]]),
        replicates,
        replicates,
        influences=influences,
        clusters=np.array([[clusters]]),
        bounds=(-1, 1),
        confidence=confidence,
    )
    return float(ends[0][0, 0]), float(ends[1][0, 0])


def correlate_ranks(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return stats.pearsonr(stats.rankdata(x, axis=axis), stats.rankdata(y, axis=axis), axis=axis).statistic


def correlate_numbers(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return stats.pearsonr(x, y, axis=axis).statistic


def ask_scipy(
    x: np.ndarray, y: np.ndarray, statistic, *, method: str = "BCa", resamples: int = 2000, widened: bool = True
):
    """Scipy has no small-sample widening: it is asked for the confidence that ours comes to."""
    confidence = 2 * stats.norm.cdf(small_sample_quantile(len(x), confidence=0.95)) - 1 if widened else 0.95
    return stats.bootstrap(
        (x, y),
        statistic,
        paired=True,
        vectorized=True,
        method=method,
        n_resamples=resamples,
        confidence_level=confidence,
        random_state=np.random.default_rng(2),
    )


@pytest.mark.parametrize("statistic", [correlate_numbers, correlate_ranks])
@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("widened", [True, False])
def test_equal_to_scipy_s_bca_on_the_same_resamples(statistic, seed: int, widened: bool):
    """Scipy takes its acceleration from deleted rows; so the influences given here are."""
    x, y = draw_skewed(40, seed)
    theirs = ask_scipy(x, y, statistic, widened=widened)
    replicates = theirs.bootstrap_distribution[:, None]
    without = np.array([statistic(np.delete(x, row), np.delete(y, row), 0) for row in range(40)])
    low, high = bca_intervals(
        np.array([statistic(x, y, 0)]),
        replicates,
        replicates,
        influences=(without.mean() - without)[:, None],
        clusters=np.array([40]),
        bounds=(-1, 1),
        confidence=0.95,
        widened=widened,
    )
    assert low.item() == pytest.approx(theirs.confidence_interval.low, abs=1e-9)
    assert high.item() == pytest.approx(theirs.confidence_interval.high, abs=1e-9)
    percentile = ask_scipy(x, y, statistic, method="percentile", widened=widened)
    assert abs(percentile.confidence_interval.low - low.item()) > 1e-4  # so the correction is there


@pytest.mark.parametrize(("name", "statistic"), [("pearson", correlate_numbers), ("spearman", correlate_ranks)])
def test_about_scipy_s_bca_on_other_resamples(name: str, statistic):
    random = np.random.default_rng(8)
    x = random.normal(size=60)
    y = x + random.normal(size=60)
    low, high = bootstrap(name, x, y, np.arange(60), 20_000)
    theirs = ask_scipy(x, y, statistic, resamples=20_000).confidence_interval
    # The noise of a 2% quantile of 20,000 is .02 standard errors of about .06 each, and influences differ from what
    # deleting rows gives by 1 / 60.
    assert low == pytest.approx(theirs.low, abs=0.01)
    assert high == pytest.approx(theirs.high, abs=0.01)


def test_copies_in_clusters_add_nothing():
    x, y = draw_skewed(40)
    single = bootstrap("pearson", x, y, np.arange(40), 500)
    double = bootstrap("pearson", np.tile(x, 2), np.tile(y, 2), np.tile(np.arange(40), 2), 500)
    assert double == pytest.approx(single, abs=1e-12)
    value, rows = find_coefficient("pearson").with_influences(np.tile(x, 2), np.tile(y, 2))
    once = linear("pearson", x, y)
    twice = jackknife_intervals(
        np.array([[value]]),
        influences=np.bincount(np.tile(np.arange(40), 2), rows)[:, None, None],
        clusters=COUNT,
        bounds=(-1, 1),
        confidence=0.95,
    )
    assert np.array(twice).ravel() == pytest.approx(once)


def linear(name: str, x: np.ndarray, y: np.ndarray, bounds=(-1.0, 1.0)) -> np.ndarray:
    value, rows = find_coefficient(name).with_influences(x, y)
    ends = jackknife_intervals(
        np.array([[value]]),
        influences=rows[:, None, None],
        clusters=np.array([[len(x)]]),
        bounds=bounds,
        confidence=0.95,
    )
    return np.array(ends).ravel()


def test_of_many_normal_rows_pearson_s_interval_is_fisher_s():
    random = np.random.default_rng(0)
    x = random.normal(size=20_000)
    y = 0.5 * x + random.normal(size=20_000)
    fisher = stats.pearsonr(x, y).confidence_interval(0.95)
    # The standard error of a standard error of 20,000 rows is about 1%, of half a length of .011.
    assert linear("pearson", x, y) == pytest.approx([fisher.low, fisher.high], abs=0.0004)


@pytest.mark.parametrize("name", ["spearman", "kendall_tau_b", "kendall_tau_c", "pearson"])
def test_the_two_kinds_agree_among_many(name: str):
    random = np.random.default_rng(5)
    x = random.normal(size=900)
    y = np.clip(np.round(x + random.normal(size=900)), -2, 2)  # every resample has all levels: tau-c counts them
    low, high = bootstrap(name, x, y, np.arange(900), 2000)
    # .06 standard errors of Monte Carlo and .03 of skewness are a tenth of a half length in five.
    assert linear(name, x, y) == pytest.approx([low, high], abs=(high - low) / 25)


def test_more_confidence_widens_it():
    x, y = draw_skewed(30)
    narrow = bootstrap("spearman", x, y, np.arange(30), 2000, confidence=0.8)
    wide = bootstrap("spearman", x, y, np.arange(30), 2000, confidence=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_undefined_replicates_widen_and_one_cluster_has_none():
    lows = np.linspace(0.4, 0.6, 100)[:, None]
    highs = lows.copy()
    lows[:10], highs[:10] = -1, 1
    arguments = {"influences": np.zeros((9, 1)), "bounds": (-1, 1), "confidence": 0.95}
    ends = bca_intervals(np.array([0.5]), lows, highs, clusters=np.array([9]), **arguments)
    assert (ends[0].item(), ends[1].item()) == (-1.0, 1.0)
    none = bca_intervals(np.array([0.5]), lows, highs, clusters=np.array([1]), **arguments)
    assert np.isnan(none).all()
    absent = bca_intervals(np.array([np.nan]), lows, highs, clusters=np.array([9]), **arguments)
    assert np.isnan(absent).all()


def test_no_interval_has_zero_width():
    # A perfect coefficient counts as 2,000 right answers of 2,000.
    wilson = stats.binomtest(2000, 2000).proportion_ci(method="wilson").low
    x = np.arange(2000.0)
    assert linear("pairwise_accuracy", x, x, bounds=(0.0, 1.0)) == pytest.approx([wilson, 1.0], abs=1e-9)
    for name, value in (("spearman", 1.0), ("kendall_tau_b", 1.0), ("pearson", 1.0), ("spearman", -1.0)):
        ends = sorted((value, value * (2 * wilson - 1)))
        assert linear(name, x, value * x) == pytest.approx(ends, abs=1e-9), name
        # Resamples of a perfect order are perfect.
        assert bootstrap(name, x[:40], value * x[:40], np.arange(40), 200) == pytest.approx(
            sorted((value, value * (2 * stats.binomtest(40, 40).proportion_ci(method="wilson").low - 1))), abs=1e-9
        ), name
    # So are twelve questions with the same coefficient, which is not at its bound: 9 of 12 for .5.
    same = np.full((100, 1), 0.5)
    expected = stats.binomtest(9, 12).proportion_ci(method="wilson")
    low, high = bca_intervals(
        same[0], same, same, influences=np.zeros((12, 1)), clusters=np.array([12]), bounds=(-1, 1), confidence=0.95
    )
    assert [low.item(), high.item()] == pytest.approx([2 * expected.low - 1, 2 * expected.high - 1], abs=1e-9)


def test_all_replicates_on_one_side_keep_a_finite_interval():
    replicates = np.linspace(0.6, 0.7, 50)[:, None]
    ends = bca_intervals(
        np.array([0.5]),
        replicates,
        replicates,
        influences=np.ones((9, 1)),
        clusters=np.array([9]),
        bounds=(-1, 1),
        confidence=0.95,
    )
    assert 0.6 <= ends[0].item() <= ends[1].item() <= 0.7


def test_beyond_the_pole_of_the_correction_the_end_is_the_outermost_replicate():
    # Two clusters, one of which moves all: reach 18 and acceleration 1/6. Warnings are errors here.
    replicates = np.linspace(0.2, 0.7, 50)[:, None]
    influences = np.array([[0.3], [0.0]])
    ends = bca_intervals(
        np.array([0.5]),
        replicates,
        replicates,
        influences=influences,
        clusters=np.array([2]),
        bounds=(-1, 1),
        confidence=0.95,
    )
    assert ends[1].item() == pytest.approx(0.7)
