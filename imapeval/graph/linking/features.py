"""Features of candidate concepts for ranking: similarities by n-grams, words, encoder and others."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from imapeval.graph.index.ngrams import extract_features, unique_pairs
from imapeval.graph.linking.spelling import find_distinctive_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from imapeval.graph.arrays import Flags, Floats, Integers
    from imapeval.graph.index.ngram_index import NgramIndex
    from imapeval.graph.index.ngrams import FeatureSets, Occurrences
    from imapeval.graph.store.graph import NameRow


FEATURES = (
    "same",
    "n-grams",
    "n-grams squared",
    "n-grams of text",
    "n-grams of name",
    "words",
    "words of text",
    "words of name",
    "encoder",
    "encoder squared",
    "n-grams and encoder",
    "first word",
    "last word",
    "initials",
    "series",
    "marks differ",
    "n-grams of all names",
    "words of all names",
    "names found",
)
"""Evidence for a concept, in 0..1; the maximum over its names that were found unless stated otherwise.

same: a name has the text's normal form. n-grams: cosine of the TF-IDF vectors of n-grams and words; of text, of name:
share of the features of the text (or the name) that the other has. words: the same for words only, the first as a Dice
coefficient. encoder: cosine; for names that the encoder did not find, the lowest of those it found. first word, last
word: equal (in Chinese, the character). initials: one abbreviates the other. series: similarity to the expansion of the
text as a code (see `imapeval.graph.linking.series`). marks differ: the nearest name has other numbers, single letters
or opposites (see `find_distinctive_parts`). of all names: share of the text's features that occur in any of the names
found. names found: their number n, as n / (n + 1).
"""


class CandidateSet(NamedTuple):
    """The candidate concepts of a text.

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


class Hits(NamedTuple):
    """The names found for texts, sorted by text, then row id.

    Attributes:
        texts: Number of the text.
        rows: Row id of the name.
        encoder: Cosine of the two, in 0..1; for names that the encoder did not find, the lowest of those it found.
        abbreviated: Whether one of the two abbreviates the other.
        in_series: Similarity of the name to the expansion of the text as a code, in 0..1.
    """

    texts: Integers
    rows: Integers
    encoder: Floats
    abbreviated: Flags
    in_series: Floats


def compute_features(
    norms: Sequence[str], features: FeatureSets, hits: Hits, names: Sequence[NameRow], *, ngrams: NgramIndex
) -> list[CandidateSet]:
    """Return the candidates of each text with their features.

    Args:
        norms: Normal forms of the texts.
        features: The features of the texts.
        hits: The names found for them.
        names: The name of each hit.
        ngrams: The n-gram index, which has the weights of features.
    """
    name_ngrams, words, _ = extract_features([name.norm for name in names])
    shared = _SharedFeatures(features, hits.texts, name_ngrams, words)
    groups = _group_by_concept(hits.texts, names)
    weights = ngrams.squared_idf(features.keys)
    by_all = shared.compare(weights, ngrams.vector_lengths(hits.rows).astype(np.float64) ** 2, groups)
    # A word counts once per name, however often it occurs in it.
    keys, holders = unique_pairs(words)
    masses = np.bincount(holders, weights=ngrams.squared_idf(keys), minlength=len(names)).astype(np.float64)
    by_words = shared.compare(np.where(features.keys < 0, weights, 0.0), masses, groups)
    nearest = by_all.cosine + hits.encoder
    texts = hits.texts.tolist()
    firsts, lasts = [_first_word(norm) for norm in norms], [_last_word(norm) for norm in norms]
    of_names: dict[str, npt.ArrayLike] = {
        "same": [name.norm == norms[text] for name, text in zip(names, texts, strict=True)],
        "n-grams": by_all.cosine,
        "n-grams squared": by_all.cosine**2,
        "n-grams of text": by_all.of_text,
        "n-grams of name": by_all.of_name,
        "words": by_words.dice,
        "words of text": by_words.of_text,
        "words of name": by_words.of_name,
        "encoder": hits.encoder,
        "encoder squared": hits.encoder**2,
        "n-grams and encoder": nearest / 2,
        "first word": [_first_word(name.norm) == firsts[text] for name, text in zip(names, texts, strict=True)],
        "last word": [_last_word(name.norm) == lasts[text] for name, text in zip(names, texts, strict=True)],
        "initials": hits.abbreviated,
        "series": hits.in_series,
    }
    table = np.zeros((len(names), len(FEATURES)))
    for feature, values in of_names.items():
        table[:, FEATURES.index(feature)] = values
    table = np.maximum.reduceat(table[groups.order], groups.begins)
    # The last write wins, so the nearest name is written last.
    best = np.zeros(len(groups.begins), dtype=np.int64)
    order = np.argsort(nearest, kind="stable")
    best[groups.owners[order]] = order
    likely = [names[place] for place in best.tolist()]
    marks = [find_distinctive_parts(norm) for norm in norms]
    text_of = hits.texts[best]
    table[:, FEATURES.index("marks differ")] = [
        find_distinctive_parts(name.norm) != marks[text] for name, text in zip(likely, text_of.tolist(), strict=True)
    ]
    table[:, FEATURES.index("n-grams of all names")] = by_all.together
    table[:, FEATURES.index("words of all names")] = by_words.together
    counts = np.bincount(groups.owners)
    table[:, FEATURES.index("names found")] = counts / (counts + 1)
    bounds = np.searchsorted(text_of, np.arange(len(norms) + 1)).tolist()
    return [
        CandidateSet([name.concept for name in likely[low:high]], likely[low:high], table[low:high])
        for low, high in pairwise(bounds)
    ]


