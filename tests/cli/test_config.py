"""Options from imapeval.toml."""

import json
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Run
from imapeval.types import Sample
from tests.cli.conftest import Command, WriteData

SAMPLES = [Sample("a", "What helps?", ("Rest.",), "Rest."), Sample("b", "What helps?", ("Rest.",), "Walk.")]


def test_options_that_repeat(imapeval: Command, write_data: WriteData, tmp_path: Path):
    (tmp_path / "imapeval.toml").write_text(
        'metrics = ["rouge1", "bleu"]\nlimit = 1\n[score]\nmax_failures = 3\n'
        'map = {response = "response"}\nmissing = ["-", "N/A"]\n'
    )
    data = write_data(SAMPLES)
    done = imapeval("score", data, "--out", "run")
    assert done.returncode == 0, done.stderr
    assert f"options from {tmp_path / 'imapeval.toml'}: " in done.stderr.replace("\n", "")
    run = Run(tmp_path / "run")
    assert len(run.samples()) == 1
    assert list(run.manifest["settings"]["metrics"]) == ["rouge1", "bleu"]
    options = run.manifest["options"]
    assert (options["metrics"], options["limit"], options["max-failures"]) == ("rouge1,bleu", 1, 3)
    assert (options["map"], options["missing"]) == (["response=response"], ["-", "N/A"])
    assert options["device"] == "auto"
    done = imapeval("score", data, "--out", "other", "--limit", "2", "--metrics", "bleu")
    assert done.returncode == 0, done.stderr
    options = Run(tmp_path / "other").manifest["options"]
    assert (options["limit"], options["metrics"]) == (2, "bleu")


def read_notice(stderr: str) -> list[str]:
    """Return the options that a command has taken from a file, as it prints them."""
    (*_, named) = [line.partition(": ")[2] for line in stderr.splitlines() if line.startswith("options from ")] or [""]
    return sorted(named.split(", ")) if named else []


@pytest.mark.parametrize(
    ("content", "command", "taken"),
    [
        ("json = true", "metrics", ["json"]),
        ("json = true", "metrics show bleu", ["json"]),
        ("[metrics]\noffline = true", "metrics show bleu", []),
        ("[metrics]\noffline = true\njson = true", "metrics", ["json", "offline"]),
        ("[study.power]\npower = 0.9\nr1 = 0.5", "study power", ["power", "r1"]),
        ("scale = 'a=0:5'\nmap = {response = 'r'}\nlimit = 1", "datasets", []),
        ("limit = 1\nmetrics = 'bleu'", "score sample-en --dry-run --limit 2", ["metrics"]),
    ],
)
def test_options_are_named_where_they_are_taken(
    imapeval: Command, tmp_path: Path, content: str, command: str, taken: list[str]
):
    (tmp_path / "imapeval.toml").write_text(content)
    done = imapeval(*command.split())
    assert done.returncode == 0, done.stderr
    assert read_notice(done.stderr) == taken
    assert done.stderr.count("options from ") == bool(taken)
    if "json" in taken:
        json.loads(done.stdout)


def test_options_are_named_if_one_is_wrong(imapeval: Command, tmp_path: Path):
    (tmp_path / "imapeval.toml").write_text("limit = 0")
    done = imapeval("score", "sample-en")
    assert done.returncode == 2
    assert "limit" in read_notice(done.stderr)


def test_the_nearest_file_counts(
    imapeval: Command, write_data: WriteData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    data = write_data(SAMPLES)
    (tmp_path / "imapeval.toml").write_text("metrics = 'rouge1'\n")
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "pyproject.toml").write_text("[tool.imapeval.score]\nmetrics = 'rouge2'\n")
    for folder, metric in (("in/deep", "rouge2"), (".", "rouge1")):
        monkeypatch.chdir(tmp_path / folder)
        done = imapeval("score", data, "--out", "run")
        assert done.returncode == 0, done.stderr
        assert list(Run(Path("run")).manifest["settings"]["metrics"]) == [metric]
    (tmp_path / "in" / "pyproject.toml").write_text("[tool.other]\nname = 'imapeval'\n")
    monkeypatch.chdir(tmp_path / "in")
    assert imapeval("score", data, "--out", "again").returncode == 0
    assert list(Run(Path("again")).manifest["settings"]["metrics"]) == ["rouge1"]


