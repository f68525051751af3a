"""Options that commands of `imapeval study` share, and names chosen out of a few."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

import typer

from imapeval.errors import UsageError

Against = Annotated[
    str | None, typer.Option(metavar="METRIC", help="Compare each of the others with this one.  [default: all pairs]")
]

_Name = TypeVar("_Name", bound=str)


def choose_one(text: str, option: str, known: Sequence[_Name]) -> _Name:
    """Return the name that the text is.

    Raises:
        UsageError: It is none of those known.
    """
    for name in known:
        if name == text:
            return name
    raise UsageError(f"{option}: there is no {text!r}. There are: {', '.join(known)}.")
