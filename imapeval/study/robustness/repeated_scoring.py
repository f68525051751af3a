"""Scores the same answers again and again: N readings, N relatings of each reading, N judgements of each.

Everything goes through the usual evaluation, so requests, cache and budget are the usual ones. Readings and judgements
are those of `--votes N`; relatings, which `--votes` makes once for each reading at temperature 0, are sampled here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.llm.middleware import ModelWrapper
from imapeval.llm.protocol import CachingModel, Usage, canonical_json
from imapeval.matching.llm import TASK, LLMMatcher
from imapeval.metrics.base import MetricResources
from imapeval.metrics.judges.blend import Blend
from imapeval.metrics.judges.weighted import WeightedJudge
from imapeval.metrics.on_imaps import MetricOnImaps
from imapeval.study.number_format import format_percent
from imapeval.study.robustness.score_variance import (
    Flips,
    VarianceSplit,
    count_flips,
    saved_by_repeating,
    split_variance,
)
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.evaluation.runs import Result
    from imapeval.extraction.protocols import Extractor
    from imapeval.llm.prices import Price
    from imapeval.llm.protocol import Completion, Model, Request
    from imapeval.matching.protocol import Matcher
    from imapeval.metrics.base import Metric
    from imapeval.study.arrays import Floats
    from imapeval.types import Failure, Imap, Lang, Match, Sample


class _CopyingExtractor:
    """An `Extractor` that returns each imap of another one several times, each to be related by itself."""

    def __init__(self, inner: Extractor, copies: int) -> None:
        self._inner = inner
        self._copies = copies

    @property
    def signature(self) -> str:
        return self._inner.signature

    @property
    def concurrency(self) -> int:
        return self._inner.concurrency

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        return tuple(
            replace(imap, reading=imap.reading * self._copies + copy)
            for imap in await self._inner.extract(sample)
            for copy in range(self._copies)
        )


class _SampledMatcher:
    """A `Matcher` that relates each copy of each reading with a seed of its own, also where readings are alike."""

    def __init__(self, inner: LLMMatcher) -> None:
        self._inner = inner

    @property
    def signature(self) -> str:
        return self._inner.sample(1).signature

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        found: dict[int, tuple[Match, ...] | Failure] = {}
        asked = [""] * len(imaps) if questions is None else questions
        for reading in sorted({imap.reading for imap in imaps}):
            places = [place for place, imap in enumerate(imaps) if imap.reading == reading]
            matched = await self._inner.sample(reading + 1).match(
                [imaps[place] for place in places],
                langs=[langs[place] for place in places],
                questions=[asked[place] for place in places],
            )
            found |= zip(places, matched, strict=True)
        return [found[place] for place in range(len(imaps))]


def repeat_relating(extractor: Extractor, matcher: Matcher, times: int) -> tuple[Extractor, Matcher]:
    """Return extractor and matcher that relate each reading so many times, with a seed for each.

    What a matcher without a language model says is not left to chance: it is returned as it is.
    """
    if not isinstance(matcher, LLMMatcher):
        return extractor, matcher
    return _CopyingExtractor(extractor, times), _SampledMatcher(matcher)


def sample_ratings(metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics, with judges that average samples: a rating weighted by probabilities is a single request.

    Raises:
        UsageError: A metric is not repeated by `--votes`.
    """
    return [_sample_ratings(metric) for metric in metrics]


def _sample_ratings(metric: Metric) -> Metric:
    if isinstance(metric, MetricOnImaps):
        return replace(metric, metric=_sample_ratings(metric.metric)) if metric.is_async else metric
    if isinstance(metric, WeightedJudge):
        return replace(metric, weights="samples")
    if "imap" in metric.requires or hasattr(metric, "samples"):
        return metric
    raise UsageError(
        f"the metric {metric.name!r} is not repeated by --votes. Name metrics on imaps, or judges whose ratings are "
        "averaged: imapscore, judge, blend, geval, prometheus, factscore."
    )


