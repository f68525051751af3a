"""imapeval: how well a generated medical answer agrees with a clinician's, fact by fact.

The names in `__all__` are the public interface (docs/python.md, "Stability"). They are loaded on first use, so that
`import imapeval` is cheap.

PYTEST_DONT_REWRITE: this package has a pytest plugin, and pytest warns of packages that were imported before their
plugin; there is nothing here for pytest to rewrite.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from imapeval.errors import (
        ExtractionError,
        ImapEvalError,
        InputError,
        MissingExtraError,
        ProviderError,
        ResourceError,
        SampleError,
        ServiceError,
        UsageError,
    )
    from imapeval.evaluation.runs import Run
    from imapeval.evaluation.samples import read
    from imapeval.llm.prices import Price
    from imapeval.llm.protocol import Completion, Message, Model, Request, Usage
    from imapeval.llm.providers.scripted import ScriptedModel
    from imapeval.metrics.base import Case, Metric, option
    from imapeval.metrics.judges.custom import load_geval
    from imapeval.scoring import Assessment, Assessments, Scorer
    from imapeval.types import Failure, Imap, Match, Outcome, Pair, Relation, Sample, Score, Turn

__version__ = "0.1.0"

_PUBLIC = {
    "imapeval.scoring": ("Assessment", "Assessments", "Scorer"),
    "imapeval.types": ("Failure", "Imap", "Match", "Outcome", "Pair", "Relation", "Sample", "Score", "Turn"),
    "imapeval.evaluation.samples": ("read",),
    "imapeval.evaluation.runs": ("Run",),
    "imapeval.metrics.base": ("Case", "Metric", "option"),
    "imapeval.metrics.judges.custom": ("load_geval",),
    "imapeval.llm.protocol": ("Completion", "Message", "Model", "Request", "Usage"),
    "imapeval.llm.prices": ("Price",),
    "imapeval.llm.providers.scripted": ("ScriptedModel",),
    "imapeval.errors": (
        *("ExtractionError", "ImapEvalError", "InputError", "MissingExtraError", "ProviderError", "ResourceError"),
        *("SampleError", "ServiceError", "UsageError"),
    ),
}
"""The public names by the module that defines them."""

_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "Assessment",
    "Assessments",
    "Case",
    "Completion",
    "ExtractionError",
    "Failure",
    "Imap",
    "ImapEvalError",
    "InputError",
    "Match",
    "Message",
    "Metric",
    "MissingExtraError",
    "Model",
    "Outcome",
    "Pair",
    "Price",
    "ProviderError",
    "Relation",
    "Request",
    "ResourceError",
    "Run",
    "Sample",
    "SampleError",
    "Score",
    "Scorer",
    "ScriptedModel",
    "ServiceError",
    "Turn",
    "Usage",
    "UsageError",
    "__version__",
    "load_geval",
    "option",
    "read",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'imapeval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
