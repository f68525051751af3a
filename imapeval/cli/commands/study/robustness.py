"""`imapeval study robustness`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import Metrics, RatingsFile, Resamples, Seed, parse_names, read_rated
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table
from imapeval.errors import UsageError

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
    "rewording; icc: share of the variance that lies between answers, the rest is wording.",
    "repetition": "within_sd: standard deviation of the scores of one text; icc: share of the variance that lies "
    "between texts, the rest is noise; reversed_systems: share of pairs of systems and pairs of runs in which the "
    "better system by mean score is the worse one in the other run. Completions kept from one run to the next make "
    "scores look more stable than they are: see `imapeval cache`.",
    "sampling": "within_sd: standard deviation of the scores of the answers to one question; icc: share of the "
    "variance that lies between questions, the rest is sampling; reversed_systems: share of pairs of systems and pairs "
    "of samples in which the better system by mean score is the worse one in the other sample.",
}


def robustness(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of runs: originals and rewordings, or the same data again."),
    ],
    metrics: Metrics = None,
    ratings: RatingsFile = None,
    seed: Seed = 0,
    resamples: Resamples = 2000,
    json_output: Json = False,
) -> None:
    """Tell how far scores move when an answer is reworded, scored again, sampled again or read several times.

    What was done again is found in the runs: a sample with a column `original` rewords the one of that id, and so does
    one of the same id with another response in another run; the same response in several runs was scored again.
    """
    from imapeval.evaluation.runs import Run
    from imapeval.study.robustness.measures import measure_robustness
    from imapeval.study.robustness.repeats import gather_repeats

    for folder in folders:
        if [other.resolve() for other in folders].count(folder.resolve()) > 1:
            raise UsageError(f"{folder} is named twice, and a run repeats nothing of itself. Name each run once.")
    found = gather_repeats([Run(folder) for folder in folders], metrics=parse_names(metrics, "--metrics"))
    rows = [row for repeats in found for row in measure_robustness(repeats, seed=seed, resamples=resamples)]
    stable, errors = _read_stability(folders, metrics, ratings, seed=seed, resamples=resamples)
    if not rows and not stable:
        raise UsageError(
            "nothing was done again in these runs. Name a run of the same data scored again, or of reworded answers "
            "(`imapeval study paraphrase` writes some), or one that read texts several times (--votes)."
        )
    if json_output:
        content = {"robustness": rows, "stability": stable, "stability_errors": errors}
        echo(json.dumps({k: [asdict(row) for row in v] for k, v in content.items()}, ensure_ascii=False, indent=2))
        return
    for repeats in found:
        _print([row for row in rows if (row.kind, row.lang) == (repeats.kind, repeats.lang)])
    if rows:
        echo(f"95% percentile bootstrap intervals ({resamples} resamples of questions, seed {seed}).")
    _print_stability(stable, errors)


def _read_stability(
    folders: "Sequence[Path]", metrics: str | None, ratings: Path | None, *, seed: int, resamples: int
) -> "tuple[list[Stability], list[StabilityError]]":
    """Return how stable the first run's scores are over readings, and how that goes with their errors."""
    from imapeval.evaluation.runs import Run
    from imapeval.study.robustness.stability import read_stability, relate_stability, summarise_stability

    results = Run(folders[0]).results()
    if not read_stability(results, ()):
        return [], []
    rated = read_rated(folders[:1], ratings, metrics=metrics, unrated=True).rated
    rows: list[Stability] = []
    errors: list[StabilityError] = []
    for metric, stability in read_stability(results, rated.ids).items():
        if metric in rated.metrics:
            rows += summarise_stability(rated, metric, stability, seed=seed, resamples=resamples)
            errors += relate_stability(rated, metric, stability, seed=seed, resamples=resamples)
    return rows, errors


def _print(rows: "Sequence[Robustness]") -> None:
    from rich.table import Table
    from rich.text import Text

    from imapeval.study.robustness.measures import describe_robustness

    cells = {(row.metric, row.statistic): row for row in rows}
    statistics = list(dict.fromkeys(row.statistic for row in rows))
    kind, lang = rows[0].kind, rows[0].lang
    table = Table("metric", title=Text(f"{_TITLES[kind]} ({lang})"), title_justify="left")
    for statistic in statistics:
        table.add_column(statistic, justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    for metric in dict.fromkeys(row.metric for row in rows):
        first = cells[metric, statistics[0]]
        counts = f"{first.n}\n{first.scores} scores" + (f"\n{first.missing} failed" if first.missing else "")
        table.add_row(Text(metric), *(_format_cell(cells[metric, statistic]) for statistic in statistics), counts)
    # Where nobody looks at a terminal nothing is cut off.
    print_table(table, width=200)
    for sentence in describe_robustness(rows):
        echo(sentence)
    echo(_NOTES[kind])
    reasons = dict.fromkeys(f"{row.metric}, {row.statistic}: {row.reason}" for row in rows if row.reason)
    echo("".join(f"Not computed: {reason}.\n" for reason in reasons))


def _format_cell(row: "Robustness") -> str:
    if row.value is None:
        return "-"
    ends = "-" if row.low is None or row.high is None else f"{row.low:.3f} .. {row.high:.3f}"
    return f"{row.value:.3f}\n{ends}"


def _print_stability(rows: "Sequence[Stability]", errors: "Sequence[StabilityError]") -> None:
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    table = Table("metric", "answers", "group", title="Stability over readings, 0 to 1", title_justify="left")
    for column in ("mean", "95% interval", "lowest tenth", "n"):
        table.add_column(column, justify="right")
    for row in rows:
        ends = "-" if row.low is None or row.high is None else f"{row.low:.3f} .. {row.high:.3f}"
        table.add_row(
            Text(row.metric),
            Text(row.facet),
            Text(row.group),
            f"{row.mean:.3f}",
            ends,
            f"{row.lowest_tenth:.3f}",
            str(row.n),
        )
    print_table(table)
    for row in errors:
        if row.value is None:
            echo(f"{row.metric}, {row.dimension}: stability and error cannot be compared: {row.reason}.")
        else:
            ends = "" if row.low is None or row.high is None else f" ({row.low:.2f} to {row.high:.2f})"
            echo(
                f"{row.metric}, {row.dimension}: Spearman's rho of stability and error {row.value:.2f}{ends}, "
                f"n {row.n}; below 0, stable scores have smaller errors."
            )
