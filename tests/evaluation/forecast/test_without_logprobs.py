"""What is foretold of a server without log-probabilities is held against what such a server is asked."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import pytest

from imapeval.evaluation.evaluate import evaluate
from imapeval.evaluation.forecast.dry_run import DryRun, open_dry_run
from imapeval.evaluation.forecast.simulated_replies import task_name
from imapeval.evaluation.forecast.usage import UsageForecast, forecast_usage
from imapeval.evaluation.forecast.without_logprobs import forecast_without_logprobs, needs_logprobs, omit_logprobs
from imapeval.evaluation.pipeline import LlmSettings
from imapeval.llm import tokens
from imapeval.llm.dry_run import DryRunModel
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics import registry
from imapeval.metrics.base import MetricResources
from imapeval.types import Sample, Score

QUESTION, REFERENCES = "What helps against a fever?", ("Take ibuprofen, and drink plenty.",)
SAMPLES = [Sample(str(days), QUESTION, REFERENCES, f"Rest for {days} days.") for days in range(2, 7)]


def count(texts: Sequence[str]) -> tuple[int, bool]:
    return sum(map(tokens.estimate, texts)), False


Foretell = Callable[..., Awaitable[tuple[UsageForecast, UsageForecast | None]]]


@pytest.fixture
def foretell(open_over: Callable[..., DryRun], cached: CachedModel) -> Foretell:
    """Return the usual forecast, and that without log-probabilities if it is another."""

    async def both(
        *names: str, votes: int = 1, **options: dict[str, str]
    ) -> tuple[UsageForecast, UsageForecast | None]:
        settings = LlmSettings("openai:m", votes=votes)
        work = open_dry_run(settings, open_over("prometheus").model, metrics=registry.choose(names, options))
        usual = await forecast_usage(SAMPLES, work, count=count)
        if not needs_logprobs(work, usual):
            return usual, None
        model = DryRunModel("scripted", find_completion=cached.get, reply=omit_logprobs)
        return usual, await forecast_without_logprobs(SAMPLES, work, model, usual=usual, votes=votes, count=count)

    return both


@pytest.mark.parametrize(("votes", "samples"), [(1, 5), (3, 5), (7, 7)])
async def test_it_is_what_such_a_server_is_asked(
    foretell: Foretell, model: ScriptedModel, cached: CachedModel, votes: int, samples: int
):
    usual, found = await foretell("geval:accuracy", "prometheus", votes=votes)
    metrics = registry.choose(["geval:accuracy", "prometheus"])
    prepared = [metric.prepare(MetricResources(llm=cached, votes=votes)) for metric in metrics]
    assert all(isinstance(result.outcome, Score) for result in await evaluate(SAMPLES, metrics=prepared))
    assert found is not None
    asked = Counter(map(task_name, model.requests))
    assert {task.name: task.calls for task in found.tasks} == asked
    assert asked["geval"] == 2 + samples * len(SAMPLES)
    text = [message.content for request in model.requests for message in request.messages]
    assert sum(task.prompt_tokens for task in found.tasks) == sum(map(tokens.estimate, text))
    # What does not depend on them is as usual.
    assert usual.tasks[1] == found.tasks[1]
    # Now that it is in the cache, there is nothing to suppose.
    again, nothing = await foretell("geval:accuracy", "prometheus", votes=votes)
    assert ({task.name: task.calls for task in again.tasks}, nothing) == (asked, None)


async def test_judges_of_several_settings_share_a_kind_of_request(foretell: Foretell):
    options = {"geval:completeness": {"samples": "1"}, "geval:specificity": {"weights": "samples", "samples": "4"}}
    names = ("geval:accuracy", "geval:completeness", "geval:specificity")
    usual, found = await foretell(*names, **options)
    assert found is not None
    assert (usual.tasks[0].calls, found.tasks[0].calls) == (5 * (1 + 1 + 4), 5 * (5 + 1 + 4) + 2)


@pytest.mark.parametrize("weights", ["auto", "samples"])
async def test_a_single_completion_is_the_rating_anyway(foretell: Foretell, weights: str):
    _, found = await foretell("judge", judge={"weights": weights})
    assert found is None


async def test_judges_of_imaps(foretell: Foretell):
    usual, found = await foretell("geval:accuracy+imap", "judge", votes=2)
    assert found is not None
    calls, more = ({task.name: task.calls for task in forecast.tasks} for forecast in (usual, found))
    assert calls | {"geval": more["geval"], "judge": 2 + 2 * len(SAMPLES)} == more
    assert more["geval"] > calls["geval"]
