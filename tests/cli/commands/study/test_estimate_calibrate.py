import csv
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from imapeval.cli.output import write_csv
from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.study.calibration.predictions import Prediction
from imapeval.types import Failure, Sample, Score

Command = Callable[..., subprocess.CompletedProcess[str]]

N = 60


def write_run(
    folder: Path, *, signature: str = "m|v:1", failed: int = 0, tasks: Sequence[str] = ("",), only: str = ""
) -> Path:
    """Two systems answer 60 questions; `m` sees how good an answer is, `noise` little of it."""
    rng = np.random.default_rng(6)
    truth = rng.normal(3, 1, (2, N))
    scores = {"m": 0.2 * truth + rng.normal(0, 0.05, (2, N)), "noise": 0.2 * truth + rng.normal(0, 0.4, (2, N))}
    samples = [
        Sample(
            *(f"{system}{n}", f"q{n}?", ("r",), "a", "en", system, {"accuracy": round(float(truth[row, n]), 2)}),
            meta={"task": tasks[n % len(tasks)]},
        )
        for row, system in enumerate("xy")
        for n in range(N)
        if only in tasks[n % len(tasks)]
    ]
    kept = {sample.id for sample in samples}
    signatures = {"m": signature, "noise": "noise|v:1"}
    results = [
        Result(f"{system}{n}", name, Score(float(values[row, n])), signatures[name])
        for name, values in scores.items()
        for row, system in enumerate("xy")
        for n in range(N)
        if f"{system}{n}" in kept
    ]
    for index in range(failed):
        results[index] = Result(results[index].id, "m", Failure("metric", "no-query", "?"), signature)
    with RunWriter(folder, samples, settings=RunSettings(signatures)) as writer:
        writer.add(imaps=[], results=results)
        writer.finish()
    return folder


