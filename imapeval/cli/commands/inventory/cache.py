"""`imapeval cache`: cached completions of language models, and indexes of graphs."""

from typing import Annotated

import typer

from imapeval._resources import cache_folder
from imapeval.cli.options import JsonOption
from imapeval.cli.output import Column, echo, emit, emit_json
from imapeval.errors import UsageError

app = typer.Typer(
    help="Cached completions of language models and indexes of graphs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def info(json_output: JsonOption = False) -> None:
    """Show what is cached: completions and tokens by model, and indexes by graph."""
    from imapeval.evaluation.pipeline import completions_path
    from imapeval.graph.index.cache_cleanup import list_cached_indexes
    from imapeval.llm.middleware.cache_contents import disk_usage, list_models

    path = completions_path()
    models = list_models(path)
    indexes = list_cached_indexes()
    size = disk_usage(path)
    total = sum(kept.entries for kept in models)
    if json_output:
        content = {
            "path": path,
            "bytes": size,
            "entries": total,
            "models": models,
            "indexes": indexes,
        }
        emit_json(content)
        return
    echo(f"{path}: {total:,} completions, {size / 1e6:.1f} MB")
    emit(
        models,
        [
            Column("model", "model", text=True),
            Column("completions", lambda kept: f"{kept.entries:,}"),
            Column("prompt tokens", lambda kept: f"{kept.prompt_tokens:,}"),
            Column("completion tokens", lambda kept: f"{kept.completion_tokens:,}"),
        ],
    )
    size = sum(index.bytes for index in indexes)
    echo(f"{cache_folder()}: {len(indexes):,} indexes of graphs, {size / 1e6:.1f} MB")
    emit(
        indexes,
        [
            Column("index of", "kind", text=True),
            Column("hash of the graph", "graph", text=True),
            Column("encoder", "encoder", text=True),
            Column("MB", lambda index: f"{index.bytes / 1e6:.1f}"),
        ],
    )


@app.command()
def clear(
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those of this model, as named by `imapeval cache info`.")
    ] = None,
    indexes: Annotated[
        bool, typer.Option("--indexes", help="Delete the indexes of graphs instead; they are rebuilt when needed.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Delete cached completions; requests that need them again are sent and paid for again."""
    if indexes:
        if model is not None:
            raise UsageError("--indexes deletes no completions, so --model has no effect. Give only one of the two.")
        _clear_indexes(yes=yes, json_output=json_output)
        return
    from imapeval.evaluation.pipeline import completions_path
    from imapeval.llm.middleware import cache_contents

    path = completions_path()
    if model is not None:
        cache_contents.require_model(path, model)
    if not yes:
        count = sum(usage.entries for usage in cache_contents.list_models(path) if model in (None, usage.model))
        echo(f"completions to delete from {path}: {count:,}", err=True)
        typer.confirm("Getting them again has to be paid for again. Delete them?", abort=True, err=True)
    dropped = cache_contents.clear(path, model=model)
    if json_output:
        emit_json({"path": path, "dropped": dropped}, compact=True)
    else:
        echo(f"completions deleted from {path}: {dropped:,}")


def _clear_indexes(*, yes: bool, json_output: bool) -> None:
    from imapeval.graph.index.cache_cleanup import clear_cached_indexes, list_cached_indexes

    if not yes:
        found = list_cached_indexes()
        size = sum(index.bytes for index in found)
        echo(f"indexes to delete from {cache_folder()}: {len(found):,}, {size / 1e6:.1f} MB", err=True)
        typer.confirm("Rebuilding takes minutes for a large graph. Delete them?", abort=True, err=True)
    dropped = clear_cached_indexes()
    if json_output:
        emit_json({"path": cache_folder(), "dropped": dropped})
    else:
        echo(f"indexes deleted from {cache_folder()}: {len(dropped):,}")
