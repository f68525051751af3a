"""`imapeval study agreement`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.agreement.limits import print_limits
from imapeval.cli.commands.study.inputs import RATINGS_FORMAT, StudyOptions
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import Column, echo, emit, emit_json, interval_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.agreement.measure import Agreement
    from imapeval.study.agreement.noise_ceiling import Ceiling
    from imapeval.study.agreement.rater_differences import Differences
    from imapeval.study.data.rated import Rated
    from imapeval.study.data.ratings.collection import Ratings


@expand_options
def agreement(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Ratings of individual raters: a table (.xlsx, .csv, .tsv, .jsonl, .json, .parquet) with a column "
            "`rater`, an export of Label Studio or Argilla, or a study of `imapeval rate` (file or URL).",
        ),
    ],
    options: Annotated[StudyOptions, RATINGS_FORMAT],
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="A run on these answers: for intervals, answers to the same question are left out together.  "
            "[default: answers are left out one by one]",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Print all statistics, not only those that suit the scale.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Measure how far raters agree, and what a perfect metric could reach. Needs the ratings of individual raters."""
    from imapeval.study.agreement.limits_of_agreement import find_limits
    from imapeval.study.agreement.measure import STATISTICS, measure_agreement
    from imapeval.study.agreement.noise_ceiling import find_ceilings
    from imapeval.study.agreement.rater_differences import count_differences
    from imapeval.study.agreement.sentences import describe_agreement

    given = options.read_ratings(file, report=True)
    rated = _load_rated(given, questions)
    found = measure_agreement(rated, statistics=tuple(STATISTICS) if every else None)
    differences = count_differences(rated)
    limits = find_limits(rated)
    ceilings = find_ceilings(rated)
    sentences = describe_agreement(rated, found, ceilings)
    if json_output:
        emit_json(
            {
                "agreement": found,
                "differences": differences,
                "limits": limits,
                "ceilings": ceilings,
                "sentences": sentences,
            }
        )
        return
    for dimension in rated.dimensions:
        _print_agreement(dimension, [row for row in found if row.dimension == dimension and row.value is not None])
        _print_differences(dimension, [row for row in differences if row.dimension == dimension])
        print_limits([row for row in limits if row.dimension == dimension])
    _print_ceilings([row for row in ceilings if row.value is not None])
    echo("\n".join(sentences))
    _print_notes(found, ceilings, rated)


def _load_rated(given: "Ratings", run: Path | None) -> "Rated":
    from imapeval.evaluation.ids import list_first
    from imapeval.evaluation.runs import Run
    from imapeval.study.data.join_report import describe_numbered_ids
    from imapeval.study.data.rated import rated_without_scores
    from imapeval.study.data.ratings import match_ids

    if run is None:
        return rated_without_scores(given)
    opened = Run(run)
    for sentence in describe_numbered_ids([opened]):
        echo(sentence, err=True)
    samples = opened.samples()
    given = match_ids(given, {sample.id: sample.system for sample in samples})
    texts = {sample.id: sample.question for sample in samples}
    if strays := [id_ for id_ in given.ids if id_ not in texts]:
        echo(
            f"{len(strays)} of {len(given.ids)} rated ids are not in {run}: {list_first(strays)}. Each counts as an "
            "answer to a question of its own.",
            err=True,
        )
    return rated_without_scores(given, questions=texts)


def _print_agreement(dimension: str, rows: "Sequence[Agreement]") -> None:
    from imapeval.study.agreement.measure import STATISTICS
    from imapeval.study.number_format import format_number, write_coefficient

    emit(
        rows,
        [
            Column("statistic", lambda row: STATISTICS[row.statistic].title, text=True),
            Column("value", "value", write=format_number),
            interval_column(digits=2, write=write_coefficient),
            Column("n", "n"),
            Column("raters", "raters"),
        ],
        title=f"{dimension}: agreement among raters",
    )


def _print_differences(dimension: str, rows: "Sequence[Differences]") -> None:
    from imapeval.study.data.findings import ALL
    from imapeval.study.number_format import format_decimal, format_percent

    columns = [
        Column("raters", lambda row: "all pairs" if row.first == ALL else f"{row.first}, {row.second}", text=True)
    ]
    bins = rows[0].bins if rows else ()
    columns += [Column(name, lambda row, name=name: format_percent(row.bins[name])) for name in bins]
    columns += [Column("mean", "mean_absolute", write=partial(format_decimal, digits=2)), Column("n", "n")]
    emit(rows, columns, title=f"{dimension}: absolute difference between two raters")


def _print_ceilings(rows: "Sequence[Ceiling]") -> None:
    from imapeval.study.correlation.coefficients import find_coefficient
    from imapeval.study.number_format import format_number, write_coefficient

    emit(
        rows,
        [
            Column("dimension", "dimension", text=True),
            Column("coefficient", lambda row: find_coefficient(row.coefficient).title, text=True),
            Column("ceiling", "value", write=format_number),
            interval_column(digits=2, write=write_coefficient),
            Column("reliability", "reliability", write=format_number),
            Column("n", "n"),
        ],
        title="What a perfect metric could reach",
    )


def _print_notes(rows: "Sequence[Agreement]", ceilings: "Sequence[Ceiling]", rated: "Rated") -> None:
    from imapeval.study.agreement.measure import STATISTICS, describe_left_out
    from imapeval.study.intervals.coverage import describe_agreement_coverage, describe_ceiling_coverage

    if any(row.value is not None for row in rows):
        left_out = describe_left_out(rated)
        echo(f"Intervals are 95% score intervals, with the variance from leaving out {left_out} in turn.")
        for sentence in (*describe_agreement_coverage(rows), *describe_ceiling_coverage(ceilings, rated)):
            echo(sentence)
    # Statistics that are undefined for the same reason share a sentence.
    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.reason is not None and row.statistic in STATISTICS:
            reasons.setdefault(row.reason, {})[STATISTICS[row.statistic].title] = None
    for reason, titles in reasons.items():
        echo(f"{', '.join(titles)}: {reason}.")
    unscaled = [name for name in rated.dimensions if name not in rated.scales]
    if unscaled and rated.by_rater:
        echo(
            f"No scale is declared for {', '.join(unscaled)}. With --scale {unscaled[0]}=LOW:HIGH:STEP, statistics for "
            "categories are included where they suit; kappa is not defined for numbers without categories."
        )
