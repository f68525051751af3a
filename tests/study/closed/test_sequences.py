import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score

from imapeval.study.closed.estimate import estimate_metrics
from imapeval.study.closed.sequences import measure_sequences

TAGS = ["O", "B-DRUG", "I-DRUG", "E-DRUG", "S-DOSE", "B-DOSE", "I-DOSE"]
sequences = st.lists(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), max_size=7), min_size=1, max_size=6
)


def values(gold: list[list[str]], predicted: list[list[str]]) -> dict[str, float | None]:
    return {
        row.metric: row.value for row in estimate_metrics(measure_sequences(gold, predicted), len(gold), resamples=1)
    }


def test_by_hand():
    gold = [["B-DRUG", "I-DRUG", "O", "B-DOSE"], ["O", "B-DRUG"]]
    predicted = [["B-DRUG", "I-DRUG", "O", "B-DRUG"], ["O", "O"]]
    # One entity of 2 predicted is right, of 3. DRUG: 1 of 2 and 1 of 2; DOSE: 0 of 0 and 0 of 1.
    found = values(gold, predicted)
    assert (found["precision-micro"], found["recall-micro"]) == (1 / 2, pytest.approx(1 / 3))
    assert found["f1-micro"] == pytest.approx(2 / (2 + 3))
    assert found["f1-macro"] == pytest.approx((1 / 2 + 0) / 2)
    assert found["f1-weighted"] == pytest.approx(2 / 3 * 1 / 2)


@given(sequences)
@settings(deadline=None, max_examples=25)
def test_entities_are_counted_as_seqeval_counts_them(rows: list[list[tuple[str, str]]]):
    gold, predicted = ([[pair[side] for pair in row] for row in rows] for side in (0, 1))
    found = values(gold, predicted)
    for average in ("micro", "macro", "weighted"):
        for name, compute in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
            # seqeval's own counts fail on lists that begin with an empty one, which has no entity.
            left, right = ([row for row in side if row] for side in (gold, predicted))
            if any(tag != "O" for row in left + right for tag in row):
                expected = compute(left, right, average=average, zero_division=0)
                assert found[f"{name}-{average}"] == pytest.approx(float(expected)), (name, average)
            else:
                assert found[f"{name}-{average}"] is None


def test_no_entity_at_all_is_undefined():
    rows = estimate_metrics(measure_sequences([["O", "O"], []], [["O", "O"], []]), 2, resamples=1)
    assert {(row.value, row.reason) for row in rows} == {
        (None, "nothing is right in any answer, and nothing was given")
    }


def test_sequences_of_unequal_length():
    with pytest.raises(ValueError, match="sequence 2 has 2 right tags and 1 predicted ones"):
        measure_sequences([["O"], ["O", "O"]], [["O"], ["O"]])
