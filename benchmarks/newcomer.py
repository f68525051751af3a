"""Timed first steps of a new user: an Excel file with two columns of answers, three commands, the page in Chromium.

python benchmarks/newcomer.py
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from openpyxl import Workbook
from playwright.sync_api import sync_playwright

from imapeval.evaluation.samples import read

COMMANDS = (
    ["score", "answers.xlsx", "--map", "response=system-a,system-b", "--out", "run"],
    ["compare", "run"],
    ["report", "run"],
)


def main() -> None:
    """Print the seconds of each step, and the first line of its output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_workbook(folder / "answers.xlsx")
        for command in COMMANDS:
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "imapeval", *command],
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"{time.perf_counter() - start:5.1f} s  imapeval {' '.join(command)}")
            if command[0] == "compare":
                found = done.stdout.splitlines()
                print("         ", found[0])
                print("         ", next(line for line in found if "lost most against" in line))
        browse(folder / "run" / "report.html")


def write_workbook(path: Path) -> None:
    """Write the shipped English sample, a row per question, a column per system."""
    answers: dict[str, dict[str, str]] = {}
    for sample in read("sample-en"):
        row = answers.setdefault(
            sample.question,
            {"question": sample.question, "task": str(sample.meta["task"]), "reference": sample.references[0]},
        )
        row[sample.system] = sample.response
    heads = ["question", "task", "reference", "system-a", "system-b"]
    book = Workbook()
    sheet = book.worksheets[0]
    sheet.append(heads)
    for row in answers.values():
        sheet.append([row[head] for head in heads])
    book.save(path)


def browse(page: Path) -> None:
    """Open the page, go to the answers that contradict their reference, and read why the first has its score."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page()
        start = time.perf_counter()
        tab.goto(page.resolve().as_uri())
        first = tab.locator("#findings li").first.inner_text()
        print(f"{time.perf_counter() - start:5.1f} s  the page is open; it begins: {json.dumps(first)}")
        start = time.perf_counter()
        tab.get_by_role("link", name="Show them").first.click()
        reason = tab.locator("#sample .reason").inner_text()
        seconds = time.perf_counter() - start
        print(f"{seconds:5.1f} s  an answer that contradicts its reference: {json.dumps(reason[:160])}")
        browser.close()


if __name__ == "__main__":
    main()
