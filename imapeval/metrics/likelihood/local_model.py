"""Token probabilities from a model loaded with transformers.

Memory: the model; the attention cache of one batch (`LoadedModel.batch_tokens` tokens, or the longest text); and twice
268 MB for probabilities over the vocabulary, of which at most 2^26 are in memory at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from imapeval.errors import ResourceError
from imapeval.metrics.likelihood.logprobs import TokenLogprobs
from imapeval.metrics.neural.models.inputs import batch_by_length
from imapeval.metrics.neural.models.loading import load_model
from imapeval.metrics.neural.models.sharing import SharedObjects
from imapeval.metrics.neural.models.weights import identify_weights, import_packages
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.metrics.base import Device
    from imapeval.metrics.likelihood.logprobs import Continuation
    from imapeval.metrics.neural.models.loading import LoadedModel

_MAX_LOGITS = 2**26
"""Maximum number of output values at a time, 268 MB in single precision: 1,365 tokens of SmolLM2, 523 of Llama 3. More
is not faster on a CPU."""

_CACHED_READINGS = 4096
"""Number of cached readings, which several metrics share: more than one metric needs for a batch of `evaluate`."""


@dataclass(frozen=True, slots=True)
class _Tokens:
    """The tokens of a text and its prefix.

    Attributes:
        ids: Token ids of both.
        first: Index of the text's first token, at least 1.
        ends: Ends of the text's tokens; see `TokenLogprobs.ends`.
    """

    ids: list[int]
    first: int
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class LocalLogprobReader:
    """Computes token probabilities with a causal model; recent readings are cached for other metrics.

    A text longer than the model's context is read in windows, as in lm-evaluation-harness (`loglikelihood_rolling`):
    each token once, the later windows without the prefix.

    Attributes:
        identity: Weights and precision.
        loaded: Model and tokenizer.
    """

    identity: str
    loaded: LoadedModel
    _known: dict[Continuation, TokenLogprobs | Failure] = field(
        default_factory=dict["Continuation", "TokenLogprobs | Failure"], repr=False
    )

    def read(self, continuations: Sequence[Continuation]) -> list[TokenLogprobs | Failure]:
        """Return the probabilities of each text, or `Failure("too-long")` if it must be read whole and does not fit."""
        # Other threads may evict what is known now while the model reads.
        found = {continuation: self._known.get(continuation) for continuation in continuations}
        fresh = [continuation for continuation, outcome in found.items() if outcome is None]
        read = dict(zip(fresh, self._read(fresh), strict=True))
        self._known.update(read)
        for continuation in list(self._known)[:-_CACHED_READINGS]:
            self._known.pop(continuation, None)
        return [found[continuation] or read[continuation] for continuation in continuations]

    def _read(self, continuations: Sequence[Continuation]) -> list[TokenLogprobs | Failure]:
        outcomes: dict[int, TokenLogprobs | Failure] = {}
        texts: dict[int, _Tokens] = {}
        logprobs: dict[int, list[float]] = {}
        rows: list[tuple[int, list[int], int, int]] = []
        size = self.loaded.max_tokens
        for index, continuation in enumerate(continuations):
            text = self._encode(continuation)
            if text is None:
                outcomes[index] = Failure("metric", "no-tokens", "the model's tokenizer leaves nothing of the text")
                continue
            if continuation.whole and len(text.ids) - 1 > size:
                outcomes[index] = Failure(
                    "metric", "too-long", f"{len(text.ids)} tokens with the prompt, and the model takes {size} at once"
                )
                continue
            texts[index], logprobs[index] = text, [0.0] * len(text.ends)
            rows += [
                (index, text.ids[start : stop + 1], start, first)
                for start, stop, first in slide_windows(text.first, len(text.ids), size)
            ]
        for batch in batch_by_length([len(ids) - 1 for _, ids, _, _ in rows], self.loaded.batch_tokens):
            chosen = [rows[number] for number in batch]
            computed = self._compute_logprobs([row[1] for row in chosen])
            for (index, ids, start, first), row_logprobs in zip(chosen, computed, strict=True):
                # The number at index i is of the token at start + i + 1.
                offset = first - texts[index].first
                counted = row_logprobs[first - start - 1 : len(ids) - 1]
                logprobs[index][offset : offset + len(counted)] = counted
        pieces = [row[0] for row in rows]
        for index, text in texts.items():
            outcomes[index] = TokenLogprobs(tuple(logprobs[index]), text.ends, pieces.count(index))
        return [outcomes[index] for index in range(len(continuations))]

    def _encode(self, continuation: Continuation) -> _Tokens | None:
        tokenizer, start = self.loaded.tokenizer, len(continuation.prefix)
        encoded = tokenizer(
            continuation.prefix + continuation.text,
            add_special_tokens=False,
            return_offsets_mapping=True,
            verbose=False,
        )
        ends = [end for _, end in encoded["offset_mapping"]]
        first = next((index for index, end in enumerate(ends) if end > start), None)
        if first is None:
            return None
        begin = _find_bos_token(tokenizer)
        # A token has no probability where nothing precedes it.
        if not begin and first == 0:
            begin = [tokenizer.eos_token_id]
        return _Tokens([*begin, *encoded["input_ids"]], len(begin) + first, tuple(end - start for end in ends[first:]))

    def _compute_logprobs(self, rows: Sequence[Sequence[int]]) -> Iterator[list[float]]:
        """Yield for each row the log-probabilities of all tokens but the first, including padding."""
        [torch] = import_packages("torch", needed_for="a likelihood")
        model = self.loaded.model
        # Padding follows the tokens, which do not attend to it, so it needs no mask.
        ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = torch.tensor(row)
        ids = ids.to(model.device)
        length = ids.shape[1] - 1
        step = max(1, _MAX_LOGITS // model.config.get_text_config().vocab_size // len(rows))
        seen: list[Any] = []
        cache = None
        with torch.inference_mode():
            for start in range(0, length, step):
                stop = min(start + step, length)
                output = model(
                    input_ids=ids[:, start:stop],
                    attention_mask=torch.ones_like(ids[:, :stop]),
                    past_key_values=cache,
                    use_cache=step < length,
                )
                cache = output.past_key_values if step < length else None
                logits = output.logits.float()
                chosen = logits.gather(-1, ids[:, start + 1 : stop + 1, None]).squeeze(-1)
                # No rounding error makes a token likelier than certain.
                seen.append((chosen - logits.logsumexp(-1)).clamp(max=0.0))
        yield from torch.cat(seen, dim=1).tolist()


def open_local_reader(model: str, *, device: Device) -> LocalLogprobReader:
    """Return a reader with a causal model, a folder or a hub name; the same object as long as it is in use.

    Raises:
        MissingExtraError: The packages of the extra `neural` are not installed.
        UsageError: There is no such device.
        ResourceError: The weights are not available, or the tokenizer does not give the positions of its tokens.
    """
    loaded = load_model(model, "causal", device=device)
    if not loaded.tokenizer.is_fast:
        raise ResourceError(
            f"the tokenizer of {model!r} does not tell where its tokens lie in a text. Save it as tokenizer.json: "
            "AutoTokenizer.from_pretrained(..., use_fast=True).save_pretrained(FOLDER)."
        )
    return _shared.get(id(loaded), lambda: LocalLogprobReader(f"{identify_weights(model)}@{loaded.precision}", loaded))


_shared = SharedObjects[int, LocalLogprobReader]()
"""By the id of the loaded model, which the reader holds, so that no other object can have the same id."""


def slide_windows(first: int, total: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Split tokens into windows that fit a model, as in lm-evaluation-harness (`get_rolling_token_windows`).

    The first window begins with the first token. Each later one ends with new tokens, preceded by as many old ones as
    fit (one, unless the text ends earlier).

    Args:
        first: The first token whose probability is needed, at least 1.
        total: Number of tokens.
        size: Maximum number of tokens per window.

    Yields:
        start, stop, counted: the input is the tokens from `start` up to, but not including, `stop`. It gives the
        probabilities of the tokens from `start + 1` to `stop`, of which those from `counted` on count.
    """
    done = 0
    while done < total - 1:
        stop = min(done + size, total - 1)
        if stop >= first:
            yield max(0, stop - size), stop, max(first, done + 1)
        done = stop


def _find_bos_token(tokenizer: Any) -> list[int]:
    """Return the token that the tokenizer puts before every text, if any."""
    bos = tokenizer.bos_token_id
    return [bos] if bos is not None and tokenizer("a")["input_ids"][0] == bos else []
