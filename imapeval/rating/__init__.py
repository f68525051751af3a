"""Studies of ratings: who rates which answers, in which order, and their ratings; stored in SQLite or PostgreSQL."""

from imapeval.rating.model import (
    Dimension,
    Entry,
    Feedback,
    Item,
    Progress,
    Rater,
    RatingConflictError,
    Saved,
    Span,
    StudySettings,
    UnknownItemError,
)
from imapeval.rating.store import RatingStudy

__all__ = [
    "Dimension",
    "Entry",
    "Feedback",
    "Item",
    "Progress",
    "Rater",
    "RatingConflictError",
    "RatingStudy",
    "Saved",
    "Span",
    "StudySettings",
    "UnknownItemError",
]
