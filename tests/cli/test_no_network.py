"""README and docs/install.md: texts are sent nowhere unless --llm is given, and there is no telemetry."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, socket, sys
from contextlib import suppress

seen = []

def note(event, args):
    # asyncio's own pair of sockets is neither bound by name nor connected.
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        seen.append([event, repr(args)])

sys.addaudithook(note)
from imapeval.cli.main import app

for command in json.loads(sys.argv[1]):
    try:
        app(command)
    except SystemExit as end:
        if end.code:
            raise
if seen:
    sys.exit(f"{seen}")
# Anything would have been seen.
with suppress(OSError), socket.create_connection(("127.0.0.1", 9), timeout=1):
    pass
print(json.dumps(seen), file=sys.stderr)
"""

COMMANDS = [
    ["score", "sample-en", "--limit", "6", "--metrics", "imapscore,rouge1,bleu,chrf,rouge1+imap", "--out", "run"],
    ["score", "sample-zh", "--limit", "6", "--out", "zh"],
    ["score", "sample-en", "--limit", "6", "--llm", "openai:gpt-4.1-mini", "--dry-run"],
    ["extract", "sample-en", "--limit", "6", "--out", "imaps.jsonl"],
    ["relate", "penicillin", "antibiotic therapy"],
    ["report", "run"],
    ["compare", "run"],
    ["export", "run"],
    ["metrics"],
    ["datasets"],
    ["kg", "info", "aspirin"],
    ["cache", "info"],
]
"""Offline commands, and one that only counts what a model would be asked."""


@pytest.mark.slow
def test_offline_commands_use_no_network(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(COMMANDS)],
        cwd=tmp_path,
        env={**os.environ, "IMAPEVAL_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "socket.connect" in done.stderr.splitlines()[-1]
