import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from imapeval.evaluation.runs import Run
from imapeval.study.data.findings import Comparison
from imapeval.types import Sample
from tests.cli.conftest import Command


@pytest.fixture
def run(write_run: Callable[..., Run], tmp_path: Path) -> Path:
    generator = np.random.default_rng(1)
    true = generator.normal(size=60)
    samples = [
        Sample(f"{n}", f"q{n // 2}?", ("r",), "a", "en", "xy"[n % 2], {"accuracy": round(float(t), 1)})
        for n, t in enumerate(true)
    ]
    weights = {"good": 3.0, "poor": 0.3, "poorer": 0.1}
    write_run("run", samples, {name: (by * true + generator.normal(size=60)).tolist() for name, by in weights.items()})
    return tmp_path / "run"


def test_compare_as_json(imapeval: Command, run: Path):
    done = imapeval("study", "compare", run, "--against", "good", "--resamples", "500", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["first"], row["second"]) for row in rows] == [("good", "poor"), ("good", "poorer")]
    assert all(row["difference"] > 0 and row["p"] < 0.05 <= 1 and row["questions"] == 30 for row in rows)
    assert set(rows[0]) == {field.name for field in fields(Comparison)}


def test_compare_for_people(imapeval: Command, run: Path):
    done = imapeval("study", "compare", run, "--resamples", "500", "--seed", "2")
    assert done.returncode == 0, done.stderr
    assert "Spearman's rho, within system, accuracy" in done.stdout
    assert "good (." in done.stdout
    assert "agrees better with the raters than poor" in done.stdout
    assert "cannot be told apart" in done.stdout
    assert "PERM-INPUTS" in done.stdout
    assert "Seed 2." in done.stdout


def test_compare_says_why_there_is_no_result(imapeval: Command, run: Path):
    done = imapeval("study", "compare", run, "--test", "williams")
    assert done.returncode == 0, done.stderr
    assert "good and poor were not compared" in done.stdout
    assert "Note on every comparison: williams is a test of one coefficient" in done.stdout


def test_power_of_a_pilot_and_of_numbers(imapeval: Command, run: Path):
    done = imapeval("study", "power", run, "--against", "good", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["second"] for row in rows] == ["poor", "poorer"]
    assert all(row["needed"] > 3 and row["n"] == 60 for row in rows)
    done = imapeval("study", "power", "--r1", ".57", "--r2", ".60", "--r12", ".8")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("To tell .57 from .60 with 80% power about 2,400 rated answers are needed.")
    assert "Rated answers needed" in imapeval("study", "power", run).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "RUN", "--test", "t"), "--test 't'"),
        (("compare", "RUN", "--level", "l"), "--level 'l'"),
        (("compare", "RUN", "--coefficient", "soft_pairwise_accuracy"), "soft_pairwise_accuracy at the level system"),
        (("compare", "RUN", "--against", "none"), "there is no metric 'none'"),
        (("compare", "RUN", "--metrics", "good"), "two metrics"),
        (("power",), "give the folder of a run"),
        (("power", "--r1", ".5", "--r2", ".4"), "--r12"),
        (("power", "RUN", "--r1", ".5"), "not both"),
        (("power", "RUN", "--raters", "3"), "single raters"),
        (("power", "--raters", "3", "--r1", ".5"), "--raters"),
        (("power", "--against", "good", "--r1", ".5"), "--against"),
        (("power", "--level", "system", "--r1", ".5"), "--level"),
        (("power", "--level", "global", "--r1", ".5"), "--level"),
        (("power", "--width", ".2"), "--width"),
        (("power", "--ratings", "none.csv", "--r1", ".5"), "--ratings"),
        (("power", "--metrics", "good", "--r1", ".5"), "--metrics"),
        (("power", "--scale", "accuracy=1:5", "--r1", ".5"), "--scale"),
        (("power", "--map", "id=n", "--r1", ".5"), "--map"),
        (("power", "RUN", "--width", ".2", "--power", ".9"), "--power"),
        (("power", "RUN", "--width", ".2", "--alpha", ".01"), "--alpha"),
        (("power", "RUN", "--design-effect", "2"), "--design-effect"),
        (("power", "RUN", "--level", "within-question"), "--level 'within-question'"),
        (("power", "--r1", "1.5", "--r2", ".4", "--r12", ".5"), "above -1 and below 1"),
    ],
)
def test_bad_usage(imapeval: Command, run: Path, arguments: tuple[str, ...], message: str):
    done = imapeval("study", *(str(run) if argument == "RUN" else argument for argument in arguments))
    assert done.returncode == 2
    assert message in done.stderr


def test_a_margin(imapeval: Command, run: Path):
    arguments = ("study", "compare", run, "--against", "good", "--resamples", "20", "--margin", "0.05")
    rows = json.loads(imapeval(*arguments, "--json").stdout)
    assert [row["first_as_good"] for row in rows] == [True, True]
    assert [row["second_as_good"] for row in rows] == [False, False]
    assert imapeval(*arguments[:-1], "0").returncode == 2


def test_power_by_raters_and_of_one_metric(imapeval: Command, run: Path, tmp_path: Path):
    done = imapeval("study", "power", "--r1", ".3", "--coefficient", "pearson")
    # Cohen 1992, "A power primer", table 2: 85.
    assert done.stdout.startswith("To show that .30 differs from 0 with 80% power about 85 rated answers are needed.")
    generator = np.random.default_rng(3)
    given = {
        s["id"]: s["ratings"]["accuracy"] for s in map(json.loads, (run / "samples.jsonl").read_text().splitlines())
    }
    lines = [f"{id_},{rater},{value + generator.normal():.2f}" for id_, value in given.items() for rater in "pqr"]
    (tmp_path / "ratings.csv").write_text("\n".join(["id,rater,accuracy", *lines]))
    arguments = ("study", "power", run, "--ratings", tmp_path / "ratings.csv", "--raters", "3", "--metrics")
    for metrics, second in (("good,poor", "poor"), ("good", "")):
        rows = json.loads(imapeval(*arguments, metrics, "--json").stdout)
        assert [(row["raters"], row["first"], row["second"]) for row in rows] == [
            (k, "good", second) for k in (1, 2, 3)
        ]
        assert rows[0]["needed"] > rows[1]["needed"] > rows[2]["needed"]
    shown = imapeval(*arguments, "good,poor").stdout
    assert "raters per" in shown
    assert "Spearman and Brown" in shown
    wide = json.loads(imapeval(*arguments, "good,poor", "--width", ".2", "--against", "poor", "--json").stdout)
    assert {(row["metric"], row["second"]) for row in wide} == {
        *[("good", ""), ("poor", ""), ("good", "poor"), ("ceiling", "")]
    }


def test_sizes_for_a_width(imapeval: Command, run: Path):
    done = imapeval("study", "power", run, "--width", "0.3", "--metrics", "good,poor", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["metric"], row["raters"], row["pilot"]) for row in rows] == [("good", None, 60), ("poor", None, 60)]
    # The stronger correlation needs fewer answers.
    assert rows[0]["answers"] < rows[1]["answers"]
    assert "Answers for a 95% interval 0.3 wide" in imapeval("study", "power", run, "--width", "0.3").stdout
    assert imapeval("study", "power", "--width", "0.3").returncode == 2
    assert imapeval("study", "power", run, "--width", "3").returncode == 2
