"""`imapeval extract`: texts to imaps, without scoring them."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.dry_run import print_dry_run
from imapeval.cli.interrupt import Interrupted, run_until_interrupted
from imapeval.cli.llm_options import make_llm_settings
from imapeval.cli.options import (
    BaseUrl,
    Batch,
    Concurrency,
    Data,
    DryRun,
    Json,
    Kg,
    Limit,
    Llm,
    Loader,
    Map,
    MaxCost,
    MaxFailures,
    Missing,
    Price,
    Rpm,
    Tpm,
    Votes,
    exit_code,
    make_file_stem,
    parse_columns,
)
from imapeval.cli.output import echo
from imapeval.cli.progress import show_progress
from imapeval.errors import UsageError
from imapeval.files import replace_file
from imapeval.types import Failure, Imap, Sample

if TYPE_CHECKING:
    from imapeval.extraction.extractor import Extractor


def extract(
    data: Data,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write.  [default: <data stem>-imaps.jsonl]")
    ] = None,
    loader: Loader = None,
    map_: Map = None,
    missing: Missing = None,
    limit: Limit = None,
    llm: Llm = None,
    base_url: BaseUrl = None,
    votes: Votes = 1,
    concurrency: Concurrency = None,
    rpm: Rpm = None,
    tpm: Tpm = None,
    price: Price = None,
    max_cost: MaxCost = None,
    dry_run: DryRun = False,
    batch: Batch = None,
    kg: Kg = None,
    max_failures: MaxFailures = None,
    json_output: Json = False,
) -> None:
    """Write the imaps of all samples to a file that `imapeval score --imaps` takes."""
    from imapeval.evaluation.pipeline import open_extractor, open_graph, open_ledger, open_llm
    from imapeval.evaluation.samples import read
    from imapeval.llm.middleware.budget import format_report

    settings = make_llm_settings(
        llm,
        base_url=base_url,
        votes=votes,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        price=price,
        max_cost=max_cost,
        batch=batch,
    )
    samples = read(data, loader=loader, columns=parse_columns(map_), missing=missing or (), limit=limit)
    if dry_run:
        print_dry_run(samples, settings, json_output=json_output)
        return
    path = out or Path(f"{make_file_stem(data)}-imaps.jsonl")
    if path.exists():
        raise UsageError(f"{path} exists. Choose another file with --out, or remove it.")
    if free := sum(not sample.references for sample in samples):
        told = f"{free} of {len(samples)} samples have no reference: their imaps are of question and response alone."
        echo(told, err=True)
    ledger = None if settings is None else open_ledger(settings)
    model = None if settings is None else open_llm(settings, ledger=ledger)
    extractor = open_extractor(open_graph(kg), llm=model, votes=votes)
    try:
        with show_progress("extracting", total=len(samples), quiet=json_output) as advance:
            failures = run_until_interrupted(lambda stop: _write_imaps(samples, extractor, path, advance, stop))
    except Interrupted as interrupted:
        echo("Stopped. What the model has read is kept: the same command goes on.", err=True)
        raise typer.Exit(interrupted.code) from interrupted
    if json_output:
        listed = [{"id": id_, "stage": f.stage, "kind": f.kind, "message": f.message} for id_, f in failures.items()]
        usage = None if ledger is None else ledger.report()
        told = {"imaps": str(path), "samples": len(samples), "failures": listed, "usage": usage}
        echo(json.dumps(told, ensure_ascii=False))
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
    """Write the imaps in the order of the samples; return why there are none, by sample id."""
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, "".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror}). Choose another file with --out.") from error
    return failures
