"""How the store copes with a large graph: `python benchmarks/scale.py NODES.tsv.gz [--simulate]`.

Builds a graph from KGX tables in a separate process and prints a Markdown table of the time and memory of building, and
the time to open the graph, look up names and relate concepts: with `Graph.is_a` in both directions, which only searches
for a path, and with `relate_links`, as scoring does, which also searches part-of and returns the evidence. The graph is
always opened by a new process, names are drawn at random from the graph, and half of the related pairs are linked by
is-a. Names are looked up in rounds, each with other names and a newly opened graph; next to each round, as many other
names are queried by a bare SQLite statement. The fastest round is printed, because other load on the machine can only
slow a round down. Few names are drawn twice, but words that names share are cached, and the file is in the page cache
since it was written. With --simulate, the tables are first extended with copies of their own concepts to the 3 million
concepts and 12 million relations of the paper's graph; that measures size and speed, not quality.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

QUESTIONS = 5_000
"""Names looked up, and pairs related: enough for a 95th percentile from 250 values."""

ROUNDS = 5
"""Rounds of look-ups; the fastest is printed."""

CONCEPTS, RELATIONS = 3_000_000, 12_000_000
"""Concepts and relations in the graph of the imapScore paper."""

_BUILD = """
import json, resource, sys, time
from pathlib import Path
from imapeval.graph.build.builder import build_graph
from imapeval.graph.readers.formats import open_source
wall, cpu = time.perf_counter(), time.process_time()
begun = {"reading": (wall, cpu)}
def note(stage, done, total):
    begun.setdefault(stage, (time.perf_counter(), time.process_time()))
