"""Expected numbers: scikit-learn, seqeval, brute force from the definitions of sets, or worked out by hand."""

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from sklearn import metrics as sklearn

from imapeval.study.closed.metrics.estimate import MetricFamily, estimate_metrics
from imapeval.study.closed.metrics.labels import measure_label_sets, measure_labels, measure_sequences

labels = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["a", "b", "c", ""])), min_size=1, max_size=12)
sets = st.lists(
    st.tuples(st.sets(st.sampled_from("abc"), min_size=1), st.sets(st.sampled_from("abc"))), min_size=1, max_size=12
)


def values(families: list[MetricFamily], answers: int) -> dict[str, float | None]:
    return {row.metric: row.value for row in estimate_metrics(families, answers)}


def count(hits: list[tuple[set[str], set[str]]]) -> dict[str, float]:
    """Precision, recall and F1 of pairs (right labels, predicted labels), in the three averages."""

    def rates(right: int, predicted: int, actual: int) -> tuple[float, float, float]:
        precision, recall = (right / n if n else 0.0 for n in (predicted, actual))
        both = precision + recall
        return precision, recall, 2 * precision * recall / both if both else 0.0

    known = sorted(set().union(*(a | b for a, b in hits)))
    sizes = [
        (sum(n in a & b for a, b in hits), sum(n in b for _, b in hits), sum(n in a for a, _ in hits)) for n in known
    ]
    by_label = [rates(*size) for size in sizes]
    actual = [size[2] for size in sizes]
    averages = {
        "micro": rates(*map(sum, zip(*sizes, strict=True))),
        "macro": tuple(map(fmean, zip(*by_label, strict=True))),
        "weighted": tuple(
            sum(rate * n for rate, n in zip(column, actual, strict=True)) / sum(actual)
            for column in zip(*by_label, strict=True)
        ),
    }
    return {
        f"{measure}-{average}": rate
        for average, three in averages.items()
        for measure, rate in zip(("precision", "recall", "f1"), three, strict=True)
    }


@given(sets)
@settings(deadline=None, max_examples=25)
def test_sets_are_counted_as_defined(pairs: list[tuple[set[str], set[str]]]):
    gold, predicted = map(list, zip(*pairs, strict=True))
    known = set().union(*gold, *predicted)
    found = values(measure_label_sets(gold, predicted), len(pairs))
    assert found.pop("hamming-loss") == pytest.approx(fmean(len(a ^ b) / len(known) for a, b in pairs))
    assert found.pop("exact-match-ratio") == pytest.approx(fmean(a == b for a, b in pairs))
    assert found == pytest.approx(count(pairs))


def test_sets_without_any_label_have_no_metrics():
    with pytest.raises(ValueError, match="no answer has a label"):
        measure_label_sets([set()], [set()])


scored = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])), min_size=2, max_size=12)


@given(scored)
@settings(deadline=None, max_examples=25)
def test_areas_are_those_of_scikit_learn(pairs: list[tuple[bool, float]]):
    gold = ["yes" if right else "no" for right, _ in pairs]
    found = estimate_metrics(measure_labels(gold, gold, scores={"yes": [s for _, s in pairs]}), len(pairs))
    auc, average_precision = found[-2:]
    is_right, column = zip(*pairs, strict=True)
    if len(set(is_right)) == 1:
        word = "every" if all(is_right) else "no"
        assert (auc.value, average_precision.value) == (None, None)
        assert auc.reason == f"{word} answer is 'yes': there is nothing to tell apart"
        return
    assert auc.value == pytest.approx(sklearn.roc_auc_score(is_right, column))
    assert average_precision.value == pytest.approx(sklearn.average_precision_score(is_right, column))


@given(labels, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_labels_as_scikit_learn_measures_them(pairs: list[tuple[str, str]], seed: int):
    gold, predicted = map(list, zip(*pairs, strict=True))
    known = sorted({*gold, *predicted} - {""})
    scores = {label: np.random.default_rng(seed).random(len(gold)).round(1).tolist() for label in dict.fromkeys(gold)}
    found = values(measure_labels(gold, predicted, scores=scores), len(pairs))
    assert found["accuracy"] == pytest.approx(sklearn.accuracy_score(gold, predicted))
    for average in ("micro", "macro", "weighted"):
        expected = sklearn.precision_recall_fscore_support(
            gold, predicted, labels=known, average=average, zero_division=0
        )
        for name, value in zip(("precision", "recall", "f1"), expected[:3], strict=True):
            assert found[f"{name}-{average}"] == pytest.approx(value)
    if len(scores) > 1:
        for name, measure in (("auc", sklearn.roc_auc_score), ("pr-auc", sklearn.average_precision_score)):
            areas = [measure([one == label for one in gold], column) for label, column in scores.items()]
            assert found[name] == pytest.approx(fmean(areas))


TAGS = ["O", "B-DRUG", "I-DRUG", "E-DRUG", "S-DOSE", "B-DOSE", "I-DOSE"]
sequences = st.lists(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), max_size=7), min_size=1, max_size=6
)


def test_entities_by_hand():
    gold = [["B-DRUG", "I-DRUG", "O", "B-DOSE"], ["O", "B-DRUG"]]
    predicted = [["B-DRUG", "I-DRUG", "O", "B-DRUG"], ["O", "O"]]
    # One entity of 2 predicted is right, of 3. DRUG: 1 of 2 and 1 of 2; DOSE: 0 of 0 and 0 of 1.
    found = values(measure_sequences(gold, predicted), len(gold))
    assert (found["precision-micro"], found["recall-micro"]) == (1 / 2, pytest.approx(1 / 3))
    assert found["f1-micro"] == pytest.approx(2 / (2 + 3))
    assert found["f1-macro"] == pytest.approx((1 / 2 + 0) / 2)
    assert found["f1-weighted"] == pytest.approx(2 / 3 * 1 / 2)


@given(sequences)
@settings(deadline=None, max_examples=25)
def test_entities_are_counted_as_seqeval_counts_them(rows: list[list[tuple[str, str]]]):
    gold, predicted = ([[pair[side] for pair in row] for row in rows] for side in (0, 1))
    found = values(measure_sequences(gold, predicted), len(gold))
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
    rows = estimate_metrics(measure_sequences([["O", "O"], []], [["O", "O"], []]), 2)
    assert {(row.value, row.reason) for row in rows} == {
        (None, "nothing is right in any answer, and nothing was given")
    }


def test_sequences_of_unequal_length():
    with pytest.raises(ValueError, match=r"sequence 2.*2.*1"):
        measure_sequences([["O"], ["O", "O"]], [["O"], ["O"]])
