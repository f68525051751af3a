"""Builds a name index: encodes all names of a graph, trains and fills the index, measures its recall, writes it.

Memory holds only the compressed index, a sample of the vectors for training, and one batch, whatever the size of the
graph. The vectors are kept on disk until the index is finished (`imapeval.graph.index.checkpoint`).
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np

from imapeval.errors import ResourceError
from imapeval.graph.index.checkpoint import VectorCheckpoint
from imapeval.graph.index.device import FaissDevice, single_threaded
from imapeval.graph.index.files import (
    FORMAT,
    IndexDescription,
    encode_means,
    fingerprint_file,
    read_description,
    write_index,
)
from imapeval.graph.index.preprocessing import centre, fold_case
from imapeval.graph.index.tuning import QUERIES, ExactNeighbours, choose_probes, choose_recipe, drop_character
from imapeval.text.language import FACT_LANGS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from imapeval.graph.arrays import Floats32, Integers
    from imapeval.graph.encoder import Encoder
    from imapeval.graph.index.files import Recall
    from imapeval.graph.index.tuning import Recipe
    from imapeval.graph.store.graph import Graph
    from imapeval.types import Lang


BATCH = 4_096
"""Names encoded between two calls of `progress`, and at most encoded again after a build was stopped."""

# FAISS recommends at least 39 vectors per cell; product quantisation gains nothing from more than 65,536 in all.
_SAMPLE_PER_CELL = 64
_SAMPLE = 65_536

_SHRINKAGE = 50
"""Zero vectors counted into the mean of each language, so that a few names of a language are not all equal to it."""


def build_index(
    graph: Graph,
    encoder: Encoder,
    path: Path,
    *,
    max_bytes: int | None,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Write the index of a graph's names; see `NameIndex.build`."""
    recipe = choose_recipe(graph.name_count, encoder.dimension, max_bytes=max_bytes)
    with ExitStack() as stack:
        with _writing_to(path):
            draft = stack.enter_context(
                VectorCheckpoint(path, graph=graph.hash, encoder=encoder.identity, dimension=encoder.dimension)
            )
        if draft.waited and _is_built(path, graph, encoder, recipe):
            return
        done = len(draft)
        texts = (fold_case(text) for row, text, _, _ in graph.all_names() if row > done)
        while batch := list(islice(texts, BATCH)):
            vectors = encoder.encode(batch)
            with _writing_to(path):
                draft.append(vectors)
            if progress is not None:
                progress(len(draft), graph.name_count)
        with _writing_to(path):
            _IndexBuilder(graph, encoder, draft, recipe).write(path)


@contextmanager
def _writing_to(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ResourceError(
            f"the name index cannot be written to {path.parent} ({error}). Free some space or make the folder "
            "writable, and try again: the vectors encoded so far are kept there."
        ) from error


def _is_built(path: Path, graph: Graph, encoder: Encoder, recipe: Recipe) -> bool:
    found = read_description(path)
    return found is not None and (found.graph, found.encoder, found.recipe) == (
        graph.hash,
        encoder.identity,
        recipe.factory,
    )


class _IndexBuilder:
    """Makes an index from the vectors of a checkpoint."""

    def __init__(self, graph: Graph, encoder: Encoder, draft: VectorCheckpoint, recipe: Recipe) -> None:
        self._graph = graph
        self._encoder = encoder
        self._draft = draft
        self._recipe = recipe
        self._device = FaissDevice()
        # The same sample and queries each time, so that the same names give the same index.
        self._rng = np.random.default_rng(0)
        langs = (FACT_LANGS.index(lang) for *_, lang in graph.all_names())
        self._langs = np.fromiter(langs, dtype=np.uint8, count=graph.name_count)
        self._means: dict[Lang, Floats32] = {}

    def write(self, path: Path) -> None:
        """Make the index and move its two files into place."""
        with single_threaded():
            index, recall = self._make_index()
        new = self._draft.folder / path.name
        write_index(index, new)
        size, digest = fingerprint_file(new)
        description = IndexDescription(
            format=FORMAT,
            graph=self._graph.hash,
            encoder=self._encoder.identity,
            dimension=self._encoder.dimension,
            names=len(self._draft),
            recipe=self._recipe.factory,
            recall=recall,
            faiss=faiss.__version__,
            size=size,
            digest=digest,
            means=encode_means(self._means),
        )
        new_description = new.with_suffix(".json")
        new_description.write_text(description.model_dump_json(indent=1) + "\n", encoding="utf-8")
        # Renamed when both are complete, so that no process opens half an index.
        new.replace(path)
        new_description.replace(path.with_suffix(".json"))

    def _make_index(self) -> tuple[Any, Recall | None]:
        sample = self._read_sample()
        empty: Any = faiss.index_factory(self._encoder.dimension, self._recipe.factory, faiss.METRIC_INNER_PRODUCT)
        index = self._device.to_device(empty)
        if not index.is_trained:
            index.train(sample)
        nearest = ExactNeighbours(self._make_queries(), self._device) if self._recipe.cells else None
        for start, rows in self._draft.read():
            centred = self._centre(rows, np.arange(start, start + len(rows)))
            index.add(centred)
            if nearest is not None:
                nearest.add(centred)
        index = self._device.to_cpu(index)
        if self._recipe.uses_pca:
            # Only needed for training; 1 MB at 512 dimensions.
            transform: Any = faiss.downcast_VectorTransform(index.chain.at(0))
            transform.PCAMat.clear()
        if nearest is None:
            return index, None
        return index, choose_probes(index, nearest, lambda numbers: self._centre(self._draft.rows_at(numbers), numbers))

    def _read_sample(self) -> Floats32:
        """Compute the mean of each language, and return a sample of rows for training."""
        names, cells = len(self._draft), self._recipe.cells
        wanted = min(names, max(_SAMPLE, _SAMPLE_PER_CELL * cells)) if cells else 0
        chosen = np.sort(self._rng.choice(names, wanted, replace=False))
        sample = np.empty((wanted, self._encoder.dimension), dtype=np.float32)
        sums = np.zeros((len(FACT_LANGS), self._encoder.dimension))
        for start, rows in self._draft.read():
            low, high = np.searchsorted(chosen, [start, start + len(rows)])
            sample[low:high] = rows[chosen[low:high] - start]
            langs = self._langs[start : start + len(rows)]
            for number in range(len(FACT_LANGS)):
                sums[number] += rows[langs == number].sum(axis=0, dtype=np.float64)
        counts = np.bincount(self._langs, minlength=len(FACT_LANGS))
        means = (sums / (counts + _SHRINKAGE)[:, None]).astype(np.float32)
        self._means = {lang: mean for lang, mean, count in zip(FACT_LANGS, means, counts, strict=True) if count}
        return self._centre(sample, chosen)

    def _make_queries(self) -> Floats32:
        """Return the vectors of some names, each with one character removed."""
        names = len(self._draft)
        chosen = np.sort(self._rng.choice(names, min(names, QUERIES), replace=False))
        texts = [fold_case(name.text) for name in self._graph.names_at((chosen + 1).tolist())]
        rows = self._centre(self._encoder.encode([drop_character(text, self._rng) for text in texts]), chosen)
        return rows[rows.any(axis=1)]

    def _centre(self, rows: Floats32, numbers: Integers) -> Floats32:
        langs = self._langs[numbers]
        result = np.empty_like(rows)
        for number in np.unique(langs):
            result[langs == number] = centre(rows[langs == number], self._means[FACT_LANGS[number]])
        return result
