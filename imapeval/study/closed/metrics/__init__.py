"""Metrics of labels, sets of labels, tags, rankings and grades, with score intervals."""
