"""Large indexes, and what happens to a build that is stopped. As a script: builds the index of a graph, in batches that
take a while, and prints how many names are encoded after each (`python test_index_build.py GRAPH INDEX [LIMIT]`)."""

import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import faiss
import numpy as np
import pytest

from imapeval.errors import ResourceError, UsageError
from imapeval.graph.index import build as module
from imapeval.graph.index.device import FaissDevice
from imapeval.graph.index.names import NameIndex
from imapeval.graph.index.preprocessing import centre, fold_case
from imapeval.graph.index.tuning import NEIGHBOURS, ExactNeighbours, choose_recipe, drop_character
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph

WORDS = """
acute chronic mild severe congenital recurrent bilateral primary secondary traumatic benign fatal hidden late fast

renal hepatic cardiac pulmonary gastric duodenal ovarian thyroid pituitary adrenal cerebral spinal dermal ocular nasal
oral dental lingual pharyngeal laryngeal bronchial pleural splenic pancreatic biliary colonic rectal anal vesical
uterine cervical vaginal testicular prostatic mammary lymphatic venous arterial capillary tendinous

abscess adenoma angioma atrophy calculus carcinoma cyst dysplasia edema embolism failure fibrosis fistula gangrene
hemorrhage hernia hyperplasia hypoplasia infarction infection inflammation injury ischemia leiomyoma lipoma necrosis
obstruction perforation polyp prolapse rupture sarcoma spasm stenosis thrombosis
"""


class LetterEncoder:
    """Sums a random vector for every three letters in a row."""

    def __init__(self, dimension=32, pause=0.0):
        self.identity = f"letters-{dimension}"
        self.dimension = dimension
        self._pause = pause
        self._table = np.random.default_rng(0).normal(size=(1 << 12, dimension)).astype(np.float32)
        self._table[0] = 0

    def encode(self, texts):
        time.sleep(self._pause)
        # All texts at once, with a zero behind each; three letters with a zero among them are none.
        padded = [f" {text} \0".encode() for text in texts]
        letters = np.frombuffer(b"".join(padded) + b"\0\0", dtype=np.uint8).astype(np.int64)
        threes = np.lib.stride_tricks.sliding_window_view(letters, 3)
        places = np.where(threes.all(axis=1), 1 + threes @ [961, 31, 1] % (len(self._table) - 1), 0)
        starts = np.cumsum([0, *map(len, padded[:-1])])
        rows = np.add.reduceat(self._table[places], starts)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    encode_alone = encode


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """21,000 names."""
    path = tmp_path_factory.mktemp("large") / "graph.sqlite"
    kinds_sites_changes = [part.split() for part in WORDS.split("\n\n")]
    texts = [" ".join(words) for words in itertools.product(*kinds_sites_changes)]
    concepts = [Concept(f"T:{number}", text, "disease", ()) for number, text in enumerate(texts)]
    write_graph(path, concepts, [(c.id, Name(c.label, "en", "name", "test")) for c in concepts])
    with Graph.open(path) as graph:
        yield graph


@pytest.fixture(scope="module")
def encoder():
    return LetterEncoder()


@pytest.fixture(scope="module")
def built(graph, encoder, tmp_path_factory):
    path = tmp_path_factory.mktemp("built") / "names.faiss"
    return NameIndex.build(graph, encoder, path)


@pytest.mark.slow
def test_many_names_are_sorted_into_cells_and_the_recall_is_stored(graph, encoder, built):
    assert built.recipe == "IVF256,SQfp16"  # 2 sqrt(21,000) = 290, and 256 is the nearest power of two
    assert built.recall is not None
    assert built.recall.share >= 0.95
    assert (built.recall.k, built.recall.queries) == (10, 1000)
    assert built.recall.probes < 128
    assert NameIndex.open(graph, encoder, built.path).recall == built.recall
    assert json.loads(built.path.with_suffix(".json").read_text(encoding="utf-8"))["recall"]["share"] >= 0.95


