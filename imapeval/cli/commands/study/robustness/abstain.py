"""`imapeval study abstain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import (
    RATINGS_FORMAT,
    ResamplesOption,
    RunFoldersArgument,
    SeedOption,
    StudyOptions,
    take_one_metric,
)
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import Column, echo, emit, emit_json, interval_column, write_csv
from imapeval.errors import UsageError
from imapeval.study.number_format import format_decimal, format_percent, format_signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.robustness.abstention import Abstention, DoubtfulAnswer

_SHOWN = 10
"""Answers in the printed list."""


@expand_options
def abstain(
    folders: RunFoldersArgument,
    *,
    metric: Annotated[
        str,
        typer.Option(
            metavar="METRIC",
            help="The metric: scored repeatedly (--votes), or given together with --stability.",
            callback=take_one_metric,
        ),
    ],
    stability: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="Metric that says how certain the scores are, such as a judge's confidence in a file of --scores; "
            "a higher value means more certain, or a lower one if lower is better, as for perplexity.  [default: how "
            "far repeated scores agree]",
            callback=take_one_metric,
        ),
    ] = None,
    options: Annotated[StudyOptions, ("ratings", "scores", *RATINGS_FORMAT)],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all unrated answers, the least stable first, to a .csv file."),
    ] = None,
    seed: SeedOption = 0,
    resamples: ResamplesOption = 2000,
    json_output: JsonOption = False,
) -> None:
    """List the unrated answers with the least certain scores, to be rated first, and the error without such answers.

    The second part needs ratings of answers to 20 questions: the error of predicting them from the scores, when the
    metric abstains on 10, 20 or 30% of the answers.
    """
    from imapeval.evaluation.runs import Run
    from imapeval.study.robustness.abstention import DoubtfulAnswer, list_doubtful, measure_abstention
    from imapeval.study.robustness.stability import read_stability

    named = metric if stability is None else f"{metric},{stability}"
    rated = options.read(folders, metrics=named, unrated=True).rated
    if stability is not None:
        stable = rated.scores_of(stability)
    else:
        found = read_stability((result for folder in folders for result in Run(folder).results()), rated.ids)
        if metric not in found:
            raise UsageError(
                f"the scores by {metric} have no stability. Score the answers with --votes 3, name a metric with "
                "--stability that says how sure they are, or choose another --metric"
                + (f": {', '.join(found)}." if found else ".")
            )
        stable = found[metric]
    doubtful = list_doubtful(rated, metric, stable)
    rows: list[Abstention] = []
    reasons: list[str] = []
    for dimension in rated.dimensions:
        try:
            rows += measure_abstention(rated, metric, dimension, stable, seed=seed, resamples=resamples)
        except UsageError as error:  # too few ratings yet: the list says which to add
            reasons.append(str(error))
    if out is not None:
        write_csv(out, DoubtfulAnswer, doubtful)
    if json_output:
        emit_json({"abstention": rows, "doubtful": doubtful})
    else:
        _print_doubtful(doubtful)
        _print_errors(rows)
    for reason in reasons:
        echo(reason, err=True)


def _print_doubtful(answers: "Sequence[DoubtfulAnswer]") -> None:
    columns = [
        Column("answer", "id", text=True),
        Column("system", lambda row: row.system or None, text=True),
        Column("score", "score", write=format_decimal),
        Column("stability", "stability", write=format_decimal),
    ]
    emit(answers[:_SHOWN], columns, title="To be rated first")
    echo(f"The least stable of {len(answers)} unrated answers." if answers else "No unrated answer has a stability.")


def _print_errors(rows: "Sequence[Abstention]") -> None:
    columns = [
        Column("dimension", "dimension", text=True),
        Column("abstains on", "share", write=format_percent),
        Column("error", "error", write=format_decimal),
        interval_column(wrap=False),
        Column("change", lambda row: format_signed(row.change) if row.share else None),
        interval_column(low="change_low", high="change_high", wrap=False),
        Column("least", "least", write=format_decimal),
    ]
    emit(rows, columns, title="Error that remains, in rating points", width=100)
    if rows:
        echo(
            "Error: mean distance between rating and prediction, by isotonic curves fitted to other questions. Change: "
            "against no abstention, which is what abstaining at random leaves. Least: if the answers with the largest "
            "errors were known. Answers chosen for their low stability are no random sample: do not use their ratings "
            "for `imapeval study estimate`."
        )
