"""Samples x metrics to a run on disk: reading samples, extracting, matching and scoring, with every failure kept."""
