"""Odd texts for the metrics of embeddings, with a small BERT."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from imapeval._optional import installed
from imapeval.metrics.base import Metric, MetricResources
from imapeval.metrics.neural.bertscore import BertScore
from imapeval.metrics.neural.moverscore import MoverScore


@pytest.mark.neural
def test_edge_cases(tiny_bert: Path, check_edge_cases: Callable[[Iterable[Metric]], None]) -> None:
    if not installed("POT"):
        pytest.skip("needs POT: pip install 'imapeval[neural]'")
    metrics = (BertScore(str(tiny_bert), 2), MoverScore(str(tiny_bert)))
    check_edge_cases(metric.prepare(MetricResources(device="cpu")) for metric in metrics)
