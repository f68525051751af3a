import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "ratings"
    folder.mkdir()
    lines = ["id,rater,accuracy"]
    lines += [f"a{n},{rater},{(n + (rater == 'bo' and not n % 3)) % 4}" for n in range(30) for rater in ("ann", "bo")]
    (folder / "r.csv").write_text("\n".join(lines) + "\n")
    return folder / "r.csv"


def test_missing_items_are_listed_with_their_keys(imapeval: Command, file: Path):
    done = imapeval("study", "checklist", file, "--scale", "accuracy=0:3:1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "30 rated answers" in done.stdout
    assert "[study.toml: training]" in done.stdout
    assert "3 of 18 items are reported in full." in done.stdout


def test_a_file_beside_the_ratings_or_by_option(imapeval: Command, file: Path, tmp_path: Path):
    (file.parent / "study.toml").write_text('training = "An hour."\n')
    done = imapeval("study", "checklist", file, "--json")
    items = {item["topic"]: item for item in json.loads(done.stdout)}
    assert items["training"] == {
        "guideline": "GRRAS 12",
        "topic": "training",
        "data": "",
        "stated": "An hour.",
        "missing": "",
        "key": "training",
    }
    (tmp_path / "other.toml").write_text('training = "Two hours."\n')
    done = imapeval("study", "checklist", file, "--about", tmp_path / "other.toml", "--json")
    assert "Two hours." in done.stdout


def test_a_bad_file(imapeval: Command, file: Path):
    (file.parent / "study.toml").write_text('raters = "a"\ntrainning = "An hour."\n')
    done = imapeval("study", "checklist", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "study.toml, line 2: unknown key 'trainning'" in done.stderr
    done = imapeval("study", "checklist", file, "--about", "absent.toml")
    assert done.returncode == 2
    assert "absent.toml" in done.stderr
