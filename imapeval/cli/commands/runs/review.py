"""`imapeval review`: correct facts and relations of a run in the browser."""

import getpass
from pathlib import Path
from typing import Annotated

import typer

from imapeval.cli.options import KgOption
from imapeval.cli.output import echo
from imapeval.errors import UsageError


def review(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    *,
    who: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose corrections they are.  [default: the user's name]")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 for any free one.")] = 0,
    kg: KgOption = None,
) -> None:
    """Correct the facts and relations of a run in the browser, and see how its scores change.

    The page is served on this computer only; Ctrl-C stops it. Corrections are kept in the run as corrections.jsonl;
    `imapeval study corrections RUN` says how often the reader erred and what that did to the scores, and writes the
    corrected imaps.
    """
    from imapeval._optional import require

    for package in ("fastapi", "uvicorn"):
        require(package, distribution=package, extra="serve", needed_for="imapeval review")

    from imapeval.evaluation.pipeline import open_graph, open_matcher
    from imapeval.evaluation.runs import Run
    from imapeval.files import lock_file
    from imapeval.serve.guard import RequestLimits
    from imapeval.serve.review import ReviewSession, make_app
    from imapeval.serve.server import listen, run

    try:
        name = (getpass.getuser() if who is None else who).strip()
    except (KeyError, OSError, ImportError) as error:
        raise UsageError("this computer does not know your name. Give one with --who.") from error
    if not name:
        raise UsageError("--who is empty. Give a name.")
    opened = Run(folder)
    # One server at a time: it checks a new correction only against those that it has read or saved itself.
    try:
        lock = lock_file(folder / ".review.lock")
    except OSError as error:
        raise UsageError(
            f"no corrections can be saved in {folder} ({error.strerror}). Copy the run to a folder of your own."
        ) from error
    if lock is None:
        raise UsageError(f"another imapeval review corrects {folder}. Use its page, or stop it.")
    with lock, listen("127.0.0.1", port, token=None) as sock:
        app, path = make_app(ReviewSession(opened, open_matcher(open_graph(kg)), who=name))
        address = f"http://127.0.0.1:{sock.getsockname()[1]}{path}"
        run(app, RequestLimits(), sock=sock, ready=lambda: echo(f"imapeval review: {address} (Ctrl-C stops it)"))
