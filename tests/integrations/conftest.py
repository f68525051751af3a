"""What the tests of all integrations share: a framework's page, run as it is printed, and the number to compare."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "frameworks"
ANSWERS = PAGES / "answers.jsonl"

_BLOCK = re.compile(r"<!-- (file|run|output)(?::(\S+))? -->\n```\w*\n(.*?)```", re.DOTALL)


class RunPage(Protocol):
    def __call__(self, name: str) -> tuple[str, str]: ...


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float | None]:
    """The imapscore of docs/frameworks/answers.jsonl by id, as `imapeval score` gives it; None where there is none."""
    out = tmp_path_factory.mktemp("score") / "run"
    command = [sys.executable, "-m", "imapeval", "score", str(ANSWERS), "--metrics", "imapscore"]
    subprocess.run([*command, "--out", str(out)], check=True, capture_output=True)
    lines = (out / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["id"]: line["score"] for line in map(json.loads, lines)}


@pytest.fixture
def run_page(tmp_path: Path) -> RunPage:
    """Run docs/frameworks/NAME.md as it is printed, and return what it says it prints and what it printed.

    Blocks after `<!-- file:PATH -->` are written to that file, those after `<!-- run -->` are run by bash, and what
    they print stands after `<!-- output -->`. `answers.jsonl` lies beside them.
    """

    def run(name: str) -> tuple[str, str]:
        shutil.copy(ANSWERS, tmp_path)
        page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        told: list[str] = []
        printed: list[str] = []
        for kind, path, text in _BLOCK.findall(page):
            if kind == "file":
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / path).write_text(text, encoding="utf-8")
            elif kind == "output":
                told.append(text)
            else:
                path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", text],
                    cwd=tmp_path,
                    env={**os.environ, "PATH": path, "PYTHONUTF8": "1"},
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, done.stdout + done.stderr
                printed.append(done.stdout)
        assert printed, f"{name}.md has nothing to run"
        return "".join(told), "".join(printed)

    return run
