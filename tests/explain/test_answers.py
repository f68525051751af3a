"""The answers of a run, and which reference's facts stand for an answer."""

import pytest

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result
from imapeval.evaluation.samples import spool
from imapeval.explain.answers import collect_answers, describe_outcome, find_counted_record
from imapeval.types import Failure, Imap, Outcome, Pair, Sample, Score

RECORDS = [
    ImapRecord("a", Imap((), (), (Pair("treatment", f"fact {index}"),), (), reference_index=index), ())
    for index in range(3)
]
FAILED = Failure("metric", "no-query", "?")


def counts(index: int) -> Score:
    return Score(0.5, {"recall": 0.5, "reference": float(index)})


@pytest.mark.parametrize(
    ("references", "outcomes", "index"),
    [
        (3, {"imapscore": counts(2)}, 2),
        (3, {"rouge1": counts(1), "imapscore:mean": counts(2)}, 2),
        # Without imapScore the facts are those that the first metric saw.
        (3, {"judge": counts(1), "rouge1": counts(2)}, 1),
        (3, {"judge": FAILED, "geval:x": counts(2)}, 2),
        (3, {"imapscore": FAILED, "judge": None}, 0),
        (1, {"mine": Score(1.0, {"reference": 97.0})}, 0),
    ],
)
def test_the_reference_that_counts(references: int, outcomes: dict[str, Outcome | None], index: int):
    sample = Sample("a", "q", tuple(f"r{number}" for number in range(references)), "x")
    assert find_counted_record(sample, outcomes, RECORDS[:references]) is RECORDS[index]


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (Score(12.3, {"tokens": 1024.0, "loglikelihood": -2570.4}), "m 12.3 (tokens 1024, loglikelihood -2570)."),
        (Score(0.5, {"tokens": 999.6, "recall": 0.4567}), "m 0.500 (tokens 1000, recall 0.457)."),
        (Score(0.99962), "m 0.9996."),
        (Score(0.0004), "m 0.0004."),
        (Score(1.0), "m 1.000."),
    ],
)
def test_a_score_has_the_digits_that_it_has_in_tables(score: Score, shown: str):
    assert describe_outcome("m", score, "") == shown


def test_facts_that_were_not_read():
    assert find_counted_record(Sample("a", "q", ("r", "s"), "x"), {"imapscore": counts(1)}, RECORDS[:1]) is None


@pytest.mark.parametrize("in_memory", [1, 100])
def test_results_and_imaps_in_any_order_in_memory_or_not(monkeypatch: pytest.MonkeyPatch, in_memory: int):
    monkeypatch.setattr(spool, "IN_MEMORY", in_memory)
    samples = [Sample(id_, "q", ("r", "s"), "x") for id_ in "abc"]
    results = [
        Result("c", "m", counts(1), "m"),
        Result("stranger", "m", counts(0), "m"),
        Result("a", "n", FAILED, "n"),
        Result("a", "m", counts(0), "m"),
        Result("c", "unasked", FAILED, "unasked"),
    ]
    records = [ImapRecord(id_, record.imap, ()) for record in reversed(RECORDS[:2]) for id_ in "cxba"]
    answers = collect_answers(samples, iter(results), iter(records), metrics=["m", "n"])
    for _ in range(2):
        assert [answer.sample for answer in answers] == samples
        assert [answer.outcomes for answer in answers] == [
            {"m": counts(0), "n": FAILED},
            {"m": None, "n": None},
            {"m": counts(1), "n": None},
        ]
        assert [answer.record for answer in answers] == [
            ImapRecord(id_, RECORDS[index].imap, ()) for id_, index in (("a", 0), ("b", 0), ("c", 1))
        ]
