"""Finds the concepts that a text may mean: by n-grams, by the encoder, by initials, and by position in a series.

N-grams find misspellings and inflections, the encoder finds other words; neither alone distinguishes a synonym from a
sibling. `imapeval.graph.linking.ranking` combines the evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.graph.index.ngram_index import MAX_CHARACTERS
from imapeval.graph.index.ngrams import extract_features, initials_keys, make_feature_sets, word_keys
from imapeval.graph.index.preprocessing import fold_case
from imapeval.graph.linking.features import FEATURES, CandidateSet, Hits, compute_features
from imapeval.graph.linking.series import find_in_series
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.graph.arrays import Floats32, Integers
    from imapeval.graph.encoder import Encoder
    from imapeval.graph.index.names import NameIndex
    from imapeval.graph.index.ngram_index import NgramIndex
    from imapeval.graph.index.ngrams import Occurrences
    from imapeval.graph.store.graph import Graph, NameRow
    from imapeval.types import Lang


_BATCH = 64
"""Texts processed at a time: about 50 MB of arrays."""

NGRAM_NEIGHBOURS = 10
"""Number of names found by n-grams alone."""

NGRAM_HITS = 60
ENCODER_HITS = 30
INITIALS_HITS = 20
"""Number of names taken from each method; twice as many did not help (docs/graph-linking.md)."""

_MIN_ABBREVIATION, _MAX_ABBREVIATION = 2, 6
"""Length of an abbreviation: a single letter is too ambiguous, and longer ones are rare."""


class CandidateFinder:
    """Finds the concepts that texts may mean; both indexes are over the graph's names, `index` by the same encoder."""

    def __init__(self, graph: Graph, encoder: Encoder, index: NameIndex, ngrams: NgramIndex) -> None:
        self._graph = graph
        self._encoder = encoder
        self._index = index
        self._ngrams = ngrams

    def find_by_ngrams(self, norms: Sequence[str]) -> list[list[tuple[NameRow, float]]]:
        """Return the `NGRAM_NEIGHBOURS` names nearest to each normal form by n-grams, with their cosines."""
        ngrams, words, _ = extract_features([norm[:MAX_CHARACTERS] for norm in norms])
        found = self._ngrams.search_many(make_feature_sets(len(norms), ngrams, words), NGRAM_NEIGHBOURS)
        return [
            list(zip(self._graph.names_at(rows.tolist()), cosines.tolist(), strict=True)) for rows, cosines in found
        ]

    def find_many(self, texts: Sequence[str], *, lang: Lang) -> list[CandidateSet]:
        """Return the candidates of each text, a short phrase, unordered."""
        found: list[CandidateSet] = []
        for start in range(0, len(texts), _BATCH):
            found += self._find_batch(texts[start : start + _BATCH], lang)
        return found

    def _find_batch(self, texts: Sequence[str], lang: Lang) -> list[CandidateSet]:
        norms = [normalise(text)[:MAX_CHARACTERS] for text in texts]
        norms = [norm if any(map(str.isalnum, norm)) else "" for norm in norms]
        vectors = self._index.centre(self._encoder.encode([fold_case(text) for text in texts]), lang)
        ngrams, words, initials = extract_features(norms)
        features = make_feature_sets(len(norms), ngrams, words)
        by_ngrams = [rows for rows, _ in self._ngrams.search_many(features, NGRAM_HITS)]
        by_encoder, cosines = self._index.search(vectors, ENCODER_HITS)
        # A text with a zero vector has no neighbours.
        by_encoder[~vectors.any(axis=1)] = 0
        by_encoder[np.array([not norm for norm in norms])] = 0
        series = [
            find_in_series(self._graph, self._ngrams, norm, rows.tolist())
            for norm, rows in zip(norms, by_ngrams, strict=True)
        ]
        hits = self._combine_hits(
            by_ngrams, (by_encoder, cosines), self._find_abbreviated(texts, norms, initials), series
        )
        if not len(hits.rows):
            return [CandidateSet([], [], np.zeros((0, len(FEATURES)))) for _ in texts]
        rows = np.unique(hits.rows).tolist()
        known = dict(zip(rows, self._graph.names_at(rows), strict=True))
        return compute_features(norms, features, hits, [known[row] for row in hits.rows.tolist()], ngrams=self._ngrams)

    def _find_abbreviated(self, texts: Sequence[str], norms: Sequence[str], initials: Occurrences) -> list[Integers]:
        """Return the row ids of names that each text abbreviates, or that abbreviate it."""
        found: list[Integers] = [np.zeros(0, dtype=np.int64) for _ in norms]
        # The original form as well: the last letter of "PLS" is not a plural.
        short = [
            (place, word)
            for place, (text, norm) in enumerate(zip(texts, norms, strict=True))
            for word in {text.strip().lower(), norm}
            if word.isalnum() and word.isascii() and _MIN_ABBREVIATION <= len(word) <= _MAX_ABBREVIATION
        ]
        for owners, rows in (
            (
                [place for place, _ in short],
                self._ngrams.rows_with(initials_keys(word_keys([w for _, w in short])), INITIALS_HITS),
            ),
            (initials.owners.tolist(), self._ngrams.rows_with(initials.keys, INITIALS_HITS)),
        ):
            for owner, some in zip(owners, rows, strict=True):
                found[owner] = np.append(found[owner], some.astype(np.int64))
        return found

    def _combine_hits(
        self,
        by_ngrams: Sequence[Integers],
        by_encoder: tuple[Integers, Floats32],
        abbreviated: Sequence[Integers],
        series: Sequence[tuple[Integers, Floats32]],
    ) -> Hits:
        """Return the names found by at least one method, by text."""
        base = len(self._ngrams) + 1

        def number(rows: Sequence[Integers] | Integers) -> Integers:
            return np.repeat(np.arange(len(rows)), [len(some) for some in rows]) * base + np.concatenate(rows)

        near, cosines = by_encoder
        found = [number(rows) for rows in (by_ngrams, near, abbreviated, [rows for rows, _ in series])]
        # Sorted, so that neighbours on disk are read together and ties are broken in the same way each time.
        numbers = np.unique(np.concatenate(found))
        numbers = numbers[numbers % base > 0]
        texts = numbers // base
        is_near = near > 0
        lowest = np.where(is_near, cosines, 1.0).min(axis=1, initial=1.0)
        encoder = np.where(is_near.any(axis=1), lowest, 0.0)[texts]
        encoder[np.searchsorted(numbers, found[1][is_near.ravel()])] = cosines[is_near]
        in_series = np.zeros(len(numbers))
        np.maximum.at(
            in_series, np.searchsorted(numbers, found[3]), np.concatenate([similarity for _, similarity in series])
        )
        return Hits(texts, numbers % base, np.clip(encoder, 0.0, 1.0), np.isin(numbers, found[2]), in_series)
