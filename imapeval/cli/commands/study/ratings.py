"""`imapeval study ratings`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import Dimensions, Labels, Mapping, Scales, parse_labels, parse_names
from imapeval.cli.options import Json, parse_columns
from imapeval.cli.output import echo, print_table

if TYPE_CHECKING:
    from imapeval.study.data.ratings.summary import RatingsSummary

_WIDEST_BAR = 40
"""Characters of the longest bar: with its rating and its number it fits into a narrow terminal."""


def ratings(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A table (.csv, .jsonl, .json, .parquet), or an export of Label Studio or Argilla.",
        ),
    ],
    dimensions: Dimensions = None,
    scale: Scales = None,
    mapping: Mapping = None,
    labels: Labels = None,
    json_output: Json = False,
) -> None:
    """Show what a file of ratings holds: who rated what, how often, and on which scale. No run is needed."""
    from imapeval.study.data.join_report import describe_reading
    from imapeval.study.data.ratings import parse_scales, read_ratings
    from imapeval.study.data.ratings.summary import summarise_ratings

    found = read_ratings(
        file,
        columns=parse_columns(mapping),
        labels=parse_labels(labels),
        scales=parse_scales(scale or ()),
        dimensions=parse_names(dimensions, "--dimensions"),
    )
    summaries = summarise_ratings(found)
    passed_over = describe_reading(found.left_out, found.unread, found.notes)
    if json_output:
        content = {
            "kind": found.kind,
            "answers": len(found.ids),
            "raters": list(found.raters),
            "dimensions": [asdict(summary) for summary in summaries],
            "notes": list(passed_over),
        }
        echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    who = "nobody says who rated"
    if found.raters:
        who = "1 rater" if len(found.raters) == 1 else f"{len(found.raters)} raters"
    echo(f"{found.kind}: {len(found.ids)} answers, {who}.")
    _print_dimensions(summaries)
    if found.raters:
        _print_raters(summaries, found.raters)
    _print_bars(summaries)
    for sentence in passed_over:
        echo(sentence)


def _print_dimensions(summaries: "Sequence[RatingsSummary]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("dimension", no_wrap=True)
    for column in ("ratings", "answers", "not rated", "low", "mean", "high"):
        table.add_column(column, justify="right")
    for row in summaries:
        numbers = (row.ratings, row.answers, row.missing)
        table.add_row(Text(row.dimension), *map(str, numbers), f"{row.low:g}", f"{row.mean:.2f}", f"{row.high:g}")
    print_table(table)


def _print_raters(summaries: "Sequence[RatingsSummary]", raters: Sequence[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    echo("Number and mean of each rater's ratings:")
    table = Table("rater")
    for row in summaries:
        table.add_column(Text(row.dimension), justify="right")
    for rater in raters:
        cells = (row.by_rater.get(rater) for row in summaries)
        table.add_row(Text(rater), *("-" if cell is None else f"{cell.ratings}, {cell.mean:.2f}" for cell in cells))
    print_table(table)


def _print_bars(summaries: "Sequence[RatingsSummary]") -> None:
    from imapeval.study.data.scales import describe_scale

    for row in summaries:
        longest = max(bar.count for bar in row.bars)
        names = [f"{bar.low:g}" if bar.low == bar.high else f"{bar.low:.4g} to {bar.high:.4g}" for bar in row.bars]
        width = max(map(len, names))
        scale = "scale not declared" if row.scale is None else describe_scale(row.scale)
        echo(f"\n{row.dimension} ({scale})")
        for name, bar in zip(names, row.bars, strict=True):
            # An empty bin has no bar; a rare rating has one.
            drawn = "█" * -(-bar.count * _WIDEST_BAR // longest)
            echo(f"  {name:>{width}}  {drawn} {bar.count}")
