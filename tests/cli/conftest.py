import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from imapeval.cli.main import app
from imapeval.types import Sample


@pytest.fixture
def imapeval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command in an empty folder, within this process: most of a process's time is its start."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str | Path) -> subprocess.CompletedProcess[str]:
        result = CliRunner().invoke(app, [*map(str, args)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return subprocess.CompletedProcess([*map(str, args)], result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def imapeval_process(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start a command in an empty folder as a process of its own, to be killed or interrupted."""

    def start(*args: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "imapeval.cli.main", *map(str, args)]
        return subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )

    return start


@pytest.fixture
def write_data(tmp_path: Path) -> Callable[..., Path]:
    """Write samples to a JSONL file."""

    def write(samples: Sequence[Sample], name: str = "data.jsonl") -> Path:
        rows = [
            {
                "id": sample.id,
                "question": sample.question,
                "references": list(sample.references),
                "response": sample.response,
                "system": sample.system,
            }
            for sample in samples
        ]
        path = tmp_path / name
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return write
