import pytest

from imapeval.study.calibration.rogan_gladen import correct_share


def test_rogan_and_gladen():
    # Share called right = .5 x .9 + .5 x .2 = .55 of 1,000.
    share = correct_share((550, 1000), hits=(90, 100), rejections=(80, 100))
    assert share.value == pytest.approx(0.5, abs=1e-12)
    assert (share.apparent, share.sensitivity, share.specificity, share.n) == (0.55, 0.9, 0.8, 1000)
    assert share.note is None


def test_the_interval_carries_the_uncertainty_of_sensitivity_and_specificity():
    few = correct_share((550, 1000), hits=(9, 10), rejections=(8, 10))
    many = correct_share((550, 1000), hits=(9000, 10000), rejections=(8000, 10000))
    assert few.low < many.low < 0.5 < many.high < few.high
    # With a perfectly known, perfect test it is the interval of Agresti and Coull 1998: 550 of 1,000.
    perfect = correct_share((550, 1000), hits=(10**9, 10**9), rejections=(10**9, 10**9))
    assert (perfect.low, perfect.high) == (pytest.approx(0.5190, abs=5e-5), pytest.approx(0.5806, abs=5e-5))


def test_against_the_formulas_worked_by_hand():
    # Lang and Reiczigel 2014, equations 6, 7, 16 and 17, for 3 of 263, 88 of 89 and 132 of 134 (a serosurvey), step by
    # step with z = 1.959964 in the comments below.
    z2 = 3.841459
    n, ap = 263 + z2, (3 + z2 / 2) / (263 + z2)
    se, sp = 89 / 91, 133 / 136
    p = (ap + sp - 1) / (se + sp - 1)
    v_se, v_sp = se * (1 - se) / 91, sp * (1 - sp) / 136
    shift = 2 * z2 * (p * v_se - (1 - p) * v_sp)
    half = (z2 * (ap * (1 - ap) / n + p * p * v_se + (1 - p) ** 2 * v_sp)) ** 0.5 / (se + sp - 1)
    share = correct_share((3, 263), hits=(88, 89), rejections=(132, 134))
    assert share.value == 0.0
    assert share.note is not None
    assert "cut off at 0" in share.note
    assert share.low == 0.0
    assert p + shift - half < 0
    assert share.high == pytest.approx(p + shift + half, abs=1e-7)


def test_a_metric_that_tosses_coins_says_nothing():
    share = correct_share((5, 10), hits=(5, 10), rejections=(5, 10))
    assert (share.value, share.low, share.high) == (None, None, None)
    assert share.note is not None
    assert "no better than chance" in share.note


def test_too_few_rated_answers_for_an_interval():
    # .8 + .25 - 1 = .05 is above chance; shrunk towards one half, 5/7 + 26/102 - 1 is below.
    share = correct_share((50, 100), hits=(4, 5), rejections=(25, 100))
    assert (share.value, share.low, share.high) == (0.0, None, None)
    assert share.note is not None
    assert "no interval" in share.note


@pytest.mark.parametrize("called", [(3, 2), (-1, 2), (0, 0)])
def test_counts_that_are_none(called: tuple[int, int]):
    with pytest.raises(ValueError, match="called"):
        correct_share(called, hits=(1, 2), rejections=(1, 2))


def test_coverage_of_the_interval():
    # 2,000 simulated studies; Lang and Reiczigel report 93-97% (their figures 1-4). Monte-Carlo error .5 points.
    import numpy as np

    rng = np.random.default_rng(7)
    truth, inside = 0.6, 0
    for _ in range(2000):
        hits, rejections = rng.binomial(60, 0.85), rng.binomial(40, 0.75)
        called = rng.binomial(400, truth * 0.85 + (1 - truth) * 0.25)
        share = correct_share((int(called), 400), hits=(int(hits), 60), rejections=(int(rejections), 40))
        inside += share.low is not None and share.high is not None and share.low <= truth <= share.high
    assert 0.93 <= inside / 2000 <= 0.98
