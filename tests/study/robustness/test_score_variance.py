"""Estimates are compared with the components that scores were simulated with, and with formulas for normal scores."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from imapeval.study.intervals import bootstrap
from imapeval.study.robustness.score_variance import count_flips, saved_by_repeating, split_variance

SD = {"answer": 0.2, "reading": 0.1, "relating": 0.06, "judging": 0.08}
READINGS, RELATINGS, JUDGEMENTS = 4, 3, 5


def simulate(answers: int, *, both: float = 0.0, rest: float = 0.0, seed: int = 0) -> np.ndarray:
    """Draw scores with the components of `SD`, and with interactions of judging with reading and with relating."""
    draw = np.random.default_rng(seed).normal
    r, k, j = READINGS, RELATINGS, JUDGEMENTS
    return (
        0.5
        + SD["answer"] * draw(size=(answers, 1, 1, 1))
        + SD["reading"] * draw(size=(answers, r, 1, 1))
        + SD["relating"] * draw(size=(answers, r, k, 1))
        + SD["judging"] * draw(size=(answers, 1, 1, j))
        + both * draw(size=(answers, r, 1, j))
        + rest * draw(size=(answers, r, k, j))
    )


def near(variance: float, mean_square: float, freedom: int, per: int) -> object:
    """Expect an estimate within 4 standard errors; a mean square of normal scores has variance 2 E(MS)^2 / freedom."""
    return pytest.approx(variance, abs=4 * 1.2 * mean_square * math.sqrt(2 / freedom) / per)


@pytest.mark.parametrize(("both", "rest"), [(0.0, 0.0), (0.05, 0.03)])
def test_components_are_those_of_the_simulation(both: float, rest: float):
    n, r, k, j = 2000, READINGS, RELATINGS, JUDGEMENTS
    found = split_variance(simulate(n, both=both, rest=rest), questions=range(n))
    v = {name: sd**2 for name, sd in SD.items()}
    # Expected mean squares of the design: Brennan 2001, chapter 3.
    base = rest**2 + k * both**2
    relating = rest**2 + j * v["relating"]
    reading = base + j * v["relating"] + k * j * v["reading"]
    judging = base + r * k * v["judging"]
    answers = reading + r * k * v["judging"] + r * k * j * v["answer"]
    assert found.relating == near(v["relating"], relating, n * r * (k - 1), j)
    assert found.reading == near(v["reading"], reading, n * (r - 1), k * j)
    # The interactions are known better than the main effect.
    assert found.judging == near(v["judging"] + both**2 + rest**2, judging, n * (j - 1), r * k)
    assert found.answers == near(v["answer"], answers, n - 1, r * k * j)
    once = math.sqrt(v["reading"] + v["relating"] + v["judging"] + both**2 + rest**2)
    assert found.sd == pytest.approx(once, rel=0.03)
    assert found.low < once < found.high
    averaged = (v["reading"] + v["relating"]) / r + v["judging"] / j + (both**2 + rest**2) / (r * j)
    assert found.sd_with_votes == pytest.approx(math.sqrt(averaged), rel=0.03)
    assert found.negative == ()


def test_one_step_alone_is_the_one_way_analysis_of_variance():
    scores = simulate(50)[:, :, :1, :1]
    found = split_variance(scores, questions=range(50))
    table = scores[:, :, 0, 0]
    within = table.var(axis=1, ddof=1).mean()
    assert found.reading == pytest.approx(within)
    assert found.answers == pytest.approx(table.mean(axis=1).var(ddof=1) - within / READINGS)
    assert (found.relating, found.judging) == (None, None)


@pytest.mark.parametrize("judgements", [1, JUDGEMENTS])
def test_a_single_reading_with_several_relatings(judgements: int):
    n = 4000
    found = split_variance(simulate(n)[:, :1, :, :judgements], questions=range(n))
    # What one reading adds varies from answer to answer as the answers themselves do.
    answers = SD["answer"] ** 2 + SD["reading"] ** 2
    if judgements == 1:
        answers += SD["judging"] ** 2
    assert found.answers == pytest.approx(answers, rel=0.1)
    assert found.reading is None
    assert found.negative == ()
    if judgements > 1:
        assert found.judging == pytest.approx(SD["judging"] ** 2, rel=0.1)
        assert found.relating == pytest.approx(SD["relating"] ** 2, rel=0.1)


def test_a_negative_estimate_is_zero_and_said():
    # All the readings of an answer have the same mean, as no random reading has.
    scores = np.array([[[[0.1], [0.3]], [[0.3], [0.1]]], [[[0.6], [0.4]], [[0.4], [0.6]]]])
    found = split_variance(scores, questions="ab")
    assert found.negative == ("reading",)
    assert (found.reading, found.relating) == (0.0, pytest.approx(0.02))
    assert found.sd == pytest.approx(math.sqrt(0.02))


def test_scores_that_never_vary_have_no_variance():
    found = split_variance(np.full((3, 2, 2, 2), 0.3), questions="abc")
    assert (found.answers, found.reading, found.relating, found.judging, found.sd) == (0, 0, 0, 0, 0)
    assert found.negative == ()
    assert (found.low, found.high) == (0, 0)
    assert {flips.measured for flips in count_flips(np.full((3, 2, 2, 2), 0.3), 0.3)} == {0.0, None}
    assert saved_by_repeating(np.full((3, 2, 2, 2), 0.3)) == {}


def test_one_question_has_no_interval_and_one_answer_no_variance_between():
    found = split_variance(simulate(1), questions="a")
    assert (found.answers, found.low, found.high) == (None, None, None)
    with pytest.raises(ValueError, match="no scores"):
        split_variance(np.zeros((0, 2, 2, 2)), questions=())


def expected_flips(votes: int, threshold: float) -> float:
    """Return the chance that two normal scores of one answer are on both sides: from the bivariate normal."""
    noise = (SD["reading"] ** 2 + SD["relating"] ** 2 + SD["judging"] ** 2) / votes
    total = SD["answer"] ** 2 + noise
    z, correlation = (threshold - 0.5) / math.sqrt(total), SD["answer"] ** 2 / total
    both = stats.multivariate_normal.cdf([z, z], cov=[[1, correlation], [correlation, 1]])
    return 2 * (stats.norm.cdf(z) - both)


@pytest.mark.parametrize("threshold", [0.5, 0.6])
def test_flips_measured_and_predicted_are_those_of_normal_scores(threshold: float):
    n = 4000
    one, half, whole = count_flips(simulate(n), threshold)
    assert [one.votes, half.votes, whole.votes] == [1, 2, 5]
    assert whole.measured is None
    for flips in (one, half, whole):
        share = expected_flips(flips.votes, threshold)
        # A share of n answers; means of pairs vary less than single ones, which bounds the error from above.
        error = 4 * math.sqrt(share * (1 - share) / n)
        if flips is not whole:
            assert flips.measured == pytest.approx(share, abs=error)
        # Four readings, five judgements: the readings of five votes are predicted as well.
        assert flips.predicted == pytest.approx(share, abs=error)


def test_flips_compare_repetitions_that_have_nothing_in_common():
    # One reading is below the threshold, one above, for each judgement: all pairs of whole repetitions differ.
    scores = np.array([0.2, 0.8]).reshape(1, 2, 1, 1) + np.zeros((1, 2, 1, 2))
    (one, both) = count_flips(scores, 0.5)
    assert (one.votes, one.measured) == (1, 1.0)
    assert (both.votes, both.measured) == (2, None)
    # Relatings of one reading: both scores could be of the same relating.
    (alone,) = count_flips(scores.transpose(0, 2, 1, 3)[..., :1], 0.5)
    assert (alone.votes, alone.measured) == (1, None)


@pytest.mark.parametrize(
    ("threshold", "higher_is_better", "share"), [(2, True, 0), (3, True, 1), (2, False, 1), (3, False, 0)]
)
def test_a_score_equal_to_the_threshold_is_on_the_better_side(threshold: float, higher_is_better: bool, share: float):
    scores = np.array([2.0, 3.0]).reshape(1, 2, 1, 1)
    assert count_flips(scores, threshold, higher_is_better=higher_is_better)[0].measured == share


def test_what_a_second_repetition_saves():
    saved = saved_by_repeating(simulate(3000))
    v = {name: sd**2 for name, sd in SD.items()}
    once = v["reading"] + v["relating"] + v["judging"]
    assert saved == {
        "reading": pytest.approx((v["reading"] + v["relating"]) / 2 / once, abs=0.02),
        "relating": pytest.approx(v["relating"] / 2 / once, abs=0.02),
        "judging": pytest.approx(v["judging"] / 2 / once, abs=0.02),
    }
    assert set(saved_by_repeating(simulate(5)[:, :1, :1])) == {"judging"}


def test_the_resamples_of_many_questions_are_not_in_memory_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bootstrap, "_CELLS", 20_000)
    scores = np.random.default_rng(0).random((1000, 2, 1, 1))
    tracemalloc.start()
    try:
        split_variance(scores, questions=range(1000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # All of them would be 16 MB.
    assert peak < 4_000_000
