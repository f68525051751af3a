"""Texts in tokens, cut and padded."""

from types import ModuleType
from typing import Any

import pytest

from imapeval.metrics.neural.models.inputs import ModelInput, run_in_batches, tokenize_pairs, tokenize_texts
from imapeval.metrics.neural.models.loading import LoadedModel, load_model

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def loaded(small_models: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """Bytes are tokens; <s> is 0, <pad> 1, </s> 2, "a" 68."""
    folder = tmp_path_factory.mktemp("nli")
    return load_model(str(small_models.save_nli(folder)), "classifier", device="cpu")


def test_texts_lose_their_end(loaded: LoadedModel) -> None:
    fits, cut = tokenize_texts(loaded, ["ab", "abcdef"], longest=6)
    assert (fits.fields["input_ids"], fits.truncated, fits.length) == ([0, 68, 69, 2], False, 4)
    assert (cut.fields["input_ids"], cut.truncated) == ([0, 68, 69, 70, 71, 2], True)
    assert cut.fields["attention_mask"] == [1] * 6


@pytest.mark.parametrize(
    ("pair", "cut", "first", "second"),
    [
        # Four special tokens: <s> a </s> </s> b </s>.
        (("aaa", "bbb"), "only_first", 3, 3),
        (("aaaaaaaa", "bbb"), "only_first", 3, 3),
        (("aaaaaaaa", "bbbbb"), "only_first", 1, 5),
        (("aaaaaaaa", "bbbbbb"), "only_first", 3, 3),
        (("aa", "bbbbbbbb"), "only_first", 2, 4),
        (("aaaaaaaa", "bb"), "longest_first", 4, 2),
        (("aa", "bbbbbbbb"), "longest_first", 2, 4),
    ],
)
def test_pairs_lose_what_is_said(loaded: LoadedModel, pair: tuple[str, str], cut: Any, first: int, second: int) -> None:
    (row,) = tokenize_pairs(loaded, [pair], longest=10, cut=cut)
    assert row.fields["input_ids"] == [0, *[68] * first, 2, 2, *[69] * second, 2]
    assert row.truncated == (first + second < len("".join(pair)))


def test_batches_are_padded_and_come_back_in_order(loaded: LoadedModel) -> None:
    seen: list[dict[str, Any]] = []

    def forward(batch: dict[str, Any]) -> Any:
        seen.append(batch)
        return batch["input_ids"][:, 0] * 10 + batch["attention_mask"].sum(1)

    lengths = [2, 5, 1, 4]
    rows = [
        ModelInput(
            {"input_ids": [number] * length, "attention_mask": [1] * length, "labels": [7] * (6 - length)},
            truncated=False,
        )
        for number, length in enumerate(lengths)
    ]
    assert run_in_batches(loaded, rows, forward, budget=10).tolist() == [2.0, 15.0, 21.0, 34.0]
    # The longest first, and no batch of more than 10 tokens with its padding.
    assert [batch["input_ids"].tolist() for batch in seen] == [
        [[1, 1, 1, 1, 1], [2, 1, 1, 1, 1]],
        [[0, 0, 1, 1], [3, 3, 3, 3]],
    ]
    assert seen[0]["attention_mask"].tolist() == [[1] * 5, [1, 0, 0, 0, 0]]
    assert seen[0]["labels"].tolist() == [[7, 1, 1, 1, 1], [7] * 5]
