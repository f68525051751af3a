import json
import math
from fractions import Fraction

import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.metrics import registry
from imapeval.report.summary import SummaryRow
from imapeval.report.thresholds import (
    ContradictionVerdict,
    Threshold,
    Verdict,
    check_contradictions,
    check_ranges,
    check_thresholds,
    judge_answer,
    make_threshold,
    parse_thresholds,
)
from imapeval.types import Failure, Score

IMAPSCORE = [registry.get("imapscore")]


def test_the_direction_is_the_metrics():
    assert parse_thresholds(["imapscore=0.35", "perplexity=40"], option="--t") == [
        Threshold("imapscore", 0.35, higher_is_better=True),
        Threshold("perplexity", 40.0, higher_is_better=False),
    ]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["imapscore"], r"--t 'imapscore' is not METRIC=VALUE"),
        (["imapscore>=0.3"], "'imapscore>' is not among the metrics: imapscore"),
        (["imapscore=good"], "is not METRIC=VALUE"),
        (["imapscore=nan"], "is not METRIC=VALUE"),
        (["imapscore=inf"], "is not METRIC=VALUE"),
        (["=0.3"], "is not METRIC=VALUE"),
        (["rouge1=0.3"], "'rouge1' is not among the metrics: imapscore"),
        (["imapscore=0.3", "imapscore=0.4"], "names 'imapscore' twice. Keep one of 0.3 and 0.4"),
    ],
)
def test_what_cannot_be_meant(texts: list[str], message: str):
    with pytest.raises(UsageError, match=message):
        parse_thresholds(texts, IMAPSCORE, option="--t")


def test_a_name_that_comes_near():
    with pytest.raises(UsageError, match=r"'imapscor'.*imapscore"):
        parse_thresholds(["imapscor=0.3"], option="--t")


def test_a_percentage_is_noticed():
    with pytest.raises(UsageError, match=r"--t imapscore=35: .* 0 to 1"):
        check_ranges([Threshold("imapscore", 35)], {"imapscore": (0.0, 1.0)}, option="--t")
    with pytest.raises(UsageError, match=r"--t perplexity=-1: .*\b1\b"):
        check_ranges([Threshold("perplexity", -1)], {"perplexity": registry.get("perplexity").range}, option="--t")
    check_ranges([Threshold("perplexity", 1e6), Threshold("other", 35)], {"perplexity": (1.0, None)}, option="--t")


@pytest.mark.parametrize(
    ("verdict", "met", "said"),
    [
        (Verdict(Threshold("m", 0.35), 0.412, 3), True, "m: the mean 0.412 of 3 scored is at least 0.35."),
        (Verdict(Threshold("m", 0.35), 0.35, 3), True, "m: the mean 0.350 of 3 scored is at least 0.35."),
        (Verdict(Threshold("m", 0.35), 0.3, 3), False, "m: the mean 0.300 of 3 scored is below 0.35."),
        # Rounded it would be the threshold itself.
        (Verdict(Threshold("m", 0.35), 0.34999, 3), False, "m: the mean 0.34999 of 3 scored is below 0.35."),
        # Rounded they would be on its other side.
        (Verdict(Threshold("m", 0.3079), 0.30785, 3), False, "m: the mean 0.30785 of 3 scored is below 0.3079."),
        (Verdict(Threshold("m", 0.3084), 0.30841, 3), True, "m: the mean 0.30841 of 3 scored is at least 0.3084."),
        (Verdict(Threshold("m", 0.12345678), 0.5, 3), True, "m: the mean 0.500 of 3 scored is at least 0.12345678."),
        (Verdict(Threshold("m", 40, False), 39.0, 3), True, "m: the mean 39.000 of 3 scored is at most 40."),
        (Verdict(Threshold("m", 40, False), 41.0, 3), False, "m: the mean 41.000 of 3 scored is above 40."),
        (
            Verdict(Threshold("m", 0.35), 0.412, 30, 0, 0.3, 0.5),
            True,
            "m: the mean 0.412 of 30 scored is at least 0.35, too close to call (95% interval 0.300 to 0.500).",
        ),
        (
            Verdict(Threshold("m", 0.9992), 0.9993, 30, low=0.9991, high=0.9994),
            True,
            "m: the mean 0.9993 of 30 scored is at least 0.9992, too close to call (95% interval 0.9991 to 0.9994).",
        ),
        (
            Verdict(Threshold("m", 40, False), 41.0, 30, 0, 40.0, 42.0),
            False,
            "m: the mean 41.000 of 30 scored is above 40, too close to call (95% interval 40.000 to 42.000).",
        ),
        (
            Verdict(Threshold("m", 0.35), 0.412, 30, 0, 0.36, 0.5),
            True,
            "m: the mean 0.412 of 30 scored is at least 0.35.",
        ),
        (
            Verdict(Threshold("m", 0.35), 0.923, 1, failed=29),
            True,
            "m: the mean 0.923 of 1 scored (29 of 30 have no score) is at least 0.35.",
        ),
        (
            Verdict(Threshold("m", 0.35), 0.3, 2, failed=1),
            False,
            "m: the mean 0.300 of 2 scored (1 of 3 has no score) is below 0.35.",
        ),
        (Verdict(Threshold("m", 0.0), None, 0), False, "m: no answer was scored, so the mean does not meet 0."),
        (Verdict(Threshold("m", 0.1), 0.9, 2, 1), False, "not known: 1 answer has not been tried yet."),
        (Verdict(Threshold("m", 0.1), None, 0, 2), False, "not known: 2 answers have not been tried yet."),
    ],
)
def test_verdicts(verdict: Verdict, met: bool, said: str):
    assert verdict.met is met
    assert str(verdict).endswith(said)


