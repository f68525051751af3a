r"""Perplexity of the reference under a causal language model.

- `perplexity`, `byte-perplexity`, `bits-per-byte`: of the reference after the question, as lm-evaluation-harness 0.4.13
  defines them. The likelihood is divided by the number of words (separated by white space, hence English only) or
  bytes, which do not depend on the tokenizer. The response is not used.
- `relaxed-perplexity`, `relaxed-cross-entropy` (Arias-Duart et al. 2025): of the reference, at whatever point of the
  response it would follow. At step i = 0..n the context is the question and the first i tokens of the response, and
  P(A_i|B_i) is the product of the probabilities of the reference's tokens after it. n is the number of response tokens
  considered (option `steps`), len(target) the number of reference tokens directly after the question. Tokens that
  encode parts of one character count as one. For short references: the work grows with n x (n + len(target)).

Lower is better. The question is given as "Question: ...\nAnswer:", in Chinese as "问题：...\n回答：".

Empty and long texts:

- A reference without text is `Failure("no-reference-tokens")`.
- For a response without text the relaxed perplexity has step 0 only: the reference's perplexity per token.
- A text longer than the context of a loaded model is read in windows, and the later ones do not include the question
  (part `pieces`), as in lm-evaluation-harness. A reference that does not fit after a response is
  `Failure("too-long")`, as is any text longer than the context of a server's model.
- A perplexity too large for a float is `Failure("overflow")`; its logarithm is available as another metric.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.metrics.base import Example, option, range_parts, unsigned
from imapeval.metrics.likelihood.base import LikelihoodMetric
from imapeval.metrics.likelihood.logprobs import Continuation
from imapeval.metrics.neural.base import NOT_FINITE
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.metrics.base import Case
    from imapeval.metrics.likelihood.base import Measurement
    from imapeval.types import Lang, Outcome

_PROMPTS: dict[Lang, tuple[str, str]] = {"en": ("Question: {}\nAnswer:", " "), "zh": ("问题：{}\n回答：", "")}
"""Prompt, and separator before the answer. The English form is that of most tasks of lm-evaluation-harness."""

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
        compute: Function from the tokens' log-probabilities and the text to the score.
    """

    part_ranges = range_parts(counts=("tokens", "words", "bytes", "pieces")) | {"loglikelihood": (None, 0.0)}

    compute: Callable[[Sequence[float], str], float] = unsigned()

    def measure(self, case: Case) -> Measurement:
        text = case.reference.strip()
        if not text:
            return _NO_REFERENCE
        prompt, space = _PROMPTS[case.lang]
        [reading] = yield [Continuation(prompt.format(case.question), space + text)]
        parts = {
            "loglikelihood": math.fsum(reading.logprobs),
            "tokens": float(len(reading.logprobs)),
            "words": float(count_words(text)),
            "bytes": float(len(text.encode())),
        }
        if reading.windows > 1:
            parts["pieces"] = float(reading.windows)
        return _make_outcome(self.compute(reading.logprobs, text), parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaxedPerplexity(LikelihoodMetric):
    """How likely the reference is anywhere in the response; parts `completion_tokens`, `target_tokens`, `truncated`.

    Attributes:
        compute: Function from the log-probabilities of the steps to the score.

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


def count_words(text: str) -> int:
    """Return how many words white space separates, at least 1."""
    return len(re.split(r"\s+", text.strip()))


def compute_word_perplexity(logprobs: Sequence[float], text: str) -> float:
    """Return exp(-sum / number of words), at least 1, from the log-probabilities of the text's tokens."""
    return _exp(_mean(logprobs, count_words(text)))


def compute_byte_perplexity(logprobs: Sequence[float], text: str) -> float:
    """Return exp(-sum / number of bytes in UTF-8), at least 1."""
    return _exp(_mean(logprobs, len(text.encode())))


def compute_bits_per_byte(logprobs: Sequence[float], text: str) -> float:
    """Return -sum / number of bytes / ln 2, at least 0: the binary logarithm of the byte perplexity."""
    return _mean(logprobs, len(text.encode())) / math.log(2)


def compute_relaxed_cross_entropy(logprobs: Sequence[float], *, completion: int, target: int) -> float:
    """Return the relaxed cross-entropy of a target in a completion, in nats, at least 0.

    -1/(n + len(target)) * sum_i log P(A_i|B_i), where A_i is the target appearing at step i of the completion and B_i
    what precedes it (Arias-Duart et al. 2025, Automatic Evaluation of Healthcare LLMs Beyond Question-Answering).

    Args:
        logprobs: log P(A_i|B_i) of every step, each the sum over the target's tokens.
        completion: n, the completion's tokens.
        target: len(target), the target's tokens.
    """
    return _mean(logprobs, completion + target)


def compute_relaxed_perplexity(logprobs: Sequence[float], *, completion: int, target: int) -> float:
    """Return the exponential of the relaxed cross-entropy, at least 1; see `compute_relaxed_cross_entropy`."""
    return _exp(compute_relaxed_cross_entropy(logprobs, completion=completion, target=target))


def _mean(logprobs: Sequence[float], count: int) -> float:
    # Not -0.0 where all is certain.
    return -math.fsum(logprobs) / count + 0.0


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