class UsageByTask(ModelWrapper):
    """A `Model` that adds up the tokens of its different requests, by the name of the prompt.

    Completions from the cache count as well: what matters is what they would cost.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._seen: dict[str, tuple[str, Usage]] = {}

    async def complete(self, request: Request) -> Completion:
        """Ask the model; see `Model.complete`."""
        completion = await self._model.complete(request)
        self._seen[canonical_json(request, self.identity)] = request.schema_name, completion.usage
        return completion

    def reject(self, request: Request, completion: Completion) -> None:
        """Pass the rejection on to the cache; see `CachedModel.reject`."""
        if isinstance(self._model, CachingModel):
            self._model.reject(request, completion)

    def total(self, *, relating: bool = False, price: Price | None) -> float:
        """Return what the requests for relations, or all others, cost: in USD, or in tokens where there is no price."""
        used = [usage for name, usage in self._seen.values() if (name == TASK) == relating]
        if price is not None:
            return sum(map(price.cost_of, used))
        return float(sum(usage.prompt_tokens + usage.completion_tokens for usage in used))


def count_usage_by_judge(
    metrics: Sequence[Metric], model: Model, *, votes: int
) -> tuple[list[Metric], dict[str, UsageByTask]]:
    """Return the metrics, each judge with its own counter of the model's usage, and those counters by metric."""
    usage = {metric.name: UsageByTask(model) for metric in metrics if "llm" in metric.requires}
    ready = [
        metric.prepare(MetricResources(llm=usage[metric.name], votes=votes)) if metric.name in usage else metric
        for metric in metrics
    ]
    return ready, usage


def find_costs(
    metric: Metric,
    reading: UsageByTask,
    judging: UsageByTask | None,
    *,
    answers: int,
    votes: int,
    relatings: int,
    price: Price | None,
) -> dict[str, float]:
    """Return what one more reading (with its relating), relating and judgement of an answer cost, by step.

    `reading` is the usage of the requests that read and relate, over all repetitions, `judging` that of the metric's
    own requests, None if it asks no model. `votes` is the number of readings and of judgements, `relatings` that of
    relatings of each reading. Without a price, costs are in tokens.
    """
    relating = reading.total(relating=True, price=price) / (answers * votes * relatings)
    # A judge that sees the facts of a reading is asked about each reading.
    readings = votes if "imap" in metric.requires and not isinstance(metric, Blend) else 1
    return {
        "reading": reading.total(price=price) / (answers * votes) + relating,
        "relating": relating,
        "judging": 0.0 if judging is None else judging.total(price=price) / (answers * votes * readings),
    }


@dataclass(frozen=True, slots=True)
class RepeatedScores:
    """The scores of a metric over all repetitions.

    Attributes:
        scores: Shape (answers, readings, relatings, judgements); a step that the metric does not have has length 1.
        questions: Question of each answer.
        incomplete: Number of answers that are left out, because a repetition has no score.
        reason: The first failure of an answer as a whole; "" if there is none.
    """

    metric: str
    scores: Floats
    questions: tuple[str, ...]
    incomplete: int
    reason: str


@dataclass(frozen=True, slots=True)
class RepeatFinding:
    """How sure one score of a metric is.

    Attributes:
        answers: Number of answers with a score for every repetition.
        incomplete: Number of the others, which are left out.
        readings, relatings, judgements: Number of repetitions; 1 for a step that the metric does not have.
        mean: Mean score.
        variance: Where the variance comes from; None if no answer is complete.
        flips: How often answers change sides of the threshold; empty without one.
        saved: Share of the variance that a second reading (related once), relating or judgement takes away, by step.
        cost: What that costs for each answer, by step.
        unit: "USD" or "tokens".
        advice: In a sentence, which step to repeat.
    """

    metric: str
    answers: int
    incomplete: int
    readings: int
    relatings: int
    judgements: int
    mean: float | None
    variance: VarianceSplit | None
    flips: tuple[Flips, ...]
    saved: Mapping[str, float]
    cost: Mapping[str, float]
    unit: str
    advice: str


