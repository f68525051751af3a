"""Correcting a run in a real browser, on a real server."""

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from imapeval.evaluation.corrections import CORRECTIONS, read_corrections
from imapeval.evaluation.evaluate import evaluate_to_store, make_run_settings
from imapeval.evaluation.pipeline import Pipeline, open_extractor, open_graph, open_matcher
from imapeval.evaluation.runs import Run, RunWriter
from imapeval.metrics import registry
from imapeval.serve.review import ReviewSession, make_app
from imapeval.types import Sample
from tests.report.conftest import check_rules
from tests.serve.server import run_app

pytestmark = pytest.mark.slow

QUESTION, REFERENCE = "What helps against gout?", ("Take naproxen. Avoid beer.",)
SAMPLES = [
    Sample("a", QUESTION, REFERENCE, "Take ibuprofen. Avoid beer.", system="x", meta={"ward": "ICU"}),
    Sample("b", QUESTION, REFERENCE, "Take naproxen.", system="y", meta={"age": 70, "ward": "ER"}),
]


@dataclass(frozen=True)
class Reviewed:
    """A run that is being reviewed."""

    folder: Path
    port: int
    path: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"

    def post(self, path: str, body: object, **headers: str) -> tuple[int, bytes]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            return response.status, response.read()


@pytest.fixture
def reviewed(tmp_path: Path) -> Iterator[Reviewed]:
    graph = open_graph(None)
    matcher, extractor = open_matcher(graph), open_extractor(graph)
    metrics = [registry.get("imapscore"), registry.get("rouge1")]
    parts = Pipeline(metrics, extractor, matcher)
    with RunWriter(tmp_path / "run", SAMPLES, settings=make_run_settings(parts, seed=0)) as writer:
        # Playwright's loop runs in this thread.
        scoring = evaluate_to_store(SAMPLES, parts, run=writer)
        with ThreadPoolExecutor() as pool:
            pool.submit(asyncio.run, scoring).result()
    app, path = make_app(ReviewSession(Run(tmp_path / "run"), matcher, who="Anna"))
    with run_app(app) as (port, _):
        yield Reviewed(tmp_path / "run", port, path)


