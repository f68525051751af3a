"""Which concepts a text may mean, and what speaks for each: by letters, by the encoder, by initials.

Letters find misspellings and other forms of a word, the encoder finds other words; neither tells a synonym from a
sibling alone. So both propose, and `imapeval.graph.linking.ranking` weighs what they and the words say together.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from imapeval.graph.index.ngram_index import MAX_CHARACTERS
from imapeval.graph.index.ngrams import extract_features, make_feature_sets, unique_pairs, word_keys
from imapeval.graph.index.preprocessing import fold_case
from imapeval.graph.linking.series import find_in_series
from imapeval.graph.linking.spelling import find_distinctive_parts
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from imapeval.graph.encoder import Encoder
    from imapeval.graph.index.names import NameIndex
    from imapeval.graph.index.ngram_index import NgramIndex
    from imapeval.graph.index.ngrams import FeatureSets, Occurrences
    from imapeval.graph.store.graph import Graph, NameRow
    from imapeval.types import Lang

    Floats = npt.NDArray[np.float64]
    Cosines = npt.NDArray[np.float32]
    Flags = npt.NDArray[np.bool_]
    Integers = npt.NDArray[np.int64]

_BATCH = 64
"""Texts that are worked on at a time: some 50 MB of arrays."""

NGRAM_NEIGHBOURS = 10
"""Names by letters alone."""

NGRAM_HITS = 60
ENCODER_HITS = 30
INITIALS_HITS = 20
"""Names taken from each side; more cost time and bring little (docs/graph.md)."""

_MIN_ABBREVIATION, _MAX_ABBREVIATION = 2, 6
"""Letters of an abbreviation: one letter may be anything, and longer ones are rare."""

FEATURES = (
    "same",
    "letters",
    "letters squared",
    "letters of text",
    "letters of name",
    "words",
    "words of text",
    "words of name",
    "encoder",
    "encoder squared",
    "letters and encoder",
    "first word",
    "last word",
    "initials",
    "series",
    "marks differ",
    "letters of all names",
    "words of all names",
    "names found",
)
"""What speaks for a concept, all in 0..1, the best of its names that were found unless said otherwise.

