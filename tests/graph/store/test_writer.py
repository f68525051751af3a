import errno
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval.errors import ResourceError
from imapeval.graph.model import Concept
from imapeval.graph.store.cycles import cut_cycles, find_broad
from imapeval.graph.store.writer import write_graph

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40, unique=True)


def test_an_error_of_the_progress_is_not_the_files(tmp_path: Path) -> None:
    def fail(*_: int) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        write_graph(tmp_path / "graph.sqlite", [Concept("x:1", "Flu", "disease", ())], [], progress=fail)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_while_the_file_is_written_is_a_lack_of_resources(tmp_path: Path) -> None:
    def fail(*_: int) -> None:  # as reading a record back from a temporary file may
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ResourceError, match=r"graph\.sqlite"):
        write_graph(tmp_path / "graph.sqlite", [Concept("x:1", "Flu", "disease", ())], [], progress=fail)


def cut(edges: list[tuple[int, int]], nodes: int = 10) -> list[tuple[int, int]]:
    return [(cycle[0], cycle[1 % len(cycle)]) for cycle in cut_cycles(nodes, edges)]


def test_the_edge_that_closes_a_cycle_is_cut() -> None:
    assert cut_cycles(4, [(0, 1), (1, 2), (2, 0), (3, 0)]) == [(2, 0, 1)]
    assert cut_cycles(4, [(2, 0), (3, 0), (1, 2), (0, 1)]) == [(0, 1, 2)]
    assert cut_cycles(2, [(1, 1), (0, 1)]) == [(1,)]
    assert cut_cycles(0, []) == []


@settings(deadline=None)
@given(edges=EDGES)
def test_an_edge_is_cut_if_and_only_if_it_closes_a_cycle_with_those_kept_before(edges: list[tuple[int, int]]) -> None:
    # The plain way, with networkx as the judge.
    kept: nx.DiGraph[int] = nx.DiGraph()
    kept.add_nodes_from(range(10))
    lost: list[tuple[int, int]] = []
    for child, parent in edges:
        if nx.has_path(kept, parent, child):
            lost.append((child, parent))
        else:
            kept.add_edge(child, parent)
    assert cut(edges) == lost
    for cycle in cut_cycles(10, edges):
        around = [*cycle, cycle[0]]
        assert set(pairwise(around)) <= set(edges)


@settings(deadline=None)
@given(edges=EDGES, more_than=st.integers(0, 6))
def test_broad_nodes_are_those_with_many_below(edges: list[tuple[int, int]], more_than: int) -> None:
    dag = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    graph: nx.DiGraph[int] = nx.DiGraph(dag)
    expected = sorted(node for node in graph if len(nx.ancestors(graph, node)) > more_than)
    assert find_broad(10, list(dict.fromkeys(dag)), more_than=more_than) == expected


@pytest.mark.parametrize("length", [20_000])
def test_a_long_chain(length: int) -> None:
    chain = [(n, n + 1) for n in range(length)]
    assert len(cut_cycles(length + 1, [*chain, (length, 0)])) == 1
    assert find_broad(length + 1, chain, more_than=300) == [*range(301, length + 1)]
