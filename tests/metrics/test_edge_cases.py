"""Empty, one-word, very long, mixed and wordless answers: a value or a reason, for every metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.graph.encoder import open_encoder
from imapeval.metrics import registry
from imapeval.metrics.base import MetricResources
from imapeval.metrics.cosine import Cosine
from imapeval.metrics.on_imaps import MetricOnImaps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from imapeval.metrics.base import Metric


def test_edge_cases_of_metrics_without_models(check_edge_cases: Callable[[Iterable[Metric]], None]) -> None:
    models = {"weights", "llm", "logprobs", "encoder"}
    metrics = [
        metric for metric in registry.all_metrics() if not metric.requires & models and not metric.missing_requirements
    ]
    # The same metric sees the texts of an imap, which are short; an empty one is the empty response.
    check_edge_cases(metric for metric in metrics if not isinstance(metric, MetricOnImaps))


def test_edge_cases_of_the_encoder(check_edge_cases: Callable[[Iterable[Metric]], None]) -> None:
    check_edge_cases([Cosine().prepare(MetricResources(encoder=open_encoder()))])
