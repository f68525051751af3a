import json
from pathlib import Path

import numpy as np
import pytest

import imapeval
from imapeval.errors import ResourceError
from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import INDEX_FILE, NameIndex, cached_path
from imapeval.graph.index.preprocessing import fold_case
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph

NAMES = {
    "drug:1": ("ibuprofen", "布洛芬"),
    "drug:2": ("aspirin", "阿司匹林"),
    "disease:1": ("Asthma", "哮喘"),
    "disease:2": ("kidney stone", "肾结石"),
}


@pytest.fixture(scope="module")
def encoder():
    return open_encoder()


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "graph.sqlite"
    concepts = [Concept(key, en, key.split(":")[0], ()) for key, (en, _) in NAMES.items()]
    names = [(key, Name(en, "en", "name", "test")) for key, (en, _) in NAMES.items()]
    names += [(key, Name(zh, "zh", "name", "test")) for key, (_, zh) in NAMES.items()]
    write_graph(path, concepts, names)
    with Graph.open(path) as graph:
        yield graph


@pytest.fixture
def built(graph, encoder, tmp_path):
    return NameIndex.build(graph, encoder, tmp_path / "names.faiss"), tmp_path / "names.faiss"


def test_each_name_is_nearest_to_itself(graph, encoder, built):
    index, _ = built
    names = list(graph.all_names())
    for lang in ("en", "zh"):
        rows = [(number, text) for number, text, _, spoken in names if spoken == lang]
        vectors = index.centre(encoder.encode([fold_case(text) for _, text in rows]), lang)
        ids, scores = index.search(vectors, 3)
        assert ids[:, 0].tolist() == [number for number, _ in rows]
        np.testing.assert_allclose(scores[:, 0], 1, atol=1e-4)
        assert (np.diff(scores, axis=1) <= 1e-6).all()


def test_the_opened_index_gives_the_results_of_the_built_one(graph, encoder, built):
    index, path = built
    opened = NameIndex.open(graph, encoder, path)
    query = index.centre(encoder.encode(["kidney stones"]), "en")
    assert len(opened) == len(index) == 8
    for ours, theirs in zip(index.search(query, 4), opened.search(query, 4), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_builds_are_deterministic_and_report_progress(graph, encoder, built, tmp_path):
    _, path = built
    calls: list[tuple[int, int]] = []
    NameIndex.build(graph, encoder, tmp_path / "again.faiss", progress=lambda *at: calls.append(at))
    assert (tmp_path / "again.faiss").read_bytes() == path.read_bytes()
    assert (tmp_path / "again.json").read_bytes() == path.with_suffix(".json").read_bytes()
    assert calls[-1] == (8, 8)


def test_centring_gives_unit_rows_and_keeps_zeros(encoder, built):
    index, _ = built
    rows = index.centre(encoder.encode(["fever", "", "cough"]), "en")
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1], atol=1e-5)


def test_no_queries_and_more_neighbours_than_names(built):
    index, _ = built
    none, _ = index.search(np.zeros((0, 512), dtype=np.float32), 5)
    assert none.shape == (0, 5)
    many, _ = index.search(np.eye(1, 512, dtype=np.float32), 50)
    assert sorted(many[0].tolist()) == list(range(1, 9))


