"""What was found by fuzzing and by trying OWASP's list on a real server."""

import secrets
import sqlite3
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from imapeval.errors import ResourceError
from imapeval.rating import schema
from imapeval.rating.model import Span
from imapeval.rating.setup import StudyContent
from tests.rating.conftest import Server, Studies
from tests.rating.site import ANSWERS, Site, enter, serve

NEVER_MISSING = ("cache-control", "content-security-policy", "referrer-policy", "x-content-type-options")


@pytest.fixture
def site_on_postgresql(postgresql: Server) -> Iterator[Site]:
    with serve(postgresql.make_database(), StudyContent(ANSWERS)) as site:
        yield site


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/nothing", None, 404),
        ("/openapi.json", None, 404),
        ("/docs", None, 404),
        ("/api/at/abc<script>", None, 404),
        ("/api/at/" + "9" * 5000, None, 404),
        ("/api/at/-1", None, 404),
        ("/api/history/%00", None, 404),
        ("/api/history/%ED%A0%80", None, 404),
        ("/api/history/" + "a" * 10_000, None, 404),
        ("/api/items/%00", {"client_id": "12345678"}, 404),
        ("/", {}, 405),
        ("/session", {"secret": "x"}, 422),
        ("/session", "x" * 2_000_000, 413),
    ],
)
def test_errors_are_alike_and_repeat_nothing(site_on_postgresql: Site, path: str, body: object, status: int):
    given, found, headers = site_on_postgresql.ask(path, body, secret=site_on_postgresql.secrets["anna"])
    assert given == status
    assert set(found) == {"error"}
    assert "script" not in found["error"]["message"]
    assert set(NEVER_MISSING) <= set(headers)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://["}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[", "Sec_Fetch_Site": "cross-site"}, 403),
        # A server in front that changes the host.
        ({"Origin": "https://rate.example.org", "Sec_Fetch_Site": "same-origin"}, 200),
    ],
)
def test_where_a_request_comes_from(site: Site, headers: dict[str, str], status: int):
    assert site.ask("/session", {"secret": site.secrets["anna"]}, **headers)[0] == status


def test_who_tries_secrets_locks_out_nobody(site: Site):
    """Behind a server with https, all raters come from one address."""
    while site.ask("/session", {"secret": secrets.token_urlsafe(24)})[0] != 429:
        pass
    assert site.ask("/session", {"secret": site.secrets["anna"]})[0] == 200


def test_a_page_gets_nothing_of_another_link(site: Site):
    """Cookies are those of the link that was opened last, in another tab maybe."""
    page = site.ask("/", secret=site.secrets["anna"])[1]
    link = page.partition('"link": "')[2].partition('"')[0]
    item = site.ask("/api/next", secret=site.secrets["anna"], Imapeval_Link=link)[1]["item"]
    for path, body in (("/api/next", None), ("/api/at/1", None), (f"/api/items/{item['token']}", enter())):
        assert site.ask(path, body, secret=site.secrets["ben"], Imapeval_Link=link)[0] == 401
    assert site.ask(f"/api/items/{item['token']}", enter(), secret=site.secrets["anna"], Imapeval_Link=link)[0] == 200


def test_a_cookie_that_no_other_host_can_set(tmp_path: Path):
    """RFC 6265bis: a name with __Host- is refused from other hosts of the domain, and without https."""
    with serve(str(tmp_path / "study.db"), StudyContent(ANSWERS), secure=True) as site:
        cookie = site.ask("/session", {"secret": site.secrets["anna"]})[2]["set-cookie"]
        assert cookie.startswith(f"__Host-imapeval_link={site.secrets['anna']};")
        assert {"secure", "httponly", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
        assert "domain" not in cookie.lower()
        assert site.ask("/api/next", Cookie=cookie.partition(";")[0])[0] == 200
        assert site.ask("/api/next", secret=site.secrets["anna"])[0] == 401


def test_a_database_that_keeps_one_waiting_keeps_nobody_else(site_on_postgresql: Site):
    site = site_on_postgresql
    url = site.study.database.place
    token = site.ask("/api/next", secret=site.secrets["anna"])[1]["item"]["token"]
    found: list[int] = []

    def save(path: str, body: dict[str, Any]) -> None:
        found.append(site.ask(path, body, secret=site.secrets["anna"])[0])

    sent = (("/session", {"secret": site.secrets["anna"]}), (f"/api/items/{token}", enter()))
    threads = [threading.Thread(target=save, args=one) for one in sent]
    with psycopg.connect(url) as lock, psycopg.connect(url, autocommit=True) as watch:
        lock.execute("LOCK TABLE links IN ACCESS EXCLUSIVE MODE")
        try:
            for thread in threads:
                thread.start()
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            while (watch.execute(waiting).fetchone() or [0])[0] < 1:
                time.sleep(0.01)
            assert site.ask("/enter")[0] == 200
        finally:
            lock.rollback()
            for thread in threads:
                thread.join()
    assert found == [200, 200]


def test_too_few_connections_are_a_failure_of_the_database(sqlite_studies: Studies):
    study, _ = sqlite_studies.make(names=0)
    pool: Any = study.database._engine.pool  # pyright: ignore[reportPrivateUsage]
    pool._timeout = 0.01
    taken = [pool.connect() for _ in range(pool.size() + pool._max_overflow)]
    try:
        with pytest.raises(ResourceError):
            study.identify("x")
    finally:
        for connection in taken:
            connection.close()


def test_a_rater_with_a_long_history_costs_no_more_than_others(sqlite_studies: Studies):
    """What is read to show or save an item does not grow with the entries that it has."""
    study, (rater, *_) = sqlite_studies.make()
    item = study.next_item(rater)
    assert item is not None
    long = tuple(Span(kind="missing", text="x" * 20_000) for _ in range(20))

    def measure(call: Callable[[], object]) -> int:
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    def measure_all() -> list[int]:
        return [
            measure(lambda: study.save(rater, item.token, sqlite_studies.enter(spans=long))),
            measure(lambda: study.item_at(rater, 1)),
            measure(lambda: study.feedback(rater, item.token)),
            measure(lambda: study.history(rater, item.token)),
        ]

    measure_all()
    first = measure_all()
    for _ in range(18):
        study.save(rater, item.token, sqlite_studies.enter(spans=long))
    for before, after in zip(first, measure_all(), strict=True):
        assert after < 2 * before + 200_000


def test_what_is_logged_cannot_be_replaced(sqlite_studies: Studies):
    """SQLite runs no trigger for the deletion in INSERT OR REPLACE, unless the program that writes asks for it."""
    study, (rater, *_) = sqlite_studies.make()
    sqlite_studies.rate_all(study, rater, most=2)
    connection = sqlite3.connect(study.database.place)
    for table in schema.APPEND_ONLY:
        with pytest.raises(sqlite3.IntegrityError, match="can only be added to"):
            connection.execute(f"INSERT OR REPLACE INTO {table.name} SELECT * FROM {table.name}")
    with pytest.raises(sqlite3.IntegrityError, match="can only be added to"):
        connection.execute(
            "INSERT OR REPLACE INTO entries SELECT token, revision + 1, rater, client_id, complete, comment, "
            "confidence, spans, seconds, saved_at FROM entries"
        )
    connection.close()
