"""Open answers beside closed ones: the same questions with options and without (CareQA, Arias-Duart et al. 2025).

Items are joined by model and id. Whether a model chose a right option takes the place of a rating, so that every
coefficient and interval of a study applies: how well does an open score say that the model knows the answer?
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.evaluation.samples import system_label
from imapeval.metrics import registry
from imapeval.study.bootstrap import number_clusters
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.rated import Rated
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.runs import Run
    from imapeval.study.closed.logs import ClosedAnswer
    from imapeval.study.data.findings import Correlation

RIGHT_CHOICE = "right choice"
"""The rating: 1 for a right option, 0 for another one or none; the mean over several runs."""


@dataclass(frozen=True, slots=True)
class FormCounts:
    """What one model knows in which form.

    Attributes:
        model: Name of the model.
        items: Questions that it was asked in both forms.
        mean_choice: Share of right choices.
        mean_score: Mean open score.
        both, closed_only, open_only, neither: Numbers of questions: right with options, right without (a score from the
            threshold on). Over several runs, right means right in more than half of them.
    """

    model: str
    items: int
    mean_choice: float
    mean_score: float
    both: int
    closed_only: int
    open_only: int
    neither: int


def join_open_answers(
    answers: Sequence[ClosedAnswer], run: Run, *, metric: str, item_column: str | None = None
) -> Rated:
    """Join open answers' scores with the choices of the same model on the same item.

    Args:
        answers: To the closed form.
        run: With answers to the open form; its systems are named as the models are.
        metric: Whose scores.
        item_column: Column of the open data that has the closed item's id; None takes the answers' ids.

    Raises:
        UsageError: The run has no such metric or column, or nothing can be joined.
    """
    if metric not in run.manifest["settings"]["metrics"]:
        names = ", ".join(run.manifest["settings"]["metrics"])
        raise UsageError(f"{run.folder} has no metric {metric!r}. It has: {names}.")
    choices: dict[tuple[str, str], list[float]] = {}
    for answer in answers:
        choices.setdefault((answer.model, answer.item), []).append(float(answer.right or False))
    samples = run.samples()
    if item_column is not None and not any(item_column in sample.meta for sample in samples):
        raise UsageError(f"the data of {run.folder} has no column {item_column!r}. Name another with --open-item.")
    keys = [
        (system_label(sample), str(sample.id if item_column is None else sample.meta.get(item_column, "")))
        for sample in samples
    ]
    shared = [number for number, key in enumerate(keys) if key in choices]
    if not shared:
        if not keys:
            raise UsageError(f"{run.folder} has no answers. Give another run with --open.")
        model, item = next(iter(choices))
        raise UsageError(
            f"no answer in {run.folder} is to an item of the logs, such as {item!r} by {model!r}; it has, such as, "
            f"{keys[0][1]!r} by {keys[0][0] or 'no system'!r}. Name systems as the logs name models, and the column "
            "with the item's id by --open-item."
        )
    scores = {r.id: r.outcome.value for r in run.results() if r.metric == metric and isinstance(r.outcome, Score)}
    known = {one.name: one for one in registry.all_metrics()}
    return Rated(
        ids=tuple(samples[number].id for number in shared),
        questions=number_clusters([keys[number][1] for number in shared]),
        systems=tuple(keys[number][0] for number in shared),
        metrics=(metric,),
        scores=np.array([[scores.get(samples[number].id, np.nan)] for number in shared]),
        dimensions=(RIGHT_CHOICE,),
        ratings=np.array([[fmean(choices[keys[number]])] for number in shared]),
        lower_is_better=frozenset([metric] if metric in known and not known[metric].higher_is_better else []),
    )


def correlate_forms(rated: Rated, *, seed: int = 0) -> list[Correlation]:
    """Correlate open scores with right choices: Spearman's rho over all answers, per model and between models."""
    several = len(set(rated.systems)) > 1
    levels = ("within-system", "global", "system") if several else ("within-system",)
    return correlate(rated, coefficients=["spearman"], levels=levels, seed=seed)


def count_forms(rated: Rated, *, threshold: float) -> list[FormCounts]:
    """Count what each model knows with options, without, in both forms and in neither.

    Args:
        rated: From `join_open_answers`; answers without a score are left out.
        threshold: An open answer counts as right from this score on; of a metric of which low scores are good, up to
            it.
    """
    metric = rated.metrics[0]
    scores, choices = rated.scores_of(metric), rated.ratings_of(RIGHT_CHOICE)
    sign = -1.0 if metric in rated.lower_is_better else 1.0
    found: list[FormCounts] = []
    for model in dict.fromkeys(rated.systems):
        rows = np.array([system == model for system in rated.systems]) & np.isfinite(scores)
        if not rows.any():
            continue
        closed, opened = choices[rows] > 0.5, scores[rows] >= sign * threshold
        found.append(
            FormCounts(
                model,
                items=int(rows.sum()),
                mean_choice=float(choices[rows].mean()),
                mean_score=sign * float(scores[rows].mean()),
                both=int((closed & opened).sum()),
                closed_only=int((closed & ~opened).sum()),
                open_only=int((~closed & opened).sum()),
                neither=int((~closed & ~opened).sum()),
            )
        )
    return found
