import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL, MIN_SYSTEMS
from imapeval.study.data.rated import Rated
from tests.study.answers import make_rated


def rate(systems: int, questions: int = 20, seed: int = 3) -> Rated:
    generator = np.random.default_rng(seed)
    n = systems * questions
    own = np.repeat(generator.normal(size=systems), questions)
    shared = np.tile(generator.normal(size=questions), systems)
    ratings = own + shared + generator.normal(size=n)
    return make_rated(
        np.column_stack([ratings + generator.normal(0, noise, n) for noise in (1, 4)]),
        ratings,
        questions=np.tile(np.arange(questions), systems),
        systems=np.arange(n) // questions,
        metrics=("good", "poor"),
    )


def test_between_systems_the_jackknife_leaves_out_one_after_the_other():
    rated = rate(9)
    rows = correlate(rated, coefficients=("pearson",), levels=("system",), units="systems", resamples=50)
    x, y = (column.reshape(9, -1).mean(axis=1) for column in (rated.scores[:, 0], rated.ratings[:, 0]))
    value = stats.pearsonr(x, y).statistic
    left_out = np.array([stats.pearsonr(np.delete(x, n), np.delete(y, n)).statistic for n in range(9)])
    # Efron and Tibshirani 1993, equation 11.5.
    error = np.sqrt(8 / 9 * ((left_out - left_out.mean()) ** 2).sum())
    ends = np.tanh(np.arctanh(value) + np.array([-1, 1]) * stats.t.ppf(0.975, 8) * error / (1 - value**2))
    assert (rows[0].metric, rows[0].units, rows[0].n) == ("good", "systems", 9)
    np.testing.assert_allclose([rows[0].value, rows[0].low, rows[0].high], [value, *ends], atol=1e-9)
    assert rows[0].simultaneous_low < rows[0].low < rows[0].high < rows[0].simultaneous_high


def test_within_systems_the_jackknife_is_the_standard_error_of_a_mean():
    rated = rate(8)
    rows = correlate(rated, coefficients=("pearson",), units="systems", resamples=50)
    (row,) = [row for row in rows if (row.metric, row.system) == ("poor", ALL)]
    of_systems = [
        stats.pearsonr(scores, ratings).statistic
        for scores, ratings in zip(rated.scores[:, 1].reshape(8, -1), rated.ratings[:, 0].reshape(8, -1), strict=True)
    ]
    slope = 1 - np.mean(of_systems) ** 2
    reach = stats.t.ppf(0.975, 7) * stats.sem(of_systems) / slope
    np.testing.assert_allclose(
        [row.low, row.high], np.tanh(np.arctanh(np.mean(of_systems)) + np.array([-reach, reach])), atol=1e-9
    )
    assert {row.low for row in rows if row.system != ALL} == {None}


def test_systems_and_questions_together_leave_more_open():
    rated = rate(8)
    found = {
        units: correlate(rated, coefficients=("spearman",), levels=("global",), units=units, resamples=50)[0]
        for units in ("questions", "systems", "both")
    }
    widths = {units: row.high - row.low for units, row in found.items()}
    assert widths["both"] > max(widths["questions"], widths["systems"])
    assert len({row.value for row in found.values()}) == 1


def test_where_there_is_no_telling():
    few = correlate(rate(MIN_SYSTEMS - 1), levels=("system", "within-system"), units="systems", resamples=50)
    assert {(row.low, row.interval) for row in few} == {(None, None)}
    rated = rate(MIN_SYSTEMS)
    rated.scores[:, 0] = rated.ratings[:, 0]
    (same, *_) = correlate(rated, levels=("system",), coefficients=("spearman",), units="both", resamples=50)
    assert (same.value, same.low) == (1, None)
    with pytest.raises(UsageError, match="'raters'"):
        correlate(rated, units="raters")
