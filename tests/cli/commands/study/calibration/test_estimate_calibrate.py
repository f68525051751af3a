import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from imapeval.cli.output import write_csv
from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.evaluation.samples import UNNAMED_SYSTEM
from imapeval.study.calibration.predictions import Prediction
from imapeval.study.intervals.coverage import describe_mean_coverage
from imapeval.types import Failure, Sample, Score
from tests.cli.conftest import Command

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
            meta={"task": tasks[n % len(tasks)], "clinic": "ABC"[n % 3]},
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
    done = imapeval(*arguments, "--json", "--right-from", "3")
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
        assert row["low"] <= right <= row["high"]
        assert row["plain_low"] <= right <= row["plain_high"]
    assert len(found["share_differences"]) == 1
    shown = imapeval(*arguments, "--right-from", "3").stdout
    assert "Mean rating, estimated with m" in shown
    assert "accuracy: x minus y is" in shown
    assert "Share of answers rated 3 or better" in shown


def test_estimate_by_group(imapeval: Command, tmp_path: Path):
    run = write_run(tmp_path / "run", tasks=("cause", "treatment", "treatment"))
    ratings = write_ratings(tmp_path / "few.csv", run, every=4)
    arguments = ("study", "estimate", run, "--ratings", ratings, "--metric", "m", "--by", "task")
    done = imapeval(*arguments, "--json", "--right-from", "3")
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


def test_groups_are_those_of_any_column_of_the_data(imapeval: Command, run: Path, tmp_path: Path):
    done = imapeval("study", "estimate", run, "--metric", "m", "--by", "clinic", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["group"] for row in json.loads(done.stdout)["means"]] == ["A", "A", "B", "B", "C", "C"]
    done = imapeval("study", "estimate", run, "--metric", "m", "--by", "lang", "--json")
    assert {row["group"] for row in json.loads(done.stdout)["means"]} == {"en"}
    made = ("--out", tmp_path / "m.json", "--json")
    done = imapeval("study", "calibrate", run, "--metric", "m", "--by", "clinic", *made)
    assert done.returncode == 0, done.stderr
    assert [row["group"] for row in json.loads(done.stdout)["groups"]] == ["A", "B", "C"]


def test_reasons_say_whether_they_are_about_the_mean_or_the_share(imapeval: Command, run: Path, tmp_path: Path):
    ratings = write_ratings(tmp_path / "few.csv", run, every=30)
    done = imapeval("study", "estimate", run, "--ratings", ratings, "--metric", "m", "--right-from", "3")
    lines = done.stdout.splitlines()
    reasons = [line for line in lines if line.endswith("fewer than 5.")]
    assert len(reasons) == len(set(reasons)) == 4
    ratings = write_ratings(tmp_path / "many.csv", run, every=4)
    done = imapeval("study", "estimate", run, "--ratings", ratings, "--metric", "m", "--right-from", "3")
    (_, share) = [line for line in done.stdout.splitlines() if "x minus y is" in line]
    assert share.startswith("Share right: ")


@pytest.mark.parametrize("options", ["calibrate --out c.json", "cutoff --right-from 3", "limits --scale accuracy=-1:7"])
def test_other_columns_of_the_ratings_are_not_read(imapeval: Command, run: Path, tmp_path: Path, options: str):
    ratings = write_ratings(tmp_path / "r.csv", run, every=1)
    lines = ratings.read_text().splitlines()
    ratings.write_text("\n".join([f"{lines[0]},comment", *(f"{line},fine" for line in lines[1:])]) + "\n")
    command = ("study", *options.split(), run, "--metric", "m", "--ratings", ratings)
    done = imapeval(*command, "--dimension", "accuracy")
    assert done.returncode == 0, done.stderr
    done = imapeval(*command)
    assert done.returncode == 2
    # The option that these commands have.
    assert re.search(r"--dimension\b(?!s)", done.stderr)


