"""What the commands of `imapeval rate` share: opening a study."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from imapeval.rating import RatingStudy

StudyArgument = Annotated[
    str, typer.Argument(metavar="STUDY", help="File of the study, or URL of its database: postgresql://USER@HOST/NAME.")
]
BaseUrlOption = Annotated[str, typer.Option("--url", metavar="URL", help="Address of the server, for links.")]

DEFAULT_PORT = 8766
DEFAULT_URL = f"http://127.0.0.1:{DEFAULT_PORT}"


def require_packages() -> None:
    """Check that the extra is installed.

    Raises:
        MissingExtraError: It is not.
    """
    from imapeval._optional import require

    require("sqlalchemy", distribution="sqlalchemy", extra="rate", needed_for="imapeval rate")


def open_study(place: str) -> "RatingStudy":
    """Open a study.

    Raises:
        UsageError: There is no such study.
        ResourceError: It cannot be read.
        MissingExtraError: The extra is not installed.
    """
    require_packages()
    from imapeval.rating import RatingStudy

    return RatingStudy(place)
