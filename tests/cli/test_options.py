from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from imapeval.cli.options import GivenOptions, expand_options, make_file_stem
from tests.cli.conftest import Command


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


@dataclass(frozen=True, kw_only=True)
class Limits:
    votes: int = 1
    folder: Path | None = None
    unchosen: str = "x"


@pytest.mark.parametrize(
    ("given", "every"),
    [
        ({"limits": Limits(folder=Path("a")), "max_cost": 2.0}, {"votes": 1, "folder": "a", "max-cost": 2.0}),
        ({"votes": 3, "folder": None, "max_cost": 2.0}, {"votes": 3, "max-cost": 2.0}),
    ],
)
def test_all_options_are_json_values_however_they_are_given(given: dict[str, object], every: dict[str, object]):
    seen: list[GivenOptions] = []

    @expand_options
    def command(
        *, limits: Annotated[Limits, ("votes", "folder")], max_cost: float | None = None, options: GivenOptions
    ) -> None:
        assert (limits.votes, max_cost) == (every["votes"], 2.0)
        seen.append(options)

    command(**given)
    assert seen == [every]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ("score", "x.csv", "--metrics", "bleu", "--metrics=chrf"),
            "--metrics takes one value and is given twice: 'bleu'",
        ),
        (("study", "correlate", "run", "--ratings", "a", "--ratings", "b"), "twice: 'a' and 'b'. Keep one."),
        (("rate", "reassign", "s.db", "li", "--to", "ann", "--to", "ben"), "twice: 'ann' and 'ben'. Keep one."),
        (("serve", "--token", "hidden", "--token", "hidden"), "--token takes one value and is given twice. Keep one."),
    ],
)
def test_a_second_value_of_an_option_that_takes_one_is_refused(imapeval: Command, args: tuple[str, ...], told: str):
    done = imapeval(*args)
    assert done.returncode == 2
    assert told in done.stderr
    assert "hidden" not in done.stderr


def test_flags_and_repeatable_options_may_be_given_twice(imapeval: Command):
    # Both are in order, so the error is about the file.
    done = imapeval("score", "none.csv", "--strict", "--strict", "--missing", "N/A", "--missing", "-")
    assert done.returncode == 2
    assert "none.csv" in done.stderr
    assert "twice" not in done.stderr
