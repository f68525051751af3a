"""Scores and lists in the completions of judges. Pure."""
