"""`imapeval study report`: the whole study, on one page and in tables."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from imapeval.cli.commands.study.inputs import (
    Dimensions,
    Labels,
    Mapping,
    Metrics,
    RatingsFile,
    Resamples,
    RunFolders,
    Scales,
    Seed,
    read_rated,
)
from imapeval.cli.options import Json
from imapeval.cli.output import echo
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.study.data.findings import Level


def report(
    folders: RunFolders,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the page and the tables go.")],
    ratings: RatingsFile = None,
    metrics: Metrics = None,
    dimensions: Dimensions = None,
    level: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="What conclusions are drawn from: global, within-system, within-question or system.  "
            "[default: within-system; global where there is one system]",
        ),
    ] = None,
    coefficient: Annotated[
        str, typer.Option(metavar="NAME", help="spearman, pearson, kendall_tau_b or kendall_tau_c.")
    ] = "spearman",
    against: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="Compare each other metric with this one alone, which you chose before you saw the ratings.  "
            "[default: all pairs]",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Of the page.")] = None,
    scales: Scales = None,
    mapping: Mapping = None,
    labels: Labels = None,
    seed: Seed = 0,
    resamples: Resamples = 2000,
    json_output: Json = False,
) -> None:
    """Do the whole study: which metric agrees with the raters, how sure that is, and where it does not.

    Writes study.html, one page with all that is in it, and tables for a paper (CSV and LaTeX).
    """
    from imapeval.evaluation.runs import Run
    from imapeval.report.study.page import write_study
    from imapeval.report.study.tables import write_tables
    from imapeval.study.compute import compute_study
    from imapeval.study.correlation.coefficients import comparable_coefficients
    from imapeval.study.data.findings import Level as LevelName

    levels: dict[str, Level] = {name: name for name in get_args(LevelName)}
    coefficients = comparable_coefficients()
    if level is not None and level not in levels:
        raise UsageError(f"unknown --level {level!r}. Levels: {', '.join(levels)}.")
    if coefficient not in coefficients:
        raise UsageError(f"unknown --coefficient {coefficient!r}. Coefficients: {', '.join(coefficients)}.")
    joined = read_rated(
        folders,
        ratings,
        metrics=metrics,
        dimensions=dimensions,
        scales=scales,
        mapping=mapping,
        labels=labels,
    )
    _make_folder(out)
    study = compute_study(
        joined.rated,
        title=title or f"{folders[0].resolve().name}: which metric agrees with the raters?",
        signatures=joined.signatures,
        account=joined.account.to_sentences(),
        level=None if level is None else levels[level],
        coefficient=coefficient,
        against=against,
        seed=seed,
        resamples=resamples,
    )
    page, tables = out / "study.html", out / "tables"
    write_study(study, page, runs=[Run(folder) for folder in folders])
    write_tables(study, tables)
    if json_output:
        content = {"page": str(page), "tables": str(tables), "conclusions": study.conclusions}
        echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    echo("\n".join(study.conclusions))
    echo(f"page:   {page}\ntables: {tables}")


def _make_folder(folder: Path) -> None:
    """Make the folder before minutes are spent on what is to go into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder} ({error.strerror}). Name another with --out.") from error
