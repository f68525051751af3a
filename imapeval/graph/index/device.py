"""The device of FAISS: a GPU if its build supports one and one is present, otherwise the CPU."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import faiss

if TYPE_CHECKING:
    from collections.abc import Generator

    from imapeval.graph.arrays import Floats32


_faiss: Any = faiss  # its stubs are partly untyped


class FaissDevice:
    """Trains and fills indexes, and searches exactly.

    Attributes:
        gpu: Whether it is a GPU, the first that FAISS finds.
    """

    def __init__(self) -> None:
        # faiss-cpu has no such class; faiss-gpu has it even on machines without a GPU.
        self.gpu = hasattr(_faiss, "StandardGpuResources") and _faiss.get_num_gpus() > 0
        self._resources: Any = _faiss.StandardGpuResources() if self.gpu else None

    def to_device(self, index: Any) -> Any:
        """Return an index to be trained and filled on this device; `to_cpu` is the inverse."""
        # FAISS has no GPU code for the compressed indexes, and the exact ones are small.
        if self.gpu and isinstance(index, faiss.IndexIVFScalarQuantizer):
            return _faiss.index_cpu_to_gpu(self._resources, 0, index)
        return index

    def to_cpu(self, index: Any) -> Any:
        """Return an index that can be written to a file."""
        return _faiss.index_gpu_to_cpu(index) if hasattr(index, "getDevice") else index

    def score_nearest(self, queries: Floats32, rows: Floats32, *, k: int) -> Floats32:
        """Return the inner products of each query with its k nearest rows, by exact search: shape (queries, k)."""
        if self.gpu:
            return _faiss.knn_gpu(self._resources, queries, rows, k, metric=faiss.METRIC_INNER_PRODUCT)[0]
        return _faiss.knn(queries, rows, k, metric=faiss.METRIC_INNER_PRODUCT)[0]


@contextmanager
def single_threaded() -> Generator[None]:
    """Limit FAISS to one thread.

    Training then gives the same index on every machine, and is faster than two threads on busy cores (2 s, not 35 s).
    """
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
