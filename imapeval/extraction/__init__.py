"""Extraction of imaps from texts."""