report = build_graph([open_source(sys.argv[1])], Path(sys.argv[2]), progress=note)
begun["end"] = time.perf_counter(), time.process_time()
moments = list(begun.values())
print(json.dumps({
    "concepts": report.concepts, "names": report.names, "edges": report.edges, "parts": report.parts,
    "cycles": len(report.cycles),
    "stages": {name: [b - a for a, b in zip(*pair)] for name, pair in zip(begun, zip(moments, moments[1:]))},
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
"""
_OPEN = """
import sys, time
from pathlib import Path
from imapeval.graph.store.graph import Graph
started = time.perf_counter()
with Graph.open(Path(sys.argv[1])) as graph:
    graph.lookup("asthma")
    print(time.perf_counter() - started)
"""


def main() -> None:
    """Build, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=Path, help="a KGX table of nodes; that of edges lies beside it")
    parser.add_argument("--simulate", action="store_true", help="extend it to the size of the paper's graph")
    parser.add_argument("--out", type=Path, help="where to leave the graph; by default it is thrown away")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        nodes = extend(given.nodes, Path(folder)) if given.simulate else given.nodes
        out = given.out or Path(folder) / "scale.kg"
        built = json.loads(run(_BUILD, nodes, out))
        opened = statistics.median(float(run(_OPEN, out)) for _ in range(5))
        title = "simulated extension" if given.simulate else given.nodes.name.partition(".")[0]
        size, ngrams = (sum(file.stat().st_size for file in out.glob(part)) for part in ("graph.*", "grams*"))
        print_table(title, built, opened, size, ngrams, *measure(out))


def run(code: str, *arguments: Path) -> str:
    """Run code in a fresh process and return what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def measure(folder: Path) -> tuple[dict[str, list[float]], int]:
    """Return the seconds of each look-up and of relating each pair, by what was done, and the memory at the end."""
    from imapeval.graph.model import Link
    from imapeval.graph.store.graph import Graph
    from imapeval.matching.graph import relate_links

    rng = random.Random(0)
    with Graph.open(folder) as graph:
        linked: list[tuple[str, str]] = []
        while len(linked) < QUESTIONS:
            drawn = graph.names_at([rng.randint(1, graph.name_count) for _ in range(QUESTIONS)])
            kin = ((name.concept, list(graph.ancestors(name.concept))) for name in drawn)
            linked += [(concept, rng.choice(above)) for concept, above in kin if above]
        linked = linked[:QUESTIONS]
    others = [(one, other) for (one, _), (_, other) in zip(linked, reversed(linked), strict=True)]

    def seek_path(graph: Graph, pair: tuple[str, str]) -> None:
        graph.is_a(pair[0], pair[1])
        graph.is_a(pair[1], pair[0])

    def relate(graph: Graph, pair: tuple[str, str]) -> None:
        reference, response = ([Link(concept, "", "exact", 1.0)] for concept in pair)
        relate_links(graph, reference, response)

    spent = measure_look_ups(folder, rng)
    tasks: tuple[tuple[str, Callable[[Graph, Any], None], Sequence[Any]], ...] = (
        ("`is_a` of linked concepts, both ways", seek_path, linked),
        ("`is_a` of other concepts, both ways", seek_path, others),
        ("`relate_links` of linked concepts", relate, linked),
        ("`relate_links` of other concepts", relate, others),
    )
    for title, work, cases in tasks:
        # Opened anew for each, so that nothing is cached except the file by the operating system.
        with Graph.open(folder) as graph:
            spent[title] = time_each(partial(work, graph), cases)
    return spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure_look_ups(folder: Path, rng: random.Random) -> dict[str, list[float]]:
    """Return the seconds of each look-up in the best round, and of as many names asked for in bare SQL."""
    from imapeval.graph.store.database import GRAPH_FILE
    from imapeval.graph.store.graph import Graph

    rounds: tuple[list[list[float]], list[list[float]]] = ([], [])
    for _ in range(ROUNDS):
        with Graph.open(folder) as graph:
            names = graph.names_at([rng.randint(1, graph.name_count) for _ in range(2 * QUESTIONS)])
        with closing(sqlite3.connect(f"{(folder / GRAPH_FILE).resolve().as_uri()}?immutable=1", uri=True)) as bare:
            bare.execute(f"PRAGMA mmap_size = {2**31}")

            def ask(norm: str, bare: sqlite3.Connection = bare) -> None:
                bare.execute("SELECT concept FROM name WHERE norm = ?", (norm,)).fetchall()

            rounds[0].append(time_each(ask, [name.norm for name in names[QUESTIONS:]]))
        with Graph.open(folder) as graph:
            rounds[1].append(time_each(graph.lookup, [name.text for name in names[:QUESTIONS]]))
    bare_best, best = (min(some, key=lambda seconds: seconds[int(len(seconds) * 0.95)]) for some in rounds)
    return {f"look up a name, the best of {ROUNDS} rounds": best, "... the index alone in bare SQLite": bare_best}


def time_each(work: Callable[[Any], object], cases: Sequence[Any]) -> list[float]:
    """Return the seconds that each case takes, in ascending order."""
    seconds: list[float] = []
    for case in cases:
        started = time.perf_counter()
        work(case)
        seconds.append(time.perf_counter() - started)
    return sorted(seconds)


def print_table(
    title: str,
    built: dict[str, Any],
    opened: float,
    size: int,
    ngrams: int,
    spent: dict[str, list[float]],
    memory: int,
) -> None:
    """Print what was measured as a Markdown table."""

    def spread(seconds: list[float]) -> str:
        middle, late = (seconds[int(len(seconds) * share)] * 1e6 for share in (0.5, 0.95))
        return f"{middle:.0f} µs; 95th percentile {late:.0f} µs"

    def spend(wall: float, processor: float) -> str:
        return f"{wall:.0f} s, of these {processor:.0f} s on the processor"

    stages: dict[str, list[float]] = built["stages"]
    rows = {
        "concepts, names": f"{built['concepts']:,}, {built['names']:,}",
        "is-a and part-of edges": f"{built['edges']:,}, {built['parts']:,} ({built['cycles']} is-a cycles cut)",
        "build, with the n-gram index": f"{spend(*map(sum, zip(*stages.values(), strict=True)))}; "
        f"{built['peak'] / 1e9:.1f} GB",
        **{f"... {name}": spend(*seconds) for name, seconds in stages.items()},
        "files": f"graph {size / 1e6:,.0f} MB, n-gram index {ngrams / 1e6:,.0f} MB",
        "open, with a first look-up": f"{opened * 1000:.1f} ms",
        **{task: spread(seconds) for task, seconds in spent.items()},
        "memory of the querying process": f"{memory / 1e6:.0f} MB, including the pages of the file that it touched",
    }
    print(f"| {title} | {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} |\n|---|---|")
    print("\n".join(f"| {name} | {value} |" for name, value in rows.items()))


def extend(nodes: Path, folder: Path) -> Path:
    """Write tables of 3 million concepts and 12 million relations, and return that of nodes.

    The added concepts are copies of real ones under another id, with a number added to each name; a copy is a kind of
    the original and of its parents. The remaining relations are of another kind, between concepts drawn at random: the
    builder reads them and leaves them out, as it does with all but is-a and part-of.
    """
    import gzip

    edges = nodes.with_name(nodes.name.replace("_nodes", "_edges"))

    def read(path: Path) -> Iterator[list[str]]:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            next(file)
            for line in file:
                yield line.rstrip("\n").split("\t")

    rng = random.Random(0)
    ids: list[str] = []
    with (folder / "made_nodes.tsv").open("w", encoding="utf-8") as file:
        print("id\tcategory\tname\tsynonym", file=file)
        for node, category, name, synonyms, *_ in read(nodes):
            ids.append(node)
            print(node, category, name, synonyms, sep="\t", file=file)
        originals = len(ids)
        for _, category, name, synonyms, *_ in read(nodes):
            if len(ids) == CONCEPTS:
                break
            ids.append(f"MADE:{len(ids)}")
            others = "|".join(f"{text} {len(ids)}" for text in synonyms.split("|") if text)
            print(ids[-1], category, f"{name} {len(ids)}", others, sep="\t", file=file)
    copies = dict(zip(ids, ids[originals:], strict=False))
    with (folder / "made_edges.tsv").open("w", encoding="utf-8") as file:
        print("subject\tpredicate\tobject", file=file)
        count = len(copies)
        for original, copy in copies.items():
            print(copy, "biolink:subclass_of", original, sep="\t", file=file)
        for child, predicate, parent, *_ in read(edges):
            for one in filter(None, (child, copies.get(child))):
                print(one, predicate, parent, sep="\t", file=file)
                count += 1
        for _ in range(RELATIONS - count):
            print(rng.choice(ids), "biolink:related_to", rng.choice(ids), sep="\t", file=file)
    return folder / "made_nodes.tsv"


if __name__ == "__main__":
    main()
