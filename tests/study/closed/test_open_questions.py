from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.study.closed.choices import Choice
from imapeval.study.closed.logs import ClosedAnswer
from imapeval.study.closed.open_questions import correlate_forms, count_forms, join_open_answers
from imapeval.types import Failure, Sample, Score

MODELS = ("one", "two")
N = 80


def know(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each model chose the right option, and its open score, both shape (2, N): what it knows moves both."""
    rng = np.random.default_rng(seed)
    known = rng.normal(size=(2, N)) + np.array([[0.3], [-0.3]])
    chosen = known + 0.7 * rng.normal(size=(2, N)) > 0
    scores = np.round(1 / (1 + np.exp(-known - 0.7 * rng.normal(size=(2, N)))), 3)
    return chosen, scores


def close(chosen: np.ndarray) -> list[ClosedAnswer]:
    return [
        ClosedAnswer(
            "t", model, f"q{n}", "", "", ("A", "B"), (), frozenset("A"), "", Choice("AB"[int(not right)], "read")
        )
        for model, row in zip(MODELS, chosen, strict=True)
        for n, right in enumerate(row)
    ]


@pytest.fixture
def write_open(tmp_path: Path) -> Callable[..., Run]:
    def write(scores: np.ndarray, *, column: str | None = None) -> Run:
        samples = [
            Sample(f"{model}{n}" if column else f"q{n}" if len(scores) == 1 else f"{model}-q{n}", f"{n}?", ("r",), "a",
                   "en", model, meta={column: f"q{n}"} if column else {})
            for model, row in zip(MODELS, scores, strict=False) for n in range(len(row))
        ]  # fmt: skip
        with RunWriter(tmp_path / "open", samples, settings=RunSettings({"m": "m|v:1"})) as writer:
            values = [float(value) for row in scores for value in row]
            outcomes = [Failure("metric", "no-query", "?") if np.isnan(v) else Score(v) for v in values]
            results = [Result(s.id, "m", o, "m|v:1") for s, o in zip(samples, outcomes, strict=True)]
            writer.add(imaps=[], results=results)
            writer.finish()
        return Run(tmp_path / "open")

    return write


def test_items_are_joined_by_model_and_id(write_open: Callable[..., Run]):
    chosen, scores = know(0)
    rated = join_open_answers(close(chosen), write_open(scores, column="item"), metric="m", item_column="item")
    assert len(rated.ids) == 2 * N
    rows = {(row.level, row.system): row for row in correlate_forms(rated)}
    for number, model in enumerate(MODELS):
        row = rows["within-system", model]
        assert row.value == pytest.approx(stats.spearmanr(scores[number], chosen[number]).statistic)
        assert row.low is not None
        assert row.high is not None
        assert row.low < row.value < row.high
    overall = stats.spearmanr(scores.ravel(), chosen.ravel()).statistic
    assert rows["global", "*"].value == pytest.approx(overall)
    found = count_forms(rated, threshold=0.5)
    for number, row in enumerate(found):
        opened = scores[number] >= 0.5
        assert (row.both, row.closed_only) == ((chosen[number] & opened).sum(), (chosen[number] & ~opened).sum())
        assert row.both + row.closed_only + row.open_only + row.neither == row.items == N
        assert row.mean_choice == pytest.approx(chosen[number].mean())


def test_one_model_and_answers_without_a_score(write_open: Callable[..., Run]):
    chosen, scores = know(1)
    scores[0, :10] = np.nan
    rated = join_open_answers(close(chosen), write_open(scores[:1]), metric="m")
    (found,) = count_forms(rated, threshold=0.5)
    assert (found.model, found.items) == ("one", N - 10)
    assert {row.level for row in correlate_forms(rated)} == {"within-system"}


def test_the_interval_holds_the_known_relation(write_open: Callable[..., Run]):
    """Of one large study: the coefficient of 20,000 questions is the truth."""
    known = np.random.default_rng(9).normal(size=20_000) + 0.3
    noise = 0.7 * np.random.default_rng(10).normal(size=(2, 20_000))
    truth = stats.spearmanr(known + noise[0], known + noise[1] > 0).statistic
    chosen, scores = know(2)
    rated = join_open_answers(close(chosen), write_open(scores[:1]), metric="m")
    row = next(row for row in correlate_forms(rated) if row.system == "one")
    assert row.low is not None
    assert row.high is not None
    assert row.low < truth < row.high


def test_what_cannot_be_joined(write_open: Callable[..., Run]):
    chosen, scores = know(0)
    run = write_open(scores, column="item")
    for options in ({"metric": "none"}, {"metric": "m"}, {"metric": "m", "item_column": "row"}):
        with pytest.raises(UsageError):
            join_open_answers(close(chosen), run, **options)
