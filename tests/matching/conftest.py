import json

import pytest

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.store.graph import Graph
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.matching.hybrid import HybridMatcher
from imapeval.matching.llm import LLMMatcher
from imapeval.types import Imap, Pair


@pytest.fixture(scope="package")
def inner():
    """Return the default matcher, which needs no language model."""
    encoder = open_encoder()
    with Graph.open() as graph:
        yield HybridMatcher(graph=graph, encoder=encoder, index=NameIndex.open_or_build(graph, encoder))


@pytest.fixture
def make_imap():
    """Return a function that makes an imap of reference and response values under one term."""

    def make(reference, response, term="advice", **fields):
        pairs = (tuple(Pair(term, value) for value in values) for values in (reference, response))
        return Imap((), (), *pairs, **fields)

    return make


@pytest.fixture
def write_relations():
    """Return a function that writes a completion from (number in the reference, number in the response, relation)."""

    def write(*related):
        entries = [{"reference": i, "response": j, "why": "so", "relation": word} for i, j, word in related]
        return json.dumps({"relations": entries})

    return write


@pytest.fixture
def match_with_llm(inner):
    """Return a function that matches one imap with scripted replies, and returns the outcome and the model."""

    async def match(imap, *replies, lang="en", question="What helps?"):
        model = ScriptedModel(replies)
        (outcome,) = await LLMMatcher(inner, model).match([imap], langs=[lang], questions=[question])
        return outcome, model

    return match
