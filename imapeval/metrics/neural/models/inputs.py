"""Texts as models take them: token ids, cut to what a model can take, in padded batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from imapeval._optional import require
from imapeval.metrics.neural.models.batches import batch_by_length
from imapeval.metrics.neural.models.weights import EXTRA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.metrics.neural.models.loading import LoadedModel

Truncation = Literal["longest_first", "only_first"]
"""What a pair that is too long loses, as transformers names it: tokens of the longer text, or of the first."""


@dataclass(frozen=True, slots=True)
class ModelInput:
    """What a model is given for one text or pair.

    Attributes:
        fields: Token ids and the like, by the name of the model's argument.
        cut: Whether the text is longer than the model takes, and its end is missing here.
    """

    fields: dict[str, list[int]]
    truncated: bool

    @property
    def length(self) -> int:
        """Tokens of its longest field."""
        return max(map(len, self.fields.values()))


def tokenize_texts(loaded: LoadedModel, texts: Sequence[str], *, longest: int) -> list[ModelInput]:
    """Return texts in tokens.

    Args:
        loaded: Whose tokenizer.
        texts: As they are.
        longest: Most tokens of a text, special ones included; a longer one loses its end.
    """
    return _tokenize(loaded, [(text,) for text in texts], longest, lambda _: "longest_first")


def tokenize_pairs(
    loaded: LoadedModel, pairs: Sequence[tuple[str, str]], *, longest: int, cut: Truncation
) -> list[ModelInput]:
    """Return pairs of texts in tokens, each pair as one input.

    Args:
        loaded: Whose tokenizer.
        pairs: Two texts each.
        longest: Most tokens of a pair, special ones included.
        cut: What a longer pair loses. Where the second text alone leaves no room for the first, the longer of the two
            is cut, whatever is said here.
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
    """Return what a model says of each row, computed in batches of like length.

    Args:
        loaded: Where the rows go.
        rows: At least one.
        forward: Gives a tensor with one entry a row, in the order of the batch: a dictionary of tensors of shape
            (rows, tokens) on the model's device. "input_ids" and "labels" are padded with the padding token, all other
            fields with 0.
        budget: Most tokens of a batch with its padding.

    Returns:
        A float32 tensor on the processor, one entry a row, in the order of the rows.
    """
    torch: Any = require("torch", distribution="torch", extra=EXTRA, needed_for="a neural metric")
    found: dict[int, Any] = {}
    with torch.inference_mode():
        for batch in batch_by_length([row.length for row in rows], budget):
            said = forward(_pad(torch, loaded, [rows[index] for index in batch])).float().cpu()
            found.update(zip(batch, said, strict=True))
    return torch.stack([found[index] for index in range(len(rows))])


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
