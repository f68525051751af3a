"""`imapeval serve` against its own OpenAPI description, by schemathesis."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

pytest.importorskip("schemathesis", reason="schemathesis is not installed here: python3 .ci/frameworks.py serve")

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "s3cret"


@pytest.fixture(scope="module", params=["", TOKEN], ids=["open", "token"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [sys.executable, "-m", "imapeval", "serve", "--port", "0", "--metrics", "imapscore,rouge1"]
    environment = os.environ | ({"IMAPEVAL_TOKEN": request.param} if request.param else {})
    log = tmp_path_factory.mktemp("serve") / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as process,
    ):
        try:
            assert process.stdout
            found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
            assert found
            yield found[0]
        finally:
            process.terminate()
    assert log.read_text() == ""


def fuzz(*options: str, examples: int) -> subprocess.CompletedProcess[str]:
    command = [
        str(Path(sys.executable).with_name("st")),
        "run",
        *options,
        "--checks",
        "all",
        "--no-color",
        "--seed",
        "7",
    ]
    header = ["--header", f"Authorization: Bearer {TOKEN}", "--max-examples", str(examples)]
    return subprocess.run([*command, *header], capture_output=True, text=True, cwd="/tmp")


def test_it_keeps_to_its_description(url: str):
    done = fuzz(f"{url}/openapi.json", examples=15)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Tested: 5" in done.stdout
    assert "No issues found" in done.stdout


def test_what_does_not_would_be_seen(url: str, tmp_path: Path):
    with urlopen(f"{url}/openapi.json") as reply:
        description = json.load(reply)
    description["components"]["schemas"]["Health"]["required"].append("mood")
    del description["paths"]["/relate"]["post"]["responses"]["422"]
    (tmp_path / "openapi.json").write_text(json.dumps(description))
    options = [str(tmp_path / "openapi.json"), "--url", url, "--include-path-regex", "^/(health|relate)$"]
    done = fuzz(*options, examples=10)
    assert done.returncode == 1
    assert "Response violates schema" in done.stdout
    assert "Undocumented" in done.stdout, done.stdout
