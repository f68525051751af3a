"""The nearest names of the graph to any wording: a FAISS index over the names' vectors.

An index is two files: `names.faiss` and beside it `names.json`, which says of which graph and which encoder it was
made, and holds what all names of a language have in common.
"""

from __future__ import annotations

import base64
import os
import re
from typing import TYPE_CHECKING, Any, Self

import faiss
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from imapeval._resources import cache_folder, find
from imapeval.errors import ResourceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from imapeval.graph.encoder import Encoder
    from imapeval.graph.store import Graph
    from imapeval.types import Lang

    Rows = npt.NDArray[np.float32]

FORMAT = 1
"""Of the two files; an index of another format is refused."""

_LARGE = 20_000
"""Names from which the vectors are compressed and sorted into cells; fewer are kept exactly."""

# Measured on 76,388 names of 512 dimensions with 1,500 queries (docs/graph.md): 100 bytes a name; the name nearest by
# exact search is among the first ten in 95% of the queries; 10,000 queries take 0.3 s. Uncompressed the vectors are
# 2,048 bytes a name. Optimised product quantisation takes many minutes to train.
_COMPRESSED = "PCAR256,IVF256,PQ128x4fs"
_PROBES = 16

_BATCH = 4_096
"""Names encoded between two calls of `progress`."""

_SHRINKAGE = 50
"""Names at zero that are counted into each mean, so that a language with five names does not lose all it has."""


class _Meta(BaseModel):
    """What `names.json` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int
    graph: str
    encoder: str
    dimension: int
    names: int
    faiss: str
    means: dict[str, str]
    """Language to the mean of its names' vectors: float32, little-endian, base64."""


