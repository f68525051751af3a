"""`imapeval study replicate`."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.score import score
from imapeval.cli.commands.study.inputs import ResamplesOption, SeedOption, StudyOptions
from imapeval.cli.llm_options import LlmOptions
from imapeval.cli.options import DataOptions, JsonOption, KgOption, choose_one, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_estimate
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.replicate import Gain, PaperRow

_PAPERS = ("imapscore",)


@expand_options
def replicate(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="imapscore: Wang et al. 2024, Table 2.")],
    *,
    data: Annotated[
        Path,
        typer.Option(
            metavar="DATA", help="Folder with the paper's public files (*.txt), or a file of rows with their systems."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the run.")] = Path("runs/replicate-imapscore"),
    paper_table: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The paper's numbers (.csv): metric, system, dimension, rho, tau."),
    ] = None,
    llm_options: Annotated[LlmOptions, ("llm", "base_url", "votes", "concurrency", "price", "max_cost")],
    imaps: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Use ready-made imaps; only the answers in FILE are compared, also without imaps."
        ),
    ] = None,
    kg: KgOption = None,
    seed: SeedOption = 0,
    resamples: ResamplesOption = 2000,
    json_output: JsonOption = False,
) -> None:
    """Repeat a paper's comparison, and print its numbers beside ours.

    Metrics whose packages, weights or language model are missing are left out and named. To resume a run that was
    stopped, repeat the command.
    """
    from imapeval.evaluation.imap_files import read_records
    from imapeval.metrics.registry import all_metrics
    from imapeval.study.replicate import choose_metrics, compare_with_paper, correlate_table, read_paper_table

    choose_one(paper, "paper", _PAPERS)
    numbers = {} if paper_table is None else read_paper_table(paper_table)
    names, left_out = choose_metrics(
        {metric.name: metric.missing_requirements for metric in all_metrics()}, llm=llm_options.llm is not None
    )
    with redirect_stdout(sys.stderr):
        # The table of `score` goes to stderr, like progress: stdout is for the comparison.
        try:
            score(
                [str(data)],
                llm_options=llm_options,
                data_options=DataOptions(loader="imapscore" if data.is_dir() else None, seed=seed),
                out=str(out),
                metrics=",".join(names),
                imaps=imaps,
                kg=kg,
            )
        except typer.Exit as done:
            if done.exit_code not in (0, 1):
                raise
    rated = StudyOptions().read([out]).rated
    if imaps is not None:
        # Raw metrics score the others as well, and would be compared on other answers than those on imaps.
        ready = {record.id for _, record in read_records(imaps)}
        rated = rated.take([row for row, name in enumerate(rated.ids) if name in ready])
        if not rated.ids:
            raise UsageError(
                f"{imaps} has imaps of none of the rated answers of {data}. Give the file made from these data."
            )
    ours = correlate_table(rated, seed=seed, resamples=resamples)
    rows, gains = compare_with_paper(ours, numbers, left_out)
    counts = {system: rated.systems.count(system) for system in dict.fromkeys(rated.systems)}
    if json_output:
        emit_json({"rows": rows, "gains": gains, "left_out": left_out, "answers": counts})
        return
    _print(rows, given=bool(numbers))
    _print_gains(gains)
    _print_notes(counts, left_out, given=bool(numbers))


def _print(rows: "Sequence[PaperRow]", *, given: bool) -> None:
    from imapeval.study.correlation.coefficients import find_coefficient
    from imapeval.study.data.findings import ALL

    for coefficient, system in dict.fromkeys((row.coefficient, row.system) for row in rows):
        here = [row for row in rows if (row.coefficient, row.system) == (coefficient, system)]
        columns = [Column("metric", lambda metric: metric, text=True)]
        for dimension in dict.fromkeys(row.dimension for row in here):
            name = "mean over dimensions" if dimension == ALL else dimension
            cells = {row.metric: row for row in here if row.dimension == dimension}
            if given:
                paper = {metric: row.paper for metric, row in cells.items()}
                columns.append(Column(f"{name}: paper", paper.get, "{:.2f}".format))
            title = f"{name}: here" if given else name
            columns.append(Column(title, cells.get, _show, wrap=False))
        metrics = dict.fromkeys(row.metric for row in here if row.value is not None or row.paper is not None)
        whose = "mean over systems" if system == ALL else system
        emit(metrics, columns, title=f"{find_coefficient(coefficient).title}, {whose}", width=UNLIMITED)


def _show(row: "PaperRow") -> str:
    """Return our number with its interval and, where the paper has one, the difference."""
    value = format_estimate(row.value, row.low, row.high, digits=3)
    return value if row.difference is None else f"{value} ({row.difference:+.2f})"


def _print_gains(gains: "Sequence[Gain]") -> None:
    echo("Improvements reported in the abstract, and ours (ratio of mean correlations minus 1):")
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
        "Correlations are for one system and dimension at a time, with 95% bootstrap intervals over questions. In "
        "parentheses: ours less the paper's, whose numbers count as exact. "
        "The paper read the imaps with GPT-4 and used a graph of 3 million entities."
    )
    if not given:
        echo(
            "The paper's numbers are not part of imapeval. Give them with --paper-table FILE (metric,system,dimension,"
            "rho,tau) to print them beside ours."
        )
