"""`imapeval study report`: the whole study, on one page and in tables."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from imapeval.cli.commands.study.inputs import (
    AboutOption,
    AlteredOption,
    CoefficientOption,
    ResamplesOption,
    RunFoldersArgument,
    SeedOption,
    StudyOptions,
    read_about_study,
    read_altered,
)
from imapeval.cli.options import JsonOption, choose_one, expand_options
from imapeval.cli.output import echo, emit_json
from imapeval.errors import UsageError
from imapeval.files import private_folder


@expand_options
def report(
    folders: RunFoldersArgument,
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the page and the tables.")],
    options: StudyOptions,
    level: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="Level that conclusions are drawn from: global, within-system, within-question or system.  "
            "[default: within-system; global if there is one system]",
        ),
    ] = None,
    coefficient: CoefficientOption = "spearman",
    against: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="Compare every other metric with this one only; choose it before you see the ratings.  "
            "[default: all pairs]",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Difference below which metrics count as equally good: the page says which are shown to be. State it "
            "before you see the ratings.",
        ),
    ] = None,
    about: AboutOption = None,
    altered: AlteredOption = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    seed: SeedOption = 0,
    resamples: ResamplesOption = 2000,
    json_output: JsonOption = False,
) -> None:
    """Run the whole study: which metric agrees with the raters, how certain that is, and where it fails.

    Writes study.html, one self-contained page, and tables for a paper (CSV and LaTeX).
    """
    from imapeval.evaluation.runs import Run
    from imapeval.report.study.page import write_study
    from imapeval.report.study.tables import write_tables
    from imapeval.study.correlation.coefficients import comparable_coefficients
    from imapeval.study.data.findings import Level
    from imapeval.study.summary.compute import compute_study

    chosen_level = None if level is None else choose_one(level, "--level", get_args(Level))
    choose_one(coefficient, "--coefficient", comparable_coefficients())
    stated = read_about_study(about, folders[0] if options.ratings is None else Path(options.ratings).parent)
    altered_scores = read_altered(altered or ())
    joined = options.read(folders)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder. Choose another with --out.")
    # The folder is made before minutes are spent on its content.
    with private_folder(out):
        study = compute_study(
            joined.rated,
            title=title or f"{folders[0].resolve().name}: which metric agrees with the raters?",
            signatures=joined.signatures,
            account=joined.report.to_sentences(),
            level=chosen_level,
            coefficient=coefficient,
            against=against,
            margin=margin,
            about=stated,
            altered=altered_scores,
            seed=seed,
            resamples=resamples,
        )
        page, tables = out / "study.html", out / "tables"
        write_study(study, page, runs=[Run(folder) for folder in folders])
        write_tables(study, tables)
    if json_output:
        emit_json(
            {
                "page": page,
                "tables": tables,
                "conclusions": study.conclusions,
                "outliers": study.outliers,
                "checklist": study.checklist,
            }
        )
        return
    echo("\n".join(study.conclusions))
    echo(f"page:   {page}\ntables: {tables}")
