"""Progress bars, on stderr."""

from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def show_progress(what: str, *, total: int, quiet: bool) -> Generator[Callable[[int], None]]:
    """Show a bar and yield a function that advances it; with `quiet` nothing is shown."""
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


@contextmanager
def show_indexing(*, quiet: bool) -> Generator[Callable[[int, int], None]]:
    """Yield a function that shows how many names are indexed; the bar appears with its first call, if any."""
    from rich.console import Console
    from rich.progress import Progress

    # Started late, because even an empty bar ends with an empty line.
    bar = Progress(console=Console(stderr=True), disable=quiet, transient=True)

    def show(done: int, total: int) -> None:
        if not bar.task_ids:
            bar.start()
            bar.add_task("indexing names, once", total=total)
        bar.update(bar.task_ids[0], completed=done)

    try:
        yield show
    finally:
        if bar.task_ids:
            bar.stop()