same: a name has the text's normal form. letters: cosine of the TF-IDF vectors of groups of letters and words; of text,
of name: share of the text's (the name's) letters that the other has. words: the same for whole words, the first as a
Dice coefficient. encoder: cosine; of names that the encoder did not find, the least of those it found. first word, last
word: equal (in Chinese, the character). initials: one abbreviates the other. series: the name is a wording of the text
as a code (see `imapeval.graph.linking.series`). marks differ: numbers, single letters or opposites differ in the name that is
nearest (see `find_distinctive_parts`). of all names: share of the text's letters and words that all found names have
together. names found: their number, n / (n + 1).
"""


class CandidateSet(NamedTuple):
    """The concepts that a text may mean.

    Attributes:
        concepts: Ids.
        names: The nearest name of each.
        features: Shape (concepts, `FEATURES`).
    """

    concepts: list[str]
    names: list[NameRow]
    features: Floats

    def filter(self, kept: Sequence[bool]) -> CandidateSet:
        """Return only some of the candidates."""
        places = [place for place, keep in enumerate(kept) if keep]
        return CandidateSet([self.concepts[p] for p in places], [self.names[p] for p in places], self.features[places])


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
        # What the encoder hears nothing in is near to nothing.
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
        return self._compute_features(norms, features, hits, [known[row] for row in hits.rows.tolist()])

    def _find_abbreviated(self, texts: Sequence[str], norms: Sequence[str], initials: Occurrences) -> list[Integers]:
        """Return the rows of names that each text abbreviates, or that abbreviate it."""
        found: list[Integers] = [np.zeros(0, dtype=np.int64) for _ in norms]
        # As it stands, too: the last letter of "PLS" is no plural.
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
    ) -> _Hits:
        """Return the names that were found in one way at least, given by text."""
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
        return _Hits(texts, numbers % base, np.clip(encoder, 0.0, 1.0), np.isin(numbers, ways[2]), in_series)

    def _compute_features(
        self, norms: Sequence[str], features: FeatureSets, hits: _Hits, names: Sequence[NameRow]
    ) -> list[CandidateSet]:
        groups, words, _ = extract_features([name.norm for name in names])
        shared = _SharedFeatures(features, hits.texts, groups, words)
        meant = _group_by_concept(hits.texts, names)
        weights = self._ngrams.squared_idf(features.keys)
        letters = shared.compare(weights, self._ngrams.vector_lengths(hits.rows).astype(np.float64) ** 2, meant)
        # A word counts once a name, however often it stands there.
        keys, holders = unique_pairs(words)
        masses = np.bincount(holders, weights=self._ngrams.squared_idf(keys), minlength=len(names)).astype(np.float64)
        whole = shared.compare(np.where(features.keys < 0, weights, 0.0), masses, meant)
        nearest = letters.cosine + hits.encoder
        texts = hits.texts.tolist()
        firsts, lasts = [_first_word(norm) for norm in norms], [_last_word(norm) for norm in norms]
        of_names: dict[str, npt.ArrayLike] = {
            "same": [name.norm == norms[text] for name, text in zip(names, texts, strict=True)],
            "letters": letters.cosine,
            "letters squared": letters.cosine**2,
            "letters of text": letters.of_text,
            "letters of name": letters.of_name,
            "words": whole.dice,
            "words of text": whole.of_text,
            "words of name": whole.of_name,
            "encoder": hits.encoder,
            "encoder squared": hits.encoder**2,
            "letters and encoder": nearest / 2,
            "first word": [_first_word(name.norm) == firsts[text] for name, text in zip(names, texts, strict=True)],
            "last word": [_last_word(name.norm) == lasts[text] for name, text in zip(names, texts, strict=True)],
            "initials": hits.abbreviated,
            "series": hits.in_series,
        }
        table = np.zeros((len(names), len(FEATURES)))
        for feature, values in of_names.items():
            table[:, FEATURES.index(feature)] = values
        table = np.maximum.reduceat(table[meant.order], meant.begins)
        # The last write wins, so that the nearest name comes last.
        best = np.zeros(len(meant.begins), dtype=np.int64)
        order = np.argsort(nearest, kind="stable")
        best[meant.owners[order]] = order
        likely = [names[place] for place in best.tolist()]
        marks = [find_distinctive_parts(norm) for norm in norms]
        asked = hits.texts[best]
        table[:, FEATURES.index("marks differ")] = [
            find_distinctive_parts(name.norm) != marks[text] for name, text in zip(likely, asked.tolist(), strict=True)
        ]
        table[:, FEATURES.index("letters of all names")] = letters.together
        table[:, FEATURES.index("words of all names")] = whole.together
        counts = np.bincount(meant.owners)
        table[:, FEATURES.index("names found")] = counts / (counts + 1)
        bounds = np.searchsorted(asked, np.arange(len(norms) + 1)).tolist()
        return [
            CandidateSet([name.concept for name in likely[low:high]], likely[low:high], table[low:high])
            for low, high in pairwise(bounds)
        ]


class _Hits(NamedTuple):
    """The names that texts may mean, sorted by text, then row id.

    Attributes:
        texts: Place of the text.
        rows: Row id of the name.
        encoder: Cosine of the two, in 0..1; of names that the encoder did not find, the least of those it found.
        abbreviated: Whether one of the two abbreviates the other.
        in_series: How near the name is to what the text stands for as a code, in 0..1.
    """

    texts: Integers
    rows: Integers
    encoder: Floats
    abbreviated: Flags
    in_series: Floats


class _ConceptGroups(NamedTuple):
    """Which hits of a text are names of one concept: its group. Groups are sorted by text.

    Attributes:
        owners: The group of each hit.
        order: The hits, sorted by group.
        begins: Where each group begins in that order.
    """

    owners: Integers
    order: Integers
    begins: Integers


def _group_by_concept(texts: Integers, names: Sequence[NameRow]) -> _ConceptGroups:
    numbers: dict[str, int] = {}
    concepts = np.array([numbers.setdefault(name.concept, len(numbers)) for name in names])
    _, firsts, owners = np.unique(texts * len(numbers) + concepts, return_index=True, return_inverse=True)
    # As a text's names come, whatever the other texts are.
    owners = np.argsort(np.argsort(firsts))[owners]
    order = np.argsort(owners, kind="stable")
    return _ConceptGroups(owners, order, np.flatnonzero(np.diff(owners[order], prepend=-1)))


class _SharedFeatures:
    """Which features of its text each name has.

    Args:
        texts: The features of the texts.
        asked: The text of each name.
        letters: The features of the names.
    """

    def __init__(self, texts: FeatureSets, asked: Integers, *letters: Occurrences) -> None:
        self._asked = asked
        self._owners = texts.owners
        self._places = np.arange(len(texts.keys)) - texts.bounds[self._owners]
        self._shape = (len(texts.bounds) - 1, int(self._places.max()) + 1)
        known, numbers = np.unique(texts.keys, return_inverse=True)
        table = np.full((len(texts.bounds) - 1, len(known)), -1, dtype=np.int64)
        table[self._owners, numbers] = self._places
        self._has = np.zeros((len(asked), self._shape[1]), dtype=np.bool_)
        for part in letters:
            found = np.minimum(np.searchsorted(known, part.keys), len(known) - 1)
            equal = known[found] == part.keys
            holders = part.owners[equal]
            places = table[asked[holders], found[equal]]
            self._has[holders[places >= 0], places[places >= 0]] = True

    def compare(self, weights: Floats, masses: Floats, meant: _ConceptGroups) -> _Overlaps:
        """Compare texts with names, and with all names of a concept together.

        Args:
            weights: What each feature of the texts says.
            masses: What all features of each name say.
            meant: The names of each concept.
        """
        spread = np.zeros(self._shape)
        spread[self._owners, self._places] = weights
        totals = np.maximum(spread.sum(axis=1), 1e-9)
        total = totals[self._asked]
        common = np.einsum("ij,ij->i", self._has, spread[self._asked])
        masses = np.maximum(masses, 1e-9)
        together = np.logical_or.reduceat(self._has[meant.order], meant.begins)
        texts = self._asked[meant.order[meant.begins]]
        return _Overlaps(
            cosine=np.minimum(common / np.sqrt(masses * total), 1.0),
            dice=2 * common / (masses + total),
            of_text=common / total,
            of_name=common / masses,
            together=np.einsum("ij,ij->i", together, spread[texts]) / totals[texts],
        )


class _Overlaps(NamedTuple):
    """How much of a text names have, in 0..1; `together` by concept, the others by name."""

    cosine: Floats
    dice: Floats
    of_text: Floats
    of_name: Floats
    together: Floats


def _first_word(norm: str) -> str:
    return norm.partition(" ")[0] if norm.isascii() else norm[:1]


def _last_word(norm: str) -> str:
    return norm.rpartition(" ")[2] if norm.isascii() else norm[-1:]
