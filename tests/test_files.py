"""Files are written whole: real files, links, pipes and a real limit on the size of files."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from imapeval.files import append_to_file, lock_file, private_folder, replace_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs the links, modes and pipes of POSIX systems")


def test_a_link_is_replaced_and_what_it_points_to_stays(tmp_path: Path):
    (tmp_path / "other").write_text("somebody's")
    (tmp_path / "page").symlink_to(tmp_path / "other")
    replace_file(tmp_path / "page", b"new")
    assert (tmp_path / "other").read_text() == "somebody's"
    assert not (tmp_path / "page").is_symlink()
    assert (tmp_path / "page").read_bytes() == b"new"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_new_file_is_its_owners_and_an_old_one_keeps_its_mode(tmp_path: Path):
    path = tmp_path / "page"
    replace_file(path, b"one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    replace_file(path, b"two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_pipe_is_written_to(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    replace_file(path, b"new")
    reader.join()
    assert read == [b"new"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_what_is_appended_begins_a_line_of_the_same_file(tmp_path: Path):
    path = tmp_path / "summary"
    append_to_file(path, b"one\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with path.open() as opened:
        append_to_file(path, b"two\n")
        assert opened.read() == "one\n\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_appended_through_a_link(tmp_path: Path, exists: bool):
    if exists:
        (tmp_path / "other").write_text("somebody's")
    (tmp_path / "summary").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        append_to_file(tmp_path / "summary", b"new")
    assert (tmp_path / "other").exists() == exists
    assert not exists or (tmp_path / "other").read_text() == "somebody's"


@pytest.mark.parametrize("write", ["replace_file", "append_to_file"])
def test_a_disk_that_is_full_leaves_the_old_file(tmp_path: Path, write: str):
    script = f"""
import resource, sys
from pathlib import Path
from imapeval.files import {write}
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    {write}(Path(sys.argv[1]), bytes(5000))
except OSError as error:
    print(type(error).__name__)
"""
    path = tmp_path / "page"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "OSError\n"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_that_stay_empty_are_removed_after_an_error(tmp_path: Path):
    (tmp_path / "there").mkdir()
    with pytest.raises(OSError, match="full"), private_folder(tmp_path / "there" / "a" / "b"):
        raise OSError("full")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    with pytest.raises(FileExistsError), private_folder(tmp_path / "kept" / "file" / "d"):
        pass
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == {"there", "kept", "kept/file"}


def test_a_lock_that_is_refused_is_not_one_that_another_process_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import fcntl

    held = lock_file(tmp_path / "lock")
    assert held is not None
    assert lock_file(tmp_path / "lock") is None
    held.close()

    def refuse(*_: object) -> None:  # as some network drives do
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="No locks available"):
        lock_file(tmp_path / "lock")


def test_new_folders_are_private_but_those_of_graphs():
    """Graphs hold no texts of the data, and are made to be shared."""
    package = Path(__file__).parents[1] / "imapeval"
    making = [path for path in package.rglob("*.py") if "mkdir(parents" in path.read_text(encoding="utf-8")]
    found = {path.relative_to(package).as_posix() for path in making}
    assert found - {"files.py"} == {"graph/build/builder.py", "graph/build/networkx_import.py"}
