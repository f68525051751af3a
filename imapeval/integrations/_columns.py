"""The texts out of a row of somebody's data: for hosts that hand over the row, the response apart from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LANGS = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns are read, beside `lang`.

    Attributes:
        question: Of the question; None for "question".
        reference: Of the clinician's answer, or of several; None for "reference" or "references".
    """

    question: str | None = None
    reference: str | None = None

    def read(self, row: Mapping[str, Any], response: Any) -> dict[str, Any]:
        """Return an item of `Scorer.score_all`.

        Raises:
            UsageError: A column that is named is not there.
        """
        for key in (self.question, self.reference):
            if key is not None and key not in row:
                raise UsageError(f"the data has no {key!r}. It has: {', '.join(map(str, row))}.")
        reference = row.get(self.reference or "reference")
        if self.reference is None and reference is None:
            reference = row.get("references")
        return {
            "question": row.get(self.question or "question"),
            "references" if isinstance(reference, list) else "reference": reference,
            "response": response,
            # Data of others may mean something else by it, or write it otherwise.
            "lang": lang if (lang := row.get("lang")) in _LANGS else None,
        }
