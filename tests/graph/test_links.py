"""The table of links, on the graph that ships: what a clinician would say of each text, known failures marked."""

from pathlib import Path

import pytest

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.linking.linker import Linker
from imapeval.graph.store.graph import Graph

pytestmark = pytest.mark.slow

ROWS = [
    line.split("\t")
    for line in Path(__file__).with_name("links.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.fixture(scope="module")
def labels():
    encoder = open_encoder()
    with Graph.open() as graph:
        linker = Linker(graph, encoder, NameIndex.open_or_build(graph, encoder))
        found = {}
        for lang in ("en", "zh"):
            texts = [row[0] for row in ROWS if row[1] == lang]
            for text, links in zip(texts, linker.link_many(texts, lang=lang), strict=True):
                found[text, lang] = {graph.concept(link.concept).label for link in links}
        yield found


@pytest.mark.parametrize(("text", "lang", "expected", "reason", "state"), ROWS, ids=[row[0] for row in ROWS])
def test_text_is_linked_as_the_table_says(labels, text, lang, expected, reason, state):
    found = labels[text, lang]
    right = not found if expected == "-" else expected in found
    assert right is (state != "wrong"), f"{reason}: linked to {found or 'nothing'}"
