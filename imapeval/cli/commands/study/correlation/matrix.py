"""`imapeval study matrix`."""

from typing import TYPE_CHECKING, Annotated

from imapeval.cli.commands.study.inputs import RunFoldersArgument, StudyOptions
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import Column, echo, emit, emit_json

if TYPE_CHECKING:
    from imapeval.study.correlation.metric_matrix import MetricMatrix


@expand_options
def matrix(
    folders: RunFoldersArgument,
    options: Annotated[StudyOptions, ("metrics", "scores")],
    json_output: JsonOption = False,
) -> None:
    """Correlate the metrics with each other over all answers, rated or not, to find those that say the same."""
    from imapeval.study.correlation.metric_matrix import correlate_metrics

    found = correlate_metrics(options.read(folders, unrated=True).rated)
    if json_output:
        emit_json(found)
        return
    _print(found)
    echo(
        f"Each pair over the answers that both scored, {found.smallest} or more; {found.n} have a score of every "
        "metric. Metrics for which a low score is good are reversed."
    )
    echo("\n".join(["Clusters, by 1 - |rho| (average linkage):", *_describe_clusters(found)]))


def _print(found: "MetricMatrix") -> None:
    from imapeval.study.number_format import format_number

    rows = [(f"{number} {metric}", found.values[number - 1]) for number, metric in enumerate(found.metrics, 1)]
    columns = [Column("", lambda row: row[0], text=True)]
    columns += [
        Column(f"{place + 1}", lambda row, place=place: row[1][place], write=format_number, wrap=False)
        for place in range(len(rows))
    ]
    # Wide enough for any number of metrics where the output is not a terminal.
    emit(rows, columns, title="Spearman's rho, similar metrics together", width=60 + 8 * len(rows))


def _describe_clusters(found: "MetricMatrix") -> list[str]:
    """Return the merges of clusters as text, the nearest first."""
    from imapeval.study.number_format import format_decimal

    groups = [[metric] for metric in found.metrics]
    merges: list[str] = []
    for first, second, distance, _ in found.merges:
        groups.append(groups[first] + groups[second])
        merges.append(f"{format_decimal(distance)}: {', '.join(groups[first])} with {', '.join(groups[second])}")
    return merges