def test_the_stored_recall_holds_for_other_wordings(graph, encoder, built):
    # Against exact search in numpy, on names with a letter exchanged; the stored one is on names with one left out.
    rows = built.centre(encoder.encode([fold_case(text) for _, text, _, _ in graph.all_names()]), "en")
    rng = np.random.default_rng(7)
    texts = [name.text for name in graph.names_at(rng.integers(1, graph.name_count + 1, size=300).tolist())]
    places = [int(rng.integers(len(text))) for text in texts]
    wrong = [f"{text[:at]}x{text[at + 1 :]}" for text, at in zip(texts, places, strict=True)]
    queries = built.centre(encoder.encode(wrong), "en")
    exact = queries @ rows.T
    tenth = np.sort(exact, axis=1)[:, -10]
    found, _ = built.search(queries, 10)
    assert np.mean(np.take_along_axis(exact, found - 1, axis=1) >= tenth[:, None] - 1e-5) > 0.93


@pytest.mark.skipif(sys.platform == "win32", reason="FAISS maps no files on Windows")
def test_the_lists_of_a_large_index_stay_on_disk(graph, encoder, built):
    index = NameIndex.open(graph, encoder, built.path)
    lists = faiss.downcast_InvertedLists(faiss.extract_index_ivf(index._index).invlists)
    assert isinstance(lists, faiss.OnDiskInvertedLists)


def test_the_same_names_give_the_same_bytes(graph, encoder, built, tmp_path):
    again = NameIndex.build(graph, encoder, tmp_path / "names.faiss")
    assert again.path.read_bytes() == built.path.read_bytes()
    assert again.path.with_suffix(".json").read_bytes() == built.path.with_suffix(".json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "recipe"), [(2_800_000, "PCAR256,IVF256,PQ128x4fs"), (2_200_000, "PCAR192,IVF256,PQ96x4fs")]
)
def test_the_index_fits_into_the_size(graph, tmp_path, limit, recipe):
    index = NameIndex.build(graph, LetterEncoder(300), tmp_path / "names.faiss", max_bytes=limit)
    assert index.recipe == recipe
    assert 0.75 * limit < index.path.stat().st_size <= limit
    assert index.recall is not None
    assert 0.3 < index.recall.share <= 1
    queries = index.centre(LetterEncoder(300).encode(["acute renal abscess", "chronic hepatic cyst"]), "en")
    found, _ = index.search(queries, 10)
    for near, text in zip(found.tolist(), ("acute renal abscess", "chronic hepatic cyst"), strict=True):
        assert text in [name.text for name in graph.names_at(near)]


def test_an_impossible_size_is_rejected_with_the_smallest():
    with pytest.raises(UsageError, match=r"\b1000\b.*\b29"):
        choose_recipe(21_000, 64, max_bytes=1_000)


@pytest.mark.parametrize(
    ("names", "dimension", "factory"),
    [
        (19_999, 512, "Flat"),
        (20_000, 512, "IVF256,SQ8"),
        (3_400_000, 256, "IVF4096,SQ8"),
        (3_400_000, 128, "IVF4096,SQfp16"),
        (12_000_000, 768, "IVF8192,SQ8"),
    ],
)
def test_the_recipe_follows_the_number_of_names(names, dimension, factory):
    assert choose_recipe(names, dimension, max_bytes=None).factory == factory


def test_a_character_is_dropped_except_in_short_texts():
    rng = np.random.default_rng(0)
    texts = {drop_character("abcd", rng) for _ in range(100)}
    assert texts == {"bcd", "acd", "abd", "abc"}
    assert drop_character("肾结石", rng) == "肾结石"


def test_nearest_scores_are_those_of_exact_search():
    rng = np.random.default_rng(1)
    queries, rows = centre(rng.normal(size=(5, 16)), None), centre(rng.normal(size=(100, 16)), None)
    nearest = ExactNeighbours(queries, FaissDevice())
    for part in (rows[:4], rows[4:70], rows[70:]):  # the first has fewer rows than K
        nearest.add(part)
    np.testing.assert_allclose(nearest.least, np.sort(queries @ rows.T, axis=1)[:, -NEIGHBOURS], atol=1e-6)


