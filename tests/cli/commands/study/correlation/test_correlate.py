import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Run
from imapeval.types import Sample
from tests.cli.conftest import Command

RATINGS = [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.fixture
def run(write_run: Callable[..., Run], tmp_path: Path) -> Path:
    samples = [
        Sample(f"{system}{n}", f"q{n}?", ("r",), "a", "en", system, {"accuracy": rating}, {"dataset": "[D]"})
        for system in ("x", "y")
        for n, rating in enumerate(RATINGS)
    ]
    write_run("run", samples, {"m": [None if s.id == "y4" else s.ratings["accuracy"] for s in samples]})
    return tmp_path / "run"


def test_json_is_what_the_design_says(imapeval: Command, run: Path):
    done = imapeval("study", "correlate", run, "--json", "--resamples", "50")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("10 answers in 1 run, 10 of them rated: accuracy 10.\n")
    rows = json.loads(done.stdout)
    first = rows[0]
    assert isinstance(first["error"], float)
    ends = dict.fromkeys(("low", "high", "simultaneous_low", "simultaneous_high", "error", "undefined"))
    assert first | ends == {
        **ends,
        "metric": "m",
        "system": "[D]/x",
        "dimension": "accuracy",
        "coefficient": "spearman",
        "value": pytest.approx(1.0),
        "n": 5,
        "n_missing": 0,
        "reason": None,
        "level": "within-system",
        "groups": 1,
        "questions": 5,
        "epsilon": None,
        "interval": "bca",
        "units": "questions",
    }
    assert [(row["system"], row["n"], row["n_missing"]) for row in rows[1:3]] == [("[D]/y", 4, 1), ("*", 9, 1)]
    assert {row["coefficient"] for row in rows} == {"spearman", "kendall_tau_b"}


def test_table_and_notes(imapeval: Command, run: Path):
    done = imapeval("study", "correlate", run, "--resamples", "50", "--seed", "3")
    assert done.returncode == 0, done.stderr
    title = "Spearman's rho, within system; mean of 2 coefficients last"
    for part in (title, "Kendall's tau-b", "[D]/x", "accuracy", "mean of all", "1.000", "n 5"):
        assert part in done.stdout
    assert "BCa bootstrap (50 resamples of questions" in done.stdout
    assert "seed 3" in done.stdout
    assert "Rated answers without a score (failures) are left out: m 1." in done.stdout
    for part in ("Spearman's rho, side by side", "all answers", "baseline", "No baseline: 5 questions are fewer than"):
        assert part in done.stdout


@pytest.mark.parametrize("datasets", [1, 2])
def test_one_system_has_no_second_table_except_for_several_data_sets(
    imapeval: Command, write_run: Callable[..., Run], tmp_path: Path, datasets: int
):
    # Only a data set that is named by a word is part of the system's name.
    samples = [
        Sample(f"{n}", f"q{n}?", ("r",), "a", "en", "x", {"accuracy": rating}, {"dataset": n % datasets})
        for n, rating in enumerate(RATINGS)
    ]
    write_run("run", samples, {"m": RATINGS})
    done = imapeval("study", "correlate", tmp_path / "run", "--resamples", "50")
    assert done.returncode == 0, done.stderr
    assert "Spearman's rho, within system" in done.stdout
    assert ("side by side" in done.stdout) == (datasets > 1)


def test_levels_and_coefficients(imapeval: Command, run: Path):
    levels = "global,within-question,system"
    asked = ("study", "correlate", run, "--resamples", "50", "--level", levels)
    done = imapeval(*asked, "--coefficient", "pearson,pairwise_accuracy", "--json")
    rows = [(row["level"], row["coefficient"], row["value"]) for row in json.loads(done.stdout)]
    assert rows == [
        ("global", "pearson", pytest.approx(1.0)),
        ("global", "pairwise_accuracy", 1.0),
        ("within-question", "pearson", None),  # two systems
        ("within-question", "pairwise_accuracy", None),  # constant within every question
        ("system", "pearson", None),
        ("system", "pairwise_accuracy", 1.0),
    ]
    shown = imapeval(*asked, "--coefficient", "pairwise_accuracy").stdout
    for part in ("pairwise accuracy, global", "pairwise accuracy, within question", "Global: ", "ties 0"):
        assert part in shown


def test_what_intervals_are_about(imapeval: Command, run: Path):
    done = imapeval("study", "correlate", run, "--resamples", "50")
    assert "about these systems on other questions" in done.stdout
    done = imapeval("study", "correlate", run, "--resamples", "50", "--units", "systems")
    assert done.returncode == 0, done.stderr
    assert "No interval about other systems: that takes 6" in done.stdout
    done = imapeval("study", "correlate", run, "--units", "raters")
    assert done.returncode == 2
    assert "--units" in done.stderr


def test_what_is_undefined_is_said(imapeval: Command, run: Path):
    done = imapeval("study", "correlate", run, "--level", "system", "--coefficient", "spearman")
    said = "No coefficient can be computed: 2 systems have scores and ratings; at least 3 are needed."
    assert done.stdout.startswith(said)
    mixed = imapeval("study", "correlate", run, "--level", "system,within-system", "--resamples", "50")
    assert "Undefined: m, all, accuracy: 2 systems have scores and ratings; at least 3 are needed." in mixed.stdout


def test_two_ratings_are_too_few_for_any_table(imapeval: Command, run: Path, tmp_path: Path):
    (tmp_path / "two.csv").write_text("id,rater,accuracy\nx0,r,1\ny1,r,2\n")
    for levels in ("within-system", "global", "within-question", "system", "global,within-system,within-question"):
        done = imapeval("study", "correlate", run, "--ratings", "two.csv", "--level", levels)
        assert done.returncode == 0
        (line,) = done.stdout.splitlines()
        assert re.fullmatch(r"No coefficient can be computed: [^:]*\d.*\w\.", line), line


def test_ratings_from_a_file(imapeval: Command, run: Path, tmp_path: Path):
    ratings = tmp_path / "r.csv"
    ratings.write_text("id,overall\nx0,3\nx1,2\nx2,2\nz9,1\n")
    done = imapeval("study", "correlate", run, "--ratings", ratings, "--json")
    assert done.returncode == 0, done.stderr
    assert "1 of 4 rated ids are in no run and are left out: z9." in done.stderr
    assert "7 of 10 answers are not rated: x3, x4, y0 and 4 more." in done.stderr
    row = json.loads(done.stdout)[0]
    assert (row["dimension"], row["n"]) == ("overall", 3)
    assert row["value"] == pytest.approx(-0.8660254)  # ranks 1, 2, 3 with 3, 1.5, 1.5: -sqrt(3) / 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "nowhere"),
        (["run", "--metrics", "rouge9"], "the run has no metric 'rouge9'. It has: m."),
        (["run", "--metrics", ","], "--metrics ',' names nothing"),
        (["run", "--ratings", "none.csv"], "no such file"),
    ],
)
def test_bad_usage_exits_with_2(imapeval: Command, run: Path, args: list[str], message: str):
    done = imapeval("study", "correlate", *args)
    assert done.returncode == 2
    assert message in done.stderr


def test_report_is_written_again(imapeval: Command, run: Path):
    done = imapeval("report", run)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(run / "report.html")
    assert "[D]/x" in (run / "report.html").read_text(encoding="utf-8")
