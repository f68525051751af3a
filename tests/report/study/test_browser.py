"""The study's page in a real browser. CI installs Debian's `chromium`; without one these tests are skipped."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from imapeval.evaluation.runs import Run
from imapeval.report.study.page import write_study
from imapeval.study.subgroups.outlier_systems import WithoutOutliers
from imapeval.study.summary.checklist import ChecklistItem
from imapeval.study.summary.compute import Study

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH (Debian: apt-get install chromium)"),
]
# Root cannot use the sandbox; the rest keeps the browser from looking for its maker's hosts.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
]

PHONE = 360
"""Width of the narrowest phones in use, in CSS pixels."""

FRAME = """<iframe id="page" src="study.html" style="width:{width}px;height:900px;border:0"></iframe><p id="said"></p>
<script>document.getElementById("page").addEventListener("load", (event) => {{
  const page = event.target.contentDocument.documentElement;
  const heights = [...page.querySelectorAll("svg text")].map((text) => text.getBoundingClientRect().height);
  const smallest = Math.min(...heights.filter((height) => height > 0));
  document.getElementById("said").textContent = `width ${{page.scrollWidth}} smallest ${{smallest}}`;
}});</script>"""


def load(page: Path, tmp_path: Path, *flags: str, fragment: str = "") -> tuple[str, list[str]]:
    """Return the document after its script has run, and what the browser complained of."""
    command = [str(CHROMIUM), *FLAGS, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run([*command, page.as_uri() + fragment], capture_output=True, timeout=60, check=True)
    complaints = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
    return done.stdout.decode(), complaints


def test_texts_behind_a_disagreement_and_no_complaint(of_run: tuple[Study, Run], tmp_path: Path):
    study, run = of_run
    page = tmp_path / "study.html"
    write_study(study, page, runs=[run])
    dom, complaints = load(page, tmp_path, fragment="#sample=a%2F1%20%C3%BC")
    assert not complaints
    assert re.search(r'<mark class="containment"[^>]*>Incision and drainage</mark>', dom)
    assert "rating: accuracy" in dom
    # What the test would see if the policy were broken.
    page.write_text(page.read_text(encoding="utf-8").replace("<main>", '<main style="color: red">'), encoding="utf-8")
    _, complaints = load(page, tmp_path)
    assert any("Content Security Policy" in line for line in complaints)


def test_a_phone_shows_it_without_moving_sideways(small: Study, tmp_path: Path):
    write_study(replace(small, comparisons=small.comparisons[:1]), tmp_path / "study.html")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=PHONE))
    dom, complaints = load(frame, tmp_path, "--allow-file-access-from-files", "--window-size=800,1000")
    assert not complaints
    said = re.search(r"width (\d+) smallest ([\d.]+)", dom)
    assert said, "the frame saw nothing"
    assert int(said[1]) <= PHONE
    # Of the smallest words that are open to view; the box of a word is a fifth higher than its size.
    assert float(said[2]) >= 7


@pytest.mark.parametrize("width", [1300, 390])
def test_no_rule_of_axe_is_broken(width: int, small: Study, tmp_path: Path, open_page: Callable[..., Page]):
    items = (ChecklistItem("GRRAS 8", "blinding", missing="whether raters knew the system", key="blinding"),)
    row = WithoutOutliers("m", "accuracy", "pearson", ("s",), 0.98, 0.42, 7)
    path = tmp_path / "study.html"
    write_study(replace(small, checklist=items, outliers=(row,)), path)
    page = open_page(path, viewport={"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((folded) => { folded.open = true })")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
