"""The one way to the terminal: nothing secret, and nothing that it would obey, whoever wrote it."""

from typing import TYPE_CHECKING, Any

import typer

from imapeval.redaction import hide_secrets, make_printable

if TYPE_CHECKING:
    from rich.table import Table


def echo(message: object, *, err: bool = False, nl: bool = True) -> None:
    """Print a text, or JSON, which stays the same JSON.

    Args:
        message: What to print.
        err: To stderr in place of stdout.
        nl: Whether a line break follows.
    """
    typer.echo(_clean(str(message)), err=err, nl=nl)


def print_table(table: "Table", *, width: int | None = None) -> None:
    """Print a table, whose cells hold no markup.

    Args:
        table: With its cells.
        width: Most characters of a line where that is not the terminal's to say; None for 80.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Cleaned:
        def __rich_console__(self, console: Console, options: Any) -> Any:
            for segment in console.render(table, options):
                yield segment if segment.control else Segment(_clean(segment.text), segment.style)

    width = None if Console().is_terminal else width
    Console(width=width, markup=False, emoji=False).print(Cleaned())


def _clean(text: str) -> str:
    return make_printable(hide_secrets(text))
