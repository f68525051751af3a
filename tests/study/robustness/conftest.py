from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.types import Failure, Sample, Score

Scores = Mapping[str, Mapping[str, float | None]]


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Run]:
    """Write a run of these samples, with scores by metric and id; None is a failure."""

    def write(name: str, samples: Sequence[Sample], scores: Scores, *, version: str = "1") -> Run:
        signatures = {metric: f"{metric}|v:{version}" for metric in scores}
        with RunWriter(tmp_path / name, samples, settings=RunSettings(signatures)) as writer:
            results = [
                Result(id_, metric, Failure("metric", "no-query", "?") if value is None else Score(value), signature)
                for metric, signature in signatures.items()
                for id_, value in scores[metric].items()
            ]
            writer.add(imaps=[], results=results)
            writer.finish()
        return Run(tmp_path / name)

    return write


@pytest.fixture
def answer() -> Callable[..., Sample]:
    """Make a sample; "original" goes to its meta."""

    def make(id_: str, response: str, *, question: str = "", system: str = "s", original: str | None = None) -> Sample:
        meta = {} if original is None else {"original": original}
        return Sample(id_, question or f"q{id_[0]}?", ("r",), response, "en", system, meta=meta)

    return make
