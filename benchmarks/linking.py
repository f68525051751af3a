"""How well names are linked to their concepts, compared with other systems: `python benchmarks/linking.py --work DIR`.

The graph is DOID and Mondo, merged through Mondo's xrefs. From each of 2,000 concepts with at least three names, one
synonym that no other concept has is held out and looked up among the remaining names (`linking_data.py`). Printed are
the share whose concept ranks first and among the first ten, and the time per name on one thread: one half of the names
is looked up one at a time, the other in batches of 64, as the scorer does. For each peer, the number of names that only
one of the two ranks correctly is printed with McNemar's exact test.

With `--accept`, it prints instead how many links of `Linker.link_many` are correct, for the same names and for as many
whose concept is not in the graph at all; with `--fit`, the weights of `imapeval.graph.linking.ranking`, learned on
4,000 other concepts. Graph and indexes are kept in the folder `--work`, and reused.
"""

from __future__ import annotations

import argparse
import json
import time
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING

import faiss
from linking_data import Task, read_tasks
from linking_fit import fit
from linking_peers import PEERS, Ranker, installed

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.linking.candidates import CandidateFinder
from imapeval.graph.linking.linker import Linker
from imapeval.graph.linking.ranking import LINK_THRESHOLD
from imapeval.graph.store.graph import Graph
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.graph.encoder import Encoder

WARM_UP = 64
"""Warm-up names, looked up before the clock starts; none of them is held out."""

TOGETHER = 64
"""Names in a batch."""

Row = tuple[list[int], list[tuple[float, float]]]
"""Results of a ranker: the rank of each correct concept (from 0; 10 if not found), and per mode the wall and CPU
milliseconds a name. On a busy machine the wall time includes the work of other processes."""


def open_parts(task: Task, folder: Path) -> tuple[Graph, Encoder, NameIndex, NgramIndex]:
    """Return the graph of a task and its indexes, made where the folder lacks them."""
    if not (folder / "graph.sqlite").exists():
        task.write(folder)
    graph, encoder = Graph.open(folder), open_encoder()
    vectors, ngrams = folder / "names.faiss", folder / "grams.json"
    index = NameIndex.open(graph, encoder, vectors) if vectors.exists() else NameIndex.build(graph, encoder, vectors)
    grams = NgramIndex.open(graph, folder) if ngrams.exists() else NgramIndex.build(graph, folder)
    return graph, encoder, index, grams


