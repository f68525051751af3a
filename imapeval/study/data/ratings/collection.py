"""The ratings read from a file: rater, answer, dimension and value of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm, nan
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import InputError, UsageError
from imapeval.study.data.rated import refuse_unknown_name
from imapeval.study.data.ratings.source import COLUMN_ROLES, LARGEST_RATING
from imapeval.study.data.scales import describe_scale, is_on_scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.ratings.source import RatingEntry, RatingsSource
    from imapeval.study.data.scales import RatingScale
    from imapeval.types import Sample


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings, one entry per rating (k in all), because most raters see only few of the answers.

    Attributes:
        ids: Ids of the n answers, in the order of the file; some may have no rating.
        dimensions: Names of the d rating dimensions.
        raters: Names of the r raters; empty if unknown, as when only averages are known.
        answer, dimension, rater: Answer, dimension and rater of each rating, as positions in `ids`, `dimensions` and
            `raters` (0 without raters), shape (k,).
        value: The ratings, finite, shape (k,).
        systems: System of each answer, "" if the file does not say, shape (n,); empty if it never says. Where ids
            repeat between systems, they are ID/SYSTEM.
        scales: Declared scales by dimension; every rating lies on its scale.
        left_out: Numbers of skipped ratings, by a plural phrase that describes them.
        unread: Columns that were not read.
        notes: Remarks for the report, as sentences.
        kind: Format of the file, such as "table".
    """

    ids: tuple[str, ...]
    dimensions: tuple[str, ...]
    raters: tuple[str, ...]
    answer: Counts
    dimension: Counts
    rater: Counts
    value: Floats
    systems: tuple[str, ...] = ()
    scales: Mapping[str, RatingScale] = field(default_factory=dict[str, "RatingScale"])
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kind: str = "table"

    def average(self) -> Floats:
        """Return the mean over the raters, shape (n, d); NaN without a rating."""
        shape = (len(self.ids), len(self.dimensions))
        return average_exactly(self.value, self.answer * shape[1] + self.dimension, size=shape[0] * shape[1]).reshape(
            shape
        )

    def split(self, dimension: str) -> Floats:
        """Return the ratings of each rater in one dimension, shape (n, r); NaN if missing."""
        table = np.full((len(self.ids), len(self.raters)), np.nan)
        if self.raters:
            picked = self.dimension == self.dimensions.index(dimension)
            table[self.answer[picked], self.rater[picked]] = self.value[picked]
        return table


def average_exactly(values: Floats, cells: Counts, *, size: int) -> Floats:
    """Return the mean of the values of each cell, shape (size,), computed exactly from their decimal notation.

    In floating point .1 + .2 is more than .3, so equal means would be ranked differently. Here equal means are equal
    numbers. A cell without a value has NaN.
    """
    different, place = np.unique(values, return_inverse=True)
    # The shortest decimal number that rounds to this floating-point number.
    decimals = [Fraction(repr(value)) for value in different.tolist()]
    grid = lcm(*(number.denominator for number in decimals))
    # Python integers, because the grid of a rating with 17 digits may exceed 64 bits.
    steps = np.array([int(number * grid) for number in decimals], dtype=object)
    sums = np.zeros(size, dtype=object)
    np.add.at(sums, cells, steps[place])
    counts = np.bincount(cells, minlength=size)
    # The quotient of two integers is rounded only once, so equal means give equal floats.
    means = [
        total / (grid * count) if count else nan for total, count in zip(sums.tolist(), counts.tolist(), strict=True)
    ]
    return np.array(means, dtype=np.float64)


def collect_ratings(
    entries: Iterable[RatingEntry], source: RatingsSource, *, scales: Mapping[str, RatingScale], kind: str
) -> Ratings:
    """Collect the entries of a file.

    Raises:
        InputError: There are no ratings, one is given twice, or one is not on its scale.
        UsageError: A dimension that is requested or has a scale is not in the file, or an answer is rated with and
            without its system.
    """
    answers: dict[tuple[str, str], int] = {}
    dimensions: dict[str, int] = {}
    raters: dict[str, int] = {}
    lines: dict[tuple[int, int, int], RatingEntry] = {}
    for entry in entries:
        place = (
            answers.setdefault((entry.id, entry.system), len(answers)),
            dimensions.setdefault(entry.dimension, len(dimensions)),
            raters.setdefault(entry.rater, len(raters)),
        )
        earlier = lines.get(place)
        if earlier is None or earlier.value is None:
            lines[place] = entry
        elif entry.value is not None:
            raise _refuse_twice(earlier, entry, source)
        scale = scales.get(entry.dimension)
        if (
            scale is not None
            and entry.value is not None
            and not is_on_scale(scale, entry.value, average=not entry.rater)
        ):
            raise source.error_at(
                f"the rating {entry.dimension!r} is {entry.value:g}, and its scale is {describe_scale(scale)}",
                entry.row,
                fix="Correct the rating or --scale.",
            )
    _check_names(dimensions, source, scales)
    given = [(place, entry.value) for place, entry in lines.items() if entry.value is not None]
    if not given:
        raise InputError(
            "there are no ratings",
            path=source.path,
            fix="Give the column id and one column per dimension, or the columns id, dimension and rating.",
        )
    places = np.array([place for place, _ in given], dtype=np.int64)
    order = list(dimensions) if source.wanted is None else list(dict.fromkeys(source.wanted))
    position = np.array([order.index(name) for name in dimensions], dtype=np.int64)
    repeat = len({id_ for id_, _ in answers}) < len(answers)
    systems = tuple(system for _, system in answers)
    ids = tuple(f"{id_}/{system}" if repeat and system else id_ for id_, system in answers)
    _require_different(ids)
    return Ratings(
        ids=ids,
        dimensions=tuple(order),
        raters=() if list(raters) == [""] else tuple(raters),
        answer=places[:, 0],
        dimension=position[places[:, 1]],
        rater=places[:, 2],
        value=np.array([value for _, value in given]),
        systems=systems if any(systems) else (),
        scales=dict(scales),
        left_out=dict(source.left_out),
        unread=tuple(source.unread),
        notes=tuple(source.notes),
        kind=kind,
    )


