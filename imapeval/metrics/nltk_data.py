"""Where nltk looks for its data. nltk itself takes seconds to import, too long for telling what is there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# nltk.data.path of nltk 3.10, Unix part.
_SYSTEM = ("/usr/share/nltk_data", "/usr/local/share/nltk_data", "/usr/lib/nltk_data", "/usr/local/lib/nltk_data")


def list_nltk_folders() -> list[Path]:
    """Return the folders in which nltk looks, first one first; they need not be there."""
    given = [folder for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    own = [f"{sys.prefix}/{folder}" for folder in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    return [Path(folder) for folder in (*given, Path.home() / "nltk_data", *own, *_SYSTEM)]
