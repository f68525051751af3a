import numpy as np
import pytest

from imapeval.study.agreement.constant_raters import (
    FEWEST,
    describe_constant_raters,
    find_constant,
    leave_out_constant_raters,
)
from imapeval.study.agreement.measure import measure_agreement
from imapeval.study.agreement.noise_ceiling import find_ceilings
from imapeval.study.agreement.sentences import describe_agreement
from imapeval.study.arrays import Floats
from imapeval.study.comparison.raters import count_worth
from imapeval.study.subgroups.bias import measure_bias
from tests.study.answers import make_rated


def add_constant(ratings: Floats) -> Floats:
    return np.column_stack((ratings, np.full(len(ratings), 4.0)))


def test_the_ceiling_is_that_of_the_others(complete: Floats):
    # Where nothing is missing, a constant moves no mean against another: what can be reached stays the same.
    without = find_ceilings(make_rated(by_rater={"a": complete}))
    found = find_ceilings(make_rated(by_rater={"a": add_constant(complete)}))
    for row, other in zip(found, without, strict=True):
        assert (row.reliability, row.value, row.low) == pytest.approx((other.reliability, other.value, other.low))
        assert (row.n, row.raters) == (other.n, other.raters)


def test_worth_and_bias_are_those_of_the_others(complete: Floats):
    scores = complete.mean(axis=1) + np.random.default_rng(0).normal(size=len(complete))
    tables = (complete, add_constant(complete))
    lengths = {"length": np.arange(len(complete), dtype=np.float64)}
    without, found = (make_rated(scores=scores[:, None], by_rater={"a": table}, covariates=lengths) for table in tables)
    assert count_worth(found)[0].raters == pytest.approx(count_worth(without)[0].raters)
    assert measure_bias(found)[0].reliability == pytest.approx(measure_bias(without)[0].reliability)


def test_a_sentence_names_them(complete: Floats):
    rated = make_rated(by_rater={"a": add_constant(complete), "b": np.column_stack((complete, complete[:, 0]))})
    name = rated.raters[-1]
    (sentence,) = describe_constant_raters(rated)
    assert sentence.startswith(f"{name} gave every answer 4 in a:")
    assert describe_agreement(rated, measure_agreement(rated), find_ceilings(rated))[-1] == sentence
    left = leave_out_constant_raters(rated)
    assert np.isnan(left.by_rater["a"][:, -1]).all()
    assert describe_constant_raters(left) == []


def test_few_or_equal_answers_show_no_constant_rater():
    varied = np.arange(FEWEST, dtype=np.float64)
    constant = np.full(FEWEST, 4.0)
    assert find_constant(np.column_stack((varied, constant))).tolist() == [False, True]
    assert not find_constant(np.column_stack((varied, constant))[1:]).any()
    # All gave the same, which may be because the answers are equal.
    assert not find_constant(np.column_stack((constant, constant))).any()
