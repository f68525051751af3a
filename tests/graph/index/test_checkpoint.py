"""Two processes at one checkpoint."""

import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from imapeval.graph.index import checkpoint as module
from imapeval.graph.index.checkpoint import VectorCheckpoint


def open_checkpoint(path: Path) -> VectorCheckpoint:
    return VectorCheckpoint(path, graph="g", encoder="e", dimension=2)


def test_the_lock_is_there_as_long_as_anything_else_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    unlink, left = os.unlink, list[set[str]]()

    def note(*args: object, **options: object) -> None:
        unlink(*args, **options)
        left.append({file.name for file in draft.folder.iterdir()})

    with open_checkpoint(tmp_path / "index") as draft:
        draft.append(np.ones((3, 2), np.float32))
        for name in ("a", "z"):
            (draft.folder / name).write_bytes(b"")
        monkeypatch.setattr(os, "unlink", note)
    assert [names for names in left if "lock" not in names] == [set()]
    assert not draft.folder.exists()


def test_a_lock_of_a_finished_checkpoint_shows_that_another_process_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lock_file = module.lock_file
    first = ExitStack()
    first.enter_context(open_checkpoint(tmp_path / "index"))

    def finish_first(path: Path) -> object:
        monkeypatch.setattr(module, "lock_file", lock_file)
        file = path.open("r+b")  # between opening and locking, the other process finishes
        first.close()
        return file

    monkeypatch.setattr(module, "lock_file", finish_first)
    with open_checkpoint(tmp_path / "index") as second:
        assert second.waited
        assert len(second) == 0


def test_alone_there_is_nobody_to_wait_for(tmp_path: Path):
    with open_checkpoint(tmp_path / "index") as draft:
        assert not draft.waited
