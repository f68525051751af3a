"""README and docs/install.md: texts are sent nowhere unless --llm is given, and there is no telemetry."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

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

RATE_INIT = [
    *("rate", "init", "rated.jsonl", "--dimensions", "accuracy"),
    *("--scale", "0:5:1", "--raters", "2", "--out", "study.db"),
]

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
    ["score", "rated.jsonl", "--metrics", "rouge1,bleu", "--out", "rated"],
    ["study", "report", "rated", "--out", "study"],
    ["study", "correlate", "rated"],
    ["closed", "labels.csv", "--gold", "gold", "--predicted", "predicted"],
    ["closed", "tasks.csv", "--html", "tasks.html"],
    RATE_INIT,
    ["rate", "invite", "study.db", "Ann", "Bob"],
    ["rate", "status", "study.db"],
    ["kg", "info", "aspirin"],
    ["cache", "info"],
]
"""Offline commands, and one that only counts what a model would be asked."""


SERVING = """
import sys
from pathlib import Path

def note(event, args):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        with Path("events").open("a") as file:
            file.write(f"{event} {args if event == 'socket.getaddrinfo' else args[1:]}\\n")

sys.addaudithook(note)
from imapeval.cli.main import app
app(sys.argv[1:])
"""
"""Writes what a command does with sockets to a file."""

SERVERS: list[tuple[list[str], list[list[str]]]] = [
    (["serve", "--metrics", "rouge1,imapscore"], []),
    (["review", "run"], [["score", "rated.jsonl", "--out", "run"]]),
    (["rate", "serve", "study.db"], [RATE_INIT]),
]
"""Commands that serve until they are stopped, and those that make what they serve."""


def write_data(folder: Path) -> None:
    rows = [
        {"question": f"What helps in case {n}?", "reference": f"Rest and drug {n}.", "response": f"Drug {n % 3}."}
        | {"ratings": {"accuracy": n % 4 + 1}, "system": "ab"[n % 2]}
        for n in range(20)
    ]
    (folder / "rated.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "labels.csv").write_text("gold,predicted\n" + "yes,no\nno,no\nyes,yes\n" * 10)
    cells = "".join(f"t,labels,{n},yes,{'yes' if n % 3 else 'no'}\n" for n in range(20))
    (folder / "tasks.csv").write_text(f"task,kind,id,gold,predicted\n{cells}")


def run_offline(folder: Path, commands: list[list[str]]) -> subprocess.CompletedProcess[str]:
    write_data(folder)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "IMAPEVAL_CACHE": str(folder / "cache"), "HOME": str(folder)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("command", "before"), SERVERS, ids=["serve", "review", "rate"])
def test_servers_only_listen_on_this_computer(tmp_path: Path, command: list[str], before: list[list[str]]):
    done = run_offline(tmp_path, before)
    assert done.returncode == 0, done.stderr
    with subprocess.Popen(
        [sys.executable, "-c", SERVING, *command, "--port", "0"],
        cwd=tmp_path,
        env={**os.environ, "IMAPEVAL_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = next(filter(None, (re.search(r"http://127\.0\.0\.1:(\d+)\S*", line) for line in process.stdout)))
        with suppress(HTTPError), urlopen(found[0].rstrip(".,")) as reply:
            reply.read()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    events = (tmp_path / "events").read_text().splitlines()
    assert {event.split()[0] for event in events} <= {"socket.bind", "socket.getaddrinfo"}, events
    assert all("127.0.0.1" in event for event in events), events


@pytest.mark.slow
def test_offline_commands_use_no_network(tmp_path: Path):
    done = run_offline(tmp_path, COMMANDS)
    assert done.returncode == 0, done.stderr
    assert "socket.connect" in done.stderr.splitlines()[-1]
