"""Raters at work on a served study: `python benchmarks/rating_server.py [--place postgresql://...]`.

Scripted raters rate concurrently, each over a separate connection, until every answer has its three ratings. Some
entries are sent twice, as after a lost reply, some earlier answers are opened again, and some requests are for an item
of another rater. Meanwhile the owner's page is loaded every two seconds. Prints how long requests take, and exits with
1 unless every answer has exactly three ratings by different raters, nothing is saved twice or lost, every request for
another rater's item is refused, and no reply names a system. The responses of all systems are equally long, so response
times would reveal the system only by a fault of the server. Whether the order of the items or their names reveal it is
tested on the whole study.
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
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from scipy.stats import chi2_contingency, kruskal

from imapeval.rating import Dimension, RatingStudy, StudySettings, schema
from imapeval.rating.administration import invite_owner, issue_links
from imapeval.rating.export import list_exported
from imapeval.rating.setup import StudyContent, create_study
from imapeval.types import Sample

SYSTEMS = ("Alphabot", "Betabot", "Gammabot", "Deltabot")
RATERS_PER_ANSWER = 3
TITLES = {"next": "next answer", "at": "earlier answer", "save": "save"}


def main() -> None:
    """Make a study, serve it, rate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", help="URL of an empty PostgreSQL database; without it, SQLite in a temporary folder")
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
        settings = StudySettings(
            title="Load", dimensions=dimensions, raters_per_answer=RATERS_PER_ANSWER, panel=args.raters
        )
        create_study(place, settings, StudyContent(samples))
        with RatingStudy(place) as study:
            run(study, args.raters, args.pause)


def run(study: RatingStudy, raters: int, pause: float) -> None:
    """Serve, rate, print and check."""
    links, owner = [*issue_links(study, [f"rater-{n}" for n in range(raters)]).values()], invite_owner(study)
    command = [sys.executable, "-m", "imapeval", "rate", "serve", study.database.place, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().split(" (")[0].rpartition(":")[2])
        given: list[str] = []
        clients = [Client(port, link, given) for link in links]
        done, owner_times = threading.Event(), list[float]()
        watcher = threading.Thread(target=watch, args=(port, owner, done, owner_times))
        workers = [threading.Thread(target=client.rate, args=(pause,)) for client in clients]
        begun = time.monotonic()
        for thread in (watcher, *workers):
            thread.start()
        for worker in workers:
            worker.join()
        took = time.monotonic() - begun
        done.set()
        watcher.join()
        server.terminate()
    print(f"{raters} raters, {took:.0f} s")
    for name, title in TITLES.items():
        times = np.array([t for client in clients for _, t in client.times[name]]) * 1000
        p50, p95, p99 = np.quantile(times, [0.5, 0.95, 0.99])
        print(f"{title}: {len(times):,} requests, p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms")
        by_system = [
            np.array([t for client in clients for system, t in client.times[name] if system == one]) * 1000
            for one in SYSTEMS
        ]
        medians = [float(np.median(times)) for times in by_system]
        print(
            f"  medians of the systems {min(medians):.1f} to {max(medians):.1f} ms; Kruskal-Wallis test p = "
            f"{kruskal(*by_system).pvalue:.2f}"
        )
    p50, most = np.quantile(owner_times, [0.5, 1])
    print(f"owner's page: {len(owner_times)} requests, p50 {p50 * 1000:.0f} ms, longest {most * 1000:.0f} ms")
    print_order(study)
    check(study, clients)


