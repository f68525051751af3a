"""Which FAISS index fits a number of names and a number of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, sqrt

from imapeval.errors import UsageError

EXACT = "Flat"
"""The recipe that keeps every vector as it is and searches all."""

_MIN_NAMES_FOR_CELLS = 20_000
"""Names from which vectors are sorted into cells; fewer are kept exactly. They take 40 MB and 5 ms a query."""

_MIN_BYTE_DIMENSION = 256
"""Dimensions from which a byte for each is enough; with fewer, neighbours lie too close together for it."""

# (dimensions kept, bytes a vector), best first; see docs/graph.md for what each finds of the shipped graph's names.
_COMPRESSED = ((256, 64), (192, 48), (128, 32))
_COMPRESSED_CELLS = 256

_OVERHEAD = 1 << 16
"""Bytes for all that a file holds besides vectors, matrices and cells."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """An index to be made.

    Attributes:
        factory: In the words of FAISS's `index_factory`.
        cells: Into how many cells the vectors are sorted; 0 for none.
        turned: Whether the vectors are first turned and shortened by PCA.
        size: Bytes of the file, at most and to some hundredths.
    """

    factory: str
    cells: int
    uses_pca: bool
    size: int


def choose_recipe(names: int, dimension: int, *, max_bytes: int | None) -> Recipe:
    """Return the recipe that finds the most within a size.

    Args:
        names: Number of names.
        dimension: Length of a vector.
        max_bytes: Most bytes of the file; None for no limit.

    Raises:
        UsageError: No recipe gives so small a file.
    """
    recipes = [_make_exact(names, dimension)] if names < _MIN_NAMES_FOR_CELLS else []
    if names >= _MIN_NAMES_FOR_CELLS:
        recipes.append(_make_cells(names, dimension))
        recipes += [_make_compressed(names, dimension, *how) for how in _COMPRESSED if how[0] < dimension]
    for recipe in recipes:
        if max_bytes is None or recipe.size <= max_bytes:
            return recipe
    raise UsageError(
        f"no index of {names} names of {dimension} dimensions fits into {max_bytes} bytes; "
        f"the smallest takes {recipes[-1].size}. Allow so many."
    )


def _make_exact(names: int, dimension: int) -> Recipe:
    return Recipe(EXACT, 0, uses_pca=False, size=names * dimension * 4 + _OVERHEAD)


def _make_cells(names: int, dimension: int) -> Recipe:
    # 2 sqrt(n), where FAISS's guidelines say 4 to 16 sqrt(n): training and filling take time by the cell.
    cells = 2 ** round(log2(2 * sqrt(names)))
    code, width = ("SQfp16", 2) if dimension < _MIN_BYTE_DIMENSION else ("SQ8", 1)
    # 8 bytes for the number of the name.
    size = names * (dimension * width + 8) + cells * dimension * 4 + _OVERHEAD
    return Recipe(f"IVF{cells},{code}", cells, uses_pca=False, size=size)


def _make_compressed(names: int, dimension: int, kept: int, code: int) -> Recipe:
    # 4 bits for every two dimensions that are left; "fs" for FAISS's fast scan, which fills cells up to 32 names.
    return Recipe(
        f"PCAR{kept},IVF{_COMPRESSED_CELLS},PQ{code * 2}x4fs",
        _COMPRESSED_CELLS,
        uses_pca=True,
        size=(names + 31 * _COMPRESSED_CELLS) * (code + 8) + (dimension + _COMPRESSED_CELLS) * kept * 4 + _OVERHEAD,
    )
