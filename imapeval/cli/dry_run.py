"""`--dry-run`: the calls to a language model, their tokens and their cost, without sending any."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.cli.output import Column, echo, emit, emit_json
from imapeval.cli.progress import show_indexing, show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.forecast.usage import UsageForecast
    from imapeval.evaluation.pipeline import LlmSettings
    from imapeval.llm.prices import Price
    from imapeval.metrics.base import Metric
    from imapeval.types import Sample


def print_dry_run(
    samples: "Sequence[Sample]",
    settings: "LlmSettings | None",
    *,
    metrics: "Sequence[Metric] | None" = None,
    imaps: Path | None = None,
    kg: Path | None = None,
    encoder: str = "use",
    relatings: int = 1,
    json_output: bool,
) -> None:
    """Print calls, tokens and price. Nothing is sent and nothing is written.

    Args:
        samples: Samples to read and judge.
        settings: Settings of the model; None if no model is named.
        metrics: Metrics of the run; None if texts are only read.
        imaps: A file of ready-made imaps.
        kg: A graph instead of the shipped one.
        encoder: Sentence encoder, see `open_dry_run`.
        relatings: How often each reading is related; see `imapeval study repeat`.
        json_output: Print JSON.
    """
    from imapeval.evaluation.forecast.dry_run import open_dry_run
    from imapeval.evaluation.forecast.simulated_replies import simulate_reply
    from imapeval.evaluation.forecast.usage import forecast_usage
    from imapeval.evaluation.forecast.without_logprobs import forecast_without_logprobs, needs_logprobs, omit_logprobs
    from imapeval.evaluation.pipeline import open_dry_run_model, open_ledger
    from imapeval.llm import tokens
    from imapeval.metrics.registry import select_llm_metrics
    from imapeval.study.robustness.repeated_scoring import repeat_relating

    reads = imaps is None and (metrics is None or any("imap" in metric.requires for metric in metrics))
    judges = [metric.name for metric in select_llm_metrics(metrics or ())]
    if settings is None or not (reads or judges or settings.relations):
        if json_output:
            emit_json({"samples": len(samples), "calls": 0, "cached": 0, "usd": 0.0}, compact=True)
        else:
            echo(f"{len(samples)} samples: no language model is used, nothing is sent and nothing has to be paid")
        return
    price = open_ledger(settings).price
    model = open_dry_run_model(settings, reply=simulate_reply)
    with show_indexing(quiet=json_output) as indexing:
        work = open_dry_run(settings, model, metrics=metrics, imaps=imaps, kg=kg, encoder=encoder, progress=indexing)
    if relatings > 1 and work.extractor is not None and work.matcher is not None:
        extractor, matcher = repeat_relating(work.extractor, work.matcher, relatings)
        work = replace(work, extractor=extractor, matcher=matcher)
    count = partial(tokens.count, settings.spec)
    with show_progress("counting", total=len(samples), quiet=json_output) as advance:
        forecast: UsageForecast = asyncio.run(forecast_usage(samples, work, count=count, progress=advance))
    most: UsageForecast | None = None
    if needs_logprobs(work, forecast):
        other = open_dry_run_model(settings, reply=omit_logprobs)
        with show_progress("counting without log-probabilities", total=len(samples), quiet=json_output) as advance:
            counting = forecast_without_logprobs(
                samples, work, other, usual=forecast, votes=settings.votes, count=count, progress=advance
            )
            most = asyncio.run(counting)
    repeated = sum(task.repeated_tokens for task in forecast.tasks)
    usd, most_usd = (None if price is None or of is None else price.cost_of(of.usage) for of in (forecast, most))
    least = None if price is None else price.cost_of(replace(forecast.usage, reused_tokens=repeated))
    if json_output:
        record = {
            "samples": len(samples),
            "questions": forecast.questions,
            "references": forecast.references,
            "responses": forecast.responses,
            "judges": judges,
            "votes": settings.votes,
            "calls": forecast.calls,
            "supposed": sum(task.supposed for task in forecast.tasks),
            "cached": sum(task.cached for task in forecast.tasks),
            "prompt_tokens": forecast.usage.prompt_tokens,
            "prompt_tokens_exact": forecast.exact,
            "repeated_tokens": repeated,
            "completion_tokens": forecast.usage.completion_tokens,
            "usd": usd,
            "usd_with_prefix_cache": least,
            "without_logprobs": None
            if most is None
            else {
                "calls": most.calls,
                "prompt_tokens": most.usage.prompt_tokens,
                "completion_tokens": most.usage.completion_tokens,
                "usd": most_usd,
            },
            "price": price,
            "tasks": forecast.tasks,
            "assumed": forecast.assumed,
            "failed": forecast.failed,
        }
        emit_json(record)
    else:
        _print_texts(forecast, settings, reads=reads, judges=judges)
        _print_plan(forecast)
        _print_price(price, usd, least, most_usd)
        _print_assumptions(forecast, most)


def _print_texts(forecast: "UsageForecast", settings: "LlmSettings", *, reads: bool, judges: "Sequence[str]") -> None:
    votes = f", each read {settings.votes} times" if settings.votes > 1 else ""
    texts = f"{forecast.questions} questions, {forecast.references} references, {forecast.responses} responses"
    echo(f"{settings.spec}: {texts}{votes if reads else ''}")
    if judges:
        echo(f"judged by {', '.join(judges)}")


def _print_plan(forecast: "UsageForecast") -> None:
    rows = {
        task.name: [
            *(task.calls, task.supposed, task.cached),
            *(task.calls - task.cached, task.prompt_tokens, task.repeated_tokens, task.completion_tokens),
        ]
        for task in forecast.tasks
    }
    rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)] or [0] * 7
    headings = ("calls", "supposed", "cached", "to send", "tokens\nin", "of them\nrepeated", "tokens\nout")
    columns = [Column("request", lambda name: name, text=True, wrap=False)]
    columns += [
        Column(heading, lambda name, index=index: f"{rows[name][index]:,}") for index, heading in enumerate(headings)
    ]
    emit(rows, columns, width=100)
    if rows["all"][3]:
        echo("tokens in:  " + ("counted with the model's tokenizer" if forecast.exact else "estimated"))
        seen = ", ".join(f"{task.seen} of {task.name}" for task in forecast.tasks if task.seen)
        basis = f"means of cached completions: {seen}" if seen else "typical values of strong models"
        echo(f"tokens out: expected, from {basis}")


def _print_price(price: "Price | None", usd: float | None, least: float | None, most: float | None) -> None:
    if price is None or usd is None:
        echo("price:      unknown; give it with --price IN,OUT")
        return
    more = "" if most is None else f", or {most:.4f} USD if the server returns no log-probabilities"
    echo(
        f"price:      about {usd:.4f} USD{more}, at {price.prompt:g} and {price.completion:g} USD per million tokens "
        f"({price.source})"
    )
    if least is not None and least < usd:
        echo(f"            about {least:.4f} USD if the server has the repeated beginnings of prompts in its cache")


def _print_assumptions(forecast: "UsageForecast", most: "UsageForecast | None") -> None:
    for text in forecast.assumed:
        echo(f"assumed:    {text}")
    if most is not None:
        asking = ", ".join(f"{task.with_logprobs:,} of {task.name}" for task in forecast.tasks if task.with_logprobs)
        echo(
            f"assumed:    the server returns log-probabilities ({asking}). If it does not, as with reasoning models, "
            "a rating is the mean of several completions, by the metric's option `samples` or by --votes, whichever is "
            f"more: about {most.calls:,} calls in all"
        )
    for kind, count in forecast.failed.most_common():
        echo(f"{count} samples cannot be read or judged: {kind}", err=True)
    echo("Nothing was sent. Repeated requests after unusable completions are not included.")
