"""Paths of the shipped data (prompts, graph, model, sample data) and of the cache folder.

The wheel carries `prompts/`, `kg/` (compiled files only), `models/` and `datasets/` under `imapeval/_data/`. An
editable install has no such folder, so the folders of the checkout are tried next.
"""

from __future__ import annotations

import os
from pathlib import Path

from imapeval.errors import ResourceError, UsageError

_PACKAGE = Path(__file__).resolve().parent


def find(*parts: str) -> Path:
    """Return the path of a shipped file or folder, such as `find("kg", "graph.sqlite")`.

    Raises:
        ResourceError: It is neither in the installed package nor in the checkout.
    """
    tried: list[Path] = []
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        path = root.joinpath(*parts)
        if path.exists():
            return path
        tried.append(path)
    raise ResourceError(
        f"the shipped resource {'/'.join(parts)!r} is missing (tried {', '.join(map(str, tried))}). "
        "The installation is incomplete: reinstall imapeval."
    )


def cache_folder() -> Path:
    """Return the folder of files that can be rebuilt: $IMAPEVAL_CACHE, else `imapeval` in the user's cache folder.

    Raises:
        UsageError: The user has no home folder.
    """
    given = os.environ.get("IMAPEVAL_CACHE")
    # $XDG_CACHE_HOME, by default ~/.cache: XDG base directory specification.
    folder = Path(given or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "imapeval")
    try:
        return folder.expanduser()
    except RuntimeError as error:
        raise UsageError(
            f"there is no home folder for the cache in {folder}. Name another folder in IMAPEVAL_CACHE."
        ) from error
