"""`imapeval rate serve` and its database killed while raters rate: `python benchmarks/rating_kills.py [--kills 20]`.

Four scripted raters rate over HTTP as fast as the server lets them, and resend unconfirmed entries, as the page does.
The server is killed with SIGKILL at random moments and restarted, on SQLite and on PostgreSQL; in a third run, the
processes of PostgreSQL are killed instead. Counts confirmed entries that are missing from the study afterwards, and
duplicate entries; both must be 0. Needs PostgreSQL from Debian's package.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import sqlalchemy as sa
from postgresql import Server, find_programs, run_server

from imapeval.rating import Dimension, RatingStudy, StudySettings, schema
from imapeval.rating.administration import issue_links
from imapeval.rating.setup import StudyContent, create_study
from imapeval.types import Sample

RATERS = 4
DIMENSIONS = tuple(Dimension(name=name, low=0, high=5, step=0.5) for name in ("accuracy", "completeness"))


def main() -> None:
    """Run all three, print the table, exit with 1 where an entry is lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--answers", type=int, default=3000)
    args = parser.parse_args()
    print("| database | killed | kills | confirmed entries | requests cut off | saved, reply lost | lost | twice |")
    print("|---|---|---|---|---|---|---|---|")
    failed = False
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        programs = find_programs()
        if programs is None:
            raise SystemExit("PostgreSQL is not installed: apt install postgresql")
        database = stack.enter_context(run_server(programs))
        for name, killed in (("SQLite", "server"), ("PostgreSQL", "server"), ("PostgreSQL", "database")):
            place = str(folder / "study.db") if name == "SQLite" else database.make_database()
            found = run(place, args.answers, args.kills, database if killed == "database" else None)
            print(f"| {name} | {killed} | {args.kills} | {found} |", flush=True)
            failed |= bool(found.lost or found.twice or found.faults)
            if found.faults:
                print(f"statuses other than 200 and 503: {dict(found.faults)}")
    raise SystemExit(failed)


@dataclass
class Outcome:
    """What happened to the entries of a run."""

    confirmed: dict[str, str] = field(default_factory=dict)
    sent: set[tuple[str, str]] = field(default_factory=set)
    faults: Counter[int] = field(default_factory=Counter)
    cut: int = 0
    repeated: int = 0
    lost: int = 0
    twice: int = 0

    def __str__(self) -> str:
        counts = (len(self.confirmed), self.cut, self.repeated, self.lost, self.twice)
        return " | ".join(f"{count:,}" for count in counts)


def run(place: str, answers: int, kills: int, database: Server | None) -> Outcome:
    """Make a study, rate it while the database (or the server if none is given) is killed, and check the entries."""
    samples = [
        Sample(f"{n}", f"Question {n // 3}?", ("Reference.",), f"Answer {n}.", system="ABC"[n % 3])
        for n in range(answers)
    ]
    settings = StudySettings(title="Kills", dimensions=DIMENSIONS, raters_per_answer=RATERS, panel=RATERS)
    create_study(place, settings, StudyContent(samples))
    with RatingStudy(place) as study:
        links = [*issue_links(study, [f"rater-{n}" for n in range(RATERS)]).values()]
    outcome, done = Outcome(), threading.Event()
    process, port = start(place, 0)
    workers = [threading.Thread(target=rate, args=(port, link, outcome, done)) for link in links]
    for worker in workers:
        worker.start()
    rng = random.Random(0)
    try:
        for number in range(kills):
            # Wait until raters are at work, so that every kill interrupts them.
            wanted = len(outcome.confirmed) + 1
            while len(outcome.confirmed) < wanted:
                if not any(worker.is_alive() for worker in workers):
                    raise SystemExit(f"all is rated after {number} kills: give more --answers")
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.5))
            if database is not None:
                database.kill()
                database.start()
                continue
            process.kill()
            process.wait()
            process, _ = start(place, port)
        time.sleep(1)
    finally:
        done.set()
        for worker in workers:
            worker.join()
        process.kill()
        process.wait()
    check(place, outcome)
    return outcome


def start(place: str, port: int) -> tuple[subprocess.Popen[str], int]:
    """Start the server, and return it with its port once it answers."""
    command = [sys.executable, "-m", "imapeval", "rate", "serve", place, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline().split(" (")[0].rpartition(":")[2])


def rate(port: int, secret: str, outcome: Outcome, done: threading.Event) -> None:
    """Rate until stopped, and resend unconfirmed entries."""
    headers = {"Cookie": f"imapeval_link={secret}", "Content-Type": "application/json"}

    def ask(path: str, body: str | None = None) -> dict[str, dict] | None:
        while not done.is_set():
            connection = HTTPConnection("127.0.0.1", port, timeout=10)
            try:
                connection.request("GET" if body is None else "POST", path, body, headers)
                response = connection.getresponse()
                text = response.read()
            except (OSError, HTTPException) as error:
                outcome.cut += body is not None and not isinstance(error, ConnectionRefusedError)
                time.sleep(0.02)
                continue
            finally:
                connection.close()
            if response.status == 200:
                return json.loads(text)
            if response.status != 503:
                outcome.faults[response.status] += 1
            time.sleep(0.02)
        return None

    while (found := ask("/api/next")) is not None and found["item"] is not None:
        token = found["item"]["token"]
        # Asked for again although its entry was confirmed: it has been lost.
        outcome.lost += token in outcome.confirmed
        values = {one.name: secrets.randbelow(11) / 2 for one in DIMENSIONS}
        entry = {"client_id": secrets.token_hex(8), "values": values}
        outcome.sent.add((token, entry["client_id"]))
        if (saved := ask(f"/api/items/{token}", json.dumps(entry))) is not None:
            outcome.confirmed[token] = entry["client_id"]
            outcome.repeated += bool(saved["repeated"])


def check(place: str, outcome: Outcome) -> None:
    """Compare the study with what was sent and confirmed."""
    if "://" not in place:
        with sqlite3.connect(place) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with RatingStudy(place) as study, study.database.read() as connection:
        stored = [(row.token, row.client_id) for row in connection.execute(sa.select(schema.entries))]
        values = connection.scalar(sa.select(sa.func.count()).select_from(schema.entry_values))
    outcome.lost += len(outcome.confirmed.items() - set(stored))
    outcome.twice = len(stored) - len({token for token, _ in stored})
    assert set(stored) <= outcome.sent
    assert values == len(DIMENSIONS) * len(stored)


if __name__ == "__main__":
    main()
