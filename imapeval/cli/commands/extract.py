"""`imapeval extract`: write the imaps of texts, without scoring them."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.dry_run import print_dry_run
from imapeval.cli.interrupt import Interrupted, run_until_interrupted
from imapeval.cli.llm_options import LlmOptions
from imapeval.cli.options import (
    DataFiles,
    DataOptions,
    Json,
    Kg,
    MaxFailures,
    exit_code,
    expand_options,
    make_file_stem,
)
from imapeval.cli.output import echo, emit_json, require_new_file, write_lines
from imapeval.cli.progress import show_progress
from imapeval.types import Failure, Imap, Sample

if TYPE_CHECKING:
    from imapeval.extraction.protocols import Extractor


@expand_options
def extract(
    data: DataFiles,
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write.  [default: <data stem>-imaps.jsonl]")
    ] = None,
    data_options: DataOptions,
    llm_options: Annotated[
        LlmOptions,
        ("llm", "base_url", "votes", "concurrency", "rpm", "tpm", "price", "max_cost", "dry_run", "batch"),
    ],
    kg: Kg = None,
    max_failures: MaxFailures = None,
    json_output: Json = False,
) -> None:
    """Write the imaps of all samples to a file, for `imapeval score --imaps`."""
    from imapeval.evaluation.pipeline import open_extractor, open_graph, open_ledger, open_llm
    from imapeval.evaluation.runs.usage_file import add_up_usage
    from imapeval.llm.middleware.budget import format_report

    settings = llm_options.make_settings(relating=False)
    samples = data_options.read(data)
    if llm_options.dry_run:
        print_dry_run(samples, settings, json_output=json_output)
        return
    path = require_new_file(out or Path(f"{make_file_stem(data[0])}-imaps.jsonl"))
    if free := sum(not sample.references for sample in samples):
        echo(f"{free} of {len(samples)} samples have no reference: only question and response are read.", err=True)
    ledger = None if settings is None else open_ledger(settings)
    model = None if settings is None else open_llm(settings, ledger=ledger)
    extractor = open_extractor(open_graph(kg), llm=model, votes=llm_options.votes)
    with add_up_usage(path, ledger):
        try:
            with show_progress("extracting", total=len(samples), quiet=json_output) as advance:
                failures = run_until_interrupted(lambda stop: _write_imaps(samples, extractor, path, advance, stop))
        except Interrupted as interrupted:
            echo("Stopped. Completed readings are cached: repeat the command to resume.", err=True)
            raise typer.Exit(interrupted.code) from interrupted
        if json_output:
            content = {
                "imaps": path,
                "samples": len(samples),
                "failures": [
                    {"id": id_, "stage": f.stage, "kind": f.kind, "message": f.message} for id_, f in failures.items()
                ],
                "usage": None if ledger is None else ledger.report(),
            }
            emit_json(content, compact=True)
        else:
            for id_, failure in failures.items():
                echo(f"{id_}: {failure.message}", err=True)
            echo(f"{len(samples) - len(failures)} of {len(samples)} samples: {path}")
            if ledger is not None:
                echo(f"usage: {format_report(ledger.report())}")
    raise typer.Exit(exit_code(failed=len(failures), samples=len(samples), max_failures=max_failures))


async def _write_imaps(
    samples: Sequence[Sample],
    extractor: "Extractor",
    path: Path,
    advance: Callable[[int], None],
    stop: asyncio.Event,
) -> dict[str, Failure]:
    """Write the imaps in the order of the samples, and return the failures by sample id."""
    from imapeval.evaluation import imap_files
    from imapeval.evaluation.extract import extract as extract_all
    from imapeval.evaluation.imap_files import ImapRecord

    found: dict[str, Sequence[Imap] | Failure] = {}
    async for sample, imaps in extract_all(samples, extractor=extractor, stop=stop):
        found[sample.id] = imaps
        advance(1)
    failures = {sample.id: made for sample in samples if isinstance(made := found.get(sample.id), Failure)}
    if stop.is_set():
        return failures
    lines = (
        imap_files.dump_record(ImapRecord(sample.id, imap, None))
        for sample in samples
        if not isinstance(imaps := found[sample.id], Failure)
        for imap in imaps
    )
    write_lines(path, lines)
    return failures
