"""Perplexities as pure functions: worked examples, and lm-evaluation-harness's own formulas."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.metrics.likelihood.perplexity import (
    compute_bits_per_byte,
    compute_byte_perplexity,
    compute_relaxed_cross_entropy,
    compute_relaxed_perplexity,
    compute_word_perplexity,
    count_words,
)

# Arias-Duart et al. 2025: two answers that mean the same, one in the expected words.
EXPECTED = [0.99, 0.85, 0.89, 0.99, 0.99, 0.99, 0.99, 0.99]
REWORDED = [0.99, 0.65, 0.13, 0.05, 0.21, 0.99, 0.99, 0.99]


def to_logs(probabilities: list[float]) -> list[float]:
    return [math.log(probability) for probability in probabilities]


def test_relaxed_perplexity_is_the_formula_of_the_paper() -> None:
    # exp(-1/(n + len(target)) * sum_i log P(A_i|B_i)), by hand: n = 2, a target of 3 tokens, at steps 0, 1 and 2.
    steps = [0.1, 0.5, 0.9]
    value = compute_relaxed_perplexity(to_logs(steps), completion=2, target=3)
    assert value == pytest.approx((0.1 * 0.5 * 0.9) ** (-1 / 5), abs=1e-12)
    entropy = compute_relaxed_cross_entropy(to_logs(steps), completion=2, target=3)
    assert entropy == pytest.approx(math.log(value), abs=1e-12)


@pytest.mark.parametrize(("probabilities", "perplexity"), [(EXPECTED, 1.043), (REWORDED, 2.419)])
def test_relaxed_perplexity_of_the_worked_examples_as_steps(probabilities: list[float], perplexity: float) -> None:
    assert round(compute_relaxed_perplexity(to_logs(probabilities), completion=3, target=5), 3) == perplexity


def test_a_target_that_is_certain_somewhere_but_not_at_once_is_less_surprising_than_by_perplexity() -> None:
    strict = 100  # 1 / .01
    relaxed = compute_relaxed_perplexity(to_logs([0.01, 0.99, 0.99]), completion=2, target=1)
    assert relaxed < strict


@given(
    st.lists(st.floats(-30, 0), min_size=1, max_size=40),
    st.text(alphabet="ab 的 \n🩺é", min_size=1).filter(lambda text: text.strip()),
)
def test_harness_formulas(logprobs: list[float], text: str) -> None:
    # lm_eval 0.4.13: process_results of its perplexity tasks counts, metrics.py divides (`weighted_perplexity`,
    # `bits_per_byte`).
    text = text.strip()
    total = sum(logprobs)
    words, size = len(re.split(r"\s+", text)), len(text.encode("utf-8"))
    assert count_words(text) == words
    if total / words > -700:
        assert compute_word_perplexity(logprobs, text) == pytest.approx(math.exp(-total / words))
    if total / size > -700:
        assert compute_byte_perplexity(logprobs, text) == pytest.approx(math.exp(-total / size))
    assert compute_bits_per_byte(logprobs, text) == pytest.approx(-total / size / math.log(2))


def test_edges() -> None:
    assert compute_word_perplexity([-1000.0], "word") == math.inf
    assert str(compute_bits_per_byte([0.0], "word")) == "0.0"
