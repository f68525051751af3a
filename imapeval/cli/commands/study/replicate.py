"""`imapeval study replicate`."""

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.score import score
from imapeval.cli.commands.study.inputs import Resamples, Seed, read_rated
from imapeval.cli.options import BaseUrl, Concurrency, Json, Kg, Llm, MaxCost, Price, Votes
from imapeval.cli.output import echo, print_table
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.replicate import Gain, PaperRow

_PAPERS = ("imapscore",)


def replicate(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="imapscore: Wang et al. 2024, Table 2.")],
    data: Annotated[Path, typer.Option(metavar="DIR", help="The folder with the paper's public files (*.txt).")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The run's folder.")] = Path("runs/replicate-imapscore"),
    paper_table: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The paper's numbers (.csv): metric, system, dimension, value."),
    ] = None,
    llm: Llm = None,
    base_url: BaseUrl = None,
    votes: Votes = 1,
    concurrency: Concurrency = None,
    price: Price = None,
    max_cost: MaxCost = None,
    kg: Kg = None,
    seed: Seed = 0,
    resamples: Resamples = 2000,
    json_output: Json = False,
) -> None:
    """Run a paper's comparison again and print its numbers beside ours.

    Metrics whose packages, weights or language model are not there are left out and named. A run that was stopped goes
    on when the command is repeated.
    """
    from imapeval.metrics.registry import all_metrics
    from imapeval.study.correlation.levels import correlate
    from imapeval.study.replicate import choose_metrics, compare_with_paper, read_paper_table

    if paper not in _PAPERS:
        raise UsageError(f"unknown paper {paper!r}. Papers: {', '.join(_PAPERS)}.")
    numbers = {} if paper_table is None else read_paper_table(paper_table)
    names, left_out = choose_metrics({metric.name: metric.lacks for metric in all_metrics()}, llm=llm is not None)
    with redirect_stdout(sys.stderr):
        # Its table goes where progress goes: the numbers of this command are others.
        try:
            score(
                str(data),
                out=out,
                metrics=",".join(names),
                llm=llm,
                base_url=base_url,
                votes=votes,
                concurrency=concurrency,
                price=price,
                max_cost=max_cost,
                kg=kg,
                loader="imapscore",
                seed=seed,
            )
        except typer.Exit as done:
            if done.exit_code not in (0, 1):
                raise
    rated = read_rated([out]).rated
    rows, gains = compare_with_paper(
        correlate(rated, coefficients=("spearman",), seed=seed, resamples=resamples), numbers
    )
    counts = {system: rated.systems.count(system) for system in dict.fromkeys(rated.systems)}
    if json_output:
        content = {
            "rows": [asdict(row) for row in rows],
            "gains": [asdict(gain) for gain in gains],
            "left_out": left_out,
            "answers": counts,
        }
        echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    _print(rows, numbers)
    _print_gains(gains)
    _print_notes(counts, left_out, given=bool(numbers))


def _print(rows: "Sequence[PaperRow]", numbers: "Mapping[tuple[str, str, str], float]") -> None:
    from rich.table import Table
    from rich.text import Text

    from imapeval.study.data.findings import ALL

    by_key = {(row.metric, row.system, row.dimension): row for row in rows}
    metrics = list(dict.fromkeys(row.metric for row in rows))
    for system in dict.fromkeys(row.system for row in rows):
        dimensions = list(dict.fromkeys(row.dimension for row in rows if row.system == system))
        title = f"Spearman's rho, {'mean over systems' if system == ALL else system}"
        table = Table("metric", title=Text(title), title_justify="left")
        for dimension in dimensions:
            name = "mean over dimensions" if dimension == ALL else dimension
            if numbers:
                table.add_column(f"{name}: paper", justify="right")
            table.add_column(f"{name}: here" if numbers else name, justify="right", no_wrap=True)
        for metric in metrics:
            cells: list[str] = []
            for dimension in dimensions:
                row = by_key.get((metric, system, dimension))
                if numbers:
                    cells.append("-" if row is None or row.paper is None else f"{row.paper:.3f}")
                cells.append(_show(row))
            if any(cell != "-" for cell in cells):
                table.add_row(Text(metric), *cells)
        print_table(table, width=200)


def _show(row: "PaperRow | None") -> str:
    if row is None or row.value is None:
        return "-"
    return f"{row.value:.3f}" if row.low is None else f"{row.value:.3f} [{row.low:.2f}, {row.high:.2f}]"


def _print_gains(gains: "Sequence[Gain]") -> None:
    echo("Improvements that the abstract reports, and ours (ratio of mean correlations, less 1):")
    for gain in gains:
        value = f"{gain.value:+.1%}" if gain.value is not None else f"not computed ({gain.reason})"
        echo(f"  {gain.what}: paper {gain.paper:+.1%}, here {value}")


def _print_notes(counts: "Mapping[str, int]", left_out: "Mapping[str, str]", *, given: bool) -> None:
    from imapeval.study.replicate import ROWS

    for name, expected in ROWS.items():
        found = counts.get(name.replace("-", "/", 1), 0)
        if found != expected:
            echo(f"{name}: {found} answers here, {expected} in the public file.")
    for why in dict.fromkeys(left_out.values()):
        echo(f"Left out ({why}): {', '.join(name for name, reason in left_out.items() if reason == why)}.")
    echo(
        "Correlations are Spearman's, one system and dimension at a time, with 95% bootstrap intervals over questions. "
        "The paper read the imaps with GPT-4 and had a graph of 3 million entities."
    )
    if not given:
        echo(
            "The paper's own numbers are not part of imapeval; give them with --paper-table FILE (metric,system,"
            "dimension,value) to see them beside ours."
        )
