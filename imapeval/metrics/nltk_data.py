"""Parts of nltk without `import nltk`.

That takes .3 s, and 1.5 s where pandas and scikit-learn are installed, since it imports both.
"""

from __future__ import annotations

import builtins
import os
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# nltk.data.path of nltk 3.10, Unix part.
_SYSTEM = ("/usr/share/nltk_data", "/usr/local/share/nltk_data", "/usr/lib/nltk_data", "/usr/local/lib/nltk_data")


def list_nltk_folders() -> list[Path]:
    """Return the folders in which nltk looks, first one first; they need not be there."""
    given = [folder for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    own = [f"{sys.prefix}/{folder}" for folder in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    return [Path(folder) for folder in (*given, Path.home() / "nltk_data", *own, *_SYSTEM)]


def load_porter_stemmer() -> Any:
    """Return the class `nltk.stem.porter.PorterStemmer`.

    Its module is run by itself. What it imports of nltk are an empty base class, and functions for its demonstration.
    """
    path = Path(str(metadata.distribution("nltk").locate_file("nltk/stem/porter.py")))
    unused = SimpleNamespace(StemmerI=object, redos=None, safe_print=None)

    def import_module(name: str, *details: Any) -> Any:
        return unused if name.startswith("nltk") else builtins.__import__(name, *details)

    content = {"__name__": "nltk.stem.porter", "__builtins__": {**vars(builtins), "__import__": import_module}}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), content)
    return content["PorterStemmer"]
