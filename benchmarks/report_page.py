"""How fast the page of a run is in Chromium: `python benchmarks/report_page.py [--answers 10000]`.

Writes a run of made-up answers of four systems, with texts as long as those of the imapScore data (1,100 characters an
answer), eight metrics and some ten compared pairs of facts an answer. Opens its page from the file in a fresh headless
Chromium, several times, and prints a Markdown table: from the start of loading until the list and the first answer are
painted, and from each change until its result is painted. Needs the extra `test` (playwright) and Debian's `chromium`.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.report.run_page import write_report
from imapeval.types import Imap, Match, Pair, Relation, Sample, Score

SYSTEMS = ("alpha", "beta", "gamma", "delta")
METRICS = ("imapscore", "imapscore:paper", "imapscore:mean", "rouge1", "rouge2", "rougeL", "bleu", "chrf")
ROUNDS = 5

PAINTED = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
)

CHANGE = """([selector, value, event]) => new Promise((done) => {
  const element = document.querySelector(selector);
  const begun = performance.now();
  if (event === "click") element.click();
  else { element.value = value; element.dispatchEvent(new Event(event, { bubbles: true })); }
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun), 0));
})"""

CHANGES = (
    ("first search, which reads all texts", "#search", "abscess", "input"),
    ("another search", "#search", "value 99", "input"),
    ("search cleared", "#search", "", "input"),
    ("filter by a column", "#filters label:nth-of-type(2) select", "treatment", "change"),
    ("order by a score", "#filters label:last-of-type select", "lowest", "change"),
    ("change to the matrix", "#views [value=matrix]", "", "click"),
    ("search in the matrix", "#search", "value 7", "input"),
    ("next answer", "#sample .steps button:last-child", "", "click"),
)


def write_run(folder: Path, answers: int) -> None:
    """Write a run of made-up answers."""
    rng = random.Random(0)
    words = [f"word{number}" for number in range(3_000)] + ["abscess", "fever", "drainage"]
    samples: list[Sample] = []
    imaps: list[ImapRecord] = []
    results: list[Result] = []
    for number in range(answers):
        question, system = divmod(number, len(SYSTEMS))
        draw = random.Random(question)
        reference_values = [f"value {question} {k}" for k in range(4)]
        response_values = [f"value {question} {k}" if rng.random() < 0.4 else f"other {number} {k}" for k in range(4)]
        reference = ", ".join(reference_values) + ". " + " ".join(draw.choices(words, k=50))
        response = ", ".join(response_values) + ". " + " ".join(rng.choices(words, k=60))
        asked = f"Question {question}? " + " ".join(draw.choices(words, k=30))
        meta = {
            "task": ("treatment", "diagnosis", "advice")[question % 3],
            "ward": question % 7,
            "age": rng.randrange(90),
        }
        id_ = f"q{question}:{SYSTEMS[system]}"
        samples.append(Sample(id_, asked, (reference,), response, "en", SYSTEMS[system], {}, meta))
        matches = tuple(
            Match(
                "treatment",
                ours,
                theirs,
                Relation.EXACT if ours == theirs else Relation.UNMATCHED,
                1.0 if ours == theirs else 0.2,
                "encoder",
                {"why": "nothing known of the two"},
            )
            for ours in reference_values
            for theirs in dict.fromkeys(response_values)
            if ours == theirs or rng.random() < 0.6
        )
        pairs = [tuple(Pair("treatment", value) for value in values) for values in (reference_values, response_values)]
        imaps.append(ImapRecord(id_, Imap((Pair("treatment", "?"),), (), pairs[0], pairs[1]), matches))
        for metric in METRICS:
            parts = {"recall": rng.random(), "precision": rng.random(), "f1": rng.random(), "contradictions": 0.0}
            results.append(Result(id_, metric, Score(rng.random(), parts), f"{metric}|v:1"))
    settings = RunSettings({metric: f"{metric}|v:1" for metric in METRICS}, ranges=dict.fromkeys(METRICS, (0.0, 1.0)))
    with RunWriter(folder, samples, settings=settings, source="made-up.jsonl") as writer:
        writer.add(imaps=imaps, results=results)
        writer.finish()


def measure(page: Page, path: Path) -> dict[str, tuple[float, float]]:
    """Return milliseconds until the result was painted, and of CPU on the page's main thread, by what was done."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def count_cpu() -> float:
        metrics = {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}
        return 1000 * metrics["TaskDuration"]

    spent = count_cpu()
    page.goto(path.resolve().as_uri(), wait_until="load")
    page.wait_for_selector("#sample .figures")
    found = {"opening, until list and first answer are painted": (float(page.evaluate(PAINTED)), count_cpu() - spent)}
    for name, selector, value, event in CHANGES:
        spent = count_cpu()
        wall = float(page.evaluate(CHANGE, [selector, value, event]))
        found[name] = (wall, count_cpu() - spent)
    return found


def main() -> None:
    """Write the run and its page, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--answers", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        write_run(folder, given.answers)
        begun = time.process_time()
        path = write_report(folder)
        seconds, size = time.process_time() - begun, path.stat().st_size
        rounds: list[dict[str, tuple[float, float]]] = []
        with sync_playwright() as playwright:
            for _ in range(ROUNDS):
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                rounds.append(measure(browser.new_page(), path))
                browser.close()
    print(f"{given.answers:,} answers, {size / 1e6:.1f} MB, written in {seconds:.1f} s of CPU\n")
    print("| ms | lowest | median | CPU, median |\n|---|---|---|---|")
    for name in rounds[0]:
        walls = [of_round[name][0] for of_round in rounds]
        cpu = statistics.median(of_round[name][1] for of_round in rounds)
        print(f"| {name} | {min(walls):.0f} | {statistics.median(walls):.0f} | {cpu:.0f} |")


if __name__ == "__main__":
    main()
