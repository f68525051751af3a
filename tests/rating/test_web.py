"""The web app on a real server, over HTTP."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from imapeval.rating import Dimension
from imapeval.rating.administration import revoke
from imapeval.rating.monitoring import overview
from imapeval.rating.reassignment import adjudicate
from imapeval.rating.setup import StudyContent
from imapeval.rating.web import app
from imapeval.rating.web.pages import render_owner
from imapeval.study.data.ratings import read_ratings
from tests.rating.conftest import Studies
from tests.rating.site import ANSWERS, SYSTEMS, Site, enter, serve


def test_a_whole_study_over_http_names_no_system(site: Site):
    for name in ("anna", "ben"):
        secret = site.secrets[name]
        assert site.ask("/session", {"secret": secret})[0] == 200
        assert site.ask("/", secret=secret)[0] == 200
        count = 0
        while (found := site.ask("/api/next", secret=secret)[1])["item"] is not None:
            token = found["item"]["token"]
            status, saved, _ = site.ask(f"/api/items/{token}", enter(), secret=secret)
            assert (status, saved["complete"], saved["repeated"]) == (200, True, False)
            assert (saved["feedback"] is not None) == found["item"]["training"]
            assert site.ask(f"/api/history/{token}", secret=secret)[1][0]["values"]["accuracy"] == 3.5
            count += 1
        assert (count, found["progress"]["done"], found["progress"]["total"]) == (13, 13, 13)
        assert site.ask("/api/at/3", secret=secret)[1]["item"]["position"] == 3
    everything = b"".join(site.seen)
    for telling in (*SYSTEMS, "secret-id", "practice-1", "anna", "ben"):
        assert telling.encode() not in everything
    rows = read_ratings(Path(site.study.database.place))
    assert (len(rows.ids), len(rows.raters)) == (12, 2)


def test_an_entry_that_is_sent_twice_is_saved_once(site: Site):
    secret = site.secrets["anna"]
    token = site.ask("/api/next", secret=secret)[1]["item"]["token"]
    entry = enter()
    first, again = (site.ask(f"/api/items/{token}", entry, secret=secret)[1] for _ in range(2))
    assert (first["revision"], first["repeated"], again["revision"], again["repeated"]) == (1, False, 1, True)
    assert site.ask(f"/api/items/{token}", entry | {"comment": "other"}, secret=secret)[0] == 409


def test_a_rating_that_the_disk_has_no_room_for_is_refused_and_saved_later(mount_disk: Callable[[int], Path]):
    disk = mount_disk(1_000_000)
    with serve(str(disk / "study.db"), StudyContent(ANSWERS)) as site:
        secret = site.secrets["anna"]
        token = site.ask("/api/next", secret=secret)[1]["item"]["token"]
        with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass
        entry = enter()
        status, reply, _ = site.ask(f"/api/items/{token}", entry, secret=secret)
        assert (status, reply["error"]["kind"]) == (503, "not-saved")
        (disk / "filler").unlink()
        status, reply, _ = site.ask(f"/api/items/{token}", entry, secret=secret)
        assert (status, reply["revision"], reply["repeated"]) == (200, 1, False)


def test_who_may_see_what(site: Site):
    anna, ben, owner = (site.secrets[name] for name in ("anna", "ben", "owner"))
    token = site.ask("/api/next", secret=anna)[1]["item"]["token"]
    for path in ("/api/at/99", f"/api/history/{token}", "/api/history/none"):
        assert site.ask(path, secret=ben)[0] == 404, path
    assert site.ask(f"/api/items/{token}", enter(), secret=ben)[0] == 404
    for path in ("/", "/api/next", "/api/at/1"):
        assert site.ask(path)[0] == 401, path
        assert site.ask(path, secret="x" * 32)[0] == 401, path
    assert site.ask("/api/next", secret=owner)[0] == 403
    assert site.ask(f"/api/items/{token}", enter(), secret=owner)[0] == 403
    page = site.ask("/", secret=owner)[1]
    assert "anna" in page
    assert "0 of 24 ratings" in page
    revoke(site.study, "anna")
    assert site.ask("/api/next", secret=anna)[0] == 401
    assert site.ask("/session", {"secret": anna})[0] == 401


def test_an_adjudicator_gets_ratings_without_what_could_tell_the_raters(site: Site):
    for name, value in (("anna", 1), ("ben", 5)):
        while (item := site.ask("/api/next", secret=site.secrets[name])[1]["item"]) is not None:
            entry = enter(values={"accuracy": value, "completeness": 4.0}, seconds=7)
            assert site.ask(f"/api/items/{item['token']}", entry, secret=site.secrets[name])[0] == 200
    secret = adjudicate(site.study, [one.id for one in overview(site.study).disputed], by="zoe").secret
    item = site.ask("/api/next", secret=secret or "")[1]["item"]
    assert sorted(one["values"]["accuracy"] for one in item["earlier"]) == [1, 5]
    for one in item["earlier"]:
        assert one.keys() == {"values", "cannot_judge", "comment", "confidence", "spans"}


def test_the_owners_page_is_computed_once_in_a_while(site: Site, monkeypatch: pytest.MonkeyPatch):
    computed: list[object] = []
    monkeypatch.setattr(app, "overview", lambda study: computed.append(study) or overview(study))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: site.ask("/", secret=site.secrets["owner"])[0], range(8)))
    assert (found, len(computed)) == ([200] * 8, 1)


def test_an_adjudicated_rating_is_shown_as_it_was_given(sqlite_studies: Studies):
    scale = Dimension(name="accuracy", low=0, high=5, step=0.25)
    study, raters = sqlite_studies.make(questions=1, raters=2, panel=2, dimensions=(scale,))
    for rater, value in zip(raters, (4.0, 5.0), strict=True):
        sqlite_studies.rate_all(study, rater, lambda _, value=value: sqlite_studies.enter(value, None))
    disputed = [one.id for one in overview(study).disputed]
    judge = sqlite_studies.identify(study, adjudicate(study, disputed, by="judge").secret)
    sqlite_studies.rate_all(study, judge, lambda _: sqlite_studies.enter(4.25, None), most=1)
    page, _ = render_owner(study.settings, "en", overview(study))
    assert page.count("<td>4, 5</td><td>4.25</td>") == 1
    assert page.count("<td>4, 5</td><td>–</td>") == len(disputed) - 1


def test_who_waits_as_long_as_told_is_not_refused(monkeypatch: pytest.MonkeyPatch):
    """RFC 9110, 10.2.3: Retry-After is in whole seconds."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    limit = app._RateLimit(20)  # pyright: ignore[reportPrivateUsage]
    for _ in range(20):
        limit.count("anna")
    now = 1.7  # One request is allowed every 3 seconds.
    now += int(limit.refuse("anna").headers["Retry-After"])
    assert not limit.is_exceeded("anna")