@pytest.mark.parametrize(
    ("repetitions", "limit", "ends"),
    [
        # scipy 1.17, stats.ttest_1samp(...).confidence_interval(): .2516 to .7484 of .4, .5, .6.
        (((0.4,), (0.5,), (0.6,)), 0.7, "0.252 to 0.748 of 3 repetitions"),
        (((0.4,), (0.5,), (0.6,)), 0.75, None),
        # A judge alone: one row.
        (((0.4, 0.5, 0.6),), 0.3, "0.252 to 0.748 of 3 repetitions"),
        # The first reading with its first judgement, the second with its second.
        (((0.4, 0.0, 0.1), (0.9, 0.5, 0.8), (0.2, 1.0, 0.6)), 0.3, "0.252 to 0.748 of 3 repetitions"),
        (((0.5,), (0.5,)), 0.5, None),
        (((0.5,),), 0.5, None),
        ((), 0.5, None),
    ],
)
def test_one_answer_is_too_close_to_call(repetitions: tuple[tuple[float, ...], ...], limit: float, ends: str | None):
    verdict = Threshold("m", limit).judge(Score(0.5, {}, repetitions))
    said = verdict.doubt
    assert (said == "") is (ends is None)
    assert ends is None or ends in said
    assert verdict.word == ("too close to call" if ends else "pass" if limit <= 0.5 else "fail")
    assert verdict.counts == {"passed": float(limit <= 0.5), "too_close": float(ends is not None)}


def test_the_verdict_on_one_answer_as_json():
    found = Threshold("m", 0.3, higher_is_better=False).judge(Score(0.5, {}, ((0.4, 0.5, 0.6),))).to_dict()
    # scipy as above.
    assert (found.pop("low"), found.pop("high")) == pytest.approx((0.2516, 0.7484), abs=1e-4)
    assert found == {
        "metric": "m",
        "higher_is_better": False,
        "threshold": 0.3,
        "verdict": "too close to call",
        "met": False,
        "repetitions": 3,
    }


def test_only_a_score_of_the_metric_gets_a_verdict():
    outcomes = {"m": Score(0.5), "n": Failure("llm", "refusal", "no")}
    assert judge_answer(outcomes, None) is None
    assert judge_answer(outcomes, Threshold("n", 0.3)) is None
    assert judge_answer(outcomes, Threshold("other", 0.3)) is None
    found = judge_answer(outcomes, Threshold("m", 0.3))
    assert found is not None
    assert str(found) == "Pass: 0.500 is at least 0.3."


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int64(1), Fraction(1, 2)])
def test_a_limit_is_any_real_number(value: float):
    limit = make_threshold(registry.get("imapscore"), value)
    assert limit is not None
    assert limit.value == value
    assert json.loads(json.dumps(limit.judge(Score(0.5)).to_dict()))["threshold"] == value


