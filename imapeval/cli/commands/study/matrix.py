"""`imapeval study matrix`."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from imapeval.cli.commands.study.inputs import Metrics, RunFolders, read_rated
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table

if TYPE_CHECKING:
    from imapeval.study.data.findings import MetricMatrix


def matrix(folders: RunFolders, metrics: Metrics = None, json_output: Json = False) -> None:
    """Tell which metrics say the same: each with each other, over all answers, rated or not."""
    from imapeval.study.correlation.metric_matrix import correlate_metrics

    found = correlate_metrics(read_rated(folders, metrics=metrics, unrated=True).rated)
    if json_output:
        echo(json.dumps(asdict(found), ensure_ascii=False, indent=2))
        return
    _print(found)
    echo(
        f"Each pair over the answers that both scored, {found.smallest} or more; {found.n} have a score of every "
        "metric. Metrics of which a low score is good are turned round."
    )
    for sentence in _describe_clusters(found):
        echo(sentence)


def _print(found: "MetricMatrix") -> None:
    from rich.table import Table
    from rich.text import Text

    from imapeval.study.number_format import format_number

    table = Table("", title="Spearman's rho, similar metrics together", title_justify="left")
    for number in range(len(found.metrics)):
        table.add_column(str(number + 1), justify="right", no_wrap=True)
    for number, (metric, row) in enumerate(zip(found.metrics, found.values, strict=True), 1):
        table.add_row(Text(f"{number} {metric}"), *("-" if value is None else format_number(value) for value in row))
    # Where nobody looks at a terminal nothing is cut off, however many metrics there are.
    print_table(table, width=60 + 8 * len(found.metrics))


def _describe_clusters(found: "MetricMatrix") -> list[str]:
    """Return the merges as sentences, nearest first."""
    groups = [[metric] for metric in found.metrics]
    said: list[str] = []
    for first, second, distance, _ in found.merges:
        groups.append(groups[first] + groups[second])
        said.append(f"{distance:.3f}: {', '.join(groups[first])} with {', '.join(groups[second])}")
    return ["Clusters, by 1 - |rho| (average linkage):", *said]
