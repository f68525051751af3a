"""The base class of all metrics.

A metric is a frozen dataclass that derives from `Metric`, has a name and a summary, and scores a case:

    @dataclass(frozen=True)
    class Brevity(Metric):
        name = "brevity"
        summary = "length of the reference over length of the response"

        def score(self, case: Case) -> float:
            return len(case.reference) / max(1, len(case.response))

Everything else has a default. Fields declared with `option` can be set by users (`--set brevity.FIELD=VALUE`). The
signature is derived from the fields, so that none can be forgotten. A metric that calls a language model makes `score`
a coroutine (`async def`) and takes the model in `prepare`; one that is faster on many cases at once derives from
`BatchMetric`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from imapeval.errors import ImapEvalError, SampleError
from imapeval.redaction import get_logger
from imapeval.signature import signature
from imapeval.text.language import FACT_LANGS
from imapeval.threads import run_in_thread
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from imapeval.graph.encoder import Encoder
    from imapeval.llm.protocol import Model
    from imapeval.signature import Value
    from imapeval.types import Imap, Lang, Match, Outcome, Sample

Requirement = Literal["imap", "reference", "llm", "encoder", "weights", "logprobs"]
"""What a metric may require besides question and response: the imap with its matches; a reference; a language model
that it calls (--llm); the sentence encoder (--encoder); model weights that are loaded here; a language model whose
server returns the probabilities of given tokens."""

Device = Literal["auto", "cpu", "cuda", "mps"]

Range = tuple[float | None, float | None]
"""The lowest and the highest possible number; None where unbounded."""

SHARE: Range = (0.0, 1.0)
COUNT: Range = (0.0, None)

_ROUNDING = 2.0**-10
"""How far a score may lie outside the range through rounding: the spacing of half-precision numbers above 1."""

_T = TypeVar("_T")

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Case:
    """One response with one reference: what a metric sees.

    A sample gives one case per reference and, on imaps, per reading; `evaluate` combines them into one outcome.

    Attributes:
        reference: "" where the sample has none; a metric that requires "reference" is never given such a case.
        imap, matches: None unless the metric requires "imap".
    """

    id: str
    question: str
    reference: str
    response: str
    lang: Lang
    imap: Imap | None = None
    matches: tuple[Match, ...] | None = None

    def get_imap(self) -> tuple[Imap, tuple[Match, ...]]:
        """Return the imap and its matches.

        Raises:
            TypeError: The case has none: a metric that asks for them has to require "imap".
        """
        if self.imap is None or self.matches is None:
            raise TypeError(f"case {self.id!r} has no imap with matches; the metric has to require 'imap'")
        return self.imap, self.matches


@dataclass(frozen=True, slots=True)
class Example:
    """A case that is small enough to score by hand.

    Attributes:
        reference, response: The texts.
        steps: The computation, a line each; the last line ends with the score.
        score: The score with the default options.
        imap, matches: The facts, for a metric that requires "imap".
        probabilities: The probabilities that the model gives the tokens of the text, for a metric that requires
            "logprobs".
    """

    reference: str
    response: str
    steps: tuple[str, ...]
    score: float
    imap: Imap | None = None
    matches: tuple[Match, ...] | None = None
    probabilities: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricResources:
    """What a run provides to its metrics.

    Attributes:
        llm: The language model that was named; None if none was.
        encoder: The sentence encoder; None if no metric requires it.
        device: Where model weights go: "auto" takes a GPU if there is one.
        votes: How many completions a judge that averages completions asks for at least.
    """

    llm: Model | None = None
    encoder: Encoder | None = None
    device: Device = "auto"
    votes: int = 1


class Metric(ABC):
    """Gives each case a score, or a reason why it has none.

    An attribute that depends on the metric's fields is a method decorated with `computed`.

    Attributes:
        name: As on the command line.
        summary: One line for `imapeval metrics`, of at most 55 characters if it has a line of its own there.
        citation: Paper or software that defines it.
        formula: How the score is computed, as plain text; for a metric that is a model, what the model does.
        example: A case scored by hand; None if there is none, as for a metric that is a model.
        requires: What it requires besides question and response.
        languages: Languages it is defined for.
        range: Lowest and highest possible score; None where unbounded.
        part_ranges: The same of the parts of a score, by name; a part that is not named may be any finite number.
        higher_is_better: Whether a higher score is better.
        mean_of: What a run's mean is the mean of, if the name usually stands for another number; "" otherwise.
        revision: Revision of the computation, part of the signature; raised by any change that can move a score.
        concurrency: Maximum number of cases scored at the same time if `score` is a coroutine.
    """

    __slots__ = ()

    name: str
    summary: str
    citation: str = ""
    formula: str = ""
    example: Example | None = None
    requires: frozenset[Requirement] = frozenset({"reference"})
    languages: frozenset[Lang] = frozenset(FACT_LANGS)
    range: Range = (None, None)
    part_ranges: Mapping[str, Range] = MappingProxyType({})
    higher_is_better: bool = True
    mean_of: str = ""
    revision: str = "1"
    concurrency: int = 8

    @property
    def missing_requirements(self) -> str:
        """What has to be installed or downloaded before it can be computed here, as in "pip install ..."; "" if none.

        A language model that has to be named (--llm) does not count.
        """
        return ""

    @property
    def signature(self) -> str:
        """Everything in the metric itself that can change its scores: `NAME|FIELD:VALUE|...|v:REVISION`.

        `evaluate` adds what comes from extraction and matching.
        """
        metric = self.get_signed()
        fields = (metric,) if dataclasses.is_dataclass(metric) else ()
        return signature(self.name, *fields, **self.describe_state(), v=self.revision)

    def get_signed(self) -> Metric:
        """Return the metric whose fields are signed: this one, with identities in place of the paths of files."""
        return self

    def describe_state(self) -> Mapping[str, Value]:
        """Return what the signature holds besides the fields, such as the identity of a loaded model."""
        return {}

    def prepare(self, resources: MetricResources) -> Metric:
        """Return the metric ready to score, with those of the resources that it requires.

        Raises:
            UsageError: A required resource is missing; names the option that provides it.
            MissingExtraError: Packages are not installed.
            ResourceError: Weights cannot be loaded.
        """
        del resources
        return self

    def score_corpus(self, samples: Sequence[Sample]) -> float | None:
        """Return the metric of all samples together, if that is what its name usually stands for; else None."""
        del samples
        return None

    @abstractmethod
    def score(self, case: Case) -> float | Outcome | Awaitable[float | Outcome]:
        """Score one case; an ordinary method, or a coroutine if it waits for a language model.

        Returns:
            A finite number; a `Score`, which can have parts; or a `Failure` where no score is defined.

        Raises:
            SampleError: The case cannot be scored; becomes its `Failure`.
            ServiceError: The language model is not available to any case.
        """

    @property
    def is_async(self) -> bool:
        """Whether `score` is a coroutine, so that other metrics can be computed while it waits."""
        return inspect.iscoroutinefunction(self.score)

    def score_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score cases, and wait for them; inside an event loop use `ascore_batch`.

        Returns:
            One outcome per case, in order.

        Raises:
            ImapEvalError: Something that concerns all cases.
        """
        if self.is_async:
            return asyncio.run(self.ascore_batch(cases))
        return [to_outcome(cast("float | Outcome", self.score(case))) for case in cases]

    async def ascore_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score cases without blocking the event loop; see `score_batch`."""
        if self.is_async:
            score = cast("Callable[[Case], Awaitable[float | Outcome]]", self.score)
            return await score_concurrently(cases, score, limit=self.concurrency)
        longest = max((max(len(case.reference), len(case.response)) for case in cases), default=0)
        return await run_in_thread(lambda: self._score_in_thread(cases), size=longest)

    def _score_in_thread(self, cases: Sequence[Case]) -> list[Outcome]:
        try:
            return self.score_batch(cases)
        except StopIteration as error:
            # A future cannot carry it out of a thread: whoever awaits the future would wait forever.
            raise RuntimeError(f"StopIteration in {self.name}") from error

    def refuse_language(self, lang: Lang) -> Failure | None:
        """Return `Failure("language")` for a language that the metric is not defined for, else None."""
        if lang in self.languages:
            return None
        known = " and ".join(sorted(self.languages))
        return Failure("metric", "language", f"{self.name} is for texts in {known}; this sample is {lang!r}")


class BatchMetric(Metric):
    """A metric that scores many cases at once, such as a model that reads them in batches."""

    __slots__ = ()

    def score(self, case: Case) -> Outcome:
        """Score one case; see `Metric.score`."""
        return self.score_batch([case])[0]

    @abstractmethod
    def score_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score cases; see `Metric.score_batch`."""


