"""How far repeated scores move, against simulated scores whose variance is known, and by hand."""

import math

import numpy as np
import pytest

from imapeval.evaluation.runs import Result
from imapeval.report.spread import measure_spread
from imapeval.report.thresholds import Threshold
from imapeval.types import Failure, Score


def make(*repetitions: tuple[tuple[float, ...], ...], metric: str = "m") -> list[Result]:
    return [
        Result(str(number), metric, Score(float(np.mean(rows)), {}, rows), "m|v:1")
        for number, rows in enumerate(repetitions)
    ]


QUESTIONS = {str(number): f"question {number}" for number in range(1000)}


def test_three_answers_by_hand():
    results = make(((0.4, 0.5, 0.6),), ((0.7, 0.8, 0.9),), ((0.5, 0.5, 0.5),))
    (found,) = measure_spread(results, [Threshold("m", 0.5)], questions=QUESTIONS)
    assert (found.readings, found.judgements) == (1, 3)
    assert [answer.sd for answer in found.answers] == pytest.approx([0.1, 0.1, 0.0])
    # The root of the mean variance, and of that of a mean of three.
    assert found.sd == pytest.approx(math.sqrt(0.02 / 3))
    assert found.sd_of_mean == pytest.approx(math.sqrt(0.02 / 3 / 3))
    # scipy 1.17, stats.ttest_1samp: .2516 to .7484 of the first, .5516 to 1.0484 of the second.
    assert [answer.verdict and answer.verdict.word for answer in found.answers] == ["too close to call", "pass", "pass"]
    assert [found.count(word) for word in ("pass", "fail", "too close to call")] == [2, 0, 1]
    # Of the first answer two of three pairs are on different sides, of the others none: 2/9; by 1,000 drawn pairs.
    assert found.flips == pytest.approx(2 / 9, abs=0.02)


def test_flips_and_spread_of_simulated_scores():
    generator = np.random.default_rng(1)
    noise = 0.1
    means = np.full(1000, 0.5)
    results = make(*(((*row,),) for row in (means[:, None] + noise * generator.normal(size=(1000, 4))).tolist()))
    (found,) = measure_spread(results, [Threshold("m", 0.5)], questions=QUESTIONS)
    assert found.sd == pytest.approx(noise, rel=0.05)
    assert found.sd_of_mean == pytest.approx(noise / 2, rel=0.05)
    # On the threshold every verdict is a coin's.
    assert found.flips == pytest.approx(0.5, abs=0.02)
    assert found.flips_of_mean == pytest.approx(0.5, abs=0.05)
    # A true mean on the threshold is outside its 95% interval in 1 of 20 cases.
    assert (found.count("too close to call") or 0) / 1000 == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("limit", "flips"),
    [(Threshold("m", 2.0, False), 1.0), (Threshold("m", 3.0, False), 0.0), (Threshold("m", 3.0), 1.0)],
)
def test_a_score_equal_to_the_limit_meets_it(limit: Threshold, flips: float):
    """By hand: of 2 and 3, at most 2 is met by one, at most 3 by both."""
    (found,) = measure_spread(make(*[((2.0,), (3.0,))] * 4), [limit], questions=QUESTIONS)
    assert found.flips == flips


def test_only_repeated_scores_have_a_spread():
    results = [
        *make(((0.4, 0.6),), ((0.4, 0.6),), ((0.4,),), metric="judge"),
        Result("3", "judge", Failure("llm", "refusal", "no"), ""),
        *make(((0.5,),), metric="once"),
        Result("0", "rouge1", Score(0.3), ""),
        *make(((0.2,), (0.4,)), metric="read"),
    ]
    judge, read = measure_spread(results, [], questions=QUESTIONS)
    assert (judge.metric, [answer.id for answer in judge.answers]) == ("judge", ["0", "1"])
    assert (read.metric, read.readings, read.judgements) == ("read", 2, 1)
    assert (judge.flips, judge.flips_of_mean, judge.count("pass")) == (None, None, None)
    assert judge.to_dict()["answers"][0] == {"id": "0", "score": 0.5, "sd": pytest.approx(0.02**0.5), "verdict": None}
