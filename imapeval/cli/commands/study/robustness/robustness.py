"""`imapeval study robustness`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import ResamplesOption, SeedOption, StudyOptions
from imapeval.cli.options import JsonOption, expand_options, parse_names
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_interval, interval_column
from imapeval.errors import UsageError
from imapeval.study.number_format import format_decimal, format_number
from imapeval.study.number_format import format_interval as write_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.robustness.measures import Robustness
    from imapeval.study.robustness.repeats import RepeatKind
    from imapeval.study.robustness.stability import Stability, StabilityError

_TITLES: "dict[RepeatKind, str]" = {
    "rewording": "Rewording: the same answers in other words",
    "repetition": "Repetition: the same texts scored again",
    "sampling": "Sampling: the same questions answered again by the same system",
}

_NOTES: "dict[RepeatKind, str]" = {
    "rewording": "change: reworded less original; absolute_change: without the sign; relative_change: in standard "
    "deviations of the original scores; reversed_pairs: share of pairs of answers that stand the other way round after "
    "rewording; spearman: correlation of original and reworded scores; icc: share of the variance that lies between "
    "answers (the rest is wording).",
    "repetition": "within_sd: standard deviation of the scores of one text; icc: share of the variance that lies "
    "between texts (the rest is noise); reversed_systems: share of pairs of systems and pairs of runs in which the "
    "better system by mean score is the worse one in the other run. Completions kept from one run to the next make "
    "scores look more stable than they are: see `imapeval cache`.",
    "sampling": "within_sd: standard deviation of the scores of the answers to one question; icc: share of the "
    "variance that lies between questions (the rest is sampling); reversed_systems: share of pairs of systems and "
    "pairs of samples in which the better system by mean score is the worse one in the other sample.",
}


@expand_options
def robustness(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of runs: originals and rewordings, or the same data again."),
    ],
    options: Annotated[StudyOptions, ("metrics", "ratings")],
    seed: SeedOption = 0,
    resamples: ResamplesOption = 2000,
    json_output: JsonOption = False,
) -> None:
    """Measure how far scores move when an answer is reworded, scored again, sampled again or read several times.

    Repetitions are found in the runs: a sample whose column `original` has the id of another one rewords it, and so
    does a sample with the same id and another response in another run; the same response in several runs was scored
    again.
    """
    from imapeval.evaluation.runs import Run
    from imapeval.study.robustness.measures import measure_robustness
    from imapeval.study.robustness.repeats import gather_repeats

    for folder in folders:
        if [other.resolve() for other in folders].count(folder.resolve()) > 1:
            raise UsageError(f"{folder} is named twice. Name each run once.")
    found = gather_repeats([Run(folder) for folder in folders], metrics=parse_names(options.metrics, "--metrics"))
    rows = [row for repeats in found for row in measure_robustness(repeats, seed=seed, resamples=resamples)]
    stable, errors = _read_stability(folders, options, seed=seed, resamples=resamples)
    if not rows and not stable:
        raise UsageError(
            "these runs repeat nothing. Name a run on the same data, or on reworded answers (see `imapeval study "
            "paraphrase`), or one that read its texts several times (--votes)."
        )
    if json_output:
        emit_json({"robustness": rows, "stability": stable, "stability_errors": errors})
        return
    for repeats in found:
        _print([row for row in rows if (row.kind, row.lang) == (repeats.kind, repeats.lang)])
    if rows:
        echo(f"95% percentile bootstrap intervals ({resamples} resamples of questions, seed {seed}).")
    _print_stability(stable, errors)


def _read_stability(
    folders: "Sequence[Path]", options: StudyOptions, *, seed: int, resamples: int
) -> "tuple[list[Stability], list[StabilityError]]":
    """Return how stable the first run's scores are over readings, and how stability correlates with their errors."""
    from imapeval.evaluation.runs import Run
    from imapeval.study.robustness.stability import read_stability, relate_stability, summarise_stability

    results = Run(folders[0]).results()
    if not read_stability(results, ()):
        return [], []
    rated = options.read(folders[:1], unrated=True).rated
    rows: list[Stability] = []
    errors: list[StabilityError] = []
    for metric, stability in read_stability(results, rated.ids).items():
        if metric in rated.metrics:
            rows += summarise_stability(rated, metric, stability, seed=seed, resamples=resamples)
            errors += relate_stability(rated, metric, stability, seed=seed, resamples=resamples)
    return rows, errors


def _print(rows: "Sequence[Robustness]") -> None:
    from imapeval.study.robustness.measures import describe_robustness

    cells = {(row.metric, row.statistic): row for row in rows}
    statistics = list(dict.fromkeys(row.statistic for row in rows))
    kind, lang = rows[0].kind, rows[0].lang

    def count(metric: str) -> str:
        first = cells[metric, statistics[0]]
        return f"{first.n}\n{first.scores} scores" + (f"\n{first.missing} failed" if first.missing else "")

    columns = [Column("metric", lambda metric: metric, text=True)]
    columns += [
        Column(name, lambda metric, name=name: _format_cell(cells[metric, name]), wrap=False) for name in statistics
    ]
    columns.append(Column("n", count, wrap=False))
    metrics = dict.fromkeys(row.metric for row in rows)
    emit(metrics, columns, title=f"{_TITLES[kind]} ({lang})", width=UNLIMITED)
    for sentence in describe_robustness(rows):
        echo(sentence)
    echo(_NOTES[kind])
    reasons = dict.fromkeys(f"{row.metric}, {row.statistic}: {row.reason}" for row in rows if row.reason)
    echo("".join(f"Not computed: {reason}.\n" for reason in reasons))


def _format_cell(row: "Robustness") -> str | None:
    return None if row.value is None else f"{format_decimal(row.value)}\n{format_interval(row.low, row.high)}"


def _print_stability(rows: "Sequence[Stability]", errors: "Sequence[StabilityError]") -> None:
    columns = [
        Column("metric", "metric", text=True),
        Column("answers", "facet", text=True),
        Column("group", "group", text=True),
        Column("mean", "mean", write=format_decimal),
        interval_column(),
        Column("lowest tenth", "lowest_tenth", write=format_decimal),
        Column("n", "n"),
    ]
    emit(rows, columns, title="Stability over readings, 0 to 1")
    for row in errors:
        if row.value is None:
            echo(f"{row.metric}, {row.dimension}: stability and error cannot be correlated: {row.reason}.")
        else:
            ends = row.reason if row.low is None or row.high is None else write_interval(row.low, row.high)
            echo(
                f"{row.metric}, {row.dimension}: Spearman's rho of stability and error {format_number(row.value)}"
                f" ({ends}), n {row.n}; below 0, stable scores have smaller errors."
            )
