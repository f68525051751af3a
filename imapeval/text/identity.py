"""Which texts count as the same: files that were typed or exported by different people differ in ways no one sees."""

from collections.abc import Iterable
from unicodedata import normalize

_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b"))
"""The byte-order mark and the zero-width space, which editors and web pages add."""


def strip_invisible(text: str) -> str:
    """Return a text in which white space, Unicode normalisation and invisible characters make no difference."""
    return " ".join(normalize("NFC", text.translate(_INVISIBLE)).split())


def identify_question(question: str, references: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a key that is the same for the same question with the same references, in any order."""
    return strip_invisible(question), *sorted(map(strip_invisible, references))
