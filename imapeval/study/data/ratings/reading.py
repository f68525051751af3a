"""Formats of ratings files, and how the format of a file is recognised."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.errors import InputError
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import error_at
from imapeval.study.data.ratings.argilla import read_argilla, recognise_argilla
from imapeval.study.data.ratings.collection import collect_ratings
from imapeval.study.data.ratings.database import is_database, read_database
from imapeval.study.data.ratings.label_studio import read_label_studio, recognise_label_studio
from imapeval.study.data.ratings.source import RatingsSource
from imapeval.study.data.ratings.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.data.ratings.collection import Ratings
    from imapeval.study.data.scales import RatingScale


READERS = {
    "Label Studio": (recognise_label_studio, read_label_studio),
    "Argilla": (recognise_argilla, read_argilla),
    # Any record that is not empty may be a row of a table.
    "table": (bool, read_table),
}
"""Every format by its name: whether a record is of this format, and what yields the ratings of a file.

The first that recognises a file's first record reads it.
"""


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
        columns: For files with other names: our name (id, system, rater, dimension, rating, or a dimension) -> the
            file's.
        labels: For ratings that are words: word -> number.
        scales: Rating scales by dimension; a rating off its scale is an error.
        dimensions: Dimensions to read, in the order of the result; None reads all.

    Raises:
        UsageError: There is no such dimension, or an answer is rated with and without its system.
        InputError: The content is invalid; the message names file, line (or record) and the fix.
        MissingExtraError: A package that is needed is not installed.
    """
    path = Path(place)
    all_scales = dict(scales or {})
    if is_database(str(place)):
        rows, declared = read_database(str(place))
        all_scales = {**declared, **all_scales}
        kind, read = "study", read_table
    else:
        rows = tuple(read_file(str(path)))
        if not rows:
            raise InputError("there are no rows", path=path, fix="Give a file with at least one rated answer.")
        kind = next((name for name, (recognise, _) in READERS.items() if recognise(rows[0].fields)), None)
        if kind is None:
            raise error_at(rows[0], path, "it is empty", fix="Give an id and ratings.")
        _, read = READERS[kind]
    source = RatingsSource(path, rows, columns or {}, labels or {}, dimensions)
    return collect_ratings(read(source), source, scales=all_scales, kind=kind)
