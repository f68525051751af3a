"""Compares systems by their scores: no ratings are needed."""
