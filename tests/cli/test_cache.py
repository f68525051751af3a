import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from imapeval.cli.main import app
from imapeval.llm.cache import Cached
from imapeval.llm.client import Message, Request
from imapeval.llm.scripted import ScriptedModel

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / "completions.sqlite"


@pytest.fixture
def two_models(cache: Path) -> None:
    for name in ("one", "two"):
        model = Cached(ScriptedModel(["{}"], identity=f"openai:{name}"), cache)
        asyncio.run(model.complete(Request((Message("user", "x"),))))


def test_nothing_is_kept_yet(imapeval: Command, cache: Path):
    assert imapeval("cache", "info").stdout == f"{cache}: 0 completions, 0.0 MB\n"
    assert json.loads(imapeval("cache", "info", "--json").stdout) == {
        "path": str(cache),
        "bytes": 0,
        "entries": 0,
        "models": [],
    }
    assert not cache.exists()


@pytest.mark.usefixtures("two_models")
def test_info_for_people_and_machines(imapeval: Command):
    found = json.loads(imapeval("cache", "info", "--json").stdout)
    assert found["entries"] == 2
    assert found["bytes"] > 0
    assert found["models"][0] == {"model": "openai:one", "entries": 1, "prompt_tokens": 0, "completion_tokens": 0}
    assert "openai:two" in imapeval("cache", "info").stdout


@pytest.mark.usefixtures("two_models")
def test_clear_asks_first(cache: Path):
    refused = CliRunner().invoke(app, ["cache", "clear"], input="n\n")
    assert refused.exit_code == 1
    assert f"completions to be dropped from {cache}: 2\n" in refused.output
    agreed = CliRunner().invoke(app, ["cache", "clear", "--model", "openai:one"], input="y\n")
    assert agreed.exit_code == 0
    assert f"completions dropped from {cache}: 1\n" in agreed.output


@pytest.mark.usefixtures("two_models")
def test_clear_without_asking(imapeval: Command):
    assert imapeval("cache", "clear", "--yes", "--model", "openai:one").stdout.endswith(": 1\n")
    assert json.loads(imapeval("cache", "clear", "--yes", "--json").stdout)["dropped"] == 1
    unknown = imapeval("cache", "clear", "--yes", "--model", "openai:one")
    assert unknown.returncode == 2
    assert "none yet" in unknown.stderr
