"""What the programs in benchmarks/ do with input that the documentation's commands do not have."""

import importlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.metrics.registry import get
from imapeval.report.run_page import write_report
from imapeval.types import Sample, Score

Load = Callable[[str], Any]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Import a program by name, beside those that it imports."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return lambda name: importlib.import_module(f"benchmarks.{name}")


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Take 2.5 mg of it twice daily with food. Rest.", "Take 2.5 mg of it twice daily with food."),
        ("Hello there. Take it twice daily with food, please!", "Take it twice daily with food, please!"),
        ("您好。这种病多半可以在家里休养。请多喝水。", "这种病多半可以在家里休养。"),
    ],
)
def test_a_claim_is_a_whole_sentence(load: Load, text: str, claim: str) -> None:
    assert load("judge_bias").find_claim(text) == claim


@pytest.mark.parametrize("name", ["judge_bias", "judge_designs"])
def test_requests_are_written_to_a_new_folder(load: Load, tmp_path: Path, name: str) -> None:
    load(name).write(tmp_path / "a" / "b", [])
    assert any((tmp_path / "a" / "b").iterdir())


@pytest.mark.parametrize("what", ["write", "read"])
def test_a_missing_file_is_an_error_of_usage(load: Load, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr("sys.argv", ["attacks.py", what])
    with pytest.raises(SystemExit) as error:
        load("attacks").main()
    assert error.value.code == 2


def test_an_odd_number_of_answers_with_two_to_a_question(load: Load) -> None:
    coverage = load("coverage")
    scores, ratings, questions = coverage.draw(coverage.Setting(5, 0.3, False, True), 5, np.random.default_rng(0))
    assert (len(scores), len(ratings)) == (5, 5)
    assert questions.tolist() == [0, 0, 1, 1, 2]


def test_items_in_one_of_two_readings_are_counted(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    ours = [["t", item, {"m": 1.0}, True, "read", ""] for item in ("a", "b", "c")]
    theirs = {("t", item): {"m": value} for item, value in (("a", 1.0), ("d", 1.0), ("e", 0.0), ("f", 0.0))}
    load("closed_logs").compare("log", ours, theirs)
    # Their mean is 2 of 4, ours 3 of 3; b to f are in one reading only.
    assert capsys.readouterr().out == "| log | t m | 3 | 0.500 | 1.000 | 5 | 1.000 | 0 | read 3 |\n"


def test_a_metric_without_a_score_in_both_runs(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [Sample(name, "What helps?", ("Rest.",), "Rest.") for name in ("a", "b")]
    for name in ("a", "b"):
        settings = RunSettings({"m": "m"})
        with RunWriter(tmp_path / name, samples, settings=settings, options={"device": "cpu"}) as run:
            run.add(imaps=[], results=[Result(name, "m", Score(1.0), "m")])
            run.finish()
    monkeypatch.setattr("sys.argv", ["gpu.py", str(tmp_path / "a"), str(tmp_path / "b")])
    with pytest.raises(SystemExit, match="no answer has a score by m in both runs"):
        load("gpu").main()


def test_the_coverage_of_labels_is_measured(
    load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    intervals = load("score_intervals")
    monkeypatch.setattr(intervals, "LARGE", 200)
    intervals.cover_labels(np.random.default_rng(0), 1)
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| labels | n | right | accuracy | f1-micro | f1-macro | f1-weighted |"
    assert len(rows) == 3 * 2 * 2
    assert all(row.count("%") == 4 for row in rows)


def test_answers_are_scored_in_batches(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    speed = load("speed")
    monkeypatch.setattr(speed, "BATCH", 2)
    cases = speed.repeat([Sample("a", "What helps?", ("Rest.",), "Rest.")], 3, mark="n")
    seen: list[str] = []
    monkeypatch.setattr(type(get("rouge1")), "score", lambda _, case: seen.append(case.response) or 1.0)
    speed.score(("rouge1",), cases)
    assert seen == ["Rest. n0", "Rest. n1", "Rest. n2"]


@pytest.mark.parametrize(("workers", "firsts", "most"), [(4, 4, 384), (6, 6, 576), (3, 3, 288), (1, 0, 32)])
def test_requests_in_flight_at_kills(load: Load, workers: int, firsts: int, most: int) -> None:
    # docs/runs.md: at most 64 requests in flight, 32 of them a worker's.
    assert load("worker_kills").count_in_flight(workers, firsts) == most


def test_the_owners_page_is_loaded_however_short_the_study(load: Load) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    done, times = threading.Event(), list[float]()
    done.set()
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        load("rating_server").watch(server.server_port, "secret", done, times)
        server.shutdown()
        thread.join()
    assert len(times) == 1


def test_the_newest_postgresql_is_found(load: Load, tmp_path: Path) -> None:
    postgresql = load("postgresql")
    assert postgresql.find_programs(tmp_path) is None
    for version in ("9.6", "15", "10"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "initdb").touch()
    assert postgresql.find_programs(tmp_path) == tmp_path / "15" / "bin"


@pytest.mark.parametrize("name", ["everyday", "field", "free", "short", "value"])
def test_tables_without_splits_or_sorts(load: Load, name: str) -> None:
    rows = list(load("relations").read_pairs(Path(__file__).parents[1] / "benchmarks" / f"{name}_pairs.tsv"))
    assert rows
    assert all({"reference", "response", "lang", "expected", "split", "sort"} <= row.keys() for row in rows)


@pytest.mark.slow
def test_every_change_of_a_page_that_is_timed_is_made(load: Load, tmp_path: Path, browser: Browser) -> None:
    report_page = load("report_page")
    report_page.write_run(tmp_path / "run", 40)
    with browser.new_page() as page:
        page.goto(write_report(tmp_path / "run").as_uri())
        for name, selector, value, event in report_page.CHANGES:
            page.evaluate(report_page.CHANGE, [selector, value, event])
            # A list that lacks the value would be empty.
            assert event == "click" or page.locator(selector).input_value() == value, name
