"""`imapeval score`: score the responses of a file."""

import re
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imapeval.cli.ci_checks import CheckOptions, print_verdicts
from imapeval.cli.dry_run import print_dry_run
from imapeval.cli.interrupt import Interrupted
from imapeval.cli.llm_options import LlmOptions
from imapeval.cli.options import (
    DEVICES,
    REFERENCES,
    DataFilesArgument,
    DataOptions,
    DeviceOption,
    EncoderOption,
    GivenOptions,
    ImapsOption,
    JsonOption,
    KgOption,
    MaxFailuresOption,
    ReferencesOption,
    SetOption,
    choose_exit_code,
    choose_metrics,
    choose_one,
    expand_options,
    make_file_stem,
    parse_settings,
)
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, interval_column
from imapeval.cli.progress import show_indexing, show_progress
from imapeval.cli.scoring import EngineOption, WorkersOption, open_workers, score_until_interrupted
from imapeval.errors import ServiceError
from imapeval.remote import Output

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from imapeval.llm.middleware.budget import Ledger
    from imapeval.report.spread import MetricSpread
    from imapeval.report.summary import SummaryRow
    from imapeval.types import Sample

DEFAULT_METRICS = "imapscore,imapscore:paper,imapscore:mean,rouge1,rouge2,rougeL,bleu,chrf"
LLM_METRICS = f"blend,judge,{DEFAULT_METRICS}"
"""The default with a language model: the recommended score first, then its two halves."""

MAX_IDS = 10
"""Maximum number of answers listed as too close to call; `--json` lists all."""

MAX_KINDS = 3
"""Maximum number of kinds of failures, most frequent first, with a sample message; `results.jsonl` has all."""

_MAX_CHARACTERS = 500
"""Maximum length of such a message, in characters: it may quote a reply or a text."""


