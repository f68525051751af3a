import json
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

from imapeval.errors import InputError, UsageError
from imapeval.study.calibration.curve import (
    METHODS,
    calibrate,
    cross_fit,
    describe_baseline_error,
    fit_curve,
    measure_calibration_error,
)
from imapeval.study.calibration.curve_file import read_calibration, write_calibration
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale
from tests.study.answers import make_rated


def rate(n: int = 300, *, seed: int = 1, lower_is_better: bool = False, noise: float = 0.5) -> Rated:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    ratings = np.clip(np.round(2 * (5 * scores**2 + rng.normal(0, noise, n))) / 2, 0, 5)
    return make_rated(
        -scores if lower_is_better else scores,
        ratings,
        questions=np.arange(n) // 2,
        scales={"accuracy": RatingScale(0, 5, 0.5)},
        lower_is_better=frozenset({"m"}) if lower_is_better else frozenset(),
    )


def test_the_isotonic_curve_is_scipys():
    rng = np.random.default_rng(4)
    scores = np.round(rng.random(80), 2)
    ratings = scores + rng.normal(0, 0.3, 80)
    curve = fit_curve(scores, ratings, method="isotonic")
    # Ties in the score: scipy (1.17) is given one weighted row per level.
    levels, number = np.unique(scores, return_inverse=True)
    sizes = np.bincount(number)
    expected = optimize.isotonic_regression(np.bincount(number, ratings) / sizes, weights=sizes).x
    assert curve.predict(levels) == pytest.approx(expected, abs=1e-12)
    assert len(curve.scores) < len(levels)
    # Flat outside the scores that were seen.
    assert curve.predict(np.array([-9.0, 9.0])) == pytest.approx([expected[0], expected[-1]])


def test_the_line_is_least_squares_and_goes_on():
    scores, ratings = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0, 5.0])
    curve = fit_curve(scores, ratings, method="linear")
    # numpy.polyfit 2.4: slope 1.1, offset 1.1.
    assert curve.predict(np.array([0.0, 10.0, np.nan]))[:2] == pytest.approx([1.1, 12.1])
    assert np.isnan(curve.predict(np.array([np.nan]))[0])
    assert curve.predict(np.array([10.0]), RatingScale(0, 5)) == pytest.approx([5.0])


@pytest.mark.parametrize("method", METHODS)
def test_no_answer_is_predicted_from_its_own_question(method: str):
    # Ratings are a coin per question: who has seen the question's other answer knows the rating.
    rng = np.random.default_rng(5)
    questions = np.repeat(np.arange(200), 2)
    ratings = np.repeat(rng.integers(0, 2, 200), 2).astype(float)
    scores = np.repeat(rng.random(200), 2)
    predicted = cross_fit(scores, ratings, questions, method=method)
    assert abs(np.corrcoef(predicted, ratings)[0, 1]) < 0.2
    alone = cross_fit(scores, ratings, np.arange(400), method=method)
    if method == "isotonic":
        assert np.abs(ratings - alone).mean() < np.abs(ratings - predicted).mean()


def test_errors_are_those_of_answers_not_seen():
    made = calibrate(rate(), "m", "accuracy", signature="m|v:1", resamples=200)
    errors = made.errors
    assert (errors.n, errors.questions) == (300, 150)
    assert errors.mean_absolute[0] < 0.6 * errors.baseline
    for value, interval in (errors.mean_absolute, errors.root_mean_square):
        assert interval.low < value < interval.high
    # Ratings are 5 x score squared: the isotonic curve is nearer than the line.
    line = calibrate(rate(), "m", "accuracy", signature="m|v:1", method="linear", resamples=200)
    assert errors.root_mean_square[0] < line.errors.root_mean_square[0]
    assert errors.calibration < line.errors.calibration


