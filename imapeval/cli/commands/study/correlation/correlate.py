"""`imapeval study correlate`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from imapeval.cli.commands.study.inputs import (
    ResamplesOption,
    RunFoldersArgument,
    SeedOption,
    StudyOptions,
    list_coefficients,
)
from imapeval.cli.options import JsonOption, choose_one, expand_options, parse_names
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_interval, interval_column
from imapeval.study.data.findings import ALL, MIN_SYSTEMS, Correlation, Level, Units
from imapeval.study.intervals.coverage import BASELINE, describe_level_coverage, describe_open_ends
from imapeval.study.number_format import format_number, write_coefficient

if TYPE_CHECKING:
    from imapeval.study.correlation.baseline import MetricVsBaseline

_COLUMN_WIDTH = 19
"""Width of a column with its frame, in characters: enough for an interval and most names of systems."""

_GROUPINGS: dict[str, str] = {
    "global": "Global: over all answers, so that differences between systems count as agreement.",
    "within-system": "Within system: among the answers of one system; means are over systems and dimensions.",
    "within-question": "Within question: among the answers of different systems to one question, then the mean over "
    "questions.",
    "system": "System: the systems' mean scores with their mean ratings; n is the number of systems. With fewer than "
    f"{MIN_SYSTEMS} systems there is no interval.",
}

_UNITS: dict[str, str] = {
    "questions": "Intervals are about these systems on other questions, not about other systems.",
    "systems": "Intervals are about other systems on these questions (jackknife over systems).",
    "both": "Intervals are about other systems on other questions (jackknife over systems and questions).",
}


@expand_options
def correlate(
    folders: RunFoldersArgument,
    options: StudyOptions,
    level: Annotated[
        str, typer.Option(metavar="A,B", help=f"How answers are grouped: {', '.join(get_args(Level))}.")
    ] = "within-system",
    coefficient: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help=list_coefficients("pairwise_accuracy", "soft_pairwise_accuracy (only with the level system)"),
        ),
    ] = "spearman,kendall_tau_b",
    units: Annotated[
        str,
        typer.Option(
            metavar="UNITS",
            help="What intervals treat as the sample, so what they are about: questions (these systems on other "
            f"questions), systems (other systems on these questions) or both; the last two need {MIN_SYSTEMS} systems.",
        ),
    ] = "questions",
    seed: SeedOption = 0,
    resamples: ResamplesOption = 2000,
    json_output: JsonOption = False,
) -> None:
    """Correlate each metric with the ratings: within systems, within questions, between systems or over all answers."""
    from imapeval.study.correlation.baseline import compare_with_baseline, has_groups
    from imapeval.study.correlation.coefficients import all_coefficients
    from imapeval.study.correlation.levels import correlate as compute
    from imapeval.study.subgroups.outlier_systems import correlate_without_outliers

    # Checked before anything is read, which may take long.
    levels: list[Level] = [choose_one(name, "--level", get_args(Level)) for name in parse_names(level, "--level")]
    known = tuple(all_coefficients())
    coefficients = [choose_one(name, "--coefficient", known) for name in parse_names(coefficient, "--coefficient")]
    sample: Units = choose_one(units, "--units", get_args(Units))
    rated = options.read(folders).rated
    rows = compute(rated, levels=levels, coefficients=coefficients, units=sample, seed=seed, resamples=resamples)
    if json_output:
        # The comparison with the baseline is a table of `study report`.
        emit_json(rows)
        return
    if all(row.value is None for row in rows):
        # The reasons of means repeat those of other rows, so they are given only where there are no others.
        reasons = dict.fromkeys(row.reason for row in [row for row in rows if row.groups] or rows if row.reason)
        echo(f"No coefficient can be computed: {'; '.join(reasons)}.")
    else:
        for one in levels:
            for name in coefficients:
                _print_table([row for row in rows if (row.level, row.coefficient) == (one, name)])
        _print_notes(rows, seed=seed, resamples=resamples)
    if not has_groups(rated):
        return
    beside = {name: compare_with_baseline(rated, name, correlations=rows, seed=seed) for name in coefficients}
    for of_coefficient in beside.values():
        _print_metric_vs_baseline(of_coefficient)
    if any(row.low is not None for of_coefficient in beside.values() for row in of_coefficient):
        echo(BASELINE)
    if "system" in levels:
        for row in correlate_without_outliers(rated, coefficients=coefficients):
            if row.matters:
                echo(row.sentence)


def _print_table(rows: Sequence[Correlation]) -> None:
    """Print metrics x (system, dimension), in several tables if one would be wider than the terminal."""
    from rich.console import Console

    cells = {(row.metric, row.system, row.dimension): row for row in rows}
    metrics = list(dict.fromkeys(row.metric for row in rows))
    groups = list(dict.fromkeys((row.system, row.dimension) for row in rows))
    console = Console()
    room = (console.width - max(map(len, metrics)) - 4) // _COLUMN_WIDTH
    # Nothing is cut off where the output is not a terminal, however many columns there are.
    at_once = max(1, room) if console.is_terminal else len(groups)
    echo(_make_title(rows))  # not the title of the table, whose width would break it into lines
    for start in range(0, len(groups), at_once):
        columns = [Column("metric", lambda metric: metric, text=True, wrap=False)]
        columns += [
            Column(
                _make_heading(group, rows[0].level),
                lambda metric, group=group: _format_cell(cells[metric, *group]),
                wrap=False,
            )
            for group in groups[start : start + at_once]
        ]
        emit(metrics, columns, width=200 + _COLUMN_WIDTH * len(groups))


def _print_metric_vs_baseline(rows: "Sequence[MetricVsBaseline]") -> None:
    """Print what metrics reach by level, side by side and beside the baseline, and which do not beat it."""
    from imapeval.study.correlation.baseline import describe_baseline
    from imapeval.study.correlation.coefficients import find_coefficient

    if all(row.value is None for row in rows):
        return
    has_datasets = any(row.within_dataset is not None for row in rows)
    columns = [
        Column("metric", "metric", text=True, wrap=False),
        Column("dimension", lambda row: "mean" if row.dimension == ALL else row.dimension, text=True, wrap=False),
        Column("all answers\ntogether", "value", write=format_number, wrap=False),
        *([Column("within\ndata sets", "within_dataset", write=format_number, wrap=False)] if has_datasets else []),
        Column("within\nsystems", "within_system", write=format_number, wrap=False),
        Column("within\nquestions", "within_question", write=format_number, wrap=False),
        Column("baseline", "baseline", write=format_number, wrap=False),
        Column("metric less\nbaseline", "difference", write=format_number, wrap=False),
        interval_column(digits=2, write=write_coefficient, wrap=False),
    ]
    emit(rows, columns, title=f"{find_coefficient(rows[0].coefficient).title}, side by side", width=UNLIMITED)
    for sentence in describe_baseline(rows):
        echo(sentence)
    for reason in dict.fromkeys(row.reason for row in rows if row.reason and row.value is not None):
        echo(f"No baseline: {reason}.")


def _make_title(rows: Sequence[Correlation]) -> str:
    """Return the coefficient, the grouping, and the number of coefficients in the mean of the last column."""
    from imapeval.study.correlation.coefficients import find_coefficient

    first = rows[0]
    title = f"{find_coefficient(first.coefficient).title}, {first.level.replace('-', ' ')}"
    last = [row.groups for row in rows if (row.system, row.dimension) == (ALL, ALL)]
    return f"{title}; mean of {max(last)} coefficients last" if last else title


def _make_heading(column: tuple[str, str], level: str) -> str:
    system, dimension = column
    if dimension == ALL:
        return "mean of all\ncoefficients"
    if system == ALL:
        return f"mean of systems\n{dimension}" if level == "within-system" else dimension
    return f"{system or 'all'}\n{dimension}"


def _format_cell(row: Correlation) -> str:
    if row.value is None:
        return f"-\nn {row.n}"
    interval = format_interval(row.low, row.high, write=write_coefficient)
    threshold = "" if row.epsilon is None else f"\nties {row.epsilon:.3g}"
    return f"{format_number(row.value, digits=3)}\n{interval}\nn {row.n}{threshold}"


def _print_notes(rows: Sequence[Correlation], *, seed: int, resamples: int) -> None:
    notes = [_GROUPINGS[level] for level in dict.fromkeys(row.level for row in rows)]
    notes += [
        "Below each coefficient: its 95% interval, and n, the answers (or systems) with both a rating and a score."
    ]
    made = {row.interval for row in rows}
    units = rows[0].units
    if made != {None}:
        notes.append(_UNITS[units])
    elif units != "questions":
        notes.append(f"No interval about other systems: that takes {MIN_SYSTEMS} systems that differ.")
    if "bca" in made:
        notes.append(
            f"Intervals: BCa bootstrap ({resamples} resamples of questions, answers to the same question drawn "
            f"together, seed {seed})."
        )
    if "bootstrap" in made:
        notes.append(f"Intervals between systems: percentiles of {resamples} resamples of questions (seed {seed}).")
    if "jackknife" in made and units == "questions":
        notes.append("Intervals of many answers: infinitesimal jackknife over questions, on Fisher's scale.")
    notes += describe_level_coverage((row.level, row.units) for row in rows if row.low is not None)
    notes += describe_open_ends(rows)
    if any(row.epsilon is not None for row in rows):
        notes.append("ties: scores that differ by at most this much count as tied; chosen for the highest accuracy.")
    # The last row of a metric is the mean, which counts every answer once, or its only row.
    missing = {row.metric: row.n_missing for row in rows}
    if any(missing.values()):
        counts = ", ".join(f"{metric} {count}" for metric, count in missing.items() if count)
        notes.append(f"Rated answers without a score (failures) are left out: {counts}.")
    notes.extend(dict.fromkeys(_format_reason(row) for row in rows if row.reason))
    echo("\n".join(notes))


def _format_reason(row: Correlation) -> str:
    state = "Undefined" if row.value is None else "Left out"
    system, dimension = ("all" if name in ("", ALL) else name for name in (row.system, row.dimension))
    return f"{state}: {row.metric}, {system}, {dimension}: {row.reason}."
