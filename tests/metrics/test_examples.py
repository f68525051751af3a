"""The example of each metric, scored by the metric itself, and what `imapeval metrics show` says of its formula."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from imapeval.metrics import registry
from imapeval.metrics.base import Case, Example, Metric
from imapeval.metrics.likelihood.base import LikelihoodMetric
from imapeval.metrics.likelihood.logprobs import Continuation, TokenLogprobs
from imapeval.metrics.on_imaps import MetricOnImaps
from imapeval.types import Score

METRICS = [metric for metric in registry.all_metrics() if not isinstance(metric, MetricOnImaps)]
EXAMPLES = {metric.name: (metric, metric.example) for metric in METRICS if metric.example is not None}


class Reader:
    """Gives the tokens of a text the probabilities of an example; any other text is one token."""

    identity = "example"

    def __init__(self, text: str, probabilities: Sequence[float]) -> None:
        self.text = text
        self.logprobs = tuple(map(math.log, probabilities))

    def read(self, given: Sequence[Continuation]) -> list[TokenLogprobs]:
        read = [self.logprobs if one.text.strip() == self.text else (-1.0,) for one in given]
        return [TokenLogprobs(logprobs, tuple(range(1, len(logprobs) + 1)), 1) for logprobs in read]


def prepare(metric: Metric, example: Example) -> Metric:
    if isinstance(metric, LikelihoodMetric):
        text = example.response if metric.name == "gptscore" else example.reference
        return replace(metric, reader=Reader(text, example.probabilities))
    if metric.missing_requirements:
        pytest.skip(metric.missing_requirements)
    return metric


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_metric_gives_what_was_computed_by_hand(name: str):
    metric, example = EXAMPLES[name]
    case = Case("1", "What helps?", example.reference, example.response, "en", example.imap, example.matches)
    (outcome,) = prepare(metric, example).score_batch([case])
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(example.score, rel=1e-4)
    # The last number of the computation is the score.
    assert float(re.findall(r"-?\d+(?:\.\d+)?", example.steps[-1])[-1]) == pytest.approx(example.score, rel=1e-3)


def test_every_metric_has_a_formula_and_every_computation_an_example():
    assert [metric.name for metric in METRICS if not metric.formula] == []
    models = {"encoder", "weights", "llm"}
    assert [metric.name for metric in METRICS if not metric.requires & models and metric.example is None] == []


def test_on_imaps_it_is_the_same_formula():
    assert registry.get("rouge1").formula in registry.get("rouge1+imap").formula
    assert registry.get("rouge1+imap").example is None
