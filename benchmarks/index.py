"""The name index of a large graph: `python benchmarks/index.py GRAPH --out FOLDER`.

GRAPH is a compiled graph, such as `imapeval kg build --source kgx:scale_core_nodes.tsv.gz --out big.kg` makes. Its
names are encoded by their letters (`TrigramEncoder`, which needs scipy), because that is cheap.
Prints the time to encode and to build, the size, the memory, the time to open, and, over wordings that are not names
(a name with a spelling error), the time of a query and the recall@10 relative to exact search.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
import zlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np

from imapeval.graph.index.names import NameIndex
from imapeval.graph.index.preprocessing import fold_case
from imapeval.graph.store.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Rows = npt.NDArray[np.float32]

QUERIES = 1_000
SAMPLE = 50_000
BUCKETS = 1 << 15
K = 10
TIE = 1e-5
"""Similarities that differ by less count as equal: names that consist of the same words have the same vector."""


class TrigramEncoder:
    """Latent semantic analysis of letters: hashed trigrams weighted by rarity, reduced to the leading 128 dimensions.

    Cheap and deterministic, and near for wordings that share letters, as sentence encoders are for their meanings.

    Args:
        sample: Texts to fit the weights and the dimensions to.
    """

    dimension = 128

    def __init__(self, sample: Sequence[str]) -> None:
        from scipy.sparse.linalg import svds

        self.seconds = 0.0
        counts = self._count(sample)
        seen = np.bincount(counts.indices, minlength=BUCKETS)
        weights = np.log((len(sample) + 1) / (seen + 1)).astype(np.float32)
        weighted = counts.multiply(weights).tocsr()
        lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1))).ravel()
        weighted = weighted.multiply(1 / np.where(lengths > 0, lengths, 1)[:, None]).tocsr()
        turned: Any = svds(weighted, k=self.dimension, v0=np.ones(min(weighted.shape)))[2]
        self._table = np.ascontiguousarray(weights[:, None] * turned.T, dtype=np.float32)
        self.identity = f"trigrams-{self.dimension}@{zlib.crc32(self._table.tobytes()):08x}"

    def encode(self, texts: Sequence[str]) -> Rows:
        """Return one unit row per text; a row of zeros where nothing of it was seen in the sample."""
        start = time.perf_counter()
        rows = np.asarray(self._count(texts) @ self._table, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-6)
        self.seconds += time.perf_counter() - start
        return rows

    encode_alone = encode

    def _count(self, texts: Sequence[str]) -> Any:
        from scipy.sparse import csr_array

        buckets: list[int] = []
        ends = [0]
        for text in texts:
            letters = f" {text} ".encode()
            buckets.extend({zlib.crc32(letters[at : at + 3]) % BUCKETS for at in range(len(letters) - 2)})
            ends.append(len(buckets))
        return csr_array((np.ones(len(buckets), dtype=np.float32), buckets, ends), shape=(len(texts), BUCKETS))


def slip(text: str, rng: random.Random) -> str:
    """Return a text with two neighbouring letters exchanged, one doubled, or one replaced."""
    at = rng.randrange(len(text) - 1)
    before, here, after = text[:at], text[at : at + 2], text[at + 2 :]
    return before + rng.choice([here[::-1], here[0] * 2 + here[1], rng.choice("aeinorst") + here[1]]) + after


def search_exactly(
    index: NameIndex, graph: Graph, encoder: TrigramEncoder, queries: Rows
) -> tuple[npt.NDArray[np.int64], Rows]:
    """Return the row ids and the similarities of the names nearest to each query, over vectors encoded anew."""
    heap = faiss.ResultHeap(len(queries), K, keep_max=True)
    texts = (fold_case(text) for _, text, _, _ in graph.all_names())
    first = 1
    while batch := list(islice(texts, 50_000)):
        rows = index.centre(encoder.encode(batch), "en")
        scores, numbers = faiss.knn(queries, rows, K, metric=faiss.METRIC_INNER_PRODUCT)
        heap.add_result(scores, numbers + first)
        first += len(batch)
    heap.finalize()
    return heap.I, heap.D


def peak_memory() -> float:
    """Return the most memory that this process has held so far, in GB (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def resident_memory() -> float:
    """Return the anonymous memory of this process (without mapped files), in GB (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("RssAnon:")[1].split()[0]) / 1e6


def main() -> None:
    """Build where there is no index yet, then measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the index")
    options = parser.parse_args()
    path = options.out / "names.faiss"
    with Graph.open(options.graph) as graph:
        start = time.perf_counter()
        numbers = np.unique(np.linspace(1, graph.name_count, SAMPLE, dtype=np.int64)).tolist()
        encoder = TrigramEncoder([fold_case(name.text) for name in graph.names_at(numbers)])
        print(f"encoder fitted in {time.perf_counter() - start:.0f} s")
        start = time.perf_counter()
        if not path.exists():
            NameIndex.build(graph, encoder, path)
            spent = time.perf_counter() - start
            print(f"built in {spent:.0f} s, of which {encoder.seconds:.0f} s to encode {graph.name_count} names")
            print(f"most memory while building: {peak_memory():.2f} GB")
        start = time.perf_counter()
        index = NameIndex.open(graph, encoder, path)
        print(f"opened in {(time.perf_counter() - start) * 1000:.0f} ms: {len(index)} names, {index.recipe}")
        print(f"file {path.stat().st_size / 1e9:.2f} GB; stored: {index.recall}")

        rng = random.Random(1)
        names = graph.names_at([rng.randrange(graph.name_count) + 1 for _ in range(QUERIES)])
        texts = [slip(fold_case(name.text), rng) for name in names if len(name.text) > 3]
        queries = index.centre(encoder.encode(texts), "en")
        queries = queries[queries.any(axis=1)]
        found = np.zeros((len(queries), K), dtype=np.int64)
        for turn in ("first", "second"):  # the first reads the file
            times: list[float] = []
            for row in range(len(queries)):
                start = time.perf_counter()
                found[row] = index.search(queries[row : row + 1], K)[0]
                times.append((time.perf_counter() - start) * 1000)
            median, late = np.percentile(times, [50, 95])
            print(f"a query, {turn} time: {np.mean(times):.2f} ms (median {median:.2f}, 95th percentile {late:.2f})")
        start = time.perf_counter()
        index.search(queries, K)
        print(f"{len(queries)} queries at once: {(time.perf_counter() - start) / len(queries) * 1000:.2f} ms each")
        print(f"memory while searching: {resident_memory():.2f} GB besides the mapped file")

        numbers, scores = search_exactly(index, graph, encoder, queries)
        same = [len(set(ours) & set(theirs)) / K for ours, theirs in zip(found.tolist(), numbers.tolist(), strict=True)]
        near = sorted(set(found[found > 0].tolist()))
        rows = index.centre(encoder.encode([fold_case(name.text) for name in graph.names_at(near)]), "en")
        vectors = dict(zip(near, rows, strict=True))
        hits = [
            [number > 0 and float(query @ vectors[number]) >= tenth - TIE for number in row]
            for row, query, tenth in zip(found.tolist(), queries, scores[:, -1], strict=True)
        ]
        print(f"recall@{K} over {len(queries)} wordings: {np.mean(hits):.4f} (by the same names: {np.mean(same):.4f})")


if __name__ == "__main__":
    main()