async def score_concurrently(
    cases: Sequence[Case], score: Callable[[Case], Awaitable[float | Outcome]], *, limit: int
) -> list[Outcome]:
    """Score every case, at most `limit` at the same time; an error that concerns one case is its `Failure`.

    Raises:
        ImapEvalError: Something that concerns all cases; raised once the requests under way are finished and paid for.
    """
    outcomes: dict[int, Outcome] = {}
    fatal: list[ImapEvalError] = []
    waiting = iter(enumerate(cases))

    async def work() -> None:
        for index, case in waiting:
            try:
                outcomes[index] = to_outcome(await score(case))
            except SampleError as error:
                stage = "llm" if error.stage == "llm" else "metric"
                outcomes[index] = Failure(stage, error.kind, str(error), error.raw)
            except ImapEvalError as error:
                fatal.append(error)
            except Exception as error:  # noqa: BLE001  # would end the batch, whose cases would all be paid for again
                _log.debug("unexpected error of a case", exc_info=error)
                outcomes[index] = Failure("metric", "internal", f"{type(error).__name__}: {error}")
            if fatal:
                return

    await asyncio.gather(*(work() for _ in range(min(limit, len(cases)))))
    if fatal:
        raise fatal[0]
    return [outcomes[index] for index in range(len(cases))]


