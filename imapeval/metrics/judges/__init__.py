"""Metrics by a language model as a judge: `judge`, `blend`, G-Eval, Prometheus, FActScore, QuestEval, QAFactEval.

All of them use the language model layer, so that completions are cached, counted and paid for once. Where a model gives
no usable judgement, the case is a `Failure`, never a score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.metrics.judges.blend import build_blend
from imapeval.metrics.judges.factscore import build_factscore
from imapeval.metrics.judges.geval import build_geval
from imapeval.metrics.judges.judge import build_judge
from imapeval.metrics.judges.on_imaps import make_judge_variants
from imapeval.metrics.judges.prometheus import build_prometheus
from imapeval.metrics.judges.questions import build_questions

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric


def build() -> list[Metric]:
    """Return the metrics of this package, for the registry; on imaps those of G-Eval, as in Wang et al. 2024."""
    judges = [*build_judge(), *build_blend(), *build_geval(), *build_prometheus(), *build_factscore()]
    return [*judges, *build_questions(), *make_judge_variants(build_geval())]
