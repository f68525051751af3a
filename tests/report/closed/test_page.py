"""The page of closed answers: what stands on it, in words, and in a browser."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape
from playwright.sync_api import Page

from imapeval.cli.closed_tables import print_closed
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.report.closed.page import render_closed, write_closed
from imapeval.study.closed.choices import Choice
from imapeval.study.closed.findings import ClosedFindings, analyse_closed_answers
from imapeval.study.closed.logs import ClosedAnswer
from imapeval.study.closed.open_metrics import analyse_open_answers
from imapeval.types import Failure, Sample, Score
from tests.report.conftest import check_rules

HOSTILE = "m</style><img src=x onerror=\"document.title='broken'\">"
MODELS = ("a/long-name-of-a-model-125M-Instruct", HOSTILE, "third")
N = 40
OPTIONS = ("aspirin", "rest", "tea")


def draw_answers(rng: np.random.Generator) -> list[ClosedAnswer]:
    """Three models, two tasks, two orders of the options in one of them, two runs of two models."""
    readings = ("refused", "several", "cut", "unread")
    found: list[ClosedAnswer] = []
    for number, model in enumerate(MODELS):
        for n in range(N):
            for task, turn, run in [("medqa", 0, "1"), ("medqa", 0, "2"), ("care", 0, "1"), ("care", 1, "1")]:
                options = OPTIONS[::-1] if turn else OPTIONS
                gold = "ABC"[options.index("aspirin")]
                right = rng.random() < (0.8, 0.5, 0.45)[number]
                choice = Choice(gold if right else "B", "read")
                if n % 9 == number:
                    choice = Choice(None, readings[n % 4])
                scores = {"acc": float(right)} if task == "care" else {}
                item = f"q{n}/{turn}" if turn else f"q{n}"
                found.append(
                    ClosedAnswer(task, model, item, run, f"{n}?", tuple("ABC"), options, frozenset(gold), "?", choice,
                                 scores)
                )  # fmt: skip
    return [answer for answer in found if answer.run == "1" or answer.model != "third"]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> ClosedFindings:
    rng = np.random.default_rng(2)
    answers = draw_answers(rng)
    samples = [
        Sample(f"{m}-{n}", f"{n}?", ("r",), "a", "en", model, meta={"item": f"q{n}"})
        for m, model in enumerate(MODELS) for n in range(N)
    ]  # fmt: skip
    samples += [
        replace(sample, id=f"{sample.id}#1", response="b", meta={"original": sample.id}) for sample in samples[:N]
    ]
    names = {name: f"{name}|v:1" for name in ("imapscore", "rouge1", "perplexity")}
    values = rng.random((len(samples), 3))
    folder = tmp_path_factory.mktemp("open") / "run"
    with RunWriter(folder, samples, settings=RunSettings(names)) as writer:
        writer.add(
            imaps=[],
            results=[
                Result(
                    sample.id,
                    name,
                    Failure("metric", "no-query", HOSTILE) if row % 11 == 0 else Score(float(values[row, column])),
                    names[name],
                )
                for row, sample in enumerate(samples)
                for column, name in enumerate(names)
            ],
        )
        writer.finish()
    opened = analyse_open_answers(answers, [Run(folder)], metric="imapscore", item_column="item")
    return analyse_closed_answers(answers, opened, margin=0.05)


def test_every_section_explains_its_table(findings: ClosedFindings):
    page = render_closed(findings, sources=["logs/<a>"])
    sections = page.split("<section ")[1:]
    titles = [section.partition('"')[2].partition('"')[0] for section in sections]
    assert titles == [
        *("conclusions", "scores", "accuracy", "unread", "comparisons", "orders", "open", "metrics", "methods")
    ]
    for section in sections:
        assert "<table" not in section or section.index('class="note"') < section.index("<table"), section[:60]
    for model in MODELS:
        assert escape(model) in page
    assert HOSTILE not in page
    # Of what the numbers say.
    for row in findings.models:
        assert f"{row.accuracy:.3f}".removeprefix("0") in page
    assert "logs/&lt;a&gt;" in page
    for part in (
        "Accuracy by order of the options",
        "open form",
        "Clusters of metrics",
        "reversed_pairs",
        "relaxed-perplexity.model=FOLDER",
    ):
        assert part in page


def test_one_model_without_anything_else():
    answers = [answer for answer in draw_answers(np.random.default_rng(0)) if answer.model == "third"]
    bare = [
        replace(answer, task="", scores={}, choice=Choice("A", "read"), options=())
        for answer in answers
        if answer.task == "medqa"
    ]
    page = render_closed(analyse_closed_answers(bare), sources=["a"])
    assert "Every answer chooses an option." in page
    # A share and its interval have the same unit.
    (ends,) = re.findall(r"in ([\d.]+)% of the answers .*\(95% interval ([\d.]+)% to ([\d.]+)%\)", page)
    share, low, high = map(float, ends)
    assert low < share <= high
    assert 'id="comparisons"' not in page
    assert 'id="open"' not in page


def test_up_to_the_threshold_where_low_scores_are_good(findings: ClosedFindings, capsys: pytest.CaptureFixture[str]):
    """As `count_forms` counts."""
    assert findings.open is not None
    for metric, said in (("imapscore", "imapscore from 20 on"), ("perplexity", "perplexity up to 20")):
        found = replace(findings, open=replace(findings.open, metric=metric, threshold=20.0))
        print_closed(found)
        for text in (render_closed(found, sources=["logs"]), " ".join(capsys.readouterr().out.split())):
            assert f"Right in open form: {said}" in text


def test_what_it_says_of_intervals_and_languages_is_true(findings: ClosedFindings):
    """Shares have Wilson's interval and scores that are none a bootstrap's; statements are read in three languages."""
    page = render_closed(findings, sources=["logs"])
    sections = {part.partition('"')[2].partition('"')[0]: part for part in page.split("<section ")[1:]}
    assert "Wilson" in sections["comparisons"]
    for language in ("English", "Chinese", "French"):  # docs/closed.md, rule 2
        assert language in sections["unread"]
    for way in ("Wilson", "bootstrap", "jackknife"):
        assert way in sections["methods"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
def test_no_rule_of_axe_is_broken(
    scheme: str, width: int, findings: ClosedFindings, tmp_path: Path, open_page: Callable[..., Page]
):
    path = tmp_path / "closed.html"
    write_closed(findings, path, sources=["logs"])
    page = open_page(path, color_scheme=scheme, viewport={"width": width, "height": 900})
    assert page.title().startswith("What the models")
    check_rules(page)