def gather_scores(
    metric: Metric, samples: Sequence[Sample], results: Sequence[Result], *, votes: int, relatings: int
) -> RepeatedScores:
    """Arrange the repetitions of a metric's scores; an answer that lacks one is left out.

    `votes` is the number of readings and of judgements, `relatings` that of relatings of each reading.
    """
    shape = (*((votes, relatings) if "imap" in metric.requires else (1, 1)), votes if "llm" in metric.requires else 1)
    outcomes = {result.id: result.outcome for result in results if result.metric == metric.name}
    tables: list[Floats] = []
    questions: list[str] = []
    reasons: list[str] = []
    for sample in samples:
        outcome = outcomes.get(sample.id)
        if isinstance(outcome, Score):
            table = np.array(outcome.repetitions or ((outcome.value,),))
            # A judge scores a response that says nothing without asking: a single time for all.
            columns = shape[2] if table.shape[1] == 1 else table.shape[1]
            if (len(table), columns) == (shape[0] * shape[1], shape[2]):
                tables.append(np.broadcast_to(table, (len(table), columns)).reshape(shape))
                questions.append(sample.question)
        elif outcome is not None:
            reasons.append(outcome.message)
    scores = np.stack(tables) if tables else np.zeros((0, *shape))
    return RepeatedScores(
        metric.name, scores, tuple(questions), len(samples) - len(tables), reasons[0] if reasons else ""
    )


def measure_repeats(
    repeated: RepeatedScores,
    *,
    threshold: float | None,
    higher_is_better: bool = True,
    cost: Mapping[str, float],
    unit: str,
    seed: int = 0,
) -> RepeatFinding:
    """Return how sure one score of a metric is.

    Flips are counted at the threshold, if there is one; `cost` is what one more of each step costs for each answer, in
    `unit`.
    """
    scores = repeated.scores
    there = len(scores) > 0
    saved = saved_by_repeating(scores) if there else {}
    _, readings, relatings, judgements = scores.shape
    return RepeatFinding(
        metric=repeated.metric,
        answers=len(scores),
        incomplete=repeated.incomplete,
        readings=readings,
        relatings=relatings,
        judgements=judgements,
        mean=float(scores.mean()) if there else None,
        variance=split_variance(scores, questions=repeated.questions, seed=seed) if there else None,
        flips=(
            tuple(count_flips(scores, threshold, higher_is_better=higher_is_better, seed=seed))
            if there and threshold is not None
            else ()
        ),
        saved=saved,
        cost={step: cost[step] for step in saved},
        unit=unit,
        advice=_describe_advice(repeated, saved, cost, unit),
    )


def _describe_advice(repeated: RepeatedScores, saved: Mapping[str, float], cost: Mapping[str, float], unit: str) -> str:
    if not len(repeated.scores):
        why = f" ({repeated.reason})" if repeated.reason else ""
        return f"{repeated.metric}: no answer has a score for every repetition{why}."
    if not saved:
        return f"{repeated.metric}: every repetition gave the same score."

    def describe(step: str) -> str:
        price = f"{cost[step]:,.0f} tokens" if unit == "tokens" else f"USD {cost[step]:.2g}"
        return f"a second {_NOUNS[step]} takes away {format_percent(saved[step])} of the variance for {price} an answer"

    # Per token or dollar; what costs nothing, as completions of which no tokens are known, comes first.
    best, *others = sorted(saved, key=lambda step: saved[step] / max(cost[step], 1e-12), reverse=True)
    more = "".join(f"; {describe(step)}" for step in others)
    return f"{repeated.metric}: repeat {best} first: {describe(best)}{more}."


_NOUNS = {"reading": "reading (with its relating)", "relating": "relating", "judging": "judgement"}