class _ConceptGroups(NamedTuple):
    """The hits of each text grouped by concept; groups are sorted by text.

    Attributes:
        owners: The group of each hit.
        order: The hits, sorted by group.
        begins: Start of each group in that order.
    """

    owners: Integers
    order: Integers
    begins: Integers


def _group_by_concept(texts: Integers, names: Sequence[NameRow]) -> _ConceptGroups:
    numbers: dict[str, int] = {}
    concepts = np.array([numbers.setdefault(name.concept, len(numbers)) for name in names])
    _, firsts, owners = np.unique(texts * len(numbers) + concepts, return_index=True, return_inverse=True)
    # In the order of the names of a text, which does not depend on the other texts.
    owners = np.argsort(np.argsort(firsts))[owners]
    order = np.argsort(owners, kind="stable")
    return _ConceptGroups(owners, order, np.flatnonzero(np.diff(owners[order], prepend=-1)))


class _SharedFeatures:
    """The features of its text (`text_of`) that each name has."""

    def __init__(self, texts: FeatureSets, text_of: Integers, *features: Occurrences) -> None:
        self._text_of = text_of
        self._owners = texts.owners
        self._places = np.arange(len(texts.keys)) - texts.bounds[self._owners]
        self._shape = (len(texts.bounds) - 1, int(self._places.max()) + 1)
        known, numbers = np.unique(texts.keys, return_inverse=True)
        table = np.full((len(texts.bounds) - 1, len(known)), -1, dtype=np.int64)
        table[self._owners, numbers] = self._places
        self._has = np.zeros((len(text_of), self._shape[1]), dtype=np.bool_)
        for part in features:
            found = np.minimum(np.searchsorted(known, part.keys), len(known) - 1)
            equal = known[found] == part.keys
            holders = part.owners[equal]
            places = table[text_of[holders], found[equal]]
            self._has[holders[places >= 0], places[places >= 0]] = True

    def compare(self, weights: Floats, masses: Floats, groups: _ConceptGroups) -> _Overlaps:
        """Compare texts with names, and with all names of a concept together.

        Args:
            weights: Weight of each feature of the texts.
            masses: Total weight of the features of each name.
            groups: The names of each concept.
        """
        spread = np.zeros(self._shape)
        spread[self._owners, self._places] = weights
        totals = np.maximum(spread.sum(axis=1), 1e-9)
        total = totals[self._text_of]
        common = np.einsum("ij,ij->i", self._has, spread[self._text_of])
        masses = np.maximum(masses, 1e-9)
        together = np.logical_or.reduceat(self._has[groups.order], groups.begins)
        texts = self._text_of[groups.order[groups.begins]]
        return _Overlaps(
            cosine=np.minimum(common / np.sqrt(masses * total), 1.0),
            dice=2 * common / (masses + total),
            of_text=common / total,
            of_name=common / masses,
            together=np.einsum("ij,ij->i", together, spread[texts]) / totals[texts],
        )


class _Overlaps(NamedTuple):
    """Overlap of a text and names, in 0..1; `together` by concept, the others by name."""

    cosine: Floats
    dice: Floats
    of_text: Floats
    of_name: Floats
    together: Floats


def _first_word(norm: str) -> str:
    return norm.partition(" ")[0] if norm.isascii() else norm[:1]


def _last_word(norm: str) -> str:
    return norm.rpartition(" ")[2] if norm.isascii() else norm[-1:]
