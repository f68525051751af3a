"""`imapeval score`: the main job."""

import json
import re
import shlex
import sys
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from imapeval.cli.ci_checks import (
    Junit,
    MaxContradictions,
    Summary,
    Thresholds,
    check_output_files,
    check_run,
    print_verdicts,
)
from imapeval.cli.dry_run import print_dry_run
from imapeval.cli.interrupt import Interrupted, run_until_interrupted
from imapeval.cli.llm_options import make_llm_settings
from imapeval.cli.options import (
    BaseUrl,
    Batch,
    Concurrency,
    Data,
    DryRun,
    Encoder,
    Imaps,
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
    References,
    Relations,
    Rpm,
    Set,
    Tpm,
    Votes,
    choose_metrics,
    exit_code,
    make_file_stem,
    parse_columns,
    parse_device,
    parse_references,
    parse_settings,
)
from imapeval.cli.output import echo
from imapeval.cli.progress import show_indexing, show_progress
from imapeval.errors import ServiceError
from imapeval.redaction import redact
from imapeval.types import Failure

DEFAULT_METRICS = "imapscore,imapscore:paper,imapscore:mean,rouge1,rouge2,rougeL,bleu,chrf"


def score(
    data: Data,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The run's folder.  [default: runs/<data stem>-<date>-<time>]")
    ] = None,
    metrics: Annotated[
        str, typer.Option(metavar="A,B", help="Which metrics; all-offline for those that need no language model.")
    ] = DEFAULT_METRICS,
    set_: Set = None,
    references: References = "mean",
    device: Annotated[str, typer.Option(help="Where metrics put their models: auto, cpu, cuda or mps.")] = "auto",
    llm: Llm = None,
    base_url: BaseUrl = None,
    votes: Votes = 1,
    relations: Relations = None,
    concurrency: Concurrency = None,
    rpm: Rpm = None,
    tpm: Tpm = None,
    price: Price = None,
    max_cost: MaxCost = None,
    dry_run: DryRun = False,
    batch: Batch = None,
    imaps: Imaps = None,
    loader: Loader = None,
    map_: Map = None,
    missing: Missing = None,
    kg: Kg = None,
    encoder: Encoder = "use",
    limit: Limit = None,
    max_failures: MaxFailures = None,
    threshold: Thresholds = None,
    max_contradictions: MaxContradictions = None,
    junit: Junit = None,
    summary: Summary = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    json_output: Json = False,
) -> None:
    """Score the responses of a file against its references.

    Without --llm everything happens on this computer: a lexicon, a knowledge graph and a sentence encoder that come
    with imapeval. A run that was stopped goes on when the command is repeated with its --out.
    """
    from imapeval.cli.summary import count_missing, print_summary
    from imapeval.evaluation import evaluate
    from imapeval.evaluation.forecast.dry_run import require_batchable, select_llm_metrics
    from imapeval.evaluation.pipeline import open_ledger, open_llm, open_pipeline
    from imapeval.evaluation.runs import Run, RunWriter, export_csv
    from imapeval.evaluation.samples import read
    from imapeval.llm.middleware.budget import format_report
    from imapeval.report.run_page import write_report
    from imapeval.report.summary import summarise
    from imapeval.report.thresholds import check_ranges, parse_thresholds, require_contradiction_counts

    chosen = choose_metrics(metrics, parse_settings(set_))
    joined = parse_references(references)
    limits = parse_thresholds(threshold or (), chosen, option="--threshold")
    check_ranges(limits, chosen, option="--threshold")
    if max_contradictions is not None:
        require_contradiction_counts((metric.name for metric in chosen), option="--max-contradictions")
    check_output_files(junit, summary)
    if batch is not None:
        require_batchable(chosen)
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
        imaps=imaps,
        relations=relations,
        judging=bool(select_llm_metrics(chosen)),
    )
    samples = read(data, loader=loader, columns=parse_columns(map_), missing=missing or (), limit=limit)
    if dry_run:
        print_dry_run(samples, settings, metrics=chosen, imaps=imaps, kg=kg, encoder=encoder, json_output=json_output)
        return
    ledger = None if settings is None else open_ledger(settings)
    with show_indexing(quiet=json_output) as progress:
        ready = open_pipeline(
            chosen,
            llm=None if settings is None else open_llm(settings, ledger=ledger),
            votes=votes,
            relations=settings is not None and settings.relations,
            imaps=imaps,
            kg=kg,
            encoder=encoder,
            device=parse_device(device),
            progress=progress,
        )
    folder = out or Path("runs") / f"{make_file_stem(data)}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    identity = evaluate.make_run_settings(
        ready.metrics,
        extractor=ready.extractor,
        matcher=ready.matcher,
        references=joined,
        seed=seed,
        resources=ready.resources,
    )
    try:
        with (
            RunWriter(folder, samples, settings=identity, source=data, command=sys.argv, ledger=ledger) as run,
            show_progress("scoring", total=len(samples), quiet=json_output) as advance,
        ):
            run_until_interrupted(
                lambda stop: evaluate.evaluate(
                    samples,
                    metrics=ready.metrics,
                    extractor=ready.extractor,
                    matcher=ready.matcher,
                    references=joined,
                    run=run,
                    progress=advance,
                    stop=stop,
                )
            )
    except Interrupted as interrupted:
        echo(f"Stopped. To go on: {_resume_command(folder)}", err=True)
        raise typer.Exit(interrupted.code) from interrupted
    except ServiceError as error:
        command = _resume_command(folder)
        if error.kind == "over-budget" and max_cost is not None:
            # With the same limit it would stop again at once.
            command = re.sub(r"(?<= --max-cost)[ =]\S+", " MORE", command)
        raise ServiceError(f"{error} To go on: {command}", kind=error.kind) from error
    done = Run(folder)
    results = done.results()
    table = export_csv(done)
    report = write_report(folder)
    rows = summarise(samples, results, metrics=[metric.name for metric in ready.metrics], seed=seed)
    verdicts = check_run(
        done,
        limits,
        samples=samples,
        results=results,
        rows=rows,
        metrics=ready.metrics,
        max_contradictions=max_contradictions,
        junit=junit,
        summary=summary,
    )
    failed = {result.id for result in results if not result.scored}
    lacking = count_missing(samples)
    if json_output:
        found = {
            "run": str(folder),
            "table": str(table),
            "report": str(report),
            "samples": len(samples),
            "failed": len(failed),
            "missing": lacking[""],
            "usage": None if ledger is None else ledger.report(),
            "summary": [asdict(row) | {"missing": lacking[row.system]} for row in rows],
            "thresholds": [verdict.to_dict() for verdict in verdicts],
        }
        echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        print_summary(rows, missing=lacking)
        echo(f"run:    {folder}\ntable:  {table}\nreport: {report}")
        if ledger is not None:
            echo(f"usage:  {format_report(ledger.report())}")
        if failed:
            reasons = Counter(
                kind for _, kind in {(r.id, r.outcome.kind) for r in results if isinstance(r.outcome, Failure)}
            )
            told = ", ".join(f"{kind}: {count}" for kind, count in reasons.most_common())
            echo(f"{len(failed)} of {len(samples)} samples failed ({told}); {folder}/results.jsonl says why.", err=True)
    print_verdicts(verdicts, quiet=json_output)
    missed = any(not verdict.met for verdict in verdicts)
    raise typer.Exit(int(missed) or exit_code(failed=len(failed), samples=len(samples), max_failures=max_failures))


def _resume_command(folder: Path) -> str:
    command = ["imapeval", *sys.argv[1:]]
    given = any(part.partition("=")[0] == "--out" for part in command)
    return shlex.join(map(redact, command if given else [*command, "--out", str(folder)]))