def test_cookies_and_headers(site: Site):
    _, _, headers = site.ask("/session", {"secret": site.secrets["anna"]})
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secure" not in cookie.replace("httponly", "")
    for path in ("/", "/enter", "/api/next"):
        given = site.ask(path, secret=site.secrets["anna"])[2]
        assert given["cache-control"] == "no-store"
        assert given["referrer-policy"] == "no-referrer"
        assert given["x-frame-options"] == "DENY"
    policy = site.ask("/", secret=site.secrets["anna"])[2]["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}]
)
def test_another_page_cannot_save(site: Site, headers: dict[str, str]):
    secret = site.secrets["anna"]
    token = site.ask("/api/next", secret=secret)[1]["item"]["token"]
    assert site.ask(f"/api/items/{token}", enter(), secret=secret, **headers)[0] == 403
    assert site.ask("/session", {"secret": secret}, **headers)[0] == 403
    assert site.ask(f"/api/items/{token}", enter(), secret=secret, Origin=site.address)[0] == 200


def test_what_does_not_fit_is_refused(site: Site):
    secret = site.secrets["anna"]
    path = f"/api/items/{site.ask('/api/next', secret=secret)[1]['item']['token']}"
    for wrong in (
        {"values": {"accuracy": 3.3}},
        {"values": {"speed": 1}},
        {"values": {"accuracy": 9}},
        {"values": {"accuracy": "3"}},
        {"values": {"accuracy": True}},
        {"confidence": True},
        {"confidence": "2"},
        {"client_id": "x"},
        {"system": "Alphabot"},
        {"spans": [{"kind": "wrong", "start": 0, "end": 3, "text": "xyz"}]},
        {"seconds": -1},
    ):
        assert site.ask(path, enter() | wrong, secret=secret)[0] == 422, wrong
    assert site.ask(path, raw=b"{", secret=secret)[0] == 422
    assert site.ask(path, raw=b"[1]" * 1_000_000, secret=secret)[0] == 413
    assert site.ask(path, raw=b"a=1", secret=secret, Content_Type="application/x-www-form-urlencoded")[0] == 415
    assert site.ask("/api/next", secret=secret)[1]["progress"]["done"] == 0


@pytest.mark.parametrize(("header", "lang"), [("zh-CN,zh;q=0.9", "zh-CN"), ("de,en;q=0.5", "en"), ("", "en")])
def test_language(site: Site, header: str, lang: str):
    page = site.ask("/", secret=site.secrets["anna"], **({"Accept_Language": header} if header else {}))[1]
    assert f'<html lang="{lang}">' in page
    chosen = site.ask("/?lang=zh", secret=site.secrets["anna"])
    assert "待评分的回答" in chosen[1]
    assert "imapeval_lang=zh" in chosen[2]["set-cookie"]
