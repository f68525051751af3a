import json
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from imapeval.evaluation.runs import Run
from imapeval.report import run_page
from imapeval.types import Sample
from tests.cli.conftest import Command, Process, WriteData

SAMPLES = [
    Sample("a", "What helps?", ("Rest and fluids.",), "Rest and fluids.", system="one"),
    Sample("b", "What helps?", ("Rest and fluids.",), "Surgery.", system="two"),
]
"""Their ROUGE-1 is 1 and 0."""

WORDLESS = Sample("c", "What helps?", ("😀",), "Rest.", system="two")
"""Whose reference has no word, so that nothing scores it."""


@pytest.mark.parametrize(("least", "code"), [("0.5", 0), ("0.51", 1)])
def test_the_mean_decides(imapeval: Command, write_data: WriteData, least: str, code: int):
    data = write_data([*SAMPLES, WORDLESS])
    done = imapeval("score", data, "--metrics", "rouge1,bleu", "--threshold", f"rouge1={least}")
    assert done.returncode == code
    side = "below" if code else "at least"
    said = f"threshold: rouge1: the mean 0.500 of 2 scored (1 of 3 has no score) is {side} {least}."
    assert said in (done.stderr if code else done.stdout)


def test_every_threshold_must_be_met(imapeval: Command, write_data: WriteData):
    data = write_data(SAMPLES)
    args = ["score", data, "--metrics", "rouge1,chrf", "--threshold", "rouge1=0.5"]
    assert imapeval(*args, "--threshold", "chrf=0").returncode == 0
    done = imapeval(*args, "--threshold", "chrf=100", "--json")
    assert done.returncode == 1
    rouge, chrf = json.loads(done.stdout)["thresholds"]
    assert (rouge["metric"], rouge["threshold"], rouge["mean"], rouge["met"]) == ("rouge1", 0.5, 0.5, True)
    assert chrf["met"] is False
    # What was missed is said beside the JSON.
    assert done.stderr.startswith("threshold: chrf: the mean ")


def test_answers_that_cannot_be_scored_never_pass(imapeval: Command, write_data: WriteData):
    done = imapeval(
        *("score", write_data([WORDLESS]), "--metrics", "rouge1", "--threshold", "rouge1=0", "--max-failures", "9")
    )
    assert done.returncode == 1
    assert "rouge1: no answer was scored, so the mean does not meet 0." in done.stderr


def test_too_many_failures_count_although_the_mean_is_good(imapeval: Command, write_data: WriteData):
    data = write_data([SAMPLES[0], WORDLESS])
    args = ["score", data, "--metrics", "rouge1", "--threshold", "rouge1=0.9"]
    assert imapeval(*args).returncode == 0
    assert imapeval(*args, "--max-failures", "0").returncode == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "rouge1"], "--threshold 'rouge1' is not METRIC=VALUE"),
        (["--threshold", "bleu=1"], "'bleu' is not among the metrics: rouge1"),
        (["--threshold", "rouge1=50"], "--threshold rouge1=50: "),
        (["--junit", ""], "--junit is empty"),
        (["--summary", ""], "--summary is empty"),
        (["--summary", "."], "--summary . is a folder"),
        (["--junit", "ci.xml", "--summary", "./ci.xml"], "--junit and --summary are both ci.xml. Give two files"),
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_is_scored(
    imapeval: Command, write_data: WriteData, tmp_path: Path, options: list[str], message: str
):
    done = imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "run", *options)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "run").exists()


