"""Which concepts a text may mean, and what speaks for each: by letters, by the encoder, by initials.

Letters find misspellings and other forms of a word, the encoder finds other words; neither tells a synonym from a
sibling alone. So both propose, and `imapeval.graph.ranking` weighs what they and the words say together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from imapeval.graph.grams import LETTERS
from imapeval.graph.index import fold_case
from imapeval.graph.letters import split_letters
from imapeval.graph.nearness import find_marks
from imapeval.graph.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from imapeval.graph.encoder import Encoder
    from imapeval.graph.grams import GramIndex
    from imapeval.graph.index import NameIndex
    from imapeval.graph.letters import Letters
    from imapeval.graph.store import Graph, NameRow
    from imapeval.types import Lang

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]

BY_LETTERS = 60
BY_ENCODER = 30
BY_INITIALS = 20
"""Names taken from each side; more cost time and bring little (docs/graph.md)."""

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
    "marks differ",
    "letters of all names",
    "words of all names",
    "names found",
)
"""What speaks for a concept, all in 0..1, the best of its names that were found unless said otherwise.

same: a name has the text's normal form. letters: cosine of the TF-IDF vectors of groups of letters and words; of text,
of name: share of the text's (the name's) letters that the other has. words: the same for whole words, the first as a
Dice coefficient. encoder: cosine; of names that the encoder did not find, the least of those it found. first word, last
word: equal (in Chinese, the character). initials: one abbreviates the other. marks differ: numbers, single letters or
opposites differ in the name that is nearest (see `nearness.find_marks`). of all names: share of the text's letters and
words that all found names have together. names found: their number, n / (n + 1).
"""


class Found(NamedTuple):
    """The concepts that a text may mean.

    Attributes:
        concepts: Ids.
        names: The nearest name of each.
        features: Shape (concepts, `FEATURES`).
    """

    concepts: list[str]
    names: list[NameRow]
    features: Floats

    def keep(self, kept: Sequence[bool]) -> Found:
        """Return only some of the candidates."""
        places = [place for place, keep in enumerate(kept) if keep]
        return Found([self.concepts[p] for p in places], [self.names[p] for p in places], self.features[places])


class CandidateFinder:
    """Finds the concepts that texts may mean.

    Args:
        graph: Where the concepts are.
        encoder: Encodes the texts.
        index: The index over the graph's names, made with the same encoder.
        grams: The index over their letters.
    """

    def __init__(self, graph: Graph, encoder: Encoder, index: NameIndex, grams: GramIndex) -> None:
        self._graph = graph
        self._encoder = encoder
        self._index = index
        self._grams = grams

    def find_many(self, texts: Sequence[str], *, lang: Lang) -> list[Found]:
        """Return the candidates of each text, in no order.

        Args:
            texts: Short phrases.
            lang: Their language.
        """
        vectors = self._index.centred(self._encoder.encode([fold_case(text) for text in texts]), lang)
        near, cosines = self._index.search(vectors, BY_ENCODER)
        return [self._find(normalise(text)[:LETTERS], *pair) for text, *pair in zip(texts, near, cosines, strict=True)]

    def _find(self, norm: str, near: Integers, cosines: npt.NDArray[np.float32]) -> Found:
        if not any(map(str.isalnum, norm)):
            return Found([], [], np.zeros((0, len(FEATURES))))
        said = near > 0
        encoded = dict(zip(near[said].tolist(), cosines[said].tolist(), strict=True))
        text = split_letters([norm])
        given = np.unique(np.concatenate([text[0].keys, text[1].keys]))
        rows = self._grams.find(given, BY_LETTERS)[0].tolist()
        abbreviated = self._abbreviated(norm, text)
        # Sorted, so that neighbours on disk are read together and ties fall the same way every time.
        rows = sorted({*rows, *encoded, *abbreviated})
        if not rows:
            return Found([], [], np.zeros((0, len(FEATURES))))
        names = self._graph.names_at(rows)
        least = min(encoded.values(), default=0.0)
        similarity = np.clip([encoded.get(row, least) for row in rows], 0.0, 1.0)
        concepts = list(dict.fromkeys(name.concept for name in names))
        place = {concept: number for number, concept in enumerate(concepts)}
        owners = np.array([place[name.concept] for name in names])
        initials = np.array([row in abbreviated for row in rows])
        return self._weigh(norm, given, rows, concepts, names, owners, similarity, initials)

    def _abbreviated(self, norm: str, text: tuple[Letters, Letters, Letters]) -> set[int]:
        """Return the rows of names that the text abbreviates, or that abbreviate it."""
        _, words, initials = text
        rows: set[int] = set()
        if len(words.keys) == 1 and " " not in norm and 2 <= len(norm) <= 6:
            rows.update(self._grams.rows_abbreviated(int(words.keys[0]), BY_INITIALS))
        if len(initials.keys):
            rows.update(self._grams.rows_with(int(initials.keys[0]), BY_INITIALS))
        return rows

    def _weigh(
        self,
        norm: str,
        given: Integers,
        rows: list[int],
        concepts: list[str],
        names: list[NameRow],
        owners: Integers,
        encoder: Floats,
        initials: npt.NDArray[np.bool_],
    ) -> Found:
        norms = [name.norm for name in names]
        groups, words, _ = split_letters(norms)
        keys = np.concatenate([groups.keys, words.keys])
        holders = np.concatenate([groups.owners, words.owners])
        letters = self._compare(
            given, keys, holders, self._grams.measure(rows).astype(np.float64) ** 2, owners, len(concepts)
        )
        # A word counts once a name, however often it stands there.
        said, keys = np.unique(np.column_stack([words.owners, words.keys]), axis=0).T
        masses = np.bincount(said, weights=self._grams.weigh(keys), minlength=len(names)).astype(np.float64)
        whole = self._compare(given[given < 0], keys, said, masses, owners, len(concepts))
        ends = [(_first(name) == _first(norm), _last(name) == _last(norm)) for name in norms]
        marks = find_marks(norm)
        nearest = letters.cosine + encoder
        of_names = {
            "same": np.array([name == norm for name in norms], dtype=float),
            "letters": letters.cosine,
            "letters squared": letters.cosine**2,
            "letters of text": letters.of_text,
            "letters of name": letters.of_name,
            "words": whole.dice,
            "words of text": whole.of_text,
            "words of name": whole.of_name,
            "encoder": encoder,
            "encoder squared": encoder**2,
            "letters and encoder": nearest / 2,
            "first word": np.array([first for first, _ in ends], dtype=float),
            "last word": np.array([last for _, last in ends], dtype=float),
            "initials": initials.astype(float),
        }
        features = np.zeros((len(concepts), len(FEATURES)))
        for column, feature in enumerate(FEATURES):
            if feature in of_names:
                np.maximum.at(features[:, column], owners, of_names[feature])
        # The last write wins, so that the nearest name comes last.
        best = np.zeros(len(concepts), dtype=np.int64)
        order = np.argsort(nearest, kind="stable")
        best[owners[order]] = order
        features[:, FEATURES.index("marks differ")] = [find_marks(norms[row]) != marks for row in best.tolist()]
        features[:, FEATURES.index("letters of all names")] = letters.together
        features[:, FEATURES.index("words of all names")] = whole.together
        counts = np.bincount(owners, minlength=len(concepts))
        features[:, FEATURES.index("names found")] = counts / (counts + 1)
        return Found(concepts, [names[row] for row in best.tolist()], features)

    def _compare(
        self, given: Integers, keys: Integers, holders: Integers, masses: Floats, owners: Integers, concepts: int
    ) -> _Shares:
        """Compare the features of a text with those of names.

        Args:
            given: The text's features, each once, sorted.
            keys: The names' features.
            holders: Which name has the feature.
            masses: The squared length of each name's vector.
            owners: The concept of each name.
            concepts: How many concepts there are.
        """
        weights = self._grams.weigh(given)
        places = np.minimum(np.searchsorted(given, keys), max(len(given) - 1, 0))
        shared = given[places] == keys if len(given) else np.zeros(len(keys), dtype=np.bool_)
        places, holders = places[shared], holders[shared]
        of_names, of_concepts = (np.zeros((count, len(given))) for count in (len(owners), concepts))
        of_names[holders, places] = 1.0
        of_concepts[owners[holders], places] = 1.0
        common = of_names @ weights
        total = max(float(weights.sum()), 1e-9)
        masses = np.maximum(masses, 1e-9)
        return _Shares(
            cosine=np.minimum(common / np.sqrt(masses * total), 1.0),
            dice=2 * common / (masses + total),
            of_text=common / total,
            of_name=common / masses,
            together=of_concepts @ weights / total,
        )


class _Shares(NamedTuple):
    """How much of a text names have, in 0..1; `together` by concept, the others by name."""

    cosine: Floats
    dice: Floats
    of_text: Floats
    of_name: Floats
    together: Floats


def _first(norm: str) -> str:
    return norm.partition(" ")[0] if norm.isascii() else norm[:1]


def _last(norm: str) -> str:
    return norm.rpartition(" ")[2] if norm.isascii() else norm[-1:]