def start_build(graph, path, *more):
    command = [sys.executable, __file__, str(graph.path), str(path), *map(str, more)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_killed_build_is_resumed(graph, encoder, built, tmp_path):
    path = tmp_path / "names.faiss"
    with start_build(graph, path) as process:
        assert process.stdout is not None
        assert [int(process.stdout.readline()) for _ in range(2)] == [4096, 8192]
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not path.exists()
    part = path.with_name("names.faiss.part")
    kept = json.loads((part / "journal.json").read_text(encoding="utf-8"))["rows"]
    assert kept in (8192, 12288)
    with (part / "rows.f16").open("ab") as file:
        file.write(b"cut off")  # as where it is killed in the middle of a batch
    calls = []
    index = NameIndex.build(graph, encoder, path, progress=lambda *done: calls.append(done))
    assert calls[0] == (kept + 4096, 21_000)
    assert calls[-1] == (21_000, 21_000)
    assert index.path.read_bytes() == built.path.read_bytes()
    assert not part.exists()


def test_vectors_of_another_encoder_are_not_used(graph, built, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    path = tmp_path / "names.faiss"
    with pytest.raises(KeyboardInterrupt):
        NameIndex.build(graph, LetterEncoder(16), path, progress=interrupt)
    assert path.with_name("names.faiss.part").is_dir()
    assert NameIndex.build(graph, LetterEncoder(), path).path.read_bytes() == built.path.read_bytes()


@pytest.mark.slow
def test_two_processes_make_one_index(graph, encoder, built, tmp_path):
    path = tmp_path / "new" / "names.faiss"
    outputs = []
    first, second = start_build(graph, path), start_build(graph, path)
    for process in (first, second):
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        outputs.append(output.split())
    assert sorted(map(len, outputs)) == [0, 6]  # one encoded all six batches, the other waited
    assert NameIndex.open(graph, encoder, path).path.read_bytes() == built.path.read_bytes()
    assert sorted(file.name for file in path.parent.iterdir()) == ["names.faiss", "names.json"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_full_disk_is_reported_with_the_folder(graph, tmp_path, share):
    # The vectors take 21,000 x 32 x 2 bytes and have room in neither case. What they leave is enough to go on with.
    path = tmp_path / "names.faiss"
    with start_build(graph, path, int(21_000 * 32 * 2 * share)) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"ResourceError: the name index cannot be written to {tmp_path} (" in errors
    assert not path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
def test_a_disk_that_fills_up_while_the_index_is_written_is_reported(tmp_path):
    import resource

    path = tmp_path / "index"
    index = faiss.IndexFlatIP(64)
    index.add(np.ones((10_000, 64), dtype=np.float32))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_200_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            module.write_index(index, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_folder_that_cannot_be_created_is_reported(graph, encoder, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceError, match="file"):
        NameIndex.build(graph, encoder, tmp_path / "file" / "names.faiss")


@pytest.mark.gpu
def test_an_index_made_on_a_gpu_is_searched_on_a_cpu(graph, encoder, built, tmp_path):
    if not FaissDevice().gpu:
        pytest.skip("needs faiss-gpu and a GPU")
    index = NameIndex.build(graph, encoder, tmp_path / "names.faiss")
    assert index.recall is not None
    assert index.recall.share >= 0.95
    queries = index.centre(encoder.encode(["acute renal abscess"]), "en")
    np.testing.assert_allclose(index.search(queries, 5)[1], built.search(queries, 5)[1], atol=0.01)


def main():
    graph_path, path, *limit = sys.argv[1:]
    if limit:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit[0]), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    with Graph.open(Path(graph_path)) as graph:
        NameIndex.build(graph, LetterEncoder(pause=0.2), Path(path), progress=lambda done, _: print(done, flush=True))


if __name__ == "__main__":
    main()
