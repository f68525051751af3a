"""`imapeval batch`: runs through files of requests, for servers that answer many requests later."""

import asyncio
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.llm_options import LlmOptions
from imapeval.cli.options import (
    DataArgument,
    DataOptions,
    EncoderOption,
    ImapsOption,
    JsonOption,
    KgOption,
    SetOption,
    choose_metrics,
    expand_options,
    parse_settings,
)
from imapeval.cli.output import echo, emit_json
from imapeval.cli.progress import show_indexing, show_progress
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.evaluation.forecast.dry_run import BatchExport
    from imapeval.llm.batch import ImportReport

app = typer.Typer(
    help="Read and judge texts through files of requests: OpenAI's Batch API, vllm run-batch.",
    no_args_is_help=True,
)

_SHOWN = 5
"""Examples of each problem that are printed."""


@app.command("export")
@expand_options
def export(
    data: DataArgument,
    *,
    llm: Annotated[
        str, typer.Option(metavar="SPEC", help="The model that will answer, as in `imapeval score`: openai:NAME.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the batches, the same in every step.")],
    metrics: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Metrics of the run, to include their requests.  [default: reading only]"),
    ] = None,
    set_: SetOption = None,
    llm_options: Annotated[LlmOptions, ("base_url", "votes", "relations")],
    imaps: ImapsOption = None,
    kg: KgOption = None,
    encoder: EncoderOption = "use",
    data_options: DataOptions,
    json_output: JsonOption = False,
) -> None:
    """Write the requests that are still needed to read and judge DATA: OpenAI Batch JSONL, which vLLM reads too.

    Repeat it after each import: responses are read once the questions have been, and judged once they have been read.
    Give the same options as to the `imapeval score` that follows.
    """
    from imapeval.evaluation.forecast.dry_run import export_missing, open_dry_run, require_batchable
    from imapeval.evaluation.pipeline import open_dry_run_model
    from imapeval.llm.batch import BatchFolder
    from imapeval.llm.registry import model_identity
    from imapeval.metrics.registry import select_llm_metrics

    provider, _, name = llm.partition(":")
    if provider != "openai":
        raise UsageError(
            f"--llm {llm!r} does not support batches. Give openai:NAME, also for vllm run-batch, with any --base-url. "
            "Models that run on this computer are called directly by `imapeval score`."
        )
    chosen = None if metrics is None else choose_metrics(metrics, parse_settings(set_))
    if chosen is None and set_:
        raise UsageError(f"--set {set_[0]!r} sets an option of a metric, but no metric is named. Add --metrics.")
    require_batchable(chosen or ())
    settings = replace(llm_options, llm=llm).make_settings(
        imaps=imaps, judging=bool(select_llm_metrics(chosen or ())), relating=chosen is not None
    )
    if settings is None:
        raise UsageError("--llm is empty. Give openai:NAME.")
    samples = data_options.read(data)
    with BatchFolder(out, model=(model_identity(llm, base_url=llm_options.base_url), name.strip())) as folder:
        model = open_dry_run_model(settings, reply=folder.failure_lookup())
        with show_indexing(quiet=json_output) as indexing:
            work = open_dry_run(settings, model, metrics=chosen, imaps=imaps, kg=kg, encoder=encoder, progress=indexing)
        with show_progress("looking for missing requests", total=len(samples), quiet=json_output) as advance:
            exported = asyncio.run(export_missing(samples, work, folder=folder, progress=advance))
        waiting = folder.count_waiting()
    if json_output:
        emit_json(_export_to_dict(exported, waiting), compact=True)
    else:
        _print_export(exported, waiting, out)


@app.command("import")
def import_results(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder written by `imapeval batch export`.")],
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS...", help="Result files, in any order.")],
    json_output: JsonOption = False,
) -> None:
    """Add the results of batches to the cache of completions, which every command uses."""
    from imapeval.evaluation.pipeline import open_cached_completions
    from imapeval.llm.batch import BatchFolder

    with BatchFolder(folder) as batches:
        taken = batches.import_results(results, cache=open_cached_completions(batches.identity))
        waiting = batches.count_waiting()
    if json_output:
        failed = Counter(kind for kind, _ in taken.failures.values())
        emit_json({**asdict(taken), "failed": failed, "waiting": waiting}, compact=True)
    else:
        _print_import(taken, waiting, folder)


def _export_to_dict(exported: "BatchExport", waiting: dict[str, int]) -> dict[str, object]:
    return {
        "requests": sum(file.requests for file in exported.files),
        "files": exported.files,
        "waiting": exported.waiting,
        "waiting_files": waiting,
        "samples": {
            "complete": exported.complete,
            "pending": exported.pending,
            "further": exported.further,
            "failed": exported.failed,
        },
    }


def _print_export(exported: "BatchExport", waiting: dict[str, int], folder: Path) -> None:
    for file in exported.files:
        echo(f"{file.path}: {file.requests} requests, {file.bytes / 1e6:.1f} MB")
    if exported.waiting:
        echo(
            f"{exported.waiting} requests were written before and have no result yet: {', '.join(waiting)}. Import "
            "their results, or remove a file to have its requests written again."
        )
    echo(f"samples: {exported.complete} complete, {exported.pending} waiting for these requests")
    if exported.further:
        echo(f"         {exported.further} of them need another stage: export again after the import")
    for kind, count in exported.failed.most_common():
        echo(f"         {count} failed: {kind}", err=True)
    pasted = shlex.quote(str(folder))
    if exported.files or exported.waiting:
        echo(f"next:    submit the files, then run: imapeval batch import {pasted} RESULTS.jsonl")
    else:
        echo(f"next:    nothing is missing: run `imapeval score` with the same options and --batch {pasted}")


def _print_import(taken: "ImportReport", waiting: dict[str, int], folder: Path) -> None:
    tokens = f"{taken.prompt_tokens} prompt and {taken.completion_tokens} completion tokens"
    if taken.uncounted:
        tokens += f"; {taken.uncounted} results have no usable count"
    echo(f"{taken.new} completions added to the cache ({tokens}), {taken.known} were already there")
    for kind, count in Counter(kind for kind, _ in taken.failures.values()).most_common():
        message = next(message for found, message in taken.failures.values() if found == kind)
        echo(f"{count} failed: {kind}, for example: {message}", err=True)
    _print_lines("different from the cached completion, which is kept", taken.differing)
    _print_lines("for requests that were not exported to this folder", taken.foreign)
    _print_lines("not a result", [f"{location}: {why}" for location, why in taken.unreadable.items()])
    for name, count in waiting.items():
        echo(f"{folder / name}: {count} requests have no result yet")
    echo("next: repeat the same `imapeval batch export` to write what is missing")


def _print_lines(what: str, lines: Sequence[str]) -> None:
    if lines:
        more = "" if len(lines) <= _SHOWN else f"\n  and {len(lines) - _SHOWN} more"
        echo(f"{what}: {len(lines)} lines\n  " + "\n  ".join(lines[:_SHOWN]) + more, err=True)
