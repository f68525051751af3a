"""`imapeval cache`: the completions that were paid for."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from imapeval.cli.options import Json

app = typer.Typer(help="Completions of language models that are kept.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def info(json_output: Json = False) -> None:
    """Tell where completions are kept, how many of which model, and what they took when they were made."""
    from imapeval.llm.kept import measure, survey
    from imapeval.pipeline import completions_file

    path = completions_file()
    models = survey(path)
    size = measure(path)
    total = sum(kept.entries for kept in models)
    if json_output:
        found = {"path": str(path), "bytes": size, "entries": total, "models": [asdict(kept) for kept in models]}
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    typer.echo(f"{path}: {total:,} completions, {size / 1e6:.1f} MB")
    if not models:
        return
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(Column("model", overflow="fold"))
    for heading in ("completions", "prompt tokens", "completion tokens"):
        table.add_column(heading, justify="right")
    for kept in models:
        table.add_row(kept.model, f"{kept.entries:,}", f"{kept.prompt_tokens:,}", f"{kept.completion_tokens:,}")
    Console().print(table)


@app.command()
def clear(
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those of this model, as `imapeval cache info` calls it.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_output: Json = False,
) -> None:
    """Drop the kept completions: whatever needs them again is asked and paid for again."""
    from imapeval.llm import kept
    from imapeval.pipeline import completions_file

    path = completions_file()
    if not yes:
        count = sum(one.entries for one in kept.survey(path) if model in (None, one.model))
        typer.echo(f"completions to be dropped from {path}: {count:,}")
        typer.confirm("To have them again costs their price again. Drop them?", abort=True)
    dropped = kept.clear(path, model=model)
    if json_output:
        typer.echo(json.dumps({"path": str(path), "dropped": dropped}, ensure_ascii=False))
    else:
        typer.echo(f"completions dropped from {path}: {dropped:,}")
