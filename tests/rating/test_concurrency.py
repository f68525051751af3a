"""Many raters at once, and processes killed at any moment, on both databases."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from imapeval.errors import ResourceError
from imapeval.rating import RatingConflictError, UnknownItemError, schema
from imapeval.rating.administration import issue_links
from imapeval.rating.export import copy_study
from imapeval.rating.reassignment import reassign
from imapeval.rating.store import RatingStudy
from tests.rating.rating_client import rate

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.context import ForkServerProcess
    from pathlib import Path

    from benchmarks.postgresql import Server
    from imapeval.rating import Entry, Rater
    from tests.rating.conftest import Studies

KILLS = 8


def check_exact(study: RatingStudy, *, answers: int, raters: int) -> None:
    """Check that every answer has its ratings, each by another rater, and that none is doubled."""
    with study.database.read() as connection:
        rows = connection.execute(sa.text("SELECT id, rater, dimension FROM study_ratings")).all()
        entries = connection.execute(sa.select(schema.entries.c.token, schema.entries.c.client_id)).all()
    assert len(rows) == len(set(rows)) == answers * raters * 2
    assert len({(id_, rater) for id_, rater, _ in rows}) == answers * raters
    assert len(entries) == len(set(entries))


@pytest.mark.slow
def test_twenty_raters_at_once(studies: Studies):
    study, raters = studies.make(questions=20, raters=4, panel=20)
    start = threading.Barrier(20)

    def work(number: int) -> int:
        start.wait()
        return len(studies.rate_all(study, raters[number]))

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(work, range(20))) == {12}
    check_exact(study, answers=60, raters=4)


def test_one_entry_sent_twenty_times_at_once(studies: Studies):
    study, (rater, *_) = studies.make()
    item = studies.take(study, rater)
    entry = studies.enter()
    with ThreadPoolExecutor(20) as pool:
        saved = list(pool.map(lambda _: study.save(rater, item.token, entry), range(20)))
    assert sorted(one.repeated for one in saved) == [False] + [True] * 19
    assert len(study.history(rater, item.token)) == 1


def test_twenty_changes_at_once_are_twenty_revisions(studies: Studies):
    study, (rater, *_) = studies.make()
    item = studies.take(study, rater)
    with ThreadPoolExecutor(20) as pool:
        saved = list(pool.map(lambda _: study.save(rater, item.token, studies.enter()), range(20)))
    assert sorted(one.revision for one in saved) == list(range(1, 21))


def test_different_entries_under_one_id_at_once(studies: Studies):
    study, (rater, *_) = studies.make()
    item = studies.take(study, rater)
    entry = studies.enter()

    def send(number: int) -> bool:
        try:
            study.save(rater, item.token, entry.model_copy(update={"comment": str(number)}))
        except RatingConflictError:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(send, range(10))) == 1


def test_seats_are_given_once(studies: Studies):
    study, _ = studies.make(raters=2, panel=8, names=0)
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda number: issue_links(study, [f"rater-{number}"]), range(8)))
    assert len({studies.identify(study, secret).id for links in given for secret in links.values()}) == 8


def test_reassigned_while_the_rater_rates(studies: Studies):
    study, raters = studies.make(questions=10, raters=2, panel=5)
    leaver = raters[0]

    def leave() -> None:
        while study.progress(leaver).done < 4:
            time.sleep(0.001)
        reassign(study, leaver.name)

    def rate() -> None:
        # An item that is taken back is unknown from then on.
        with suppress(UnknownItemError):
            studies.rate_all(study, leaver)

    with ThreadPoolExecutor(2) as pool:
        for done in (pool.submit(rate), pool.submit(leave)):
            done.result()
    for rater in raters[1:]:
        studies.rate_all(study, rater)
    check_exact(study, answers=30, raters=2)


def test_copied_while_raters_rate(studies: Studies, tmp_path: Path):
    study, raters = studies.make(questions=10, raters=4, panel=4)
    with ThreadPoolExecutor(4) as pool:
        work = [pool.submit(studies.rate_all, study, rater) for rater in raters]
        number = 0
        while not all(one.done() for one in work):
            number += 1
            copy_study(study, str(tmp_path / f"copy{number}.db"))
    for which in range(1, number + 1):
        with RatingStudy(str(tmp_path / f"copy{which}.db")) as copy, copy.database.read() as connection:
            entries = connection.execute(sa.select(schema.entries.c.token, schema.entries.c.revision)).all()
            values = connection.scalar(sa.select(sa.func.count()).select_from(schema.entry_values))
            # Each entry with both of its values.
            assert values == 2 * len(entries)


@pytest.mark.slow
def test_killed_at_random_moments(studies: Studies, tmp_path: Path):
    study, _ = studies.make(questions=40, raters=3, panel=4, names=0)
    secrets = [*issue_links(study, [f"rater-{number}" for number in range(4)]).values()]
    rng = random.Random(0)
    logs: list[Path] = []
    # Forked from a process that has loaded the package: loading it takes a rater longer than rating.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["imapeval.rating"])
    # All begin at once: otherwise the first may have nothing left to rate when the last has been started.
    together = context.Barrier(len(secrets))

    def begin() -> list[ForkServerProcess]:
        running: list[ForkServerProcess] = []
        for secret in secrets:
            logs.append(tmp_path / f"client{len(logs)}.log")
            args = (study.database.place, secret, logs[-1], together)
            running.append(context.Process(target=rate, args=args, daemon=True))
            running[-1].start()
        return running

    def wait(running: list[ForkServerProcess]) -> list[int | None]:
        for process in running:
            process.join()
        return [process.exitcode for process in running]

    kills = 0
    while kills < KILLS:
        running = begin()
        while not all(log.exists() and log.stat().st_size for log in logs[-len(running) :]):
            assert all(process.is_alive() for process in running)
            time.sleep(0.001)
        for process in running:
            time.sleep(rng.uniform(0, 0.02))
            process.kill()
        codes = wait(running)
        assert set(codes) == {-9}
        kills += len(codes)
    assert set(wait(begin())) == {0}
    told: dict[str, set[tuple[str, str]]] = {"sending": set(), "saved": set()}
    for log in logs:
        # A line that the kill cut off confirms nothing.
        for line in log.read_text().splitlines(keepends=True):
            if line.strip() and line.endswith("\n"):
                kind, token, client_id = line.split()
                told[kind].add((token, client_id))
    with study.database.read() as connection:
        stored = {(row.token, row.client_id) for row in connection.execute(sa.select(schema.entries))}
    assert told["saved"] - stored == set()
    assert stored - told["sending"] == set()
    check_exact(study, answers=120, raters=3)


@pytest.mark.slow
def test_a_killed_server_has_what_it_confirmed(mortal_server: Server, studies_at: Callable[[str], Studies]):
    studies = studies_at(mortal_server.make_database())
    study, raters = studies.make(questions=80, raters=3, panel=4)
    confirmed: set[tuple[str, str]] = set()

    lost: set[str] = set()
    given_up = threading.Event()

    def work(rater: Rater) -> None:
        tried: dict[str, Entry] = {}
        while not given_up.is_set():
            # Like the page: what has not been confirmed is sent again, as the same entry.
            try:
                if (item := study.next_item(rater)) is None:
                    return
                # Sent again, a lost entry would be there at the end: that it is asked for again shows the loss.
                if item.token in {token for token, _ in confirmed.copy()}:
                    lost.add(item.token)
                entry = tried.setdefault(item.token, studies.enter())
                study.save(rater, item.token, entry)
                confirmed.add((item.token, entry.client_id))
            except ResourceError:
                time.sleep(0.02)

    with ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work, rater) for rater in raters]
        rng = random.Random(0)
        kills = 0
        try:
            while kills < KILLS and not all(one.done() for one in working):
                time.sleep(rng.uniform(0.05, 0.2))
                mortal_server.kill()
                kills += 1
                mortal_server.start()
        except BaseException:
            given_up.set()
            raise
        for one in working:
            one.result()
    assert kills > KILLS / 2
    with study.database.read() as connection:
        stored = {(row.token, row.client_id) for row in connection.execute(sa.select(schema.entries))}
    assert lost == set()
    assert confirmed <= stored
    check_exact(study, answers=240, raters=3)
