from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.linking.linker import Linker
from imapeval.graph.linking.phrases import is_phrase, strip_light_words
from imapeval.graph.linking.spelling import bigram_overlap, is_similar_enough, may_be_misspelling, rate_similarity
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph

CONCEPTS = [
    Concept("d:antibiotic", "antibiotic", "drug", ()),
    Concept("d:amoxicillin", "amoxicillin", "drug", ("d:antibiotic",)),
    Concept("d:cefixime", "cefixime", "drug", ("d:antibiotic",)),
    Concept("p:antibiotic", "antibiotic therapy", "procedure", ()),
    Concept("x:lymphoma", "lymphoma", "disease", ()),
    Concept("x:cold", "common cold", "disease", ()),
    Concept("s:cold", "feeling cold", "symptom", ()),
    Concept("b:duodenum", "duodenum", "body_part", ()),
    Concept("t:ct", "computed tomography", "test", ()),
    Concept("x:std", "sexually transmitted disease", "disease", ()),
    Concept("x:hypothyroidism", "hypothyroidism", "disease", ()),
    *(Concept(f"x:{n}", f"duodenal disease {n}", "disease", ()) for n in ("one", "two", "three")),
]
NAMES = [
    ("d:antibiotic", "en", "antibiotic", "name"),
    ("d:antibiotic", "zh", "抗生素", "name"),
    ("d:amoxicillin", "en", "amoxicillin", "name"),
    ("d:amoxicillin", "zh", "阿莫西林", "name"),
    ("p:antibiotic", "zh", "抗感染治疗", "synonym"),
    ("x:lymphoma", "en", "malignant lymphoma", "synonym"),
    ("x:lymphoma", "zh", "恶性淋巴瘤", "name"),
    ("x:cold", "en", "cold", "synonym"),
    ("s:cold", "en", "cold", "lay"),
    ("b:duodenum", "zh", "十二指肠", "name"),
    ("t:ct", "en", "CT", "abbreviation"),
    ("x:std", "zh", "性病", "synonym"),
]


@pytest.fixture(scope="module")
def linker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    names = [(concept, Name(text, lang, kind, "test")) for concept, lang, text, kind in NAMES]
    names += [(concept.id, Name(concept.label, "en", "name", "test")) for concept in CONCEPTS]
    # 200 unrelated concepts, so that none of the others is general.
    fillers = [Concept(f"f:{n}", f"filler number {n}", "factor", ()) for n in range(200)]
    write_graph(folder / "graph.sqlite", [*CONCEPTS, *fillers], names)
    encoder = open_encoder()
    with Graph.open(folder / "graph.sqlite") as graph:
        index = NameIndex.build(graph, encoder, folder / "names.faiss")
        yield Linker(graph, encoder, index, NgramIndex.build(graph))


def link(linker, value):
    [links] = linker.link_many([value], lang="en" if value.isascii() else "zh")
    return [(found.concept, found.how) for found in links]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Amoxicillin", [("d:amoxicillin", "exact")]),
        ("阿莫西林", [("d:amoxicillin", "exact")]),
        ("computed tomography (CT)", [("t:ct", "brackets")]),
        ("a therapy of the antibiotic", [("p:antibiotic", "core")]),
        ("the white ones (amoxicillin)", [("d:amoxicillin", "brackets")]),
        ("the white ones among all my old tablets (amoxicillin)", []),  # the brackets explain the end only
        ("take amoxicillin capsules", [("d:amoxicillin", "core")]),
        ("口服阿莫西林胶囊", [("d:amoxicillin", "core")]),
        ("CT scan", [("t:ct", "core")]),
        ("amoxicillin therapy", [("d:amoxicillin", "treatment")]),
        ("treatment with amoxicillin", [("d:amoxicillin", "treatment")]),
        ("用阿莫西林治疗", [("d:amoxicillin", "treatment")]),
        ("lymphoma (malignant)", [("x:lymphoma", "brackets")]),  # the brackets' words before it are a name
        ("淋巴瘤 (恶性)", [("x:lymphoma", "brackets")]),
        ("amoxicillin (mild course)", [("d:amoxicillin", "kind")]),
        ("amoxicillin capsules (500 mg)", [("d:amoxicillin", "kind")]),
        ("amoxicillin (antibiotic)", [("d:amoxicillin", "brackets")]),
        ("therapy of the antibiotic", [("p:antibiotic", "core")]),
        ("oral amoxicillin", [("d:amoxicillin", "core")]),
        ("antibiotic therapy", [("p:antibiotic", "exact"), ("d:antibiotic", "treatment")]),
        ("amoxicilin", [("d:amoxicillin", "index")]),
        ("tomography, computed", [("t:ct", "index")]),
        ("duodenal malignant lymphoma", [("x:lymphoma", "kind")]),
        ("malignant lymphoma of the duodenum", [("x:lymphoma", "kind")]),
        ("十二指肠恶性淋巴瘤", [("x:lymphoma", "kind")]),
        ("急性恶性淋巴瘤", [("x:lymphoma", "kind")]),
        ("恶性淋巴瘤Ⅳ期", [("x:lymphoma", "kind")]),
        ("恶性淋巴瘤恢复期", [("x:lymphoma", "kind")]),
        ("lymphoma, stage IV", [("x:lymphoma", "kind")]),
        ("amoxicillin 500 mg three times", [("d:amoxicillin", "kind")]),
        ("阿莫西林0.5g", [("d:amoxicillin", "kind")]),
    ],
)
def test_value_is_linked(linker, value, expected):
    assert link(linker, value) == expected


