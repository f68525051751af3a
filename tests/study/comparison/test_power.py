import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.study.comparison.closed_form import steiger_test
from imapeval.study.comparison.power import (
    plan_sample_size,
    plan_sample_size_from_pilot,
    required_answers,
    smallest_difference,
)
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated


def test_simulated_power_is_the_one_asked_for():
    # No published table has this case: the test itself on simulated data is the other implementation.
    r1, r2, between = 0.6, 0.4, 0.5
    n = required_answers(r1, r2, between=between, power=0.8)
    assert n is not None
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
    assert n is not None
    smallest = smallest_difference(0.60, n, between=0.8, spearman=True)
    assert smallest == pytest.approx(0.03, abs=1e-4)
    assert smallest_difference(0.1, 5, between=0.9) is None
    # Metrics that hardly correlate cannot both agree nearly perfectly: r2 <= .95 x .1 + sqrt((1 - .95^2) (1 - .1^2)).
    assert smallest_difference(0.95, 400, between=0.1) == pytest.approx(0.95 - 0.405684, abs=1e-5)
    assert required_answers(0.5, 0.5, between=0.8) is None
    twice = required_answers(0.57, 0.60, between=0.8, spearman=True, design_effect=2.0)
    assert twice == pytest.approx(2 * n, abs=5)


def test_sentences():
    assert plan_sample_size(0.57, 0.60, between=0.8).sentence == (
        "To tell .57 from .60 with 80% power about 2,400 rated answers are needed."
    )
    assert (
        plan_sample_size(0.5, 0.5, between=0.8).sentence
        == ".50 and .50 are equal: no number of rated answers tells them apart."
    )


@pytest.mark.parametrize(
    ("r1", "r2", "between", "power", "message"),
    [
        (1.0, 0.5, 0.5, 0.8, "-1.*1"),
        (0.9, -0.9, 0.9, 0.8, "no data have"),
        (0.5, 0.4, 0.5, 0.01, "0.*1"),
        (float("nan"), 0.4, 0.5, 0.8, "-1.*1"),
    ],
)
def test_numbers_out_of_range(r1: float, r2: float, between: float, power: float, message: str):
    with pytest.raises(UsageError, match=message):
        plan_sample_size(r1, r2, between=between, power=power)


def pilot(n: int, *, copies: int) -> Rated:
    """Return n answers, each of them `copies` times, as answers to one question."""
    generator = np.random.default_rng(3)
    ratings = generator.normal(size=n)
    scores = np.column_stack([weight * ratings + generator.normal(size=n) for weight in (1.0, 0.5)])
    rows = np.repeat(np.arange(n), copies)
    return Rated(
        ids=tuple(map(str, range(n * copies))),
        questions=rows,
        systems=("",) * (n * copies),
        metrics=("a", "b"),
        scores=scores[rows],
        dimensions=("d",),
        ratings=ratings[rows, None],
    )


def test_a_pilot_with_copies_has_that_design_effect():
    single, triple = (plan_sample_size_from_pilot(pilot(200, copies=copies))[0] for copies in (1, 3))
    assert single.design_effect == pytest.approx(1.0, abs=0.2)
    assert single.first_value == pytest.approx(triple.first_value, abs=1e-12)
    assert triple.design_effect == pytest.approx(3 * (single.design_effect or 0), rel=0.02)
    assert (single.n, triple.n, single.dimension) == (200, 600, "d")
    assert single.sentence.startswith("To tell .")
    assert "The 200 answers at hand" in single.sentence


def test_a_pilot_without_a_result_says_why():
    rated = pilot(200, copies=1)
    constant = Rated(
        rated.ids, rated.questions, rated.systems, rated.metrics, rated.scores * 0, rated.dimensions, rated.ratings
    )
    (row,) = plan_sample_size_from_pilot(constant)
    assert row.needed is None
    assert "constant" in (row.reason or "")
    assert ALL not in row.sentence
    with pytest.raises(UsageError, match="levels global and within-system"):
        plan_sample_size_from_pilot(rated, level="system")
    with pytest.raises(UsageError, match="kendall_tau_b"):
        plan_sample_size_from_pilot(rated, coefficient="kendall_tau_b")
