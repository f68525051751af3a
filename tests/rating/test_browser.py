"""The raters' pages in a real browser."""

import csv
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from imapeval.rating import Dimension, Item, Rater
from imapeval.rating.administration import issue_links, stop
from imapeval.rating.model import Fact
from imapeval.rating.reassignment import adjudicate, reassign
from imapeval.rating.setup import StudyContent
from imapeval.rating.web.pages import load_texts
from imapeval.study.data.ratings import read_ratings
from imapeval.types import Sample
from tests.rating.site import ANSWERS, Site, enter, serve

pytestmark = pytest.mark.slow

# A busy machine takes its time.
TIMEOUT = 60_000
expect.set_options(timeout=TIMEOUT)


class Visitor:
    """Opens links in browsers of their own; afterwards, no page may have had an error or asked anybody else."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.errors: list[str] = []
        self.asked: set[str] = set()

    def visit(self, site: Site, name: str, **options: Any) -> Page:
        """Open the link of a rater in a new browser."""
        return self.visit_again(self._add(options), site, name)

    def open(self, **options: Any) -> Page:
        """Return an empty page of a new browser."""
        return self._watch(self._add(options))

    def _add(self, options: Any) -> BrowserContext:
        context = self._browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})
        context.set_default_timeout(TIMEOUT)
        self._contexts.append(context)
        return context

    def visit_again(self, context: BrowserContext, site: Site, name: str) -> Page:
        """Open the link of a rater in a browser that is there."""
        page = self._watch(context)
        self.enter(page, site, name)
        return page

    def enter(self, page: Page, site: Site, name: str) -> None:
        """Open the link of a rater."""
        page.goto(f"{site.address}/enter#{site.secrets[name]}")
        page.wait_for_url(f"{site.address}/")

    def _watch(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.asked.add(request.url.split("/")[2]))
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    visitor = Visitor(browser)
    yield visitor
    visitor.close()
    assert not visitor.errors
    assert {address.partition(":")[0] for address in visitor.asked} == {"127.0.0.1"}
    assert len(visitor.asked) == 1


def is_ready(page: Page) -> None:
    page.locator("#work[inert]").wait_for(state="detached")


def rate_by_keyboard(page: Page, *keys: str) -> None:
    is_ready(page)
    for key in keys:
        page.keyboard.press(key)


def test_two_raters_finish_by_keyboard(visitor: Visitor, site: Site, tmp_path: Path):
    """One on a phone's width, one in Chinese."""
    phone = visitor.visit(site, "anna", viewport={"width": 390, "height": 844})
    chinese = visitor.visit(site, "ben", locale="zh-CN")
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
    # What they entered goes through the export into the report of a study.
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(to_row(one)) + "\n" for one in ANSWERS))
    call(tmp_path, "score", "answers.jsonl", "--metrics", "rouge1,chrf", "--out", "run")
    call(tmp_path, "rate", "export", site.study.database.place, "--out", "ratings.csv")
    call(tmp_path, "study", "report", "run", "--ratings", "ratings.csv", "--resamples", 50, "--out", "report")
    with (tmp_path / "ratings.csv").open(newline="", encoding="utf-8") as file:
        exported = {(row["id"], row["rater"]): float(row["ratings.accuracy"]) for row in csv.DictReader(file)}
    assert exported == {
        (id_, rater): ratings[row, column]
        for row, id_ in enumerate(rows.ids)
        for column, rater in enumerate(rows.raters)
    }
    page = (tmp_path / "report" / "study.html").read_text(encoding="utf-8")
    assert all(name in page for name in ("rouge1", "chrf", "accuracy", "completeness"))


def to_row(sample: Sample) -> dict[str, object]:
    return {
        "id": sample.id,
        "question": sample.question,
        "references": list(sample.references),
        "response": sample.response,
        "system": sample.system,
    }


