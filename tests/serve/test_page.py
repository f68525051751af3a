"""docs/serve.md: its commands, run as they are printed, say what it says they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from imapeval.serve.http_error import STATUS_DESCRIPTIONS

if TYPE_CHECKING:
    from tests.serve.conftest import Running

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "serve.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"<!-- (serve|file|run|output)(?::(\S+))? -->\n```\w*\n(.*?)```", re.DOTALL)
PORT = "8765"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
@pytest.mark.parametrize("program", ["curl", "node"])
def test_the_page_does_what_it_says(server: Running, tmp_path: Path, program: str):
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")
    shutil.copy(DOCS / "frameworks" / "answers.jsonl", tmp_path)
    told: list[str] = []
    printed: list[str] = []
    kinds = [kind for kind, _, _ in BLOCK.findall(PAGE)]
    assert kinds == ["serve", "run", "output", "run", "output", "file", "run", "output"]
    ours = False
    for kind, path, text in BLOCK.findall(PAGE):
        asked = text.replace(f":{PORT}", f":{server.port}")
        if kind == "serve":
            # As it is started by the fixture, and by the tests of the process.
            assert text == "imapeval serve --metrics imapscore,rouge1\n"
        elif kind == "file":
            (tmp_path / path).write_text(asked, encoding="utf-8")
        elif kind == "run":
            ours = text.startswith(program)
            if ours:
                printed.append(run(asked, tmp_path))
        elif ours:
            told.append(text)
    assert printed
    assert printed == told


def run(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONUTF8": "1", "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_names_every_status_and_path(server: Running):
    table = PAGE[PAGE.index("| status |") :]
    for status in STATUS_DESCRIPTIONS:
        assert re.search(rf"^\| .*\b{status}\b", table, re.MULTILINE), status
    for path in server.ask("GET", "/openapi.json").json["paths"]:
        assert f"{path}`" in PAGE
