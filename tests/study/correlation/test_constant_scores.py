"""A metric that does not differ where it should tell answers apart has no coefficient, whatever the level."""

from typing import get_args

import numpy as np
import pytest
from scipy import stats

from imapeval.study.arrays import Floats
from imapeval.study.comparison.compare import compare
from imapeval.study.correlation.coefficients import all_coefficients, find_coefficient
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import Level
from imapeval.study.data.rated import Rated
from tests.study.answers import make_rated

QUESTIONS, SYSTEMS = 12, 7


def rate(scores: Floats, *, lower_is_better: bool = False) -> Rated:
    """Return answers of all systems to all questions, but for a few that are missing."""
    n = QUESTIONS * SYSTEMS
    kept = np.delete(np.arange(n), [3, 10, 17, 44])
    ratings = np.random.default_rng(0).integers(0, 6, (n, 1)).astype(float)
    return make_rated(
        scores,
        ratings,
        questions=np.repeat(np.arange(QUESTIONS), SYSTEMS),
        systems=np.tile(np.arange(SYSTEMS), QUESTIONS),
        dimensions=("d",),
        lower_is_better=frozenset({"m"}) if lower_is_better else frozenset(),
    ).take(kept)


@pytest.mark.parametrize("level", get_args(Level))
@pytest.mark.parametrize("value", [0.0, 0.1, 0.5])
def test_a_constant_metric_is_undefined_at_every_level(level: Level, value: float):
    rated = rate(np.full(QUESTIONS * SYSTEMS, value))
    names = [name for name in all_coefficients() if level == "system" or not find_coefficient(name).system_level_only]
    for name in names:
        for row in correlate(rated, coefficients=(name,), levels=(level,), resamples=20):
            assert (row.value, row.low, row.high) == (None, None, None), name
            assert row.reason is not None
            if name != "soft_pairwise_accuracy":
                assert f"the score is constant ({value:g})" in row.reason


def test_the_constant_is_named_as_the_metric_gave_it():
    rated = rate(np.full(QUESTIONS * SYSTEMS, -0.5), lower_is_better=True)
    for level in get_args(Level):
        row = correlate(rated, coefficients=("pairwise_accuracy",), levels=(level,), resamples=20)[-1]
        assert "the score is constant (-0.5)" in (row.reason or "")


def test_a_metric_that_knows_only_the_question_is_undefined_within_questions_and_defined_elsewhere():
    rated = rate(np.repeat(np.arange(QUESTIONS), SYSTEMS) / 10)
    (within,) = correlate(rated, coefficients=("pairwise_accuracy",), levels=("within-question",), resamples=20)
    assert within.value is None
    assert within.reason == "the score is constant within every question"
    (pooled,) = correlate(rated, coefficients=("pairwise_accuracy",), levels=("global",), resamples=20)
    assert pooled.value is not None


def test_systems_of_equal_means_cannot_be_ranked():
    # All systems give the same scores, in another order; every mean is .3 but for rounding.
    scores = np.concatenate([np.roll(np.arange(SYSTEMS) / 10, question) for question in range(SYSTEMS)])
    n = SYSTEMS * SYSTEMS
    rated = make_rated(
        scores,
        np.random.default_rng(1).integers(0, 6, (n, 1)).astype(float),
        questions=np.repeat(np.arange(SYSTEMS), SYSTEMS),
        systems=np.tile(np.arange(SYSTEMS), SYSTEMS),
        dimensions=("d",),
    )
    for name in ("spearman", "pairwise_accuracy", "pearson"):
        (row,) = correlate(rated, coefficients=(name,), levels=("system",), resamples=20)
        assert row.value is None, name
        assert row.reason == "the systems' mean scores or mean ratings are all equal"


def test_equal_means_are_tied_in_spite_of_rounding():
    # Means of three raters on a scale of halves, and scores in thirds: sixths and thirds have no exact floating point.
    generator = np.random.default_rng(4)
    systems, questions = 8, 30
    sixths, thirds = (generator.integers(0, high, (systems, questions)) for high in (31, 4))
    for numbers in (sixths, thirds):
        # Systems 3 and 4 have system 2's numbers in another order, and system 6 those of system 5.
        for system, same in ((3, 2), (4, 2), (6, 5)):
            numbers[system] = generator.permutation(numbers[same])
    numbers = sixths.ravel() / 6, thirds.ravel() / 3
    rated = make_rated(
        np.column_stack([numbers[1], generator.normal(size=systems * questions)]),
        numbers[0],
        questions=np.tile(np.arange(questions), systems),
        systems=np.repeat(np.arange(systems), questions),
        metrics=("m", "other"),
        dimensions=("d",),
    )
    sums = thirds.sum(axis=1), sixths.sum(axis=1)  # whole numbers
    for name, expected in (
        ("spearman", stats.spearmanr(*sums).statistic),
        ("kendall_tau_b", stats.kendalltau(*sums).statistic),
    ):
        (row, _) = correlate(rated, coefficients=(name,), levels=("system",), resamples=20)
        (pair,) = compare(rated, coefficient=name, level="system", resamples=20)
        assert [row.value, pair.first_value] == pytest.approx([expected, expected], abs=1e-12), name
    (closed,) = compare(rated, coefficient="spearman", level="system", test="williams")
    assert closed.first_value == pytest.approx(stats.spearmanr(*sums).statistic, abs=1e-12)
