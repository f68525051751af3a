"""`imapeval export`: the facts of a run, for the prompts of judges elsewhere."""

import json
from pathlib import Path
from typing import Annotated

import typer

from imapeval.cli.options import Json
from imapeval.cli.output import echo
from imapeval.errors import InputError, UsageError
from imapeval.files import replace_file


def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write.  [default: <run>-context.jsonl]")
    ] = None,
    json_output: Json = False,
) -> None:
    """Write imaps and matches of a run as texts that go into the prompt of another judge, a line for each answer."""
    from imapeval.evaluation.runs import Run
    from imapeval.explain.context import iterate_contexts

    run = Run(folder)
    path = out or Path(f"{folder.resolve().name}-context.jsonl")
    if path.exists():
        raise UsageError(f"{path} exists. Choose another file with --out, or remove it.")
    lines = list(iterate_contexts(run))
    told = sum(line["context"] is not None for line in lines)
    if not told:
        raise InputError(
            "holds no imaps", path=folder, fix="Score with a metric that reads them, such as --metrics imapscore."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror}). Choose another file with --out.") from error
    if json_output:
        echo(json.dumps({"context": str(path), "answers": len(lines), "with_imaps": told}, ensure_ascii=False))
    else:
        echo(f"{told} of {len(lines)} answers: {path}")
