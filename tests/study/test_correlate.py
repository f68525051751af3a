from pathlib import Path

import pytest
from scipy import stats

from imapeval import imapfile
from imapeval.errors import UsageError
from imapeval.metrics import imapscore
from imapeval.runs import Result
from imapeval.samples import read
from imapeval.study.correlate import correlate
from imapeval.study.findings import ALL, Correlation
from imapeval.types import Failure, Match, Outcome, Relation, Sample, Score, values_by_term

BENCHMARK = Path(__file__).parents[2].parent / "shared" / "benchmark"


def sample(number: int, rating: float | None, *, system: str = "s", question: str | None = None) -> Sample:
    ratings = {} if rating is None else {"accuracy": rating}
    return Sample(f"{system}{number}", question or f"q{number}?", ("r",), "a", "en", system, ratings)


def result(of: Sample, value: float | None, metric: str = "m") -> Result:
    outcome: Outcome = Failure("metric", "no-query", "nothing") if value is None else Score(value)
    return Result(of.id, metric, outcome, f"{metric}|v:1")


SAMPLES = [sample(n, rating) for n, rating in enumerate([1.0, 2.0, 2.0, 4.0, 5.0, 3.0, None])]
SCORES = [0.1, 0.3, 0.2, 0.2, 0.9, None, 0.7]
RESULTS = [result(s, value) for s, value in zip(SAMPLES, SCORES, strict=True)]


def pick(rows: list[Correlation], coefficient: str = "spearman", system: str = "s") -> Correlation:
    (row,) = [row for row in rows if row.coefficient == coefficient and row.system == system]
    return row


def test_failures_and_unrated_answers_are_left_out_and_counted():
    rows = correlate(SAMPLES, RESULTS, metrics=["m"])
    assert [row.coefficient for row in rows] == ["spearman", "kendall_tau_b"]  # one cell: a mean would repeat it
    rho, tau = rows
    x, y = [0.1, 0.3, 0.2, 0.2, 0.9], [1, 2, 2, 4, 5]
    assert (rho.n, rho.n_missing, rho.reason) == (5, 1, None)
    assert rho.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert tau.value == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert rho.low is not None
    assert rho.high is not None
    assert -1 <= rho.low < rho.value < rho.high <= 1


def test_the_mean_of_systems_and_what_it_leaves_out():
    constant = [sample(n, 3.0, system="t") for n in range(4)]
    reverse = [sample(n, float(n), system="u") for n in range(4)]
    results = [*RESULTS, *(result(s, 0.1 * n) for n, s in enumerate(constant))]
    results += [result(s, -0.1 * n) for n, s in enumerate(reverse)]
    rows = correlate([*SAMPLES, *constant, *reverse], results, metrics=["m"])
    flat = pick(rows, system="t")
    assert (flat.value, flat.low, flat.high) == (None, None, None)
    assert flat.reason == "the rating is constant (3)"
    mean = pick(rows, system=ALL)
    assert mean.value == pytest.approx((pick(rows, system="s").value - 1) / 2)
    assert (mean.dimension, mean.n, mean.n_missing) == (ALL, 13, 1)
    assert mean.reason == "1 of 3 coefficients are undefined and left out"


def test_one_question_has_no_interval():
    samples = [sample(n, float(n), question="the same?") for n in range(5)]
    rows = correlate(samples, [result(s, float(n)) for n, s in enumerate(samples)], metrics=["m"])
    row = pick(rows)
    assert (row.value, row.low, row.high) == (pytest.approx(1.0), None, None)


def test_questions_are_drawn_whole():
    """A second, equal answer to each question adds rows but no knowledge: the interval stays as it is."""
    once = [sample(n, float(n % 7)) for n in range(30)]
    again = [Sample(f"copy{s.id}", s.question, ("r",), "a", "en", "s", s.ratings) for s in once]
    scores = [((7 * n) % 11) / 11 + n % 7 / 5 for n in range(30)]
    results = [result(s, value) for s, value in zip([*once, *again], scores * 2, strict=True)]
    single, double = (
        pick(correlate(once, results, metrics=["m"])),
        pick(correlate([*once, *again], results, metrics=["m"])),
    )
    assert (double.n, single.n) == (60, 30)
    assert double.low == pytest.approx(single.low, abs=1e-12)
    assert double.high == pytest.approx(single.high, abs=1e-12)


def test_ratings_from_elsewhere_replace_those_of_the_data():
    given = {s.id: {"overall": float(-n)} for n, s in enumerate(SAMPLES)}
    row = pick(correlate(SAMPLES, RESULTS, metrics=["m"], ratings=given))
    assert (row.dimension, row.n, row.n_missing) == ("overall", 6, 1)


def test_no_ratings_at_all():
    with pytest.raises(UsageError, match="--ratings"):
        correlate([sample(1, None)], [], metrics=["m"])


@pytest.mark.skipif(not BENCHMARK.exists(), reason="shared/benchmark is not beside this checkout")
@pytest.mark.parametrize(
    ("metric", "compute", "expected"), [("paper", imapscore.paper, 0.297), ("mean", imapscore.mean, 0.339)]
)
def test_recorded_imaps_give_the_known_agreement(metric: str, compute, expected: float):
    """Mean Spearman over four systems and three dimensions, computed independently of this project (issue 2)."""
    samples, results = [], []
    records = {record.id: record.imap for _, record in imapfile.read(BENCHMARK / "imaps-recorded-dev.jsonl")}
    for one in read(BENCHMARK / "imapscore-dev.jsonl"):
        if one.id not in records:
            continue
        samples.append(one)
        imap = records[one.id]
        known = {(r.term, r.reference, r.response): r.relation for r in imap.relations or ()}
        response = values_by_term(imap.response)
        matches = [
            Match(term, v, w, known.get((term, v, w), Relation.UNMATCHED), 0.0, "recorded")
            for term, values in values_by_term(imap.reference).items()
            for v in values
            for w in response.get(term, ())
        ]
        results.append(Result(one.id, metric, compute(imap, matches), metric))
    rows = correlate(samples, results, metrics=[metric], resamples=50)
    mean = pick(rows, system=ALL)
    assert mean.value == pytest.approx(expected, abs=0.002)
    assert (mean.n, mean.n_missing) == (98, 2)
    assert len([row for row in rows if row.coefficient == "spearman" and row.system != ALL]) == 12
    assert {row.system for row in rows} >= {"HMedQA/GPT-4", "iCliniq/PaLM-2"}
