"""Formats of ratings files, and how the format of a file is recognised."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from imapeval.errors import InputError
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.study.data.ratings.argilla import read_argilla, recognise_argilla
from imapeval.study.data.ratings.collection import collect_ratings
from imapeval.study.data.ratings.database import is_database, read_database
from imapeval.study.data.ratings.label_studio import read_label_studio, recognise_label_studio
from imapeval.study.data.ratings.source import RatingsSource
from imapeval.study.data.ratings.tables import read_table, recognise_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from imapeval.study.data.ratings.collection import Ratings
    from imapeval.study.data.ratings.source import RatingEntry
    from imapeval.study.data.scales import RatingScale


class RatingsReader(NamedTuple):
    """Functions that read one format.

    Attributes:
        recognise: Returns whether a record is of this format.
        read: Yields the ratings of a file.
    """

    recognise: Callable[[Mapping[str, Any]], bool]
    read: Callable[[RatingsSource], Iterable[RatingEntry]]


READERS: Mapping[str, RatingsReader] = {
    "Label Studio": RatingsReader(recognise_label_studio, read_label_studio),
    "Argilla": RatingsReader(recognise_argilla, read_argilla),
    "table": RatingsReader(recognise_table, read_table),
}
"""Every format by its name; the first that recognises a file's first record reads it."""


def read_ratings(
    place: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, float] | None = None,
    scales: Mapping[str, RatingScale] | None = None,
    dimensions: Sequence[str] | None = None,
) -> Ratings:
    """Read ratings: a table (CSV, Excel, JSON and so on), an export of Label Studio or Argilla, or a study.

    The modules `tables`, `label_studio`, `argilla` and `database` describe the formats. Empty cells,
    null and "NA" are "not rated".

    Args:
        place: The file, or the URL of a study's database.
        columns: For files with other names: our name (id, rater, dimension, rating, or a dimension) -> the file's.
        labels: For ratings that are words: word -> number.
        scales: Rating scales by dimension; a rating off its scale is an error.
        dimensions: Dimensions to read, in the order of the result; None reads all.

    Raises:
        UsageError: There is no such dimension.
        InputError: The content is invalid; the message names file, line (or record) and the fix.
        MissingExtraError: A package that is needed is not installed.
    """
    path = Path(place)
    if is_database(str(place)):
        rows, declared = read_database(str(place))
        source = RatingsSource(path, rows, columns or {}, labels or {}, _as_tuple(dimensions))
        return collect_ratings(read_table(source), source, scales={**declared, **(scales or {})}, kind="study")
    rows = tuple(read_file(str(path)))
    if not rows:
        raise InputError("there are no rows", path=path, fix="Give a file with at least one rated answer.")
    source = RatingsSource(path, rows, columns or {}, labels or {}, _as_tuple(dimensions))
    kind = next((name for name, reader in READERS.items() if reader.recognise(rows[0].fields)), None)
    if kind is None:
        raise source.error_at("it is empty", rows[0], fix="Give an id and ratings.")
    return collect_ratings(READERS[kind].read(source), source, scales=scales or {}, kind=kind)


def _as_tuple(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