@pytest.fixture
def page(reviewed: Reviewed, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{reviewed.address}#sample=a")
    yield page
    context.close()
    assert not complaints


def find_row(page: Page, response: str) -> Locator:
    found = page.locator("#sample tbody tr").filter(has=page.locator("td[data-label=Response]", has_text=response))
    return found.last  # a row of the reference may name it as the nearest


def read_score(page: Page) -> float:
    return float(page.locator("#sample .figures dd").first.inner_text().split()[0])


def test_each_answer_has_its_values_in_the_columns_of_all(page: Page):
    data = json.loads(page.locator("#data").text_content() or "")
    shown = [dict(zip(data["columns"], sample["columns"], strict=True)) for sample in data["samples"]]
    assert shown == [{"ward": "ICU", "age": None}, {"ward": "ER", "age": 70}]


def test_a_misread_fact_is_corrected_and_scored_at_once(page: Page, reviewed: Reviewed):
    before = read_score(page)
    find_row(page, "ibuprofen").get_by_role("button", name="Correct").click()
    group = page.get_by_role("group", name="Fact of the response")
    group.get_by_label("value").fill("naproxen")
    group.get_by_role("button", name="Change").click()
    expect(page.locator("#review-said")).to_have_text("Saved.")
    expect(page.locator(".review")).to_contain_text("1 correction, not checked yet")
    assert read_score(page) > before
    expect(find_row(page, "naproxen")).to_contain_text("exact")
    (saved,) = read_corrections(reviewed.folder)
    assert (saved.id, saved.who) == ("a", "Anna")
    page.get_by_role("button", name="Mark as checked").click()
    expect(page.locator(".review")).to_contain_text("1 correction, checked")
    # Pressed again, it would say the same again.
    expect(page.get_by_role("button", name="Mark as checked")).to_have_count(0)
    page.reload()
    expect(page.locator(".review")).to_contain_text("1 correction, checked")
    page.get_by_role("button", name="Withdraw corrections").click()
    expect(page.locator(".review")).to_contain_text("0 corrections, not checked yet")
    assert read_score(page) == pytest.approx(before, abs=0.002)
    assert not read_corrections(reviewed.folder)


def test_a_relation_is_corrected_and_a_fact_added_by_keyboard(page: Page, reviewed: Reviewed):
    before = read_score(page)
    find_row(page, "ibuprofen").get_by_role("button", name="Correct").press("Enter")
    group = page.get_by_role("group", name="Relation of two facts")
    naproxen = group.get_by_label("reference").locator("option", has_text="naproxen").get_attribute("value")
    ibuprofen = group.get_by_label("response").locator("option", has_text="ibuprofen").get_attribute("value")
    group.get_by_label("reference").select_option(naproxen)
    group.get_by_label("response").select_option(ibuprofen)
    group.get_by_label("relation").select_option("exact")
    group.get_by_role("button", name="Set").press("Enter")
    expect(page.locator("#review-said")).to_have_text("Saved.")
    after = read_score(page)
    assert after > before
    page.get_by_role("button", name="Add a fact to the response").press("Enter")
    group = page.get_by_role("group", name="A fact that the response states")
    group.get_by_label("term").fill("cause")
    # What is said stands in the dialog, which covers the page.
    said = page.locator("dialog [role=status]")
    group.get_by_role("button", name="Add").press("Enter")
    expect(said).to_have_text("Fill in term and value.")
    group.get_by_label("value").fill("a broken <b>leg</b>")
    # The server has been started anew, at another address.
    page.route("**/corrections", lambda route: route.continue_(url=f"http://127.0.0.1:{reviewed.port}/x/corrections"))
    group.get_by_role("button", name="Add").press("Enter")
    expect(said).to_contain_text("does not know this page")
    page.unroute_all(behavior="wait")
    group.get_by_role("button", name="Add").press("Enter")
    expect(page.locator(".review")).to_contain_text("2 corrections")
    assert "a broken <b>leg</b>" in page.locator("#sample").inner_text()
    assert read_score(page) < after


def test_replies_that_come_late(page: Page):
    """Two changes at once are both shown, and the answer to which the reader has gone on stays."""
    held: list[Route] = []
    page.route("**/corrections", lambda route: held.append(route))
    page.get_by_role("button", name="Add a fact to the response").click()
    group = page.get_by_role("group", name="A fact that the response states")
    values = ("Drink much water", "Keep the foot up")
    for value in values:
        group.get_by_label("value").fill(value)
        with page.expect_request("**/corrections"):
            group.get_by_role("button", name="Add").click()
    for route in held:
        route.continue_()
    expect(page.locator(".review")).to_contain_text("2 corrections")
    for value in values:
        expect(find_row(page, value)).to_be_visible()
    with page.expect_request("**/corrections"):
        page.get_by_role("button", name="Mark as checked").click()
    page.keyboard.press("j")
    expect(page.locator("#sample .id")).to_have_text("b")
    page.get_by_role("button", name="Add a fact to the response").click()
    held[-1].continue_()
    expect(page.locator("dialog [role=status]")).to_have_text("Saved for a.")
    expect(page.locator("#sample .id")).to_have_text("b")


def test_a_correction_of_the_reference_is_made_for_the_other_answers_too(page: Page, reviewed: Reviewed):
    held: list[Route] = []
    for value, both in (("Keep the foot up", False), ("Drink water", True)):
        page.get_by_role("button", name="Add a fact to the reference").click()
        group = page.get_by_role("group", name="A fact that the reference states")
        # What is asked is the term that is most likely meant.
        expect(group.get_by_label("term")).not_to_have_value("")
        group.get_by_label("value").fill(value)
        group.get_by_role("button", name="Add").click()
        expect(page.locator("#review-said")).to_contain_text("1 other answer")
        if not both:
            # The reader has gone on by the time that it cannot be saved.
            page.route("**/corrections", lambda route: held.append(route))
            with page.expect_request("**/corrections"):
                page.locator("#review-said").get_by_role("button").click()
            page.keyboard.press("j")
            expect(page.locator("#sample .id")).to_have_text("b")
            held[0].abort()
            expect(page.locator("#review-said")).to_contain_text("Not saved")
            page.unroute_all(behavior="wait")
            page.keyboard.press("k")
        else:
            page.locator("#review-said").get_by_role("button").click()
            expect(page.locator("#review-said button")).to_have_count(0)
            expect(page.locator("#review-said")).to_contain_text("Saved")
    saved = [
        (one.id, one.change.after.value)
        for one in read_corrections(reviewed.folder)
        if one.change.kind == "fact" and one.change.after
    ]
    assert saved == [("a", "Keep the foot up"), ("a", "Drink water"), ("b", "Drink water")]
    page.goto(f"{reviewed.address}#sample=b")
    expect(page.locator(".review")).to_contain_text("1 correction")


def test_no_rule_of_axe_is_broken(page: Page):
    find_row(page, "ibuprofen").get_by_role("button", name="Correct").click()
    for width in (1300, 390):
        page.set_viewport_size({"width": width, "height": 900})
        check_rules(page)


def test_what_does_not_fit_is_not_saved(reviewed: Reviewed):
    fact = {"term": "no", "value": "such fact"}
    change = {"kind": "fact", "side": "response", "before": fact, "after": None}
    body = {"id": "a", "reference_index": 0, "reading": 0, "change": change, "texts": 0}
    corrections = f"{reviewed.path}corrections"
    assert reviewed.post(corrections, body)[0] == 422
    assert reviewed.post(corrections, body | {"id": "nobody"})[0] == 422
    assert reviewed.post(corrections, body | {"more": 1})[0] == 422
    assert reviewed.post("/corrections", body)[0] == 404
    assert reviewed.post(corrections, body, Host="example.com")[0] == 403
    assert reviewed.post(corrections, body, **{"Content-Type": "text/plain"})[0] == 415
    assert not (reviewed.folder / CORRECTIONS).exists()


def test_the_page_needs_its_secret(reviewed: Reviewed):
    for path in ("/", "/x/", reviewed.path[:-2] + "/"):
        with socket.create_connection(("127.0.0.1", reviewed.port)) as client:
            client.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            assert b" 404 " in client.recv(4096).split(b"\r\n")[0]
