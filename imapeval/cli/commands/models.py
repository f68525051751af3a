"""`imapeval models`: weights for `--llm local:NAME`."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table

if TYPE_CHECKING:
    from imapeval.llm.providers.weights import Weights

app = typer.Typer(help="Weights of language models that run on this computer, for --llm local:NAME.")

Name = Annotated[str, typer.Argument(help="As `imapeval models list` has it.")]


@app.command("list")
def list_(json_output: Json = False) -> None:
    """List the weights that are known by name, and which of them are here."""
    from dataclasses import asdict

    from imapeval.llm.providers.weights import KNOWN

    if json_output:
        rows = [asdict(weights) | {"path": _path(weights), "get": weights.install_command} for weights in KNOWN]
        echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    from rich.table import Column, Table

    table = Table(
        Column("name", no_wrap=True), Column("GB", no_wrap=True, justify="right"), "languages", "here", "note"
    )
    for weights in KNOWN:
        table.add_row(
            weights.name,
            f"{weights.size / 1e9:.1f}",
            ", ".join(weights.languages),
            "yes" if weights.locate() else "no",
            weights.note,
        )
    print_table(table)


@app.command("pull")
def pull(name: Name) -> None:
    """Download weights from Hugging Face, or go on with a download; print where they lie.

    $HF_ENDPOINT is a mirror to use, $HF_TOKEN the token for it, $IMAPEVAL_CACHE the folder whose `models` they go to.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from imapeval.llm.providers import download
    from imapeval.llm.providers.weights import get

    weights = get(name)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(weights.name, total=weights.size)
        path = download.pull(weights, progress=lambda done, _: bar.update(task, completed=done))
        bar.update(task, completed=weights.size)
    echo(path)


@app.command("path")
def path(name: Name) -> None:
    """Print where the weights lie that `local:NAME` means."""
    from imapeval.llm.providers.weights import find_file

    echo(find_file(name))


def _path(weights: "Weights") -> str | None:
    path = weights.locate()
    return None if path is None else str(path)
