"""The usage of a run if the server returns no log-probabilities, which is found out only when it is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from imapeval.errors import ProviderError
from imapeval.evaluation.forecast.simulated_replies import simulate_reply
from imapeval.evaluation.forecast.usage import forecast_usage
from imapeval.metrics.base import MetricResources
from imapeval.metrics.judges.weighted import WeightedJudge
from imapeval.metrics.on_imaps import MetricOnImaps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.evaluation.forecast.dry_run import DryRun
    from imapeval.evaluation.forecast.usage import UsageForecast
    from imapeval.llm.dry_run import DryRunModel
    from imapeval.llm.protocol import Completion, Request
    from imapeval.metrics.base import Metric
    from imapeval.types import Sample


def omit_logprobs(request: Request) -> Completion | ProviderError:
    """Return a simulated reply without the log-probabilities of ratings."""
    reply = simulate_reply(request)
    return reply if isinstance(reply, ProviderError) or request.given else replace(reply, tokens=())


def needs_logprobs(work: DryRun, usual: UsageForecast) -> bool:
    """Return whether the run sends more requests to a server without log-probabilities."""
    judges = [judge for metric in work.metrics if isinstance(judge := _unwrap(metric), WeightedJudge)]
    repeats = any(judge.samples > 1 and judge.weights == "auto" for judge in judges)
    return repeats and any(task.with_logprobs for task in usual.tasks)


async def forecast_without_logprobs(
    samples: Sequence[Sample],
    work: DryRun,
    model: DryRunModel,
    *,
    usual: UsageForecast,
    votes: int,
    count: Callable[[Sequence[str]], tuple[int, bool]],
    progress: Callable[[int], None] | None = None,
) -> UsageForecast:
    """Forecast the usage of a run on a server without log-probabilities.

    Args:
        samples: See `forecast_usage`.
        work: Likewise.
        model: A `DryRunModel` that replies as `omit_logprobs` does.
        usual: The forecast for a server with log-probabilities.
        votes: See `LlmSettings`.
        count: See `forecast_usage`.
        progress: Likewise.
    """
    # All weighted judges are counted again, because they share kinds of requests. What the extractor and the matcher
    # send stays the same.
    resources = MetricResources(llm=model, votes=votes)
    judges = [metric.prepare(resources) for metric in work.metrics if isinstance(_unwrap(metric), WeightedJudge)]
    again = replace(work, model=model, metrics=tuple(judges))
    # The extractor and the matcher still ask the first model, and their requests have been counted.
    work.model.recorded = None
    found = await forecast_usage(samples, again, count=count, progress=progress)
    tasks = {task.name: task for task in (*usual.tasks, *found.tasks)}
    return replace(usual, tasks=tuple(tasks.values()))


def _unwrap(metric: Metric) -> Metric:
    return metric.metric if isinstance(metric, MetricOnImaps) else metric
