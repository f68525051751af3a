"""Metrics by a language model as a judge: G-Eval, Prometheus, FActScore, QuestEval, QAFactEval, `imapjudge`, `blend`.

All of them ask through the layer of language models, so that completions are cached, counted and paid for once. What a
model does not do, or not in a form that can be read, is a `Failure` of the case, never a score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.metrics.judges.blend import build_blend, list_judges
from imapeval.metrics.judges.geval import build_geval
from imapeval.metrics.judges.on_imaps import make_judge_variants

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric


def build() -> list[Metric]:
    """Return the metrics of this package, for the registry; on imaps those of G-Eval, as in Wang et al. 2024."""
    return [*list_judges(), *build_blend(), *make_judge_variants(build_geval())]
