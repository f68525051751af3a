"""Metrics: each gives a score, or a reason why there is none, for a sample."""