def test_files_for_a_ci_server_are_there_when_the_threshold_is_missed(
    imapeval: Command, write_data: WriteData, tmp_path: Path
):
    (tmp_path / "summary.md").write_text("Of another step")
    data = write_data([*SAMPLES, WORDLESS], "my answers.jsonl")
    done = imapeval(
        *("score", data, "--metrics", "rouge1", "--out", "run", "--threshold", "rouge1=0.9"),
        *("--junit", "new/scores.xml", "--summary", "summary.md"),
    )
    assert done.returncode == 1
    root = ET.parse(tmp_path / "new" / "scores.xml").getroot()
    assert root.attrib == {"name": "imapeval", "tests": "4", "failures": "1", "errors": "1"}
    assert [suite.attrib["name"] for suite in root] == ["my answers", "thresholds"]
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith(
        "Of another step\n## imapeval: my answers\n\n- ❌ rouge1: the mean 0.500 of 2 scored (1 of 3 "
    )

    again = imapeval(
        *("report", "run", "--threshold", "rouge1=0.9", "--junit", "again.xml", "--summary", "again.md"),
    )
    assert again.returncode == 1
    assert "rouge1: the mean 0.500 of 2 scored (1 of 3 has no score) is below 0.9." in again.stderr
    assert (tmp_path / "again.xml").read_bytes() == (tmp_path / "new" / "scores.xml").read_bytes()
    assert (tmp_path / "again.md").read_text(encoding="utf-8") == summary.removeprefix("Of another step\n")


def test_a_report_alone_judges_nothing(imapeval: Command, write_data: WriteData):
    imapeval("score", write_data([WORDLESS]), "--metrics", "rouge1", "--out", "run")
    done = imapeval("report", "run")
    assert (done.returncode, done.stderr) == (0, "")
    percentage = imapeval("report", "run", "--threshold", "rouge1=50")
    assert (percentage.returncode, "--threshold rouge1=50: " in percentage.stderr) == (2, True)
    missing = imapeval("report", "run", "--threshold", "bleu=1")
    assert (missing.returncode, "'bleu' is not among the metrics: rouge1" in missing.stderr) == (2, True)


@pytest.mark.parametrize("limit", [("--threshold", "rogue1=0.5"), ("--max-contradictions", "0")])
def test_a_limit_that_cannot_be_checked_is_refused_before_the_run_is_watched(
    imapeval: Command, write_data: WriteData, monkeypatch: pytest.MonkeyPatch, limit: tuple[str, str]
):
    imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "run")
    monkeypatch.setattr(run_page, "watch_run", pytest.fail)
    done = imapeval("report", "run", "--watch", *limit)
    assert (done.returncode, done.stdout) == (2, "")
    assert limit[0] in done.stderr


def test_a_run_that_was_stopped_does_not_pass(imapeval: Command, write_data: WriteData, tmp_path: Path):
    imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "run")
    results = tmp_path / "run" / "results.jsonl"
    results.write_bytes(results.read_bytes().splitlines(keepends=True)[0])
    done = imapeval("report", "run", "--threshold", "rouge1=0.1", "--junit", "scores.xml", "--summary", "summary.md")
    assert done.returncode == 1
    assert "whether the mean meets 0.1 is not known: 1 answer has not been tried yet." in done.stderr
    (error,) = ET.parse(tmp_path / "scores.xml").getroot().iter("error")
    assert error.attrib["type"] == "metric/pending"
    assert "interrupted" in (tmp_path / "summary.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no /dev/stdout")
def test_files_that_are_streams(imapeval: Command, imapeval_process: Process, write_data: WriteData):
    imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "run")
    for option, first in (("--summary", "## imapeval: data"), ("--junit", "<?xml ")):
        printed, _ = imapeval_process("report", "run", option, "/dev/stdout").communicate()
        assert printed.startswith(first)


def test_a_file_that_cannot_be_written(imapeval: Command, write_data: WriteData, tmp_path: Path):
    (tmp_path / "file").write_text("")
    done = imapeval(
        "score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "my run", "--junit", "file/scores.xml"
    )
    assert done.returncode == 2
    assert "scores.xml" in done.stderr
    assert "imapeval report 'my run' --junit FILE" in " ".join(done.stderr.split())


@pytest.mark.parametrize(("most", "code"), [("40", 0), ("39.9", 1)])
def test_lower_is_better(imapeval: Command, write_run: Callable[..., Run], tmp_path: Path, most: str, code: int):
    write_run("run", SAMPLES, {"perplexity": [30.0, 50.0]})
    done = imapeval("report", "run", "--threshold", f"perplexity={most}", "--summary", "summary.md")
    assert done.returncode == code
    said = f"perplexity: the mean 40.000 of 2 scored is {'above' if code else 'at most'} {most}."
    assert said in (done.stderr if code else done.stdout)
    # The worst answer is the one with the highest.
    assert "| b | two | 50.0 |  |\n| a | one | 30.0 |  |" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_of_a_metric_that_is_not_installed_here_nobody_knows_which_way_is_better(
    imapeval: Command, write_run: Callable[..., Run]
):
    write_run("run", SAMPLES, {"theirs": [0.5, 0.5]})
    assert imapeval("report", "run", "--junit", "scores.xml", "--summary", "summary.md").returncode == 0
    for limit in ("theirs=0.4", "theirs = 0.4"):
        done = imapeval("report", "run", "--threshold", limit)
        assert (done.returncode, "'theirs' is a metric of this run" in done.stderr) == (2, True)


