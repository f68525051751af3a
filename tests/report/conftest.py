from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.types import Failure, Imap, Match, Pair, Relation, Sample, Score

HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"><!--<script>&lt;b&gt; \u2028"
"""Ends a script element, opens one, opens a comment, and holds an entity that must not be read as one."""

SAMPLES = [
    Sample(
        "a/1 ü",
        "How is 😀 an abscess treated?",
        ("Rest.", "Surgical drainage and rest."),
        "😀 Incision and drainage; antibiotics.",
        system="one",
        ratings={"accuracy": 4.5},
        meta={"task": "treatment", "dataset": "D"},
    ),
    Sample("b", HOSTILE, (HOSTILE,), HOSTILE, system=HOSTILE),
    Sample("c", "头痛怎么办？", ("多休息。",), "", "zh", "one"),
]
RECORD = ImapRecord(
    "a/1 ü",
    Imap(
        (Pair("treatment", "?"),),
        (Pair("disease", "abscess"),),
        (Pair("treatment", "Surgical drainage", (0, 17)), Pair("advice", "rest")),
        (Pair("treatment", "Incision and drainage", (2, 23)), Pair("treatment", "antibiotics", (25, 36))),
        reference_index=1,
    ),
    (
        Match(
            "treatment",
            "Surgical drainage",
            "Incision and drainage",
            Relation.CONTAINMENT,
            0.8,
            "graph",
            {
                "reference": {"concept": "C1", "label": "drainage", "name": "drainage", "how": "kind", "score": 0.6},
                "response": {"concept": "C2", "label": "incision", "name": "incision", "how": "exact", "score": 1.0},
                "path": [
                    {"concept": "C2", "label": "incision", "zh": "切开"},
                    {"concept": "C3", "label": "opening"},
                    {"concept": "C1", "label": "drainage"},
                ],
                "steps": ["is a", "part of"],
                "confidence": "high",
            },
        ),
        Match("treatment", "Surgical drainage", "antibiotics", Relation.UNMATCHED, 0.1, "encoder", {"why": "nobody"}),
    ),
)
RESULTS = [
    Result("a/1 ü", "m", Score(0.8, {"recall": 0.9, "reference": 1.0}), "m|v:1"),
    # A part of this name need not be the number of a reference: a metric of another package may call a length so.
    Result("b", "m", Score(0.25, {"reference": 97.0}), "m|v:1"),
    Result("c", "m", Failure("extraction", "no-query", HOSTILE, f"raw {HOSTILE}"), "m|v:1"),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A small run with everything that a page must survive."""
    folder = tmp_path / "run"
    settings = RunSettings({"m": "m|v:1"}, extractor="lexicon|v:1", resources={"graph": "abc"})
    with RunWriter(
        folder, SAMPLES, settings=settings, source="my data.jsonl", command=["/bin/imapeval", "score"]
    ) as writer:
        writer.add(imaps=[RECORD], results=RESULTS)
        writer.finish()
    return folder


def check_rules(page: Page) -> None:
    """Check axe-core's rules and that the page is no wider than the window, with all that is folded laid open."""
    page.evaluate("document.querySelectorAll('details').forEach((folded) => { folded.open = true })")
    assert page.viewport_size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page from its file; afterwards, the browser must have complained of nothing and loaded only files."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []
    requested: list[str] = []

    def open_(path: Path, fragment: str = "", **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: requested.append(request.url))
        page.goto(path.resolve().as_uri() + fragment)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not complaints
    assert {address.partition(":")[0] for address in requested} == {"file"}
