from hypothesis import given
from hypothesis import strategies as st

from imapeval.metrics.neural.models.inputs import batch_by_length


def test_by_hand() -> None:
    # 30 alone passes the budget; 10 and 9 are 2 * 10 = 20; 4, 4, 3, 1 are 4 * 4 = 16, and there is no more.
    assert list(batch_by_length([4, 10, 3, 30, 1, 9, 4], 20)) == [[3], [1, 5], [0, 6, 2, 4]]
    assert list(batch_by_length([], 20)) == []


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(1, 200))
def test_every_text_once_within_the_budget_and_longest_first(lengths: list[int], budget: int) -> None:
    batches = list(batch_by_length(lengths, budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(batches)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget
    order = [lengths[index] for batch in batches for index in batch]
    assert order == sorted(order, reverse=True)
    # None could take the next text.
    assert all((len(batch) + 1) * lengths[batch[0]] > budget for batch in batches[:-1])