def print_order(study: RatingStudy) -> None:
    """Print whether places in the raters' orders, or the names of items, depend on the system."""
    query = sa.select(
        schema.assignments.c.rater, schema.assignments.c.position, schema.assignments.c.token, schema.answers.c.system
    ).join(schema.answers, schema.answers.c.id == schema.assignments.c.answer)
    with study.database.read() as connection:
        rows = connection.execute(query).all()
    last = max(row.position for row in rows)
    tenths = Counter((SYSTEMS.index(row.system), (row.position - 1) * 10 // last) for row in rows)
    table = [[tenths[system, tenth] for tenth in range(10)] for system in range(len(SYSTEMS))]
    ranks = {token: rank for rank, token in enumerate(sorted(row.token for row in rows))}
    names = [[ranks[row.token] for row in rows if row.system == system] for system in SYSTEMS]
    print(
        f"tenth of the order by system: chi-square test p = {chi2_contingency(table).pvalue:.2f}; names of items by "
        f"system: lengths {sorted({len(row.token) for row in rows})}, Kruskal-Wallis test p = "
        f"{kruskal(*names).pvalue:.2f}"
    )


def check(study: RatingStudy, clients: list[Client]) -> None:
    """Print what must not happen, and exit with 1 where it did."""
    rows = list_exported(study, everything=False)
    ratings = Counter((row["id"], row["rater"]) for row in rows)
    by_answer = Counter(Counter(id_ for id_, _ in ratings).values())
    statuses = sum((client.foreign for client in clients), Counter[int]())
    wrong = {
        "answers without exactly three raters": sum(by_answer.values()) - by_answer[RATERS_PER_ANSWER],
        "ratings twice by one rater": sum(n > 1 for n in ratings.values()),
        "entries lost or doubled": abs(len(rows) - sum(client.saved for client in clients)),
        "replies that name a system or an id": sum(client.told for client in clients),
        "others' items not refused": sum(statuses.values()) - statuses[404],
        "other statuses than 200": sum((client.faults for client in clients), Counter[int]()).total(),
    }
    print(f"answers by number of raters: {dict(by_answer)}; requests for others' items: {statuses.total()}")
    print("; ".join(f"{name}: {count}" for name, count in wrong.items()))
    with study.database.read() as connection:
        total = connection.scalar(sa.select(sa.func.count()).where(schema.answers.c.purpose == "rating"))
    raise SystemExit(any(wrong.values()) or sum(by_answer.values()) != total)


def watch(port: int, owner: str, done: threading.Event, times: list[float]) -> None:
    """Load the owner's page now and then."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        while True:
            start = time.perf_counter()
            connection.request("GET", "/", headers={"Cookie": f"imapeval_link={owner}"})
            response = connection.getresponse()
            response.read()
            assert response.status == 200
            times.append(time.perf_counter() - start)
            if done.wait(2):
                return


class Client:
    """A rater.

    Args:
        port: Port of the server.
        secret: The secret in the rater's link.
        given: Names of the items given to any rater; all clients add to it.
    """

    def __init__(self, port: int, secret: str, given: list[str]) -> None:
        self.times: dict[str, list[tuple[str, float]]] = {name: [] for name in TITLES}
        self.faults, self.foreign = Counter[int](), Counter[int]()
        self.saved = self.told = 0
        self._given, self._own = given, set[str]()
        self._headers = {"Cookie": f"imapeval_link={secret}", "Content-Type": "application/json"}
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def rate(self, pause: float) -> None:
        """Rate until nothing is left."""
        time.sleep(secrets.randbelow(1000) / 1000 * pause)
        while True:
            item = self._find("next", "/api/next")
            if item is None:
                break
            self._own.add(item["token"])
            self._given.append(item["token"])
            values = {name: secrets.randbelow(11) / 2 for name in ("accuracy", "completeness")}
            entry = json.dumps({"client_id": secrets.token_hex(8), "values": values, "seconds": 1})
            for _ in range(1 + (secrets.randbelow(10) == 0)):
                status, done, seconds = self._ask(f"/api/items/{item['token']}", entry)
                self.times["save"].append((name_system(item), seconds))
                self.faults[status] += status != 200
                self.saved += status == 200 and not done["repeated"]
            if secrets.randbelow(5) == 0:
                self._find("at", f"/api/at/{1 + secrets.randbelow(item['position'])}")
            if secrets.randbelow(10) == 0 and (other := secrets.choice(self._given)) not in self._own:
                for path, body in ((f"/api/history/{other}", None), (f"/api/items/{other}", entry)):
                    self.foreign[self._ask(path, body)[0]] += 1
            time.sleep(pause)
        self._connection.close()

    def _find(self, name: str, path: str) -> dict[str, Any] | None:
        """Ask for an item until the server gives an answer."""
        while True:
            status, found, seconds = self._ask(path)
            if status == 200:
                break
            self.faults[status] += 1
            time.sleep(1)
        if (item := found["item"]) is not None:
            self.times[name].append((name_system(item), seconds))
        return item

    def _ask(self, path: str, body: str | None = None) -> tuple[int, dict[str, Any], float]:
        """Send a request, and return the status, the reply and the seconds that it took."""
        start = time.perf_counter()
        self._connection.request("GET" if body is None else "POST", path, body, self._headers)
        response = self._connection.getresponse()
        text = response.read()
        seconds = time.perf_counter() - start
        told = text + repr(response.getheaders()).encode()
        self.told += any(word.encode() in told for word in (*SYSTEMS, "internal-"))
        return response.status, json.loads(text), seconds


def name_system(item: dict[str, Any]) -> str:
    """Return the system of an item, which only this benchmark knows."""
    return SYSTEMS[int(item["response"].removeprefix("Answer ").removesuffix(".")) % 4]


if __name__ == "__main__":
    main()
