"""`imapeval extract`: write the imaps of texts, without scoring them."""

from collections import deque
from functools import partial
from tempfile import TemporaryFile
from typing import Annotated

import typer

from imapeval.cli.dry_run import print_dry_run
from imapeval.cli.interrupt import Interrupted
from imapeval.cli.llm_options import LlmOptions
from imapeval.cli.options import (
    DataFilesArgument,
    DataOptions,
    JsonOption,
    KgOption,
    MaxFailuresOption,
    choose_exit_code,
    expand_options,
    make_file_stem,
)
from imapeval.cli.output import echo, emit_json, require_new_file, write_lines
from imapeval.cli.progress import show_progress
from imapeval.cli.scoring import EngineOption, WorkersOption, open_workers, score_until_interrupted
from imapeval.remote import Output

_CACHED = "Removing it costs nothing: completions are cached, and only failed replies are asked for again."


@expand_options
def extract(
    data: DataFilesArgument,
    *,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="File to write, or a URL such as s3://...  [default: <data stem>-imaps.jsonl]"
        ),
    ] = None,
    data_options: DataOptions,
    llm_options: Annotated[
        LlmOptions,
        ("llm", "base_url", "votes", "concurrency", "rpm", "tpm", "price", "max_cost", "dry_run", "batch"),
    ],
    kg: KgOption = None,
    workers: WorkersOption = None,
    engine: EngineOption = None,
    max_failures: MaxFailuresOption = None,
    json_output: JsonOption = False,
) -> None:
    """Write the imaps of all samples to a file, for `imapeval score --imaps`."""
    from imapeval.evaluation.imaps_only import ImapWriter, open_extraction_pipeline
    from imapeval.evaluation.pipeline import open_ledger, open_llm
    from imapeval.evaluation.runs.usage_file import add_up_usage
    from imapeval.llm.middleware.budget import format_report

    settings = llm_options.make_settings(relating=False)
    samples = data_options.read(data)
    if llm_options.dry_run:
        print_dry_run(samples, settings, json_output=json_output)
        return
    output = Output(out or f"{make_file_stem(data[0])}-imaps.jsonl")
    pool = open_workers(engine, workers)
    if free := sum(not sample.references for sample in samples):
        echo(f"{free} of {len(samples)} samples have no reference: only question and response are read.", err=True)
    ledger = None if settings is None else open_ledger(settings)
    model = None if settings is None else open_llm(settings, ledger=ledger)
    open_parts = partial(open_extraction_pipeline, kg=kg, votes=llm_options.votes)
    parts = open_parts(llm=model)
    with (
        output.open() as path,
        add_up_usage(require_new_file(path, name=output.show(path), note="" if settings is None else _CACHED), ledger),
        TemporaryFile("w+", encoding="utf-8", newline="\n") as spool,
    ):
        store = ImapWriter(deque(sample.id for sample in samples), spool)
        try:
            with show_progress("extracting", total=len(samples), quiet=json_output) as advance:
                score_until_interrupted(
                    samples, pool=pool, open_parts=open_parts, parts=parts, llm=model, run=store, progress=advance
                )
        except Interrupted as interrupted:
            kept = "" if ledger is None else " Completed readings are cached: repeat the command to resume."
            echo(f"Stopped.{kept}", err=True)
            raise typer.Exit(interrupted.code) from interrupted
        write_lines(path, (line.rstrip("\n") for line in spool))
    failures = {sample.id: store.failures[sample.id] for sample in samples if sample.id in store.failures}
    if json_output:
        content = {
            "imaps": output.show(path),
            "samples": len(samples),
            "failures": [{"id": id_, **failure.to_dict()} for id_, failure in failures.items()],
            "usage": None if ledger is None else ledger.report(),
        }
        emit_json(content, compact=True)
    else:
        for id_, failure in failures.items():
            echo(f"{id_}: {failure.message}", err=True)
        echo(f"{len(samples) - len(failures)} of {len(samples)} samples: {output.show(path)}")
        if ledger is not None:
            echo(f"usage: {format_report(ledger.report())}")
    raise typer.Exit(choose_exit_code(failed=len(failures), samples=len(samples), max_failures=max_failures))
