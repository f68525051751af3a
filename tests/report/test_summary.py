from imapeval.report.summary import SummaryRow, summarise
from imapeval.runs import Result
from imapeval.types import Failure, Sample, Score


def test_rows_per_metric_and_system():
    samples = [Sample(f"{s}{q}", q, ("r",), "a", "en", s, {}, {"dataset": "D"}) for s in "xy" for q in ("q", "p")]
    outcomes = [Score(1.0), Score(0.0), Score(0.5), Failure("metric", "no-query", "?")]
    results = [Result(sample.id, "m", outcome, "m") for sample, outcome in zip(samples, outcomes, strict=True)]
    every, x, y, absent, *_ = summarise(samples, results, metrics=["m", "n"], seed=0)
    assert (every.system, every.n, every.failed, every.mean) == ("", 3, 1, 0.5)
    assert every.low is not None
    assert every.low < 0.5 < every.high
    assert (x.system, x.n, x.failed, x.mean, x.low, x.high) == ("D/x", 2, 0, 0.5, 0.0, 1.0)
    assert y == SummaryRow("m", "D/y", 1, 1, 0.5, None, None)  # one answer: nothing to draw from
    assert absent == SummaryRow("n", "", 0, 0, None, None, None)


def test_one_system_has_one_row():
    assert len(summarise([Sample("a", "q", ("r",), "a")], [], metrics=["m"], seed=0)) == 1
