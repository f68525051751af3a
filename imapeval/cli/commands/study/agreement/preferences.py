"""`imapeval study preferences`."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import ResamplesOption, SeedOption, StudyOptions
from imapeval.cli.options import JsonOption, expand_options, parse_names
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, interval_column
from imapeval.errors import UsageError
from imapeval.study.number_format import format_decimal, format_percent, write_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.systems.preferences import MetricAndPreferences, Strength


@expand_options
def preferences(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Preferences: a table with the columns question (its text, or the id of an answer to it), a, b (the "
            "systems) and winner (a system, a, b or tie).",
        ),
    ],
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN...]", help="Runs of these systems, to compare metrics.")
    ] = None,
    *,
    options: Annotated[StudyOptions, ("metrics", "scores")],
    seed: SeedOption = 0,
    resamples: ResamplesOption = 2000,
    json_output: JsonOption = False,
) -> None:
    """Rank systems by preferences between their answers (Bradley-Terry with ties), and check metrics against them."""
    from imapeval.evaluation.runs import Run
    from imapeval.report.formatting import pluralize
    from imapeval.study.data.preferences import read_preferences
    from imapeval.study.data.scores_file import add_scores, describe_matching
    from imapeval.study.systems.answers import read_systems
    from imapeval.study.systems.preferences import compare_with_metrics, estimate_strengths

    for option, value in (("--metrics", options.metrics), ("--scores", options.scores)):
        if value and not folders:
            raise UsageError(f"{option} is about answers in runs. Give the folder of a run after the preferences.")
    given = read_preferences(file)
    strengths = estimate_strengths(given, seed=seed, resamples=resamples)
    rows: list[MetricAndPreferences] = []
    if folders:
        runs = [Run(folder) for folder in folders]
        wanted = parse_names(options.metrics, "--metrics")
        imported, named = options.read_scores(runs, wanted)
        answers = read_systems(runs, metrics=named)
        for one in imported:
            chosen = {name: of_one for name, of_one in one.scores.items() if wanted is None or name in wanted}
            answers = add_scores(answers, replace(one, scores=chosen))
            for sentence in describe_matching(answers, one):
                echo(sentence, err=True)
        rows = compare_with_metrics(given, strengths, answers)
    if json_output:
        emit_json({"strengths": strengths, "metrics": rows})
        return
    _print_strengths(strengths)
    echo(
        f"{pluralize(len(given.outcome), 'judgement')} on {pluralize(len(given.questions), 'question')}. Strength: "
        "Davidson's model (Bradley and Terry's with ties), in log odds; preferred: how often, against another of these "
        f"systems, a tie counting half. Intervals: 95%, bootstrap over questions ({resamples} resamples, seed {seed})."
    )
    if rows:
        _print_metrics(rows)
        echo(
            "Accuracy: share of the preferences whose answer has the better score, equal scores counting half; ties "
            "are left out. Systems: pairs that the metric's means order like the strengths."
        )


def _print_strengths(rows: "Sequence[Strength]") -> None:
    columns = [
        Column("system", "system", text=True, wrap=False),
        Column("strength", "strength", write=partial(format_decimal, digits=2)),
        interval_column(digits=2, wrap=False),
        Column("preferred", "win_share", write=format_percent),
        interval_column(low="win_share_low", high="win_share_high", digits=2, write=write_percent, wrap=False),
        Column("wins", "wins"),
        Column("ties", "ties"),
        Column("losses", "losses"),
    ]
    emit(rows, columns, title="Systems by preference", width=UNLIMITED)


def _print_metrics(rows: "Sequence[MetricAndPreferences]") -> None:
    columns = [
        Column("metric", "metric", text=True, wrap=False),
        Column("accuracy", "accuracy", write=format_decimal),
        interval_column(wrap=False),
        Column("n", "n"),
        Column("not scored", "missing"),
        Column("systems", lambda row: f"{row.pairs_alike} of {row.pairs}", wrap=False),
    ]
    emit(rows, columns, title="Metrics and preferences", width=UNLIMITED)
