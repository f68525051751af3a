"""What the learned metrics have in common: the cases they know, their outcomes and their signatures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from imapeval.signature import signature
from imapeval.types import Failure, Lang, Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from imapeval.metrics.base import Case

MAX_WORDS = 100_000
"""Most words that a metric of sentences reads for one case, where every sentence is read beside the reference: some ten
minutes of a model of roberta-large's size on two cores, which read 200 tokens a second here (1.3 tokens a word). An
answer of 300 words in 15 sentences, beside a reference as long, comes to 5,000."""

UNSIGNED = {"signature": False}
"""Metadata of a field that is filled when a metric is prepared, and is no part of its signature."""

_Prepared = TypeVar("_Prepared")


class Modelled(Protocol):
    """A metric with a model of its own, which is a frozen dataclass.

    Attributes:
        model: Where the weights are.
        identity: The model's identity, "" until the metric is prepared.
    """

    @property
    def model(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def languages(self) -> frozenset[Lang]: ...


def sign(metric: Any, precision: str) -> str:
    """Return the signature of a metric: its options, with the weights in place of where they lie once it is prepared.

    Args:
        metric: See `Modelled`.
        precision: Of the weights; "" until it is prepared.
    """
    if not metric.identity:
        return signature(metric.name, metric, v=1)
    return signature(metric.name, replace(metric, model=metric.identity), precision=precision, v=1)


def need(prepared: _Prepared | None, name: str) -> _Prepared:
    """Return what `prepare` made.

    Raises:
        TypeError: The metric was not prepared.
    """
    if prepared is None:
        raise TypeError(f"{name} is not prepared; score with what its method prepare returns")
    return prepared


def score_known(
    metric: Modelled,
    cases: Sequence[Case],
    measure: Callable[[Sequence[Case]], Iterable[Outcome]],
    *,
    empty: Outcome | None = None,
) -> list[Outcome]:
    """Measure the cases that the metric knows.

    Args:
        metric: A case in none of its languages is `Failure("language")`.
        cases: A batch.
        measure: Gives one outcome for each case it is given, in order.
        empty: What a response without text is worth; None where the model tells.
    """

    def settle_unmeasured(case: Case) -> Outcome | None:
        if case.lang not in metric.languages:
            known = " and ".join(sorted(metric.languages))
            return Failure("metric", "language", f"{metric.name} is for texts in {known}; this sample is {case.lang!r}")
        return None if case.response.strip() else empty

    settled = [settle_unmeasured(case) for case in cases]
    left = [case for case, outcome in zip(cases, settled, strict=True) if outcome is None]
    measured = iter(measure(left) if left else ())
    return [next(measured) if outcome is None else outcome for outcome in settled]


def direct(case: Case, way: str) -> tuple[str, str]:
    """Return what is given and what is asked about it: "precision" goes from reference to response, "recall" back."""
    return (case.reference, case.response) if way == "precision" else (case.response, case.reference)


def settle(value: float, parts: Mapping[str, float], *, cut: bool) -> Outcome:
    """Return a model's number as an outcome, with the part "truncated", 1 where a text was cut."""
    told = {**parts, "truncated": float(cut)}
    if not all(map(math.isfinite, (value, *told.values()))):
        return Failure("metric", "not-finite", "the model's numbers pass what its precision holds; use --device cpu")
    return Score(value, told)


def refuse_long(words: int) -> Failure:
    """Return why a case is not measured whose sentences come to more than `MAX_WORDS`."""
    message = (
        f"the sentences with what each is compared with come to {words} words, above {MAX_WORDS}; shorten the texts"
    )
    return Failure("metric", "too-long", message)
