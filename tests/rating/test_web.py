"""The web app on a real server: over HTTP, and in a real browser."""

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from imapeval.rating import Dimension, RatingStudy, StudySettings
from imapeval.rating.administration import invite, invite_owner, revoke
from imapeval.rating.app import make_app
from imapeval.rating.setup import StudyContent, create_study
from imapeval.serve.guard import Limits
from imapeval.serve.server import listen, make_server
from imapeval.study.data.ratings import read_ratings
from imapeval.types import Sample

# A busy machine takes its time.
expect.set_options(timeout=15_000)

SYSTEMS = ("Alphabot", "Betabot", "Gammabot")
ANSWERS = [
    Sample(
        f"secret-id-{n}",
        f"What helps against ailment {n // 3}?",
        (f"Reference {n // 3}.",),
        f"Drink tea 阿司匹林 🙂 number {n}.\nThen <b>rest</b>.",
        system=SYSTEMS[n % 3],
    )
    for n in range(12)
]
PRACTICE = Sample(
    "practice-1",
    "A practice question?",
    ("Yes.",),
    "A practice answer.",
    ratings={"accuracy": 4.0, "completeness": 2.0},
    meta={"explanation": "It leaves out the dose."},
)


@dataclass
class Site:
    """A study that is being served."""

    study: RatingStudy
    port: int
    secrets: dict[str, str]
    seen: list[bytes] = field(default_factory=list[bytes])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, body: object = None, *, secret: str = "", raw: bytes | None = None, **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        """Send a request; the headers are given with underscores."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if secret:
            sent["Cookie"] = f"imapeval_link={secret}"
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request("GET" if content is None else "POST", path, content, sent)
            response = connection.getresponse()
            given = dict(response.getheaders())
            text = response.read()
            self.seen.append(repr(given).encode() + text)
            kind = given.get("content-type", "")
            return response.status, json.loads(text) if kind == "application/json" else text.decode(), given


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    dimensions = tuple(Dimension(name=name, low=0, high=5, step=0.5) for name in ("accuracy", "completeness"))
    settings = StudySettings(
        title="Ailments",
        instructions="Be strict.\n\nTake your time.",
        dimensions=dimensions,
        raters_per_answer=2,
        panel=2,
    )
    create_study(str(tmp_path / "study.db"), settings, StudyContent(ANSWERS, training=[PRACTICE]))
    with ExitStack() as stack:
        study = stack.enter_context(RatingStudy(str(tmp_path / "study.db")))
        links = {name: invite(study, name) for name in ("anna", "ben")} | {"owner": invite_owner(study)}
        sock = stack.enter_context(listen("127.0.0.1", 0, token=None))
        ready = threading.Event()
        server = make_server(make_app(study, Limits(), secure=False), Limits(), ready=ready.set)
        thread = threading.Thread(target=server.run, args=([sock],))
        thread.start()
        assert ready.wait(10)
        yield Site(study, sock.getsockname()[1], links)
        server.should_exit = True
        thread.join(30)


def enter(**values: Any) -> dict[str, Any]:
    return {"client_id": secrets.token_hex(8), "values": {"accuracy": 3.5, "completeness": 4.0}, **values}


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
        assert (count, found["progress"]["finished"]) == (13, True)
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


def test_who_may_see_what(site: Site):
    anna, ben, owner = (site.secrets[name] for name in ("anna", "ben", "owner"))
    token = site.ask("/api/next", secret=anna)[1]["item"]["token"]
    for path in (f"/api/items/{token}", "/api/items/none", "/api/at/99", f"/api/history/{token}"):
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


def test_secrets_cannot_be_tried_at_will(site: Site):
    statuses = [site.ask("/session", {"secret": secrets.token_urlsafe(24)})[0] for _ in range(25)]
    assert statuses[:20] == [401] * 20
    assert statuses[-1] == 429


@pytest.mark.parametrize(("header", "lang"), [("zh-CN,zh;q=0.9", "zh-CN"), ("de,en;q=0.5", "en"), ("", "en")])
def test_language(site: Site, header: str, lang: str):
    page = site.ask("/", secret=site.secrets["anna"], **({"Accept_Language": header} if header else {}))[1]
    assert f'<html lang="{lang}">' in page
    chosen = site.ask("/?lang=zh", secret=site.secrets["anna"])
    assert "待评分的回答" in chosen[1]
    assert "imapeval_lang=zh" in chosen[2]["set-cookie"]


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Open a rater's link; afterwards, the page must have had no error and asked nobody else."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []
    asked: set[str] = set()

    def go(name: str, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.add(request.url.split("/")[2]))
        page.goto(f"{site.address}/enter#{site.secrets[name]}")
        page.wait_for_url(f"{site.address}/")
        return page

    yield go
    for context in contexts:
        context.close()
    assert not errors
    assert asked == {f"127.0.0.1:{site.port}"}


def is_ready(page: Page) -> None:
    page.locator("#work[inert]").wait_for(state="detached")


def rate_by_keyboard(page: Page, *keys: str) -> None:
    is_ready(page)
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.slow
def test_two_raters_finish_by_keyboard(visit: Callable[..., Page], site: Site):
    """One on a phone's width, one in Chinese."""
    phone = visit("anna", viewport={"width": 390, "height": 844})
    chinese = visit("ben", locale="zh-CN")
    for page, finished, done in ((phone, "All done", "{} of 13"), (chinese, "全部完成", "已完成 {} / 13")):
        expect(page.locator("#work")).to_be_visible()
        # Practice, with feedback.
        rate_by_keyboard(page, "4", "Enter", "2", ".", "Enter")
        expect(page.locator("#feedback")).to_contain_text("It leaves out the dose.")
        page.keyboard.press("Enter")
        for n in range(1, 13):
            expect(page.locator("#progress")).to_contain_text(done.format(n))
            rate_by_keyboard(page, str(n % 6), "Enter", "3", "." if n % 2 else "3", "Enter")
        expect(page.locator("#end")).to_contain_text(finished)
    rows = read_ratings(Path(site.study.database.place))
    assert (len(rows.ids), sorted(rows.raters)) == (12, ["anna", "ben"])
    ratings = rows.split("accuracy")
    assert sorted(set(ratings.ravel().tolist())) == [0, 1, 2, 3, 4, 5]


