import pytest

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index import NameIndex
from imapeval.graph.store import Graph
from imapeval.matching.order import ValueMatcher


@pytest.fixture(scope="package")
def inner():
    """Return the matcher that ships."""
    encoder = open_encoder()
    with Graph.open() as graph:
        yield ValueMatcher(graph=graph, encoder=encoder, index=NameIndex.provide(graph, encoder))
