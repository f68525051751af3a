"""Odd texts for the likelihood metrics, with a small Llama."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from imapeval.metrics.base import Metric, MetricResources
from imapeval.metrics.likelihood import build
from imapeval.metrics.likelihood.base import LikelihoodMetric


@pytest.mark.neural
def test_edge_cases(tiny_causal: Path, check_edge_cases: Callable[[Iterable[Metric]], None]) -> None:
    # Fewer steps: each is a pass through the model.
    short = {"relaxed-perplexity": {"steps": 3}, "relaxed-cross-entropy": {"steps": 3}}
    on_texts = [metric for metric in build() if isinstance(metric, LikelihoodMetric)]
    metrics = [replace(metric, model=str(tiny_causal), **short.get(metric.name, {})) for metric in on_texts]
    check_edge_cases(metric.prepare(MetricResources(device="cpu")) for metric in metrics)
