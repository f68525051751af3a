import json
from pathlib import Path

import numpy as np
import pytest

from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.types import Sample, Score
from tests.cli.conftest import Command


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    """A run of 60 answers whose metric is their true quality, and the ratings of three raters."""
    generator = np.random.default_rng(0)
    worth = generator.normal(3, 1, size=60).round(2).tolist()
    samples = [Sample(f"{n}", f"q{n}?", ("r",), "a", "en") for n in range(60)]
    with RunWriter(tmp_path / "run", samples, settings=RunSettings({"m": "m|v:1"})) as writer:
        results = [Result(s.id, "m", Score(true), "m|v:1") for s, true in zip(samples, worth, strict=True)]
        writer.add(imaps=[], results=results)
        writer.finish()
    ratings = tmp_path / "ratings.csv"
    lines = [f"{n},{r},{true + generator.normal(0, 0.7):.2f}" for n, true in enumerate(worth) for r in ("x", "y", "z")]
    ratings.write_text("\n".join(("id,rater,accuracy", *lines)) + "\n", "utf-8")
    return tmp_path / "run", ratings


def refuse(constant: str) -> None:
    pytest.fail(f"{constant} is not JSON")


def test_a_metric_without_error_has_no_limit(imapeval: Command, inputs: tuple[Path, Path]):
    run, ratings = inputs
    done = imapeval("study", "raters", run, "--ratings", ratings, "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout, parse_constant=refuse)["worth_in_raters"]
    assert row["high"] == "no limit"
    assert isinstance(row["low"], float)
