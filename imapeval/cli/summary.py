"""The table at the end of `imapeval score`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.report.summary import SummaryRow


def print_summary(rows: "Sequence[SummaryRow]") -> None:
    """Print the rows as a table."""
    from rich.console import Console
    from rich.table import Table

    several = any(row.system for row in rows)
    table = Table()
    table.add_column("metric", no_wrap=True)
    if several:
        table.add_column("system")
    for title in ("scored", "failed", "mean", "95% interval"):
        table.add_column(title, justify="right")
    for row in rows:
        system = [row.system or "all"] if several else []
        interval = "-" if row.low is None or row.high is None else f"{_show(row.low)} .. {_show(row.high)}"
        mean = "-" if row.mean is None else _show(row.mean)
        table.add_row(row.metric, *system, str(row.n), str(row.failed), mean, interval)
    Console().print(table)


def _show(number: float) -> str:
    return f"{number:.3f}" if abs(number) < 10 else f"{number:.1f}"
