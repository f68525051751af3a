"""Evaluation: samples are read, extracted, matched and scored, and the results are stored as a run."""
