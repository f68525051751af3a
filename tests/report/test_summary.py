import random

import pytest
import sacrebleu

from imapeval.evaluation.runs import Result
from imapeval.evaluation.runs.outcomes import Outcomes
from imapeval.evaluation.samples import index_samples
from imapeval.metrics.lexical import bleu
from imapeval.report.summary import SummaryRow, describe_mean, format_contradictions, summarise
from imapeval.report.thresholds import Threshold, check_thresholds
from imapeval.types import Failure, Sample, Score


def test_rows_per_metric_and_system():
    samples = [Sample(f"{s}{q}", q, ("r",), "a", "en", s, {}, {"dataset": "D"}) for s in "xy" for q in ("q", "p")]
    outcomes = [Score(1.0), Score(0.0), Score(0.5), Failure("metric", "no-query", "?")]
    results = [Result(sample.id, "m", outcome, "m") for sample, outcome in zip(samples, outcomes, strict=True)]
    every, x, y, absent, *_ = summarise(samples, results, metrics=["m", "n"], ranges={}, seed=0)
    assert (every.system, every.n, every.failed, every.mean) == ("", 3, 1, 0.5)
    assert every.low is not None
    assert every.low < 0.5 < every.high
    assert (x.system, x.n, x.failed, x.mean) == ("D/x", 2, 0, 0.5)
    # scipy 1.16: binomtest(1, 2).proportion_ci(method="wilson")
    assert (x.low, x.high) == pytest.approx((0.0945, 0.9055), abs=1e-4)
    assert y == SummaryRow("m", "D/y", 1, 1, 0.5, None, None)  # one answer: nothing to draw from
    assert absent == SummaryRow("n", "", 0, 0, None, None, None)


@pytest.mark.parametrize(
    ("metric", "ranges", "highest"),
    [
        ("exact-match", {"exact-match": (0.0, 1.0)}, 1.0),
        # A run that says nothing of ranges has those of the registry.
        ("token-f1", {}, 1.0),
        # The judge's own scale is 0:5; a prompt from a file is not in the registry.
        ("judge", {"judge": (0.0, 10.0)}, 10.0),
        ("geval:mine", {"geval:mine": (0.0, 10.0)}, 10.0),
    ],
)
def test_twenty_right_of_twenty_are_no_certainty_on_the_scale_of_the_run(
    metric: str, ranges: dict[str, tuple[float, float]], highest: float
):
    samples = [Sample(str(n), str(n), ("r",), "r") for n in range(20)]
    results = [Result(sample.id, metric, Score(highest), "m") for sample in samples]
    (row,) = summarise(samples, results, metrics=[metric], ranges=ranges, seed=0)
    # scipy 1.16: binomtest(20, 20).proportion_ci(method="wilson")
    assert (row.low, row.high) == pytest.approx((0.8389 * highest, highest), abs=1e-4 * highest)


def test_questions_that_an_interval_resamples_are_counted():
    samples = [Sample(str(n), f"q{n % 4}", ("r",), "r") for n in range(60)]
    results = [Result(sample.id, "m", Score(n / 60), "m") for n, sample in enumerate(samples)]
    shares = [Result(sample.id, "right", Score(float(n % 2)), "m") for n, sample in enumerate(samples)]
    rows = summarise(samples, results + shares, metrics=["m", "right"], ranges={}, seed=0)
    assert [(row.n, row.resampled, row.low is None) for row in rows] == [(60, 4, False), (60, 0, False)]


def test_white_space_makes_no_other_question_to_resample():
    samples = [Sample(str(n), "q " + ("p" if n % 2 else " p "), ("r",), "r") for n in range(6)]
    (row,) = summarise(
        samples, [Result(s.id, "m", Score(int(s.id) / 6), "m") for s in samples], metrics=["m"], ranges={}, seed=0
    )
    assert (row.n, row.low) == (6, None)  # one question: nothing to draw from


def test_the_order_in_which_a_model_replied_changes_nothing():
    samples = [Sample(str(n), f"q{n % 9}", ("r",), "r", "en", "xyz"[n % 3]) for n in range(60)]
    random.seed(1)
    scores = [Score(random.random(), {"contradictions": float(n % 2)}, ((random.random(), 0.5),)) for n in range(60)]
    outcomes = [Failure("metric", "no-query", "?") if n % 7 == 0 else score for n, score in enumerate(scores)]
    metrics = ["imapscore", "m"]
    results = [Result(one.id, m, outcome, m) for one, outcome in zip(samples, outcomes, strict=True) for m in metrics]
    rows = summarise(samples, results, metrics=metrics, ranges={}, seed=0)
    repeated = Outcomes(results, metrics, index_samples(samples)).repeated
    for _ in range(5):
        random.shuffle(results)
        assert summarise(samples, results, metrics=metrics, ranges={}, seed=0) == rows
        assert Outcomes(results, metrics, index_samples(samples)).repeated == repeated


