from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.evaluation.combine import References, combine_readings, combine_references, reference_weights
from imapeval.metrics.base import Case
from imapeval.metrics.lexical import TokenF1
from imapeval.types import Failure, Outcome, Score

BOUNDED = (0.0, 1.0)
UNDEFINED = Failure("metric", "no-reference-facts", "the reference states no fact")
REFUSED = Failure("llm", "refusal", "no")
SLOW = Failure("llm", "timeout", "slow")
BUG = Failure("matching", "internal", "KeyError: 1")
TEXTS = ("rest and tea", "rest and sleep", "an operation")


def join(
    *outcomes: Outcome, references: References = "mean", higher: bool = True, texts: Sequence[str] = ()
) -> Outcome:
    return combine_references(
        outcomes, texts or TEXTS[: len(outcomes)], references=references, higher_is_better=higher, lang="en"
    )


def test_one_reading_is_itself():
    for outcome in (Score(0.5, {"recall": 1.0}), UNDEFINED, SLOW):
        assert combine_readings([outcome], BOUNDED) is outcome


def test_readings_are_averaged_with_the_parts_that_all_have():
    scores = [Score(0.2, {"recall": 0.1, "f1": 0.5}), Score(0.4, {"recall": 0.3}), Score(0.9, {"recall": 0.8})]
    found = combine_readings(scores, BOUNDED)
    assert isinstance(found, Score)
    assert found.value == pytest.approx(0.5)
    # |.2 - .4|, |.2 - .9| and |.4 - .9|
    assert found.parts == pytest.approx({"recall": 0.4, "stability": 1 - (0.2 + 0.7 + 0.5) / 3})


@pytest.mark.parametrize(
    ("values", "span", "stability"),
    [
        ((0.3, 0.3), (0.0, 1.0), 1.0),
        ((0.0, 1.0), (0.0, 1.0), 0.0),
        ((40.0, 60.0), (0.0, 100.0), 0.8),
        ((-1.0, 1.0), (-1.0, 2.0), 1 / 3),
        # A metric that does not keep to its range.
        ((0.0, 5.0), (0.0, 1.0), 0.0),
        ((1.0, 2.0), (0.0, None), None),
        ((1.0, 2.0), (None, 2.0), None),
    ],
)
def test_stability(values: tuple[float, ...], span: tuple[float | None, float | None], stability: float | None):
    found = combine_readings([Score(value) for value in values], span)
    assert isinstance(found, Score)
    assert found.parts.get("stability") == (None if stability is None else pytest.approx(stability))


def test_a_single_reading_that_was_judged_several_times_has_a_stability():
    found = combine_readings([Score(3.0, {"samples": 3.0}, ((2.0, 3.0, 4.0),))], (0.0, 5.0))
    assert isinstance(found, Score)
    assert found.parts == pytest.approx({"samples": 3.0, "stability": 1 - (1 + 1 + 2) / 3 / 5})


def test_two_repetitions_differ_in_reading_and_in_judging():
    # As of `blend`: half of it is .2 or .4 by reading, half of it is .1 or .7 by judging.
    readings = [Score((read + 0.4) / 2, {}, (((read + 0.1) / 2, (read + 0.7) / 2),)) for read in (0.2, 0.4)]
    found = combine_readings(readings, BOUNDED)
    assert isinstance(found, Score)
    assert found.repetitions == (pytest.approx((0.15, 0.45)), pytest.approx((0.25, 0.55)))
    assert found.value == pytest.approx(0.35)
    # |.15 - .55| and |.45 - .25|; those of one reading, or of one judging, are not two whole repetitions.
    assert found.parts["stability"] == pytest.approx(1 - (0.4 + 0.2) / 2)


def test_repetitions_against_several_references_are_combined_as_the_scores_are():
    first, second = Score(0.3, {}, ((0.2,), (0.4,))), Score(0.8, {}, ((0.6,), (1.0,)))
    mean = join(first, second)
    assert isinstance(mean, Score)
    assert mean.repetitions == (pytest.approx((0.4,)), pytest.approx((0.7,)))
    best = join(first, second, references="best")
    assert isinstance(best, Score)
    assert best.repetitions == second.repetitions


@pytest.mark.parametrize("failure", [UNDEFINED, REFUSED])
def test_a_reading_without_a_score_was_not_made_as_long_as_more_than_half_have_one(failure: Failure):
    found = combine_readings([Score(0.2), failure, Score(0.4)], BOUNDED)
    assert isinstance(found, Score)
    assert (found.value, found.parts) == (pytest.approx(0.3), pytest.approx({"stability": 0.8}))
    assert combine_readings([Score(0.2), failure], BOUNDED) is failure
    assert combine_readings([Score(0.2), failure, Score(0.4), UNDEFINED], BOUNDED) is failure


