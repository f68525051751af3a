"""`imapeval study correlate`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import Json
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.runs import Run
    from imapeval.study.findings import Correlation

_COLUMN_WIDTH = 19
"""Of a column of the table: an interval, or most systems' names, with its frame."""


def correlate(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    ratings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Ratings (.csv, .jsonl): id and a column per dimension.  [default: the data's]"
        ),
    ] = None,
    metrics: Annotated[str | None, typer.Option(metavar="A,B", help="Which metrics.  [default: the run's]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    resamples: Annotated[int, typer.Option(min=1, help="Of the bootstrap.")] = 2000,
    json_output: Json = False,
) -> None:
    """Correlate each metric with the ratings: Spearman and Kendall tau-b, per system and dimension."""
    from imapeval.runs import Run
    from imapeval.study.correlate import correlate as compute

    run = Run(folder)
    chosen = _choose(run, metrics)
    samples = run.samples()
    given = None if ratings is None else _join(ratings, {sample.id for sample in samples})
    rows = compute(samples, run.results(), metrics=chosen, ratings=given, seed=seed, resamples=resamples)
    if json_output:
        typer.echo(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2))
        return
    for name, title in (("spearman", "Spearman's rho"), ("kendall_tau_b", "Kendall's tau-b")):
        _print_table(title, [row for row in rows if row.coefficient == name])
    _print_notes(rows, seed=seed, resamples=resamples)


def _choose(run: "Run", names: str | None) -> list[str]:
    known = list(run.manifest["settings"]["metrics"])
    wanted = known if names is None else [name for name in (part.strip() for part in names.split(",")) if name]
    for name in wanted:
        if name not in known:
            raise UsageError(f"the run has no metric {name!r}. It has: {', '.join(known)}.")
    if not wanted:
        raise UsageError(f"--metrics {names!r} names no metric. The run has: {', '.join(known)}.")
    return list(dict.fromkeys(wanted))


def _join(path: Path, ids: set[str]) -> dict[str, dict[str, float]]:
    """Return the ratings of the run's samples, and say what did not join."""
    from imapeval.study.ratings import read_ratings

    given = read_ratings(path).by_id
    if stray := [id_ for id_ in given if id_ not in ids]:
        typer.echo(f"{len(stray)} of {len(given)} rated ids are not in the run: {_list(stray)}", err=True)
    if unrated := sorted(ids.difference(given)):
        typer.echo(f"{len(unrated)} of {len(ids)} samples have no row in {path}: {_list(unrated)}", err=True)
    return {id_: dict(row) for id_, row in given.items() if id_ in ids}


def _list(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")


def _print_table(title: str, rows: "Sequence[Correlation]") -> None:
    """Print metrics x (system, dimension), in several tables where one would be wider than the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = {(row.metric, row.system, row.dimension): row for row in rows}
    metrics = list(dict.fromkeys(row.metric for row in rows))
    columns = list(dict.fromkeys((row.system, row.dimension) for row in rows))
    console = Console()
    room = (console.width - max(map(len, metrics)) - 4) // _COLUMN_WIDTH
    # Where nobody looks at a terminal nothing is cut off, however many columns there are.
    at_once = max(1, room) if console.is_terminal else len(columns)
    for start in range(0, len(columns), at_once):
        shown = columns[start : start + at_once]
        table = Table(title=Text(title), title_justify="left")
        table.add_column(Text("metric"), no_wrap=True)
        for column in shown:
            table.add_column(Text(_name_column(*column)), justify="right", no_wrap=True)
        for metric in metrics:
            table.add_row(Text(metric), *(Text(_show(cells[metric, *column])) for column in shown))
        Console(width=None if console.is_terminal else 200 + _COLUMN_WIDTH * len(columns)).print(table)


def _name_column(system: str, dimension: str) -> str:
    from imapeval.study.findings import ALL

    return "mean of all\ncolumns" if system == ALL else f"{system or 'all'}\n{dimension}"


def _show(row: "Correlation") -> str:
    if row.value is None:
        return f"-\nn {row.n}"
    interval = "-" if row.low is None or row.high is None else f"{_trim(row.low)} .. {_trim(row.high)}"
    return f"{_trim(row.value)}\n{interval}\nn {row.n}"


def _trim(value: float) -> str:
    """Write a coefficient the way journals do: .513, -.020, 1.000."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.3f}"


def _print_notes(rows: "Sequence[Correlation]", *, seed: int, resamples: int) -> None:
    notes: list[str] = [
        f"Below each coefficient: 95% percentile bootstrap interval ({resamples} resamples of questions, answers to "
        f"the same question drawn together, seed {seed}), and n, the answers with both a rating and a score."
    ]
    # The last row of a metric is the mean, which counts every answer once; without a mean it is the only one.
    missing = {row.metric: row.n_missing for row in rows}
    if any(missing.values()):
        counts = ", ".join(f"{metric} {count}" for metric, count in missing.items() if count)
        notes.append(f"Rated answers without a score (failures) are left out: {counts}.")
    reasons = (f"{row.metric}, {row.system or 'all'}, {row.dimension}: {row.reason}" for row in rows if row.reason)
    notes.extend(f"Undefined: {reason}." for reason in dict.fromkeys(reasons))
    typer.echo("\n".join(notes))
