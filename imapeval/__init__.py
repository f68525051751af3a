"""imapeval: how well does a generated medical answer agree with a clinician's, fact by fact?

The names below are loaded on first use, so that `import imapeval` costs nothing.

PYTEST_DONT_REWRITE: pytest, of which this package has a plugin, warns of a package that was imported before it; there
is nothing in this one that it would rewrite.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from imapeval.errors import ImapEvalError
    from imapeval.metrics.judges.custom import load_geval
    from imapeval.scoring import Assessment, Assessments, Scorer
    from imapeval.types import Failure, Imap, Match, Outcome, Pair, Relation, Sample, Score

__version__ = "0.1.0"

_HOMES = {
    "Assessment": "imapeval.scoring",
    "Assessments": "imapeval.scoring",
    "Scorer": "imapeval.scoring",
    "load_geval": "imapeval.metrics.judges.custom",
    "ImapEvalError": "imapeval.errors",
    "Failure": "imapeval.types",
    "Imap": "imapeval.types",
    "Match": "imapeval.types",
    "Outcome": "imapeval.types",
    "Pair": "imapeval.types",
    "Relation": "imapeval.types",
    "Sample": "imapeval.types",
    "Score": "imapeval.types",
}

__all__ = [
    "Assessment",
    "Assessments",
    "Failure",
    "Imap",
    "ImapEvalError",
    "Match",
    "Outcome",
    "Pair",
    "Relation",
    "Sample",
    "Score",
    "Scorer",
    "__version__",
    "load_geval",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'imapeval' has no attribute {name!r}")
