import pytest

from imapeval.study.comparison.closed_form import FIELLER, steiger_test, williams_test, zou_interval

# Expected numbers are those that cocor 1.1-4 (R; Diedenhofen and Musch 2015, PLoS ONE 10, e0121945) has in its own
# tests (tests/testthat/tests.r), with the sources that it names there.


def test_williams_equals_depcor():
    found = williams_test(0.3, 0.4, r23=0.5, n=100)  # Silver, Hittner and May 2006
    assert found.statistic == pytest.approx(-1.0767, abs=5e-5)
    assert found.p == pytest.approx(0.2843, abs=5e-5)


@pytest.mark.parametrize(
    ("correlations", "n", "p"),
    [
        ((0.2858291510722974, 0.15950937602663998, 0.026555856893502434), 45, 0.5433956),
        ((0.05, 0.1, 0.05), 9, 0.9317423),
    ],
)
def test_williams_equals_psych(correlations: tuple[float, float, float], n: int, p: float):
    # p: R's psych r.test, as quoted in nlpstats' tests/correlations/williams_test.py; the correlations are those of the
    # random matrices there (seed 12), at the levels global (Pearson) and system (Spearman).
    r12, r13, r23 = correlations
    assert williams_test(r12, r13, r23=r23, n=n).p == pytest.approx(p, abs=5e-6)
    assert williams_test(r13, r12, r23=r23, n=n).statistic == pytest.approx(
        -williams_test(r12, r13, r23=r23, n=n).statistic
    )


def test_steiger_equals_cocor():
    found = steiger_test(0.3, 0.4, r23=0.5, n=100)  # Silver, Hittner and May 2006
    assert found.statistic == pytest.approx(-1.0718, abs=5e-5)
    assert found.p == pytest.approx(0.2838, abs=5e-5)
    # Steiger 1980, case A, p. 249: -.8913 there, from rounded numbers; cocor has what the formula gives.
    assert steiger_test(0.4, 0.5, r23=0.1, n=103).statistic == pytest.approx(-0.8887185, abs=5e-8)


def test_zou_equals_his_example():
    assert zou_interval(0.396, 0.179, r23=0.088, n=66) == pytest.approx((-0.093, 0.517), abs=5e-4)  # Zou 2007, p. 409


def test_spearman_widens_by_fieller():
    plain, wide = zou_interval(0.5, 0.4, r23=0.6, n=100), zou_interval(0.5, 0.4, r23=0.6, n=100, spearman=True)
    assert wide[0] < plain[0] < plain[1] < wide[1]
    for test in (williams_test, steiger_test):
        ratio = test(0.5, 0.4, r23=0.6, n=100).statistic / test(0.5, 0.4, r23=0.6, n=100, spearman=True).statistic
        assert ratio**2 == pytest.approx(FIELLER)


@pytest.mark.parametrize(
    ("r12", "r13", "r23", "n", "message"),
    [
        (0.5, 0.4, 0.6, 4, "5"),
        (1.5, 0.4, 0.6, 50, "-1.*1"),
        (0.9, -0.9, 0.9, 50, "no data have the correlations"),
        (0.5, 0.5, 1.0, 50, "the same up to scale"),
    ],
)
def test_what_cannot_be_tested(r12: float, r13: float, r23: float, n: int, message: str):
    for test in (williams_test, steiger_test):
        with pytest.raises(ValueError, match=message):
            test(r12, r13, r23=r23, n=n)


def test_zou_checks_what_it_is_given():
    with pytest.raises(ValueError, match="confidence"):
        zou_interval(0.5, 0.4, r23=0.6, n=50, confidence=1.0)
    with pytest.raises(ValueError, match="no Fisher z"):
        zou_interval(1.0, 0.4, r23=0.4, n=50)