@pytest.mark.slow
def test_no_connection_and_a_reload_lose_nothing(visit: Callable[..., Page], site: Site):
    page = visit("anna")
    expect(page.locator("#work")).to_be_visible()
    rate_by_keyboard(page, "4", "Enter", "2", "Enter")
    page.locator("#continue").click()
    expect(page.locator("#progress")).to_contain_text("1 of 13")
    is_ready(page)
    page.context.set_offline(True)
    page.locator("#comment").fill("written on a train")
    page.locator("#question-title").focus()
    rate_by_keyboard(page, "5", "Enter", "1", "Enter")
    expect(page.locator("#banner")).to_contain_text("No connection")
    page.context.set_offline(False)
    expect(page.locator("#progress")).to_contain_text("2 of 13", timeout=20_000)
    is_ready(page)
    # What is not sent yet survives a reload.
    page.locator("#comment").fill("half a thought")
    page.keyboard.press("Tab")
    page.reload()
    expect(page.locator("#comment")).to_have_value("half a thought")
    rater = site.study.identify(site.secrets["anna"])
    assert rater is not None
    entry = site.study.item_at(rater, 2).entry
    assert entry is not None
    assert (entry.comment, entry.values) == ("written on a train", {"accuracy": 5, "completeness": 1})


@pytest.mark.slow
def test_words_are_marked_and_answers_changed(visit: Callable[..., Page], site: Site):
    page = visit("anna")
    expect(page.locator("#work")).to_be_visible()
    rate_by_keyboard(page, "4", "Enter", "2", "Enter")
    page.locator("#continue").click()
    expect(page.locator("#progress")).to_contain_text("1 of 13")
    is_ready(page)
    # "阿司匹林" behind "Drink tea": two words on, and the emoji behind it counts as one character.
    page.locator("#response").focus()
    for key in ("ArrowRight", "ArrowRight", "d"):
        page.keyboard.press(key)
    expect(page.locator("#marks")).to_contain_text("阿司")
    page.locator("#missing").fill("the dose")
    page.keyboard.press("Enter")
    page.locator("#question-title").focus()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.keyboard.press("c")
    page.keyboard.type("not my field")
    page.keyboard.press("Enter")
    expect(page.locator("#progress")).to_contain_text("2 of 13")
    is_ready(page)
    rater = site.study.identify(site.secrets["anna"])
    assert rater is not None
    item = site.study.item_at(rater, 2)
    assert item.entry is not None
    assert item.entry.cannot_judge == {"completeness": "not my field"}
    mark, missing = item.entry.spans
    assert (mark.kind, missing.kind, missing.text) == ("dangerous", "missing", "the dose")
    assert item.response[mark.start : mark.end] == mark.text
    # Back, another rating, and the history knows both.
    page.keyboard.press("Backspace")
    expect(page.locator("#comment")).to_be_visible()
    expect(page.locator("#marks")).to_contain_text("the dose")
    is_ready(page)
    rate_by_keyboard(page, "2")
    page.locator("#next").click()
    # The next answer is shown once this one is saved.
    expect(page.locator("#marks")).not_to_contain_text("the dose")
    assert [one.entry.values.get("accuracy") for one in site.study.history(rater, item.token)][-1] == 2


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_axe_is_broken(visit: Callable[..., Page], scheme: str):
    for name, options in (
        ("anna", {"color_scheme": scheme}),
        ("ben", {"color_scheme": scheme, "locale": "zh-CN", "viewport": {"width": 390, "height": 844}}),
        ("owner", {"color_scheme": scheme}),
    ):
        page = visit(name, **options)
        if name != "owner":
            expect(page.locator("#work")).to_be_visible()
            page.locator("#response").focus()
            for key in ("w", "ArrowRight", "d"):
                page.keyboard.press(key)
            expect(page.locator("#response mark")).to_have_count(2)
        found = Axe().run(page, options={"rules": {"color-contrast": {"enabled": True}}}).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
