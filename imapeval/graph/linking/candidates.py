"""Finds the concepts that a text may mean: by n-grams, by the encoder, by initials, and by place in a series.

N-grams find misspellings and other forms of a word, the encoder finds other words; neither distinguishes a synonym from
a sibling alone. So both propose, and `imapeval.graph.linking.ranking` weighs the evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.graph.index.ngram_index import MAX_CHARACTERS
from imapeval.graph.index.ngrams import extract_features, make_feature_sets, word_keys
from imapeval.graph.index.preprocessing import fold_case
from imapeval.graph.linking.features import FEATURES, CandidateSet, Hits, compute_features
from imapeval.graph.linking.series import find_in_series
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from imapeval.graph.encoder import Encoder
    from imapeval.graph.index.names import NameIndex
    from imapeval.graph.index.ngram_index import NgramIndex
    from imapeval.graph.index.ngrams import Occurrences
    from imapeval.graph.store.graph import Graph, NameRow
    from imapeval.types import Lang

    Floats = npt.NDArray[np.float64]
    Cosines = npt.NDArray[np.float32]
    Flags = npt.NDArray[np.bool_]
    Integers = npt.NDArray[np.int64]

_BATCH = 64
"""Texts processed at a time: about 50 MB of arrays."""

NGRAM_NEIGHBOURS = 10
"""Names by letters alone."""

NGRAM_HITS = 60
ENCODER_HITS = 30
INITIALS_HITS = 20
"""Names taken from each method; more take time and gain little (docs/graph.md)."""

_MIN_ABBREVIATION, _MAX_ABBREVIATION = 2, 6
"""Length of an abbreviation: a single letter is too ambiguous, and longer ones are rare."""


class CandidateFinder:
    """Finds the concepts that texts may mean.

    Args:
        graph: Where the concepts are.
        encoder: Encodes the texts.
        index: The index over the graph's names, made with the same encoder.
        grams: The index over their letters.
    """

    def __init__(self, graph: Graph, encoder: Encoder, index: NameIndex, ngrams: NgramIndex) -> None:
        self._graph = graph
        self._encoder = encoder
        self._index = index
        self._ngrams = ngrams

    def find_by_ngrams(self, norms: Sequence[str]) -> list[list[tuple[NameRow, float]]]:
        """Return the names nearest to each normal form by their letters alone, nearest first, and the cosines.

        There are `NGRAM_NEIGHBOURS` of each, or fewer.
        """
        groups, words, _ = extract_features([norm[:MAX_CHARACTERS] for norm in norms])
        found = self._ngrams.search_many(make_feature_sets(len(norms), groups, words), NGRAM_NEIGHBOURS)
        names: list[list[tuple[NameRow, float]]] = []
        for rows, cosines in found:
            names.append(list(zip(self._graph.names_at(rows.tolist()), cosines.tolist(), strict=True)))
        return names

    def find_many(self, texts: Sequence[str], *, lang: Lang) -> list[CandidateSet]:
        """Return the candidates of each text, in no order.

        Args:
            texts: Short phrases.
            lang: Their language.
        """
        found: list[CandidateSet] = []
        for start in range(0, len(texts), _BATCH):
            found += self._find_batch(texts[start : start + _BATCH], lang)
        return found

    def _find_batch(self, texts: Sequence[str], lang: Lang) -> list[CandidateSet]:
        norms = [normalise(text)[:MAX_CHARACTERS] for text in texts]
        norms = [norm if any(map(str.isalnum, norm)) else "" for norm in norms]
        vectors = self._index.centre(self._encoder.encode([fold_case(text) for text in texts]), lang)
        groups, words, initials = extract_features(norms)
        features = make_feature_sets(len(norms), groups, words)
        letters = [rows for rows, _ in self._ngrams.search_many(features, NGRAM_HITS)]
        near, cosines = self._index.search(vectors, ENCODER_HITS)
        # A text that the encoder maps to zero is near nothing.
        near[~vectors.any(axis=1)] = 0
        near[np.array([not norm for norm in norms])] = 0
        series = [
            find_in_series(self._graph, self._ngrams, norm, rows.tolist())
            for norm, rows in zip(norms, letters, strict=True)
        ]
        hits = self._combine_hits(letters, (near, cosines), self._find_abbreviated(texts, norms, initials), series)
        if not len(hits.rows):
            return [CandidateSet([], [], np.zeros((0, len(FEATURES)))) for _ in texts]
        rows = np.unique(hits.rows).tolist()
        known = dict(zip(rows, self._graph.names_at(rows), strict=True))
        return compute_features(norms, features, hits, [known[row] for row in hits.rows.tolist()], ngrams=self._ngrams)

    def _find_abbreviated(self, texts: Sequence[str], norms: Sequence[str], initials: Occurrences) -> list[Integers]:
        """Return the rows of names that each text abbreviates, or that abbreviate it."""
        found: list[Integers] = [np.zeros(0, dtype=np.int64) for _ in norms]
        # In its original form, too: the last letter of "PLS" is not a plural.
        short = [
            (place, word)
            for place, (text, norm) in enumerate(zip(texts, norms, strict=True))
            for word in {text.strip().lower(), norm}
            if word.isalnum() and word.isascii() and _MIN_ABBREVIATION <= len(word) <= _MAX_ABBREVIATION
        ]
        for owners, rows in (
            (
                [place for place, _ in short],
                self._ngrams.rows_with_initials(word_keys([w for _, w in short]), INITIALS_HITS),
            ),
            (initials.owners.tolist(), self._ngrams.rows_with(initials.keys, INITIALS_HITS)),
        ):
            for owner, some in zip(owners, rows, strict=True):
                found[owner] = np.append(found[owner], some.astype(np.int64))
        return found

    def _combine_hits(
        self,
        letters: Sequence[Integers],
        encoded: tuple[Integers, Cosines],
        abbreviated: Sequence[Integers],
        series: Sequence[tuple[Integers, Cosines]],
    ) -> Hits:
        """Return the names found by at least one method, by text."""
        base = len(self._ngrams) + 1

        def number(rows: Sequence[Integers] | Integers) -> Integers:
            return np.repeat(np.arange(len(rows)), [len(some) for some in rows]) * base + np.concatenate(rows)

        near, cosines = encoded
        ways = [number(rows) for rows in (letters, near, abbreviated, [rows for rows, _ in series])]
        # Sorted, so that neighbours on disk are read together and ties fall the same way every time.
        numbers = np.unique(np.concatenate(ways))
        numbers = numbers[numbers % base > 0]
        texts = numbers // base
        heard = near > 0
        least = np.where(heard, cosines, 1.0).min(axis=1, initial=1.0)
        encoder = np.where(heard.any(axis=1), least, 0.0)[texts]
        encoder[np.searchsorted(numbers, ways[1][heard.ravel()])] = cosines[heard]
        in_series = np.zeros(len(numbers))
        np.maximum.at(
            in_series, np.searchsorted(numbers, ways[3]), np.concatenate([nearness for _, nearness in series])
        )
        return Hits(texts, numbers % base, np.clip(encoder, 0.0, 1.0), np.isin(numbers, ways[2]), in_series)