@pytest.mark.parametrize("value", [True, np.True_, "0.5", 1j, math.nan, np.float32("inf"), 10**400, 35])
def test_an_invalid_limit_on_an_answer(value: object):
    with pytest.raises(UsageError):
        make_threshold(registry.get("imapscore"), value)


def test_the_mean_is_over_all_systems_and_over_scored_answers_only():
    rows = [
        SummaryRow("m", "", 3, 1, 0.5, None, None),
        SummaryRow("m", "a", 2, 0, 0.2, None, None),
        SummaryRow("n", "", 2, 0, 0.7, None, None),
    ]
    m, n = check_thresholds([Threshold("m", 0.4), Threshold("n", 0.4)], rows, samples=4)
    assert (m.mean, m.scored, m.failed, m.pending, m.met) == (0.5, 3, 1, 0, True)
    # Of two answers nothing is known of n: the run has stopped before them.
    assert (n.mean, n.pending, n.met) == (0.7, 2, False)
    assert n.to_dict() == {"metric": "n", "higher_is_better": True, "threshold": 0.4, "mean": 0.7, "met": False} | {
        "low": None,
        "high": None,
        "too_close": False,
    }


@pytest.mark.parametrize(
    ("verdict", "met", "said"),
    [
        (ContradictionVerdict(3, 3.0, 9), True, "contradictions: 3 in 9 scored, at most 3."),
        (ContradictionVerdict(3, 4.0, 9), False, "contradictions: 4 in 9 scored, more than 3."),
        (ContradictionVerdict(0, 1 / 3, 9), False, "contradictions: 0.33 in 9 scored, more than 0."),
        # Rounded it would be the limit itself.
        (ContradictionVerdict(3, 3.001, 9), False, "contradictions: 3.001 in 9 scored, more than 3."),
        (ContradictionVerdict(3, 0.0, 8, 1), False, "at most 3 is not known: 1 answer has not been tried yet."),
        # What is still to come can make it no better.
        (ContradictionVerdict(3, 4.0, 8, 1), False, "contradictions: 4 in 8 scored, more than 3."),
        (
            ContradictionVerdict(3, 0.0, 1, failed=29),
            True,
            "contradictions: 0 in 1 scored (29 of 30 have no score), at most 3.",
        ),
        (ContradictionVerdict(3, None, 0), False, "no answer was scored, so whether there are at most 3 is not known."),
    ],
)
def test_verdicts_on_contradictions(verdict: ContradictionVerdict, met: bool, said: str):
    assert verdict.met is met
    assert str(verdict).endswith(said)


def test_contradictions_are_those_of_all_systems():
    rows = [
        SummaryRow("rouge1", "", 4, 0, 0.5, None, None),
        SummaryRow("imapscore", "", 3, 1, 0.5, None, None, 5.0),
        SummaryRow("imapscore", "a", 2, 0, 0.2, None, None, 1.0),
    ]
    verdict = check_contradictions(4, rows, samples=5)
    assert verdict == ContradictionVerdict(4, 5.0, 3, 1, 1)
    assert verdict.to_dict() == {
        "metric": "imapscore",
        "higher_is_better": False,
        "threshold": 4,
        "contradictions": 5.0,
        "met": False,
    }


def test_nobody_counts_contradictions():
    rows = [SummaryRow("rouge1", "", 3, 0, 0.5, None, None)]
    with pytest.raises(UsageError, match=r"--max-contradictions.*: rouge1\. .*imapscore"):
        check_contradictions(4, rows, samples=3)
    rows.append(SummaryRow("imapscore", "", 3, 0, 0.5, None, None))
    with pytest.raises(UsageError, match=r"--max-contradictions.*imapscore"):
        check_contradictions(4, rows, samples=3)