@pytest.mark.parametrize(
    "value",
    [
        "",
        "...",
        "😀",
        "cefepime",  # a sibling of cefixime, two letters away
        "hyperthyroidism",  # the opposite of the one in the graph
        "avoid amoxicillin",
        "no malignant lymphoma",
        "避免抗生素",
        "false lymphoma",
        "amoxicillin to be avoided",
        "amoxicillin 500 mg is not allowed",
        "阿莫西林0.5g禁用",
        "amoxicillin (do not take)",
        "阿莫西林（禁用）",
        "duodenal, malignant lymphoma",
        "十二指肠、恶性淋巴瘤",
        "慢性病",  # ends in 性病, and is none
        "a clause about amoxicillin that goes on for far too long to be a name",
        "blorptic zanfilation",
    ],
)
def test_value_is_not_linked(linker, value):
    assert link(linker, value) == []


def test_ambiguous_name_gives_all_concepts_and_the_runner_up(linker):
    [links] = linker.link_many(["cold"], lang="en")
    assert [found.concept for found in links] == ["x:cold", "s:cold"]
    assert links[0].runner_up == ("s:cold", 1.0)
    assert links[1].runner_up == ("x:cold", 1.0)


def test_order_and_duplicates_of_the_values_are_kept(linker):
    values = ["amoxicillin", "nothing known", "阿莫西林", "amoxicillin"]
    links = linker.link_many(values, lang="en")
    assert [bool(found) for found in links] == [True, False, True, True]
    assert links[0] == links[3]


def test_a_batch_has_the_candidates_of_single_searches(linker):
    texts = ["amoxicilin", "", "malignant lymphomas", "amoxicilin"]
    for text, found in zip(texts, linker.search_many(texts, lang="en", k=3), strict=True):
        alone = linker.search(text, lang="en", k=3)
        assert [one.concept for one in found] == [one.concept for one in alone]
        assert [one.score for one in found] == pytest.approx([one.score for one in alone], abs=1e-5)
    assert linker.search_many([], lang="en") == []


def test_links_are_cached(linker, monkeypatch):
    asked = []
    search_many = Linker.search_many
    monkeypatch.setattr(
        Linker, "search_many", lambda self, texts, **o: asked.extend(texts) or search_many(self, texts, **o)
    )
    first = linker.link_many(["amoxicillim", "blorptic zanfilation"], lang="en")
    assert asked == ["amoxicillim"]  # the letters of the other promise nothing
    assert linker.link_many(["blorptic zanfilation", "amoxicillim"], lang="en") == first[::-1]
    assert asked == ["amoxicillim"]


def test_the_number_of_cached_links_is_limited(linker, monkeypatch):
    monkeypatch.setattr("imapeval.graph.linking.linker._CACHED_LINKS", 3)
    fresh = Linker(linker.graph, linker._encoder, linker._index, linker._ngrams)
    values = ["cold", "CT", "amoxicillin", "amoxicilin", "lymphoma"]
    links = fresh.link_many(values, lang="en")
    assert len(fresh._links) == 3
    assert fresh.link_many(values, lang="en") == links


def test_evidence_is_bounded(linker):
    for links in linker.link_many(["amoxicilin", "duodenal malignant lymphoma", "CT scan"], lang="en"):
        assert all(0 < found.score <= 1 for found in links)


def test_threads_share_one_linker(linker):
    fresh = Linker(linker.graph, linker._encoder, linker._index, linker._ngrams)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(partial(link, fresh), ["amoxicilin", "duodenal malignant lymphoma"] * 4))
    assert found == [[("d:amoxicillin", "index")], [("x:lymphoma", "kind")]] * 4


def test_long_values_are_not_noun_phrases():
    assert is_phrase("a" * 80)
    assert not is_phrase("a" * 81)
    assert not is_phrase("1" * 10_000)
    assert not is_phrase("")


def test_light_words_never_leave_nothing():
    for value in ("tablet", "检查", "the", "治疗", "病"):
        assert all(rest for rest, _ in strip_light_words(value))


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        ("ibuprofin", "ibuprofen", True),
        ("lung cancer", "cancer lung", True),
        ("anti biotic", "antibiotic", True),
        ("cefixime", "cefepime", False),  # a name of its own
        ("hypothyroidism", "hyperthyroidism", False),
        ("type 1 diabetes", "type 2 diabetes", False),
        ("vitamin b", "vitamin c", False),
        ("lung cancer", "small cell lung cancer", False),
        ("imd23a", "imd23b", False),
        ("低钠饮食", "低钾饮食", False),
        ("甲亢", "甲减", False),
    ],
)
def test_misspellings(value, name, expected):
    assert may_be_misspelling(value, name, known=frozenset({"cefixime", "cefepime", "lung", "cancer"})) is expected


def test_rating_is_bounded_and_highest_for_itself():
    assert rate_similarity("asthma", "asthma", 1.0) == bigram_overlap("asthma", "asthma") == 1.0
    assert rate_similarity("asthma", "asthma", -0.5) == 0.5
    assert is_similar_enough("asthma", 0.7)
    assert not is_similar_enough("哮喘", 0.7)


def test_text_of_signs_has_no_candidates(linker):
    signs = "+" * 300 + " diabetes"
    assert linker.search(signs, lang="en") == linker.search_many([signs, "diabetes"], lang="en")[0] == []
