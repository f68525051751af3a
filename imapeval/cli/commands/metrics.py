"""`imapeval metrics`: what can be computed, what each needs, and what is lacking here."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric

app = typer.Typer(help="What can be computed, and what each metric needs.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def list_all(
    context: typer.Context,
    offline: Annotated[
        bool, typer.Option("--offline", help="Only what can be computed here as it is, without a language model.")
    ] = False,
    json_output: Json = False,
) -> None:
    """List the metrics."""
    if context.invoked_subcommand is not None:
        return
    from imapeval.metrics import registry
    from imapeval.metrics.on_imaps import OnImaps

    found = registry.all_offline() if offline else registry.all_metrics()
    if json_output:
        echo(json.dumps([_metric_to_dict(metric) for metric in found], ensure_ascii=False, indent=2))
        return
    from rich.table import Table

    table = Table()
    for title in ("metric", "what it is", "needs", "in", "here"):
        table.add_column(title, no_wrap=title == "metric")
    for metric in found:
        if not isinstance(metric, OnImaps):
            needs = ", ".join(sorted(metric.requires)) or "-"
            table.add_row(
                metric.name, metric.summary, needs, ", ".join(sorted(metric.languages)), "no" if metric.lacks else "yes"
            )
    print_table(table)
    on_imaps = sum(isinstance(metric, OnImaps) for metric in found)
    echo(
        f"and {on_imaps} of them on imaps: NAME+imap (values) and NAME+imap:pairs (terms and values);\n"
        "and your own G-Eval prompt: geval-file:PATH (docs/geval.md).\n"
        "imapeval metrics show NAME tells what each is, what it needs and what can be set."
    )


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `imapeval metrics` calls it.")],
    json_output: Json = False,
) -> None:
    """Tell what a metric is, what it needs, and what can be set."""
    from imapeval.metrics import registry

    metric = registry.get(name)
    told = _metric_to_dict(metric)
    if json_output:
        echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    low, high = metric.range
    echo(f"{metric.name}: {metric.summary}\n")
    for label, text in (
        ("paper", metric.citation),
        ("needs", ", ".join(told["requires"]) or "question and response only"),
        ("languages", ", ".join(told["languages"])),
        ("range", f"{'unbounded' if low is None else f'{low:g}'} .. {'unbounded' if high is None else f'{high:g}'}"),
        ("better", "higher" if metric.higher_is_better else "lower"),
        ("lacks here", metric.lacks or "nothing"),
        ("signature", metric.signature),
    ):
        echo(f"{label + ':':<12}{text}")
    for option in told["options"]:
        echo(f"  --set {option['metric']}.{option['name']}={option['value']}    {option['told']}")
    if explained := _find_documentation(metric):
        echo(f"\n{explained}")


def _metric_to_dict(metric: "Metric") -> dict[str, Any]:
    from imapeval.metrics.on_imaps import OnImaps
    from imapeval.metrics.options import list_options

    base = metric.metric.name if isinstance(metric, OnImaps) else metric.name
    return {
        "name": metric.name,
        "summary": metric.summary,
        "requires": sorted(metric.requires),
        "installed": not metric.lacks,
        "lacks": metric.lacks,
        "languages": sorted(metric.languages),
        "range": list(metric.range),
        "higher_is_better": metric.higher_is_better,
        "citation": metric.citation,
        "signature": metric.signature,
        "options": [
            {"metric": base, "name": option.name, "told": option.told, "value": option.value}
            for option in list_options(metric)
        ],
    }


def _find_documentation(metric: "Metric") -> str:
    """Return the documentation of what computes a metric, which says its empty cases."""
    import inspect

    from imapeval.metrics.on_imaps import OnImaps

    module = inspect.getmodule(type(metric.metric if isinstance(metric, OnImaps) else metric))
    return inspect.getdoc(module) or ""