def measure(rank: Ranker, task: Task) -> Row:
    """Ask for the first half of the names one at a time, and for the second in batches.

    No name is looked up twice, because encoders cache their vectors.
    """
    names = [name for name, _ in task.held]
    rank([name for name, _ in task.names[:WARM_UP]])
    ranked: list[list[str]] = []
    times: list[tuple[float, float]] = []
    for size, part in ((1, names[: len(names) // 2]), (TOGETHER, names[len(names) // 2 :])):
        start, worked = time.perf_counter(), time.process_time()
        for first in range(0, len(part), size):
            ranked += rank(part[first : first + size])
        spent = time.perf_counter() - start, time.process_time() - worked
        times.append((1000 * spent[0] / len(part), 1000 * spent[1] / len(part)))
    places = [
        found.index(concept) if concept in found else 10 for found, (_, concept) in zip(ranked, task.held, strict=True)
    ]
    return places, times


def test_paired(ours: list[bool], theirs: list[bool]) -> tuple[int, int, float]:
    """Return how often only we are right, only they are, and the two-sided exact p-value (McNemar 1947)."""
    only_we = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    only_they = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    count, less = only_we + only_they, min(only_we, only_they)
    tail = sum(comb(count, k) for k in range(less + 1)) / 2**count if count else 1.0
    return only_we, only_they, min(1.0, 2 * tail)


def compare(task: Task, folder: Path, peers: list[str]) -> None:
    """Print the table of all rankers, and the paired tests."""
    graph, encoder, index, grams = open_parts(task, folder)
    linker = Linker(graph, encoder, index, grams)

    def rank(asked: Sequence[str]) -> list[list[str]]:
        return [[one.concept for one in ranked] for ranked in linker.search_many(asked, lang="en")]

    found = {"imapeval": measure(rank, task)}
    print_row("imapeval", *found["imapeval"])
    names, concepts = zip(*task.names, strict=True)
    for peer, build in installed().items():
        if not peers or peer in peers:
            found[peer] = measure(build(names, concepts), task)
            print_row(peer, *found[peer])
    for peer in PEERS:
        if peer not in found:
            print(f"{peer}: not run")
    for peer in list(found)[1:]:
        for first in (1, 10):
            ours, theirs = ([place < first for place in found[who][0]] for who in ("imapeval", peer))
            won, lost, p = test_paired(ours, theirs)
            shown = f"p = {p:.2g}" if p else "p < 1e-300"
            print(f"@{first} against {peer}: only ours {won}, only theirs {lost}, {shown}")


def print_row(name: str, places: list[int], times: list[tuple[float, float]]) -> None:
    """Print accuracy and times of one ranker."""
    first, ten = (sum(place < limit for place in places) / len(places) for limit in (1, 10))
    (alone, alone_work), (together, together_work) = times
    print(
        f"{name:32} @1 {first:.3f}  @10 {ten:.3f}  one at a time {alone:7.2f} ms ({alone_work:.2f} of work)  "
        f"in batches of {TOGETHER} {together:7.2f} ms ({together_work:.2f} of work)",
        flush=True,
    )


def print_accepted(task: Task, folder: Path) -> None:
    """Print how many links are accepted and right, with the concepts in the graph and without them."""
    for label, part, where in (
        ("in the graph", task, folder),
        ("not in it", task.without_concepts(), folder / "without"),
    ):
        graph, encoder, index, grams = open_parts(part, where)
        linker = Linker(graph, encoder, index, grams)
        counts: dict[str, list[int]] = {}
        values = [name for name, _ in task.held]
        for (value, concept), links in zip(task.held, linker.link_many(values, lang="en"), strict=True):
            for link in links[:1]:
                count = counts.setdefault(link.how, [0, 0, 0])
                count[0] += 1
                right = any(other.concept == concept for other in links)
                count[1] += right
                # Mondo and DOID have the same name under two ids where no xref joins them.
                count[2] += not right and _sort_words(link.name) == _sort_words(value)
        print(f"concept {label}: {len(values)} names; linked, right, same words of another id: {json.dumps(counts)}")
        chances = [found[0].score if (found := linker.search(name, lang="en", k=1)) else 0.0 for name in values]
        print(f"  first candidate at least {LINK_THRESHOLD}: {sum(chance >= LINK_THRESHOLD for chance in chances)}")


def _sort_words(text: str) -> list[str]:
    return sorted(normalise(text).split())


def learn(task: Task, folder: Path) -> None:
    """Print the weights of the ranking."""
    graph, encoder, index, grams = open_parts(task, folder)
    finder = CandidateFinder(graph, encoder, index, grams)
    found = finder.find_many([name for name, _ in task.held], lang="en")
    tables = [
        (one.features, one.concepts.index(concept) if concept in one.concepts else -1)
        for one, (_, concept) in zip(found, task.held, strict=True)
    ]
    print(f"right concept among the candidates: {sum(right >= 0 for _, right in tables)} of {len(tables)}")
    weights, nothing = fit(tables)
    print(json.dumps(weights, indent=4), nothing)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for graphs and indexes")
    parser.add_argument("--peer", action="append", default=[], choices=PEERS, help="only this one")
    parser.add_argument("--first", type=int, help="ask only so many names: rapidfuzz takes long")
    parser.add_argument("--accept", action="store_true", help="measure the links that are accepted")
    parser.add_argument("--fit", action="store_true", help="learn the weights of the ranking")
    options = parser.parse_args()
    faiss.omp_set_num_threads(1)
    tested, fitted = read_tasks()
    if options.fit:
        learn(fitted, options.work / "fitted")
    elif options.accept:
        print_accepted(tested, options.work / "tested")
    else:
        compare(Task(tested.names, tested.held[: options.first]), options.work / "tested", options.peer)


if __name__ == "__main__":
    main()
