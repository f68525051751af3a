"""`imapeval study ratings`."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import RATINGS_FORMAT, StudyOptions
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import Column, echo, emit, emit_json
from imapeval.study.number_format import format_decimal

if TYPE_CHECKING:
    from imapeval.study.data.ratings.summary import RaterShare, RatingsSummary

_WIDEST_BAR = 40
"""Characters of the longest bar, which with its rating and count fits into a narrow terminal."""


@expand_options
def ratings(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A table (.xlsx, .csv, .tsv, .jsonl, .json, .parquet), an export of Label Studio or Argilla, or a "
            "study of `imapeval rate` (file or URL).",
        ),
    ],
    options: Annotated[StudyOptions, RATINGS_FORMAT],
    json_output: JsonOption = False,
) -> None:
    """Summarise a file of ratings: who rated what, how often, and on which scale. Needs no run."""
    from imapeval.report.formatting import pluralize
    from imapeval.study.agreement.constant_raters import describe_constant_raters
    from imapeval.study.data.join_report import describe_reading
    from imapeval.study.data.rated import rated_without_scores
    from imapeval.study.data.ratings.summary import summarise_ratings

    found = options.read_ratings(file)
    summaries = summarise_ratings(found)
    constant = describe_constant_raters(rated_without_scores(found))
    notes = (*describe_reading(found.left_out, found.unread, found.notes), *constant)
    if json_output:
        content = {
            "kind": found.kind,
            "answers": len(found.ids),
            "raters": list(found.raters),
            "dimensions": summaries,
            "notes": list(notes),
        }
        emit_json(content)
        return
    who = pluralize(len(found.raters), "rater") if found.raters else "raters not named"
    echo(f"{found.kind}: {pluralize(len(found.ids), 'answer')}, {who}.")
    _print_dimensions(summaries)
    if found.raters:
        _print_raters(summaries, found.raters)
    _print_bars(summaries)
    for sentence in notes:
        echo(sentence)


def _print_dimensions(summaries: "Sequence[RatingsSummary]") -> None:
    columns = [
        Column("dimension", "dimension", text=True, wrap=False),
        Column("ratings", "ratings"),
        Column("answers", "answers"),
        Column("not rated", "missing"),
        Column("low", lambda row: f"{row.low:g}"),
        Column("mean", "mean", write=partial(format_decimal, digits=2)),
        Column("high", lambda row: f"{row.high:g}"),
    ]
    emit(summaries, columns)


def _print_raters(summaries: "Sequence[RatingsSummary]", raters: Sequence[str]) -> None:
    def show(cell: "RaterShare") -> str:
        return f"{cell.ratings}, {format_decimal(cell.mean, digits=2)}"

    echo("Number and mean of each rater's ratings:")
    columns = [Column("rater", lambda rater: rater, text=True)]
    columns += [Column(row.dimension, lambda rater, row=row: row.by_rater.get(rater), show) for row in summaries]
    emit(raters, columns)


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
