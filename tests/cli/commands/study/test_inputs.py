"""What all commands of `imapeval study` share: the runs and ratings that they read, and what they say of it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from imapeval.cli.commands.study.inputs import StudyOptions
from imapeval.cli.main import app
from imapeval.errors import UsageError
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.study.correlation.coefficients import all_coefficients, comparable_coefficients
from imapeval.study.data.scales import RatingScale
from imapeval.types import Sample, Score


@pytest.fixture
def run(write_run: Callable[..., Run], tmp_path: Path) -> Path:
    samples = [Sample(f"a{n}", f"q{n}?", ("r",), "response", ratings={"accuracy": n}) for n in range(3)]
    write_run("run", samples, {"rouge1": [0.5] * 3, "bleu": [0.5] * 3})
    return tmp_path / "run"


def test_the_datas_own_ratings(run: Path, capsys: pytest.CaptureFixture[str]):
    joined = StudyOptions(metrics="bleu, rouge1,bleu", scales=["accuracy=0:5:1"]).read([run])
    assert joined.rated.metrics == ("bleu", "rouge1")
    assert joined.signatures == {"bleu": "bleu|v:1", "rouge1": "rouge1|v:1"}
    assert joined.rated.scales == {"accuracy": RatingScale(0, 5, 1)}
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == list(joined.report.to_sentences())
    assert err.startswith("3 answers in 1 run, 3 of them rated: accuracy 3.\n")


def test_a_file_of_ratings(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "r.csv"
    path.write_text("answer,tone,note\na0,poor,x\na2,good,y\nb,good,z\n")
    joined = StudyOptions(ratings=path, dimensions="tone", mapping=["id=answer"], labels="poor=1,good=3").read([run])
    assert joined.rated.ids == ("a0", "a2")
    np.testing.assert_array_equal(joined.rated.ratings, [[1], [3]])
    err = capsys.readouterr().err
    assert "1 of 3 rated ids are in no run and are left out: b." in err
    assert "1 of 3 answers are not rated: a1." in err
    assert "Not read as ratings: 'note'." in err


def test_scores_joined_by_row_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    sample = Sample("1", "q?", ("r",), "response", ratings={"accuracy": 1}, numbered=True)
    with RunWriter(tmp_path / "run", [sample], settings=RunSettings({"rouge1": "rouge1|v:1"})) as writer:
        writer.add(imaps=[], results=[Result("1", "rouge1", Score(0.5), "rouge1|v:1")])
    (tmp_path / "own.csv").write_text("id,own\n1,0.5\n")
    (tmp_path / "r.csv").write_text("id,tone\n1,2\n")
    for options, times in (
        (StudyOptions(), 0),
        (StudyOptions(scores=[tmp_path / "own.csv"]), 1),
        (StudyOptions(scores=[tmp_path / "own.csv"], ratings=str(tmp_path / "r.csv")), 1),
    ):
        options.read([tmp_path / "run"])
        assert capsys.readouterr().err.count("row numbers") == times


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"mapping": ["id=answer"]}, "--map .*--ratings"),
        ({"labels": "poor=1"}, "--labels .*--ratings"),
        ({"metrics": ","}, "--metrics ',' names nothing"),
        ({"metrics": "chrf"}, "the run has no metric 'chrf'"),
        ({"dimensions": "tone"}, "'tone'"),
        ({"scales": ["accuracy"]}, "is not DIMENSION=LOW:HIGH"),
    ],
)
def test_options_that_mean_nothing_here(run: Path, options: dict[str, str], problem: str):
    with pytest.raises(UsageError, match=problem):
        StudyOptions(**options).read([run])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("command", ["correlate", "compare", "report", "slices", "raters"])
def test_the_help_names_the_coefficients_that_the_command_takes(command: str):
    group: Any = typer.main.get_command(app)
    (option,) = (one for one in group.commands["study"].commands[command].params if one.name == "coefficient")
    taken = all_coefficients() if command in ("correlate", "compare") else comparable_coefficients()
    named = set(re.findall(r"\w+", option.help))
    shown = {name for name in all_coefficients() if name in named}
    assert shown == set(taken), "name it in list_coefficients (cli/commands/study/inputs.py)"
