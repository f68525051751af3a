from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from imapeval.evaluation.runs import Result
from imapeval.study.data.rated import Rated
from imapeval.study.robustness.stability import ALL_ANSWERS, read_stability, relate_stability, summarise_stability
from imapeval.types import Failure, Score
from tests.study.answers import make_rated

N = 80


def make() -> tuple[Rated, np.ndarray]:
    """Answers whose scores miss the ratings by more the less stable they are."""
    generator = np.random.default_rng(0)
    stability = np.round(generator.uniform(0.3, 1, size=N), 2)
    ratings = generator.uniform(0, 5, size=N)
    rated = make_rated(
        ratings + 5 * (1 - stability) * generator.normal(size=N),
        ratings,
        questions=np.arange(N) // 2,
        systems=tuple("st"[n % 2] for n in range(N)),
        facets={"language": ("en",) * 50 + ("zh",) * 30},
        covariates={"response characters": np.arange(N, dtype=np.float64)},
    )
    return rated, stability


def test_it_is_read_from_the_results():
    outcomes = {
        ("a", "m"): Score(0.5, {"stability": 0.75}),
        ("b", "m"): Score(0.5),
        ("c", "m"): Failure("metric", "no-query", "?"),
        ("a", "n"): Score(0.5),
    }
    found = read_stability([Result(*key, outcome, "") for key, outcome in outcomes.items()], ["b", "a", "c"])
    assert list(found) == ["m"]
    assert np.array_equal(found["m"], [np.nan, 0.75, np.nan], equal_nan=True)


def test_summary():
    rated, stability = make()
    rows = summarise_stability(rated, "m", stability, resamples=100)
    first = rows[0]
    assert (first.metric, first.facet, first.group, first.n) == ("m", ALL_ANSWERS, "", N)
    assert first.mean == pytest.approx(stability.mean())
    assert first.lowest_tenth == pytest.approx(np.quantile(stability, 0.1))
    assert first.low < first.mean < first.high
    groups = {(row.facet, row.group): row for row in rows[1:]}
    assert list(groups)[:4] == [("system", "s"), ("system", "t"), ("language", "en"), ("language", "zh")]
    assert groups["language", "zh"].mean == pytest.approx(stability[50:].mean())
    assert [row.n for (facet, _), row in groups.items() if facet == "response characters"] == [20] * 4


def test_what_was_read_once_is_left_out():
    rated, stability = make()
    assert summarise_stability(rated, "m", np.full(N, np.nan)) == []
    stability[:30] = np.nan
    assert summarise_stability(rated, "m", stability, resamples=20)[0].n == 50


def test_stable_scores_have_smaller_errors():
    rated, stability = make()
    (row,) = relate_stability(rated, "m", stability, resamples=200)
    error = np.abs(stats.rankdata(rated.scores[:, 0]) - stats.rankdata(rated.ratings[:, 0]))
    assert row.value == pytest.approx(stats.spearmanr(stability, error).statistic, abs=1e-12)
    assert row.n == N
    assert row.low < row.value < row.high < 0


def test_undefined():
    rated, stability = make()
    (row,) = relate_stability(rated, "m", np.full(N, 0.5))
    assert (row.value, row.low, row.n) == (None, None, N)
    assert row.reason == "the stability is constant (0.5)"
    (alone,) = relate_stability(replace(rated, questions=np.zeros(N, dtype=np.int64)), "m", stability)
    assert alone.value is not None
    assert (alone.low, alone.reason) == (None, "one question alone has no interval")
