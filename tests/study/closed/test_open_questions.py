from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.cluster import hierarchy

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.runs import Run
from imapeval.study.closed.choices import Choice
from imapeval.study.closed.findings import OPEN_FORM, analyse_closed_answers
from imapeval.study.closed.logs import ClosedAnswer
from imapeval.study.closed.open_metrics import analyse_open_answers, cut_clusters
from imapeval.study.closed.open_questions import correlate_forms, count_forms, join_open_answers
from imapeval.study.correlation.metric_matrix import correlate_metrics
from imapeval.types import Sample
from tests.study.answers import make_rated

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
        for model, row in zip(MODELS, chosen, strict=False)
        for n, right in enumerate(row)
    ]


@pytest.fixture
def write_open(write_run: Callable[..., Run]) -> Callable[..., Run]:
    def write(scores: np.ndarray, *, column: str | None = None) -> Run:
        samples = [
            Sample(f"{model}{n}" if column else f"q{n}" if len(scores) == 1 else f"{model}-q{n}", f"{n}?", ("r",), "a",
                   "en", model, meta={column: f"q{n}"} if column else {})
            for model, row in zip(MODELS, scores, strict=False) for n in range(len(row))
        ]  # fmt: skip
        return write_run(
            "open", samples, {"m": [None if np.isnan(value) else value for value in scores.ravel().tolist()]}
        )

    return write


def test_items_are_joined_by_model_and_id(write_open: Callable[..., Run]):
    chosen, scores = know(0)
    rated = join_open_answers(close(chosen), [write_open(scores, column="item")], item_column="item").rated
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
    found = count_forms(rated, "m", threshold=0.5)
    for number, row in enumerate(found):
        opened = scores[number] >= 0.5
        assert (row.both, row.closed_only) == ((chosen[number] & opened).sum(), (chosen[number] & ~opened).sum())
        assert row.both + row.closed_only + row.open_only + row.neither == row.items == N
        assert row.mean_choice == pytest.approx(chosen[number].mean())
        assert row.closed_only_ids == tuple(f"{MODELS[number]}{n}" for n in np.flatnonzero(chosen[number] & ~opened))
        assert len(row.open_only_ids) == row.open_only


def test_one_model_and_answers_without_a_score(write_open: Callable[..., Run]):
    chosen, scores = know(1)
    scores[0, :10] = np.nan
    rated = join_open_answers(close(chosen), [write_open(scores[:1])]).rated
    (found,) = count_forms(rated, "m", threshold=0.5)
    assert (found.model, found.items) == ("one", N - 10)
    assert {row.level for row in correlate_forms(rated)} == {"within-system"}


def test_the_interval_holds_the_known_relation(write_open: Callable[..., Run]):
    """Of one large study: the coefficient of 20,000 questions is the truth."""
    known = np.random.default_rng(9).normal(size=20_000) + 0.3
    noise = 0.7 * np.random.default_rng(10).normal(size=(2, 20_000))
    truth = stats.spearmanr(known + noise[0], known + noise[1] > 0).statistic
    chosen, scores = know(2)
    rated = join_open_answers(close(chosen), [write_open(scores[:1])]).rated
    row = next(row for row in correlate_forms(rated) if row.system == "one")
    assert row.low is not None
    assert row.high is not None
    assert row.low < truth < row.high


def test_what_cannot_be_joined(write_open: Callable[..., Run]):
    chosen, scores = know(0)
    run = write_open(scores, column="item")
    with pytest.raises(UsageError):
        analyse_open_answers(close(chosen), [run], metric="none", item_column="item")
    for column in (None, "row"):
        with pytest.raises(UsageError):
            join_open_answers(close(chosen), [run], item_column=column)
    with pytest.raises(UsageError, match="no closed questions"):
        join_open_answers([], [run], item_column="item")
    # One id for two questions, as harnesses number the items of each task from 0.
    numbered = [replace(answer, question=f"{task}?", task=task) for task in "tu" for answer in close(chosen)]
    with pytest.raises(UsageError, match="'q0'"):
        join_open_answers(numbered, [run], item_column="item")


def make_samples(model: str, *, original: bool = False) -> list[Sample]:
    if original:
        meta = [{"original": f"q{n}"} for n in range(N)]
        return [Sample(f"q{n}#1", f"{n}?", ("r",), "b", "en", model, meta=meta[n]) for n in range(N)]
    return [Sample(f"q{n}", f"{n}?", ("r",), "a", "en", model) for n in range(N)]


