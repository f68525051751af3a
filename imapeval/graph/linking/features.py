"""What is known of a candidate concept before it is ranked: similarities by n-grams, words and encoder, and more."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from imapeval.graph.index.ngrams import extract_features, unique_pairs
from imapeval.graph.linking.spelling import find_distinctive_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from imapeval.graph.index.ngram_index import NgramIndex
    from imapeval.graph.index.ngrams import FeatureSets, Occurrences
    from imapeval.graph.store.graph import NameRow

    Floats = npt.NDArray[np.float64]
    Cosines = npt.NDArray[np.float32]
    Flags = npt.NDArray[np.bool_]
    Integers = npt.NDArray[np.int64]

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
"""Evidence for a concept, in 0..1; the maximum over its names that were found unless stated otherwise.

same: a name has the text's normal form. letters: cosine of the TF-IDF vectors of groups of letters and words; of text,
of name: share of the text's (the name's) letters that the other has. words: the same for whole words, the first as a
Dice coefficient. encoder: cosine; of names that the encoder did not find, the least of those it found. first word, last
word: equal (in Chinese, the character). initials: one abbreviates the other. series: the name is what the text stands
for as a code (see `imapeval.graph.linking.series`). marks differ: numbers, single letters or opposites differ in the
nearest name (see `find_distinctive_parts`). of all names: share of the text's letters and words that occur in any of
the names found. names found: their number, n / (n + 1).
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


def compute_features(
    norms: Sequence[str], features: FeatureSets, hits: Hits, names: Sequence[NameRow], *, ngrams: NgramIndex
) -> list[CandidateSet]:
    """Return the candidates of each text with their features.

    Args:
        norms: Normal forms of the texts.
        features: Their n-grams and words.
        hits: The names found for them.
        names: The name of each hit.
        ngrams: Gives the weights of n-grams and words.
    """
    groups, words, _ = extract_features([name.norm for name in names])
    shared = _SharedFeatures(features, hits.texts, groups, words)
    meant = _group_by_concept(hits.texts, names)
    weights = ngrams.squared_idf(features.keys)
    letters = shared.compare(weights, ngrams.vector_lengths(hits.rows).astype(np.float64) ** 2, meant)
    # A word counts once a name, however often it stands there.
    keys, holders = unique_pairs(words)
    masses = np.bincount(holders, weights=ngrams.squared_idf(keys), minlength=len(names)).astype(np.float64)
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
    # The last write wins, so the nearest name is written last.
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
    # In the order of the names of a text, whatever the other texts are.
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
            weights: Weight of each feature of the texts.
            masses: Total weight of the features of each name.
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
