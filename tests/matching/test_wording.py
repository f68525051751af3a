import pytest

from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph
from imapeval.matching.wording import find_replacement, names_finding, relate_by_head
from imapeval.types import Relation

NAMES = [
    ("b:knee", "body_part", "knee", "膝关节"),
    ("b:duodenum", "body_part", "duodenum", "十二指肠"),
    ("o:cat", "organism", "cat", "猫"),
    ("b:stomach", "body_part", "stomach", "胃"),
    ("d:enteritis", "disease", "gastroenteritis", "胃肠炎"),
    ("m:levofloxacin", "drug", "levofloxacin", "左氧氟沙星"),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "graph.sqlite"
    names = [
        (i, Name(text, lang, "name", "test"))
        for i, _, *texts in NAMES
        for lang, text in zip(("en", "zh"), texts, strict=True)
    ]
    names.append(("d:enteritis", Name("stomach flu", "en", "lay", "test")))
    write_graph(path, [Concept(i, english, kind, ()) for i, kind, english, _ in NAMES], names)
    with Graph.open(path) as graph:
        yield graph


@pytest.mark.parametrize(
    ("longer", "shorter", "modifier"),
    [
        ("severe headaches", "headache", "severe"),
        ("Left knee pain", "knee pain", "left"),
        ("knee pain", "pain", "knee"),  # the place is a name in the graph
        ("acute duodenal ulcer", "ulcer", "acute duodenal"),  # or an adjective
        ("pulmonary oedema", "edema", "pulmonary"),
        ("慢性腹泻", "腹泻", "慢性"),
        ("左膝关节疼痛", "疼痛", "左膝关节"),
        ("十二指肠恶性淋巴瘤", "恶性淋巴瘤", "十二指肠"),
    ],
)
def test_a_narrowing_modifier_gives_a_kind(graph, longer, shorter, modifier):
    found = relate_by_head(graph, longer, shorter)
    assert found is not None
    assert found[0] == Relation.BELONGING
    assert found[1]["modifier"] == modifier
    assert found[1]["confidence"] == "low"
    inverse = relate_by_head(graph, shorter, longer)
    assert inverse == (Relation.CONTAINMENT, found[1])


@pytest.mark.parametrize(
    ("longer", "shorter"),
    [
        ("German measles", "measles"),  # rubella
        ("stomach flu", "flu"),  # lay words for an enteritis
        ("左氧氟沙星", "氧氟沙星"),  # two drugs
        ("hay fever", "fever"),  # an allergy
        ("cat scratch fever", "fever"),
        ("heartburn", "burn"),  # one word
        ("aspirin allergy", "aspirin"),  # the head stands last
        ("no fever", "fever"),
        ("knee pain, fever", "fever"),  # two values
        ("糖尿病足", "足"),  # one character
        ("假性近视", "近视"),
        ("无发热", "发热"),
        ("猫抓病", "抓病"),
        ("急性病", "病"),
        ("疼痛", "疼痛"),
        ("pain", ""),
        ("?", "!"),
    ],
)
def test_a_modifier_that_changes_the_meaning_gives_no_relation(graph, longer, shorter):
    assert relate_by_head(graph, longer, shorter) is None
    assert relate_by_head(graph, shorter, longer) is None


@pytest.mark.parametrize(
    ("reference", "response", "replacement"),
    [
        ("antifungal cream", "clotrimazole 1% cream", ("antifungal", "clotrimazole")),
        ("氧氟沙星滴眼液每日4次", "氧氟沙星眼药水qid", ("滴眼液", "眼药水")),
        ("drugs other than ibuprofen", "drugs other than NSAIDs", None),
        ("safer than ibuprofen", "safer than NSAIDs", None),
        ("no ibuprofen for the knee", "NSAIDs for the knee", None),
        ("rest", "ibuprofen", None),
        ("knee pain", "severe knee pain", None),
    ],
)
def test_what_stands_in_the_one_place_where_two_values_differ(reference, response, replacement):
    assert find_replacement(reference, response) == replacement


@pytest.mark.parametrize(
    ("value", "is_finding"),
    [
        ("pains in the finger", True),
        ("swellings of the toe", True),
        ("rashes on the elbow", True),
        ("stress fractures of the foot", True),
        ("bladder infections", True),
        ("inflammations of the iris", True),
        ("cancers of the colon", True),
        ("tumours of the nephron", True),
        ("tumors of the nephron", True),
        ("injuries of the finger", True),
        ("painting the finger", False),
        ("amputations of the finger", False),
        ("手指骨折", True),
        ("手指截肢", False),
    ],
)
def test_findings_in_the_plural_are_findings(value, is_finding):
    assert names_finding(value) is is_finding
