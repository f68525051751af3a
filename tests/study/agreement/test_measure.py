import numpy as np
import pytest
from scipy import optimize, stats

from imapeval.errors import UsageError
from imapeval.study.agreement.measure import STATISTICS, Agreement, choose_statistics, measure_agreement
from imapeval.study.agreement.noise_ceiling import find_ceilings
from imapeval.study.agreement.sentences import describe_agreement
from imapeval.study.arrays import Floats
from imapeval.study.data.scales import RatingScale
from tests.study.answers import make_rated

HALVES = RatingScale(0, 5, 0.5)


def by_name(rows: list[Agreement]) -> dict[str, Agreement]:
    return {row.statistic: row for row in rows}


def test_every_statistic_is_found(missing: Floats):
    rated = make_rated(by_rater={"accuracy": missing}, scales={"accuracy": HALVES})
    rows = measure_agreement(rated, statistics=tuple(STATISTICS))
    assert [row.statistic for row in rows] == list(STATISTICS)
    for row in rows:
        if "Cohen" in (row.reason or ""):
            assert row.value is None
            assert row.low is None
        else:
            assert row.low <= row.value <= row.high
            assert row.n > 0


@pytest.mark.parametrize("name", STATISTICS)
def test_a_weight_stands_for_equal_answers(name: str, complete: Floats, missing: Floats):
    """Two-way ICCs are of answers that all raters rated, Cohen's kappa of two raters."""
    ratings = complete if name.startswith("icc") else missing
    ratings = ratings[:, :2] if name.startswith(("cohen", "weighted")) else ratings
    measure, weights = STATISTICS[name].measure, np.random.default_rng(3).integers(0, 4, size=(4, len(ratings)))
    found = measure(ratings, HALVES)
    repeated = [measure(np.repeat(ratings, row, axis=0), HALVES).value for row in weights]
    assert found.compute(found.data, weights.astype(np.float64)) == pytest.approx(repeated)


def test_the_share_of_equal_ratings_has_wilsons_interval():
    # scipy 1.17.1: binomtest(...).proportion_ci(method="wilson").
    for agreed, n in ((20, 20), (17, 20), (0, 9)):
        table = np.array([[1.0, 1.0]] * agreed + [[0.0, 1.0]] * (n - agreed))
        expected = stats.binomtest(agreed, n).proportion_ci(method="wilson")
        row = measure_agreement(make_rated(by_rater={"a": table}), statistics=["exact"])[0]
        assert (row.low, row.high) == pytest.approx((expected.low, expected.high))


def test_intervals_are_score_intervals_of_what_is_left_out(missing: Floats):
    questions = np.repeat(np.arange(20), 3)
    rated = make_rated(by_rater={"accuracy": missing}, questions=questions.tolist(), scales={"accuracy": HALVES})
    names = ("exact", "mad", "gwet_ac2_linear", "krippendorff_alpha_ordinal", "icc_1_k", "spearman")
    rows = by_name(measure_agreement(rated, statistics=names))
    for name in names:
        found = STATISTICS[name].measure(missing, HALVES)
        without = [STATISTICS[name].measure(missing[questions != question], HALVES).value for question in range(20)]
        # Wilson's interval solved for, and not by its formula: shares p that are a given number of standard errors of
        # a share among `size` answers away.
        low, high = found.bounds
        share = (found.value - low) / (high - low)
        variance = 19 / 20 * np.sum((np.array(without) - np.mean(without)) ** 2) / (high - low) ** 2
        ends = solve_wilson(share, share * (1 - share) / variance, stats.t.ppf(0.975, 19))
        assert (rows[name].low, rows[name].high) == pytest.approx([low + end * (high - low) for end in ends])


def solve_wilson(share: float, size: float, quantile: float) -> list[float]:
    def exceed(p: float) -> float:
        return (p - share) ** 2 - quantile**2 * p * (1 - p) / size

    return [optimize.brentq(exceed, *side) for side in ((0, share), (share, 1))]


def test_no_interval_has_zero_width():
    agreeing = {name: np.repeat(np.array(values), 2).reshape(-1, 2) for name, values in PERFECT.items()}
    rows = measure_agreement(
        make_rated(by_rater=agreeing, scales={name: RatingScale(0, 5, 1) for name in agreeing}), statistics=EVERY
    )
    for row in rows:
        if row.statistic in ("icc_1_k", "icc_2_k", "icc_3_k") or row.value is not None:
            best = 0.0 if row.statistic == "mad" else 1.0
            assert row.value == pytest.approx(best)
            assert row.high - row.low > 0.1, row.statistic
    width = {(row.dimension, row.statistic): row.high - row.low for row in rows if row.value is not None}
    # Where nearly all ratings are of one category, raters who guess would agree as well.
    assert width["rare", "cohen_kappa"] > 1.5 * width["even", "cohen_kappa"]
    assert width["rare", "exact"] == pytest.approx(width["even", "exact"])


PERFECT = {"even": [0.0, 1.0] * 10, "rare": [0.0] + [1.0] * 19}
EVERY = tuple(name for name in STATISTICS if name != "fleiss_kappa")


