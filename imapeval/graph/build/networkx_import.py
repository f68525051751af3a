"""Writes a networkx graph as a compiled graph; `Graph.to_networkx` is the inverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

from imapeval.errors import ResourceError, UsageError
from imapeval.graph.index.cache_cleanup import remove_stale_indexes
from imapeval.graph.model import Concept, ConceptType, Name, NameKind, Scope
from imapeval.graph.store.database import GRAPH_FILE
from imapeval.graph.store.writer import write_graph
from imapeval.text.language import FACT_LANGS, find_name_lang

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import networkx as nx

    from imapeval.graph.store.writer import WriteReport

_ALLOWED = {"lang": FACT_LANGS, "kind": get_args(NameKind), "scope": get_args(Scope)}


def from_networkx(graph: nx.DiGraph[str], path: Path) -> WriteReport:
    """Write a networkx graph as a compiled graph.

    The result of `Graph.to_networkx` for a whole graph gives a graph with the same hash, unless a concept is both a
    kind and a part of another.

    Args:
        graph: Nodes are concepts by id. Their attributes: `label` (else the id is the label), `type` (else "other"),
            `aliases`, `general` (otherwise derived from the descendants) and `names`, each a text (English or, with
            Chinese characters in it, Chinese) or the fields of a `Name`, as JSON leaves them. Edges lead from the
            child to the parent; their attribute `kind` is "is-a", which is the default, or "part-of". The graph's
            attributes `sources` and `stop` are as in `write_graph`.
        path: The folder of the compiled graph, created if missing. Indexes of another graph that was there
            before are removed.

    Raises:
        UsageError: The graph is undirected, or a node or an attribute has an invalid value; the message names the node
            or edge.
        ResourceError: The folder cannot be written.
    """
    if not graph.is_directed():
        raise UsageError("the networkx graph is undirected. Give a DiGraph with edges from the child to the parent.")
    above: dict[str, dict[str, list[str]]] = {"is-a": {}, "part-of": {}}
    for child, parent, kind in cast("Iterable[tuple[str, str, Any]]", graph.edges(data="kind", default="is-a")):
        if kind not in ("is-a", "part-of"):
            raise UsageError(f"the edge {child!r} -> {parent!r} has the kind {kind!r}. Use 'is-a' or 'part-of'.")
        above[kind].setdefault(child, []).append(parent)
    concepts: list[Concept] = []
    names: list[tuple[str, Name]] = []
    marked: dict[bool, list[str]] = {True: [], False: []}
    for node, attributes in cast("Iterable[tuple[object, dict[str, Any]]]", graph.nodes(data=True)):
        if not isinstance(node, str):
            raise UsageError(f"the node {node!r} is not a text. Use ids such as 'DOID:255'.")
        if not isinstance(attributes.get("names", ()), (list, tuple)):
            raise UsageError(f"the node {node!r} has the names {attributes['names']!r}. Give a list.")
        if not _are_texts(attributes.get("aliases", ())):
            raise UsageError(f"the node {node!r} has the aliases {attributes['aliases']!r}. Give a list of texts.")
        label = attributes.get("label") or node
        if not isinstance(label, str):
            raise UsageError(f"the node {node!r} has the label {label!r}. Give a text, or none.")
        kind = attributes.get("type", "other")
        if kind not in get_args(ConceptType):
            raise UsageError(f"the node {node!r} has the type {kind!r}. Use one of {', '.join(get_args(ConceptType))}.")
        concepts.append(
            Concept(
                node,
                label,
                kind,
                tuple(above["is-a"].get(node, ())),
                tuple(above["part-of"].get(node, ())),
                tuple(attributes.get("aliases", ())),
            )
        )
        names += ((node, _make_name(node, name)) for name in attributes.get("names", ()))
        if "general" in attributes:
            marked[bool(attributes["general"])].append(node)
    stop = graph.graph.get("stop") or ()
    sources: object = graph.graph.get("sources") or {}
    if not _are_texts(stop):
        raise UsageError(f"the graph has the stop list {stop!r}. Give a list of texts.")
    if not isinstance(sources, dict) or not all(map(_are_texts, cast("dict[object, object]", sources).items())):
        raise UsageError(f"the graph has the sources {sources!r}. Give a dict of texts, as {{name: version}}.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"the folder {path} cannot be made ({error.strerror}). Choose another one.") from error
    written = write_graph(
        path / GRAPH_FILE,
        concepts,
        names,
        general=marked[True],
        specific=marked[False],
        stop=stop,
        sources=cast("dict[str, str]", sources),
    )
    remove_stale_indexes(path, written.hash)
    return written


def _are_texts(values: object) -> bool:
    """Return whether a value is a collection of texts."""
    return isinstance(values, (list, tuple, set, frozenset)) and all(
        isinstance(value, str) for value in cast("Iterable[object]", values)
    )


def _make_name(node: str, value: object) -> Name:
    if isinstance(value, str):
        return Name(value, find_name_lang(value), "synonym", "networkx")
    try:
        name = Name(*cast("Sequence[Any]", value))
    except TypeError:
        name = None
    if name is None or not _are_texts(name):
        raise UsageError(
            f"the node {node!r} has the name {value!r}. Give a text, or (text, lang, kind, source, scope)."
        )
    for field, allowed in _ALLOWED.items():
        if getattr(name, field) not in allowed:
            raise UsageError(f"the node {node!r} has the name {value!r}: {field} is one of {', '.join(allowed)}.")
    return name
