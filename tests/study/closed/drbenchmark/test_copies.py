"""Which files below a folder are the copy of a data set."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imapeval.errors import InputError
from imapeval.study.closed.drbenchmark.data import read_data
from imapeval.study.closed.drbenchmark.tasks import load_tasks
from imapeval.study.data.word_tokens import read_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

TASKS = {task.name: task for task in load_tasks()}


def save(folder: Path, word: str = "rien") -> Path:
    path = folder / "test.parquet"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": ["x"], "tokens": [[word]], "pos_tags": [["N"]]}), path)
    return folder


@pytest.mark.parametrize("places", [(), ("CAS/ner",), ("CASES/pos",), ("ESSAI/pos",)])
def test_no_copy(tmp_path: Path, places: Sequence[str]):
    for place in places:
        save(tmp_path / place)
    with pytest.raises(InputError) as caught:
        read_data(tmp_path, TASKS["CAS POS"])
    assert caught.value.path == tmp_path


def test_two_copies_are_an_error_at_one_of_them_that_names_the_other(tmp_path: Path):
    copies = [save(tmp_path / place) for place in ("CAS/pos", "old/CAS/pos")]
    save(tmp_path / "ESSAI" / "pos")
    with pytest.raises(InputError, match=re.escape(str(copies[0]))) as caught:
        read_data(tmp_path, TASKS["CAS POS"])
    assert caught.value.path == copies[1]
    # Not taken for a data set that is not there.
    with pytest.raises(InputError) as caught:
        read_texts(tmp_path)
    assert caught.value.path == copies[1]


@pytest.mark.parametrize("name", ["cases", "french-case-reports"])
def test_a_name_within_a_word_is_not_that_of_the_data_set(tmp_path: Path, name: str):
    save(tmp_path / name / "ESSAI" / "pos", "essai")
    with pytest.raises(InputError) as caught:
        read_data(tmp_path / name, TASKS["CAS POS"])
    assert caught.value.path == tmp_path / name
    save(tmp_path / name / "local_hf_cas" / "pos", "cas")
    assert read_data(tmp_path / name, TASKS["CAS POS"]).texts == {"x": ["cas"]}


@pytest.mark.parametrize(("at", "folder"), [("CAS", "."), ("CAS/pos", ".."), ("CAS/pos/sub", "../..")])
def test_the_name_of_the_folder_counts_where_it_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, folder: str
):
    save(tmp_path / "CAS" / "pos")
    (tmp_path / at).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / at)
    assert set(read_data(Path(folder), TASKS["CAS POS"]).gold) == {"x"}


def test_the_name_of_a_link_counts(tmp_path: Path):
    save(tmp_path / "downloaded" / "pos")
    (tmp_path / "CAS").symlink_to(tmp_path / "downloaded")
    assert set(read_data(tmp_path / "CAS", TASKS["CAS POS"]).gold) == {"x"}
