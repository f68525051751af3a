"""`imapeval study sensitivity`."""

from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import (
    RATINGS_FORMAT,
    RunFoldersArgument,
    SeedOption,
    StudyOptions,
    take_one_metric,
)
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json
from imapeval.cli.progress import show_progress
from imapeval.errors import UsageError
from imapeval.study.number_format import format_decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.robustness.rating_sensitivity import Fragility, RatingShift


@expand_options
def sensitivity(
    folders: RunFoldersArgument,
    *,
    metric: Annotated[
        str,
        typer.Option(metavar="METRIC", help="The metric that a finding is about.", callback=take_one_metric),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC", help="A metric that it was found better (or worse) than.", callback=take_one_metric
        ),
    ] = None,
    options: Annotated[StudyOptions, ("ratings", "scores", *RATINGS_FORMAT)],
    seed: SeedOption = 0,
    json_output: JsonOption = False,
) -> None:
    """Measure how far a finding depends on these ratings: with more noise, one rater fewer, or a few answers fewer."""
    from imapeval.study.robustness.rating_sensitivity import (
        find_fragility,
        require_correlations,
        shift_ratings,
    )

    if against == metric:
        raise UsageError(f"--against {against!r} is the metric itself. Name another one.")
    rated = options.read(folders, metrics=metric if against is None else f"{metric},{against}").rated
    require_correlations(rated)
    shifts: list[RatingShift] = []
    fragile: list[Fragility] = []
    steps = len(rated.dimensions) * (len(rated.metrics) + (against is not None))
    with show_progress("varying ratings", total=steps, quiet=json_output) as advance:
        # First, because an order may be undefined: the rest would have been computed in vain.
        if against is not None:
            for dimension in rated.dimensions:
                fragile.append(find_fragility(rated, metric, against, dimension))
                advance(1)
        for name in rated.metrics:
            for dimension in rated.dimensions:
                shifts += shift_ratings(rated, name, dimension, seed=seed)
                advance(1)
    if json_output:
        emit_json({"shifts": shifts, "orders": fragile})
        return
    _print(shifts)
    for row in fragile:
        echo(row.sentence)


def _print(rows: "Sequence[RatingShift]") -> None:
    by_key: dict[tuple[str, str], dict[str, RatingShift]] = {}
    for row in rows:
        by_key.setdefault((row.metric, row.dimension), {})[row.change] = row

    columns = [
        Column("metric", lambda key: key[0], text=True, wrap=False),
        Column("dimension", lambda key: key[1], text=True, wrap=False),
        Column("unchanged", lambda key: format_decimal(next(iter(by_key[key].values())).before)),
    ]
    columns += [
        Column(change, lambda key, change=change: getattr(by_key[key].get(change), "after", None), format_decimal)
        for change in dict.fromkeys(row.change for row in rows)
    ]
    emit(by_key, columns, title="Spearman's rho, mean within systems", width=UNLIMITED)
