"""Ratings in: what people gave, from tables and from the exports of annotation tools.

A new format is one file here: a function that recognises its records, one that yields their entries, and its line in
`READERS`.
"""

from imapeval.study.data.ratings.collection import Ratings, ratings_of_samples
from imapeval.study.data.ratings.reading import READERS, read_ratings
from imapeval.study.data.scales import parse_scales

__all__ = ["READERS", "Ratings", "parse_scales", "ratings_of_samples", "read_ratings"]
