"""What a metric is.

A metric is a frozen dataclass with the attributes of `Metric`. Fields that a user may set are declared with `option`,
and `imapeval.metrics.registry.get` sets them; the signature is made of the fields, so that none is forgotten. A metric
that needs more than the texts has `prepare` (`Preparable`); one that asks a language model has `ask` (`Asking`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.graph.encoder import Encoder
    from imapeval.llm.protocol import Model
    from imapeval.types import Imap, Lang, Match, Outcome

Requirement = Literal["imap", "reference", "llm", "encoder", "weights", "logprobs"]
"""What a metric may need beside question and response: the imap with its matches; a reference; a language model that
is asked (--llm); the sentence encoder (--encoder); weights of its own, which are loaded here; a language model whose
server tells the probabilities of its tokens."""

Device = Literal["auto", "cpu", "cuda", "mps"]

_ROUNDING = 2.0**-10
"""How far a score may lie beyond the range for rounding alone: the spacing of half-precision numbers above 1."""


@dataclass(frozen=True, slots=True)
class Case:
    """One response beside one reference: what a metric sees.

    A sample gives a case for each reference and, on imaps, for each reading; `evaluate` makes one outcome of theirs.

    Attributes:
        reference: "" where the sample has none, which a metric that requires "reference" is never shown.
        imap, matches: None unless the metric requires "imap".
    """

    id: str
    question: str
    reference: str
    response: str
    lang: Lang
    imap: Imap | None = None
    matches: tuple[Match, ...] | None = None


class Metric(Protocol):
    """Gives a score, or a reason why there is none, for each case.

    Attributes:
        name: As on the command line.
        summary: One line for `imapeval metrics`.
        citation: Paper or software that defines it.
        requires: What it needs beside question and response.
        languages: Languages it is defined for.
        range: Lowest and highest possible score; None where unbounded.
        higher_is_better: Which way is good.
        lacks: What has to be installed or fetched before it can be computed here, as in "pip install
            'imapeval[neural]'"; "" where nothing. A language model that has to be named (--llm) is not among it.
        signature: Everything in the metric itself that can change the number; what comes from extraction and
            matching is added by `evaluate`. Of a metric with a model, the model's identity once it is prepared.
    """

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def citation(self) -> str: ...
    @property
    def requires(self) -> frozenset[Requirement]: ...
    @property
    def languages(self) -> frozenset[Lang]: ...
    @property
    def range(self) -> tuple[float | None, float | None]: ...
    @property
    def higher_is_better(self) -> bool: ...
    @property
    def missing_requirements(self) -> str: ...
    @property
    def signature(self) -> str: ...

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch.

        Returns:
            One outcome per case, in order. Undefined cases are a `Failure`; nothing is raised for a single
            case's content.
        """
        ...


@dataclass(frozen=True, slots=True)
class MetricResources:
    """What a run can give its metrics.

    Attributes:
        llm: The language model that was named; None where none was.
        encoder: The sentence encoder; None where no metric requires it.
        device: Where weights are put: "auto" takes a GPU where there is one.
    """

    llm: Model | None = None
    encoder: Encoder | None = None
    device: Device = "auto"


@runtime_checkable
class Preparable(Protocol):
    """A metric that requires "llm", "encoder", "weights" or "logprobs"."""

    def prepare(self, parts: MetricResources) -> Metric:
        """Return the metric ready to score, with its models.

        Raises:
            UsageError: It requires a part that is not there; says which option gives it.
            MissingExtraError: Packages are not installed.
            ResourceError: Weights cannot be had.
        """
        ...


@runtime_checkable
class Asking(Protocol):
    """A metric that asks a language model and waits for it, while others work."""

    async def ask(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch; see `Metric.score`. What fails at the model is a `Failure` of the case.

        Raises:
            ServiceError: The model answers nobody any more.
        """
        ...


def is_within_range(value: float, span: tuple[float | None, float | None]) -> bool:
    """Say whether a metric of that range can give that score, or has given it before rounding.

    >>> is_possible(1.0000002, (0.0, 1.0)), is_possible(1.1, (0.0, 1.0)), is_possible(5, (0.0, None))
    (True, False, True)
    """
    low, high = span
    return (low is None or value >= low - _ROUNDING * max(1, abs(low))) and (
        high is None or value <= high + _ROUNDING * max(1, abs(high))
    )


def option(description: str, default: str | float | bool) -> Any:
    """Declare a field that users may set: `--set METRIC.FIELD=VALUE`.

    Args:
        told: What it is, for `imapeval metrics show`.
        default: Its type is the option's.
    """
    return field(default=default, metadata={"option": description})
