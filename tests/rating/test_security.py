"""What was found by fuzzing and by trying OWASP's list on a real server."""

import secrets
import socket
import sqlite3
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from benchmarks.postgresql import Server
from imapeval.errors import ResourceError, UsageError
from imapeval.rating import schema, store
from imapeval.rating.administration import issue_links
from imapeval.rating.model import Span
from imapeval.rating.setup import StudyContent
from imapeval.rating.web import app
from tests.rating.conftest import Studies
from tests.rating.site import ANSWERS, Site, enter, serve

NEVER_MISSING = ("cache-control", "content-security-policy", "referrer-policy", "x-content-type-options")


@pytest.fixture(scope="module")
def site_on_postgresql(postgresql: Server) -> Iterator[Site]:
    """One for all tests: a rater saves one entry, and the rest is refused."""
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


@pytest.mark.parametrize("by", ["session", "cookie"])
def test_who_tries_secrets_locks_out_nobody(site: Site, monkeypatch: pytest.MonkeyPatch, by: str):
    """Behind a server with https, all raters come from one address."""

    def attempt(secret: str) -> int:
        return site.ask("/session", {"secret": secret})[0] if by == "session" else site.ask("/", secret=secret)[0]

    statuses = [attempt(secrets.token_urlsafe(24)) for _ in range(25)]
    assert statuses[:20] == [401] * 20
    assert statuses[-1] == 429
    assert attempt(site.secrets["anna"]) == 200
    # Within the second in which the list of links may be out of date.
    new = issue_links(site.study, ["ben"], again=True)["ben"]
    while attempt(new) == 429:
        time.sleep(0.1)
    assert attempt(new) == 200
    assert attempt(site.secrets["ben"]) in {401, 429}
    # Further attempts ask the database for nobody.
    asked: list[str] = []
    monkeypatch.setattr(site.study, "identify", asked.append)
    while attempt(secrets.token_urlsafe(24)) != 429:
        asked.clear()
    assert asked == []


def test_a_request_without_a_secret_asks_the_database_nothing(site: Site, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    monkeypatch.setattr(site.study.database, "read", asked.append)
    monkeypatch.setattr(site.study.database, "write", asked.append)
    # More than there may be wrong secrets.
    statuses = [site.ask(path)[0] for path in ("/", "/api/next") * 12]
    assert (set(statuses), asked) == ({401}, [])
    assert site.ask("/enter")[0] == 200
    assert asked == []


def test_requests_with_one_link_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app, "_REQUESTS_PER_MINUTE", 5)
    with serve(str(tmp_path / "study.db"), StudyContent(ANSWERS)) as site:
        found = [site.ask("/api/next", secret=site.secrets["anna"]) for _ in range(10)]
        assert [status for status, _, _ in found[:5]] == [200] * 5
        status, _, headers = found[-1]
        assert status == 429
        assert 1 <= int(headers["retry-after"]) <= 12
        assert site.ask("/api/next", secret=site.secrets["ben"])[0] == 200


def test_limits_are_those_of_the_page():
    """The other tests lower them."""
    page = (Path(__file__).parents[2] / "docs" / "rating.md").read_text("utf-8")
    for part in (
        f"| {app._REQUESTS_PER_MINUTE} a minute |",
        f"| {app._FAILURES_PER_MINUTE} a minute;",
        f"| {store.MAX_ENTRIES:,}, and a million characters",
    ):
        assert part in page
    assert (app._OVERVIEW_SECONDS, store.MAX_TEXT) == (10, 2**20)  # there in words


def test_nobody_fills_the_disk(studies: Studies, monkeypatch: pytest.MonkeyPatch):
    study, (rater, other, *_) = studies.make()
    item = studies.take(study, rater)
    long = tuple(Span(kind="missing", text="x" * 20_000) for _ in range(20))
    entry = studies.enter(spans=long)
    study.save(rater, item.token, entry)
    study.save(rater, item.token, studies.enter(spans=long))
    with pytest.raises(UsageError):
        study.save(rater, item.token, studies.enter(spans=long))
    # One that arrives again, and other items, are not concerned.
    assert study.save(rater, item.token, entry).repeated
    monkeypatch.setattr(store, "MAX_ENTRIES", 3)
    item = studies.take(study, other)
    for _ in range(3):
        study.save(other, item.token, studies.enter())
    with pytest.raises(UsageError):
        study.save(other, item.token, studies.enter())


def test_two_lengths_of_a_body_are_refused(site: Site):
    """RFC 9112, 6.1: what follows might be another request to a server in front."""
    head = b"POST /session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\n"
    smuggled = b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    told = send(site, head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled)
    assert told.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in told.lower()
    assert told.count(b"HTTP/1.1 ") == 1


def test_what_the_server_refuses_is_protected_as_well(site: Site):
    told = send(site, b"\x16\x03\x01\r\n\r\n").lower()
    assert told.startswith(b"http/1.1 400 ")
    for name in NEVER_MISSING:
        assert f"\r\n{name}: ".encode() in told


def send(site: Site, sent: bytes) -> bytes:
    """Send bytes and return all that comes back until the server hangs up."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=30) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(1 << 16), b""))


def test_opentelemetry_is_told_nothing(site: Site, monkeypatch: pytest.MonkeyPatch):
    trace = pytest.importorskip("opentelemetry.trace", reason="this fastapi knows no OpenTelemetry")
    metrics = pytest.importorskip("opentelemetry.metrics")
    asked: list[str] = []

    class Tracers(trace.TracerProvider):
        def get_tracer(self, *_: Any, **__: Any) -> Any:
            asked.append("tracer")
            return trace.NoOpTracer()

    class Meters(metrics.MeterProvider):
        def get_meter(self, *_: Any, **__: Any) -> Any:
            asked.append("meter")
            return metrics.NoOpMeter("")

    monkeypatch.setattr(trace, "get_tracer_provider", Tracers)
    monkeypatch.setattr(metrics, "get_meter_provider", Meters)
    assert site.ask("/api/next", secret=site.secrets["anna"])[0] == 200
    assert asked == []


def test_a_page_gets_nothing_of_another_link(site: Site):
    """Cookies are those of the link that was opened last, in another tab maybe."""
    page = site.ask("/", secret=site.secrets["anna"])[1]
    link = page.partition('"link":"')[2].partition('"')[0]
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
    item = sqlite_studies.take(study, rater)
    long = tuple(Span(kind="missing", text="x" * 2_000) for _ in range(20))

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