@expand_options
def score(
    data: DataFilesArgument,
    *,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the run, or a URL such as s3://...  [default: runs/<data stem>-<date>-<time>]",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Metrics, or all-offline for all that need no language model.  "
            f"[default: {DEFAULT_METRICS}; with --llm also blend,judge]",
        ),
    ] = None,
    set_: SetOption = None,
    references: ReferencesOption = "mean",
    device: DeviceOption = "auto",
    llm_options: LlmOptions,
    imaps: ImapsOption = None,
    data_options: DataOptions,
    kg: KgOption = None,
    encoder: EncoderOption = "use",
    workers: WorkersOption = None,
    engine: EngineOption = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Also write the table of results as parquet or xlsx, or as shards: Parquet files with a row per "
            "answer and metric.",
        ),
    ] = None,
    max_failures: MaxFailuresOption = None,
    checks: CheckOptions,
    json_output: JsonOption = False,
    options: GivenOptions,
) -> None:
    """Score the responses of a file against its references.

    Without --llm everything runs on this computer, with a lexicon, a knowledge graph and two small models that are
    part of imapeval. To resume a run that was stopped, repeat the command with its --out.
    """
    from imapeval.evaluation.evaluate import make_run_settings
    from imapeval.evaluation.forecast.dry_run import require_batchable
    from imapeval.evaluation.imap_files import RecordedImaps
    from imapeval.evaluation.pipeline import open_ledger, open_llm, open_pipeline
    from imapeval.evaluation.runs import Run, RunWriter, TableFormat, check_format, export_table, format_command
    from imapeval.evaluation.stores import UnusableReplyGuard
    from imapeval.llm.middleware.budget import format_report
    from imapeval.metrics.registry import select_llm_metrics
    from imapeval.report.run_page import write_report
    from imapeval.report.spread import measure_spread
    from imapeval.report.summary import summarise
    from imapeval.report.thresholds import check_ranges, parse_thresholds, require_contradiction_counts

    default = DEFAULT_METRICS if llm_options.llm is None else LLM_METRICS
    chosen = choose_metrics(default if metrics is None else metrics, parse_settings(set_))
    joined = choose_one(references, "--references", REFERENCES)
    thresholds = parse_thresholds(checks.threshold or (), chosen, option="--threshold")
    check_ranges(thresholds, {metric.name: metric.range for metric in chosen}, option="--threshold")
    if checks.max_contradictions is not None:
        require_contradiction_counts(metric.name for metric in chosen)
    checks.check_files()
    formats: list[TableFormat] = ["csv"]
    if format_ is not None:
        formats.append(choose_one(format_, "--format", ("parquet", "shards", "xlsx")))
        check_format(formats[-1])
    if llm_options.batch is not None:
        require_batchable(chosen)
    settings = llm_options.make_settings(imaps=imaps, judging=bool(select_llm_metrics(chosen)))
    samples = data_options.read(data)
    if llm_options.dry_run:
        print_dry_run(samples, settings, metrics=chosen, imaps=imaps, kg=kg, encoder=encoder, json_output=json_output)
        return
    ledger = None if settings is None else open_ledger(settings)
    llm = None if settings is None else open_llm(settings, ledger=ledger)
    pool = open_workers(engine, workers, gpu=device == "cuda")
    with show_indexing(quiet=json_output) as progress:
        open_parts = partial(
            open_pipeline,
            chosen,
            votes=llm_options.votes,
            relations=settings is not None and settings.relations,
            imaps=imaps,
            kg=kg,
            encoder=encoder,
            device=choose_one(device, "--device", DEVICES),
        )
        ready = open_parts(llm=llm, progress=progress)
    if isinstance(ready.extractor, RecordedImaps):
        ready.extractor.check(samples)
    destination = out or f"runs/{make_file_stem(data[0])}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    output = Output(destination)
    identity = make_run_settings(ready, references=joined, seed=data_options.seed)
    with output.open() as folder:
        with (
            _resumable(destination, ledger=ledger),
            RunWriter(
                folder,
                samples,
                settings=identity,
                source=" ".join(data),
                command=sys.argv,
                options=options,
                ledger=ledger,
            ) as run,
            show_progress("scoring", total=len(samples), quiet=json_output) as advance,
        ):
            score_until_interrupted(
                samples,
                pool=pool,
                open_parts=open_parts,
                parts=ready,
                llm=llm,
                references=joined,
                run=UnusableReplyGuard(run, samples=len(samples), allowed=max_failures or 0),
                progress=advance,
            )
        done = Run(folder)
        outcomes, names = done.contents.outcomes, [metric.name for metric in ready.metrics]
        rows = summarise(done.contents.samples, outcomes, metrics=names, ranges=identity.ranges, seed=data_options.seed)
        tables = [output.show(export_table(done, kind)) for kind in formats]
        report = output.show(write_report(folder, run=done, rows=rows))
        verdicts = checks.check_run(done, thresholds, rows=rows, metrics=ready.metrics)
    questions = {sample.id: sample.question for sample in samples} if outcomes.repeated else {}
    spreads = measure_spread(outcomes.repeated, thresholds, questions=questions, seed=data_options.seed)
    kinds = Counter(outcomes.count_failed())
    failed = kinds.pop("")
    failures = [
        {"kind": kind, "samples": count, "example": outcomes.find_message(kind)} for kind, count in kinds.most_common()
    ]
    missing = _count_missing(samples)
    if json_output:
        content = {
            "run": output.show(folder),
            "table": tables[0],
            "tables": tables,
            "report": report,
            "samples": len(samples),
            "failed": failed,
            "failures": failures,
            "missing": missing[""],
            "usage": None if ledger is None else ledger.report(),
            "summary": [asdict(row) | {"missing": missing[row.system]} for row in rows],
            "thresholds": [verdict.to_dict() for verdict in verdicts],
            "spread": [spread.to_dict() for spread in spreads],
        }
        emit_json(content)
    else:
        _print_summary(rows, missing)
        _print_spreads(spreads)
        echo(f"run:    {output.show(folder)}\ntable:  {', '.join(tables)}\nreport: {report}")
        if ledger is not None:
            echo(f"usage:  {format_report(ledger.report())}")
        if failed:
            file = output.show(folder / "results.jsonl")
            _print_failures(failures, f"{failed} of {len(samples)} samples failed", file=file)
            firsts = (message.first for messages in outcomes.failures.values() for message in messages.values())
            if llm is not None and llm_options.batch is None and not all(result.final for result in firsts):
                command = format_command(sys.argv, out=destination)
                echo(f"To ask the model for the failed replies again: {command}", err=True)
    print_verdicts(verdicts, quiet=json_output)
    missed = any(not verdict.met for verdict in verdicts)
    raise typer.Exit(int(missed) or choose_exit_code(failed=failed, samples=len(samples), max_failures=max_failures))


