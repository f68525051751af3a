"""`imapeval study repeat`."""

import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.dry_run import print_dry_run
from imapeval.cli.interrupt import Interrupted, run_until_interrupted
from imapeval.cli.llm_options import MODEL_SPECS, LlmOptions
from imapeval.cli.options import (
    DataArgument,
    DataOptions,
    EncoderOption,
    JsonOption,
    KgOption,
    SetOption,
    choose_metrics,
    expand_options,
    parse_settings,
)
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_interval
from imapeval.cli.progress import show_indexing, show_progress
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.robustness.repeated_scoring import RepeatFinding


@expand_options
def repeat(
    data: DataArgument,
    *,
    llm: Annotated[str, typer.Option(metavar="SPEC", help=f"The language model: {MODEL_SPECS}.")],
    votes: Annotated[
        int,
        typer.Option(
            min=2, metavar="N", help="Number of readings, of relatings of each reading, and of judgements of each."
        ),
    ] = 3,
    metrics: Annotated[
        str, typer.Option(metavar="A,B", help="Metrics on imaps, and judges.")
    ] = "imapscore,judge,blend",
    set_: SetOption = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="Count the answers that change sides of this score when scored again. Repeatable.",
        ),
    ] = None,
    llm_options: Annotated[
        LlmOptions, ("base_url", "relations", "concurrency", "rpm", "tpm", "price", "max_cost", "dry_run")
    ],
    data_options: DataOptions,
    kg: KgOption = None,
    encoder: EncoderOption = "use",
    json_output: JsonOption = False,
) -> None:
    """Score some answers again and again with a language model, to learn how sure one score is and what to repeat.

    Every text is read N times, every reading is related N times, and each of these is judged N times. To resume a
    command that was stopped, repeat it: completions are cached.
    """
    from imapeval.evaluation.evaluate import evaluate_to_store
    from imapeval.evaluation.pipeline import Pipeline, completions_path, open_ledger, open_llm, open_pipeline
    from imapeval.evaluation.runs.usage_file import add_up_usage
    from imapeval.evaluation.stores import InMemoryStore
    from imapeval.llm.middleware.budget import format_report
    from imapeval.report.thresholds import check_ranges, parse_thresholds
    from imapeval.study.robustness import repeated_scoring

    chosen = repeated_scoring.sample_ratings(choose_metrics(metrics, parse_settings(set_)))
    thresholds = parse_thresholds(threshold or (), chosen, option="--threshold")
    check_ranges(thresholds, {metric.name: metric.range for metric in chosen}, option="--threshold")
    settings = replace(llm_options, llm=llm, votes=votes).make_settings(judging=True)
    if settings is None:
        raise UsageError(f"--llm is empty. Give {MODEL_SPECS}.")
    samples = data_options.read(data)
    if settings.relations and not any("imap" in metric.requires for metric in chosen):
        settings = replace(settings, relations=False)
    relatings = votes if settings.relations else 1
    if llm_options.dry_run:
        print_dry_run(
            samples, settings, metrics=chosen, kg=kg, encoder=encoder, relatings=relatings, json_output=json_output
        )
        return
    ledger = open_ledger(settings)
    model = open_llm(settings, ledger=ledger)
    reading = repeated_scoring.UsageByTask(model)
    with show_indexing(quiet=json_output) as indexing:
        ready = open_pipeline(
            chosen, llm=reading, votes=votes, relations=settings.relations, kg=kg, encoder=encoder, progress=indexing
        )
    judges, judging = repeated_scoring.count_usage_by_judge(ready.metrics, model, votes=votes)
    extractor, matcher = ready.extractor, ready.matcher
    if extractor is not None and matcher is not None:
        extractor, matcher = repeated_scoring.repeat_relating(extractor, matcher, relatings)
    parts, store = Pipeline(judges, extractor, matcher), InMemoryStore()
    # There is no output beside which the usage could stand until the command has succeeded.
    work = [model.identity, votes, relatings, [metric.signature for metric in judges], samples]
    digest = hashlib.sha256(repr(work).encode(errors="backslashreplace")).hexdigest()
    try:
        with (
            add_up_usage(completions_path().with_name(f"repeat-{digest[:16]}"), ledger),
            show_progress("scoring", total=len(samples), quiet=json_output) as advance,
        ):
            run_until_interrupted(
                lambda stop: evaluate_to_store(samples, parts, run=store, progress=advance, stop=stop), llm=model
            )
    except Interrupted as interrupted:
        echo("Stopped. Completions so far are cached: repeat the command to resume.", err=True)
        raise typer.Exit(interrupted.code) from interrupted
    limits = {limit.metric: limit.value for limit in thresholds}
    rows = [
        repeated_scoring.measure_repeats(
            repeated_scoring.gather_scores(metric, samples, store.results, votes=votes, relatings=relatings),
            threshold=limits.get(metric.name),
            higher_is_better=metric.higher_is_better,
            cost=repeated_scoring.find_costs(
                metric,
                reading,
                judging.get(metric.name),
                answers=len(samples),
                votes=votes,
                relatings=relatings,
                price=ledger.price,
            ),
            unit="tokens" if ledger.price is None else "USD",
            seed=data_options.seed,
        )
        for metric in chosen
    ]
    if json_output:
        emit_json({"metrics": rows, "samples": len(samples), "usage": ledger.report()})
        return
    _print_variance(rows)
    _print_flips(rows)
    for row in rows:
        echo(row.advice)
        if row.variance is not None and row.variance.negative:
            echo(f"{row.metric}: estimated below 0, and shown as 0: {', '.join(row.variance.negative)}.")
    if left := max(row.incomplete for row in rows):
        echo(
            f"Up to {left} of {len(samples)} answers are left out, because a repetition of theirs has no score.",
            err=True,
        )
    echo(f"usage: {format_report(ledger.report())}")


