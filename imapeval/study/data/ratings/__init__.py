"""Readers of ratings files: tables and the exports of annotation tools.

To add a format, add a module with a function that recognises its records and one that yields their entries, and a
line in `READERS`.
"""

from imapeval.study.data.ratings.collection import Ratings, match_ids, ratings_of_samples
from imapeval.study.data.ratings.reading import READERS, read_ratings
from imapeval.study.data.scales import parse_scales

__all__ = ["READERS", "Ratings", "match_ids", "parse_scales", "ratings_of_samples", "read_ratings"]
