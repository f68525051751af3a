import json
from collections.abc import Callable
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Run
from imapeval.types import Sample
from tests.cli.conftest import Command


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


def test_preferences(imapeval: Command, write_run: Callable[..., Run], file: Path, tmp_path: Path):
    samples = [Sample(f"{s}{n}", f"q{n}?", ("r",), "a", system=s) for s in "xyz" for n in range(12)]
    scores = {"x": 0.9, "y": 0.5, "z": 0.4}
    write_run("run", samples, {"m": [scores[s.system] for s in samples]})
    done = imapeval("study", "preferences", file, tmp_path / "run", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [row["system"] for row in found["strengths"]] == ["x", "y", "z"]
    assert (found["strengths"][0]["wins"], found["strengths"][0]["losses"]) == (20, 4)
    (row,) = found["metrics"]
    # 9 + 11 + 4 of 32 preferences are with the metric.
    assert (row["accuracy"], row["n"], row["ties"], row["pairs_alike"]) == (0.75, 32, 4, 3)
    # Scores of another tool, which are the other way round but for one answer that it did not score.
    lines = [f"{s.id},{-scores[s.system]}" for s in samples[1:]]
    table = tmp_path / "scores.csv"
    table.write_text("\n".join(["id,other", *lines]) + "\n")
    arguments = ("study", "preferences", file, tmp_path / "run", "--scores", table)
    done = imapeval(*arguments, "--json")
    assert done.returncode == 0
    assert "1 of 36 answers have no score by other: x0" in done.stderr
    both = json.loads(done.stdout)["metrics"]
    assert both[0] == row
    # On q0 it has no answer by x: x was preferred to y, and z to x.
    assert (both[1]["metric"], both[1]["accuracy"], both[1]["n"], both[1]["missing"]) == ("other", 7 / 30, 30, 2)
    only = json.loads(imapeval(*arguments, "--metrics", "other", "--json").stdout)["metrics"]
    assert only == both[1:]
    table.write_text("id,other\nx0,1\n")
    write_run("again", samples[:12], {"m": [0.1] * 12})
    done = imapeval(*arguments[:4], tmp_path / "again", "--scores", table)
    assert (done.returncode, done.stdout) == (2, "")
    assert "x0" in done.stderr
    done = imapeval("study", "preferences", file)
    assert done.returncode == 0
    assert "Systems by preference" in done.stdout
    assert "Metrics and preferences" not in done.stdout


def test_bad_usage(imapeval: Command, file: Path):
    done = imapeval("study", "preferences", file, "--metrics", "m")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--metrics" in done.stderr
    done = imapeval("study", "preferences", file, "--scores", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--scores" in done.stderr
    file.write_text("question,a,b,winner\nq,x,y,neither of them\n")
    done = imapeval("study", "preferences", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "p.csv, line 2" in done.stderr
