"""`imapeval report`: the page about a run."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    open_: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Write RUN/report.html again: one page that needs nothing beside it."""
    from imapeval.report.html import write_report

    page = write_report(folder)
    typer.echo(str(page))
    if open_:
        typer.launch(page.resolve().as_uri())