def test_clusters_widen_the_interval():
    generator = np.random.default_rng(0)
    # Whether raters agree depends on the question alone.
    noisy = np.repeat(generator.random(30) < 0.5, 6)
    truth = generator.normal(size=180)
    table = np.round(truth[:, None] + noisy[:, None] * generator.normal(size=(180, 2)), 1)
    questions = np.repeat(np.arange(30), 6).tolist()
    widths = []
    for rated in (make_rated(by_rater={"a": table}), make_rated(by_rater={"a": table}, questions=questions)):
        row = measure_agreement(rated, statistics=["exact"])[0]
        widths.append(row.high - row.low)
    assert widths[1] > 1.4 * widths[0]


def test_which_statistics_suit(complete: Floats, missing: Floats):
    assert choose_statistics(complete, scale=HALVES)[-3:] == ("icc_2_1", "icc_2_k", "spearman")
    assert "icc_1_1" in choose_statistics(missing, scale=HALVES)
    binary = (complete > 3).astype(np.float64)
    assert choose_statistics(binary[:, :2], scale=None) == (
        "exact",
        "cohen_kappa",
        "gwet_ac1",
        "krippendorff_alpha_nominal",
    )
    # The step of the second scale is not its length in binary numbers.
    for scale in (RatingScale(0, 1, 1), RatingScale(0.1, 0.4, 0.3)):
        assert "fleiss_kappa" in choose_statistics(binary, scale=scale)
    assert "icc_2_1" in choose_statistics(binary, scale=RatingScale(0, 1, 0.5))
    sliders = choose_statistics(
        complete + np.random.default_rng(0).normal(size=complete.shape), scale=RatingScale(-9, 9)
    )
    assert not any("kappa" in name or "gwet" in name for name in sliders)


def test_averages_are_refused():
    rated = make_rated(ratings={"accuracy": np.array([1.0, 2.5, 3.0])})
    (row,) = measure_agreement(rated)
    assert row.value is None
    assert "only average ratings are known" in row.reason
    assert "column `rater`" in row.reason


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[3.0, np.nan], [2.0, np.nan]], "1 rater;"),
        ([[3.0, 3.0], [3.0, 3.0]], "all ratings are 3"),
        ([[3.0, np.nan], [np.nan, 2.0]], "no answer was rated by two raters"),
    ],
)
def test_nothing_to_measure(table: list[list[float]], reason: str):
    rows = measure_agreement(
        make_rated(by_rater={"a": np.array(table)}), statistics=["krippendorff_alpha_interval", "icc_1_1"]
    )
    assert rows
    for row in rows:
        assert row.value is None
        assert row.low is None
        assert reason in row.reason


def test_two_answers():
    rows = by_name(measure_agreement(make_rated(by_rater={"a": np.array([[1.0, 1.0], [4.0, 3.0]])})))
    alpha = rows["krippendorff_alpha_interval"]
    # 1 squared apart within answers, 27 over all six pairs of the four ratings: 1 - 3 * 1 / 27.
    assert alpha.value == pytest.approx(8 / 9)
    # Without either answer there is no alpha, and so no variance.
    assert (alpha.low, alpha.high) == (None, None)
    assert rows["spearman"].value is None


def test_one_question_has_no_interval(complete: Floats):
    rows = measure_agreement(make_rated(by_rater={"a": complete}, questions=[0] * len(complete)))
    assert all(row.value is not None and row.low is None for row in rows)


def test_unknown_statistic(complete: Floats):
    with pytest.raises(UsageError, match="'kappa'"):
        measure_agreement(make_rated(by_rater={"a": complete}), statistics=["kappa"])


def test_sentences(complete: Floats):
    means = {"accuracy": complete.mean(axis=1), "tone": np.ones(60)}
    rated = make_rated(None, means, by_rater={"accuracy": complete}, scales={"accuracy": HALVES})
    agreements = measure_agreement(rated)
    rows = by_name([row for row in agreements if row.dimension == "accuracy"])
    accuracy, tone = describe_agreement(rated, agreements, find_ceilings(rated))
    assert f"give the same rating on {rows['exact'].value:.0%} of answers" in accuracy
    assert f"differ by 0.5 or less on {rows['within_step'].value:.0%} of answers" in accuracy
    assert "Krippendorff's alpha (interval) is .61 [" in accuracy
    # The root of pingouin's ICC(3,k), .848.
    assert "could reach Pearson's r of about .92 [" in accuracy
    assert "over all answers with the mean of 3 raters" in accuracy
    assert tone.startswith("tone: agreement among raters cannot be measured: only average ratings are known")


def test_a_dimension_that_nobody_rated(complete: Floats):
    rated = make_rated(by_rater={"a": complete, "b": np.full(complete.shape, np.nan)})
    agreements, ceilings = measure_agreement(rated), find_ceilings(rated)
    for row in (*agreements, *ceilings):
        assert (row.value is None) == (row.dimension == "b")
        assert row.dimension == "a" or "no raters" in (row.reason or "")
    assert describe_agreement(rated, agreements, ceilings)[1].startswith("b: agreement among raters cannot be measured")


def test_all_ratings_the_same_without_a_scale():
    rated = make_rated(by_rater={"accuracy": np.full((6, 2), 3.0)})
    found = by_name(measure_agreement(rated))["mad"]
    assert (found.value, found.low, found.high) == (0.0, None, None)
