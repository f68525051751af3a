import os
import re
import subprocess
import sys

import numpy as np
import pytest

from imapeval.errors import ResourceError
from imapeval.graph.index.cache_cleanup import remove_stale_indexes
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.index.ngrams import extract_features, initials_keys, make_feature_sets, word_keys
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph

NAMES = [
    "ibuprofen",
    "chronic obstructive pulmonary disease",
    "lung disease",
    "十二指肠恶性淋巴瘤",
    "恶性淋巴瘤",
    "B超",
]


@pytest.fixture
def graph(tmp_path):
    names = [(f"x:{n}", Name(text, "en" if text.isascii() else "zh", "name", "test")) for n, text in enumerate(NAMES)]
    write_graph(tmp_path / "graph.sqlite", [Concept(c, name.text, "other", ()) for c, name in names], names)
    with Graph.open(tmp_path) as graph:
        yield graph


def nearest(graph, grams, norm):
    return [graph.names_at([int(row)])[0].text for row in grams.search(norm, 2)[0]]


def test_misspelt_and_longer_texts_find_their_name(graph):
    grams = NgramIndex.build(graph)
    assert nearest(graph, grams, "ibuprofin")[0] == "ibuprofen"
    assert nearest(graph, grams, "恶性淋巴瘤")[0] == "恶性淋巴瘤"
    assert nearest(graph, grams, "zzz") == []
    assert grams.search("lung disease", 1)[1] == pytest.approx([1.0], abs=1e-6)


def test_initials_find_what_they_abbreviate(graph):
    grams = NgramIndex.build(graph)
    [rows, none] = grams.rows_with(initials_keys(word_keys(["copd", "lung"])), 5)
    assert [name.text for name in graph.names_at(rows.tolist())] == ["chronic obstructive pulmonary disease"]
    assert not len(none)


def test_cosines_are_those_of_tfidf_vectors(graph):
    grams = NgramIndex.build(graph)
    groups, words, _ = extract_features(["lung", "lung disease"])
    weights = [
        {
            int(key): float(grams.squared_idf(np.array([key]))[0]) ** 0.5
            for part in (groups, words)
            for key in part.keys[part.owners == n]
        }
        for n in (0, 1)
    ]
    dot = sum(weights[0][key] * weights[1].get(key, 0.0) for key in weights[0])
    lengths = [sum(value**2 for value in vector.values()) ** 0.5 for vector in weights]
    assert grams.search("lung", 1)[1][0] == pytest.approx(dot / (lengths[0] * lengths[1]), abs=1e-5)


def test_frequent_features_count_for_the_best_names(graph, monkeypatch):
    grams = NgramIndex.build(graph)
    exact = [grams.search(norm, 2) for norm in ("lung disease", "恶性淋巴瘤")]
    monkeypatch.setattr("imapeval.graph.index.ngram_index._SCANNED_POSTINGS", 1)
    for norm, (rows, cosines) in zip(("lung disease", "恶性淋巴瘤"), exact, strict=True):
        found = grams.search(norm, 2)
        assert found[0].tolist()[0] == rows.tolist()[0]
        assert found[1][0] == pytest.approx(cosines[0], abs=1e-6)


def test_a_batch_gives_the_results_of_single_searches(graph):
    grams = NgramIndex.build(graph)
    norms = ["lung disease", "", "恶性淋巴瘤", "ibuprofin"]
    groups, words, _ = extract_features(norms)
    texts = make_feature_sets(len(norms), groups, words)
    assert [np.diff(keys).min() > 0 for keys in np.split(texts.keys, texts.bounds[1:-1]) if len(keys)] == [True] * 3
    for norm, (rows, cosines) in zip(norms, grams.search_many(texts, 3), strict=True):
        alone = grams.search(norm, 3)
        assert rows.tolist() == alone[0].tolist()
        assert cosines.tolist() == alone[1].tolist()


def test_a_graph_without_names_finds_none(tmp_path):
    write_graph(tmp_path / "graph.sqlite", [], [])
    with Graph.open(tmp_path) as graph:
        grams = NgramIndex.build(graph)
        assert grams.search("asthma", 3)[0].tolist() == []
        assert [rows.tolist() for rows in grams.rows_with(np.array([1]), 3)] == [[]]


