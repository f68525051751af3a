from pathlib import Path

import pytest

from imapeval.cli.options import make_file_stem


@pytest.mark.parametrize(
    ("data", "stem"),
    [
        ("-", "stdin"),
        ("x.jsonl", "x"),
        ("a/x y.v2.csv", "x-y.v2"),
        ("x.jsonl.gz", "x"),
        ("x.JSONL.GZ", "x"),
        ("sample-en", "sample-en"),
        ("hf:org/name:test", "name-test"),
        ("s3://bucket/x.jsonl", "x"),
        ("a/*.csv", "a"),
        ("a/**/*.csv", "a"),
        (".", "answers.v2"),
        ("./", "answers.v2"),
        ("*.csv", "answers.v2"),
        ("..", "my-studies"),
        ("../*.csv", "my-studies"),
        ("/", "data"),
    ],
)
def test_files_are_called_by_their_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, stem: str):
    folder = tmp_path / "my studies" / "answers.v2"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert make_file_stem(data) == stem
