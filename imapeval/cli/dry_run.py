"""`--dry-run`: what reading texts with a language model would take, without asking it."""

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from imapeval.cli.progress import show_progress
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.llm.prices import Price
    from imapeval.pipeline import LlmSettings
    from imapeval.planning import Plan
    from imapeval.types import Sample


def tell(
    samples: "Sequence[Sample]",
    settings: "LlmSettings | None",
    *,
    ready: bool = False,
    judges: "Sequence[str]" = (),
    json_output: bool,
) -> None:
    """Print calls, tokens and price. Nothing is sent and nothing is written.

    Args:
        samples: What would be read.
        settings: By which model; None where none is needed.
        ready: Whether there are ready imaps, so that only relations would be asked for.
        judges: Metrics that ask the model, too.
        json_output: Print JSON.
    """
    from imapeval.llm import tokens
    from imapeval.llm.client import Usage
    from imapeval.pipeline import open_extractor, open_graph, open_ledger, open_rehearsal
    from imapeval.planning import Plan, plan, suppose

    if judges:
        raise UsageError(
            f"--dry-run cannot tell what {', '.join(judges)} would ask: it depends on what the texts say. Leave them "
            "out, or score a few samples with them (--limit) and see the usage."
        )
    if ready and settings is not None:
        raise UsageError("--dry-run cannot tell how many values --relations llm would ask about: leave one out.")
    if settings is None:
        nothing: dict[str, Any] = {"samples": len(samples), "calls": 0, "cached": 0, "usd": 0.0}
        text = f"{len(samples)} samples: no language model is asked, nothing is sent and nothing is to be paid"
        typer.echo(json.dumps(nothing) if json_output else text)
        return
    price = open_ledger(settings).price
    spec = settings.spec
    rehearsal = open_rehearsal(settings, reply=suppose)
    extractor = open_extractor(open_graph(), llm=rehearsal, votes=settings.votes)
    with show_progress("counting", total=len(samples), quiet=json_output) as advance:
        found: Plan = asyncio.run(
            plan(
                samples,
                extractor=extractor,
                rehearsal=rehearsal,
                count=lambda texts: tokens.count(spec, texts),
                progress=advance,
            )
        )
    prompt = sum(task.prompt_tokens for task in found.tasks)
    completion = sum(task.completion_tokens for task in found.tasks)
    usd = None if price is None else price.of(Usage(prompt, completion))
    if json_output:
        record = {
            "samples": len(samples),
            "questions": found.questions,
            "references": found.references,
            "responses": found.responses,
            "votes": settings.votes,
            "calls": sum(task.calls for task in found.tasks),
            "cached": sum(task.cached for task in found.tasks),
            "prompt_tokens": prompt,
            "prompt_tokens_exact": found.exact,
            "completion_tokens": completion,
            "usd": usd,
            "price": None if price is None else asdict(price),
            "tasks": [asdict(task) for task in found.tasks],
            "failed": found.failed,
        }
        typer.echo(json.dumps(record, ensure_ascii=False, indent=2))
    else:
        _print(found, settings, price, usd)


def _print(found: "Plan", settings: "LlmSettings", price: "Price | None", usd: float | None) -> None:
    from rich.console import Console
    from rich.table import Table

    votes = f", each read {settings.votes} times" if settings.votes > 1 else ""
    typer.echo(
        f"{settings.spec}: {found.questions} questions, {found.references} references, {found.responses} responses"
        f"{votes}"
    )
    table = Table("request")
    for title in ("calls", "cached", "to send", "tokens in", "tokens out"):
        table.add_column(title, justify="right")
    rows = {
        task.name: [task.calls, task.cached, task.calls - task.cached, task.prompt_tokens, task.completion_tokens]
        for task in found.tasks
    }
    rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)] or [0] * 5
    for name, numbers in rows.items():
        table.add_row(name, *(f"{number:,}" for number in numbers))
    Console().print(table)
    if rows["all"][2]:
        typer.echo("tokens in:  " + ("counted with the model's tokenizer" if found.exact else "estimated"))
        seen = ", ".join(f"{task.seen} of {task.name}" for task in found.tasks if task.seen)
        basis = f"the means of those in the cache: {seen}" if seen else "what is typical of strong models"
        typer.echo(f"tokens out: expected, by {basis}")
    if price is None or usd is None:
        typer.echo("price:      not known; give it with --price IN,OUT")
    else:
        typer.echo(
            f"price:      about {usd:.4f} USD, at {price.prompt:g} and {price.completion:g} USD per million tokens "
            f"({price.source})"
        )
    for kind, count in found.failed.most_common():
        typer.echo(f"{count} samples cannot be read: {kind}", err=True)
    also = " and what --relations llm asks about values" if settings.relations else ""
    typer.echo(f"Nothing was sent. Second requests, where the first completion is no use,{also} come on top.")
