"""Metrics by a language model as a judge: `judge`, `blend`, G-Eval, Prometheus, FActScore, QuestEval, QAFactEval.

All of them use the language model layer, so that completions are cached, counted and paid for once. Where a model gives
no usable judgement, the case is a `Failure`, never a score.
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
    """Return the metrics of this package, for the registry; on imaps those of G-Eval, as in Wang et al. 2024."""
    judges = [metric for module in _MODULES for metric in module.build()]
    return [*judges, *make_judge_variants(geval.build())]
