"""The graph that ships, asked for facts that any medical textbook has."""

import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import networkx as nx
import pytest

from imapeval.graph.model import ConceptType
from imapeval.graph.store.graph import Graph

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def graph() -> Iterator[Graph]:
    with Graph.open() as opened:
        yield opened


def is_kind_of(graph: Graph, narrow: str, broad: str) -> bool:
    return any(graph.is_a(child, parent) for child in graph.lookup(narrow) for parent in graph.lookup(broad))


@pytest.mark.parametrize(
    ("narrow", "broad"),
    [
        ("ibuprofen", "non-steroidal anti-inflammatory drug"),
        ("布洛芬", "NSAIDs"),
        ("Werdnig-Hoffmann disease", "spinal muscular atrophy"),
        ("penicillin", "antibiotic"),
        ("amoxicillin", "antibiotic"),
        ("amoxicillin", "penicillin"),
        ("阿莫西林", "抗生素"),
        ("metformin", "hypoglycemic agents"),
        ("warfarin", "anticoagulant"),
        ("atorvastatin", "statin"),
        ("amlodipine", "calcium channel blocker"),
        ("pneumonia", "respiratory tract infection"),
        ("type 2 diabetes", "diabetes mellitus"),
        ("2型糖尿病", "糖尿病"),
        ("Crohn's disease", "inflammatory bowel disease"),
        ("myocardial infarction", "heart disease"),
        ("appendectomy", "surgery"),
        ("chest CT", "CT scan"),
        ("gastroscopy", "endoscopy"),
        ("femur", "bone"),
    ],
)
def test_kinds(graph: Graph, narrow: str, broad: str) -> None:
    assert is_kind_of(graph, narrow, broad)
    assert not is_kind_of(graph, broad, narrow)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("布洛芬", "ibuprofen"),
        ("B超", "ultrasound"),
        ("胃镜", "gastroscopy"),
        ("核磁共振", "MRI"),
        ("高血压", "hypertension"),
        ("糖尿病", "diabetes"),
        ("发烧", "fever"),
        ("阑尾炎", "appendicitis"),
        ("阿司匹林", "acetylsalicylic acid"),
        ("paracetamol", "acetaminophen"),
        ("heart attack", "myocardial infarction"),
        ("diarrhoea", "腹泻"),
        ("breast cancer", "乳腺癌"),
        ("血常规", "complete blood count"),
        ("心内科", "cardiology"),
        ("CT检查", "computed tomography"),
    ],
)
def test_same(graph: Graph, one: str, other: str) -> None:
    assert set(graph.lookup(one)) & set(graph.lookup(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hypertension", "hypotension"),
        ("ibuprofen", "paracetamol"),
        ("pneumonia", "hepatitis"),
        ("type 1 diabetes", "type 2 diabetes"),
        ("amoxicillin", "ampicillin"),
        ("cardiology", "neurology"),
        ("hyperthyroidism", "hypothyroidism"),
    ],
)
def test_neither_same_nor_kind(graph: Graph, one: str, other: str) -> None:
    assert graph.lookup(one)
    assert graph.lookup(other)
    assert not set(graph.lookup(one)) & set(graph.lookup(other))
    assert not is_kind_of(graph, one, other)
    assert not is_kind_of(graph, other, one)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ibuprofen", "drug"),
        ("gastroscopy", "test"),
        ("appendectomy", "procedure"),
        ("pneumonia", "disease"),
        ("cough", "symptom"),
        ("kidney", "body_part"),
        ("cardiology", "department"),
        ("Staphylococcus aureus", "organism"),
    ],
)
def test_types(graph: Graph, text: str, kind: ConceptType) -> None:
    assert graph.lookup(text, types=[kind])


@pytest.mark.parametrize(
    "text", ["soft", "read", "lead", "hope", "back", "discharge", "patient", "治疗", "检查", "患者"]
)
def test_everyday_words_are_not_mentions(graph: Graph, text: str) -> None:
    assert graph.is_stopped(text)
    assert text not in graph.mention_table("zh")
    assert text not in graph.mention_table("en")


