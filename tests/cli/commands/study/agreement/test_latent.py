import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from imapeval.study.data.ratings import read_ratings
from tests.cli.conftest import Command


def write(path: Path, raters: int = 3, *, right: Sequence[float] = (0.9, 0.85, 0.33)) -> np.ndarray:
    """100 answers, rated 1 to 3 by raters who are right that often, and otherwise guess; return the truth."""
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 4, size=100)
    lines = ["id,rater,accuracy"]
    for row, true in enumerate(truth):
        for rater in range(raters):
            knows = rng.random() < right[rater]
            lines.append(f"a{row},r{rater},{true if knows else rng.integers(1, 4)}")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return truth


@pytest.mark.parametrize("model", ["ordinal", "nominal"])
def test_errors_and_gold(imapeval: Command, tmp_path: Path, model: str):
    file, gold = tmp_path / "r.csv", tmp_path / "gold.jsonl"
    truth = write(file)
    done = imapeval("study", "latent", file, "--model", model, "--scale", "accuracy=1:3:1", "--out", gold, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = json.loads(done.stdout)
    assert found["categories"] == [1, 2, 3]
    right = [rater["right"] for rater in found["raters"]]
    assert max(right[2] + 0.15, right[2]) < min(right[:2])
    ratings = read_ratings(gold)
    assert (len(ratings.ids), ratings.dimensions, ratings.raters) == (100, ("accuracy",), ())
    assert np.mean(np.round(ratings.average()[:, 0]) == truth) > 0.85


@pytest.mark.parametrize("model", ["ordinal", "nominal"])
def test_table_and_sentence_follow_from_the_errors_by_bayes(imapeval: Command, tmp_path: Path, model: str):
    file, gold = tmp_path / "r.csv", tmp_path / "my gold.jsonl"
    write(file, right=(0.6, 0.5, 0.5))
    arguments = ("study", "latent", file, "--model", model)
    (found,) = json.loads(imapeval(*arguments, "--json").stdout)
    chances = np.tile(found["shares"], (100, 1))
    ratings = read_ratings(file).split("accuracy").astype(int)
    for place, rater in enumerate(found["raters"]):
        matrix = np.array(rater["matrix"])
        assert rater["right"] == pytest.approx(found["shares"] @ np.diag(matrix), abs=1e-6)
        chances = chances * matrix[:, ratings[:, place] - 1].T
    chances /= chances.sum(axis=1, keepdims=True)
    unsure = int((chances.max(axis=1) < 0.8).sum())
    assert 0 < unsure < 100
    done = imapeval(*arguments, "--out", gold)
    assert done.returncode == 0, done.stderr
    assert f"imapeval study report RUN --ratings '{gold}'" in done.stdout
    assert f"accuracy: 100 answers; for {unsure} no category has a probability of 80%." in done.stdout
    first = found["raters"][0]
    for part in (
        f"errors of the raters ({model} model)",
        "share of the answers",
        "r0 (100)",
        "gives 3",
        f"{first['matrix'][2][2]:.0%}",
    ):
        assert part in done.stdout


def test_what_a_constant_rater_changes_is_said(imapeval: Command, tmp_path: Path):
    # Three raters agree on 99 of 100 answers, and chances of other ratings are tiny.
    lines = [f"a{n},{rater},{1 if n else 2}" for n in range(100) for rater in "xyz"]
    lines += [f"a{n},constant,1" for n in range(100)]
    (tmp_path / "r.csv").write_text("\n".join(["id,rater,accuracy", *lines]), "utf-8")
    done = imapeval("study", "latent", tmp_path / "r.csv", "--model", "nominal")
    assert done.returncode == 0, done.stderr
    assert "left out, because they gave every answer the same rating: constant." in done.stdout
    assert "99 of 100 answers get the same rating, 1." in done.stdout


def test_bad_input(imapeval: Command, tmp_path: Path):
    write(tmp_path / "r.csv", raters=2)
    done = imapeval("study", "latent", tmp_path / "r.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "2 raters" in done.stderr
    done = imapeval("study", "latent", tmp_path / "r.csv", "--model", "bayes")
    assert done.returncode == 2
    assert "--model" in done.stderr
    (tmp_path / "averages.csv").write_text("id,accuracy\na,1\nb,2\n")
    done = imapeval("study", "latent", tmp_path / "averages.csv")
    assert (done.returncode, "0 raters" in done.stderr) == (2, True)
