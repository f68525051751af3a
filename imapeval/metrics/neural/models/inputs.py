"""Model inputs: token ids, truncated to the model's maximum, in padded batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from imapeval.metrics.neural.models.weights import import_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from imapeval.metrics.neural.models.loading import LoadedModel

Truncation = Literal["longest_first", "only_first"]
"""Truncation of a pair that is too long, as named in transformers: tokens of the longer text, or of the first."""


@dataclass(frozen=True, slots=True)
class ModelInput:
    """The input of a model for one text or pair.

    Attributes:
        fields: Token ids, masks and so on, by the name of the model's argument.
        truncated: Whether the end of the text was cut off.
    """

    fields: dict[str, list[int]]
    truncated: bool

    @property
    def length(self) -> int:
        """Number of tokens in the longest field."""
        return max(map(len, self.fields.values()))


def tokenize_texts(loaded: LoadedModel, texts: Sequence[str], *, longest: int) -> list[ModelInput]:
    """Return the tokens of texts, at most `longest` each, special ones included; the end of longer texts is cut off."""
    return _tokenize(loaded, [(text,) for text in texts], longest, lambda _: "longest_first")


def tokenize_pairs(
    loaded: LoadedModel, pairs: Sequence[tuple[str, str]], *, longest: int, cut: Truncation
) -> list[ModelInput]:
    """Return the tokens of pairs of texts, each pair as one input.

    Args:
        loaded: The model with its tokenizer.
        pairs: The pairs.
        longest: Maximum number of tokens per pair, special ones included.
        cut: How a longer pair is truncated. If the second text alone leaves no room for the first, the longer of the
            two is truncated in any case.
    """
    special: int = loaded.tokenizer.num_special_tokens_to_add(pair=True)

    def choose(pair: tuple[str, ...]) -> Truncation:
        if cut == "longest_first":
            return cut
        second = loaded.tokenizer(pair[1], add_special_tokens=False, verbose=False)["input_ids"]
        return "only_first" if len(second) + special < longest else "longest_first"

    return _tokenize(loaded, pairs, longest, choose)


def run_in_batches(
    loaded: LoadedModel, rows: Sequence[ModelInput], forward: Callable[[dict[str, Any]], Any], *, budget: int
) -> Any:
    """Return a model's output for each row, computed in batches of similar length.

    Args:
        loaded: The model.
        rows: At least one.
        forward: Function from a batch to a tensor with one entry per row. A batch is a dictionary of tensors of shape
            (rows, tokens) on the model's device; "input_ids" and "labels" are padded with the padding token, all other
            fields with 0.
        budget: Maximum number of tokens per batch, padding included.

    Returns:
        A float32 tensor on the CPU with one entry per row, in order.
    """
    [torch] = import_packages("torch", needed_for="a neural metric")
    outputs: dict[int, Any] = {}
    with torch.inference_mode():
        for batch in batch_by_length([row.length for row in rows], budget):
            output = forward(_pad(torch, loaded, [rows[index] for index in batch])).float().cpu()
            outputs.update(zip(batch, output, strict=True))
    return torch.stack([outputs[index] for index in range(len(rows))])


def batch_by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Group texts of similar length, the longest first.

    The longest come first so that a lack of memory shows at once and not after an hour.

    Args:
        lengths: Tokens of each text, > 0.
        budget: Maximum number of tokens per batch, padding included: number of texts times the longest. A longer text
            is a batch of its own.

    Yields:
        Indices into `lengths`; every index is in exactly one batch.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        size = max(1, budget // lengths[order[start]])
        yield order[start : start + size]
        start += size


def _tokenize(
    loaded: LoadedModel, texts: Sequence[tuple[str, ...]], longest: int, choose: Callable[[tuple[str, ...]], Truncation]
) -> list[ModelInput]:
    rows: list[ModelInput] = []
    for text in texts:
        whole = loaded.tokenizer(*text, verbose=False)
        cut = len(whole["input_ids"]) > longest
        kept = loaded.tokenizer(*text, truncation=choose(text), max_length=longest, verbose=False) if cut else whole
        rows.append(ModelInput({name: list(values) for name, values in kept.items()}, cut))
    return rows


def _pad(torch: Any, loaded: LoadedModel, rows: Sequence[ModelInput]) -> dict[str, Any]:
    tensors: dict[str, Any] = {}
    for name in rows[0].fields:
        fill = loaded.tokenizer.pad_token_id if name in ("input_ids", "labels") else 0
        values = [row.fields[name] for row in rows]
        width = max(map(len, values))
        tensors[name] = torch.tensor([ids + [fill] * (width - len(ids)) for ids in values], device=loaded.device)
    return tensors