def test_mentions(graph: Graph) -> None:
    assert {"手术", "头痛", "胃镜", "布洛芬"} <= graph.mention_table("zh").keys()
    mentions = {"surgery", "headache", "stroke", "shock", "fever", "ibuprofen", "mri"}
    assert mentions <= graph.mention_table("en").keys()


@pytest.mark.parametrize("text", ["disease", "symptom", "body part"])
def test_roots_are_general(graph: Graph, text: str) -> None:
    assert any(graph.is_general(concept) for concept in graph.lookup(text))


@pytest.mark.parametrize("text", ["antibiotic", "NSAID", "pneumonia", "anemia", "diabetes mellitus", "surgery"])
def test_kinds_that_answers_name_are_not_general(graph: Graph, text: str) -> None:
    assert not any(graph.is_general(concept) for concept in graph.lookup(text)[:1])


def test_is_a_has_no_cycle(graph: Graph) -> None:
    # All edges at once: to ask for 35,000 concepts one by one takes seconds.
    with closing(sqlite3.connect(f"{graph.path.as_uri()}?mode=ro", uri=True)) as connection:
        edges = connection.execute("SELECT child, parent FROM edge").fetchall()
    assert len(edges) == graph.stats()["edges"]
    assert nx.is_directed_acyclic_graph(nx.DiGraph(edges))


def test_size(graph: Graph) -> None:
    stats = graph.stats()
    chinese = [row for row in graph.all_names() if row[3] == "zh"]
    assert len({row[2] for row in chinese}) >= 6000
    assert 90_000 <= stats["names"] <= 130_000
    assert graph.path.stat().st_size < 25_000_000
    assert set(stats["sources"]) == {"doid", "mondo", "mesh", "chebi", "wordnet", "hl7", "imap"}


def test_every_source_is_credited(graph: Graph) -> None:
    notice = " ".join((ROOT / "NOTICE").read_text(encoding="utf-8").split())
    catalogue = tomllib.loads((ROOT / "kg" / "sources.toml").read_text(encoding="utf-8"))["sources"]
    for source in graph.stats()["sources"]:
        entry = catalogue[source]
        assert entry["title"] in notice
        assert entry["licence"]
        assert entry["url"].removeprefix("https://") in notice


def read_table(name: str) -> list[list[str]]:
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")][1:]


def list_classes(names: str) -> list[str]:
    return [name for name in names.split("; ") if name]


def test_drugs_belong_to_their_classes(graph: Graph) -> None:
    # drug_classes.tsv: textbook knowledge. The wording "tetracycline" means the drug, not its class.
    rows = read_table("drug_classes.tsv")
    assert len(rows) > 200
    pairs = [
        (drug, name, known) for drug, *cells in rows for known, cell in enumerate(cells) for name in list_classes(cell)
    ]
    wrong = [(drug, name) for drug, name, denied in pairs if is_kind_of(graph, drug, name) == bool(denied)]
    assert wrong == [("doxycycline", "tetracycline"), ("minocycline", "tetracycline")]


def test_lay_wordings_find_their_concepts(graph: Graph) -> None:
    # lay_terms.tsv. What is left are near neighbours, such as "black stool" and melena.
    rows = read_table("lay_terms.tsv")
    missed = [(text, means) for _, text, means in rows if not set(graph.lookup(text)) & set(graph.lookup(means))]
    assert len(rows) > 500
    assert len(missed) / len(rows) < 0.06, missed


@pytest.mark.parametrize(("part", "whole"), [("mitral valve", "heart"), ("ankle", "leg"), ("retina", "eye")])
def test_parts_are_not_kinds(graph: Graph, part: str, whole: str) -> None:
    assert not is_kind_of(graph, part, whole)
    assert any(graph.part_path(one, other) for one in graph.lookup(part) for other in graph.lookup(whole))


@pytest.mark.parametrize(
    ("wording", "label"),
    [
        ("heart attack", "myocardial infarction"),
        ("type II diabetes", "type 2 diabetes mellitus"),
        ("type I diabetes", "type 1 diabetes mellitus"),
        ("oculocutaneous albinism type 2", "oculocutaneous albinism type II"),
    ],
)
def test_another_wording_is_not_another_concept(graph: Graph, wording: str, label: str) -> None:
    assert [graph.concept(concept).label for concept in graph.lookup(wording)] == [label]