@pytest.mark.parametrize("off", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("answers", [1, 3])
def test_the_calibration_error_is_not_too_large_by_chance(off: float, answers: int):
    # Predictions that are off by the same amount, up and down; the plain error of 200 answers would be about .2 at 0.
    rng = np.random.default_rng(2)
    found: list[float] = []
    for _ in range(200):
        questions = np.repeat(np.arange(200), answers)
        predicted = rng.random(len(questions)) * 4
        noise = 0.7 * rng.normal(size=200)[questions] + 0.7 * rng.normal(size=len(questions))
        ratings = predicted + off * np.sign(predicted - 2) + noise
        found.append(measure_calibration_error(predicted, ratings, questions))
    # It is the mean of the squares that is right on average, but for those that are cut off at 0.
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(off, abs=0.03 if off else 0.11)
    if not off:
        assert np.median(found) < 0.05


@pytest.mark.parametrize("levels", [1, 2, 30])
def test_the_calibration_error_does_not_depend_on_the_order(levels: int):
    rng = np.random.default_rng(3)
    predicted = 2.5 + rng.integers(0, levels, 300) / 100
    ratings, questions = np.sort(rng.integers(0, 6, 300)).astype(float), np.arange(300)
    order = rng.permutation(300)
    found = measure_calibration_error(predicted, ratings, questions)
    assert found < 0.5
    assert measure_calibration_error(predicted[order], ratings[order], questions[order]) == pytest.approx(found)


def test_a_new_rating_lies_within_the_half_width_as_often_as_it_says():
    # Vovk 2015: the share holds on average over studies of 300 answers; one study's varies by about .013.
    shares: list[float] = []
    for seed in range(20):
        made = calibrate(rate(seed=seed), "m", "accuracy", signature="m|v:1", resamples=1)
        fresh = rate(2000, seed=100 + seed)
        predicted = made.curve.predict(fresh.scores[:, 0], made.scale)
        shares.append(float((np.abs(predicted - fresh.ratings[:, 0]) <= made.errors.half_width).mean()))
    assert 0.94 <= np.mean(shares) <= 0.97


def test_a_metric_of_which_low_scores_are_good():
    high = calibrate(rate(), "m", "accuracy", signature="s", resamples=50)
    low = calibrate(rate(lower_is_better=True), "m", "accuracy", signature="s", resamples=50)
    scores = np.linspace(0, 1, 7)
    assert low.curve.predict(-scores) == pytest.approx(high.curve.predict(scores))
    assert low.errors == high.errors


def test_written_and_read_back(tmp_path: Path):
    for method in METHODS:
        made = calibrate(rate(), "m", "accuracy", signature="m|v:1", method=method, resamples=50)
        write_calibration(made, tmp_path / "c.json")
        assert read_calibration(tmp_path / "c.json") == made


def test_what_cannot_be_calibrated():
    with pytest.raises(UsageError, match="19"):
        calibrate(rate(38), "m", "accuracy", signature="s")
    constant = rate()
    constant.scores[:] = 0.5
    with pytest.raises(UsageError, match="are the same"):
        calibrate(constant, "m", "accuracy", signature="s")
    constant.scores[0] = 1
    with pytest.raises(UsageError, match="few questions"):
        calibrate(constant, "m", "accuracy", signature="s")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"knots": [[0.5, 1], [0.2, 2]]}, "must rise"),
        ({"knots": [[0.5, 1]]}, "knots"),
        ({"scale": {"low": 0.0, "high": 0.0, "step": None}}, "scale"),
        ({"scale": {"low": float("nan"), "high": 5.0, "step": None}}, "scale"),
        ({"scale": {"low": 0.0, "high": 5.0, "step": None, "other": 1}}, "scale"),
        ({"mean_absolute_error": {"value": float("nan"), "low": 0.1, "high": 0.2}}, "mean_absolute_error"),
        ({"n": -1}, "n: "),
        ({"questions": 0}, "questions"),
        ({"half_width": -1}, "half_width"),
        ({"metric": None}, "metric"),
        ({"other": 1}, "other"),
    ],
)
def test_files_that_are_none(tmp_path: Path, change: dict[str, object], message: str):
    path = tmp_path / "c.json"
    write_calibration(calibrate(rate(), "m", "accuracy", signature="s", resamples=50), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        read_calibration(path)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read"):
        read_calibration(tmp_path / "c.json")
    with pytest.raises(UsageError, match="cannot write"):
        write_calibration(calibrate(rate(), "m", "accuracy", signature="s", resamples=50), tmp_path / "no" / "c.json")


@pytest.mark.parametrize(("noise", "said"), [(0.5, "Better"), (9.0, "Not shown to be better")])
def test_the_error_is_compared_with_that_of_the_mean_of_other_questions(noise: float, said: str):
    rated = rate(noise=noise)
    errors = calibrate(rated, "m", "accuracy", signature="s", resamples=400).errors
    # The same folds, with a score that says nothing: a line fitted to it is the mean of the other questions.
    alike = rate(noise=noise)
    alike.scores[:, 0] = np.tile([0.0, 1.0], len(alike.ids) // 2)
    pairs = alike.ratings.reshape(-1, 2)
    alike.ratings[:] = np.repeat(pairs.mean(axis=1), 2)[:, None]
    predicted = cross_fit(alike.scores[:, 0], alike.ratings[:, 0], alike.questions, method="linear")
    baseline = float(np.abs(rated.ratings[:, 0] - predicted).mean())
    assert errors.baseline == pytest.approx(baseline, abs=1e-9)
    assert errors.difference[0] == pytest.approx(errors.mean_absolute[0] - baseline, abs=1e-9)
    found = describe_baseline_error(errors)
    assert found.startswith(said)
    assert all(f"{number:.3f}" in found for number in (errors.mean_absolute[0], errors.baseline, errors.difference[0]))