def range_parts(*, shares: Iterable[str] = (), counts: Iterable[str] = ()) -> dict[str, Range]:
    """Return the ranges of parts that are shares, 0..1, or counts, from 0."""
    return {**dict.fromkeys(shares, SHARE), **dict.fromkeys(counts, COUNT)}


TRUNCATED = range_parts(shares=("truncated",))
"""The range of the part of metrics that read only the beginning of a long text: 1 where that happened."""


def is_within_range(value: float, span: Range) -> bool:
    """Return whether a metric of that range can give that score, rounding aside.

    >>> is_within_range(1.0000002, (0.0, 1.0)), is_within_range(1.1, (0.0, 1.0)), is_within_range(5, (0.0, None))
    (True, False, True)
    """
    low, high = span
    return (low is None or value >= low - _ROUNDING * max(1, abs(low))) and (
        high is None or value <= high + _ROUNDING * max(1, abs(high))
    )


def option(description: str, default: str | float | bool, *, signed: bool = True) -> Any:
    """Declare a field that users may set: `--set METRIC.FIELD=VALUE`.

    Args:
        description: What it sets, for `imapeval metrics show`.
        default: Its type is the option's.
        signed: Whether the value goes into the signature; not if `describe_state` identifies it better, as for a path.
    """
    return field(default=default, metadata={"option": description, "signature": signed})


def fixed(value: str | float) -> Any:
    """Declare a field that users cannot set: it records in the signature how the code works, such as its tokenizer."""
    return field(default=value, init=False)


def unsigned(**how: Any) -> Any:
    """Declare a field that does not go into the signature; takes the arguments of `dataclasses.field`."""
    return field(**how, metadata={"signature": False})


def resource() -> Any:
    """Declare a field that `prepare` fills, such as a model: None until then, and not in the signature."""
    return unsigned(default=None, repr=False, compare=False)


def computed(get: Callable[[Any], _T]) -> _T:
    """Make a method a property that may override an attribute of `Metric`; type checkers refuse `property` there."""
    return cast("_T", property(get))


def require_prepared(prepared: _T | None, name: str) -> _T:
    """Return what `prepare` loaded.

    Raises:
        TypeError: The metric was not prepared.
    """
    if prepared is None:
        raise TypeError(f"{name} is not prepared; score with what its method prepare returns")
    return prepared


def to_outcome(result: float | Outcome) -> Outcome:
    """Return what `Metric.score` gave as an outcome: a number becomes a `Score` without parts."""
    return result if isinstance(result, Score | Failure) else Score(float(result))
