import pytest

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.store.graph import Graph
from imapeval.matching.hybrid import HybridMatcher


@pytest.fixture(scope="package")
def inner():
    """Return the matcher that ships."""
    encoder = open_encoder()
    with Graph.open() as graph:
        yield HybridMatcher(graph=graph, encoder=encoder, index=NameIndex.open_or_build(graph, encoder))
