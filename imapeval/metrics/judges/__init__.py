"""Metrics by a language model as a judge: `judge`, `blend`, G-Eval, Prometheus, FActScore, QuestEval, QAFactEval.

All use the language model layer, so completions are cached, counted and paid for once. If no completion is usable, the
outcome is a `Failure`, never a score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.metrics.judges import blend, factscore, geval, judge, prometheus, questions
from imapeval.metrics.judges.on_imaps import make_judge_variants

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric

_MODULES = (judge, blend, geval, prometheus, factscore, questions)
"""Modules of this package whose `build` returns judges, in the order of the lists."""


def build() -> list[Metric]:
    """Return the metrics of this package for the registry, with variants of G-Eval on imaps, as in Wang et al. 2024."""
    judges = [metric for module in _MODULES for metric in module.build()]
    return [*judges, *make_judge_variants(geval.build())]