def test_lists_in_tables_and_a_byte_order_mark(imapeval: Command, tmp_path: Path):
    (tmp_path / "imapeval.toml").write_bytes(b'\xef\xbb\xbfmetrics = "rouge1"\n[map]\nresponse = ["one", "two"]\n')
    (tmp_path / "d.csv").write_text("question,reference,one,two\nWhy?,So.,So.,No.\n")
    done = imapeval("score", "d.csv", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert [sample.system for sample in Run(tmp_path / "run").samples()] == ["one", "two"]


def test_files_of_other_programs_are_left_alone(imapeval: Command, tmp_path: Path):
    (tmp_path / "pyproject.toml").write_bytes('[project]\nauthors = ["José"]\n'.encode("latin-1"))
    assert imapeval("metrics").returncode == 0
    (tmp_path / "pyproject.toml").write_bytes('[project]\nauthors = ["José"]\n[tool.imapeval]\n'.encode("latin-1"))
    done = imapeval("metrics")
    assert done.returncode == 2
    assert f"{tmp_path / 'pyproject.toml'}: " in done.stderr


@pytest.mark.parametrize("value", ["true", "'question'"])
def test_a_value_stands_for_the_options_of_its_kind(imapeval: Command, tmp_path: Path, value: str):
    # A flag of `report`, and takes a value in `closed`.
    (tmp_path / "imapeval.toml").write_text(f"open = {value}\n")
    done = imapeval("metrics")
    assert done.returncode == 0, done.stderr


WRITING = [
    *(("score", key) for key in ("out", "junit", "summary")),
    *(("report", key) for key in ("junit", "summary")),
    *(("extract", "out"), ("compare", "table"), ("closed", "html"), ("study.report", "out")),
]
"""Commands and their options that name a file to be written."""


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        ("limit = 1\nmetrix = 'rouge1'\n", 2, "--metrix"),
        ("[score]\nlimit = 1\nresamples = 5\n", 3, "--resamples"),
        ("# \u2028\nlimit = 1\nmetrix = 'rouge1'\n", 3, "--metrix"),  # Not a line's end in TOML.
        ("score = 1\n", 1, "--score"),
        ("[scroe]\nlimit = 1\n", 1, "--scroe"),
        ("strict = 1\n", 1, "strict is 1"),
        ("limit = true\n", 1, "limit is True"),
        ("seed = 3\n\n[metrics]\nseed = 3\n", 4, "--seed"),
        ("limit = 3\n[study.correlate]\nseed = 3\n[score]\nlimit = true\n", 5, "limit is True"),
        ("[score]\nmax-cost = 5\nmax_cost = 500\n", 2, "max-cost"),
        ("max_cost = 5\nmax-cost = 500\n", 1, "max-cost"),
        ("limit = 1\nbase-url = 'http://127.0.0.1:1/v1'\n", 2, "--base-url"),  # Would receive texts and keys.
        ("[score]\nengine = 'ray:127.0.0.1:1'\n", 2, "--engine"),  # Would receive texts.
        ("[serve]\ntoken = 'x'\n", 2, "--token"),
        ("[rate]\nurl = 'https://evil.example'\n", 2, "--url"),  # Would receive the secrets of raters' links.
        # Would write to any file that the user may write to, such as ~/.bashrc.
        *((f"[{command}]\n{key} = 'x'\n", 2, f"--{key}") for command, key in WRITING),
        ("limit = \n", 1, "TOML"),
        pytest.param("limit = " + "[\n" * 100_000, None, "TOML", id="brackets"),
        pytest.param("limit = " + "9" * 5000, None, "TOML", id="digits"),
        pytest.param("[score]\nlimit" + ".a" * 6000 + " = 1", 2, "10,000", id="dots"),
    ],
)
def test_what_is_wrong_is_named(imapeval: Command, tmp_path: Path, content: str, line: int | None, part: str):
    (tmp_path / "imapeval.toml").write_text(content)
    done = imapeval("score", "sample-en")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"imapeval.toml{f', line {line}' if line else ''}: " in done.stderr
    assert part in done.stderr


def test_the_line_is_that_of_the_table(imapeval: Command, tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nlimits = 3\n\n[tool.imapeval]\nlimits = 3\n")
    done = imapeval("metrics")
    assert done.returncode == 2
    assert "pyproject.toml, line 5: " in done.stderr


@pytest.mark.parametrize(
    "content", ["tool = 1", "tool = [1]", "[[tool.imapeval]]\nlimit = 1", "[tool]\nimapeval = 'x'"]
)
def test_what_is_no_table_is_named(imapeval: Command, tmp_path: Path, content: str):
    (tmp_path / "pyproject.toml").write_text(f"{content} # imapeval\n")
    done = imapeval("datasets")
    assert done.returncode == 2
    assert f"{tmp_path / 'pyproject.toml'}: " in done.stderr
