"""`imapeval cache`: the completions that were paid for, and the indexes of graphs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imapeval._resources import cache_folder
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.graph.leftovers import CachedIndex

app = typer.Typer(
    help="Completions of language models and indexes of graphs that are kept.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def info(json_output: Json = False) -> None:
    """Tell what is kept where: completions of which models, and what they took; indexes of which graphs."""
    from imapeval.evaluation.pipeline import completions_path
    from imapeval.graph.leftovers import survey_cache
    from imapeval.llm.middleware.cache_contents import disk_usage, list_models

    path = completions_path()
    models = list_models(path)
    indexes = survey_cache()
    size = disk_usage(path)
    total = sum(cache_contents.entries for kept in models)
    if json_output:
        found = {
            "path": str(path),
            "bytes": size,
            "entries": total,
            "models": [asdict(kept) for kept in models],
            "indexes": [_index_to_dict(index) for index in indexes],
        }
        echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    echo(f"{path}: {total:,} completions, {size / 1e6:.1f} MB")
    _print_table(
        ("model", "completions", "prompt tokens", "completion tokens"),
        [
            (
                cache_contents.model,
                f"{cache_contents.entries:,}",
                f"{cache_contents.prompt_tokens:,}",
                f"{cache_contents.completion_tokens:,}",
            )
            for kept in models
        ],
    )
    size = sum(index.bytes for index in indexes)
    echo(f"{cache_folder()}: {len(indexes):,} indexes of graphs, {size / 1e6:.1f} MB")
    _print_table(
        ("index of", "hash of the graph", "encoder", "MB"),
        [(index.kind, index.graph, index.encoder, f"{index.bytes / 1e6:.1f}") for index in indexes],
    )


@app.command()
def clear(
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those of this model, as `imapeval cache info` calls it.")
    ] = None,
    indexes: Annotated[
        bool, typer.Option("--indexes", help="Drop the indexes of graphs instead; whatever needs one makes it again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_output: Json = False,
) -> None:
    """Drop the kept completions: whatever needs them again is asked and paid for again."""
    if indexes:
        if model is not None:
            raise UsageError("--indexes drops no completions, so that --model says nothing. Give one of the two.")
        _clear_indexes(yes=yes, json_output=json_output)
        return
    from imapeval.evaluation.pipeline import completions_path
    from imapeval.llm.middleware import cache_contents

    path = completions_path()
    if not yes:
        count = sum(one.entries for one in cache_contents.list_models(path) if model in (None, one.model))
        echo(f"completions to be dropped from {path}: {count:,}")
        typer.confirm("To have them again costs their price again. Drop them?", abort=True)
    dropped = cache_contents.clear(path, model=model)
    if json_output:
        echo(json.dumps({"path": str(path), "dropped": dropped}, ensure_ascii=False))
    else:
        echo(f"completions dropped from {path}: {dropped:,}")


def _clear_indexes(*, yes: bool, json_output: bool) -> None:
    from imapeval.graph.leftovers import clear_cache, survey_cache

    if not yes:
        found = survey_cache()
        size = sum(index.bytes for index in found)
        echo(f"indexes to be dropped from {cache_folder()}: {len(found):,}, {size / 1e6:.1f} MB")
        typer.confirm("To have them again takes minutes for a large graph. Drop them?", abort=True)
    dropped = clear_cache()
    if json_output:
        shown = {"path": str(cache_folder()), "dropped": [_index_to_dict(index) for index in dropped]}
        echo(json.dumps(shown, ensure_ascii=False, indent=2))
    else:
        echo(f"indexes dropped from {cache_folder()}: {len(dropped):,}")


def _index_to_dict(index: "CachedIndex") -> dict[str, Any]:
    return {**asdict(index), "paths": [str(path) for path in index.paths]}


def _print_table(headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows as a table, texts to the left and numbers to the right; nothing where there are none."""
    if not rows:
        return
    from rich.table import Table

    table = Table()
    for heading, cell in zip(headings, rows[0], strict=True):
        table.add_column(heading, overflow="fold", justify="right" if cell[:1].isdigit() else "left")
    for row in rows:
        table.add_row(*row)
    print_table(table)
