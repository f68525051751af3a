"""Completions in a structure: prompt templates, output formats, and what is done when a completion cannot be read."""
