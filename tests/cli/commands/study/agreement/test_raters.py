import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from imapeval.evaluation.runs import Run
from imapeval.types import Sample
from tests.cli.conftest import Command


@pytest.fixture
def inputs(write_run: Callable[..., Run], tmp_path: Path) -> tuple[Path, Path]:
    """A run of 60 answers whose metric is their true quality, and the ratings of three raters."""
    generator = np.random.default_rng(0)
    worth = generator.normal(3, 1, size=60).round(2).tolist()
    samples = [Sample(f"{n}", f"q{n}?", ("r",), "a", "en") for n in range(60)]
    write_run("run", samples, {"m": worth})
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