def call(folder: Path, *args: object) -> None:
    command = [sys.executable, "-m", "imapeval", *map(str, args)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_connection_and_a_reload_lose_nothing(visitor: Visitor, site: Site):
    page = visitor.visit(site, "anna")
    practise(page)
    page.context.set_offline(True)
    page.locator("#comment").fill("written on a train")
    page.locator("#question-title").focus()
    rate_by_keyboard(page, "5", "Enter", "1", "Enter")
    expect(page.locator("#banner")).to_contain_text("No connection")
    page.context.set_offline(False)
    expect(page.locator("#progress")).to_contain_text("2 of 13")
    is_ready(page)
    # What is not sent yet survives a reload.
    page.locator("#comment").fill("half a thought")
    page.keyboard.press("Tab")
    page.reload()
    expect(page.locator("#comment")).to_have_value("half a thought")
    # Nor does an update of the server: drafts had no `known` once.
    page.add_init_script("""for (const [key, draft] of Object.entries(localStorage)) {
        if (!key.startsWith("imapeval-draft:")) continue;
        localStorage[key] = JSON.stringify({...JSON.parse(draft), known: undefined});
    }""")
    page.reload()
    expect(page.locator("#comment")).to_have_value("half a thought")
    entry = read_item(site, "anna", 2).entry
    assert entry is not None
    assert (entry.comment, entry.values) == ("written on a train", {"accuracy": 5, "completeness": 1})


def test_words_are_marked_and_answers_changed(visitor: Visitor, site: Site):
    page = visitor.visit(site, "anna")
    practise(page)
    # "阿司匹林" behind "Drink tea": two words on, and the emoji behind it counts as one character.
    mark_words(page, "ArrowRight", "ArrowRight", "d")
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
    item = read_item(site, "anna", 2)
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
    assert site.study.history(find_rater(site, "anna"), item.token)[-1].values["accuracy"] == 2


def test_words_are_marked_by_mouse(visitor: Visitor, site: Site):
    """What is selected, also beyond the answer; a click alone, or all of the page, selects nothing of it."""
    page = visitor.visit(site, "anna")
    practise(page)
    page.locator("#response").click()
    page.keyboard.press("w")
    expect(page.locator("#problem")).not_to_be_empty()
    page.keyboard.press("Control+a")
    page.locator("#mark-wrong").click()
    expect(page.locator("#marks button")).to_have_count(0)
    page.locator("#response").click()
    page.locator("#question-title").focus()
    drag(page, "tea")
    page.locator("#mark-wrong").click()
    drag(page, "rest</b>.", below=True)
    page.locator("#mark-dangerous").click()
    expect(page.locator("#response mark")).to_have_text(["tea", "rest</b>."])
    # After a click, there is a caret again once it is moved: from the first word to the second.
    page.locator("#response").click()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#response .caret")).to_have_text("tea")
    expect(page.locator("#response")).to_have_attribute("lang", "en")
    # What is written stays with its answer, without "Add" as well.
    page.locator("#missing").fill("the dose")
    page.locator("#question-title").focus()
    page.keyboard.press("1")
    page.emulate_media(forced_colors="active")
    expect(page.locator(".option input:checked + span")).to_have_css("border-top-width", "3px")
    rate_by_keyboard(page, "Enter", "2", "Enter")
    expect(page.locator("#progress")).to_contain_text("2 of 13")
    expect(page.locator("#missing")).to_have_value("")
    entry = read_item(site, "anna", 2).entry
    assert entry is not None
    assert sorted((span.kind, span.text) for span in entry.spans) == [
        ("dangerous", "rest</b>."),
        ("missing", "the dose"),
        ("wrong", "tea"),
    ]


def test_a_scale_without_steps_and_one_whose_steps_do_not_reach_its_end(visitor: Visitor, tmp_path: Path):
    dimensions = (Dimension(name="overall", low=10, high=100), Dimension(name="tone", low=0, high=5, step=2))
    with serve(str(tmp_path / "study.db"), StudyContent(ANSWERS), dimensions=dimensions) as site:
        page = visitor.open()
        page.clock.install()
        visitor.enter(page, site, "anna")
        expect(page.locator("#work")).to_be_visible()
        is_ready(page)
        offered = page.locator("#ratings input[type=radio]").evaluate_all("inputs => inputs.map((one) => one.value)")
        assert offered == ["0", "2", "4", "cannot"]
        number, row = page.locator("#ratings input[type=number]"), page.locator("fieldset.current legend")
        page.keyboard.type("85")
        expect(number).to_have_value("85")
        # The Enter of an input method (https://w3c.github.io/uievents/#events-composition-key-events).
        number.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
        expect(row).to_contain_text("overall")
        rate_by_keyboard(page, "Enter", "4", "Enter")
        expect(page.locator("#progress")).to_contain_text("1 of 12")
        is_ready(page)
        entry = read_item(site, "anna", 1).entry
        assert entry is not None
        assert entry.values == {"overall": 85, "tone": 4}
        # A change that the server has refused when it was saved by itself is not left behind.
        page.locator("#back").click()
        expect(number).to_have_value("85")
        is_ready(page)
        number.fill("850")
        page.clock.fast_forward(3_000)
        expect(page.locator("#banner")).to_contain_text("850")
        page.locator("#next").click()
        is_ready(page)
        expect(number).to_have_value("850")
        number.press("c")
        expect(page.locator("input[type=checkbox][value=cannot]")).to_be_checked()
        page.locator("#next").click()
        expect(number).to_have_value("")
        is_ready(page)
        # Refused once there is a connection again: what is entered then is a draft all the same.
        page.context.set_offline(True)
        number.fill("850")
        page.clock.fast_forward(3_000)
        expect(page.locator("#banner")).to_contain_text("No connection")
        page.context.set_offline(False)
        expect(page.locator("#banner")).to_contain_text("850")
        number.fill("85")
        page.reload()
        expect(number).to_have_value("85")
        is_ready(page)
        # Refused when the one behind it is saved.
        held: list[Route] = []

        def hold_first(route: Route) -> None:
            held.append(route)
            if len(held) > 1:
                route.continue_()

        page.route("**/api/items/*", hold_first)
        with page.expect_request("**/api/items/*"):
            number.fill("850")
            page.clock.fast_forward(3_000)
        number.fill("86")
        page.clock.fast_forward(3_000)
        with page.expect_response(lambda response: response.ok and "/api/items/" in response.url):
            held[0].continue_()
        expect(page.locator("#banner")).to_contain_text("850")
        page.locator("#comment").fill("late thought")
        page.reload()
        expect(page.locator("#comment")).to_have_value("late thought")
        expect(number).to_have_value("86")
        page.unroute_all(behavior="wait")


def test_a_draft_does_not_cover_a_newer_rating(visitor: Visitor, site: Site):
    phone = visitor.visit(site, "anna")
    practise(phone)
    rate_by_keyboard(phone, "1")
    context = phone.context
    phone.close()
    # On another device.
    rate_over_http(site, "anna", count=1)
    phone = visitor.visit_again(context, site, "anna")
    expect(phone.locator("#progress")).to_contain_text("2 of 13")
    rate_by_keyboard(phone, "Backspace")
    expect(phone.locator("#ratings input:checked").first).to_have_value("4")
    # A draft of another tab is left alone by one in which nothing was entered.
    tab = visitor.visit_again(context, site, "anna")
    expect(tab.locator("#progress")).to_contain_text("2 of 13")
    is_ready(tab)
    tab.locator("#back").click()
    expect(tab.locator("#ratings input:checked").first).to_have_value("4")
    is_ready(tab)
    tab.locator("#comment").fill("on second thoughts")
    tab.close()
    is_ready(phone)
    phone.locator("#next").click()
    expect(phone.locator("#ratings input:checked")).to_have_count(0)
    is_ready(phone)
    phone.locator("#back").click()
    expect(phone.locator("#comment")).to_have_value("on second thoughts")
    assert len(site.study.history(find_rater(site, "anna"), read_item(site, "anna", 2).token)) == 1


def test_a_link_that_could_not_be_sent_is_sent_after_a_reload(visitor: Visitor, site: Site):
    page = visitor.open()
    page.route("**/session", lambda route: route.abort())
    page.goto(f"{site.address}/enter?lang=zh#{site.secrets['anna']}")
    expect(page.locator("#status")).to_have_text(load_texts("zh")["enter_unreached"])
    page.unroute_all(behavior="wait")
    page.reload()
    page.wait_for_url(f"{site.address}/?lang=zh")
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")


def test_the_last_answer_can_be_changed(visitor: Visitor, site: Site):
    """From the page at the end, by keyboard and by mouse; also after the owner has stopped the study."""
    rate_over_http(site, "anna")
    page = visitor.visit(site, "anna")
    for leave, value in (("Backspace", 1), (None, 2)):
        expect(page.locator("#end")).to_contain_text("All done")
        if leave:
            page.keyboard.press(leave)
        else:
            page.locator("#last").click()
        expect(page.locator("#work")).to_be_visible()
        rate_by_keyboard(page, str(value), "Enter", "Enter")
        expect(page.locator("#end")).to_be_visible()
        assert list_saved(site, "anna")[-1] == (13, {"accuracy": value, "completeness": 3.0})
    rate_over_http(site, "ben", count=2)
    stop(site.study, reason="enough")
    page = visitor.visit(site, "ben")
    expect(page.locator("#end")).to_contain_text("The study has ended")
    page.keyboard.press("Backspace")
    expect(page.locator("#work")).to_be_visible()
    rate_by_keyboard(page, "1", "Enter", "Enter")
    expect(page.locator("#end")).to_be_visible()
    assert list_saved(site, "ben")[-1] == (2, {"accuracy": 1, "completeness": 3.0})


def test_time_counts_while_the_rater_is_active(visitor: Visitor, site: Site):
    """Within a minute of the last sign of life; the page's clock is set by the test."""
    page = visitor.open()
    page.clock.install()
    visitor.enter(page, site, "anna")
    practise(page)
    # The clock also runs by itself, as fast as the machine is.
    begun = time.monotonic()
    for idle in (50_000, 45_000, 3_600_000, 20_000):
        page.clock.fast_forward(idle)
        page.keyboard.press("Shift")
    rate_by_keyboard(page, "4", "Enter", "2", "Enter")
    expect(page.locator("#progress")).to_contain_text("2 of 13")
    entry = read_item(site, "anna", 2).entry
    assert entry is not None
    # The hour in which nothing was done does not count.
    assert 115 <= entry.seconds <= 116 + time.monotonic() - begun


def test_no_rule_of_axe_is_broken(visitor: Visitor, site: Site):
    """On all pages: before the link is exchanged, practice, feedback, an answer, the end, and the owner's.

    In light and in dark colours.
    """
    for name, options in (
        ("anna", {}),
        ("ben", {"locale": "zh-CN", "viewport": {"width": 390, "height": 844}}),
    ):
        page = visitor.open(**options)
        page.goto(f"{site.address}/enter")
        expect(page.locator("#status")).not_to_be_empty()
        check_accessibility(page)
        page = visitor.visit_again(page.context, site, name)
        expect(page.locator("#work")).to_be_visible()
        rate_by_keyboard(page, "4", "Enter", "2", "Enter")
        expect(page.locator("#feedback")).to_be_visible()
        check_accessibility(page)
        page.locator("#continue").click()
        expect(page.locator("#feedback")).not_to_be_visible()
        is_ready(page)
        mark_words(page, "w", "ArrowRight", "d")
        expect(page.locator("#response mark")).to_have_count(2)
        check_accessibility(page)
        rate_over_http(site, name)
        page.reload()
        expect(page.locator("#end")).to_be_visible()
        check_accessibility(page)
    page = visitor.visit(site, "owner")
    expect(page.locator("h2").first).to_be_visible()
    check_accessibility(page)


def check_accessibility(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options={"rules": {"color-contrast": {"enabled": True}}}).response["violations"]
        assert [(scheme, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def mark_words(page: Page, *keys: str) -> None:
    """Press keys in the response, to which a keyboard has given the focus."""
    page.keyboard.press("Tab")
    page.locator("#response").focus()
    expect(page.locator("#response .caret")).not_to_have_count(0)
    for key in keys:
        page.keyboard.press(key)


def drag(page: Page, words: str, *, below: bool = False) -> None:
    """Select words of the response by mouse; with `below`, the mouse ends below the response."""
    find = """words => {
        const walker = document.createTreeWalker(document.getElementById("response"), NodeFilter.SHOW_TEXT);
        while (!walker.nextNode().data.includes(words));
        const range = new Range(), start = walker.currentNode.data.indexOf(words);
        range.setStart(walker.currentNode, start);
        range.setEnd(walker.currentNode, start + words.length);
        return range.getBoundingClientRect().toJSON();
    }"""
    place = page.evaluate(find, words)
    middle = (place["top"] + place["bottom"]) / 2
    page.mouse.move(place["left"] + 1, middle)
    page.mouse.down()
    page.mouse.move(place["right"] + (100 if below else 0), middle + (100 if below else 0), steps=4)
    page.mouse.up()


def rate_over_http(site: Site, name: str, *, count: int = 13) -> None:
    """Rate what is left, at most so much."""
    for _ in range(count):
        item = site.ask("/api/next", secret=site.secrets[name])[1]["item"]
        if item is None:
            return
        entry = enter(values={"accuracy": 4.0, "completeness": 3.0})
        assert site.ask(f"/api/items/{item['token']}", entry, secret=site.secrets[name])[0] == 200


def practise(page: Page) -> None:
    expect(page.locator("#work")).to_be_visible()
    rate_by_keyboard(page, "4", "Enter", "2", "Enter")
    page.locator("#continue").click()
    expect(page.locator("#progress")).to_contain_text("1 of 13")
    is_ready(page)


def find_rater(site: Site, name: str) -> Rater:
    rater = site.study.identify(site.secrets[name])
    assert rater is not None
    return rater


def read_item(site: Site, name: str, position: int) -> Item:
    return site.study.item_at(find_rater(site, name), position)


def list_saved(site: Site, name: str) -> list[tuple[int, dict[str, float]]]:
    """Return positions and ratings of what a rater has saved."""
    done = site.study.progress(find_rater(site, name)).done
    items = [read_item(site, name, place) for place in range(1, done + 1)]
    return [(item.position, item.entry.values) for item in items if item.entry is not None]


def test_an_entry_that_is_not_admitted_waits(visitor: Visitor, site: Site):
    """A browser or proxy that tells it wrongly, or a network's page for signing in: nothing is dropped.

    The page says why it waits.
    """
    page = visitor.visit(site, "anna")
    practise(page)

    def send_from_elsewhere(route: Route) -> None:
        headers = {**route.request.headers, "sec-fetch-site": "cross-site"}
        route.fulfill(response=route.fetch(headers=headers))

    page.route("**/api/items/*", send_from_elsewhere)
    rate_by_keyboard(page, "5", "Enter", "1", "Enter")
    expect(page.locator("#banner")).to_contain_text("another page")
    page.unroute_all(behavior="wait")
    expect(page.locator("#progress")).to_contain_text("2 of 13")
    assert list_saved(site, "anna")[-1] == (2, {"accuracy": 5, "completeness": 1})
    page.route("**/api/items/*", lambda route: route.fulfill(content_type="text/html", body="<h1>Sign in</h1>"))
    rate_by_keyboard(page, "4", "Enter", "2", "Enter")
    expect(page.locator("#banner")).to_contain_text("No connection")
    page.unroute_all(behavior="wait")
    expect(page.locator("#progress")).to_contain_text("3 of 13")
    assert list_saved(site, "anna")[-1] == (3, {"accuracy": 4, "completeness": 2})


def test_an_entry_that_is_refused_stays_on_the_page(visitor: Visitor, site: Site):
    page = visitor.visit(site, "anna")
    practise(page)

    def spoil(route: Route) -> None:
        entry: dict[str, Any] = route.request.post_data_json or {}
        route.continue_(post_data=entry | {"confidence": 9})

    page.route("**/api/items/*", spoil)
    page.locator("#comment").fill("long thought about")
    page.locator("#question-title").focus()
    rate_by_keyboard(page, "5", "Enter", "1", "Enter")
    expect(page.locator("#banner")).to_contain_text("confidence")
    expect(page.locator("#comment")).to_have_value("long thought about")
    page.unroute_all(behavior="wait")
    page.reload()
    expect(page.locator("#comment")).to_have_value("long thought about")
    is_ready(page)
    page.locator("#next").click()
    expect(page.locator("#progress")).to_contain_text("2 of 13")
    assert list_saved(site, "anna")[-1] == (2, {"accuracy": 5, "completeness": 1})
    is_ready(page)
    # What another tab adds while the refusal arrives is sent, too.
    page.evaluate("""() => {
        const read = Response.prototype.json;
        Response.prototype.json = async function () {
            const content = await read.call(this);
            const key = Object.keys(localStorage).find((one) => one.includes("-queue:"));
            if (this.status === 422) {
                const added = {token: "other", entry: {client_id: "another-tab"}};
                localStorage[key] = JSON.stringify([...JSON.parse(localStorage[key]), added]);
            }
            return content;
        };
    }""")
    page.route("**/api/items/*", spoil)
    with page.expect_request("**/api/items/other"):
        rate_by_keyboard(page, "5", "Enter", "1", "Enter")
    page.unroute_all(behavior="wait")


def test_what_a_rater_who_left_entered_is_kept(visitor: Visitor, site: Site):
    page = visitor.visit(site, "anna")
    practise(page)
    reassign(site.study, "anna", to="chen")
    rate_by_keyboard(page, "5", "Enter", "1", "Enter")
    expect(page.locator("#banner")).to_contain_text("personal link")
    kept = page.evaluate(
        "Object.keys(localStorage).filter((key) => key.startsWith('imapeval-queue')).map((key) => localStorage[key])"
    )
    assert len(json.loads(kept[0])) == 1


def test_two_links_in_one_browser_do_not_mix(visitor: Visitor, site: Site):
    """What waits for the first rater is sent neither by nor for the second, but with a new link of the first."""
    anna = visitor.visit(site, "anna")
    practise(anna)
    # Refused by the server: a page that closes without a connection may get it back for a moment, and send.
    site.secrets["anna"] = issue_links(site.study, ["anna"], again=True)["anna"]
    rate_by_keyboard(anna, "5", "Enter", "1", "Enter")
    expect(anna.locator("#banner")).to_contain_text("personal link")
    context = anna.context
    anna.close()
    ben = visitor.visit_again(context, site, "ben")
    practise(ben)
    expect(ben.locator("#banner")).not_to_contain_text("could not")
    assert len(list_saved(site, "anna")) == 1
    ben.close()
    anna = visitor.visit_again(context, site, "anna")
    expect(anna.locator("#progress")).to_contain_text("2 of 13")
    assert list_saved(site, "anna")[-1] == (2, {"accuracy": 5, "completeness": 1})


def test_a_page_that_another_link_has_overtaken(visitor: Visitor, site: Site):
    """The first rater's page shows nothing of the second one's, and what is entered on it waits for the first link."""
    anna = visitor.visit(site, "anna")
    practise(anna)
    expect(anna.locator("#question")).to_contain_text("ailment")
    ben = visitor.visit_again(anna.context, site, "ben")
    expect(ben.locator("#work")).to_be_visible()
    anna.locator("#comment").fill("long thought about")
    anna.locator("#question-title").focus()
    rate_by_keyboard(anna, "5", "Enter", "1", "Enter")
    expect(anna.locator("#banner")).to_contain_text("personal link")
    expect(anna.locator("#question")).to_contain_text("ailment")
    assert list_saved(site, "ben") == []
    anna = visitor.visit_again(anna.context, site, "anna")
    expect(anna.locator("#progress")).to_contain_text("2 of 13")
    assert list_saved(site, "anna")[-1] == (2, {"accuracy": 5, "completeness": 1})


def test_a_browser_that_keeps_nothing(visitor: Visitor, site: Site):
    """As with blocked site data: the page works, and says what it cannot do."""
    page = visitor.visit(site, "anna")
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('', 'SecurityError'); }});"
    )
    page.reload()
    expect(page.locator("#problem")).to_contain_text("Do not close")
    practise(page)
    rate_by_keyboard(page, "5", "Enter", "1", "Enter")
    expect(page.locator("#progress")).to_contain_text("2 of 13")


