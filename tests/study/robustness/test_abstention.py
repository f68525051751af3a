from dataclasses import replace

import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.study.calibration.curve import cross_fit
from imapeval.study.data.rated import Rated
from imapeval.study.robustness.abstention import list_doubtful, measure_abstention
from tests.study.answers import make_rated

N = 200


def make(*, informative: bool, levels: int = 0) -> tuple[Rated, np.ndarray]:
    """Answers whose scores miss the ratings by more the less stable they are, or by chance."""
    generator = np.random.default_rng(1)
    stability = generator.uniform(0.2, 1, size=N)
    if levels:
        stability = np.round(stability * levels) / levels
    ratings = generator.uniform(0, 5, size=N)
    noise = 4 * (1 - stability if informative else 0.4) * generator.normal(size=N)
    rated = make_rated(ratings + noise, ratings, questions=np.arange(N) // 2)
    return rated, stability


def test_abstaining_on_unstable_scores_leaves_smaller_errors():
    rated, stability = make(informative=True)
    rows = measure_abstention(rated, "m", "accuracy", stability, resamples=200)
    assert [row.share for row in rows] == [0.0, 0.1, 0.2, 0.3]
    assert [row.n for row in rows] == [N] * 4
    # By hand: the predictions of the curve, and the mean over the most stable ones.
    errors = np.abs(
        rated.ratings[:, 0] - cross_fit(rated.scores[:, 0], rated.ratings[:, 0], rated.questions, method="isotonic")
    )
    for row in rows:
        kept = round((1 - row.share) * N)
        assert row.error == pytest.approx(errors[np.argsort(-stability)[:kept]].mean())
        assert row.least == pytest.approx(np.sort(errors)[:kept].mean())
        assert row.change == pytest.approx(row.error - errors.mean())
    first, last = rows[0], rows[-1]
    assert (first.change, first.change_low, first.change_high) == (0, None, None)
    assert last.change_high < 0
    assert last.low < last.error < last.high < first.high


def test_abstaining_for_no_reason_changes_nothing():
    rated, stability = make(informative=False)
    for row in measure_abstention(rated, "m", "accuracy", stability, resamples=500)[1:]:
        assert row.change_low < 0 < row.change_high


def test_equally_stable_scores_count_in_part():
    rated, _ = make(informative=True)
    (first, *others) = measure_abstention(rated, "m", "accuracy", np.full(N, 0.5), resamples=50)
    for row in others:
        assert row.error == pytest.approx(first.error)
        assert (row.change_low, row.change_high) == (pytest.approx(0), pytest.approx(0))
    # The order of the answers does not matter where many are tied.
    rated, stability = make(informative=True, levels=4)
    errors = np.abs(
        rated.ratings[:, 0] - cross_fit(rated.scores[:, 0], rated.ratings[:, 0], rated.questions, method="isotonic")
    )
    generator = np.random.default_rng(0)
    drawn = [errors[np.lexsort((generator.random(N), -stability))[: int(0.7 * N)]].mean() for _ in range(2000)]
    row = measure_abstention(rated, "m", "accuracy", stability, resamples=20)[-1]
    assert row.share == 0.3
    assert row.error == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(2000))


def test_too_few_questions():
    rated, stability = make(informative=True)
    stability[38:] = np.nan
    with pytest.raises(UsageError, match="19 questions"):
        measure_abstention(rated, "m", "accuracy", stability)


def test_doubtful_answers():
    rated, stability = make(informative=True)
    rated.ratings[:20] = np.nan
    stability[[5, 7, 9]] = 0.1, np.nan, 0.1
    stability[50] = 0.0  # least stable of all, and rated
    found = list_doubtful(rated, "m", stability)
    assert [row.id for row in found[:2]] == ["5", "9"]
    assert {row.id for row in found} == {str(number) for number in range(20)} - {"7"}
    assert found[0].score == rated.scores[5, 0]


def test_an_answer_with_a_rating_of_one_dimension_is_rated():
    rated, stability = make(informative=True)
    rated = replace(rated, dimensions=("a", "b"), ratings=np.hstack([rated.ratings, np.full((N, 1), np.nan)]))
    assert list_doubtful(rated, "m", stability) == []
    unrated = replace(rated, dimensions=(), ratings=np.zeros((N, 0)))
    assert len(list_doubtful(unrated, "m", stability)) == N