def test_another_graph_or_encoder_is_rejected(graph, encoder, built, tmp_path):
    _, path = built
    described = path.with_suffix(".json")
    for key, value in (("graph", "0" * 64), ("encoder", "other@1")):
        meta = json.loads(described.read_text(encoding="utf-8")) | {key: value}
        other = tmp_path / f"{key}.faiss"
        other.write_bytes(path.read_bytes())
        other.with_suffix(".json").write_text(json.dumps(meta), encoding="utf-8")
        with pytest.raises(ResourceError) as caught:
            NameIndex.open(graph, encoder, other)
        for part in (value[:12], graph.hash[:12], "use-m3@0.2.1", "kg/build_index.py"):
            assert part in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        "absent",
        "no-index",
        "cut",
        "longer",
        "head",
        "tail",
        "foreign",
        "not-json",
        "other-format",
        "no-mean",
        "short-mean",
    ],
)
def test_a_damaged_index_is_rejected_with_the_fix(graph, encoder, built, damage):
    _, path = built
    described = path.with_suffix(".json")
    content = path.read_bytes()
    contents = {
        "cut": content[:-1],
        "longer": content + b"0",
        "head": b"x" + content[1:],
        "tail": content[:-1] + bytes([content[-1] ^ 1]),
        "foreign": b"SQLite format 3".ljust(len(content), b"0"),
    }
    if damage == "absent":
        described.unlink()
    elif damage == "no-index":
        path.unlink()
    elif damage == "not-json":
        described.write_text("{", encoding="utf-8")
    elif damage.endswith("-mean"):
        meta = json.loads(described.read_text(encoding="utf-8"))
        meta["means"]["en"] = {"no-mean": "a", "short-mean": meta["means"]["en"][:16]}[damage]
        described.write_text(json.dumps(meta), encoding="utf-8")
    elif damage == "other-format":
        described.write_text('{"format": 1, "graph": "", "anything": 0}', encoding="utf-8")
    else:
        path.write_bytes(contents[damage])
    with pytest.raises(ResourceError, match=r"(?s)names\.(faiss|json).*kg/build_index\.py"):
        NameIndex.open(graph, encoder, path)


def test_few_names_are_searched_exactly(built):
    index, path = built
    assert index.recipe == "Flat"
    assert index.recall is None
    assert not path.with_name("names.faiss.part").exists()


def test_index_beside_the_graph_comes_first(graph, encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path))
    beside = graph.path.parent / INDEX_FILE
    NameIndex.build(graph, encoder, beside)
    try:
        assert NameIndex.open_or_build(graph, encoder).path == beside
        beside.write_bytes(b"")
        with pytest.raises(ResourceError, match=r"names\.faiss.* 0 "):
            NameIndex.open_or_build(graph, encoder)
    finally:
        beside.unlink()
        beside.with_suffix(".json").unlink()
    assert not list(tmp_path.iterdir())


def test_a_missing_index_is_built_once(graph, encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path))
    calls = []
    assert len(NameIndex.open_or_build(graph, encoder, progress=lambda *done: calls.append(done))) == 8
    assert calls == [(8, 8)]
    assert cached_path(graph, encoder).is_relative_to(tmp_path)
    assert len(NameIndex.open_or_build(graph, encoder, progress=lambda *done: calls.append(done))) == 8
    assert calls == [(8, 8)]


def test_the_shipped_index_fits_the_shipped_graph(encoder):
    with Graph.open() as shipped:
        index = NameIndex.open(shipped, encoder, shipped.path.with_name(INDEX_FILE))
        assert len(index) == shipped.name_count
    assert index.path.stat().st_size <= 9_000_000  # see kg/build_index.py


def test_vectors_are_never_reconstructed():
    # FAISS 1.15.1 ends the process (SIGSEGV) where that is tried on the index that ships, which is of PQ128x4fs:
    # `reconstruct_n`, and `reconstruct` after `make_direct_map`. Names are encoded anew instead.
    sources = Path(imapeval.__file__).parent.rglob("*.py")
    assert not [path for path in sources if "reconstruct" in path.read_text(encoding="utf-8")]


def test_a_graph_without_names_gives_no_neighbours(encoder, tmp_path):
    write_graph(tmp_path / "graph.sqlite", [], [])
    with Graph.open(tmp_path / "graph.sqlite") as graph:
        index = NameIndex.build(graph, encoder, tmp_path / "names.faiss")
    assert index.search(np.ones((2, 512), dtype=np.float32), 5)[0].shape == (2, 0)
