from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.types import Failure, Sample, Score

Scores = Mapping[str, Mapping[str, float | None] | Sequence[float | None]]


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Run]:
    """Write a run with scores by metric, each by id or in the order of the samples; None is a failure."""

    def write(name: str, samples: Sequence[Sample], scores: Scores, *, version: str = "1") -> Run:
        signatures = {metric: f"{metric}|v:{version}" for metric in scores}
        ids = [sample.id for sample in samples]
        results = [
            Result(
                id_, metric, Failure("metric", "no-query", "?") if value is None else Score(value), signatures[metric]
            )
            for metric, column in scores.items()
            for id_, value in (column if isinstance(column, Mapping) else dict(zip(ids, column, strict=True))).items()
        ]
        with RunWriter(tmp_path / name, samples, settings=RunSettings(signatures)) as writer:
            writer.add(imaps=[], results=results)
            writer.finish()
        return Run(tmp_path / name)

    return write
