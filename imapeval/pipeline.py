"""Which extractor and matcher a command line means: the one place where the parts are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval._resources import cache_folder
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from imapeval.extraction.extractor import Extractor
    from imapeval.graph.store import Graph
    from imapeval.matching.order import ValueMatcher


def open_graph(path: Path | None = None) -> Graph:
    """Open a compiled graph, the shipped one by default.

    Raises:
        ResourceError: It is absent or damaged.
    """
    from imapeval.graph.store import Graph

    return Graph.open(path)


def open_extractor(
    graph: Graph, *, imaps: Path | None = None, llm: str | None = None, base_url: str | None = None
) -> Extractor:
    """Return what makes imaps: a file of them, a language model, or the offline lexicon.

    Args:
        graph: For the lexicon.
        imaps: A file of ready imaps.
        llm: A model, such as "openai:gpt-4.1-mini".
        base_url: Address of an OpenAI-compatible server.

    Raises:
        UsageError: The arguments exclude each other, or the model's name cannot mean anything.
        InputError: The file of imaps is at fault.
    """
    from imapeval.extraction.extractor import TwoStep

    if imaps is not None and llm is not None:
        raise UsageError("--imaps and --llm exclude each other: imaps are either read or made. Leave one out.")
    if base_url is not None and llm is None:
        raise UsageError("--base-url says where the model is, but no model is named. Add --llm openai:<model>.")
    if imaps is not None:
        from imapeval.extraction.recorded import Recorded

        return Recorded(imaps)
    if llm is not None:
        from imapeval.extraction.prompted import PromptedReader
        from imapeval.llm.open import open_model

        return TwoStep(PromptedReader(open_model(llm, base_url=base_url, cache=cache_folder() / "completions.sqlite")))
    from imapeval.extraction.lexicon import LexiconReader

    return TwoStep(LexiconReader(graph))


def open_matcher(
    graph: Graph, *, encoder: str = "use", progress: Callable[[int, int], None] | None = None
) -> ValueMatcher:
    """Return what judges values: by text, by the graph, and by the encoder for the soft credit.

    Args:
        graph: Decides relations.
        encoder: "use", or "st:" and a sentence-transformers model.
        progress: Called while the index of another graph or encoder is built, which happens once.

    Raises:
        UsageError: No such encoder.
        MissingExtraError: "st:" without sentence-transformers installed.
        ResourceError: The index is damaged.
    """
    from imapeval.graph.encoder import open_encoder
    from imapeval.graph.index import NameIndex
    from imapeval.matching.order import ValueMatcher

    opened = open_encoder(encoder)
    return ValueMatcher(graph=graph, encoder=opened, index=NameIndex.provide(graph, opened, progress=progress))
