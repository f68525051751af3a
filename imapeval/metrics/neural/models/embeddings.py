"""Vectors of the tokens of texts, computed once per text.

Several metrics, also on imaps, read the same texts, and a reference is compared with the answers of several systems.
The most recent vectors are therefore cached, up to `MAX_CACHE_BYTES` bytes per model.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from imapeval.metrics.neural.models.inputs import batch_by_length
from imapeval.metrics.neural.models.loading import LoadedModel, choose_device, keep_layers, load_model
from imapeval.metrics.neural.models.sharing import SharedObjects
from imapeval.metrics.neural.models.weights import fetch_weights, import_packages
from imapeval.types import Lang

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from imapeval.metrics.base import Case, Device

MAX_CACHE_BYTES = 256 * 2**20
"""Maximum size of a model's cache: some 200 to 600 answers with roberta-large."""

MAX_GROUP_CASES = 64
"""Pairs whose vectors are in memory at a time: the batch of `evaluate` if each sample has one reference.
At 512 tokens and 1,024 dimensions they take 268 MB (604 MB as power means of 768)."""

Pooling = Literal["last", "power-means"]
"""How a token's vector is made from the layers: the last one; or minimum, mean and maximum of the last five, each
scaled to length 1 (Zhao et al. 2019, section 3.2, p-means)."""

_POOLED_LAYERS = 5
"""Layers that "power-means" pools: the reference implementation, moverscore.py of AIPHES/emnlp19-moverscore."""


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedText:
    """The tokens of a text.

    Attributes:
        ids: Ids of the tokens, special ones included.
        special: For each token whether it was added to the text, such as [CLS].
        vectors: Float32 tensor of shape (tokens, dimension) on the model's device; None if the text was only tokenized.
        truncated: Whether the text exceeds the model's maximum, so that these are its first tokens.
    """

    ids: tuple[int, ...]
    special: tuple[bool, ...]
    vectors: Any
    truncated: bool

    @property
    def is_empty(self) -> bool:
        """Whether all tokens are special ones."""
        return all(self.special)


