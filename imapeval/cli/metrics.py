"""`imapeval metrics`: what can be computed."""

import json
from typing import Any

import typer

from imapeval.cli.options import Json


def metrics(json_output: Json = False) -> None:
    """List the metrics."""
    from imapeval.metrics import registry

    rows: list[dict[str, Any]] = [
        {
            "name": metric.name,
            "summary": metric.summary,
            "requires": sorted(metric.requires),
            "installed": True,  # the registry holds what can be built with the installed packages
            "languages": sorted(metric.languages),
            "range": list(metric.range),
            "higher_is_better": metric.higher_is_better,
            "citation": metric.citation,
            "signature": metric.signature,
        }
        for metric in registry.all_metrics()
    ]
    if json_output:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("metric", "what it is", "needs", "languages")
    for row in rows:
        table.add_row(row["name"], row["summary"], ", ".join(row["requires"]) or "-", ", ".join(row["languages"]))
    Console().print(table)
