"""Scores beside ratings: reading, joining, and the types of findings."""
