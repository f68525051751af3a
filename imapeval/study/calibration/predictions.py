"""Predicts the ratings of a run's answers with a calibration fitted to other answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.evaluation.samples import system_label
from imapeval.study.data.rated import refuse_unknown_name, round_score
from imapeval.study.data.scores_file import check_ids, is_imported
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.evaluation.runs import Run
    from imapeval.study.calibration.curve import Calibration
    from imapeval.study.data.scores_file import ImportedScores


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted rating of one answer.

    Attributes:
        system: System that gave the answer.
        score: Score by the metric; None where it failed.
        rating: The predicted rating; None without a score.
        low, high: Ends of the prediction interval, which holds a new rating in the calibration's `confidence` of cases.
        outside: Whether the score lies outside the range of the scores that the curve was fitted to.
    """

    id: str
    system: str
    score: float | None
    rating: float | None
    low: float | None
    high: float | None
    outside: bool


def predict(calibration: Calibration, run: Run, *, imported: ImportedScores | None = None) -> list[Prediction]:
    """Predict the rating of every answer of a run.

    Imported scores, those of another tool, have no signature: the caller must ensure that they are comparable with the
    calibrated ones.

    Raises:
        UsageError: The metric is missing, has another signature, or comes from a file here and from a run there.
    """
    scores = _read_scores(calibration, run) if imported is None else _take_scores(calibration, run, imported)
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


def _read_scores(calibration: Calibration, run: Run) -> Mapping[str, float]:
    metric = calibration.metric
    signatures: dict[str, str] = run.manifest["settings"]["metrics"]
    if is_imported(calibration.signature):
        raise UsageError(f"{metric!r} was calibrated from a file of scores. Give such a file with --scores.")
    if metric not in signatures:
        raise UsageError(
            f"{run.folder} has no metric {metric!r}, which was calibrated. It has: {', '.join(signatures)}."
        )
    if signatures[metric] != calibration.signature:
        raise UsageError(
            f"{run.folder} has {metric} as {signatures[metric]}, but it was calibrated as {calibration.signature}: the "
            "scores are not comparable. Score the answers in the same way, or calibrate again."
        )
    return {
        r.id: round_score(r.outcome.value) for r in run.results() if r.metric == metric and isinstance(r.outcome, Score)
    }


def _take_scores(calibration: Calibration, run: Run, imported: ImportedScores) -> Mapping[str, float]:
    metric = calibration.metric
    if not is_imported(calibration.signature):
        raise UsageError(f"{metric!r} was calibrated from runs, as {calibration.signature}. Leave out --scores.")
    if metric not in imported.scores:
        raise refuse_unknown_name("metric", metric, tuple(imported.scores))
    check_ids(imported, [sample.id for sample in run.samples()])
    return imported.scores[metric]
