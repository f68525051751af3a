"""Eq. 1 over recorded imaps of human-rated answers: the whole way from file to correlation, without any model."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest

from imapeval.evaluation import evaluate
from imapeval.evaluation.imap_files import RecordedImaps
from imapeval.evaluation.samples import read, system_label
from imapeval.metrics import registry
from imapeval.types import Failure, Imap, Lang, Match, Sample, Score

BENCHMARK = Path(__file__).parents[3] / "shared" / "benchmark"

pytestmark = pytest.mark.skipif(not BENCHMARK.exists(), reason="the benchmark files of ../shared are not here")


class AsRecorded:
    """A matcher that knows the recorded relations only; Eq. 1 asks for nothing else."""

    signature = "as-recorded"

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        return [
            tuple(Match(r.term, r.reference, r.response, r.relation, 0.0, "recorded") for r in imap.relations or ())
            for imap in imaps
        ]


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    recorded = {line.split('"')[3] for line in (BENCHMARK / "imaps-recorded-dev.jsonl").read_text().splitlines()}
    return [sample for sample in read(BENCHMARK / "imapscore-dev.jsonl") if sample.id in recorded]


@pytest.mark.parametrize(("metric", "expected"), [("imapscore:paper", 0.297), ("imapscore:mean", 0.339)])
def test_mean_spearman_of_eq_1(samples: list[Sample], metric: str, expected: float):
    # Issue 2, "How it will be judged": computed there independently of this project, each within .002.
    spearmanr = pytest.importorskip("scipy.stats").spearmanr
    results = asyncio.run(
        evaluate.evaluate(
            samples,
            metrics=[registry.get(metric)],
            extractor=RecordedImaps(BENCHMARK / "imaps-recorded-dev.jsonl"),
            matcher=AsRecorded(),
        )
    )
    scores = {result.id: result.outcome.value for result in results if isinstance(result.outcome, Score)}
    undefined = {result.id: result.outcome for result in results if isinstance(result.outcome, Failure)}
    assert {id_: failure.kind for id_, failure in undefined.items()} == {
        "iCliniq-ChatGPT:134": "no-reference-facts",
        "iCliniq-PaLM-2:134": "no-reference-facts",
    }
    coefficients: list[float] = []
    for system in sorted({system_label(sample) for sample in samples}):
        scored = [sample for sample in samples if system_label(sample) == system and sample.id in scores]
        for dimension in ("accuracy", "completeness", "specificity"):
            given = [sample.ratings[dimension] for sample in scored]
            coefficients.append(spearmanr([scores[sample.id] for sample in scored], given).statistic)
    assert len(coefficients) == 12
    assert fmean(coefficients) == pytest.approx(expected, abs=0.002)