class TokenEmbedder:
    """Computes the token vectors of texts. May be shared between threads.

    Args:
        loaded: An encoder, without the layers after the last one needed.
        pool: How a token's vector is made from the layers.
    """

    def __init__(self, loaded: LoadedModel, pool: Pooling) -> None:
        self.loaded = loaded
        self._pool: Pooling = pool
        [self._torch] = import_packages("torch", needed_for="vectors of tokens")
        # RoBERTa and GPT-2 know a word by the space before it; without one the first word would be another token.
        # bert_score 0.3.13 does the same (utils.sent_encode).
        self._space = type(loaded.tokenizer).__name__.startswith(("Roberta", "GPT2"))
        self._known: dict[str, EmbeddedText] = {}
        self._size = 0
        self._lock = threading.Lock()

    def embed(self, texts: Iterable[str]) -> dict[str, EmbeddedText]:
        """Return the distinct texts with the vectors of their tokens.

        White space around a text is ignored.
        """
        wanted = list(dict.fromkeys(texts))
        with self._lock:
            # First, so that a batch that fails (out of memory, say) leaves what is remembered, and its size, as it was.
            fresh = self._compute([text for text in wanted if text not in self._known])
            # Taken out and put in again, what was used last stands last.
            found = {text: self._known.pop(text) for text in wanted if text in self._known}
            self._size += sum(map(_count_bytes, fresh.values()))
            self._known |= found | fresh
            while self._known and self._size > MAX_CACHE_BYTES:
                self._size -= _count_bytes(self._known.pop(next(iter(self._known))))
        return found | fresh

    def tokenize(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Return the tokens of texts, without vectors."""
        plain = [text.strip() for text in texts]
        if self._space:
            plain = [f" {text}" if text else "" for text in plain]
        tokenized = [
            EmbeddedText(ids, special, None, truncated=False) for ids, special in self._split(plain, truncation=False)
        ]
        longest = self.loaded.max_tokens
        long = [index for index, text in enumerate(tokenized) if len(text.ids) > longest]
        cut_off = self._split([plain[index] for index in long], truncation=True, max_length=longest)
        for index, (ids, special) in zip(long, cut_off, strict=True):
            tokenized[index] = EmbeddedText(ids, special, None, truncated=True)
        return tokenized

    def _split(self, texts: list[str], **how: Any) -> list[tuple[tuple[int, ...], tuple[bool, ...]]]:
        """Return for each text the ids of its tokens and which of them are special."""
        if not texts:
            return []
        encoded = self.loaded.tokenizer(texts, return_special_tokens_mask=True, verbose=False, **how)
        rows = zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True)
        return [(tuple(ids), tuple(map(bool, special))) for ids, special in rows]

    def _compute(self, texts: Sequence[str]) -> dict[str, EmbeddedText]:
        torch, device = self._torch, self.loaded.device
        pad = torch.nn.utils.rnn.pad_sequence
        embedded = dict(zip(texts, self.tokenize(texts), strict=True))
        full = [(text, tokens.ids) for text, tokens in embedded.items() if tokens.ids]
        with torch.inference_mode():
            for batch in batch_by_length([len(ids) for _, ids in full], self.loaded.batch_tokens):
                rows = [torch.tensor(full[index][1]) for index in batch]
                padded = pad(rows, batch_first=True, padding_value=self.loaded.tokenizer.pad_token_id)
                mask = pad([torch.ones_like(row) for row in rows], batch_first=True)
                states = self._run(input_ids=padded.to(device), attention_mask=mask.to(device))
                for row, index in enumerate(batch):
                    text, ids = full[index]
                    # A copy, so that one text does not keep its batch in memory.
                    embedded[text] = replace(embedded[text], vectors=states[row, : len(ids)].clone())
        return embedded

    def _run(self, **batch: Any) -> Any:
        if self._pool == "last":
            return self.loaded.model(**batch).last_hidden_state.float()
        states = self.loaded.model(**batch, output_hidden_states=True).hidden_states[-_POOLED_LAYERS:]
        stacked = self._torch.nn.functional.normalize(self._torch.stack(states).float(), dim=-1)
        return self._torch.cat([stacked.amin(0), stacked.mean(0), stacked.amax(0)], -1)


_shared = SharedObjects[tuple[str, int | None, Pooling, str], TokenEmbedder]()


def open_embedder(model: str, layers: int | None, *, pool: Pooling = "last", device: Device = "auto") -> TokenEmbedder:
    """Return an embedder; the same object, with its cache, as long as it is in use.

    Args:
        model: A folder or a hub name.
        layers: The last layer; None for all.
        pool: How a token's vector is made from the layers.
        device: Device of the weights.

    Raises:
        ValueError: The model has fewer layers.
        MissingExtraError, UsageError, ResourceError: See `load_model`.
    """
    # Before the model is loaded: one cut to a layer does not hold the whole one, which would be read from disk again.
    key = (str(fetch_weights(model).resolve()), layers, pool, choose_device(device))

    def make() -> TokenEmbedder:
        loaded = load_model(model, "encoder", device=device)
        return TokenEmbedder(loaded if layers is None else keep_layers(loaded, layers), pool)

    return _shared.get(key, make)


def group_by_language(cases: Sequence[Case]) -> Iterator[tuple[Lang, list[int]]]:
    """Group cases by language, at most `MAX_GROUP_CASES` each, whose vectors are in memory at a time.

    Yields:
        A language and the indices of its cases; every index once.
    """
    for lang in get_args(Lang):
        indices = [index for index, case in enumerate(cases) if case.lang == lang]
        for start in range(0, len(indices), MAX_GROUP_CASES):
            yield lang, indices[start : start + MAX_GROUP_CASES]


def _count_bytes(text: EmbeddedText) -> int:
    return 0 if text.vectors is None else text.vectors.numel() * text.vectors.element_size()