def write_ratings(path: Path, run: Path, *, every: int) -> Path:
    """Rate each nth answer."""
    rows = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    lines = [f"{row['id']},{row['ratings']['accuracy']}" for row in rows[::every]]
    path.write_text("\n".join(["id,accuracy", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


def test_estimate(imapeval: Command, run: Path, tmp_path: Path):
    ratings = write_ratings(tmp_path / "few.csv", run, every=4)
    arguments = ("study", "estimate", run, "--ratings", ratings, "--metric", "m")
    done = imapeval(*arguments, "--json", "--right-from", "3", "--score-from", ".6")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert [(row["system"], row["rated"], row["unrated"]) for row in found["means"]] == [("x", 15, 45), ("y", 15, 45)]
    truth = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    for row in found["means"]:
        mean = np.mean([one["ratings"]["accuracy"] for one in truth if one["system"] == row["system"]])
        assert row["low"] < mean < row["high"]
        assert row["high"] - row["low"] < 0.8 * (row["plain_high"] - row["plain_low"])
        assert row["worth"] > 1.7 * row["rated"]
    assert len(found["differences"]) == 1
    for row in found["shares"]:
        right = np.mean([one["ratings"]["accuracy"] >= 3 for one in truth if one["system"] == row["system"]])
        assert row["share"]["low"] <= right <= row["share"]["high"]
        assert row["share"]["n"] == 45
    shown = imapeval(*arguments, "--right-from", "3", "--score-from", ".6").stdout
    assert "Mean rating, estimated with m" in shown
    assert "accuracy: x minus y is" in shown
    assert "share of right answers of x" in shown


def test_estimate_by_group(imapeval: Command, tmp_path: Path):
    run = write_run(tmp_path / "run", tasks=("cause", "treatment", "treatment"))
    ratings = write_ratings(tmp_path / "few.csv", run, every=4)
    arguments = ("study", "estimate", run, "--ratings", ratings, "--metric", "m", "--by", "task")
    done = imapeval(*arguments, "--json", "--right-from", "3", "--score-from", ".6")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # Every fourth of 60 answers is rated, of which every third asks for a cause.
    assert [(row["group"], row["system"], row["rated"], row["unrated"]) for row in found["means"]] == [
        *[("cause", "x", 5, 15), ("cause", "y", 5, 15)],
        *[("treatment", "x", 10, 30), ("treatment", "y", 10, 30)],
    ]
    alone = write_run(tmp_path / "alone", tasks=("cause", "treatment", "treatment"), only="cause")
    same = json.loads(imapeval("study", "estimate", alone, *arguments[3:7], "--json").stdout)
    for row, other in zip(same["means"], found["means"][:2], strict=True):
        numbers = {key: value for key, value in other.items() if isinstance(value, float)}
        assert row == other | {key: pytest.approx(value) for key, value in numbers.items()} | {"group": ""}
    assert [row["group"] for row in found["differences"]] == ["cause", "treatment"]
    assert [row["group"] for row in found["shares"]] == ["cause", "cause", "treatment", "treatment"]
    shown = imapeval(*arguments).stdout
    assert "treatment, accuracy: x minus y is" in shown
    wrong = imapeval(*arguments[:-1], "ward")
    assert wrong.returncode == 2
    assert "'ward'" in wrong.stderr


def test_estimate_says_what_it_cannot(imapeval: Command, run: Path, tmp_path: Path):
    ratings = write_ratings(tmp_path / "few.csv", run, every=30)
    done = imapeval(
        *("study", "estimate", run, "--ratings", ratings, "--metric", "m", "--right-from", "0", "--score-from", "0")
    )
    assert done.returncode == 0
    assert "x, accuracy: 2 rated questions with a score are fewer than 5." in done.stdout
    assert "none of its rated answers is wrong at 0" in done.stdout
    half = imapeval("study", "estimate", run, "--ratings", ratings, "--metric", "m", "--right-from", "3")
    assert half.returncode == 2
    assert "--right-from and --score-from go together" in half.stderr
    bare = imapeval("study", "estimate", run, "--metric", "m", "--right-from", "nan", "--score-from", "0")
    assert bare.returncode == 2
    assert "--right-from nan" in bare.stderr


def test_calibrate_and_apply(imapeval: Command, run: Path, tmp_path: Path):
    made = tmp_path / "m.json"
    done = imapeval(*("study", "calibrate", run, "--metric", "m", "--out", made, "--scale", "accuracy=-1:7"))
    assert done.returncode == 0, done.stderr
    assert "mean absolute of always predicting the mean" in done.stdout
    content = json.loads(made.read_text())
    assert (content["metric"], content["signature"], content["n"]) == ("m", "m|v:1", 2 * N)
    assert content["mean_absolute_error"]["value"] < 0.5 * content["baseline_error"]
    again = imapeval("study", "calibrate", run, "--metric", "m", "--out", tmp_path / "2.json", "--json",
                     "--scale", "accuracy=-1:7")  # fmt: skip
    assert json.loads(again.stdout) == content

    other = write_run(tmp_path / "other", failed=2)
    done = imapeval("study", "apply", made, other, "--out", tmp_path / "predicted.csv")
    assert done.returncode == 0
    assert "x: mean accuracy 3." in done.stdout
    assert "58 answers, 2 without a score" in done.stdout
    with (tmp_path / "predicted.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["id"], rows[0]["score"], rows[0]["rating"]) == ("x0", "", "")
    assert float(rows[5]["low"]) < float(rows[5]["rating"]) < float(rows[5]["high"])
    as_json = json.loads(imapeval("study", "apply", made, other, "--json").stdout)
    assert as_json[5]["rating"] == pytest.approx(float(rows[5]["rating"]))


def test_no_text_of_predictions_becomes_a_formula(tmp_path: Path):
    rows = [Prediction("=1+1", "@s", -1.5, None, None, None, outside=False)]
    write_csv(tmp_path / "p.csv", Prediction, rows)
    with (tmp_path / "p.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["id"], row["system"], row["score"], row["rating"]) == ("'=1+1", "'@s", "-1.5", "")


def test_another_signature_is_refused(imapeval: Command, run: Path, tmp_path: Path):
    made = tmp_path / "m.json"
    imapeval("study", "calibrate", run, "--metric", "m", "--out", made)
    other = write_run(tmp_path / "other", signature="m|v:2")
    done = imapeval("study", "apply", made, other)
    assert done.returncode == 2
    assert "has m as m|v:2, but it was calibrated as m|v:1" in done.stderr
    done = imapeval("study", "calibrate", run, "--metric", "m", "--out", made, "--method", "magic")
    assert (done.returncode, "unknown --method 'magic'" in done.stderr) == (2, True)


def test_sensitivity(imapeval: Command, run: Path):
    done = imapeval("study", "sensitivity", run, "--metric", "m", "--against", "noise", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["change"] for row in found["shifts"] if row["metric"] == "m"] == [
        "noise of 0.25 points", "noise of 0.5 points", "noise of 1 points",
    ]  # fmt: skip
    (order,) = found["orders"]
    assert (order["first"], order["n"]) == ("m", 2 * N)
    shown = imapeval("study", "sensitivity", run, "--metric", "m", "--against", "noise").stdout
    assert "Spearman's rho, mean within systems" in shown
    assert order["sentence"] in shown
    same = imapeval("study", "sensitivity", run, "--metric", "m", "--against", "m")
    assert (same.returncode, "is the metric itself" in same.stderr) == (2, True)


def test_cutoff(imapeval: Command, tmp_path: Path):
    run = write_run(tmp_path / "run")
    done = imapeval("study", "cutoff", run, "--metric", "m", "--right-from", "3.5", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["metric"], found["dimension"], found["chosen"], found["n"]) == ("m", "accuracy", True, 120)
    # Ratings are 5 times the score, and noise.
    assert found["score"] == pytest.approx(0.7, abs=0.06)
    assert list(found["figures"][0]) == ["name", "value", "low", "high", "apparent", "n"]
    done = imapeval("study", "cutoff", run, "--metric", "m", "--right-from", "3.5", "--at", "0.7")
    assert "m at least 0.7: rated 3.5 or better in accuracy" in done.stdout
    assert "apparent" not in done.stdout
    done = imapeval("study", "cutoff", run, "--metric", "m", "--right-from", "9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--right-from" in done.stderr


def test_limits(imapeval: Command, tmp_path: Path):
    run = write_run(tmp_path / "run")
    # Scores are about a fifth of the ratings.
    done = imapeval("study", "limits", run, "--metric", "m", "--scale", "accuracy=-1:7", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["first"], row["second"], row["n"]) == ("m", "mean rating", 120)
    assert row["lower"]["value"] < row["mean"]["low"] < row["mean"]["value"] == pytest.approx(-2.4, abs=0.3)
    done = imapeval("study", "limits", run, "--metric", "m", "--scale", "accuracy=-1:7")
    assert "limits of agreement" in done.stdout
    done = imapeval("study", "limits", run, "--metric", "m")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--scale accuracy=" in done.stderr
