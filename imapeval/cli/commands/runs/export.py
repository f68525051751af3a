"""`imapeval export`: the facts of a run as text, for the prompts of other judges."""

import json
from pathlib import Path
from typing import Annotated

import typer

from imapeval.cli.options import JsonOption
from imapeval.cli.output import echo, emit_json, require_new_file, write_lines
from imapeval.errors import InputError


def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write.  [default: <run>-context.jsonl]")
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Write the imaps and matches of a run as text for the prompt of another judge, one line per answer."""
    from imapeval.evaluation.runs import Run
    from imapeval.evaluation.samples.spool import spool
    from imapeval.explain.context import iterate_contexts

    run = Run(folder)
    path = require_new_file(out or Path(f"{folder.resolve().name}-context.jsonl"))
    lines = spool(iterate_contexts(run))
    with_imaps = sum(line["context"] is not None for line in lines)
    if not with_imaps:
        raise InputError(
            "holds no imaps", path=folder, fix="Score with a metric that reads them, such as --metrics imapscore."
        )
    write_lines(path, (json.dumps(line, ensure_ascii=False) for line in lines))
    if json_output:
        emit_json({"context": path, "answers": len(lines), "with_imaps": with_imaps}, compact=True)
    else:
        echo(f"{with_imaps} of {len(lines)} answers: {path}")
