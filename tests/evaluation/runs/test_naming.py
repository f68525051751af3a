from collections.abc import Sequence
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Run, RunSettings, RunWriter, name_run
from imapeval.types import Sample

SAMPLE = Sample("a", "What helps?", ("Rest.",), "Rest.")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (["/home/ann/my data.jsonl"], "my data"),
        (["answers.v2.csv"], "answers.v2"),
        (["answers.tab"], "answers"),
        (["answers.txt"], "answers"),
        (["data/answers.jsonl.gz"], "answers"),
        (["data/answers/*.jsonl"], "answers"),
        (["data/answers/**/part-*.jsonl.gz"], "answers"),
        (["data/answers/part-?.csv"], "answers"),
        (["data/answers/part-[0-9].CSV"], "answers"),
        (["data/data.v1.2"], "data.v1.2"),
        (["hf:org/my.data:test"], "my.data:test"),
        (["data/answers[1].csv"], "answers[1]"),
        (["data[2]/part-*.csv"], "data[2]"),
        (["https://example.org/data/answers.csv?download=true"], "answers"),
        (["*.jsonl"], "the run"),
        (["/*.jsonl"], "the run"),
        (["."], "the run"),
        (["-"], "stdin"),
        (["sample-en"], "sample-en"),
        (["hf:bench/health:test"], "health:test"),
        (["/x/my data.jsonl", "/y/other.csv.gz"], "my data, other"),
        (["score", "data", "/y/score data"], "score, data, score data"),
        (["one/answers.csv", "two/answers.csv"], "answers"),
        ([f"{letter}.jsonl" for letter in "abcdef"], "a, b, c and 3 more"),
    ],
)
def test_a_run_is_called_by_its_data_or_else_by_its_folder(tmp_path: Path, data: Sequence[str], name: str):
    folder = tmp_path / "the run"
    command = ["imapeval", "score", *data, "--out", "the run"]
    with RunWriter(folder, [SAMPLE], settings=RunSettings({}), source=" ".join(data), command=command):
        pass
    assert name_run(Run(folder)) == name


def test_a_run_of_another_program_is_called_by_what_that_says(tmp_path: Path):
    with RunWriter(tmp_path, [SAMPLE], settings=RunSettings({}), source="Python"):
        pass
    assert name_run(Run(tmp_path)) == "Python"
