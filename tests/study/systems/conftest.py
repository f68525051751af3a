from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.types import Failure, Sample, Score


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Run]:
    """Write a run with these scores by metric, None for a failure, in the order of the samples."""

    def write(name: str, samples: Sequence[Sample], scores: Mapping[str, Sequence[float | None]]) -> Run:
        signatures = {metric: f"{metric}|v:1" for metric in scores}
        with RunWriter(tmp_path / name, samples, settings=RunSettings(signatures)) as writer:
            results = [
                Result(
                    sample.id,
                    metric,
                    Failure("metric", "empty", "nothing") if value is None else Score(value),
                    signatures[metric],
                )
                for metric, column in scores.items()
                for sample, value in zip(samples, column, strict=True)
            ]
            writer.add(imaps=[], results=results)
            writer.finish()
        return Run(tmp_path / name)

    return write
