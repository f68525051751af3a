import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval.errors import ResourceError, UsageError
from imapeval.graph.build.networkx_import import from_networkx
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph

CONCEPTS = [
    Concept("x:drug", "drug", "drug", ()),
    Concept("x:nsaid", "NSAID", "drug", ("x:drug",)),
    Concept("x:analgesic", "analgesic", "drug", ("x:drug",)),
    Concept("x:ibuprofen", "ibuprofen", "drug", ("x:nsaid", "x:analgesic")),
    Concept("x:cold", "common cold", "disease", ()),
    Concept("x:copd", "chronic obstructive pulmonary disease", "disease", ()),
]
NAMES = [
    ("x:ibuprofen", Name("Ibuprofen", "en", "name", "test")),
    ("x:ibuprofen", Name("布洛芬", "zh", "name", "test")),
    ("x:ibuprofen", Name("Advil", "en", "brand", "test")),
    ("x:nsaid", Name("nonsteroidal anti-inflammatory drugs", "en", "name", "test")),
    ("x:nsaid", Name("NSAIDs", "en", "abbreviation", "test")),
    ("x:cold", Name("cold", "en", "synonym", "test")),
    ("x:cold", Name("common cold", "en", "name", "test")),
    ("x:copd", Name("COLD", "en", "abbreviation", "test")),
    ("x:copd", Name("COPD", "en", "abbreviation", "test")),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "graph.sqlite"
    write_graph(target, CONCEPTS, NAMES, stop=["colds"], general=["x:drug"], sources={"test": "1"})
    return target


@pytest.fixture
def graph(path: Path) -> Iterator[Graph]:
    with Graph.open(path) as opened:
        yield opened


def test_concepts_are_read_as_written(graph: Graph) -> None:
    assert [graph.concept(concept.id) for concept in CONCEPTS[:3]] == CONCEPTS[:3]
    assert set(graph.concept("x:ibuprofen").parents) == {"x:nsaid", "x:analgesic"}
    assert len(graph) == len(CONCEPTS)
    assert "x:cold" in graph
    assert "x:gold" not in graph


def test_names_are_filtered_by_language(graph: Graph) -> None:
    assert [name.text for name in graph.names("x:ibuprofen")] == ["Ibuprofen", "布洛芬", "Advil"]
    assert graph.names("x:ibuprofen", lang="zh") == (Name("布洛芬", "zh", "name", "test"),)


def test_the_label_is_the_name_if_there_is_no_other(graph: Graph) -> None:
    assert graph.lookup("Analgesics") == ("x:analgesic",)


@pytest.mark.parametrize("text", ["IBUPROFEN", " ibuprofen ", "布洛芬", "advil"])
def test_lookup_normalises(graph: Graph, text: str) -> None:
    assert graph.lookup(text) == ("x:ibuprofen",)


def test_lookup_puts_the_better_kind_first_and_filters_types(graph: Graph) -> None:
    assert graph.lookup("cold") == ("x:cold", "x:copd")
    assert graph.lookup("cold", types=["drug"]) == ()
    assert graph.lookup("") == ()
    assert graph.lookup("…") == ()


def test_ancestors_have_the_smallest_depth(graph: Graph) -> None:
    assert graph.ancestors("x:ibuprofen") == {"x:nsaid": 1, "x:analgesic": 1, "x:drug": 2}
    assert graph.ancestors("x:drug") == {}


def test_callers_may_change_ancestors(graph: Graph) -> None:
    graph.ancestors("x:ibuprofen").clear()
    assert graph.ancestors("x:ibuprofen")


def test_is_a_gives_a_shortest_path_or_none(graph: Graph) -> None:
    assert graph.is_a("x:ibuprofen", "x:drug") == ("x:ibuprofen", "x:nsaid", "x:drug")
    assert graph.is_a("x:nsaid", "x:drug") == ("x:nsaid", "x:drug")
    assert graph.is_a("x:drug", "x:ibuprofen") is None
    assert graph.is_a("x:drug", "x:drug") is None
    assert graph.is_a("x:drug", "x:unknown") is None


def test_general_concepts_are_marked(graph: Graph) -> None:
    assert graph.is_general("x:drug")
    assert not graph.is_general("x:ibuprofen")


def test_unknown_ids_are_reported(graph: Graph) -> None:
    for ask in (graph.concept, graph.names, graph.ancestors, graph.is_general):
        with pytest.raises(UsageError, match="x:gold"):
            ask("x:gold")
    with pytest.raises(UsageError, match="imapeval relate --json"):  # a command that there is
        graph.concept("x:gold")
    with pytest.raises(UsageError, match="x:gold"):
        graph.to_networkx(["x:gold"])


def test_mention_table_leaves_out_stopped_names(graph: Graph) -> None:
    table = graph.mention_table("en")
    assert table["nsaid"] == ("x:nsaid",)
    assert "cold" not in table
    assert graph.mention_table("zh") == {"布洛芬": ("x:ibuprofen",)}
    assert graph.mention_table("en") is table


@pytest.mark.parametrize("text", ["Cold", "12.5", "CT", "热", "", "90 %"])
def test_stopped(graph: Graph, text: str) -> None:
    assert graph.is_stopped(text)


@pytest.mark.parametrize("text", ["MRI", "ibuprofen", "发热", "CT检查"])
def test_not_stopped(graph: Graph, text: str) -> None:
    assert not graph.is_stopped(text)


def test_all_names_are_numbered_from_one(graph: Graph) -> None:
    rows = list(graph.all_names())
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert (5, "Ibuprofen", "x:ibuprofen", "en") in rows
    assert len(rows) == graph.stats()["names"]


def test_stats(graph: Graph) -> None:
    stats = graph.stats()
    assert stats["concepts_by_type"] == {"disease": 2, "drug": 4}
    assert stats["sources"] == {"test": "1"}
    assert stats["general_concepts"] == 1
    assert stats["hash"] == graph.hash


def test_to_networkx_takes_all_or_a_neighbourhood(graph: Graph) -> None:
    whole = graph.to_networkx()
    assert whole.number_of_nodes() == 6
    assert whole.number_of_edges() == 4
    assert whole.nodes["x:nsaid"] == {
        "label": "NSAID",
        "type": "drug",
        "general": False,
        "aliases": (),
        "names": graph.names("x:nsaid"),
    }
    assert set(graph.to_networkx(["x:nsaid"])) == {"x:nsaid", "x:drug", "x:ibuprofen"}
    assert set(graph.to_networkx(["x:nsaid"], depth=2)) == {"x:nsaid", "x:drug", "x:ibuprofen", "x:analgesic"}
    assert set(graph.to_networkx(["x:nsaid"], depth=0)) == {"x:nsaid"}


def test_threads_share_one_graph(graph: Graph) -> None:
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(200):
                assert graph.lookup("ibuprofen") == ("x:ibuprofen",)
                assert graph.is_a("x:ibuprofen", "x:drug")
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("other", [("x:drug",), 2**70, None, object()])
def test_only_a_text_is_an_id(graph: Graph, other: Any) -> None:
    assert other not in graph
    assert graph.is_a("x:nsaid", other) is None
    with pytest.raises(UsageError, match="Ids look like"):
        graph.names(other)


def test_a_closed_graph_says_so(path: Path) -> None:
    graph = Graph.open(path)
    graph.close()
    graph.close()
    with pytest.raises(UsageError, match=path.name):
        graph.lookup("ibuprofen")


# --- files that are not what they should be ---


def change(path: Path, statement: str) -> int:
    """Execute a statement in a file; return how many rows it changed."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).rowcount


def test_a_missing_file_or_a_folder_without_one_is_reported(tmp_path: Path) -> None:
    for path, name in ((tmp_path / "absent.sqlite", r"absent\.sqlite"), (tmp_path, r"graph\.sqlite")):
        with pytest.raises(ResourceError, match=name):
            Graph.open(path)


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1\n", b"x" * 5000])
def test_a_file_that_is_not_sqlite_is_reported(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "graph.sqlite"
    file.write_bytes(content)
    with pytest.raises(ResourceError, match=r"graph\.sqlite"):
        Graph.open(file)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_file_is_reported(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ResourceError, match=r"graph\.sqlite.*kg/build\.py"):
        Graph.open(path)


def test_a_foreign_sqlite_file_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "foreign.sqlite"
    change(file, "CREATE TABLE meta (key, value)")
    with pytest.raises(ResourceError, match=r"foreign\.sqlite"):
        Graph.open(file)


@pytest.mark.parametrize("version", [1, 99])
def test_another_schema_version_is_reported(path: Path, version: int) -> None:
    change(path, f"PRAGMA user_version = {version}")
    with pytest.raises(ResourceError, match=rf"graph\.sqlite.*\b{version}\b"):
        Graph.open(path)


def test_a_damaged_file_is_reported(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(ResourceError, match=r"graph\.sqlite"):
        Graph.open(path).lookup("ibuprofen")


def test_a_damaged_schema_is_reported(path: Path) -> None:
    # SQLite quotes it in an error message that is not UTF-8, which Python cannot read.
    content = path.read_bytes()
    assert b"WITHOUT ROWID" in content
    path.write_bytes(content.replace(b"WITHOUT ROWID", b"WITHOUT \xffOWID"))
    with pytest.raises(ResourceError, match=r"graph\.sqlite"):
        Graph.open(path)


@pytest.mark.parametrize(
    ("update", "use"),
    [
        ("name SET kind = 'x'", lambda graph: graph.names("x:ibuprofen")),
        ("name SET kind = -1", lambda graph: graph.names("x:ibuprofen")),
        ("name SET scope = 9", lambda graph: graph.names("x:ibuprofen")),
        ("name SET scope = 9", lambda graph: graph.stats()),
        ("name SET text = x'00'", lambda graph: graph.names("x:ibuprofen")),
        ("name SET text = x'00'", lambda graph: graph.names_at([1])),
        ("name SET text = x'00'", lambda graph: list(graph.all_names())),
        ("name SET lang = x'00'", lambda graph: graph.stats()),
        ("name SET norm = x'00'", lambda graph: graph.norms(1, 2)),
        ("name SET norm = x'00'", lambda graph: graph.mention_table("en")),
        ("concept SET label = x'00'", lambda graph: graph.concept("x:ibuprofen")),
        ("concept SET general = 'x'", lambda graph: graph.is_general("x:ibuprofen")),
        ("concept SET general = 'x'", lambda graph: graph.stats()),
        ("concept SET curie = CAST(curie AS BLOB)", lambda graph: graph.mention_table("en")),
        ("edge SET parent = 'x' WHERE child = 4 AND parent = 2", lambda graph: graph.ancestors("x:ibuprofen")),
        ("edge SET parent = 99 WHERE child = 4 AND parent = 2", lambda graph: graph.ancestors("x:ibuprofen")),
        ("alias SET concept = 99", lambda graph: graph.resolve("y:1")),
        ("alias SET concept = 99", lambda graph: graph.concept("y:1")),
        ("alias SET concept = 99", lambda graph: graph.is_general("y:1")),
        ("word SET before = 'x'", lambda graph: graph.modifier_count("common")),
        ("stop SET norm = x'00'", lambda graph: graph.stop_list()),
        ("meta SET value = 'x' WHERE key = 'names'", lambda graph: graph.name_count),
        ("meta SET value = x'00' WHERE key = 'source:test'", lambda graph: graph.stats()),
    ],
)
def test_a_cell_that_no_graph_has_is_reported(tmp_path: Path, update: str, use: Callable[[Graph], object]) -> None:
    path = tmp_path / "graph.sqlite"
    aliased = replace(CONCEPTS[0], aliases=("y:1",))
    write_graph(path, [aliased, *CONCEPTS[1:]], NAMES, stop=["colds"], sources={"test": "1"})
    assert change(path, f"UPDATE {update}") > 0
    with pytest.raises(ResourceError, match=r"graph\.sqlite"), Graph.open(path) as graph:
        use(graph)


# --- writing ---


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one.sqlite", tmp_path / "other.sqlite"
    first = write_graph(one, CONCEPTS, NAMES, stop=["cold", "back"])
    second = write_graph(other, CONCEPTS, NAMES, stop=["back", "cold"])
    assert first == second
    assert one.read_bytes() == other.read_bytes()


def test_other_content_gives_another_hash(tmp_path: Path) -> None:
    report = write_graph(tmp_path / "g", CONCEPTS, NAMES)
    assert write_graph(tmp_path / "g", CONCEPTS, NAMES[1:]).hash != report.hash
    assert write_graph(tmp_path / "g", CONCEPTS, NAMES, stop=["back"]).hash != report.hash


def test_a_failed_write_leaves_the_old_file_and_no_draft(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(UsageError, match="x:nowhere"):
        write_graph(path, CONCEPTS, [("x:nowhere", NAMES[0][1])])
    with pytest.raises(UsageError, match="x:drug"):
        write_graph(path, [*CONCEPTS, CONCEPTS[0]], NAMES)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


HALF = "gout \ud83d"


@pytest.mark.parametrize(
    ("concepts", "names", "more", "place"),
    [
        ([Concept("x:gout", HALF, "disease", ())], [], {}, "the concept 'x:gout'"),
        ([Concept("x:gout", "gout", "disease", (), aliases=(HALF,))], [], {}, "the concept 'x:gout'"),
        ([], [("x:cold", Name(HALF, "en", "synonym", "test"))], {}, "a name of the concept 'x:cold'"),
        ([], [], {"stop": ["back", HALF]}, "the stop list"),
        ([], [], {"sources": {"test": HALF}}, "the table of sources"),
    ],
)
def test_a_lone_surrogate_is_rejected_with_its_concept(
    path: Path, concepts: list[Concept], names: list[tuple[str, Name]], more: dict[str, Any], place: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(UsageError) as refused:
        write_graph(path, [*CONCEPTS, *concepts], [*NAMES, *names], **more)
    assert f"{place} has a lone surrogate" in str(refused.value)
    assert r"gout \ud83d" in str(refused.value)
    assert path.read_bytes() == before
    plain: nx.DiGraph[str] = nx.DiGraph()
    plain.add_node("x:gout", names=[HALF])
    with pytest.raises(UsageError, match="x:gout"):
        from_networkx(plain, path.parent)


def test_cycles_and_unknown_parents_are_left_out_and_reported(tmp_path: Path) -> None:
    concepts = [
        Concept("a", "a one", "disease", ("b", "nowhere")),
        Concept("b", "b one", "disease", ("c",)),
        Concept("c", "c one", "disease", ("a", "c")),
    ]
    report = write_graph(tmp_path / "g", concepts, [])
    assert report.cycle_edges == (("c", "a"), ("c", "c"))
    assert report.dangling_edges == (("a", "nowhere"),)
    with Graph.open(tmp_path / "g") as graph:
        assert graph.ancestors("a") == {"b": 1, "c": 2}
        assert graph.ancestors("c") == {}


@settings(max_examples=25, deadline=None)
@given(edges=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30))
def test_written_graphs_have_no_cycle(tmp_path_factory: pytest.TempPathFactory, edges: list[tuple[int, int]]) -> None:
    concepts = [
        Concept(f"c{n}", f"concept {n}", "disease", tuple(f"c{parent}" for child, parent in edges if child == n))
        for n in range(8)
    ]
    target = tmp_path_factory.mktemp("cycles") / "g"
    report = write_graph(target, concepts, [])
    with Graph.open(target) as graph:
        for n in range(8):
            assert f"c{n}" not in graph.ancestors(f"c{n}")
        assert report.edges + len(report.cycle_edges) == len(set(edges))


# --- aliases, scopes, parts, words ---


@pytest.fixture
def rich(tmp_path: Path) -> Iterator[Graph]:
    concepts = [
        Concept("b:heart", "heart", "body_part", ("b:organ",), ("b:thorax",), ("U:1", "U:2")),
        Concept("b:organ", "organ", "body_part", ()),
        Concept("b:thorax", "thorax", "body_part", (), ("b:body",), ("U:2", "b:heart")),
        Concept("b:body", "body", "body_part", (), ("b:heart", "b:nowhere")),
        Concept("b:valve", "mitral valve", "body_part", ("b:anyvalve",)),
        Concept("b:anyvalve", "heart valve", "body_part", (), ("b:heart",)),
        Concept("b:both", "atrium", "body_part", ("b:heart",), ("b:heart",)),
    ]
    names = [
        ("b:heart", Name("heart", "en", "name", "t")),
        ("b:heart", Name("left heart", "en", "synonym", "t", "narrow")),
        ("b:heart", Name("Left Heart", "en", "name", "t", "related")),
        ("b:heart", Name("viscera", "en", "synonym", "t", "broad")),
        ("b:organ", Name("viscera", "en", "synonym", "t")),
        ("b:organ", Name("left heart", "en", "synonym", "t", "related")),
        ("b:valve", Name("left heart valve", "en", "name", "t")),
        ("b:valve", Name("左房室瓣", "zh", "name", "t")),
    ]
    write_graph(tmp_path / "graph.sqlite", concepts, names)
    with Graph.open(tmp_path) as opened:
        yield opened


def test_a_concept_is_found_by_its_other_ids(rich: Graph) -> None:
    assert rich.resolve("U:1") == "b:heart"
    assert rich.resolve("U:2") == "b:heart"  # two concepts claim it, the first has it
    assert rich.resolve("b:heart") == "b:heart"  # and no alias hides an id
    assert "U:1" in rich
    assert rich.concept("U:1") == rich.concept("b:heart")
    assert rich.concept("b:heart").aliases == ("U:1", "U:2")
    assert rich.names("U:1") == rich.names("b:heart")
    assert rich.is_a("U:1", "b:organ") == ("b:heart", "b:organ")
    assert rich.part_path("b:valve", "U:2") == ("b:valve", "b:anyvalve", "b:heart")
    with pytest.raises(UsageError, match="U:9"):
        rich.resolve("U:9")


def test_only_exact_names_are_looked_up(rich: Graph) -> None:
    assert rich.lookup("left heart") == ()
    assert rich.lookup_narrower("Left hearts") == ("b:heart",)
    assert rich.lookup("viscera") == ("b:organ",)
    assert rich.lookup_narrower("viscera") == ()
    assert "left heart" not in rich.mention_table("en")
    assert [(name.text, name.scope) for name in rich.names("b:heart")] == [
        ("heart", "exact"),
        ("left heart", "narrow"),
        ("viscera", "broad"),
    ]


def test_parts_are_not_kinds(rich: Graph) -> None:
    assert rich.concept("b:heart").wholes == ("b:thorax",)
    assert rich.is_a("b:heart", "b:thorax") is None
    assert rich.part_path("b:heart", "b:organ") is None
    assert rich.part_path("b:valve", "b:body") == ("b:valve", "b:anyvalve", "b:heart", "b:thorax", "b:body")
    assert rich.part_path("b:both", "b:heart") == ("b:both", "b:heart")
    assert rich.part_path("b:heart", "b:nowhere") is None
    assert rich.parts("b:heart") == ("b:anyvalve", "b:both")
    assert rich.children("b:heart") == ("b:both",)


def test_cycles_of_parts_are_cut_and_reported(tmp_path: Path) -> None:
    concepts = [Concept("a", "aa", "body_part", (), ("b",)), Concept("b", "bb", "body_part", (), ("a", "c"))]
    report = write_graph(tmp_path / "g", concepts, [])
    assert report.part_cycles == (("b", "a"),)
    assert report.dangling_edges == (("b", "c"),)
    assert (report.parts, report.cycles) == (1, ())


def test_names_by_row(rich: Graph) -> None:
    rows = list(rich.all_names())
    assert len(rows) == rich.name_count
    wanted = [rows[-1][0], 1, 1]
    found = rich.names_at(wanted)
    assert [(name.text, name.concept, name.lang) for name in found] == [rows[row - 1][1:] for row in wanted]
    assert found[1].norm == "heart"
    assert rich.names_at(list(np.array(wanted))) == found  # as the indexes return them
    for row in (0, len(rows) + 1):
        with pytest.raises(UsageError, match=rf"\b{row}\b"):
            rich.names_at([1, row])


def test_words_are_counted_before_the_last(rich: Graph) -> None:
    # "left heart" of two concepts (one of the two of the first is kept) and "left heart valve".
    assert rich.modifier_count("left") == 3
    assert rich.modifier_count("heart") == 2  # in "heart valve" and "left heart valve"
    assert rich.modifier_count("valve") == 0
    assert rich.modifier_count("kidney") is None
    assert rich.modifier_count("左房室瓣") is None


# --- exchange with networkx ---


def test_networkx_and_back_gives_the_same_graph(graph: Graph, tmp_path: Path) -> None:
    report = from_networkx(graph.to_networkx(), tmp_path / "again.kg")
    assert report.hash == graph.hash
    assert (tmp_path / "again.kg" / "graph.sqlite").read_bytes() == graph.path.read_bytes()


def test_networkx_and_back_through_json(graph: Graph, tmp_path: Path) -> None:
    text = json.dumps(nx.node_link_data(graph.to_networkx(), edges="edges"))
    again = nx.node_link_graph(json.loads(text), edges="edges")
    assert from_networkx(again, tmp_path / "again.kg").hash == graph.hash


def test_edges_of_both_kinds_are_marked(rich: Graph) -> None:
    whole = rich.to_networkx()
    assert whole.edges["b:heart", "b:organ"] == {"kind": "is-a"}
    assert whole.edges["b:heart", "b:thorax"] == {"kind": "part-of"}
    assert whole.edges["b:both", "b:heart"] == {"kind": "is-a"}
    assert set(rich.to_networkx(["U:1"])) == {"b:heart", "b:organ", "b:thorax", "b:anyvalve", "b:both"}


def test_a_plain_networkx_graph_becomes_a_compiled_one(tmp_path: Path) -> None:
    plain: nx.DiGraph[str] = nx.DiGraph([("x:1", "x:2"), ("x:1", "代谢病")])
    plain.add_node("x:1", label="gout", type="disease", names=["podagra", "痛风"])
    from_networkx(plain, tmp_path / "plain.kg")
    with Graph.open(tmp_path / "plain.kg") as graph:
        assert graph.lookup("痛风") == graph.lookup("Podagra") == ("x:1",)
        assert graph.concept("x:1").parents == ("x:2", "代谢病")
        assert [name.text for name in graph.names("代谢病", lang="zh")] == ["代谢病"]
        assert graph.concept("x:2").type == "other"


@pytest.mark.parametrize("kind", ["treats", ["is-a"]])
def test_an_edge_of_another_kind_is_reported(tmp_path: Path, kind: object) -> None:
    plain: nx.DiGraph[str] = nx.DiGraph()
    plain.add_edge("x:1", "x:2", kind=kind)
    with pytest.raises(UsageError, match=rf"'x:1'.*'x:2'.*{re.escape(repr(kind))}"):
        from_networkx(plain, tmp_path / "plain.kg")


@pytest.mark.parametrize("attributes", [{"stop": [1]}, {"stop": "back"}, {"sources": {"a": 1}}, {"sources": ["a"]}])
def test_an_attribute_of_the_graph_that_is_no_text_is_reported(tmp_path: Path, attributes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(attributes))):
        from_networkx(nx.DiGraph(**attributes), tmp_path / "plain.kg")


def test_missing_attributes_of_the_graph_are_none(tmp_path: Path) -> None:
    assert from_networkx(nx.DiGraph(stop=None, sources=None), tmp_path / "plain.kg").concepts == 0


def test_punctuation_is_not_a_name(tmp_path):
    # UMLS and tables have concepts that are called "???": whatever has no letter must not be tied to them.
    path = tmp_path / "graph.sqlite"
    write_graph(path, [Concept("x:1", "???", "disease", ())], [("x:1", Name("???", "en", "name", "test"))])
    with Graph.open(path) as graph:
        assert graph.lookup("") == graph.lookup("...") == graph.lookup("???") == ()
        assert graph.lookup_narrower("???") == ()


def test_a_lone_surrogate_is_not_found(graph):
    assert graph.lookup("asthma \udc00") == ()
    assert "\ud800" not in graph


@pytest.mark.parametrize(
    ("node", "attributes", "message"),
    [
        (1, {}, "1"),
        ("a", {"names": None}, "'a'"),
        ("a", {"names": "flu"}, "'a'"),
        ("a", {"names": [7]}, "'a'.*7"),
        ("a", {"names": [[3, "en", "name", "s"]]}, "'a'"),
        ("a", {"names": [("gout", "de", "name", "x")]}, "'a'.*'de'.*lang"),
        ("a", {"aliases": "B:1"}, "'a'"),
        ("a", {"aliases": [None]}, "'a'"),
        ("a", {"label": float("nan")}, "'a'"),  # a missing cell of pandas
        ("a", {"type": "illness"}, "'a'.*'illness'"),
    ],
)
def test_bad_nodes_of_networkx_are_rejected(
    tmp_path: Path, node: Any, attributes: dict[str, Any], message: str
) -> None:
    network: nx.DiGraph[Any] = nx.DiGraph()
    network.add_node(node, **attributes)
    with pytest.raises(UsageError, match=message):
        from_networkx(network, tmp_path / "x")


def test_an_undirected_graph_and_a_path_of_a_file_are_rejected(tmp_path: Path) -> None:
    undirected: Any = nx.Graph([("a", "b")])
    with pytest.raises(UsageError, match="DiGraph"):
        from_networkx(undirected, tmp_path / "x")
    (tmp_path / "file").touch()
    with pytest.raises(ResourceError, match="file"):
        from_networkx(nx.DiGraph([("a", "b")]), tmp_path / "file")
