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
    from imapeval.metrics.base import BatchMetric, Case, Example, Metric, MetricResources, fixed, option
    from imapeval.metrics.judges.base import Judge
    from imapeval.metrics.judges.client import JudgeRequest, make_template
    from imapeval.metrics.judges.custom import load_geval
    from imapeval.metrics.judges.parsing.scale import Scale
    from imapeval.metrics.judges.parsing.scores import read_score
    from imapeval.scoring import Assessment, Assessments, Scorer
    from imapeval.study.correlation.base import Coefficient
    from imapeval.types import Failure, Imap, Match, Outcome, Pair, Relation, Sample, Score, Turn

__version__ = "0.1.0"

_PUBLIC = {
    "imapeval.scoring": ("Assessment", "Assessments", "Scorer"),
    "imapeval.types": ("Failure", "Imap", "Match", "Outcome", "Pair", "Relation", "Sample", "Score", "Turn"),
    "imapeval.evaluation.samples": ("read",),
    "imapeval.evaluation.runs": ("Run",),
    "imapeval.metrics.base": ("BatchMetric", "Case", "Example", "Metric", "MetricResources", "fixed", "option"),
    "imapeval.metrics.judges.base": ("Judge",),
    "imapeval.metrics.judges.client": ("JudgeRequest", "make_template"),
    "imapeval.metrics.judges.custom": ("load_geval",),
    "imapeval.metrics.judges.parsing.scale": ("Scale",),
    "imapeval.metrics.judges.parsing.scores": ("read_score",),
    "imapeval.study.correlation.base": ("Coefficient",),
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
    "BatchMetric",
    "Case",
    "Coefficient",
    "Completion",
    "Example",
    "ExtractionError",
    "Failure",
    "Imap",
    "ImapEvalError",
    "InputError",
    "Judge",
    "JudgeRequest",
    "Match",
    "Message",
    "Metric",
    "MetricResources",
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
    "Scale",
    "Score",
    "Scorer",
    "ScriptedModel",
    "ServiceError",
    "Turn",
    "Usage",
    "UsageError",
    "__version__",
    "fixed",
    "load_geval",
    "make_template",
    "option",
    "read",
    "read_score",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'imapeval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
