"""`imapeval models`: weights of local language models, for `--llm local:NAME`."""

from dataclasses import asdict
from typing import Annotated

import typer

from imapeval.cli.options import JsonOption
from imapeval.cli.output import Column, echo, emit, emit_json

app = typer.Typer(help="Weights of language models that run on this computer, for --llm local:NAME.")

NameArgument = Annotated[str, typer.Argument(help="Name, as listed by `imapeval models list`.")]


@app.command("list")
def list_(json_output: JsonOption = False) -> None:
    """List the known weights, and which of them are on this computer."""
    from imapeval.llm.providers.weights import KNOWN

    if json_output:
        emit_json([asdict(weights) | {"path": weights.locate(), "get": weights.install_command} for weights in KNOWN])
        return
    emit(
        KNOWN,
        [
            Column("name", "name", text=True, wrap=False),
            Column("GB", lambda weights: f"{weights.size / 1e9:.1f}", wrap=False),
            Column("languages", "languages", write=", ".join, text=True),
            Column("here", lambda weights: "yes" if weights.locate() else "no", text=True),
            Column("note", "note", text=True),
        ],
    )


@app.command("pull")
def pull(name: NameArgument) -> None:
    """Download weights from Hugging Face, or resume a download, and print their path.

    $HF_ENDPOINT: a mirror; $HF_TOKEN: an access token. Weights are stored in the folder `models` of $IMAPEVAL_CACHE.
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
def path(name: NameArgument) -> None:
    """Print the path of the weights that `local:NAME` uses."""
    from imapeval.llm.providers.weights import find_file

    echo(find_file(name))