def test_several_runs_hold_other_metrics_other_models_and_rewordings(write_run: Callable[..., Run]):
    chosen, scores = know(3)
    one, two = scores.tolist()
    runs = [
        write_run("a", make_samples("one"), {"m": one, "rouge1": one}),
        # The metric that each model computes itself has a signature of its own.
        write_run("b", make_samples("two"), {"m": two, "rouge1": two}, version="1|model:two"),
        write_run("c", make_samples("one"), {"perplexity": [2 - value for value in one]}),
        write_run("d", make_samples("one", original=True), {"m": [value + 0.1 for value in one]}),
    ]
    found = analyse_open_answers(close(chosen), runs, metric="m")
    assert [row.items for row in found.forms] == [N, N]
    rows = {(row.metric, row.level, row.system): row.value for row in found.correlations}
    expected = stats.spearmanr(one, chosen[0]).statistic
    for metric in ("m", "rouge1", "perplexity"):  # of which low is good: 2 - x is as good as x
        assert rows[metric, "within-system", "one"] == pytest.approx(expected), metric
    assert rows["perplexity", "within-system", "two"] is None
    assert set(map(frozenset, found.clusters)) == {frozenset({"m", "rouge1", "perplexity"})}
    moved = {(row.metric, row.kind, row.statistic): row for row in found.robustness}
    assert moved["m", "rewording", "change"].value == pytest.approx(0.1)
    assert moved["m", "rewording", "spearman"].value == pytest.approx(1)
    assert moved["rouge1", "rewording", "change"].value is None
    assert "rouge1" not in found.missing
    assert {"bleu", "relaxed-perplexity", "prometheus"} < set(found.missing)
    first = [row for row in found.leaderboards if row.metric == "right choice"]
    assert [row.mean for row in first] == pytest.approx(sorted(chosen.mean(axis=1), reverse=True))
    # The same model in two ways is no one metric.
    runs[2] = write_run("e", make_samples("one"), {"m": one}, version="2")
    with pytest.raises(InputError, match="v:2"):
        join_open_answers(close(chosen), runs)


@pytest.mark.parametrize("models", [1, 2])
def test_the_best_model_of_open_answers_is_one_of_several(models: int, write_open: Callable[..., Run]):
    chosen, scores = know(0)
    answers = close(chosen[:models])
    opened = analyse_open_answers(answers, [write_open(scores[:models], column="item")], metric="m", item_column="item")
    rows = [row for row in analyse_closed_answers(answers, opened).scores if row.task == OPEN_FORM]
    assert sum(row.best for row in rows if row.metric == "m") == models - 1


def test_several_answers_to_an_item(write_run: Callable[..., Run]):
    """An item asked in other words, or sampled again: counted once, and its spread measured."""
    chosen, scores = know(4)
    samples = [
        Sample(f"{n}-{turn}", f"{n}, {turn}?", ("r",), "a", "en", "one", meta={"item": f"q{n}"})
        for n in range(N) for turn in range(2)
    ]  # fmt: skip
    values = [float(value) + shift for value in scores[0] for shift in (-0.1, 0.1)]
    run = write_run("a", samples, {"m": values})
    found = analyse_open_answers(close(chosen), [run], metric="m", item_column="item")
    (counts,) = found.forms
    assert counts.items == N
    assert counts.both + counts.open_only == (scores[0] >= 0.5).sum()
    spread = {row.statistic: row.value for row in found.robustness}
    assert spread["within_sd"] == pytest.approx(np.std([-0.1, 0.1], ddof=1))


def test_clusters_are_those_of_scipy():
    """Two metrics alike, two others alike, and one on its own: cut as scipy 1.17.1's fcluster cuts the same tree."""
    rng = np.random.default_rng(5)
    bases = rng.normal(size=(100, 3))
    scores = np.column_stack([bases[:, place] + 0.3 * rng.normal(size=100) for place in (0, 1, 0, 1, 2)])
    found = cut_clusters(correlate_metrics(make_rated(scores, np.zeros(100), metrics=tuple("abcde"))))
    distances = 1 - np.abs(stats.spearmanr(scores).statistic)
    tree = hierarchy.linkage(distances[np.triu_indices(5, 1)], method="average")
    labels = hierarchy.fcluster(tree, 0.5, criterion="distance")
    expected = {frozenset(name for name, of in zip("abcde", labels, strict=True) if of == label) for label in labels}
    assert set(map(frozenset, found)) == expected == {frozenset("ac"), frozenset("bd"), frozenset("e")}
