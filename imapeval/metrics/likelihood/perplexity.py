r"""Perplexities of a model under test: how likely it finds the reference.

- `perplexity`, `byte-perplexity`, `bits-per-byte`: of the reference, after the question. By word, by byte and in bits
  as lm-evaluation-harness defines them; the words of a text are what white space separates, so that `perplexity` is
  defined for English only. The response plays no part.
- `relaxed-perplexity`, `relaxed-cross-entropy` (Arias-Duart et al. 2025): of the reference, wherever in the response
  the model would come to it. The target is the reference, the completion is the response of the model under test: at
  each step i = 0..n the question and the first i tokens of the response stand before the reference, and P(A_i|B_i) is
  the product of the probabilities of the reference's tokens there. n is the number of the response's tokens as far as
  it is looked at (option `steps`), and len(target) the number of the reference's directly after the question. Tokens
  that hold parts of one character count as one. For short references: the work grows with n x (n + len(target)).

Lower is better. The question is given as "Question: ...\nAnswer:", in Chinese as "问题：...\n回答：".

Empty and long cases:

- a reference of white space only is `Failure("no-reference-tokens")`;
- after a response without text the relaxed perplexity has the one step 0, and is the reference's perplexity by token;
- a text that is longer than the context of a loaded model is read in windows, of which the later ones do not see the
  question (part `pieces`), as lm-evaluation-harness does; a reference that does not fit behind a response is
  `Failure("too-long")`, and so is everything that is longer than the context of a server's model;
- a perplexity that no float holds is `Failure("overflow")`; its logarithm is there as another metric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.metrics.base import Example, option, range_parts, unsigned
from imapeval.metrics.likelihood.base import NOT_FINITE, LikelihoodMetric
from imapeval.metrics.likelihood.formulas import (
    compute_bits_per_byte,
    compute_byte_perplexity,
    compute_relaxed_cross_entropy,
    compute_relaxed_perplexity,
    compute_word_perplexity,
    count_bytes,
    count_words,
)
from imapeval.metrics.likelihood.logprobs import Continuation
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.metrics.base import Case
    from imapeval.metrics.likelihood.base import Measurement
    from imapeval.types import Lang, Outcome

_PROMPTS: dict[Lang, tuple[str, str]] = {"en": ("Question: {}\nAnswer:", " "), "zh": ("问题：{}\n回答：", "")}
"""What stands before an answer, and between both: the English is the form of most tasks of lm-evaluation-harness."""

_NO_REFERENCE = Failure("metric", "no-reference-tokens", "the reference has no text, so its likelihood is undefined")

_HARNESS = "Jelinek et al. 1977, Perplexity; as in lm-evaluation-harness 0.4.13"

_RELAXED = "Arias-Duart et al. 2025, Automatic Evaluation of Healthcare LLMs Beyond Question-Answering, NAACL"


_P_REFERENCE = "P is the probability of the reference after the question, the product over its tokens"

_RELAXED_SUM = (
    "-1 / (n + m) x sum over i = 0..n of log P_i; P_i is the probability of the reference after the question and "
    "the first i of the response's n tokens, m the reference's tokens"
)


def _make_example(last: str, score: float, *, response: str = "", first: str = "P = 1/2 x 1/8 x 1/4 = 1/64") -> Example:
    return Example("Rest now", response, (first, last), score, probabilities=(1 / 2, 1 / 8, 1 / 4))


def _make_relaxed_example(last: str, score: float) -> Example:
    first = "response of n = 1 token, reference of m = 3; P_0 = P_1 = 1/2 x 1/8 x 1/4 = 1/64"
    return _make_example(last, score, response="R", first=first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perplexity(LikelihoodMetric):
    """How likely the reference is after the question; parts `loglikelihood`, `tokens`, `words`, `bytes`.

    Attributes:
        compute: Gives the number, from the tokens' log-probabilities and the text.
    """

    part_ranges = range_parts(counts=("tokens", "words", "bytes", "pieces")) | {"loglikelihood": (None, 0.0)}

    compute: Callable[[Sequence[float], str], float] = unsigned()

    def measure(self, case: Case) -> Measurement:
        """See `Likelihood.measure`."""
        text = case.reference.strip()
        if not text:
            return _NO_REFERENCE
        prompt, space = _PROMPTS[case.lang]
        [reading] = yield [Continuation(prompt.format(case.question), space + text)]
        parts = {
            "loglikelihood": math.fsum(reading.logprobs),
            "tokens": float(len(reading.logprobs)),
            "words": float(count_words(text)),
            "bytes": float(count_bytes(text)),
        }
        if reading.windows > 1:
            parts["pieces"] = float(reading.windows)
        return _make_outcome(self.compute(reading.logprobs, text), parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaxedPerplexity(LikelihoodMetric):
    """How likely the reference is anywhere in the response; parts `completion_tokens`, `target_tokens`, `truncated`.

    Attributes:
        compute: Gives the number, from what is computed of the steps.

    Raises:
        ValueError: `steps` is below 1.
    """

    part_ranges = range_parts(shares=("truncated",), counts=("completion_tokens", "target_tokens"))

    compute: Callable[..., float] = unsigned()
    # Ours: the work grows with its square, and 50 tokens are two sentences.
    steps: int = option("after how many tokens of the response the reference is looked for at most", 50)

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps={self.steps} leaves nothing of the response; give 1 or more")

    def measure(self, case: Case) -> Measurement:
        """See `Likelihood.measure`."""
        target, response = case.reference.strip(), case.response.strip()
        if not target:
            return _NO_REFERENCE
        form, space = _PROMPTS[case.lang]
        prompt, completion = form.format(case.question), space + response
        ends: list[int] = []
        if response:
            [whole] = yield [Continuation(prompt, completion)]
            ends = sorted(set(whole.ends))
        seen = ends[: self.steps]
        readings = yield [Continuation(prompt + completion[:end], space + target, whole=True) for end in (0, *seen)]
        tokens = len(readings[0].logprobs)
        parts = {"completion_tokens": float(len(seen)), "target_tokens": float(tokens)}
        if len(seen) < len(ends):
            parts["truncated"] = 1.0
        logprobs = [math.fsum(reading.logprobs) for reading in readings]
        return _make_outcome(self.compute(logprobs, completion=len(seen), target=tokens), parts)


def build() -> list[LikelihoodMetric]:
    """Return the metrics of this module, for the registry."""
    return [
        Perplexity(
            name="perplexity",
            summary="perplexity of the reference after the question, by word",
            range=(1.0, None),
            languages=frozenset({"en"}),
            citation=_HARNESS,
            formula=f"P^(-1 / words); {_P_REFERENCE}",
            example=_make_example("(1/64)^(-1/2) = 8", 8.0),
            compute=compute_word_perplexity,
        ),
        Perplexity(
            name="byte-perplexity",
            summary="perplexity of the reference after the question, by byte",
            range=(1.0, None),
            citation=_HARNESS,
            formula=f"P^(-1 / bytes); {_P_REFERENCE}",
            example=_make_example("(1/64)^(-1/8) = 1.682", 64 ** (1 / 8)),
            compute=compute_byte_perplexity,
        ),
        Perplexity(
            name="bits-per-byte",
            summary="bits per byte of the reference after the question",
            range=(0.0, None),
            citation=_HARNESS,
            formula=f"-log2(P) / bytes; {_P_REFERENCE}",
            example=_make_example("log2(64) / 8 = 0.75", 0.75),
            compute=compute_bits_per_byte,
        ),
        RelaxedPerplexity(
            name="relaxed-perplexity",
            summary="perplexity of the reference anywhere in the response",
            range=(1.0, None),
            citation=_RELAXED,
            formula=f"exp({_RELAXED_SUM})",
            example=_make_relaxed_example("exp(2 x log 64 / (1 + 3)) = 8", 8.0),
            compute=compute_relaxed_perplexity,
        ),
        RelaxedPerplexity(
            name="relaxed-cross-entropy",
            summary="logarithm of the relaxed perplexity, in nats",
            range=(0.0, None),
            citation=_RELAXED,
            formula=_RELAXED_SUM,
            example=_make_relaxed_example("2 x log 64 / (1 + 3) = 2.079", math.log(8)),
            compute=compute_relaxed_cross_entropy,
        ),
    ]


def _make_outcome(value: float, parts: Mapping[str, float]) -> Outcome:
    if math.isnan(value) or not all(map(math.isfinite, parts.values())):
        return NOT_FINITE
    if math.isinf(value):
        return Failure(
            "metric", "overflow", "the perplexity is above 1.8e308; use bits-per-byte or relaxed-cross-entropy"
        )
    return Score(value, parts)
