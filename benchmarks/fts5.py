"""SQLite's FTS5 as a source of candidates, compared with the n-gram index: `python benchmarks/fts5.py`.

Both search the names of the linking benchmark (`linking_data.py`) for the synonyms held out. FTS5 uses its trigram
tokenizer; a query is any of the trigrams of the synonym, ranked by bm25. "Reordered" takes the 600 best names and puts
them in the order of RapidFuzz's ratio (needs rapidfuzz). Printed are the share of synonyms whose concept comes first,
the share whose concept is among the 60 names that each method returns (as many as the linker takes), and the CPU time
of a query.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from linking_data import read_tasks
from rapidfuzz import fuzz, process

from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.linking.candidates import NGRAM_HITS
from imapeval.graph.store.graph import Graph
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REORDERED = 600


class TrigramTable:
    """An FTS5 table of normal forms."""

    def __init__(self, norms: Sequence[str]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE name USING fts5(norm, tokenize='trigram')")
        self._database.executemany("INSERT INTO name(rowid, norm) VALUES (?, ?)", enumerate(norms))

    def search(self, norm: str, k: int) -> list[int]:
        """Return the places of the best names; none for fewer than three characters, which have no trigram."""
        trigrams = {norm[start : start + 3] for start in range(len(norm) - 2)}
        if not trigrams:
            return []
        query = " OR ".join('"' + trigram.replace('"', '""') + '"' for trigram in sorted(trigrams))
        found = self._database.execute("SELECT rowid FROM name WHERE name MATCH ? ORDER BY rank LIMIT ?", (query, k))
        return [row for (row,) in found]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1_000, help="ask only so many of the 2,000 synonyms")
    options = parser.parse_args()
    task, _ = read_tasks()
    with tempfile.TemporaryDirectory() as folder:
        task.write(Path(folder))
        graph = Graph.open(Path(folder))
        index = NgramIndex.build(graph)
        rows = list(graph.all_names())
    norms = [normalise(text) for _, text, _, _ in rows]
    concepts = [concept for _, _, concept, _ in rows]
    table = TrigramTable(norms)

    def search_index(norm: str) -> list[int]:
        return [row - 1 for row in index.search(norm, NGRAM_HITS)[0].tolist()]

    def reorder(norm: str) -> list[int]:
        found = {place: norms[place] for place in table.search(norm, REORDERED)}
        return [place for _, _, place in process.extract(norm, found, scorer=fuzz.ratio, limit=NGRAM_HITS)]

    methods: dict[str, Callable[[str], list[int]]] = {
        "n-gram index": search_index,
        "FTS5": lambda norm: table.search(norm, NGRAM_HITS),
        "FTS5, reordered": reorder,
    }
    held = task.held[: options.first]
    print(f"{len(norms)} names, {len(held)} synonyms, SQLite {sqlite3.sqlite_version}")
    for name, search in methods.items():
        first = among = 0
        start = time.process_time()
        for text, concept in held:
            found = [concepts[place] for place in search(normalise(text))]
            first += found[:1] == [concept]
            among += concept in found
        spent = 1000 * (time.process_time() - start) / len(held)
        shares = f"first {first / len(held):.3f}  among {NGRAM_HITS} {among / len(held):.3f}"
        print(f"{name:16} {shares}  {spent:.2f} ms of CPU", flush=True)


if __name__ == "__main__":
    main()
