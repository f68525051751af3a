"""The page of tasks that are not multiple choice, in words and in a browser."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape
from playwright.sync_api import Page

from imapeval.report.closed.page import render_closed, write_closed
from imapeval.report.closed.scores import render_pairs
from imapeval.study.closed.drbenchmark.results import TaskTest
from imapeval.study.closed.drbenchmark.runs import TaskRun
from imapeval.study.closed.drbenchmark.tasks import Task
from imapeval.study.closed.findings import ClosedFindings, analyse_closed_answers
from tests.report.conftest import check_rules

HOSTILE = "m</style><img src=x onerror=\"document.title='broken'\">"
TASK = Task(name="topic", kind="labels", metrics=("accuracy", "f1-macro"))


def draw(model: str, run: int, share: float, quality: float) -> TaskRun:
    rng = np.random.default_rng(run)
    answers = {str(n): ("ab"[n % 2], "ab"[n % 2 if rng.random() < quality else 1 - n % 2]) for n in range(60)}
    return TaskRun(TASK, model, str(run), share, answers)


@pytest.fixture(scope="module")
def findings() -> ClosedFindings:
    models = {"good": 0.95, HOSTILE: 0.5}
    runs = [draw(m, run, share, q * share**0.2) for m, q in models.items() for run in range(3) for share in (0.25, 1.0)]
    return analyse_closed_answers([], runs=runs, missing={("topic", HOSTILE): 7})


def test_what_stands_on_it(findings: ClosedFindings):
    page = render_closed(findings, sources=["table.jsonl"])
    assert "significantly better than all others" in page
    # Answers of all runs, of which several may be to one item.
    assert f"7 answers of {escape(HOSTILE)} to topic" in page
    for part in ("table.jsonl", "Pairs of models", "With less training data", "25%"):
        assert part in page
    assert HOSTILE not in page


def test_one_model_and_one_run():
    page = render_closed(analyse_closed_answers([], runs=[draw("only", 1, 1.0, 0.8)]), sources=["a"])
    for absent in ("conclusions", "pairs", "curves", "accuracy", "unread", "comparisons"):
        assert f'<section id="{absent}"' not in page


def test_a_difference_near_zero():
    test = TaskTest("topic", "accuracy", "a", "b", 0.0004, 0.0002, 0.0006, 0.001, 0.001, None)
    cells = re.findall("<td[^>]*>(.*?)</td>", str(render_pairs([test, replace(test, difference=-0.0004)], [])))
    assert {"+0.0004", "−0.0004"} < set(cells)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1300, 390])
def test_no_rule_of_axe_is_broken(width: int, findings: ClosedFindings, tmp_path: Path, open_page: Callable[..., Page]):
    path = tmp_path / "tasks.html"
    write_closed(findings, path, sources=["table.jsonl"])
    page = open_page(path, viewport={"width": width, "height": 900})
    assert page.title().startswith("What the models")
    check_rules(page)