def test_estimates_of_answers_without_a_system_are_not_of_all(imapeval: Command, run: Path):
    lines = (run / "samples.jsonl").read_text()
    (run / "samples.jsonl").write_text(re.sub('"system": ?"y"', '"system": ""', lines))
    shown = imapeval("study", "estimate", run, "--metric", "m").stdout
    assert f"│ {UNNAMED_SYSTEM} " in shown
    assert f"x minus {UNNAMED_SYSTEM} " in shown


def test_estimate_says_what_it_cannot(imapeval: Command, run: Path, tmp_path: Path):
    ratings = write_ratings(tmp_path / "few.csv", run, every=30)
    done = imapeval(*("study", "estimate", run, "--ratings", ratings, "--metric", "m", "--right-from", "0"))
    assert done.returncode == 0
    assert "x, accuracy: 2 rated questions with a score are fewer than 5." in done.stdout
    assert done.stdout.count("fewer than 5.") == 4
    assert done.stdout.count("Intervals are 95%") == 1
    wrong = imapeval("study", "estimate", run, "--metric", "m", "--right-from", "nan")
    assert wrong.returncode == 2
    assert "--right-from nan" in wrong.stderr


@pytest.mark.parametrize("options", ["estimate", "limits", "sensitivity"])
def test_without_ratings_there_is_nothing_to_compute(imapeval: Command, tmp_path: Path, options: str):
    samples = [Sample(f"a{n}", f"q{n}?", ("r",), "a") for n in range(9)]
    with RunWriter(tmp_path / "bare", samples, settings=RunSettings({"m": "m|v:1"})) as writer:
        writer.add(imaps=[], results=[Result(sample.id, "m", Score(0.5), "m|v:1") for sample in samples])
        writer.finish()
    done = imapeval("study", options, tmp_path / "bare", "--metric", "m")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--ratings" in done.stderr


def test_calibrate_and_apply(imapeval: Command, run: Path, tmp_path: Path):
    made = tmp_path / "my m.json"
    done = imapeval(*("study", "calibrate", run, "--metric", "m", "--out", made, "--scale", "accuracy=-1:7"))
    assert done.returncode == 0, done.stderr
    assert f"imapeval study apply '{made}' RUN" in done.stdout
    assert "mean absolute of always predicting the mean" in done.stdout
    content = json.loads(made.read_text())
    assert (content["metric"], content["signature"], content["n"]) == ("m", "m|v:1", 2 * N)
    error = content["mean_absolute_error"]
    assert error["value"] < 0.5 * content["baseline_error"]
    shown = f"{error['value']:.3f} │ {error['low']:.3f} .. {error['high']:.3f}"
    assert shown in done.stdout
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


def test_predictions_of_answers_without_a_system_are_not_of_all(imapeval: Command, run: Path, tmp_path: Path):
    made = tmp_path / "m.json"
    imapeval("study", "calibrate", run, "--metric", "m", "--out", made)
    samples = [Sample(system, "q?", ("r",), "a", system=system.strip("1")) for system in ("x", "1")]
    for name, kept, groups in (("two", samples, ["x", UNNAMED_SYSTEM]), ("one", samples[1:], ["all"])):
        with RunWriter(tmp_path / name, kept, settings=RunSettings({"m": "m|v:1"})) as writer:
            writer.add(imaps=[], results=[Result(sample.id, "m", Score(0.5), "m|v:1") for sample in kept])
            writer.finish()
        lines = imapeval("study", "apply", made, tmp_path / name).stdout.splitlines()
        assert [line.partition(":")[0] for line in lines if ":" in line] == groups


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
    assert "varying ratings" not in done.stderr
    found = json.loads(done.stdout)
    assert [row["change"] for row in found["shifts"] if row["metric"] == "m"] == [
        "noise of 0.25 points", "noise of 0.5 points", "noise of 1 points",
    ]  # fmt: skip
    (order,) = found["orders"]
    assert (order["first"], order["n"]) == ("m", 2 * N)
    done = imapeval("study", "sensitivity", run, "--metric", "m", "--against", "noise")
    assert "Spearman's rho, mean within systems" in done.stdout
    assert order["sentence"] in done.stdout
    # A step for each metric and dimension, and one for each order.
    assert "varying ratings" in done.stderr
    assert "3/3" in done.stderr
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


