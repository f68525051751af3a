"""The stemmers and the search path of nltk without `import nltk`.

The import takes .3 s, or 1.5 s where it also imports pandas and scikit-learn.
"""

from __future__ import annotations

import builtins
import os
import re
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from imapeval.files import expand_user

if TYPE_CHECKING:
    from imapeval.types import Lang

# nltk.data.path of nltk 3.10, Unix part.
_SYSTEM = ("/usr/share/nltk_data", "/usr/local/share/nltk_data", "/usr/lib/nltk_data", "/usr/local/lib/nltk_data")


def list_nltk_folders() -> list[Path]:
    """Return nltk's search path; the folders need not exist."""
    given = [folder for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    own = [f"{sys.prefix}/{folder}" for folder in ("nltk_data", "share/nltk_data", "lib/nltk_data")]
    return [Path(folder) for folder in (*given, expand_user("~/nltk_data"), *own, *_SYSTEM)]


_STEMMERS: dict[Lang, tuple[str, str]] = {
    "en": ("porter", "PorterStemmer"),  # the stemmer that rouge-score and METEOR use
    "fr": ("snowball", "FrenchStemmer"),
}


def load_stemmer(lang: Lang) -> Any:
    """Return nltk's stemmer class for a language: `nltk.stem.porter.PorterStemmer`, or Snowball's for French.

    Only its module and `nltk.stem.util`, of which it needs two functions, are executed. Its other imports from nltk are
    empty base classes, and functions for its demonstration and for other languages.
    """
    module, name = _STEMMERS[lang]
    return _run_module(f"nltk.stem.{module}")[name]


def _run_module(module: str) -> dict[str, Any]:
    path = Path(str(metadata.distribution("nltk").locate_file(f"{module.replace('.', '/')}.py")))
    unused = SimpleNamespace(
        StemmerI=object, redos=re, safe_print=None, stopwords=None, porter=SimpleNamespace(PorterStemmer=object)
    )

    def import_module(name: str, *details: Any) -> Any:
        if name == "nltk.stem.util":
            return SimpleNamespace(**_run_module(name))
        return unused if name.startswith("nltk") else builtins.__import__(name, *details)

    content = {"__name__": module, "__builtins__": {**vars(builtins), "__import__": import_module}}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), content)
    return content
