"""Predicts the ratings of a run's answers with a calibration fitted to other answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.evaluation.samples import system_label
from imapeval.types import Score

if TYPE_CHECKING:
    from imapeval.evaluation.runs import Run
    from imapeval.study.calibration.curve import Calibration


@dataclass(frozen=True, slots=True)
class Prediction:
    """One answer.

    Attributes:
        id: Of the answer.
        system: Who gave it.
        score: The metric's; None where it failed.
        rating: The predicted one; None without a score.
        low, high: A new rating lies between them in the calibration's `confidence` of cases.
        outside: The score lies beyond all that the calibration was made from.
    """

    id: str
    system: str
    score: float | None
    rating: float | None
    low: float | None
    high: float | None
    outside: bool


def predict(calibration: Calibration, run: Run) -> list[Prediction]:
    """Predict the rating of every answer of a run.

    Raises:
        UsageError: The run lacks the metric, or has it with another signature.
    """
    metric = calibration.metric
    signatures: dict[str, str] = run.manifest["settings"]["metrics"]
    if metric not in signatures:
        raise UsageError(
            f"{run.folder} has no metric {metric!r}, which was calibrated. It has: {', '.join(signatures)}."
        )
    if signatures[metric] != calibration.signature:
        raise UsageError(
            f"{run.folder} has {metric} as {signatures[metric]}, but it was calibrated as {calibration.signature}: the "
            "scores are not comparable. Score the answers in the same way, or calibrate again."
        )
    scores = {r.id: r.outcome.value for r in run.results() if r.metric == metric and isinstance(r.outcome, Score)}
    curve, scale, half = calibration.curve, calibration.scale, calibration.errors.half_width
    found: list[Prediction] = []
    for sample in run.samples():
        score = scores.get(sample.id)
        if score is None:
            found.append(Prediction(sample.id, system_label(sample), None, None, None, None, outside=False))
            continue
        rating = float(curve.predict(np.array([score]), scale)[0])
        low, high = rating - half, rating + half
        if scale is not None:
            low, high = max(low, scale.low), min(high, scale.high)
        outside = not curve.scores[0] <= score <= curve.scores[-1]
        found.append(Prediction(sample.id, system_label(sample), score, rating, low, high, outside))
    return found