class NameIndex:
    """Finds the names nearest to a vector, and removes from vectors what all names have in common.

    Row r of the index is the name with row id r + 1 of `Graph.all_names`.

    Attributes:
        encoder: What the names were encoded with; queries must be as well.
    """

    def __init__(self, meta: _Meta, index: Any, encoder: Encoder) -> None:
        """Not for callers: use `NameIndex.provide`, `NameIndex.open` or `NameIndex.build`."""
        self.encoder = encoder
        self._index = index
        self._means = {lang: np.frombuffer(base64.b64decode(mean), dtype="<f4") for lang, mean in meta.means.items()}

    def __len__(self) -> int:
        """Return the number of names."""
        return int(self._index.ntotal)

    @classmethod
    def open(cls, graph: Graph, encoder: Encoder, path: Path) -> Self:
        """Open an index.

        Args:
            graph: The graph whose names were indexed.
            encoder: The encoder they were encoded with.
            path: The `.faiss` file.

        Raises:
            ResourceError: There is none, it is damaged, or it was made of another graph or with another encoder.
        """
        meta = _read_meta(path)
        if (meta.graph, meta.encoder) != (graph.hash, encoder.identity):
            raise ResourceError(
                f"the name index {path} does not fit: it was made of the graph {meta.graph[:12]} with the encoder "
                f"{meta.encoder!r}, but open are the graph {graph.hash[:12]} and the encoder {encoder.identity!r}. "
                + _MEND
            )
        try:
            index = faiss.deserialize_index(np.fromfile(path, dtype=np.uint8))
        except (OSError, RuntimeError) as error:
            raise ResourceError(f"the name index {path} cannot be read ({error}). {_MEND}") from error
        if (index.ntotal, index.d) != (meta.names, meta.dimension):
            raise ResourceError(
                f"the name index {path} holds {index.ntotal} names of {index.d} dimensions, but its description "
                f"{path.with_suffix('.json')} speaks of {meta.names} and {meta.dimension}. {_MEND}"
            )
        return cls(meta, index, encoder)

    @classmethod
    def provide(cls, graph: Graph, encoder: Encoder, *, progress: Callable[[int, int], None] | None = None) -> Self:
        """Open the index that ships or the one in the user's cache; where neither fits, build it into the cache.

        Building encodes every name once: 40 s for the shipped graph's 92,000 with the shipped encoder.

        Args:
            graph: The graph whose names to find.
            encoder: What to encode them with.
            progress: Called while building, with the number of names encoded so far and of all names.

        Raises:
            ResourceError: The index in the cache is damaged, or the cache cannot be written.
        """
        shipped, cached = find("kg") / "names.faiss", cached_path(graph, encoder)
        if _fits(shipped, graph, encoder):
            return cls.open(graph, encoder, shipped)
        if cached.exists():
            return cls.open(graph, encoder, cached)
        return cls.build(graph, encoder, cached, progress=progress)

    @classmethod
    def build(
        cls,
        graph: Graph,
        encoder: Encoder,
        path: Path,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Encode all names of a graph, write the index and return it.

        Args:
            graph: Whose names to index.
            encoder: What to encode them with.
            path: Where to write the `.faiss` file; its description goes beside it, with the suffix `.json`.
            progress: Called with the number of names encoded so far and of all names.

        Raises:
            ResourceError: The folder cannot be written.
        """
        texts: list[str] = []
        langs: list[Lang] = []
        for _, text, _, lang in graph.all_names():
            texts.append(fold_case(text))
            langs.append(lang)
        vectors = np.zeros((len(texts), encoder.dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            vectors[start : start + _BATCH] = encoder.encode(texts[start : start + _BATCH])
            if progress is not None:
                progress(min(start + _BATCH, len(texts)), len(texts))
        spoken = np.array(langs)
        meta = _Meta(
            format=FORMAT,
            graph=graph.hash,
            encoder=encoder.identity,
            dimension=encoder.dimension,
            names=len(texts),
            faiss=faiss.__version__,
            means={
                lang: base64.b64encode(_shrunken_mean(vectors[spoken == lang]).astype("<f4").tobytes()).decode()
                for lang in sorted(set(langs))
            },
        )
        result = cls(meta, None, encoder)
        for lang in set(langs):
            vectors[spoken == lang] = result.centred(vectors[spoken == lang], lang)
        result._index = _make_index(vectors)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, faiss.serialize_index(result._index).tobytes())
            _replace(path.with_suffix(".json"), (meta.model_dump_json(indent=1) + "\n").encode())
        except OSError as error:
            raise ResourceError(f"the name index cannot be written to {path.parent} ({error}).") from error
        return result

    def centred(self, vectors: Rows, lang: Lang) -> Rows:
        """Return unit rows from which the mean of all names of a language has been taken.

        What all names share says nothing of any of them, and would make all pairs look alike (Mu and Viswanath 2018,
        "All-but-the-Top"). Rows of zeros stay so.

        Args:
            vectors: Shape (n, dimension), as the encoder gives them.
            lang: Language of the texts.
        """
        mean = self._means.get(lang)
        rows = vectors if mean is None else np.where(vectors.any(axis=1, keepdims=True), vectors - mean, 0)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)

    def search(self, vectors: Rows, k: int) -> tuple[npt.NDArray[np.int64], Rows]:
        """Return the row ids (see `Graph.all_names`) and the similarities of the nearest names, nearest first.

        Args:
            vectors: Shape (n, dimension), centred.
            k: How many names; fewer where the graph has fewer.

        Returns:
            Two arrays of shape (n, k). Similarities are cosines, off by some hundredths because the stored vectors
            are compressed. Where nothing is found the row id is 0.
        """
        if not len(vectors):
            return np.zeros((0, k), dtype=np.int64), np.zeros((0, k), dtype=np.float32)
        scores, rows = self._index.search(np.ascontiguousarray(vectors, dtype=np.float32), min(k, len(self)))
        return rows + 1, scores


def fold_case(text: str) -> str:
    """Return a text as it is encoded for the index: in lower case, because the encoder hears capitals."""
    return text.lower()


def cached_path(graph: Graph, encoder: Encoder) -> Path:
    """Return where an index that did not ship is kept: in the cache folder, named after graph and encoder."""
    name = re.sub(r"[^\w.@-]+", "_", encoder.identity)
    return cache_folder() / "index" / f"{graph.hash[:16]}-{name}.faiss"


_MEND = "Build it anew with: python kg/build_index.py (in a checkout), or NameIndex.build(graph, encoder, path)."


def _fits(path: Path, graph: Graph, encoder: Encoder) -> bool:
    try:
        meta = _read_meta(path)
    except ResourceError:
        return False
    return (meta.graph, meta.encoder) == (graph.hash, encoder.identity)


def _read_meta(path: Path) -> _Meta:
    described = path.with_suffix(".json")
    try:
        meta = _Meta.model_validate_json(described.read_bytes())
    except OSError as error:
        raise ResourceError(f"there is no name index at {path} ({error}). {_MEND}") from error
    except ValidationError as error:
        raise ResourceError(f"{described} does not describe a name index ({error}). {_MEND}") from error
    if meta.format != FORMAT:
        raise ResourceError(f"the name index {path} has format {meta.format}; this version reads {FORMAT}. {_MEND}")
    return meta


def _shrunken_mean(vectors: Rows) -> Rows:
    return vectors.sum(axis=0, dtype=np.float64) / (len(vectors) + _SHRINKAGE)


def _replace(path: Path, content: bytes) -> None:
    # Beside its place and renamed, so that nobody opens half an index.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)


def _make_index(rows: Rows) -> Any:
    names, dimension = rows.shape
    spec = "Flat" if names < _LARGE else _COMPRESSED if dimension >= 256 else "IVF256,SQ8"
    index: Any = faiss.index_factory(dimension, spec, faiss.METRIC_INNER_PRODUCT)  # its stubs are partly untyped
    if names >= _LARGE:
        faiss.extract_index_ivf(index).nprobe = _PROBES
    threads = faiss.omp_get_max_threads()
    try:
        # One thread trains the same index on every machine, and on busy cores faster than two (2 s against 35 s).
        faiss.omp_set_num_threads(1)
        index.train(rows)
        index.add(rows)
    finally:
        faiss.omp_set_num_threads(threads)
    return index