def write_scores(path: Path, run: Path, *, start: int = 0) -> Path:
    """Write the scores by `m` as those of another tool, `theirs`, without the first ones."""
    results = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    lines = [f"{row['id']},{row['score']!r}" for row in results if row["metric"] == "m"]
    path.write_text("\n".join(["id,theirs", *lines[start:]]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "--out", "page"),
        ("correlate",),
        ("compare", "--against", "METRIC"),
        ("power", "--against", "METRIC"),
        ("slices",),
        ("bias",),
        ("disagreements", "--metric", "METRIC"),
        ("matrix",),
        ("estimate", "--metric", "METRIC"),
        ("calibrate", "--metric", "METRIC", "--out", "c.json"),
        ("cutoff", "--metric", "METRIC", "--right-from", "3"),
        ("limits", "--metric", "METRIC", "--scale", "accuracy=-1:7"),
        ("sensitivity", "--metric", "METRIC", "--against", "noise"),
        ("abstain", "--metric", "METRIC", "--stability", "noise"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_metric_of_another_tool_is_studied_like_ours(
    imapeval: Command, run: Path, tmp_path: Path, arguments: tuple[str, ...]
):
    scores = write_scores(tmp_path / "theirs.csv", run)
    command, *options = arguments
    ours, theirs = (
        imapeval(
            *("study", command, run, *("m" if text == "METRIC" else text for text in options), "--json"),
            *(() if command in _ONE_METRIC else ("--metrics", "m,noise")),
        ),
        imapeval(
            *("study", command, run, *("theirs" if text == "METRIC" else text for text in options), "--json"),
            *("--scores", scores),
            *(() if command in _ONE_METRIC else ("--metrics", "theirs,noise")),
        ),
    )
    assert (ours.returncode, theirs.returncode) == (0, 0), theirs.stderr
    signature = re.compile(r'"file\|sha256:\w+"|"m\|v:1"')
    assert signature.sub('"signature"', theirs.stdout.replace("theirs", "m")) == signature.sub(
        '"signature"', ours.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("disagreements --metric METRIC", "--metric"),
        ("estimate --metric METRIC", "--metric"),
        ("calibrate --metric METRIC --out c.json", "--metric"),
        ("cutoff --metric METRIC --right-from 3", "--metric"),
        ("limits --metric METRIC --scale accuracy=-1:7", "--metric"),
        ("sensitivity --metric METRIC", "--metric"),
        ("sensitivity --metric noise --against METRIC", "--against"),
        ("abstain --metric METRIC --stability noise", "--metric"),
        ("abstain --metric noise --stability METRIC", "--stability"),
    ],
)
def test_options_for_one_metric(imapeval: Command, run: Path, arguments: str, option: str):
    command, *others = arguments.split()
    plain, spaced, several = (
        imapeval("study", command, run, *(name if text == "METRIC" else text for text in others), "--json")
        for name in ("m", " m", "m,noise")
    )
    assert (spaced.returncode, spaced.stdout) == (0, plain.stdout)
    assert (several.returncode, several.stdout) == (2, "")
    assert f"{option} 'm,noise'" in several.stderr


_ONE_METRIC = {"disagreements", "estimate", "calibrate", "cutoff", "limits", "sensitivity", "abstain"}


def test_scores_that_do_not_match_are_told(imapeval: Command, run: Path, tmp_path: Path):
    scores = write_scores(tmp_path / "theirs.csv", run, start=2)
    with scores.open("a") as file:
        file.write("stray,1\n")
    done = imapeval("study", "estimate", run, "--metric", "theirs", "--scores", scores)
    assert done.returncode == 0, done.stderr
    assert "1 of 119 ids are in no run and are left out: stray." in done.stderr
    assert "2 of 120 answers have no score by theirs: x0, x1." in done.stderr
    (tmp_path / "none.csv").write_text("id,theirs\nstray,1\n")
    done = imapeval("study", "estimate", run, "--metric", "theirs", "--scores", tmp_path / "none.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'stray'" in done.stderr
    wrong = imapeval("study", "estimate", run, "--metric", "their", "--scores", scores)
    assert "no metric 'their'. There are: m, noise, theirs." in wrong.stderr


def test_apply_takes_scores_from_where_the_calibration_did(imapeval: Command, run: Path, tmp_path: Path):
    scores, made, ours = write_scores(tmp_path / "theirs.csv", run), tmp_path / "c.json", tmp_path / "m.json"
    imapeval("study", "calibrate", run, "--metric", "theirs", "--scores", scores, "--out", made)
    imapeval("study", "calibrate", run, "--metric", "m", "--out", ours)
    # Other answers have another file, so its content is not compared.
    new = write_scores(tmp_path / "new.csv", run, start=1)
    done = imapeval("study", "apply", made, run, "--scores", new, "--json")
    assert done.returncode == 0, done.stderr
    expected = json.loads(imapeval("study", "apply", ours, run, "--json").stdout)
    assert json.loads(done.stdout)[1:] == expected[1:]
    assert json.loads(done.stdout)[0]["rating"] is None
    for arguments, problem in (
        ((made, run), "--scores"),
        ((ours, run, "--scores", new), "Leave out --scores"),
        ((made, run, "--scores", tmp_path / "other.csv"), "no metric 'theirs'. There are: other."),
    ):
        (tmp_path / "other.csv").write_text("id,other\nx0,1\n")
        done = imapeval("study", "apply", *arguments)
        assert (done.returncode, problem in done.stderr) == (2, True), done.stderr


def test_calibrate_by_group(imapeval: Command, tmp_path: Path):
    run = write_run(tmp_path / "run", tasks=("cause", "treatment", "treatment", "rare", "treatment", "treatment"))
    arguments = ("study", "calibrate", run, "--metric", "m", "--out", tmp_path / "c.json", "--by")
    done = imapeval(*arguments, "task", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(row["group"], row["questions"], row["answers"]) for row in found["groups"]] == [
        ("cause", 10, 20), ("treatment", 40, 80), ("rare", 10, 20),
    ]  # fmt: skip
    for row in found["groups"]:
        assert row["low"] < row["difference"] < row["high"]
        assert row["mean_absolute_low"] < row["mean_absolute"] < row["mean_absolute_high"]
    assert "groups" not in json.loads((tmp_path / "c.json").read_text())
    shown = imapeval(*arguments, "task").stdout
    for row in found["groups"]:
        assert f"│ {row['difference']:+.3f} │ {row['low']:.3f} .. {row['high']:.3f} │" in " ".join(shown.split())
    (sentence,) = describe_mean_coverage([10], of="errors")
    assert sentence in shown
    for by, problem in (("dimension", "--by dimension"), ("ward", "'ward'")):
        done = imapeval(*arguments, by)
        assert (done.returncode, problem in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("calibrate", "--metric", "m", "--out", "c.json", "--dimension"),
        ("cutoff", "--metric", "m", "--right-from", "3", "--dimension"),
        ("limits", "--metric", "m", "--dimension"),
        ("estimate", "--metric", "m", "--dimensions"),
        ("correlate", "--dimensions"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_dimension_that_is_not_there(imapeval: Command, run: Path, tmp_path: Path, arguments: tuple[str, ...]):
    ratings = write_ratings(tmp_path / "r.csv", run, every=1)
    for where in ((), ("--ratings", ratings)):
        done = imapeval("study", arguments[0], run, *arguments[1:], "tone", *where)
        assert (done.returncode, done.stdout) == (2, "")
        assert "there is no dimension 'tone'. There are: accuracy." in done.stderr