@contextmanager
def _resumable(destination: str, *, ledger: "Ledger | None") -> "Generator[None]":
    """Tell the user how to resume a run that stops early."""
    from imapeval.evaluation.runs import format_command
    from imapeval.llm.middleware.budget import format_report

    command = format_command(sys.argv, out=destination)
    try:
        yield
    except Interrupted as interrupted:
        # Results are written in batches, so there may be none yet although texts have been read.
        kept = "" if ledger is None else f" Completions are kept in the cache: {format_report(ledger.report())}."
        echo(f"Stopped.{kept} To resume: {command}", err=True)
        raise typer.Exit(interrupted.code) from interrupted
    except ServiceError as error:
        if error.kind == "over-budget":
            # The same limit would stop it again at once.
            command, given = re.subn(r"(?<= --max-cost)[ =]\S+", " MORE", command)
            command += "" if given else " --max-cost MORE"
        raise ServiceError(f"{error} To resume: {command}", kind=error.kind) from error


def _print_failures(failures: "Sequence[Mapping[str, Any]]", how_many: str, *, file: str) -> None:
    """Print the number of failures of each kind, and a message of each of the most frequent ones."""
    from imapeval.report.markdown import shorten_line

    counts = ", ".join(f"{row['kind']}: {row['samples']}" for row in failures)
    echo(f"{how_many} ({counts}); see {file}. Examples:", err=True)
    for row in failures[:MAX_KINDS]:
        echo(f"  {row['kind']}: {shorten_line(row['example'], _MAX_CHARACTERS)}", err=True)


def _count_missing(samples: "Sequence[Sample]") -> Counter[str]:
    """Return how many samples have no response, by `SummaryRow.system`."""
    from imapeval.evaluation.samples import name_system_group

    missing = Counter(name_system_group(sample) for sample in samples if not sample.answered)
    return Counter({"": missing.total(), **missing})


def _print_summary(rows: "Sequence[SummaryRow]", missing: "Mapping[str, int]") -> None:
    """Print a row per metric and system; columns that would say nothing are left out."""
    from imapeval.report.summary import describe_mean, format_contradictions
    from imapeval.study.intervals.coverage import describe_mean_coverage
    from imapeval.study.number_format import format_score, write_score

    columns = [Column("metric", "metric", text=True, wrap=False)]
    if any(row.system for row in rows):
        columns.append(Column("system", lambda row: row.system or "all", text=True))
    columns += [Column("scored", "n"), Column("failed", "failed")]
    if missing[""]:
        columns.append(Column("of them\nmissing", lambda row: missing[row.system]))
    if any(row.contradictions is not None for row in rows):
        columns.append(Column("contra-\ndictions", "contradictions", write=format_contradictions))
    columns += [Column("mean", "mean", write=format_score), interval_column(write=write_score)]
    emit(rows, columns, width=UNLIMITED)
    for sentence in describe_mean_coverage(row.resampled for row in rows):
        echo(sentence)
    for row in rows:
        if said := describe_mean(row):
            echo(f"{row.metric}{f', {row.system}' if row.system else ''}: {said}")


def _print_spreads(spreads: "Sequence[MetricSpread]") -> None:
    """Print how far repeated scores move, and which answers lie too close to the threshold of their metric."""
    from imapeval.study.number_format import format_percent, format_score

    if not spreads:
        return
    columns = [
        Column("metric", "metric", text=True, wrap=False),
        Column("answers", lambda row: len(row.answers)),
        Column("readings", "readings"),
        Column("ratings", "judgements"),
        Column("sd of\none score", "sd", write=format_score),
        Column("sd of\nthe mean", "sd_of_mean", write=format_score),
    ]
    judged = [row for row in spreads if row.flips is not None]
    if judged:
        columns += [
            Column(word.replace("too close ", "too close\n"), lambda row, word=word: row.count(word))
            for word in ("pass", "fail", "too close to call")
        ]
        columns += [
            Column("one score\nflips", "flips", write=partial(format_percent, digits=3)),
            Column("the mean\nflips", "flips_of_mean", write=partial(format_percent, digits=3)),
        ]
    emit(spreads, columns, title="Repeated scores", width=UNLIMITED)
    for row in judged:
        close = [answer.id for answer in row.answers if answer.verdict is not None and answer.verdict.too_close]
        if close:
            more = f" and {len(close) - MAX_IDS} more" if len(close) > MAX_IDS else ""
            echo(f"{row.metric}, too close to call: {', '.join(close[:MAX_IDS])}{more}")