@pytest.mark.parametrize("failure", [SLOW, BUG])
def test_what_may_go_better_fails_the_whole(failure: Failure):
    outcomes = [UNDEFINED, Score(0.2), Score(0.4), Score(0.5), failure]
    assert combine_readings(outcomes, BOUNDED) is failure
    assert combine_readings([UNDEFINED, UNDEFINED, failure], BOUNDED) is failure
    assert join(*outcomes, texts="abcde") is failure


@pytest.mark.parametrize("references", ["best", "mean", "consensus"])
def test_one_reference_is_itself(references: References):
    for outcome in (Score(0.5, {"recall": 1.0}), UNDEFINED):
        assert join(outcome, references=references) is outcome


@pytest.mark.parametrize("references", ["best", "mean", "consensus"])
def test_it_is_a_failure_where_all_are(references: References):
    assert join(UNDEFINED, REFUSED, references=references) is UNDEFINED


def test_the_best():
    scores = (Score(0.2), Score(0.7, {"recall": 1.0}), UNDEFINED)
    assert join(*scores, references="best") == Score(0.7, {"recall": 1.0, "reference": 1.0})
    assert join(*scores, references="best", higher=False) == Score(0.2, {"reference": 0.0})


def test_the_mean():
    scores = (Score(0.25, {"recall": 0.0, "f1": 1.0}), UNDEFINED, Score(0.75, {"recall": 0.5}))
    assert join(*scores) == Score(0.5, {"recall": 0.25, "references": 2.0})
    assert join(Score(0.25), UNDEFINED) == Score(0.25, {"references": 1.0})


def test_consensus_weighs_by_agreement_with_the_others():
    # Four of the six words that the first two have are the same; the third has none in common with either.
    assert reference_weights(TEXTS, "en") == pytest.approx([1 / 3, 1 / 3, 0])
    scores = Score(0.2, {"recall": 0.0}), Score(0.4, {"recall": 1.0}), Score(1.0, {"recall": 1.0})
    for references, value, recall in (("mean", 1.6 / 3, 2 / 3), ("consensus", 0.3, 0.5)):
        found = join(*scores, references=references)
        assert isinstance(found, Score)
        assert (found.value, found.parts) == (pytest.approx(value), pytest.approx({"recall": recall, "references": 3}))


def test_consensus_of_references_without_agreement_is_the_mean():
    assert join(Score(0.2), Score(0.4), references="consensus", texts=["rest", "tea"]).value == pytest.approx(0.3)
    assert join(Score(0.2), Score(0.4), references="consensus", texts=["", " "]).value == pytest.approx(0.3)
    # Those that agree have no score.
    assert join(UNDEFINED, UNDEFINED, Score(0.4), references="consensus") == Score(0.4, {"references": 1.0})


def test_consensus_in_chinese():
    # Four of five characters and four.
    assert reference_weights(["多喝热水", "多喝热水吧", "手术"], "zh") == pytest.approx([4 / 9, 4 / 9, 0])
    # An option may be called as an article is.
    assert reference_weights(["A", "A", "B"], "en") == reference_weights(["C", "C", "B"], "en") == [0.5, 0.5, 0]


WORDS = st.lists(st.sampled_from(["a", "rest", "tea", "sleep", "no", "surgery"]), min_size=1, max_size=6).map(" ".join)


@given(st.lists(WORDS, min_size=2, max_size=5))
def test_the_weight_is_the_mean_token_f1(texts: list[str]):
    def f1(one: str, other: str) -> float:
        outcome = TokenF1().score(Case("a", "", one, other, "en"))
        return outcome.value if isinstance(outcome, Score) else 0.0

    for index, weight in enumerate(reference_weights(texts, "en")):
        others = [f1(texts[index], other) for place, other in enumerate(texts) if place != index]
        assert weight == pytest.approx(sum(others) / len(others))


def test_rounding_does_not_carry_a_mean_out_of_its_range():
    low = 0.41636723173481316
    scores, texts = map(Score, (low, 1.0, low)), ["rest rest rest tea", "a", "rest rest rest rest"]
    found = join(*scores, references="consensus", texts=texts)
    assert isinstance(found, Score)
    assert found.value >= low


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5), st.data())
def test_whatever_counts_lies_between_the_scores(values: list[float], data: st.DataObject):
    texts = data.draw(st.lists(WORDS, min_size=len(values), max_size=len(values)))
    for references in ("best", "mean", "consensus"):
        found = join(*map(Score, values), references=references, texts=texts)
        assert isinstance(found, Score)
        assert min(values) <= found.value <= max(values)
    read = combine_readings([Score(value) for value in values], BOUNDED)
    assert isinstance(read, Score)
    assert 0 <= read.parts["stability"] <= 1
    if len(values) == 2:
        pair = [join(*map(Score, values), references=way, texts=texts).value for way in ("mean", "consensus")]
        assert pair[0] == pytest.approx(pair[1])
