"""Search features of normal forms: character n-grams, words and initials, computed for whole arrays of names.

Every feature is a 64-bit key. An English word has its trigrams, with a space at either end, and itself as features;
Chinese, which is written without spaces, its characters and pairs of characters; a name of several words also its
initials, by which abbreviations are found.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from imapeval.graph.arrays import Flags, Integers


_SPACE, _END = ord(" "), ord("\n")

_CODE_BITS = 21
"""Bits of a Unicode code point: three code points leave the highest bit of a key, which marks hashes."""

_HASHED = np.uint64(1 << 63)

# Words are hashed as polynomials modulo 2**64. The base is odd, so that its powers have inverses: the golden ratio's
# first 64 bits, as in Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)

_INITIALS_FACTOR = np.uint64(0x2545F4914F6CDD1D)
"""Distinguishes the initials "copd" from the word "copd"; odd (the multiplier of xorshift*, Vigna 2016)."""

_STOP_WORDS = ("a", "an", "and", "by", "due", "for", "from", "in", "of", "on", "or", "the", "to", "with")
"""Words that abbreviations usually omit."""


class Occurrences(NamedTuple):
    """Occurrences of features in many texts, in any order.

    Attributes:
        owners: Number of the text.
        keys: The feature.
    """

    owners: Integers
    keys: Integers


class FeatureSets(NamedTuple):
    """The distinct features of many texts.

    Attributes:
        bounds: Start of the features of each text, and the end of the last one.
        keys: The features, sorted within each text.
    """

    bounds: Integers
    keys: Integers

    @property
    def owners(self) -> Integers:
        """Number of the text of each feature."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))


def extract_features(norms: Sequence[str]) -> tuple[Occurrences, Occurrences, Occurrences]:
    """Return the n-grams, the words and the initials of normal forms (see `imapeval.text.normalise`).

    Returns:
        N-grams: trigrams of every word with a space at either end, Chinese characters, and pairs of characters of which
        one is Chinese. Words: those without Chinese characters. Initials: for a text with at least two such words,
        stop words ("of") excepted, the key of its abbreviation as a word.
    """
    codes = _to_code_points(norms)
    ends = codes == _END
    owners = np.cumsum(ends) - ends
    chinese = ((codes >= 0x3400) & (codes <= 0x9FFF)) | (codes >= 0x20000)
    words = _find_words(codes, owners, chinese | ends | (codes == _SPACE))
    return _find_ngrams(codes, owners, chinese), words[0], _find_initials(*words)


def initials_keys(words: Integers) -> Integers:
    """Return the keys of initials in an index, given the keys of the abbreviations as words."""
    return ((words.view(np.uint64) * _INITIALS_FACTOR) | _HASHED).view(np.int64)


def make_feature_sets(texts: int, *features: Occurrences) -> FeatureSets:
    """Return the distinct features of a number of texts."""
    keys, owners = unique_pairs(*features)
    order = np.argsort(owners, kind="stable")
    return FeatureSets(np.searchsorted(owners[order], np.arange(texts + 1)), keys[order])


def unique_pairs(*features: Occurrences) -> tuple[Integers, Integers]:
    """Return the keys and the owners of the distinct pairs of both, sorted by key, then owner."""
    keys = np.concatenate([part.keys for part in features])
    owners = np.concatenate([part.owners for part in features])
    order = np.lexsort((owners, keys))
    keys, owners = keys[order], owners[order]
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
    return keys[new], owners[new]


def _to_code_points(norms: Sequence[str]) -> Integers:
    text = "".join([f" {norm} \n" for norm in norms])
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)


def _find_ngrams(codes: Integers, owners: Integers, chinese: Flags) -> Occurrences:
    bounds = (codes == _SPACE) | (codes == _END)
    before, here, after = codes[:-2], codes[1:-1], codes[2:]
    latin = ~bounds[1:-1] & ~(chinese[:-2] | chinese[1:-1] | chinese[2:])
    trigrams = (before << 2 * _CODE_BITS | here << _CODE_BITS | after)[latin]
    paired = (chinese[:-1] | chinese[1:]) & (codes[:-1] != _END)
    pairs = (codes[:-1] << 2 * _CODE_BITS | codes[1:] << _CODE_BITS)[paired]
    singles = codes[chinese] << _CODE_BITS
    return Occurrences(
        np.concatenate([owners[1:-1][latin], owners[:-1][paired], owners[chinese]]),
        np.concatenate([trigrams, pairs, singles]),
    )


def _find_words(codes: Integers, owners: Integers, bounds: Flags) -> tuple[Occurrences, Integers]:
    """Return the words and the code points of their first letters."""
    # Texts begin and end with bounds.
    starts = np.flatnonzero(bounds[:-1] & ~bounds[1:]) + 1
    ends = np.flatnonzero(~bounds[:-1] & bounds[1:]) + 1
    sums = np.concatenate([[np.uint64(0)], np.cumsum(codes.view(np.uint64) * _powers(_BASE, len(codes)))])
    values = (sums[ends] - sums[starts]) * _powers(_INVERSE, len(codes))[starts]
    return Occurrences(owners[starts], (values | _HASHED).view(np.int64)), codes[starts]


def _find_initials(words: Occurrences, first: Integers) -> Occurrences:
    stop_words = _stop_word_keys()
    kept = stop_words[np.minimum(np.searchsorted(stop_words, words.keys), len(stop_words) - 1)] != words.keys
    owners, letters = words.owners[kept], first[kept].view(np.uint64)
    begins = np.flatnonzero(np.diff(owners, prepend=-1))
    counts = np.diff(begins, append=len(owners))
    if not len(begins):
        return Occurrences(owners, owners)
    offsets = np.arange(len(owners)) - np.repeat(begins, counts)
    values = np.add.reduceat(letters * _powers(_BASE, int(counts.max()))[offsets], begins)
    keys = (values | _HASHED).view(np.int64)
    return Occurrences(owners[begins][counts > 1], keys[counts > 1])


@cache
def _stop_word_keys() -> Integers:
    return np.sort(word_keys(_STOP_WORDS))


def word_keys(norms: Sequence[str]) -> Integers:
    """Return the keys of normal forms that are one word each.

    >>> bool(word_keys(["copd"]) == extract_features(["chronic obstructive pulmonary disease"])[2].keys)
    True
    """
    codes = _to_code_points(norms)
    return _find_words(codes, codes, (codes == _SPACE) | (codes == _END))[0].keys


def _powers(base: int, count: int) -> npt.NDArray[np.uint64]:
    """Return the first powers of a number, from the 0th, modulo 2**64."""
    powers = np.full(count, base, dtype=np.uint64)
    powers[:1] = 1
    return np.cumprod(powers, dtype=np.uint64)
