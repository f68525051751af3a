"""Estimates about systems from many scores and few ratings, and scores on the rating scale."""
