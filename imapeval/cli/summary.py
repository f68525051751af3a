"""The table at the end of `imapeval score`."""

from collections import Counter
from typing import TYPE_CHECKING

from imapeval.cli.output import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.report.summary import SummaryRow
    from imapeval.types import Sample


def count_missing(samples: "Sequence[Sample]") -> Counter[str]:
    """Return how many samples have no response, by `SummaryRow.system`."""
    from imapeval.report.summary import label_system

    missing = [sample for sample in samples if not sample.answered]
    return Counter({"": len(missing), **Counter(map(label_system, missing))})


def print_summary(rows: "Sequence[SummaryRow]", *, missing: "Mapping[str, int]") -> None:
    """Print the rows as a table.

    Args:
        rows: What each metric gave.
            Where one counts contradictions, they have a column of their own.
        missing: How many of those that failed have no response, by system; a column of its own where there are any.
    """
    from rich.table import Table

    from imapeval.report.summary import format_contradictions

    several = any(row.system for row in rows)
    table = Table()
    table.add_column("metric", no_wrap=True)
    if several:
        table.add_column("system")
    told = ("of them\nmissing",) if missing[""] else ()
    counted = ("contra-\ndictions",) if any(row.contradictions is not None for row in rows) else ()
    for title in ("scored", "failed", *told, *counted, "mean", "95% interval"):
        table.add_column(title, justify="right")
    for row in rows:
        system = [row.system or "all"] if several else []
        interval = "-" if row.low is None or row.high is None else f"{_format(row.low)} .. {_format(row.high)}"
        mean = "-" if row.mean is None else _format(row.mean)
        lacking = [str(missing[row.system])] if told else []
        against = ["-" if row.contradictions is None else format_contradictions(row.contradictions)] if counted else []
        table.add_row(row.metric, *system, str(row.n), str(row.failed), *lacking, *against, mean, interval)
    print_table(table)


def _format(number: float) -> str:
    return f"{number:.3f}" if abs(number) < 10 else f"{number:.1f}"