def _print_variance(rows: "Sequence[RepeatFinding]") -> None:
    from imapeval.study.number_format import format_number, format_percent, write_coefficient

    def show_share(part: float | None, row: "RepeatFinding") -> str | None:
        if row.variance is None or part is None:
            return None
        parts = (row.variance.answers, row.variance.reading, row.variance.relating, row.variance.judging)
        total = sum(each for each in parts if each is not None)
        return format_percent(part / total) if total else "0%"

    columns = [
        Column("metric", "metric", text=True, wrap=False),
        Column("answers", "answers", wrap=False),
        Column("mean", "mean", write=format_number, wrap=False),
        Column("sd of\none score", lambda row: row.variance and row.variance.sd, format_number, wrap=False),
        Column(
            "95% interval",
            lambda row: (
                row.variance and format_interval(row.variance.low, row.variance.high, digits=2, write=write_coefficient)
            ),
            wrap=False,
        ),
        Column("sd with\n--votes", lambda row: row.variance and row.variance.sd_with_votes, format_number, wrap=False),
    ]
    columns += [
        Column(part, lambda row, part=part: show_share(getattr(row.variance, part, None), row), wrap=False)
        for part in ("answers", "reading", "relating", "judging")
    ]
    emit(rows, columns, title="How sure one score is, and where its variance comes from", width=UNLIMITED)


def _print_flips(rows: "Sequence[RepeatFinding]") -> None:
    from imapeval.study.number_format import format_percent

    flips = [(row.metric, flips) for row in rows for flips in row.flips]

    show = partial(format_percent, digits=3)
    columns = [
        Column("metric", lambda pair: pair[0], text=True, wrap=False),
        Column("threshold", lambda pair: f"{pair[1].threshold:g}", wrap=False),
        Column("votes", lambda pair: pair[1].votes, wrap=False),
        Column("measured", lambda pair: pair[1].measured, show, wrap=False),
        Column("predicted", lambda pair: pair[1].predicted, show, wrap=False),
    ]
    emit(flips, columns, title="Answers that change sides when scored again", width=UNLIMITED)
