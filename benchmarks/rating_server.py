"""Raters at work on a served study: `python benchmarks/rating_server.py [--seconds 60] [--place postgresql://...]`.

As many scripted raters as asked for rate at once, as fast as the server lets them, each over a connection of its own.
Some entries are sent twice, as after a lost reply. Prints how long requests take, and counts what must not happen: an
answer with more ratings than wanted, twice with the same rater, an entry saved twice, a system named in a reply. The
responses of all systems are equally long, so that a difference of times between systems would tell them apart.
"""

from __future__ import annotations

import argparse
import json
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
from scipy.stats import kruskal

from imapeval.rating import Dimension, RatingStudy, StudySettings
from imapeval.rating.administration import invite
from imapeval.rating.export import list_exported
from imapeval.rating.setup import StudyContent, create_study
from imapeval.types import Sample

SYSTEMS = ("Alphabot", "Betabot", "Gammabot", "Deltabot")


def main() -> None:
    """Make a study, serve it, rate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", help="URL of an empty PostgreSQL database; without it, SQLite in a temporary folder")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--raters", type=int, default=20)
    parser.add_argument("--answers", type=int, default=2000)
    parser.add_argument(
        "--pause", type=float, default=1.0, help="seconds between two answers of a rater; people need more"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = args.place or str(Path(folder) / "study.db")
        samples = [
            Sample(
                f"internal-{n}",
                f"Question {n // 4}?",
                (f"Reference {n // 4}.",),
                f"Answer {n:05}.",
                system=SYSTEMS[n % 4],
            )
            for n in range(args.answers)
        ]
        dimensions = tuple(Dimension(name=name, low=0, high=5, step=0.5) for name in ("accuracy", "completeness"))
        settings = StudySettings(title="Load", dimensions=dimensions, raters_per_answer=3, panel=args.raters)
        create_study(place, settings, StudyContent(samples))
        with RatingStudy(place) as study:
            run(study, args.raters, args.seconds, args.pause)


def run(study: RatingStudy, raters: int, seconds: float, pause: float) -> None:
    """Serve, rate and print."""
    links = [invite(study, f"rater-{n}") for n in range(raters)]
    command = [sys.executable, "-m", "imapeval", "rate", "serve", study.database.place, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().split(" (")[0].rpartition(":")[2])
        until = time.monotonic() + seconds
        found = [Client(port, link) for link in links]
        workers = [threading.Thread(target=client.rate, args=(until, pause)) for client in found]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        server.terminate()
    for name in ("next", "save"):
        times = np.array([t for client in found for t in client.times[name]]) * 1000
        p50, p95, p99 = np.quantile(times, [0.5, 0.95, 0.99])
        print(f"{name}: {len(times)} requests, p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms")
    given = [np.array([t for client in found for t in client.by_system[system]]) * 1000 for system in SYSTEMS]
    medians = ", ".join(f"{system} {np.median(times):.2f}" for system, times in zip(SYSTEMS, given, strict=True))
    print(f"next by system, median in ms: {medians}; Kruskal-Wallis test p = {kruskal(*given).pvalue:.2f}")
    rows = list_exported(study, everything=False)
    ratings = Counter((row["id"], row["rater"]) for row in rows)
    by_answer = Counter(id_ for id_, _ in ratings)
    saved = sum(client.saved for client in found)
    print(f"saved: {saved}; in the study: {len(rows)}; twice by one rater: {sum(n > 1 for n in ratings.values())}")
    print(f"answers with more than 3 ratings: {sum(n > 3 for n in by_answer.values())}")
    print(f"statuses other than 200: {dict(sum((client.faults for client in found), Counter[int]()))}")
    print(f"replies that name a system or an id: {sum(client.told for client in found)}")


class Client:
    """A rater."""

    def __init__(self, port: int, secret: str) -> None:
        self.times: dict[str, list[float]] = {"next": [], "save": []}
        self.by_system: dict[str, list[float]] = {system: [] for system in SYSTEMS}
        self.faults: Counter[int] = Counter()
        self.saved = self.told = 0
        self._port, self._headers = port, {"Cookie": f"imapeval_link={secret}", "Content-Type": "application/json"}

    def rate(self, until: float, pause: float) -> None:
        """Rate until then, or until nothing is left."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        time.sleep(secrets.randbelow(1000) / 1000 * pause)
        while time.monotonic() < until:
            found = self._ask(connection, "next", "/api/next", None)
            if found is None or found["item"] is None:
                break
            number = int(found["item"]["response"].removeprefix("Answer ").removesuffix("."))
            self.by_system[SYSTEMS[number % 4]].append(self.times["next"][-1])
            values = {name: secrets.randbelow(11) / 2 for name in ("accuracy", "completeness")}
            entry = json.dumps({"client_id": secrets.token_hex(8), "values": values, "seconds": 1})
            path = f"/api/items/{found['item']['token']}"
            for _ in range(1 + (secrets.randbelow(10) == 0)):
                done = self._ask(connection, "save", path, entry)
                self.saved += done is not None and not done["repeated"]
            time.sleep(pause)
        connection.close()

    def _ask(self, connection: HTTPConnection, name: str, path: str, body: str | None) -> dict[str, dict] | None:
        start = time.perf_counter()
        connection.request("GET" if body is None else "POST", path, body, self._headers)
        response = connection.getresponse()
        text = response.read()
        self.times[name].append(time.perf_counter() - start)
        told = text + repr(response.getheaders()).encode()
        self.told += any(word.encode() in told for word in (*SYSTEMS, "internal-"))
        if response.status != 200:
            self.faults[response.status] += 1
            time.sleep(1)
            return None
        return json.loads(text)


if __name__ == "__main__":
    main()
