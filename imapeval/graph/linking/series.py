"""Finds names by position in a series: "IMD80" is to "immunodeficiency 80" what "IMD79" is to "immunodeficiency 79".

Catalogues number the diseases of a family and abbreviate the family. N-grams find other members of the series, whose
names show how the code is to be expanded.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from imapeval.graph.index.ngrams import extract_features, make_feature_sets
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from imapeval.graph.index.ngram_index import NgramIndex
    from imapeval.graph.store.graph import Graph

    Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]

_CODE = re.compile(r"([a-z]{2,})(\d[\da-z]*)")

_MAX_SIBLINGS = 8
"""Number of other members of a series that are used."""

_MAX_GUESSES = 3
"""Number of expansions of a code that are searched for, most frequent first."""

_NAMES_PER_GUESS = 10
"""Number of names found for each expansion."""


def is_series_code(norm: str) -> bool:
    """Return whether a normal form is a code: the letters of a family and the number of a member.

    >>> [is_series_code(norm) for norm in ("imd80", "type 2", "covid")]
    [True, False, False]
    """
    return _CODE.fullmatch(norm) is not None


def find_in_series(graph: Graph, ngrams: NgramIndex, norm: str, near: Sequence[int]) -> Found:
    """Return the row ids of names that a code may stand for, and their similarities to an expansion of it, in 0..1.

    Nothing is found for a normal form that is not a code. `near` are the row ids of the names nearest to it by n-grams.
    """
    code = _CODE.fullmatch(norm)
    expansions = _expand_code(graph, code[1], code[2], near) if code else []
    if not code or not expansions:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    expanded, words, _ = extract_features(expansions)
    found = ngrams.search_many(make_feature_sets(len(expansions), expanded, words), _NAMES_PER_GUESS)
    rows = np.concatenate([rows for rows, _ in found])
    cosines = np.concatenate([cosines for _, cosines in found])
    names = graph.names_at(rows.tolist())
    kept = np.array([code[2] in name.norm.split(" ") for name in names], dtype=np.bool_)
    return rows[kept], cosines[kept]


def _expand_code(graph: Graph, family: str, number: str, near: Sequence[int]) -> list[str]:
    others = [
        (name.concept, code[2])
        for name in graph.names_at(near)
        if (code := _CODE.fullmatch(name.norm)) and code[1] == family and code[2] != number
    ]
    counts: Counter[str] = Counter()
    for concept, other in others[:_MAX_SIBLINGS]:
        for name in graph.names(concept):
            words = normalise(name.text).split(" ")
            if len(words) > 1 and words.count(other) == 1:
                counts[" ".join(number if word == other else word for word in words)] += 1
    return [expansion for expansion, _ in counts.most_common(_MAX_GUESSES)]
