"""Robustness of scores to rewording, repetition and sampling, and of findings to the ratings."""
