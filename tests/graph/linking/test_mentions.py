from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest

from imapeval.graph.linking.mentions import MentionScanner
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.types import Lang

NAMES: list[tuple[str, Lang]] = [
    ("β受体阻滞剂", "zh"),
    ("高血压", "zh"),
    ("糖尿病", "zh"),
    ("糖尿病肾病", "zh"),
    ("COX-2抑制剂", "zh"),
    ("5-HT3受体拮抗剂", "zh"),
    ("受体", "zh"),
    ("肺炎", "zh"),
    ("肝癌", "zh"),
    ("炎症", "zh"),
    ("高密度脂蛋白1.5倍", "zh"),
    ("ALS", "en"),
    ("heart failure", "en"),
    ("heart", "en"),
    ("β-blocker", "en"),
    ("Hp感染", "zh"),
    ("维生素B", "zh"),
    ("H. pylori infection", "en"),
    ("St. John's wort", "en"),
    ("vitamin B", "en"),
    ("vitamin K", "en"),
    ("vitamin K antagonist", "en"),
    ("hepatitis A", "en"),
    ("hepatitis A vaccine", "en"),
    ("vitamin B12", "en"),
    ("13C urea breath test", "en"),
    ("Sjögren's syndrome", "en"),
]


@pytest.fixture(scope="module")
def scanner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MentionScanner]:
    path = tmp_path_factory.mktemp("graph") / "graph.sqlite"
    concepts = [Concept(f"x:{place}", text, "disease", ()) for place, (text, _) in enumerate(NAMES)]
    names = [(f"x:{place}", Name(text, lang, "name", "test")) for place, (text, lang) in enumerate(NAMES)]
    write_graph(path, concepts, names)
    with Graph.open(path) as graph:
        yield MentionScanner(graph)


def scan(scanner: MentionScanner, text: str, lang: Lang = "zh") -> list[str]:
    return [mention.text for mention in scanner.scan(text, lang=lang)]


@pytest.mark.parametrize("text", [text for text, lang in NAMES if lang == "zh"])
def test_every_chinese_name_is_found_in_itself(scanner: MentionScanner, text: str) -> None:
    assert scan(scanner, text) == [text]
    assert scan(scanner, f"患者有{text}，无发热") == [text]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("患有高血壓", ["高血壓"]),
        ("糖尿病腎病", ["糖尿病腎病"]),
        ("用ＣＯＸ－２抑制剂", ["ＣＯＸ－２抑制剂"]),
        ("患者有heart failure", ["heart failure"]),
        ("服用β-blocker后", ["β-blocker"]),
        ("糖尿病 肾病", ["糖尿病 肾病"]),
        ("幽门螺杆菌(Hp)感染", ["Hp)感染"]),
    ],
)
def test_spellings_in_chinese_texts(scanner: MentionScanner, text: str, found: list[str]) -> None:
    assert scan(scanner, text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("病变累及肺、炎症明显", ["炎症"]),
        ("感染部位为肺。炎症指标升高", ["炎症"]),
        ("病变在肝\n癌症中心", []),
        ("血型A LS", []),
    ],
)
def test_a_name_ends_at_punctuation(scanner: MentionScanner, text: str, found: list[str]) -> None:
    assert scan(scanner, text) == found


def test_full_width_punctuation_ends_an_english_name_as_well(scanner: MentionScanner) -> None:
    assert scan(scanner, "heart，failure", "en") == ["heart"]
    assert scan(scanner, "heart failure", "en") == ["heart failure"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Treat H. pylori infection. Heart failure", ["H. pylori infection", "Heart failure"]),
        ("St. John's wort", ["St. John's wort"]),
        ("Take vitamin B. Heart failure", ["vitamin B", "Heart failure"]),
        ("heart. Failure", ["heart"]),
        ("heart. failure", ["heart"]),
        # The capital ends the sentence here.
        ("She has hepatitis A. vaccine is advised", ["hepatitis A"]),
        ("TAKE VITAMIN K. antagonists are avoided", ["VITAMIN K"]),
        ("hepatitis A vaccine", ["hepatitis A vaccine"]),
    ],
)
def test_the_period_of_an_abbreviated_genus_ends_no_name(scanner: MentionScanner, text: str, found: list[str]) -> None:
    assert scan(scanner, text, "en") == found


@pytest.mark.parametrize(
    "text", ["vitamin B₁₂", "¹³C urea breath test", unicodedata.normalize("NFD", "Sjögren syndrome")]
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_letters_and_digits_are_read_as_in_a_lookup(scanner: MentionScanner, text: str, lang: Lang) -> None:
    (mention,) = scanner.scan(text if lang == "en" else f"患者有{text}，无发热", lang=lang)
    assert (mention.text, mention.concepts) == (text, scanner._graph.lookup(text))


def test_a_number_that_is_cut_off_is_another_name(scanner: MentionScanner) -> None:
    assert scan(scanner, "维生素B₆") == scan(scanner, "vitamin B₆", "en") == []
    assert scan(scanner, "vitamin B¹", "en") == ["vitamin B"]  # a footnote


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("¹Heart failure. ²ALS too", ["Heart failure", "ALS"]),
        ("heart¹,²ALS", ["heart", "ALS"]),
        ("heart²Sjögren's syndrome", ["heart", "Sjögren's syndrome"]),
        ("¹Vitamin B12", ["Vitamin B12"]),
    ],
)
def test_the_number_of_a_footnote_belongs_to_no_word(scanner: MentionScanner, text: str, found: list[str]) -> None:
    assert scan(scanner, text, "en") == found
