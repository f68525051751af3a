"""Scoring from Python: `Scorer`, and the `Assessment` that it gives for an answer."""

from imapeval.scoring.assessment import Assessment, Assessments
from imapeval.scoring.scorer import Scorer
from imapeval.scoring.sharing import shared_scorer

__all__ = ["Assessment", "Assessments", "Scorer", "shared_scorer"]
