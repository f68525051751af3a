"""Names as ontologies write them: inverted, with tags, or too long to be names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from imapeval.graph.readers.base import Source

MAX_NAME = 1000
"""Maximum length of a name. SNOMED CT allows 255 bytes; longer ones in UMLS are formulas and survey questions."""

_TAGGED = re.compile(r"(.*\S)\s*[(（]([^()（）]+)[)）]")


def restore_word_order(name: str) -> str:
    """Return an inverted index entry in its natural order.

    >>> turn_round("Anemia, Aplastic")
    'Aplastic Anemia'
    >>> turn_round("Leukemia, Myeloid, Acute")
    'Acute Myeloid Leukemia'

    Enumerations ("Ear, Nose and Throat") and locants ("1,4-Dioxane") stay as they are.
    """
    if ", " not in name or re.search(r"\b(and|or|with|without|due|not|in|of)\b", name):
        return name
    return " ".join(reversed(name.split(", ")))


def split_semantic_tag(name: str) -> tuple[str, str]:
    """Return a fully specified name of SNOMED CT without its semantic tag, and the tag ("" where there is none).

    >>> split_tag("Asthma (disorder)")
    ('Asthma', 'disorder')
    """
    found = _TAGGED.fullmatch(name)
    return (found[1], found[2]) if found else (name, "")


def check_name(text: str, source: Source, *, line: int, path: Path) -> bool:
    """Return whether a text can be a name; if not, record a problem of the source."""
    if text.strip() and len(text) <= MAX_NAME:
        return True
    source.reject(f"a name of more than {MAX_NAME:,} characters" if text.strip() else "no name", line=line, path=path)
    return False
