"""`imapeval prompts`: the prompts that language models are given."""

import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer

from imapeval.cli.options import JsonOption
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json
from imapeval.errors import unknown_name

app = typer.Typer(help="The prompts that language models are given.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_all(json_output: JsonOption = False) -> None:
    """List the prompts, with the SHA-256 of each file."""
    rows = [_prompt_to_dict(path) for path in _find_prompts().values()]
    if json_output:
        emit_json(rows)
        return
    columns = [
        Column("name", lambda row: row["name"], text=True, wrap=False),
        Column("sha256", lambda row: row["sha256"], text=True, wrap=False),
    ]
    emit(rows, columns, width=UNLIMITED)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, as listed by `imapeval prompts list`.")],
    json_output: JsonOption = False,
) -> None:
    """Print a prompt file."""
    known = _find_prompts()
    if name not in known:
        raise unknown_name("prompt", name, known, fix="`imapeval prompts list` lists all.")
    text = known[name].read_text(encoding="utf-8")
    if json_output:
        emit_json({**_prompt_to_dict(known[name]), "text": text})
    else:
        echo(text, nl=False)


def _find_prompts() -> dict[str, Path]:
    from imapeval import _resources

    return {path.stem: path for path in sorted(_resources.find("prompts").glob("*.*.v*.md"))}


def _prompt_to_dict(path: Path) -> dict[str, Any]:
    task, lang, version = path.stem.split(".")
    return {
        "name": path.stem,
        "task": task,
        "language": lang,
        "version": int(version.removeprefix("v")),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
