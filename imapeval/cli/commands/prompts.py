"""`imapeval prompts`: what language models are asked."""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from imapeval.cli.options import Json
from imapeval.cli.output import echo
from imapeval.errors import UsageError

app = typer.Typer(help="Prompts that language models get.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_all(json_output: Json = False) -> None:
    """List the prompts, with the SHA-256 of each file."""
    rows = [_prompt_to_dict(path) for path in _find_prompts().values()]
    if json_output:
        echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        echo(f"{row['name']:{width}}  {row['sha256']}")


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `imapeval prompts list` calls it.")],
    json_output: Json = False,
) -> None:
    """Print the file of a prompt."""
    known = _find_prompts()
    if name not in known:
        raise UsageError(f"no prompt is called {name!r}. There are: {', '.join(known)}.")
    text = known[name].read_text(encoding="utf-8")
    if json_output:
        echo(json.dumps({**_prompt_to_dict(known[name]), "text": text}, ensure_ascii=False, indent=2))
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
