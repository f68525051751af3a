"""Odd texts for the metrics of embeddings, with a small BERT."""

from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from imapeval._optional import installed
from imapeval.metrics.base import Case, Metric, MetricResources
from imapeval.metrics.neural import alignscore
from imapeval.metrics.neural.bertscore import BertScore
from imapeval.metrics.neural.moverscore import MoverScore
from imapeval.types import Failure, Score


@pytest.mark.neural
def test_edge_cases(tiny_bert: Path, check_edge_cases: Callable[[Iterable[Metric]], None]) -> None:
    if not installed("POT"):
        pytest.skip("needs POT: pip install 'imapeval[neural]'")
    metrics = (BertScore(str(tiny_bert), 2), MoverScore(str(tiny_bert)))
    check_edge_cases(metric.prepare(MetricResources(device="cpu")) for metric in metrics)


@pytest.mark.parametrize(("values", "scored"), [((0.3, 0.9), True), ((0.3, np.nan), False), ((np.nan, 0.3), False)])
def test_alignscore_of_a_chunk_that_overflows(
    values: tuple[float, ...], scored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alignscore, "_pair_sentences", lambda _: [[("a chunk", "claim"), ("another", "claim")]])
    monkeypatch.setattr(alignscore, "tokenize_pairs", lambda *_, **__: [SimpleNamespace(truncated=False)] * 2)
    monkeypatch.setattr(alignscore, "run_in_batches", lambda *_, **__: np.array(values))
    network: Any = SimpleNamespace(encoder=SimpleNamespace(max_tokens=512, batch_tokens=512))
    [outcome] = alignscore.AlignScore(network=network).measure([Case("1", "?", "Rest.", "Rest.", "en")])
    if scored:
        assert outcome == Score(0.9, {"truncated": 0.0})
    else:
        assert isinstance(outcome, Failure)
        assert (outcome.stage, outcome.kind) == ("metric", "not-finite")