def test_one_system_has_one_row():
    assert len(summarise([Sample("a", "q", ("r",), "a")], [], metrics=["m"], ranges={}, seed=0)) == 1


def test_answers_without_a_system_are_not_all_of_them():
    samples = [Sample("a", "q", ("r",), "a", "en", "x"), Sample("b", "p", ("r",), "a", "en")]
    results = [Result("a", "m", Score(1.0), "m"), Result("b", "m", Score(0.0), "m")]
    rows = summarise(samples, results, metrics=["m"], ranges={}, seed=0)
    assert [(row.system, row.n, row.mean) for row in rows] == [("", 2, 0.5), ("x", 1, 1.0), ("(no system)", 1, 0.0)]
    (verdict,) = check_thresholds([Threshold("m", 0.5)], rows, samples=2)
    assert (verdict.met, verdict.mean, verdict.pending) == (True, 0.5, 0)


def count(*parts: float | None, metric: str = "imapscore") -> list[SummaryRow]:
    samples = [Sample(str(n), str(n), ("r",), "a", "en", "xy"[n % 2]) for n in range(len(parts) + 1)]
    scores = [Score(0.5, {} if number is None else {"contradictions": number}) for number in parts]
    outcomes = [*scores, Failure("metric", "no-query", "?")]
    results = [Result(str(n), metric, outcome, "m") for n, outcome in enumerate(outcomes)]
    return summarise(samples, results, metrics=[metric], ranges={}, seed=0)


def test_contradictions_are_summed():
    assert [(row.system, row.contradictions) for row in count(2.0, 0.0, 3.0)] == [("", 5.0), ("x", 5.0), ("y", 0.0)]
    # Means over three references: ten times a third of .1 is not exactly a third.
    assert count(*[0.1] * 3)[0].contradictions == 0.3
    # Of an answer of an earlier version nobody knows; of no answer nothing.
    assert count(2.0, None)[0].contradictions is None
    assert count()[0].contradictions is None
    assert count(2.0, metric="theirs")[0].contradictions is None


def test_contradictions_in_words():
    assert [format_contradictions(number) for number in (None, 0.0, 10.0, 1.5, 4 / 3)] == [
        "–",
        "0",
        "10",
        "1.5",
        "1.33",
    ]


@pytest.mark.parametrize("block", [1, 2, 1000])
def test_corpus_bleu_stands_beside_the_mean_of_sentences(block: int, monkeypatch: pytest.MonkeyPatch):
    """As sacrebleu computes it; not all samples have two references."""
    monkeypatch.setattr(bleu, "_CORPUS_BLOCK", block)
    samples = [
        Sample("a", "q", ("Take the tablets with food.", "Take it at meals."), "Take tablets with food.", "en", "x"),
        Sample("b", "p", ("Rest for two days and drink a lot.",), "Rest for two days.", "en", "x"),
        Sample("c", "q", ("Take the tablets with food.",), "Take the tablets at meals with some food.", "en", "y"),
        Sample("d", "p", ("Rest.",), "Not scored.", "en", "y"),
    ]
    results = [Result(sample.id, "bleu", Score(10.0), "m") for sample in samples[:3]]
    rows = summarise(samples, results, metrics=["bleu"], ranges={}, seed=0)
    texts = [sample.response for sample in samples]
    firsts, seconds = ([s.references[n] if len(s.references) > n else None for s in samples] for n in (0, 1))
    for row, (start, end) in zip(rows, [(0, 3), (0, 2), (2, 3)], strict=True):
        streams = [firsts[start:end], seconds[start:end]][: 1 + (start == 0)]
        assert row.corpus == sacrebleu.corpus_bleu(texts[start:end], streams).score
    assert describe_mean(rows[0]) == f"mean of sentence BLEU; corpus BLEU: {rows[0].corpus:.1f}"
    chinese = [Sample("a", "q", ("多喝水。",), "多喝水和茶。", "zh")]
    (row,) = summarise(chinese, results[:1], metrics=["bleu"], ranges={}, seed=0)
    assert row.corpus == sacrebleu.corpus_bleu(["多喝水和茶。"], [["多喝水。"]], tokenize="zh").score
    mixed = [*samples[:1], Sample("b", "q", ("多喝水。",), "多喝水和茶。", "zh")]
    assert summarise(mixed, results[:2], metrics=["bleu"], ranges={}, seed=0)[0].corpus is None
