"""Sentences of English texts, by the splitter of UniEval and AlignScore: nltk's Punkt (Kiss and Strunk 2006).

Its English model does not ship with nltk. It is looked for where nltk looks: in `tokenizers/punkt_tab/english` under
$NLTK_DATA, ~/nltk_data or one of nltk's system folders. Without it there is no score, because other sentences would
give other scores.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata
from typing import Any

from imapeval.errors import ResourceError
from imapeval.metrics.nltk_parts import list_nltk_folders

_INSTALL = "python -m nltk.downloader punkt_tab"

_MODEL = "tokenizers/punkt_tab/english"


def describe_missing_punkt() -> str:
    """Return what has to be installed before texts can be split; "" if nothing."""
    if any((folder / _MODEL / "abbrev_types.txt").is_file() for folder in list_nltk_folders()):
        return ""
    return f"sentences: {_INSTALL}"


def identify_splitter() -> str:
    """Return the name and version of the splitter, for a signature."""
    return f"punkt-nltk-{metadata.version('nltk')}"


def split_sentences(text: str) -> list[str]:
    """Return the sentences of an English text, without the white space between them.

    Raises:
        ResourceError: Punkt's English model is missing or damaged.
    """
    return [str(sentence) for sentence in _open().tokenize(text)]


@lru_cache(maxsize=1)
def _open() -> Any:
    from nltk.tokenize.punkt import PunktTokenizer  # pyright: ignore[reportMissingTypeStubs]

    try:
        return PunktTokenizer("english")
    except (LookupError, OSError, ValueError) as error:
        raise ResourceError(
            f"nltk's model of English sentences is not where nltk looks for it, or damaged. Install it with: {_INSTALL}"
        ) from error