DOSES = [
    Sample("a", "How is pain treated?", ("Take ibuprofen 400 mg.",), "Take ibuprofen 200 mg.", system="one"),
    Sample("b", "How is pain treated?", ("Take ibuprofen 400 mg.",), "Take ibuprofen 400 mg.", system="two"),
]
"""The first has one contradiction, the second none."""


def test_contradictions_are_limited(imapeval: Command, write_data: WriteData, tmp_path: Path):
    args = ["score", write_data(DOSES), "--metrics", "rouge1,imapscore", "--out", "run"]
    few = imapeval(*args, "--max-contradictions", "1")
    assert (few.returncode, "threshold" in few.stderr) == (0, False)
    assert "threshold: contradictions: 1 in 2 scored, at most 1." in few.stdout
    cells = [[cell.strip() for cell in line.split("│")] for line in few.stdout.splitlines()]
    counts = {tuple(cell[1:3]): cell[5] for cell in cells if len(cell) > 5}
    assert counts[("imapscore", "all")] == "1"
    assert (counts[("imapscore", "one")], counts[("imapscore", "two")]) == ("1", "0")
    assert counts[("rouge1", "one")] == "-"

    many = imapeval(*args, "--max-contradictions", "0", "--threshold", "rouge1=0.1", "--json")
    assert many.returncode == 1
    assert many.stderr == "threshold: contradictions: 1 in 2 scored, more than 0.\n"
    told = json.loads(many.stdout)
    assert told["thresholds"][1] == {
        "metric": "imapscore",
        "higher_is_better": False,
        "threshold": 0,
        "contradictions": 1.0,
        "met": False,
    }
    assert [row["contradictions"] for row in told["summary"]] == [None, None, None, 1.0, 1.0, 0.0]

    again = imapeval("report", "run", "--max-contradictions", "0", "--junit", "scores.xml", "--summary", "summary.md")
    assert (again.returncode, again.stderr) == (1, many.stderr)
    root = ET.parse(tmp_path / "scores.xml").getroot()
    (case,) = root[1]
    assert case.attrib["name"] == "contradictions at most 0"
    assert [child.tag for child in case] == ["failure"]
    said = root[0].findtext("testcase/system-out")
    assert said is not None
    assert "It contradicts the reference on" in said
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "- ❌ contradictions: 1 in 2 scored, more than 0.\n" in summary
    assert "| metric | system | scored | not scored | contradictions | mean | 95% interval |" in summary
    assert "| imapscore | one | 1 | 0 | 1 |" in summary
    assert "| rouge1 | one | 1 | 0 | – |" in summary


def test_without_contradictions_there_is_no_column(imapeval: Command, write_data: WriteData, tmp_path: Path):
    done = imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "run", "--summary", "summary.md")
    assert done.returncode == 0, done.stderr
    assert "contra" not in done.stdout
    assert "contradictions" not in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_who_counts_no_contradictions_cannot_limit_them(imapeval: Command, write_data: WriteData, tmp_path: Path):
    args = ["score", write_data(SAMPLES), "--metrics", "rouge1,bleu", "--out", "run"]
    done = imapeval(*args, "--max-contradictions", "3")
    message = (
        "--max-contradictions: none of the metrics counts contradictions: rouge1, bleu. Add imapscore to --metrics."
    )
    assert (done.returncode, message in done.stderr) == (2, True)
    assert not (tmp_path / "run").exists()
    assert imapeval(*args).returncode == 0
    late = imapeval("report", "run", "--max-contradictions", "3")
    assert (late.returncode, message in late.stderr) == (2, True)
