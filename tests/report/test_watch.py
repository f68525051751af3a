"""The page of a run that goes on, of one that was interrupted, and of one that has finished."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.llm.middleware.budget import Ledger
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Usage
from imapeval.report import run_page
from imapeval.report.run_page import watch_run, write_report
from imapeval.types import Failure, Outcome, Sample, Score
from tests.report.conftest import check_rules

SAMPLES = [Sample(f"a{n}", f"Q{n}", ("r",), "a") for n in range(4)]
COMMAND = ["/bin/imapeval", "score", "data.jsonl"]


def result(n: int, outcome: Outcome) -> Result:
    return Result(f"a{n}", "m", outcome, "m|v:1")


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[RunWriter]:
    """A run that goes on: one answer is scored, one has failed, two are to come."""
    ledger = Ledger(price=Price(1.0, 4.0))
    settings = RunSettings({"m": "m|v:1"}, ranges={"m": (0.0, 1.0)})
    with RunWriter(tmp_path / "run", SAMPLES, settings=settings, command=COMMAND, ledger=ledger) as writer:
        ledger.record_call(Usage(1000, 100))
        writer.add(imaps=[], results=[result(0, Score(0.5)), result(1, Failure("llm", "timeout", "no reply"))])
        yield writer


def test_a_run_that_goes_on_tells_how_far_it_is_and_what_it_has_cost(writer: RunWriter):
    page, status = next(watch_run(writer.folder))
    assert (status.kind, status.done, status.total) == ("live", 2, 4)
    assert "USD 0.0014" in status.text
    source = page.read_text(encoding="utf-8")
    for part in ('<progress max="4" value="2"', "1 of 4 answers could not be scored", "The first 2 of 4 answers"):
        assert part in source
    assert len(json.loads(source.partition('id="data">')[2].partition("</script>")[0])["samples"]) == 2


def test_watching_ends_with_the_run(writer: RunWriter, monkeypatch: pytest.MonkeyPatch):
    def work(_: float) -> None:
        writer.add(imaps=[], results=[result(n, Score(0.25)) for n in (2, 3)])
        writer.finish()

    monkeypatch.setattr(run_page.time, "sleep", work)
    *_, before, (page, after) = watch_run(writer.folder)
    assert (before[1].kind, after.kind, after.done) == ("live", "finished", 4)
    source = page.read_text(encoding="utf-8")
    assert "The run finished on " in source
    assert "<progress" not in source


def test_a_run_that_was_interrupted_says_so_and_how_to_go_on(writer: RunWriter):
    writer.__exit__(None, None, None)
    ((page, status),) = watch_run(writer.folder)
    assert status.kind == "stopped"
    assert f"imapeval score data.jsonl --out {writer.folder}" in status.text
    assert "2 of 4 answers" in page.read_text(encoding="utf-8")


def test_only_the_page_that_is_watched_loads_itself_again(writer: RunWriter):
    assert 'id="live"' in next(watch_run(writer.folder))[0].read_text(encoding="utf-8")
    assert 'id="live"' not in write_report(writer.folder).read_text(encoding="utf-8")


def run_command(folder: Path) -> subprocess.Popen[str]:
    # Python leaves Ctrl-C ignored where it inherits that, as from the shell of a job in the background.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from imapeval.cli.main import run; run()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, "report", str(folder), "--watch"], stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_the_first_page_loads_itself_again_although_no_answer_has_an_outcome(
    tmp_path: Path, open_page: Callable[..., Page]
):
    settings = RunSettings({"m": "m|v:1"}, ranges={"m": (0.0, 1.0)})
    with RunWriter(tmp_path / "run", SAMPLES, settings=settings) as writer:
        page = open_page(next(watch_run(writer.folder))[0])
        expect(page.locator("#live")).to_be_visible()


@pytest.mark.slow
def test_the_command_says_how_the_run_ended(writer: RunWriter):
    writer.__exit__(None, None, None)
    process = run_command(writer.folder)
    assert "interrupted" in process.communicate(timeout=60)[1]
    assert process.returncode == 1


@pytest.mark.slow
def test_a_command_that_is_stopped_leaves_a_page_that_stands_still(writer: RunWriter):
    process = run_command(writer.folder)
    assert process.stderr is not None
    assert "in progress" in process.stderr.readline()
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert 'id="live"' not in (writer.folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_browser_shows_the_end_without_being_asked(writer: RunWriter, open_page: Callable[..., Page]):
    page = open_page(next(watch_run(writer.folder))[0], "#sample=a1")
    expect(page.locator(".status")).to_contain_text("2 of 4 answers done")
    check_rules(page)
    writer.add(imaps=[], results=[result(n, Score(0.25)) for n in (2, 3)])
    writer.finish()
    next(watch_run(writer.folder))
    expect(page.locator(".status")).to_contain_text("finished", timeout=30_000)
    expect(page.locator("#sample .id")).to_have_text("a1")
    assert page.locator("#live").count() == 0
