"""`imapeval study agreement`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import (
    Dimensions,
    Labels,
    Mapping,
    Resamples,
    Scales,
    Seed,
    parse_labels,
    parse_names,
)
from imapeval.cli.options import Json, parse_columns
from imapeval.cli.output import echo, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.data.findings import Agreement, Ceiling, Differences
    from imapeval.study.data.rated import Rated
    from imapeval.study.data.ratings.collection import Ratings


def agreement(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="What each rater gave: a table (.csv, .jsonl, .json, .parquet) with a column `rater`, or an export of "
            "Label Studio or Argilla.",
        ),
    ],
    dimensions: Dimensions = None,
    scale: Scales = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="A run of these answers: answers to the same question are then drawn together.  [default: each answer "
            "by itself]",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All statistics, not only those that suit the scale.")] = False,
    mapping: Mapping = None,
    labels: Labels = None,
    seed: Seed = 0,
    resamples: Resamples = 2000,
    json_output: Json = False,
) -> None:
    """Tell how far raters agree, and how well a perfect metric could agree with them. Needs what each rater gave."""
    from imapeval.study.agreement.measure import STATISTICS, measure_agreement
    from imapeval.study.agreement.noise_ceiling import find_ceilings
    from imapeval.study.agreement.rater_differences import count_differences
    from imapeval.study.agreement.sentences import describe_agreement
    from imapeval.study.data.join_report import describe_reading
    from imapeval.study.data.ratings import parse_scales, read_ratings

    given = read_ratings(
        file,
        columns=parse_columns(mapping),
        labels=parse_labels(labels),
        scales=parse_scales(scale or ()),
        dimensions=parse_names(dimensions, "--dimensions"),
    )
    for sentence in describe_reading(given.left_out, given.unread, given.notes):
        echo(sentence, err=True)
    rated = _load_rated(given, questions)
    found = measure_agreement(rated, statistics=tuple(STATISTICS) if every else None, seed=seed, resamples=resamples)
    differences = count_differences(rated)
    ceilings = find_ceilings(rated, seed=seed, resamples=resamples)
    sentences = describe_agreement(rated, found, ceilings)
    if json_output:
        content = {
            "agreement": [asdict(row) for row in found],
            "differences": [asdict(row) for row in differences],
            "ceilings": [asdict(row) for row in ceilings],
            "sentences": sentences,
        }
        echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    for dimension in rated.dimensions:
        _print_agreement(dimension, [row for row in found if row.dimension == dimension and row.value is not None])
        _print_differences(dimension, [row for row in differences if row.dimension == dimension])
    _print_ceilings([row for row in ceilings if row.value is not None])
    echo("\n".join(sentences))
    _print_notes(found, rated, by_question=questions is not None, seed=seed, resamples=resamples)


def _load_rated(given: "Ratings", run: Path | None) -> "Rated":
    from imapeval.evaluation.runs import Run
    from imapeval.study.data.join_report import list_first
    from imapeval.study.data.ratings_only import rated_without_scores

    if run is None:
        return rated_without_scores(given)
    texts = {sample.id: sample.question for sample in Run(run).samples()}
    if strays := [id_ for id_ in given.ids if id_ not in texts]:
        echo(
            f"{len(strays)} of {len(given.ids)} rated ids are not in {run}: {list_first(strays)}. Each is taken for an "
            "answer to a question of its own.",
            err=True,
        )
    return rated_without_scores(given, questions=texts)


def _print_agreement(dimension: str, rows: "Sequence[Agreement]") -> None:
    from rich.table import Table
    from rich.text import Text

    from imapeval.study.agreement.sentences import TITLES
    from imapeval.study.number_format import format_number

    if not rows:
        return
    table = Table("statistic", title=Text(f"{dimension}: agreement among raters"), title_justify="left")
    for column in ("value", "95% interval", "n", "raters"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            Text(TITLES[row.statistic]),
            "-" if row.value is None else format_number(row.value),
            _format_interval(row.low, row.high),
            str(row.n),
            str(row.raters),
        )
    print_table(table)


def _print_differences(dimension: str, rows: "Sequence[Differences]") -> None:
    from rich.table import Table
    from rich.text import Text

    from imapeval.study.data.findings import ALL

    if not rows:
        return
    table = Table("raters", title=Text(f"{dimension}: how far two raters lie apart"), title_justify="left")
    for name in (*rows[0].bins, "mean", "n"):
        table.add_column(Text(name), justify="right")
    for row in rows:
        pair = "all pairs" if row.first == ALL else f"{row.first}, {row.second}"
        shares = [f"{share:.0%}" for share in row.bins.values()]
        table.add_row(Text(pair), *shares, f"{row.mean_absolute:.2f}", str(row.n))
    print_table(table)


def _print_ceilings(rows: "Sequence[Ceiling]") -> None:
    from rich.table import Table
    from rich.text import Text

    from imapeval.study.correlation.coefficients import find_coefficient
    from imapeval.study.number_format import format_number

    if not rows:
        return
    table = Table("dimension", "coefficient", title=Text("What a perfect metric could reach"), title_justify="left")
    for column in ("ceiling", "95% interval", "reliability", "n"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            Text(row.dimension),
            find_coefficient(row.coefficient).title,
            "-" if row.value is None else format_number(row.value),
            _format_interval(row.low, row.high),
            "-" if row.reliability is None else format_number(row.reliability),
            str(row.n),
        )
    print_table(table)


def _format_interval(low: float | None, high: float | None) -> str:
    from imapeval.study.number_format import format_number

    return "-" if low is None or high is None else f"{format_number(low)} .. {format_number(high)}"


def _print_notes(rows: "Sequence[Agreement]", rated: "Rated", *, by_question: bool, seed: int, resamples: int) -> None:
    from imapeval.study.agreement.sentences import TITLES

    if any(row.value is not None for row in rows):
        drawn = "questions, with all their answers" if by_question else "answers"
        echo(
            f"Intervals are 95% BCa bootstraps ({resamples} resamples of {drawn}, seed {seed}); the ICC's are "
            "by the F distribution where answers are independent and equally often rated."
        )
    # Two or more of a kind make one sentence.
    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.reason is not None and row.statistic in TITLES:
            reasons.setdefault(row.reason, {})[TITLES[row.statistic]] = None
    for reason, titles in reasons.items():
        echo(f"{', '.join(titles)}: {reason}.")
    unscaled = [name for name in rated.dimensions if name not in rated.scales]
    if unscaled and rated.by_rater:
        echo(
            f"No scale is declared for {', '.join(unscaled)}: with --scale {unscaled[0]}=LOW:HIGH:STEP, statistics for "
            "categories are chosen where they suit. Kappa is not for numbers without categories."
        )
