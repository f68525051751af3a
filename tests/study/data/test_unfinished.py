from pathlib import Path

import pytest

from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.study.data.joining import join_ratings
from imapeval.study.data.unfinished import describe_unfinished
from imapeval.types import Sample, Score

SAMPLES = [Sample(str(n), f"q{n}", ("r",), "x", ratings={"accuracy": n}) for n in range(5)]


def write(folder: Path, *, tried: int, command: tuple[str, ...] = (), finish: bool = False) -> Run:
    """Write a run of two metrics: all answers have an outcome by the first one, `tried` of them by the second."""
    settings = RunSettings({name: name for name in ("m", "n")})
    with RunWriter(folder, SAMPLES, settings=settings, command=command) as writer:
        writer.add(
            imaps=[],
            results=[
                Result(sample.id, name, Score(1), name)
                for name, count in (("m", 5), ("n", tried))
                for sample in SAMPLES[:count]
            ],
        )
        if finish:
            writer.finish()
    return Run(folder)


def test_a_run_that_was_interrupted_says_how_it_is_resumed(tmp_path: Path):
    run = write(tmp_path / "run", tried=3, command=("/usr/bin/imapeval", "score", "a b.csv", "--api-key=sk-secret"))
    (said,) = describe_unfinished([run])
    assert "2 of 5" in said
    assert "imapeval score 'a b.csv'" in said
    assert said.endswith(f"--out {tmp_path / 'run'}")
    assert said in join_ratings([run])[1].to_sentences()


def test_a_command_that_names_the_folder_is_repeated_as_it_is(tmp_path: Path):
    run = write(tmp_path / "run", tried=3, command=("imapeval", "score", "a.csv", "--out", "run"))
    (said,) = describe_unfinished([run])
    assert said.endswith("imapeval score a.csv --out run")


def test_a_run_that_was_made_from_python(tmp_path: Path):
    (said,) = describe_unfinished([write(tmp_path / "run", tried=0)])
    assert "5 of 5" in said
    assert "resume" not in said


def test_a_run_that_goes_on_is_not_to_be_resumed(tmp_path: Path):
    with RunWriter(tmp_path, SAMPLES, settings=RunSettings({"m": "m"}), command=("imapeval", "score", "a")):
        (said,) = describe_unfinished([Run(tmp_path)])
    assert "5 of 5" in said
    assert "resume" not in said


@pytest.mark.parametrize(("tried", "finish"), [(5, False), (5, True)])
def test_nothing_is_said_where_every_answer_was_tried(tmp_path: Path, *, tried: int, finish: bool):
    assert describe_unfinished([write(tmp_path / "run", tried=tried, finish=finish)]) == ()