def match_ids(ratings: Ratings, systems: Mapping[str, str]) -> Ratings:
    """Return the ratings with the ids of a run, as far as they name the systems.

    An id stays as it is if the run does not know the system. A rating of a system other than that of the answer with
    its id belongs to no answer, and gets the id ID/SYSTEM.

    Args:
        ratings: The ratings.
        systems: The system of each answer of the run, by the answer's id; "" if unknown.

    Raises:
        UsageError: An answer is rated with and without its system.
    """

    def find(id_: str, system: str) -> str:
        plain = id_.removesuffix(f"/{system}")
        full = f"{plain}/{system}"
        if systems.get(plain) == system:
            return plain
        return id_ if full not in systems and systems.get(id_) == "" else full

    if not ratings.systems:
        return ratings
    named = zip(ratings.ids, ratings.systems, strict=True)
    ids = tuple(find(id_, system) if system else id_ for id_, system in named)
    _require_different(ids)
    return replace(ratings, ids=ids)


def _require_different(ids: Sequence[str]) -> None:
    """Refuse ratings of one answer under two names, of which those under one would be lost."""
    twice = next((id_ for id_, times in Counter(ids).items() if times > 1), None)
    if twice is not None:
        raise UsageError(
            f"the answer {twice[:60]!r} is rated with and without its system. Name the system in every row, or in none."
        )


def ratings_of_samples(samples: Sequence[Sample], *, scales: Mapping[str, RatingScale]) -> Ratings:
    """Collect the ratings in the samples, which are averages over unknown raters.

    Raises:
        InputError: A rating is not on its scale, or too large to compute with.
        UsageError: A scale is given for a dimension in which no sample is rated.
    """
    dimensions = {name: n for n, name in enumerate(dict.fromkeys(name for s in samples for name in s.ratings))}
    for name in scales:
        if name not in dimensions:
            known = f"They rate: {', '.join(dimensions)}" if dimensions else "They have no ratings; leave out --scale"
            raise UsageError(f"--scale names {name!r}, which the data do not rate. {known}.")
    for sample in samples:
        for name, value in sample.ratings.items():
            if abs(value) > LARGEST_RATING:
                raise InputError(
                    f"the answer {sample.id[:60]!r} has the rating {name!r} {value:g}, too large to compute with",
                    fix="Correct it.",
                )
            if name in scales and not is_on_scale(scales[name], value, average=True):
                raise InputError(
                    f"the answer {sample.id[:60]!r} has the rating {name!r} {value:g}, and its scale is "
                    f"{describe_scale(scales[name])}",
                    fix="Correct the rating or --scale.",
                )
    places = [(row, dimensions[name]) for row, sample in enumerate(samples) for name in sample.ratings]
    answer, dimension = np.array(places, dtype=np.int64).reshape(-1, 2).T
    return Ratings(
        ids=tuple(sample.id for sample in samples),
        dimensions=tuple(dimensions),
        raters=(),
        answer=answer,
        dimension=dimension,
        rater=np.zeros(len(answer), dtype=np.int64),
        value=np.array([value for sample in samples for value in sample.ratings.values()], dtype=np.float64),
        scales=dict(scales),
        kind="data",
    )


def _refuse_twice(first: RatingEntry, second: RatingEntry, source: RatingsSource) -> InputError:
    who = f"{second.rater!r} rates" if second.rater else "there is a rating of"
    fix = "Keep one of them" if second.rater else "Give one, or say in a column 'rater' who gave which"
    if not second.system:
        fix += "; if ids repeat between systems, name the column of the systems with --map system=<column>"
    answer = f"{second.id[:60]!r}{f' of {second.system[:60]!r}' if second.system else ''}"
    return source.error_at(
        f"{who} the answer {answer} in {second.dimension!r} on {first.row.unit} {first.row.line} and again on "
        f"{second.row.unit} {second.row.line}",
        second.row,
        fix=f"{fix}.",
    )


def _check_names(dimensions: Mapping[str, int], source: RatingsSource, scales: Mapping[str, RatingScale]) -> None:
    passed = {name.removeprefix("ratings.") for name in source.unread}
    missing = {
        "--scale": [name for name in scales if name not in dimensions and name not in passed],
        "--map": [
            n
            for n, column in source.columns.items()
            if n not in {*COLUMN_ROLES, *dimensions, *passed} and column not in passed
        ],
    }
    known = (*dimensions, *source.unread)
    if not known:
        return
    for name in source.wanted or ():
        if name not in dimensions:
            raise refuse_unknown_name("dimension", name, known)
    for option, names in missing.items():
        if names:
            raise UsageError(
                f"{option} names {names[0]!r}, which {source.path} does not have. It has: {', '.join(known)}."
            )
