import numpy as np
import pytest

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.linking.candidates import NGRAM_NEIGHBOURS, CandidateFinder
from imapeval.graph.linking.features import FEATURES
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph

NAMES = [
    ("x:als", "amyotrophic lateral sclerosis"),
    ("x:pls", "primary lateral sclerosis"),
    ("x:copd", "chronic obstructive pulmonary disease"),
    ("x:lung", "disease of the lung"),
    ("x:lung", "lung disease"),
    ("x:type1", "diabetes type 1"),
    ("x:type2", "diabetes type 2"),
    ("x:淋巴瘤", "恶性淋巴瘤"),
    *((f"f:{n}", f"filler number {n}") for n in range(40)),
]
TEXTS = [
    "lung diseases",
    "PLS",
    "",
    "diabetes type 2",
    "%%",
    "12 34",
    "恶性淋巴瘤",
    "zzz",
    "lung disease lung",
    "x" * 500,
]


@pytest.fixture(scope="module")
def finder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    labels = dict(reversed(NAMES))
    names = [(c, Name(text, "en" if text.isascii() else "zh", "name", "test")) for c, text in NAMES]
    write_graph(folder / "graph.sqlite", [Concept(c, label, "other", ()) for c, label in labels.items()], names)
    encoder = open_encoder()
    with Graph.open(folder) as graph:
        index = NameIndex.build(graph, encoder, folder / "names.faiss")
        yield CandidateFinder(graph, encoder, index, NgramIndex.build(graph))


def read(found):
    rows = (dict(zip(FEATURES, row, strict=True)) for row in found.features.tolist())
    return dict(zip(found.concepts, rows, strict=True))


def test_candidates_do_not_depend_on_the_batch(finder):
    together = finder.find_many(TEXTS * 8, lang="en")
    assert len(together) == len(TEXTS) * 8
    for text, found, again in zip(TEXTS, together[: len(TEXTS)], together[-len(TEXTS) :], strict=True):
        [alone] = finder.find_many([text], lang="en")
        for one in (found, again):
            assert one.concepts == alone.concepts
            assert one.names == alone.names
            assert one.features == pytest.approx(alone.features, abs=1e-5)
    assert finder.find_many([], lang="en") == []


def test_features_are_between_0_and_1(finder):
    for found in finder.find_many(TEXTS, lang="en"):
        assert len(set(found.concepts)) == len(found.concepts)
        assert found.features.min(initial=0.0) == 0.0
        assert found.features.max(initial=0.0) <= 1 + 1e-6  # lengths are kept as 32-bit numbers


def test_features_computed_by_hand(finder):
    [found] = finder.find_many(["lung diseases"], lang="en")
    lung = read(found)["x:lung"]
    # The normal form of a name: all is the same.
    for feature in ("same", "n-grams", "n-grams of text", "n-grams of name", "words", "words of text", "first word"):
        assert lung[feature] == pytest.approx(1.0, abs=1e-6), feature
    assert lung["names found"] == pytest.approx(2 / 3)
    assert lung["marks differ"] == 0
    # Only "disease" is shared: less than all, more than nothing.
    copd = read(found)["x:copd"]
    assert 0 < copd["words of text"] < 0.5
    assert copd["last word"] == 1
    assert copd["first word"] == copd["same"] == 0
    [found] = finder.find_many(["diabetes type 2"], lang="en")
    assert [read(found)[concept]["marks differ"] for concept in ("x:type1", "x:type2")] == [1, 0]


def test_repeated_words_count_once(finder):
    [found] = finder.find_many(["lung disease lung"], lang="en")
    assert read(found)["x:lung"]["words"] == pytest.approx(1.0, abs=1e-6)


def test_text_without_letters_and_digits_has_no_candidates(finder):
    assert [found.concepts for found in finder.find_many(["", "%%", "..."], lang="en")] == [[], [], []]


@pytest.mark.parametrize(
    ("text", "concept"), [("PLS", "x:pls"), ("pls", "x:pls"), ("COPD", "x:copd"), ("ALS", "x:als")]
)
def test_abbreviations_keep_their_last_letter(finder, text, concept):
    [found] = finder.find_many([text], lang="en")
    assert [c for c, features in read(found).items() if features["initials"]] == [concept]


def test_names_not_found_by_the_encoder_have_the_lowest_cosine(finder, monkeypatch):
    monkeypatch.setattr("imapeval.graph.linking.candidates.ENCODER_HITS", 2)
    [found] = finder.find_many(["lung disease"], lang="en")
    cosines = sorted({round(row["encoder"], 6) for row in read(found).values()})
    assert cosines[-1] == pytest.approx(1.0, abs=1e-3)
    assert len(cosines) <= 2
    assert len(found.concepts) > 2


def test_nearest_names_by_ngrams(finder):
    near, none = finder.find_by_ngrams(["lung disease", "zzzz"])
    assert near[0][0].text == "lung disease"
    assert near[0][1] == pytest.approx(1.0, abs=1e-6)
    assert [cosine for _, cosine in near] == sorted((cosine for _, cosine in near), reverse=True)
    assert len(near) <= NGRAM_NEIGHBOURS
    assert none == []
    assert np.isfinite([cosine for _, cosine in near]).all()
