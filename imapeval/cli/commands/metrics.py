"""`imapeval metrics`: the metrics, what each needs, and what is missing here."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from imapeval.cli.options import Json
from imapeval.cli.output import Column, echo, emit, emit_json

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric

app = typer.Typer(help="The metrics, and what each of them needs.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def list_all(
    context: typer.Context,
    offline: Annotated[
        bool, typer.Option("--offline", help="Only metrics that can be computed here now, without a language model.")
    ] = False,
    json_output: Json = False,
) -> None:
    """List the metrics."""
    if context.invoked_subcommand is not None:
        return
    from imapeval.metrics import registry
    from imapeval.metrics.on_imaps import MetricOnImaps

    found = registry.all_offline() if offline else registry.all_metrics()
    if json_output:
        emit_json([_metric_to_dict(metric) for metric in found])
        return
    emit(
        [metric for metric in found if not isinstance(metric, MetricOnImaps)],
        [
            Column("metric", lambda metric: metric.name, text=True, wrap=False),
            Column("what it is", lambda metric: metric.summary, text=True),
            Column("needs", lambda metric: ", ".join(sorted(metric.requires)) or None, text=True),
            Column("in", lambda metric: ", ".join(sorted(metric.languages)), text=True),
            Column("here", lambda metric: "no" if metric.missing_requirements else "yes", text=True),
        ],
    )
    on_imaps = sum(isinstance(metric, MetricOnImaps) for metric in found)
    echo(
        f"{on_imaps} more are computed on imaps: NAME+imap (values) and NAME+imap:pairs (terms and values).\n"
        "geval-file:PATH is a G-Eval prompt of your own (docs/geval.md).\n"
        "`imapeval metrics show NAME` describes a metric, its requirements and its options."
    )


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, as listed by `imapeval metrics`.")],
    json_output: Json = False,
) -> None:
    """Describe a metric: what it is, what it needs, and its options."""
    from imapeval.metrics import registry

    metric = registry.get(name)
    described = _metric_to_dict(metric)
    if json_output:
        emit_json(described)
        return
    low, high = metric.range
    echo(f"{metric.name}: {metric.summary}\n")
    for label, text in (
        ("paper", metric.citation),
        ("needs", ", ".join(described["requires"]) or "question and response only"),
        ("languages", ", ".join(described["languages"])),
        ("range", f"{'unbounded' if low is None else f'{low:g}'} .. {'unbounded' if high is None else f'{high:g}'}"),
        ("better", "higher" if metric.higher_is_better else "lower"),
        ("missing", metric.missing_requirements or "nothing"),
        ("signature", metric.signature),
    ):
        echo(f"{label + ':':<12}{text}")
    for option in described["options"]:
        echo(f"  --set {option['metric']}.{option['name']}={option['value']}    {option['told']}")
    if explained := _find_documentation(metric):
        echo(f"\n{explained}")


def _metric_to_dict(metric: "Metric") -> dict[str, Any]:
    from imapeval.metrics.on_imaps import MetricOnImaps
    from imapeval.metrics.options import list_options

    base = metric.metric.name if isinstance(metric, MetricOnImaps) else metric.name
    return {
        "name": metric.name,
        "summary": metric.summary,
        "requires": sorted(metric.requires),
        "installed": not metric.missing_requirements,
        "lacks": metric.missing_requirements,
        "languages": sorted(metric.languages),
        "range": list(metric.range),
        "higher_is_better": metric.higher_is_better,
        "citation": metric.citation,
        "signature": metric.signature,
        "options": [
            {"metric": base, "name": option.name, "told": option.description, "value": option.value}
            for option in list_options(metric)
        ],
    }


def _find_documentation(metric: "Metric") -> str:
    """Return the documentation of the module that computes a metric, which defines its edge cases."""
    import inspect

    from imapeval.metrics.on_imaps import MetricOnImaps

    module = inspect.getmodule(type(metric.metric if isinstance(metric, MetricOnImaps) else metric))
    return inspect.getdoc(module) or ""