def test_an_adjudicator_sees_ratings_without_names(visitor: Visitor, site: Site):
    for name, value in (("anna", 1.0), ("ben", 5.0)):
        while (found := site.ask("/api/next", secret=site.secrets[name])[1])["item"] is not None:
            entry = {
                "client_id": f"{name}-{found['item']['position']:08}",
                "values": {"accuracy": value},
                "cannot_judge": {"completeness": f"why {value:g}"},
                "comment": f"I gave {value:g}",
                "spans": [{"kind": "missing", "text": f"what {value:g} lacks"}],
                "confidence": 2,
            }
            assert site.ask(f"/api/items/{found['item']['token']}", entry, secret=site.secrets[name])[0] == 200
    secret = adjudicate(site.study, ["secret-id-3", "secret-id-7"], by="zoe").secret
    assert secret is not None
    site.secrets["zoe"] = secret
    page = visitor.visit(site, "zoe")
    expect(page.locator("#progress")).to_contain_text("0 of 2")
    expect(page.locator("#note")).not_to_be_empty()
    rows = page.locator("#earlier-table tbody tr")
    expect(rows).to_have_count(2)
    shown = sorted(rows.all_inner_texts(), key=lambda row: "I gave 5" in row)
    for value, row in zip(("1", "5"), shown, strict=True):
        cells = (value, f"Cannot judge: why {value}", f"missing: what {value} lacks", "Fairly sure", f"I gave {value}")
        assert tuple(row.split("\t")[1:]) == cells
    for name in ("anna", "ben", "Alphabot", "Betabot", "Gammabot", "secret-id"):
        assert name not in page.content()
    check_accessibility(page)
    for _ in range(2):
        rate_by_keyboard(page, "4", "Enter", "3", "Enter")
    expect(page.locator("#end")).to_contain_text("All done")
    rows = read_ratings(Path(site.study.database.place))
    # What was settled stands beside the ratings and is none of them.
    assert sorted(rows.raters) == ["anna", "ben"]


def test_half_of_the_raters_see_facts(visitor: Visitor, tmp_path: Path):
    marks = {one.id: [Fact(start=6, end=14, term="treatment", value="tea 阿司匹林")] for one in ANSWERS}
    with serve(str(tmp_path / "study.db"), StudyContent(ANSWERS, facts=marks), facts=True) as site:
        counts: list[int] = []
        for name in ("anna", "ben"):
            page = visitor.visit(site, name)
            expect(page.locator("#work")).to_be_visible()
            facts = page.locator("#response .fact")
            counts.append(facts.count())
            if counts[-1]:
                assert "".join(facts.all_inner_texts()) == "tea 阿司匹林"
                # Marks of the rater's own go over it.
                mark_words(page, "ArrowRight", "w")
                expect(page.locator("#response mark.fact")).to_have_text("tea")
                check_accessibility(page)
            page.context.close()
        assert sorted(min(count, 1) for count in counts) == [0, 1]
