"""The study's page in a real browser."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from imapeval.evaluation.runs import Run
from imapeval.report.study.page import write_study
from imapeval.study.subgroups.outlier_systems import WithoutOutliers
from imapeval.study.summary.checklist import ChecklistItem
from imapeval.study.summary.compute import Study
from tests.report.conftest import check_rules

pytestmark = pytest.mark.slow

OpenPage = Callable[..., Page]

PHONE = 360
"""Width of the narrowest phones in use, in CSS pixels."""


def test_texts_behind_a_disagreement_and_no_complaint(of_run: tuple[Study, Run], tmp_path: Path, open_page: OpenPage):
    study, run = of_run
    write_study(study, tmp_path / "study.html", runs=[run])
    page = open_page(tmp_path / "study.html", "#sample=a%2F1%20%C3%BC")
    assert "Incision and drainage" in page.locator("mark.containment").all_inner_texts()
    expect(page.locator("body")).to_contain_text("rating: accuracy")


def test_a_breach_of_the_policy_would_be_seen(small: Study, tmp_path: Path, browser: Browser):
    path = tmp_path / "study.html"
    write_study(replace(small, comparisons=(), slices=()), path)
    path.write_text(path.read_text(encoding="utf-8").replace("<main>", '<main style="color: red">'), encoding="utf-8")
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(path.as_uri())
    page.close()
    assert any("Content Security Policy" in text for text in complaints)


def test_a_phone_shows_it_without_moving_sideways(small: Study, tmp_path: Path, open_page: OpenPage):
    write_study(replace(small, comparisons=small.comparisons[:1]), tmp_path / "study.html")
    page = open_page(tmp_path / "study.html", viewport={"width": PHONE, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    heights = page.locator("svg text").evaluate_all("texts => texts.map((one) => one.getBoundingClientRect().height)")
    # Of the words that are open to view; the box of a word is a fifth higher than its size.
    assert min(height for height in heights if height > 0) >= 7


@pytest.mark.parametrize("width", [1300, 390])
def test_no_rule_of_axe_is_broken(width: int, small: Study, tmp_path: Path, open_page: OpenPage):
    items = (ChecklistItem("GRRAS 8", "blinding", missing="whether raters knew the system", key="blinding"),)
    row = WithoutOutliers("m", "accuracy", "pearson", ("s",), 0.98, 0.42, 7)
    path = tmp_path / "study.html"
    write_study(replace(small, checklist=items, outliers=(row,)), path)
    page = open_page(path, viewport={"width": width, "height": 900})
    check_rules(page)
