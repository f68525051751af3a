"""Metrics: each gives a sample a score, or the reason why there is none."""
