"""Scoring from Python: `Scorer`, and the `Assessment` that it returns for each answer."""

from imapeval.scoring.assessment import Assessment, Assessments
from imapeval.scoring.scorer import Scorer

__all__ = ["Assessment", "Assessments", "Scorer"]
