"""Data frames into `Scorer.score_all`, and the same ones out with the scores."""

from typing import Any

import pytest

from imapeval import Scorer
from imapeval.errors import UsageError

ROWS: dict[str, list[Any]] = {
    "prompt": ["What helps?", "What helps?", "What helps?"],
    "ground_truth": ["Rest.", "Rest.", "Rest."],
    "prediction": ["Rest.", "Walk.", None],
    "topic": ["a", "b", "c"],
}


def make_pandas() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(ROWS, index=[10, 20, 30])


def make_polars() -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS)


def test_pandas():
    frame = make_pandas()
    with Scorer("rouge1,bleu") as scorer:
        scored = scorer.score_all(frame)
    found = scored.to_frame()
    assert type(found) is type(frame)
    assert list(found.columns) == [*ROWS, "rouge1", "bleu", "failure"]
    assert list(found.index) == [10, 20, 30]
    assert list(found["rouge1"][:2]) == [1.0, 0.0]
    assert list(found["rouge1"].isna()) == [False, False, True]
    assert list(found["failure"])[2] == "no-response"
    assert list(frame.columns) == list(ROWS)  # the frame that was given is left alone
    assert len(scored.missing) == 1
    assert [item.sample.meta for item in scored if item.sample] == [{"topic": topic} for topic in "abc"]


def test_a_number_is_an_id_even_where_another_answer_has_none():
    frame = make_pandas().assign(id=[1, None, 3])
    assert frame["id"].dtype == float, "as pandas reads such a column of a file"
    with Scorer("rouge1") as scorer:
        found = [*scorer.score_all(frame), *scorer.score_all(frame.to_dict("records"))]
    assert [(item.id, item.value) for item in found] == [("1", 1.0), ("", 0.0), ("3", None)] * 2


def test_two_columns_of_one_name():
    """As pandas.concat(axis=1) makes them; of a CSV file they are an error as well."""
    pandas = pytest.importorskip("pandas")
    row = ["What helps?", "Rest.", "Rest.", "Walk."]
    frame = pandas.DataFrame([row], columns=["question", "reference", "response", "response"])
    with Scorer("rouge1") as scorer, pytest.raises(UsageError, match="'response'"):
        scorer.score_all(frame)


def test_an_id_that_a_float_cannot_hold_is_refused():
    with Scorer("rouge1") as scorer:
        first, *_ = scorer.score_all(make_pandas().assign(id=[2**53 + 1, None, 3]))
    assert first.failure
    assert first.failure.kind == "bad-input"


def test_a_subclass_of_a_frame_is_one():
    pandas = pytest.importorskip("pandas")

    class Frame(pandas.DataFrame):
        _constructor = property(lambda self: Frame)

    frame = Frame(ROWS).rename(columns={"topic": 0})
    with Scorer("rouge1") as scorer:
        scored = scorer.score_all(frame)
    assert type(scored.to_frame()) is Frame
    assert [item.sample.meta for item in scored if item.sample] == [{"0": topic} for topic in "abc"]


def test_polars():
    frame = make_polars()
    with Scorer("rouge1") as scorer:
        found = scorer.score_all(frame).to_frame()
    assert type(found) is type(frame)
    assert found["rouge1"].to_list() == [1.0, 0.0, None]
    assert found["failure"].to_list() == [None, None, "no-response"]
    assert found.columns == [*ROWS, "rouge1", "failure"]


def test_columns_that_may_be_two(caplog: pytest.LogCaptureFixture):
    frame = make_pandas().rename(columns={"topic": "output"})
    with Scorer("rouge1") as scorer, pytest.raises(UsageError, match="'prediction', 'output'"):
        scorer.score_all(frame)


@pytest.mark.parametrize("make", [make_pandas, make_polars])
def test_scores_are_numbers_where_there_are_none(make: Any):
    frame = make()
    with Scorer("bleu") as scorer:
        found = scorer.score_all(frame[2:]).to_frame()
        empty = scorer.score_all(frame[:0])
    assert found["bleu"].count() == 0
    assert [str(frame["bleu"].dtype).lower() for frame in (found, empty.to_frame())] == ["float64", "float64"]
    assert list(empty.to_frame().columns) == [*ROWS, "bleu", "failure"]
    assert empty.means == empty.missing.means == {"bleu": None}


def test_a_lazy_frame_is_refused():
    with Scorer("rouge1") as scorer, pytest.raises(UsageError, match="is the LazyFrame"):
        scorer.score_all(make_polars().lazy())


def test_there_is_no_frame_without_one():
    with Scorer("rouge1") as scorer:
        scored = scorer.score_all([{"question": "Why?", "reference": "So.", "response": "So."}])
        part = scorer.score_all(make_pandas()).missing
    for frameless in (scored, part):
        with pytest.raises(UsageError, match="to_rows"):
            frameless.to_frame()