def test_files_give_the_same_results_and_others_are_rejected(graph, tmp_path):
    built, folder = NgramIndex.build(graph), tmp_path / "kept"
    NgramIndex.build(graph, folder)
    opened = NgramIndex.open(graph, folder)
    for found, expected in zip(opened.search("pulmonary", 3), built.search("pulmonary", 3), strict=True):
        assert found.tolist() == expected.tolist()
    other = tmp_path / "other"
    other.mkdir()
    write_graph(other / "graph.sqlite", [Concept("y:1", "asthma", "disease", ())], [])
    with Graph.open(other) as foreign, pytest.raises(ResourceError, match="kept"):
        NgramIndex.open(foreign, folder)
    (folder / "grams-rows.npy").write_bytes(b"")
    with pytest.raises(ResourceError, match=re.escape(str(folder / "grams-rows.npy"))):
        NgramIndex.open(graph, folder)


@pytest.mark.parametrize(
    ("name", "whole", "damaged"),
    [
        ("lengths", b"(7,), }", b"(7,),  "),  # a bracket that is not closed
        ("lengths", b"'<f4'", b"'<i4'"),
        ("lengths", b"(7,), }", b"(7,1),}"),
        ("lengths", b"(7,), }" + b" " * 20, b"(" + b"9" * 20 + b",), } "),
        ("starts", np.int64(1).tobytes(), np.int64(-1).tobytes()),
        ("starts", np.int64(1).tobytes(), np.int64(10**6).tobytes()),
    ],
)
def test_a_damaged_file_is_reported_when_it_is_opened(graph, tmp_path, name, whole, damaged):
    folder = tmp_path / "kept"
    NgramIndex.build(graph, folder)
    path = folder / f"grams-{name}.npy"
    content = path.read_bytes()
    assert (whole in content, len(whole)) == (True, len(damaged))
    path.write_bytes(content.replace(whole, damaged, 1))
    with pytest.raises(ResourceError, match=re.escape(str(path))):
        NgramIndex.open(graph, folder)


@pytest.mark.parametrize("row", [0, -5, 10**6])
def test_damaged_rows_are_reported_when_they_are_used(graph, tmp_path, row):
    folder = tmp_path / "kept"
    NgramIndex.build(graph, folder)
    rows = np.load(folder / "grams-rows.npy")
    np.save(folder / "grams-rows.npy", np.full_like(rows, row))
    opened = NgramIndex.open(graph, folder)
    with pytest.raises(ResourceError, match=re.escape(str(folder / "grams-rows.npy"))):
        opened.search("lung", 1)
    with pytest.raises(ResourceError, match=re.escape(str(folder / "grams-rows.npy"))):
        opened.rows_with(initials_keys(word_keys(["copd"])), 5)


def test_a_description_nested_too_deep_is_that_of_no_graph(graph, tmp_path):
    NgramIndex.build(graph, tmp_path / "kept")
    (tmp_path / "kept" / "grams.json").write_text("[" * 100_000)
    remove_stale_indexes(tmp_path / "kept", graph.hash)
    assert [*(tmp_path / "kept").iterdir()] == []


PROVIDE = """
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.store.graph import Graph
print(len(NgramIndex.open_or_build(Graph.open())))
"""


@pytest.mark.slow
def test_a_cache_on_a_full_disk_leaves_the_index_in_memory(mount_disk):
    # Less than the index of the shipped graph takes. Where the disk runs full under a mapped file the system ends the
    # process, hence one of its own.
    disk = mount_disk(2_000_000)
    environment = {**os.environ, "IMAPEVAL_CACHE": str(disk)}
    done = subprocess.run([sys.executable, "-c", PROVIDE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
    assert [path for path in disk.rglob("*") if path.is_file()] == []


def test_a_cache_that_cannot_even_be_looked_into_leaves_the_index_in_memory(graph, monkeypatch):
    # Fails for everybody, as the folder of another user does for all but root.
    monkeypatch.setenv("IMAPEVAL_CACHE", "x" * 300)
    assert len(NgramIndex.open_or_build(graph)) == len(NAMES)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX process ids")
def test_drafts_of_killed_builds_are_removed(graph, tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    folder = tmp_path / "cache"
    folder.mkdir()
    lost = [folder / f".grams-rows.{dead.pid}.npy", folder / f".grams.json.{dead.pid}"]
    other = folder / f".grams-rows.{os.getppid()}.npy"
    for path in (*lost, other):
        path.touch()
    NgramIndex.build(graph, folder)
    assert not any(path.exists() for path in lost)
    assert other.exists()
