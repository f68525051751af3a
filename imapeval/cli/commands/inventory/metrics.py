"""`imapeval metrics`: the metrics, what each needs, and what is missing here."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imapeval.cli.options import JsonOption
from imapeval.cli.output import echo, emit_json

if TYPE_CHECKING:
    from imapeval.metrics.base import Example, Metric

_GROUPS = {
    "imapScore, on facts": "imap",
    "Words, characters, sentence vectors": "",
    "Neural models": "weights",
    "Token probabilities": "logprobs",
    "Language model as a judge": "llm",
}
"""What a metric requires, by the title of its group; of several, the last one decides."""

_WIDTH = 80
"""Columns of a terminal."""

_NAME_WIDTH = 22
_LABEL_WIDTH = 15

app = typer.Typer(help="The metrics, and what each of them needs. Without a command: list them.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def list_all(
    context: typer.Context,
    offline: Annotated[
        bool, typer.Option("--offline", help="Only metrics that can be computed here now, without a language model.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """List the metrics."""
    if context.invoked_subcommand is not None:
        return
    from imapeval.metrics import registry
    from imapeval.metrics.on_imaps import MetricOnImaps

    found = registry.all_offline() if offline else registry.all_metrics()
    for reason in registry.unavailable().values():
        echo(f"unavailable: {reason}", err=True)
    if json_output:
        emit_json([_metric_to_dict(metric) for metric in found])
        return
    on_texts = [metric for metric in found if not isinstance(metric, MetricOnImaps)]
    for title, requirement in _GROUPS.items():
        if group := [metric for metric in on_texts if _find_requirement(metric) == requirement]:
            _print_group(title, group)
    echo(
        "`imapeval metrics show NAME`: formula, example, paper, options, variants (+N).\n"
        f"NAME+imap, NAME+imap:pairs: the metric on facts ({len(found) - len(on_texts)} more).\n"
        "geval-file:PATH: a G-Eval prompt of your own (docs/geval.md)."
    )


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, as listed by `imapeval metrics`.")],
    json_output: JsonOption = False,
) -> None:
    """Describe a metric: its formula, an example, its paper, what it needs, its options."""
    from imapeval.metrics import registry

    metric = registry.get(name)
    described = _metric_to_dict(metric)
    if json_output:
        emit_json(described)
        return
    low, high = metric.range
    example = metric.example
    echo(f"{metric.name}: {metric.summary}\n")
    for label, text in (
        ("formula", metric.formula),
        ("example", "" if example is None else _describe_example(example)),
        ("paper", metric.citation),
        ("needs", ", ".join(described["requires"]) or "question and response only"),
        ("runnable here", _describe_availability(metric)),
        ("languages", ", ".join(described["languages"])),
        ("range", f"{'unbounded' if low is None else f'{low:g}'} .. {'unbounded' if high is None else f'{high:g}'}"),
        ("better", "higher" if metric.higher_is_better else "lower"),
        ("variants", ", ".join(other.name for other in registry.all_metrics() if _is_variant(other, metric))),
    ):
        if text:
            echo(_indent(f"{label + ':':<{_LABEL_WIDTH}}", text))
    echo(f"{'signature:':<{_LABEL_WIDTH}}{metric.signature}")
    for option in described["options"]:
        echo(f"  --set {option['metric']}.{option['name']}={option['value']}    {option['description']}")
    if explained := _find_documentation(metric):
        echo(f"\n{explained}")


def _print_group(title: str, group: "list[Metric]") -> None:
    states = [_describe_availability(metric, short=True) for metric in group]
    if len(set(states)) == 1:
        state, marked = states[0], set[str]()
    elif "yes" not in states:
        state, marked = "no", set[str]()
    else:
        state, marked = (
            "yes, except *",
            {metric.name for metric, here in zip(group, states, strict=True) if here != "yes"},
        )
    echo(f"{title} (runnable here: {state})")
    for metric in group:
        if any(_is_variant(metric, other) for other in group):
            continue
        variants = sum(_is_variant(other, metric) for other in group)
        name = f"{metric.name} +{variants}" if variants else metric.name
        line = f"{'*' if metric.name in marked else ' '} {name:<{_NAME_WIDTH}} {metric.summary}"
        echo(line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…")


def _is_variant(metric: "Metric", of: "Metric") -> bool:
    """Return whether a metric is listed with another: "bleu2" and "geval:accuracy" with "bleu" and "geval"."""
    return metric is not of and type(metric) is type(of) and metric.name.startswith(of.name)


def _find_requirement(metric: "Metric") -> str:
    """Return what of `_GROUPS` a metric requires; "" if nothing of it."""
    return next((name for name in reversed(_GROUPS.values()) if name in metric.requires), "")


def _describe_availability(metric: "Metric", *, short: bool = False) -> str:
    """Return whether a metric can be computed on this computer, and if not, what it needs."""
    if missing := metric.missing_requirements:
        # The weights of each model have a name of their own.
        return "no, needs weights" if short and missing.startswith("weights") else f"no, needs {missing}"
    if "llm" in metric.requires:
        return "no, needs --llm"
    if "logprobs" in metric.requires:
        return f"no, needs --llm or --set {'NAME' if short else metric.name}.model=FOLDER"
    return "yes"


def _describe_example(example: "Example") -> str:
    texts = f'reference "{example.reference}"', f'response "{example.response}"'
    return "\n".join((*(text for text in texts if not text.endswith('""')), *example.steps))


def _indent(label: str, text: str) -> str:
    """Return a text wrapped behind its label; its lines stay lines."""
    import textwrap

    space = " " * len(label)
    lines = [
        line
        for part in text.splitlines()
        for line in textwrap.wrap(part, _WIDTH - len(label), break_on_hyphens=False) or [""]
    ]
    return label + f"\n{space}".join(lines)


def _metric_to_dict(metric: "Metric") -> dict[str, Any]:
    from imapeval.metrics.on_imaps import MetricOnImaps
    from imapeval.metrics.options import list_options

    base = metric.metric.name if isinstance(metric, MetricOnImaps) else metric.name
    return {
        "name": metric.name,
        "summary": metric.summary,
        "requires": sorted(metric.requires),
        "installed": not metric.missing_requirements,
        "missing_requirements": metric.missing_requirements,
        "languages": sorted(metric.languages),
        "range": list(metric.range),
        "higher_is_better": metric.higher_is_better,
        "citation": metric.citation,
        "formula": metric.formula,
        "example": None
        if (example := metric.example) is None
        else {name: getattr(example, name) for name in ("reference", "response", "steps", "score")},
        "signature": metric.signature,
        "options": [
            {"metric": base, "name": option.name, "description": option.description, "value": option.value}
            for option in list_options(metric)
        ],
    }


def _find_documentation(metric: "Metric") -> str:
    """Return the documentation of a metric's class, without attributes and errors, and of its module."""
    import inspect

    from imapeval.metrics.on_imaps import MetricOnImaps

    kind = type(metric.metric if isinstance(metric, MetricOnImaps) else metric)
    text, *_ = re.split(r"\n\n(?:Attributes|Raises):", inspect.getdoc(kind) or "", maxsplit=1)
    # A dataclass without a docstring has its signature as one.
    written = "" if text.startswith(f"{kind.__name__}(") else text
    return "\n\n".join(filter(None, dict.fromkeys((written, inspect.getdoc(inspect.getmodule(kind))))))
