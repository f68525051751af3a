import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.types import Sample, Score

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Twelve questions: x beats y on nine and z on all but one; y and z are even."""
    lines = ["question,a,b,winner"]
    for n in range(12):
        lines.append(f"q{n}?,x,y,{'x' if n < 9 else 'y'}")
        lines.append(f"q{n}?,z,x,{'a' if not n else 'b'}")
        lines.append(f"q{n}?,y,z,{('a', 'b', 'tie')[n % 3]}")
    path = tmp_path / "p.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_preferences(imapeval: Command, file: Path, tmp_path: Path):
    samples = [Sample(f"{s}{n}", f"q{n}?", ("r",), "a", system=s) for s in "xyz" for n in range(12)]
    with RunWriter(tmp_path / "run", samples, settings=RunSettings({"m": "m|v:1"})) as writer:
        scores = {"x": 0.9, "y": 0.5, "z": 0.4}
        writer.add(imaps=[], results=[Result(s.id, "m", Score(scores[s.system]), "m|v:1") for s in samples])
        writer.finish()
    done = imapeval("study", "preferences", file, tmp_path / "run", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [row["system"] for row in found["strengths"]] == ["x", "y", "z"]
    assert (found["strengths"][0]["wins"], found["strengths"][0]["losses"]) == (20, 4)
    (row,) = found["metrics"]
    # 9 + 11 + 4 of 32 preferences are with the metric.
    assert (row["accuracy"], row["n"], row["ties"], row["pairs_alike"]) == (0.75, 32, 4, 3)
    done = imapeval("study", "preferences", file)
    assert done.returncode == 0
    assert "Systems by preference" in done.stdout
    assert "Metrics and preferences" not in done.stdout


def test_bad_usage(imapeval: Command, file: Path):
    done = imapeval("study", "preferences", file, "--metrics", "m")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--metrics" in done.stderr
    file.write_text("question,a,b,winner\nq,x,y,neither of them\n")
    done = imapeval("study", "preferences", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "p.csv, line 2" in done.stderr
