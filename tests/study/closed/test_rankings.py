from imapeval.study.closed.estimate import estimate_metrics
from imapeval.study.closed.rankings import measure_rankings


def values(gold: list[list[str]], predicted: list[list[str]]) -> dict[str, float | None]:
    return {
        row.metric: row.value for row in estimate_metrics(measure_rankings(gold, predicted), len(gold), resamples=1)
    }


def test_by_hand():
    gold = [["EGFR", "ErbB1"], ["BRCA1"], ["ibuprofen"], ["TP53"]]
    predicted = [
        ["erbb1 ", "BRAF"],  # a synonym, first
        ["BRCA2", "brca1", "ATM"],  # second
        ["a", "b", "c", "d", "e", "ibuprofen"],  # sixth: not among the five
        [],  # no answer
    ]
    assert values(gold, predicted) == {"strict-accuracy": 1 / 4, "lenient-accuracy": 2 / 4, "mrr": (1 + 1 / 2) / 4}


def test_the_best_rank_counts():
    assert values([["a", "b"]], [["x", "b", "a"]])["mrr"] == 1 / 2
