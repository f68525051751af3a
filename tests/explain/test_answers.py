"""Which reference's facts stand for an answer."""

import pytest

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.explain.answers import find_counted_record
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


def test_facts_that_were_not_read():
    assert find_counted_record(Sample("a", "q", ("r", "s"), "x"), {"imapscore": counts(1)}, RECORDS[:1]) is None
