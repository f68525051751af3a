"""The progress bar: on stderr, and only where somebody looks."""

from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def show_progress(what: str, *, total: int, quiet: bool) -> Generator[Callable[[int], None]]:
    """Show a bar and yield what advances it; with `quiet` nothing is shown."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
