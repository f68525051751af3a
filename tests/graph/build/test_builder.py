"""Builds graphs of real small files through the readers, and of files that are not what they should be."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.graph.build.builder import BuildReport, build_graph
from imapeval.graph.build.networkx_import import from_networkx
from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.readers.formats import open_source
from imapeval.graph.store.graph import Graph

OBO = """format-version: 1.2
ontology: x

[Term]
id: X:1
name: lung disease

[Term]
id: X:2
name: asthma
synonym: "bronchial asthma" EXACT []
synonym: "childhood asthma" NARROW []
xref: MESH:D001249
is_a: X:1

[Term]
id: X:3
name: airway
is_a: X:404

[Term]
id: X:4
name: bronchus
relationship: part_of X:3
"""
CYCLE = """format-version: 1.2

[Term]
id: X:1
name: one
is_a: X:2

[Term]
id: X:2
name: two
is_a: X:3

[Term]
id: X:3
name: three
is_a: X:1
is_a: X:3
"""


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def build(out: Path, *specs: str) -> BuildReport:
    return build_graph([open_source(spec) for spec in specs], out)


def test_a_graph_is_built_of_a_file(tmp_path: Path) -> None:
    report = build(tmp_path / "my.kg", write(tmp_path / "x.obo", OBO))
    assert (report.concepts, report.edges, report.parts) == (4, 1, 1)
    assert report.left_out[0].first == ("X:3 -> X:404",)
    json.dumps(dataclasses.asdict(report))
    with Graph.open(tmp_path / "my.kg") as graph:
        assert graph.hash == report.hash
        assert graph.is_a("X:2", "X:1") == ("X:2", "X:1")
        assert graph.lookup("Bronchial Asthmas") == ("X:2",)
        assert graph.lookup("childhood asthma") == ()
        assert graph.lookup_narrower("childhood asthma") == ("X:2",)
        assert graph.part_path("X:4", "X:3") == ("X:4", "X:3")
        assert graph.resolve("MESH:D001249") == "X:2"


def test_the_ngram_index_is_beside_the_graph(tmp_path: Path) -> None:
    build(tmp_path / "my.kg", write(tmp_path / "x.obo", OBO))
    with Graph.open(tmp_path / "my.kg") as graph:
        rows, _ = NgramIndex.open(graph, tmp_path / "my.kg").search("bronchal asthma", 1)
        assert [name.text for name in graph.names_at(rows.tolist())] == ["bronchial asthma"]


def test_everyday_words_are_not_mentions(tmp_path: Path) -> None:
    with Graph.open() as shipped:
        assert {"hope", "read"} <= set(shipped.stop_list())
        stop = shipped.stop_list()
    gene = '\n[Term]\nid: X:5\nname: HOPE\nsynonym: "Hsp organizing protein" EXACT []\n'
    build(tmp_path / "my.kg", write(tmp_path / "x.obo", OBO + gene))
    with Graph.open(tmp_path / "my.kg") as graph:
        assert graph.stop_list() == stop
        assert graph.lookup("hope") == ("X:5",)
        mentions = graph.mention_table("en")
        assert "hope" not in mentions
        assert mentions["hsp organizing protein"] == ("X:5",)


def test_drafts_of_killed_builds_are_removed(tmp_path: Path) -> None:
    left, grams, living = (tmp_path / name for name in (".graph.sqlite.a1", ".grams-rows.7.npy", ".graph.sqlite.b2"))
    for draft in (left, grams, living):
        draft.touch()
    for draft in (left, grams):
        os.utime(draft, (draft.stat().st_atime, draft.stat().st_mtime - 2 * 3600))
    build(tmp_path, write(tmp_path / "x.obo", OBO))
    assert not left.exists()
    assert not grams.exists()
    assert living.exists()


def test_sources_are_merged_and_reported(tmp_path: Path) -> None:
    first = write(tmp_path / "x.obo", OBO)
    second = write(
        tmp_path / "y.obo",
        "format-version: 1.2\nontology: y\n\n[Term]\nid: Y:1\nname: Asthma\nxref: X:2\n\n[Term]\nid: Y:2\nname: gout\n",
    )
    report = build(tmp_path / "my.kg", first, second)
    assert report.concepts == 5
    (joined,) = report.joined
    assert (joined.why, joined.count) == ("cross-reference", 1)
    assert joined.samples == (("Y:1", "Asthma", "X:2", "asthma"),)
    with Graph.open(tmp_path / "my.kg") as graph:
        assert graph.concept("Y:1").id == "X:2"


def test_all_files_of_a_source_are_named(tmp_path: Path) -> None:
    more = write(tmp_path / "x.tsv", "id,name\nX:2,哮喘\n")
    build(tmp_path / "my.kg", write(tmp_path / "x.obo", OBO), more)
    with Graph.open(tmp_path / "my.kg") as graph:
        assert graph.stats()["sources"] == {"x": "x.obo, x.tsv"}


def test_indexes_of_a_replaced_graph_are_removed(tmp_path: Path) -> None:
    out, encoder = tmp_path / "my.kg", open_encoder("use")
    source = write(tmp_path / "x.obo", OBO)
    build(out, source)
    with Graph.open(out) as graph:
        NameIndex.build(graph, encoder, out / "names.faiss")
    (out / "names.faiss.part").mkdir()  # of an index that was never finished
    (out / "names.faiss.part" / "journal.json").write_text('{"graph": "of another graph"}')
    build(out, source)
    indexes = {"names.faiss", "names.json"}
    ngrams = {"grams.json", *(f"grams-{array}.npy" for array in ("keys", "starts", "rows", "lengths"))}
    assert {path.name for path in out.iterdir()} == {"graph.sqlite", *indexes, *ngrams}
    with Graph.open(out) as graph:
        NameIndex.open(graph, encoder, out / "names.faiss")
    build(out, write(tmp_path / "x.obo", OBO.replace("asthma", "gout")))
    assert {path.name for path in out.iterdir()} == {"graph.sqlite", *ngrams}
    with Graph.open(out) as graph:
        NgramIndex.open(graph, out)
        from_networkx(graph.to_networkx(["X:1"]), out)
    assert {path.name for path in out.iterdir()} == {"graph.sqlite"}


def test_cycles_are_cut_and_reported(tmp_path: Path) -> None:
    report = build(tmp_path / "my.kg", write(tmp_path / "x.obo", CYCLE))
    assert report.cycles == (("X:3", "X:1", "X:2"), ("X:3",))
    with Graph.open(tmp_path / "my.kg") as graph:
        assert graph.ancestors("X:1") == {"X:2": 1, "X:3": 2}


def test_a_lone_surrogate_is_left_out_and_reported(tmp_path: Path) -> None:
    graph = {
        "graphs": [
            {
                "nodes": [
                    {
                        "id": "http://purl.obolibrary.org/obo/DOID_1",
                        "lbl": "gout",
                        "type": "CLASS",
                        "meta": {"synonyms": [{"pred": "hasExactSynonym", "val": "podagra \ud83d"}]},
                    }
                ],
                "edges": [],
            }
        ]
    }
    report = build(tmp_path / "my.kg", write(tmp_path / "x.json", json.dumps(graph)))
    assert [problem.first for problem in report.sources[0].problems] == [("DOID:1",)]
    with Graph.open(tmp_path / "my.kg") as opened:
        assert opened.lookup("gout") == ("DOID:1",)


def test_a_source_without_concepts_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    empty = write(tmp_path / "x.obo", "format-version: 1.2\n\n[Term]\nid: X:1\nname: old\nis_obsolete: true\n")
    with pytest.raises(InputError, match=r"x\.obo.*\bobo\b"):
        build(tmp_path / "my.kg", empty)
    assert list((tmp_path / "my.kg").iterdir()) == []


def test_a_failed_build_leaves_the_old_graph(tmp_path: Path) -> None:
    build(tmp_path / "my.kg", write(tmp_path / "x.obo", OBO))
    before = (tmp_path / "my.kg/graph.sqlite").read_bytes()
    with pytest.raises(InputError):
        build(tmp_path / "my.kg", write(tmp_path / "y.obo", "format-version: 1.2\n"))
    assert (tmp_path / "my.kg/graph.sqlite").read_bytes() == before


def test_a_file_in_the_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    source = write(tmp_path / "x.obo", OBO)
    with pytest.raises(UsageError, match=r"x\.obo"):
        build(Path(source), source)
    with pytest.raises(UsageError):
        build(tmp_path / "my.kg")


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from imapeval.errors import ResourceError
from imapeval.graph.build.builder import build_graph
from imapeval.graph.readers.formats import open_source
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    build_graph([open_source(sys.argv[1])], Path(sys.argv[2]))
except ResourceError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
def test_a_full_disk_leaves_no_partial_graph(tmp_path: Path) -> None:
    source = write(tmp_path / "x.obo", OBO)
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, source, str(tmp_path / "my.kg")], capture_output=True, text=True, check=True
    )
    assert "cannot be written" in done.stdout
    assert list((tmp_path / "my.kg").iterdir()) == []


KILLED = """
import sys
from pathlib import Path
from imapeval.graph.model import Concept
from imapeval.graph.store.writer import write_graph
def concepts():
    n = 0
    while n < 50_000:
        n += 1
        yield Concept(f"X:{n}", f"concept {n}", "disease", ())
def wait(done, total):
    print(done, flush=True)
    sys.stdin.read()
write_graph(Path(sys.argv[1]), concepts(), [], progress=wait)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_build_leaves_the_old_graph(tmp_path: Path) -> None:
    build(tmp_path, write(tmp_path / "x.obo", OBO))
    target = tmp_path / "graph.sqlite"
    before = target.read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "10000\n"  # in the middle of the names
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    assert target.read_bytes() == before
    with Graph.open(tmp_path) as graph:
        assert graph.lookup("asthma") == ("X:2",)
