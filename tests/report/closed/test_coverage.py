"""What is known of the intervals stands beside them where it applies, on the page and on the command line."""

import html

import numpy as np
import pytest

from imapeval.cli.closed_tables import print_closed
from imapeval.report.closed.page import render_closed
from imapeval.study.closed.choices import Choice
from imapeval.study.closed.drbenchmark.runs import TaskRun
from imapeval.study.closed.drbenchmark.tasks import Task
from imapeval.study.closed.findings import ClosedFindings, analyse_closed_answers
from imapeval.study.closed.logs import ClosedAnswer
from imapeval.study.intervals.coverage import (
    OVER_ITEMS,
    describe_accuracy_coverage,
    describe_difference_coverage,
    describe_mean_coverage,
    describe_task_coverage,
    describe_test_coverage,
)

TASK = Task(name="topic", kind="labels", metrics=("accuracy",))


def answer(items: int, *, runs: int = 1, grouped: bool = False) -> list[ClosedAnswer]:
    """Answers of two models, right in 80 and 50%; with groups, three questions each."""
    rng = np.random.default_rng(0)
    return [
        ClosedAnswer(
            *("exam", model, str(n), str(run), "", ("A", "B"), (), frozenset("A"), None),
            choice=Choice("AB"[int(rng.random() > quality)], "read"),
            group=str(n // 3) if grouped else "",
        )
        for model, quality in (("one", 0.8), ("two", 0.5))
        for run in range(runs)
        for n in range(items)
    ]


def solve(items: int, *, runs: int = 1, quality: float = 0.8) -> list[TaskRun]:
    """Runs of two models on a task, with an error in every few items, and on a quarter of the training data."""
    return [
        TaskRun(
            TASK,
            model,
            str(run),
            share,
            {str(n): ("a", "b" if (n + run) % round(1 / (1 - quality)) == place else "a") for n in range(items)},
        )
        for place, model in enumerate(("one", "two"))
        for run in range(runs)
        for share in (0.25, 1.0)
    ]


def show(found: ClosedFindings, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Return the text of the page and that of the command."""
    page = html.unescape(render_closed(found, sources=["logs"]))
    print_closed(found)
    return page, " ".join(capsys.readouterr().out.split())


def test_of_one_run(capsys: pytest.CaptureFixture[str]):
    few, many = analyse_closed_answers(answer(12)), analyse_closed_answers(answer(100))
    said = [*describe_accuracy_coverage(few.models), *describe_difference_coverage(few.differences)]
    assert len(said) == 2
    for text in show(few, capsys):
        assert all(sentence in text for sentence in said)
    for text in show(many, capsys):
        assert "coverage" not in text


def test_of_groups_of_questions(capsys: pytest.CaptureFixture[str]):
    few, many = analyse_closed_answers(answer(90, grouped=True)), analyse_closed_answers(answer(180, grouped=True))
    (said,) = describe_mean_coverage([30])
    for text in show(few, capsys):
        assert said in text
    for text in show(many, capsys):
        assert said not in text


def test_of_several_runs(capsys: pytest.CaptureFixture[str]):
    several = analyse_closed_answers(answer(60, runs=2))
    said = describe_test_coverage([60], several=True)
    assert len(said) == 2
    for text in show(several, capsys):
        assert all(sentence in text for sentence in [OVER_ITEMS, *said])


def test_of_other_tasks(capsys: pytest.CaptureFixture[str]):
    few, many = (analyse_closed_answers([], runs=solve(items)) for items in (20, 100))
    said = [*describe_task_coverage(few.results), *describe_test_coverage([20], several=False)]
    assert len(said) == 2
    for text in show(few, capsys):
        assert all(sentence in text for sentence in said)
    for text in show(many, capsys):
        assert "coverage" not in text
    several = analyse_closed_answers([], runs=solve(100, runs=2))
    said = [*describe_task_coverage(several.results), *describe_test_coverage([100], several=True)]
    assert len(said) == 2
    for text in show(several, capsys):
        assert all(sentence in text for sentence in said)
